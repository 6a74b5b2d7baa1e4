"""Finding the processes of a job and ending them, and nobody else's.

A process is only signalled after its identity was checked; on Linux the signal
goes through a pidfd, so that a pid that is used again cannot be hit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psutil

from core.runs.identity import boot_id, create_time_s, identity, is_alive
from core.runs.manifest import ProcessIdentity

__all__ = [
    "boot_id",
    "carriers",
    "create_time_s",
    "descendants",
    "end_processes",
    "grace_s",
    "identity",
    "is_alive",
    "send_signal",
]

DEFAULT_GRACE_S = 4.5
"""Between two signals of a stop: two of them and the last pass stay under 10 s."""

_POLL_S = 0.05


def grace_s() -> float:
    """Returns how long a signal may take before the next one follows, in seconds."""
    try:
        return max(0.0, float(os.environ.get("RIDGELINE_GRACE_S", "")))
    except ValueError:
        return DEFAULT_GRACE_S


def descendants(root_pid: int, *, without: Iterable[int] = ()) -> list[ProcessIdentity]:
    """Returns all living processes below one, in the order parents first.

    Args:
        root_pid: Not part of the answer.
        without: Pids that are left out with all that is below them.
    """
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[ProcessIdentity] = []
    seen = {root_pid, *without}
    waiting = [root_pid]
    while waiting:
        for pid in children.get(waiting.pop(0), ()):
            if pid in seen:
                continue
            seen.add(pid)
            waiting.append(pid)
            process = identity(pid)
            if process is not None:
                found.append(process)
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Yields (pid, parent's pid) of every process; those that end meanwhile are left out.

    Source: proc(5), /proc/pid/stat field 4 (ppid).
    """
    if sys.platform == "linux":
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    text = Path(f"/proc/{name}/stat").read_bytes()
                    yield int(name), int(text.rpartition(b")")[2].split()[1])
        return
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            yield process.pid, process.ppid()


def carriers(name: str) -> dict[str, list[ProcessIdentity]]:
    """Returns this user's living processes that were started with an environment variable, by its value.

    They are told by the environment at their start, so a child that was
    orphaned is found too. This process and those above it are left out.
    """
    skipped = {os.getpid()}
    with contextlib.suppress(psutil.Error):
        skipped |= {process.pid for process in psutil.Process().parents()}
    found: dict[str, list[ProcessIdentity]] = {}
    for process in psutil.process_iter():
        if process.pid in skipped:
            continue
        with contextlib.suppress(psutil.Error, OSError):
            value = process.environ().get(name)
            carrier = identity(process.pid) if value is not None else None
            if value is not None and carrier is not None:
                found.setdefault(value, []).append(carrier)
    return found


def send_signal(process: ProcessIdentity, number: signal.Signals) -> bool:
    """Signals exactly this process.

    Returns:
        False if it is gone already, or may not be signalled.
    """
    try:
        if hasattr(os, "pidfd_open"):
            descriptor = os.pidfd_open(process.pid)
            try:
                if not is_alive(process):
                    return False
                signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)
        else:
            if not is_alive(process):
                return False
            os.kill(process.pid, number)
    except OSError:
        return False
    return True


def end_processes(
    processes: Sequence[ProcessIdentity], *, grace_seconds: float | None = None, limit_s: float = 10.0
) -> list[ProcessIdentity]:
    """Ends processes and all that is below them: SIGTERM, and after the grace time SIGKILL.

    Args:
        processes: Those to end; ones that are gone are skipped.
        grace_seconds: Between the two signals; None is ``grace_s()``.
        limit_s: How long to wait for the end after SIGKILL.

    Returns:
        Those that live nevertheless.
    """
    grace = grace_s() if grace_seconds is None else grace_seconds
    targets = _with_descendants(processes)
    for process in targets:
        send_signal(process, signal.SIGTERM)
    targets = _wait(targets, grace)
    deadline = time.monotonic() + limit_s
    while targets and time.monotonic() < deadline:
        targets = _with_descendants(targets)
        for process in targets:
            send_signal(process, signal.SIGKILL)
        targets = _wait(targets, min(0.5, limit_s))
    return targets


def _with_descendants(processes: Sequence[ProcessIdentity]) -> list[ProcessIdentity]:
    living = {process.pid: process for process in processes if is_alive(process)}
    for process in list(living.values()):
        for below in descendants(process.pid):
            living.setdefault(below.pid, below)
    return list(living.values())


def _wait(processes: Sequence[ProcessIdentity], limit_s: float) -> list[ProcessIdentity]:
    deadline = time.monotonic() + limit_s
    living = [process for process in processes if is_alive(process)]
    while living and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        living = [process for process in living if is_alive(process)]
    return living
