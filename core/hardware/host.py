"""Facts about this machine that a run should carry along: name, system, processors, memory."""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container's memory limit stands. Source: kernel docs, cgroup v2 and v1 memory controllers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """A machine.

    Attributes:
        cpu_count: Logical processors that this process may use.
        memory_bytes: Memory that this process may use: the machine's, or the
            container's where that is less.
    """

    name: str
    platform: str
    cpu_count: int
    memory_bytes: int


@functools.cache
def read_host() -> HostFacts:
    """Return the facts about this machine.

    Source: uname(2); sched_getaffinity(2); psutil.virtual_memory().total
    (MemTotal of /proc/meminfo), cut to the cgroup's limit.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return HostFacts(
        name=platform.node(),
        platform=platform.platform(),
        cpu_count=len(allowed),
        memory_bytes=min(psutil.virtual_memory().total, *_cgroup_limits()),
    )


def _cgroup_limits() -> list[int]:
    limits = []
    for path in CGROUP_LIMITS:
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        if text.isdecimal():
            limits.append(int(text))
    return limits or [2**63]
