"""Which processes use a GPU and how much memory the driver counts for each, checked for sense.

Older drivers fill the record differently from what newer bindings read, so that
process id and memory come out swapped or shifted; such records are left out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.hardware.readings import GpuProcess

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_PID = 2**22 if sys.platform.startswith("linux") else 2**32 - 1
"""Source: proc(5), /proc/sys/kernel/pid_max; at most 2**22 on 64 bits."""

CALLS = {
    "compute": ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
    "graphics": ("nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"),
}
"""Newest first. Versions are named, as the unversioned calls of nvidia-ml-py raise another error."""


@dataclass(frozen=True, slots=True)
class FoundProcesses:
    """Processes on a GPU, and how many records made no sense."""

    processes: list[GpuProcess]
    impossible: int


def list_processes(ask: Callable[[str], Any], total_bytes: int | None) -> FoundProcesses | None:
    """Ask for the processes on a GPU; one that computes and draws is counted once.

    Args:
        ask: Calls NVML by name for this GPU; None where there is no answer.
        total_bytes: Memory of the GPU, to recognise figures that cannot be.

    Returns:
        None where the driver does not list processes.

    Source: nvmlDeviceGetComputeRunningProcesses and
    nvmlDeviceGetGraphicsRunningProcesses (pid, usedGpuMemory in bytes; not
    available under Windows' WDDM);
    ``nvidia-smi --query-compute-apps=pid,used_gpu_memory``.
    """
    compute = _first_answer(ask, CALLS["compute"])
    graphics = _first_answer(ask, CALLS["graphics"])
    if compute is None:
        return None
    by_pid: dict[int, GpuProcess] = {}
    impossible = 0
    for record in [*compute, *(graphics or [])]:
        pid, used = int(record.pid), record.usedGpuMemory
        if not 0 < pid <= LARGEST_PID or (used is not None and total_bytes and used > total_bytes):
            impossible += 1
        elif pid not in by_pid:
            by_pid[pid] = GpuProcess(pid=pid, used_bytes=None if used is None else int(used))
    return FoundProcesses(list(by_pid.values()), impossible)


def _first_answer(ask: Callable[[str], Any], calls: tuple[str, ...]) -> list[Any] | None:
    for call in calls:
        answer = ask(call)
        if answer is not None:
            return list(answer)
    return None
