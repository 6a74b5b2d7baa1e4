"""Compiles ahead what is compiled at first use, so that the first trace need not wait for it.

A dozen seconds the first time and after each change of the sources; a stamp says
that it is done. The window asks for it in a child, because compiling holds the
interpreter's lock. What its own drawing compiles, ``gui.prepare`` adds there.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from core.files import MAIN, app_folders, ensure_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND: Final = "_prepare"
SCRATCH: Final = "preparing-"
_STAMP: Final = "prepared"
_POLL_S: Final = 0.1
_child_runs = threading.Lock()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the length of this, with the app's own."""
    with tempfile.TemporaryDirectory(
        prefix=SCRATCH, dir=ensure_private_folder(app_folders().cache)
    ) as folder:
        yield Path(folder)


def prepare_core(folder: Path) -> None:
    """Reads and analyses a trace of a few events; what that compiles is kept.

    Args:
        folder: For the file of the trace.
    """
    from core.analyses.index import TraceIndex  # noqa: PLC0415 - the window asks for the stamp alone
    from core.analyses.quality import judge  # noqa: PLC0415
    from core.analyses.registry import ANALYSES  # noqa: PLC0415
    from core.analyses.totals import summarize_totals  # noqa: PLC0415
    from core.readers.torch_trace.reader import read_trace  # noqa: PLC0415
    from core.tables.selection import WHOLE  # noqa: PLC0415

    path = folder / "trace.json"
    path.write_text(json.dumps({"traceEvents": _events()}))
    index = TraceIndex(read_trace(path))
    summarize_totals(index)
    judge(index)
    for analysis in ANALYSES:
        analysis.summarize(index, WHOLE)


def prepare_in_child(check: Callable[[], None]) -> None:
    """Does what is left to be done in a child, and waits for it.

    Args:
        check: Called now and then; what it raises ends the child.
    """
    with _child_runs:
        if not is_prepared():
            _run_child(check)


def is_child_running() -> bool:
    """Whether this process waits for the child now; what it compiles need not be compiled here too."""
    return _child_runs.locked()


def wait_for_child(check: Callable[[], None]) -> None:
    """Waits until the child has ended, if there is one.

    Args:
        check: Called now and then; what it raises ends the waiting.
    """
    while is_child_running():
        check()
        time.sleep(_POLL_S)


def _run_child(check: Callable[[], None]) -> None:
    # The folder is this process's, which outlives a child that is killed.
    with scratch_folder() as folder:
        _watch_child(folder, check)


def _watch_child(folder: Path, check: Callable[[], None]) -> None:
    child = subprocess.Popen(
        [sys.executable, os.fspath(MAIN), COMMAND, os.fspath(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while child.poll() is None:
            check()
            time.sleep(_POLL_S)
    finally:
        child.kill()
        child.wait()


def is_prepared() -> bool:
    """Whether everything was compiled from the sources as they are now."""
    try:
        return (_folder() / _STAMP).read_text("ascii") == _sources()
    except (OSError, UnicodeDecodeError):
        return False


def note_prepared() -> None:
    """Remembers that everything is compiled; without it the work is done again, which harms nothing.

    Raises:
        OSError: It cannot be written.
    """
    (_folder() / _STAMP).write_text(_sources(), "ascii")


def _folder() -> Path:
    # As core.compiled has it, which cannot be asked without loading the compiler.
    return Path(os.environ.get("NUMBA_CACHE_DIR") or app_folders().cache / "compiled")


def _sources() -> str:
    """Returns a digest of names, sizes and times of all sources."""
    digest = hashlib.sha256(sys.version.encode())
    for part in ("core", "gui"):
        for source in sorted((MAIN.parent / part).rglob("*.py")):
            status = source.stat()
            digest.update(f"{source}\0{status.st_size}\0{status.st_mtime_ns}\0".encode("utf-8", "replace"))
    return digest.hexdigest()


def _events() -> list[dict[str, Any]]:
    host = {"ph": "X", "pid": 9, "tid": 9, "dur": 20}
    launch = {"correlation": 1, "External id": 4}
    return [
        {**host, "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 100},
        {**host, "cat": "python_function", "name": "train.py(1): step", "ts": 1.5},
        {**host, "cat": "cpu_op", "name": "aten::mm", "ts": 2, "dur": 9, "args": {"External id": 4}},
        {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 3, "dur": 2, "args": launch},
        {
            **host,
            "cat": "kernel",
            "name": "gemm",
            "pid": 0,
            "tid": 7,
            "ts": 6,
            "args": {"stream": 7, **launch},
        },
        {**host, "cat": "kernel", "name": "ncclKernel", "pid": 0, "tid": 8, "ts": 9, "args": {"stream": 8}},
    ]
