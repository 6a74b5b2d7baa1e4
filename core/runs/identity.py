"""Recognising a process again later, although pids are used again.

Reads what the system says about processes; starts and ends none.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import psutil

from core.runs.manifest import ProcessIdentity

_CREATE_TIME_TOLERANCE_S = 0.005
_STATE, _THREADS, _STARTTIME = 0, 17, 19  # places among the fields that follow the name


@functools.cache
def boot_id() -> str:
    """Returns what identifies this boot and, on Linux, this pid namespace; "" if unknown.

    Source: random(4), /proc/sys/kernel/random/boot_id; namespaces(7), /proc/self/ns/pid.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def create_time_s(pid: int) -> float | None:
    """Returns when a process was created, or None if there is none or only a zombie.

    On Linux these are seconds since boot, so that setting the clock does not
    change them; elsewhere seconds since the epoch.

    Source: proc(5), /proc/pid/stat fields 3 (state), 20 (num_threads) and 22 (starttime).
    """
    if sys.platform == "linux":
        return _create_time_linux(pid)
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def _create_time_linux(pid: int) -> float | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    if len(fields) <= _STARTTIME:
        return None
    # A first thread that has ended shows as a zombie while others run on, in a driver for instance.
    if fields[_STATE] in (b"Z", b"X", b"x") and int(fields[_THREADS]) <= 1:
        return None
    return int(fields[_STARTTIME]) / os.sysconf("SC_CLK_TCK")


def identity(pid: int) -> ProcessIdentity | None:
    """Returns the identity of a living process, None if there is none with this pid."""
    created = create_time_s(pid)
    if created is None:
        return None
    return ProcessIdentity(pid=pid, create_time_s=created, boot_id=boot_id())


def is_alive(process: ProcessIdentity) -> bool:
    """Tells whether exactly this process still runs; a zombie does not."""
    if process.boot_id != boot_id():
        return False
    created = create_time_s(process.pid)
    return created is not None and abs(created - process.create_time_s) < _CREATE_TIME_TOLERANCE_S
