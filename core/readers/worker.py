"""Reading in a process of its own, so that the window stays responsive and a cancel frees everything.

The child reads the file, stores the tables in the cache folder and says where;
the parent maps them. What the child prints are lines of JSON: how far it is,
then where the tables are or why there are none.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from core.errors import DashboardError
from core.files import MAIN, printable
from core.readers.cache import TraceCache, forget_part
from core.readers.torch_trace.reader import read_trace
from core.tables.store import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.trace import Trace

COMMAND: Final = "_read-trace"
SMALL_BYTES: Final = 2**22
_PROGRESS_STEP_BYTES: Final = 2**22
_POLL_S: Final = 0.05
_MOST_LINE_BYTES: Final = 2**20


class _Line(msgspec.Struct, omit_defaults=True):
    """One line of the child."""

    read_bytes: int | None = None
    total_bytes: int | None = None
    stored: bool = False
    message: str | None = None
    hint: str = ""


class Opened(NamedTuple):
    """A trace, and what makes the next opening of its file quick: to be called when there is time, or not.

    Attributes:
        trace: What was read.
        keep: Gets what is called now and then meanwhile, and ends it with what that raises. None if the
            file is known or small.
    """

    trace: Trace
    keep: Callable[[Callable[[], None]], None] | None = None


def open_trace_file(
    path: Path, progress: Callable[[int, int], None], cache: TraceCache | None = None
) -> Opened:
    """Returns the trace of a file: from the cache, or read in a child process.

    Args:
        path: The file.
        progress: Called often, at least every 50 ms, with the bytes read and the size of the file; what it
            raises ends the child and the reading.
        cache: Where known traces are; the user's own if None.

    Raises:
        DashboardError: The file cannot be read, or is no trace.
    """
    cache = cache or TraceCache()

    def check() -> None:
        progress(0, max(size, 1))

    try:
        size = path.stat().st_size
    except OSError as error:
        raise DashboardError(
            f"{printable(path.name)} cannot be opened: {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from error
    known = cache.find(path, check)
    if known is not None:
        return Opened(known)
    if size <= SMALL_BYTES:
        return Opened(read_trace(path, progress))
    return _read_in_child(path, progress, cache)


def _read_in_child(path: Path, progress: Callable[[int, int], None], cache: TraceCache) -> Opened:
    note, part = cache.note(path), cache.new_part()
    child = subprocess.Popen(
        [sys.executable, os.fspath(MAIN), COMMAND, os.fspath(path), os.fspath(part)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        answer = _follow(child, progress)
        trace = open_trace(part) if answer is not None and answer.stored else None
    except BaseException:
        child.kill()
        child.wait()
        forget_part(part)
        raise
    finally:
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    if answer is not None and answer.message is not None:
        raise DashboardError(answer.message, answer.hint)
    if trace is None:
        # It died, or the cache folder cannot be used: read here, slower to answer but with the same result.
        forget_part(part)
        return Opened(read_trace(path, progress))

    def keep(check: Callable[[], None]) -> None:
        cache.adopt(part, path, note, check)

    # Nobody need keep it: what the child stored goes with the last way to do so, at the latest at the end.
    weakref.finalize(keep, forget_part, part)
    return Opened(trace, keep)


def _follow(child: subprocess.Popen[bytes], progress: Callable[[int, int], None]) -> _Line | None:
    """Returns the child's last word; None if it ended without one."""
    assert child.stdout is not None
    descriptor = child.stdout.fileno()
    rest = b""
    read_bytes, total_bytes = 0, 1
    while True:
        ready, _, _ = select.select([descriptor], [], [], _POLL_S)
        if ready:
            data = os.read(descriptor, 2**16)
            if not data or len(rest) > _MOST_LINE_BYTES:
                return None
            *lines, rest = (rest + data).split(b"\n")
            for text in lines:
                line = msgspec.json.decode(text, type=_Line)
                if line.read_bytes is None:
                    return line
                read_bytes, total_bytes = line.read_bytes, line.total_bytes or 1
        progress(read_bytes, total_bytes)


def run_child(path_text: str, part_text: str) -> None:
    """Reads a trace and stores it under the name that the parent chose; the work of the hidden command."""
    out = os.dup(1)
    # Whatever a library prints must not stand between the lines of the answer.
    os.dup2(2, 1)

    def say(line: _Line) -> None:
        os.write(out, msgspec.json.encode(line) + b"\n")

    reported = 0

    def report(read_bytes: int, total_bytes: int) -> None:
        nonlocal reported
        if read_bytes - reported >= _PROGRESS_STEP_BYTES:
            reported = read_bytes
            say(_Line(read_bytes=read_bytes, total_bytes=total_bytes))

    path, part = Path(path_text), Path(part_text)
    try:
        trace = read_trace(path, report)
    except DashboardError as error:
        say(_Line(message=error.message, hint=error.hint))
        return
    try:
        TraceCache(part.parent).write_part(trace, part)
    except (OSError, DashboardError):
        return
    say(_Line(stored=True))
