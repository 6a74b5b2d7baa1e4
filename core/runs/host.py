"""Facts about this machine that a manifest records."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import psutil

from core.runs.manifest import Host

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@functools.cache
def this_host() -> Host:
    """Returns the machine that this process runs on, as far as it may use it.

    Source: uname(2); sched_getaffinity(2); MemTotal of /proc/meminfo, cut to
    the limit of a container (kernel documentation, cgroup v2 and v1 memory).
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return Host(
        name=platform.node(),
        platform=platform.platform(),
        cpu_count=len(allowed),
        memory_bytes=min(psutil.virtual_memory().total, *_container_limits()),
    )


def _container_limits() -> list[int]:
    limits = [2**63]
    for path in _CGROUP_LIMITS:
        try:
            text = Path(path).read_text("ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            limits.append(int(text))
    return limits
