"""Facts about this machine that a manifest records."""

from __future__ import annotations

import functools
import os
import platform
import socket

import psutil

from core.runs.manifest import Host


@functools.cache
def this_host() -> Host:
    """Returns the machine that this process runs on."""
    return Host(
        name=socket.gethostname(),
        platform=platform.platform(),
        cpu_count=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
    )
