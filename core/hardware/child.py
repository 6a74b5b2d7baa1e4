"""Asking a driver in a child process with a time limit: if it hangs or crashes, only the child is lost.

Both ends are here: ``ask_child`` for the program, ``answering`` for the child.
What is asked, and in which words a failure is told, is the caller's matter.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core.files import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_PR_SET_PDEATHSIG = 1

GIVE_UP_S = 1.0
"""How long a killed child may take to go; in an uninterruptible driver call it does not."""


class ChildFailedError(Exception):
    """The child gave no answer.

    Attributes:
        how: "signal 6", "exit code 1", or "no answer within 10 s".
        hangs: It had to be ended.
        last_words: Its last line on stderr.
    """

    def __init__(self, how: str, *, hangs: bool = False, last_words: str = "") -> None:
        super().__init__(how)
        self.how = how
        self.hangs = hangs
        self.last_words = last_words


def ask_child(command: str, timeout_s: float, environment: Mapping[str, str] | None = None) -> bytes:
    """Run one of the program's own hidden commands.

    Args:
        command: As main.py knows it, "_probe-gpus".
        timeout_s: After this many seconds the child is ended.
        environment: Of the child; None is that of this process.

    Returns:
        The last line that it wrote; what stands before it was said before the child had a say.

    Raises:
        ChildFailedError: It crashed, failed or did not answer in time.
    """
    return ask_program([sys.executable, os.fspath(MAIN), command], timeout_s, environment)


def ask_program(argv: Sequence[str], timeout_s: float, environment: Mapping[str, str] | None = None) -> bytes:
    """Run a program that answers with its last line; as ``ask_child``, which runs one of our own.

    Raises:
        ChildFailedError: It crashed, failed or did not answer in time.
    """
    child = subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    try:
        answer, errors = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _abandon(child)
        raise ChildFailedError(f"no answer within {timeout_s:g} s", hangs=True) from None
    if child.returncode != 0:
        last_words = errors.decode(errors="replace").strip().splitlines()[-1:] or [""]
        how = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
        raise ChildFailedError(how, last_words=last_words[0])
    return (answer.splitlines() or [b""])[-1]


@contextmanager
def answering() -> Iterator[Callable[[bytes], None]]:
    """Gives the child the function that writes its answer, one line and the last one.

    What a library prints, also from C and also at its end, goes to stderr and
    does not mix with the answer.
    """
    descriptor = os.dup(1)
    os.dup2(2, 1)
    _end_with_parent()

    def answer(line: bytes) -> None:
        with os.fdopen(os.dup(descriptor), "wb") as pipe:
            pipe.write(b"\n" + line + b"\n")

    yield answer
    os.close(descriptor)


def _end_with_parent() -> None:
    """Has the kernel end this process when the asking one ends, even inside a driver call.

    Source: prctl(2), PR_SET_PDEATHSIG. Elsewhere than on Linux the parent's time limit has to do.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _abandon(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    try:
        child.communicate(timeout=GIVE_UP_S)
    except subprocess.TimeoutExpired:
        # Stuck inside the driver. It ends when the driver lets go of it.
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
