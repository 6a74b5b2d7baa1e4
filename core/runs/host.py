"""The machine of this process, as a manifest records it."""

from __future__ import annotations

import functools

from core.hardware.host import read_host
from core.runs.manifest import Host


@functools.cache
def this_host() -> Host:
    """Returns the machine that this process runs on, as far as it may use it."""
    facts = read_host()
    return Host(
        name=facts.name,
        platform=facts.platform,
        cpu_count=facts.cpu_count,
        memory_bytes=facts.memory_bytes,
    )
