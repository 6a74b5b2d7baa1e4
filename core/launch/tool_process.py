"""Running a program that somebody else wrote: in a process group of its own, with a time limit and a cancel.

Whatever happens, all that it started is gone at the end, also what leads a session of
its own (workers of torchrun do), and what it said is bounded.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, Literal

from core.errors import DashboardError
from core.files import printable
from core.launch.processes import descendants, end_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_POLL_S: Final = 0.1
_END_LIMIT_S: Final = 5.0
_LEFTOVER_GRACE_S: Final = 0.5
_LAST_WORDS_BYTES: Final = 4096
_PIECE_BYTES: Final = 2**16

HowEnded = Literal["itself", "time", "cancelled", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd:
    """How a program ended.

    Attributes:
        how: By itself, because its time was up or it was cancelled, or because it said too much.
        code: Its exit code, negative for a signal; None if it does not die.
        output: What it wrote to stdout, the last of it if it was more than asked for.
        last_words: The last it wrote to stderr; "" if that went to stdout too.
    """

    how: HowEnded
    code: int | None
    output: bytes
    last_words: str


def run_tool(  # noqa: PLR0913  (a child and its limits)
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    working_folder: str,
    timeout_s: float,
    most_bytes: int,
    cancelled: Callable[[], bool] | None = None,
    heard: Callable[[bytes], None] | None = None,
    end_signals: Sequence[tuple[signal.Signals, float]] = (),
) -> ToolEnd:
    """Runs a program to its end.

    Args:
        argv: No shell sees it.
        environment: All of it.
        working_folder: Where it starts.
        timeout_s: After so many seconds it is ended.
        most_bytes: Of stdout that is kept. More ends it; where ``heard`` takes the output, the last is kept.
        cancelled: Asked ten times a second; True ends it.
        heard: Gets stdout and stderr as they come.
        end_signals: What it is asked to end with before it is killed, and how many seconds each may take.

    Raises:
        DashboardError: It cannot be started.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors if heard is None else subprocess.STDOUT,
                env=dict(environment),
                cwd=working_folder,
                start_new_session=True,
            )
        except OSError as error:
            raise DashboardError(
                f"{printable(argv[0])} cannot be started: {error.strerror or error}.",
                "Check that the program and the working folder are there.",
            ) from error
        how: HowEnded = "cancelled"
        try:
            assert child.stdout is not None
            output, how = _read(child.stdout, timeout_s, most_bytes, cancelled, heard)
            if how == "itself":
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=_END_LIMIT_S)
        finally:
            code = _end(child, () if how == "itself" else end_signals)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
        last_words = errors.read().decode("utf-8", "replace")
        return ToolEnd(how=how, code=code, output=output, last_words=last_words)


def _read(
    pipe: IO[bytes],
    timeout_s: float,
    most_bytes: int,
    cancelled: Callable[[], bool] | None,
    heard: Callable[[bytes], None] | None,
) -> tuple[bytes, HowEnded]:
    deadline = time.monotonic() + timeout_s
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if cancelled is not None and cancelled():
                return bytes(data), "cancelled"
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return bytes(data), "time"
            if not selector.select(min(_POLL_S, left_s)):
                continue
            more = os.read(pipe.fileno(), _PIECE_BYTES)
            if not more:
                return bytes(data), "itself"
            data += more
            if heard is not None:
                heard(more)
                del data[:-most_bytes]
            elif len(data) > most_bytes:
                return bytes(data[:most_bytes]), "output"


def _end(child: subprocess.Popen[bytes], signals: Sequence[tuple[signal.Signals, float]]) -> int | None:
    """Ends all of it, if need be step by step; returns the exit code, None if it does not die."""
    # Before it ends: afterwards nobody could tell whose they were.
    below = descendants(child.pid) if child.poll() is None else []
    for number, grace_s in signals:
        if child.poll() is not None:
            break
        with contextlib.suppress(OSError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=grace_s)
    code = child.poll()
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    if code is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(timeout=_END_LIMIT_S)
    end_processes(below, grace_seconds=_LEFTOVER_GRACE_S)
    if child.stdout is not None:
        child.stdout.close()
    return code
