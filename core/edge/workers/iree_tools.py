"""IREE's own programs, each a child of its own that goes when the worker goes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from iree import runtime
from iree.compiler.tools import binaries

if TYPE_CHECKING:
    from collections.abc import Sequence

_PR_SET_PDEATHSIG: Final = 1

IMPORT_ONNX: Final = (sys.executable, "-P", "-m", "iree.compiler.tools.import_onnx")


def compiler() -> str:
    """Path of iree-compile."""
    return os.path.realpath(str(binaries.find_tool("iree-compile")))


def runtime_tool(name: str) -> str:
    """Path of a program that comes with the runtime: iree-benchmark-module, iree-profile."""
    return os.path.realpath(os.path.join(os.path.dirname(runtime.benchmark_exe()), name))


def run_iree(argv: Sequence[str]) -> tuple[int, bytes, str]:
    """Runs a program to its end; whoever ends the worker's process group ends it too.

    Returns:
        Exit code, stdout, stderr.
    """
    done = subprocess.run(
        list(argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        preexec_fn=_end_with_parent if sys.platform.startswith("linux") else None,
    )
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def _end_with_parent() -> None:
    """Source: prctl(2), PR_SET_PDEATHSIG. One call between fork and exec; the worker has no thread then."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
