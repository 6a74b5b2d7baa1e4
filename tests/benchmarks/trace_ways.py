"""Ways from a trace file to its kernel table, each measured in a process of its own.

The clock starts when everything is imported. Usage:
``python -m tests.benchmarks.trace_ways WAY FILE [CACHE_FOLDER]``; prints one line
of JSON, a ``Measured``. The two yardsticks that run in a foreign interpreter print
the same line: ``trace_way_hta.py``, ``trace_way_perfetto.js``.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import psutil

from core.analyses.index import TraceIndex
from core.analyses.kernels import summarize_kernels
from core.readers.cache import TraceCache
from core.readers.torch_trace.reader import read_trace
from core.readers.worker import open_trace_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.trace import Trace

BLOCK_BYTES = 4 * 2**20


class Found(msgspec.Struct, omit_defaults=True):
    """What a way found, to see that all of them did the same work."""

    events: int = 0
    kernels: int = 0
    kernel_sum_us: float = 0.0


class Measured(msgspec.Struct):
    """What a way cost.

    Attributes:
        wall_s: From the path to the kernel table.
        cpu_s: The same of all cores, processes of its own included.
        peak_bytes: The most memory that lay in RAM at one time, what is imported and own processes included.
        before_bytes: What lay there before it began.
        found: What it found.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    before_bytes: int = 0
    found: Found = msgspec.field(default_factory=Found)


class Arguments(msgspec.Struct, gc=False, frozen=True):
    """The arguments that a kernel table and its links need, as in a reader that decodes all of the file."""

    correlation: Any = None
    external_id: Any = msgspec.field(name="External id", default=None)
    stream: Any = None
    device: Any = None
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(name="registers per thread", default=None)
    shared_memory_bytes: Any = msgspec.field(name="shared memory", default=None)
    occupancy_pct: Any = msgspec.field(name="est. achieved occupancy %", default=None)
    size_bytes: Any = msgspec.field(name="bytes", default=None)


NO_ARGUMENTS = Arguments()


class Event(msgspec.Struct, gc=False):
    """One event."""

    ph: str = ""
    cat: str = ""
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: float = 0.0
    dur: float = 0.0
    args: Arguments = NO_ARGUMENTS


class Document(msgspec.Struct, gc=False):
    """A whole trace."""

    events: list[Event] = msgspec.field(name="traceEvents")


def kernel_table(trace: Trace) -> Found:
    """Sums the kernels up, as the first table that is shown."""
    table = summarize_kernels(TraceIndex(trace))
    sums = {column.key: int(column.values.sum()) for column in table.columns if column.key in SUMMED}
    return Found(trace.facts.event_count, sums["calls"], sums["sum_ns"] / 1e3)


SUMMED = ("calls", "sum_ns")


def ours(path: Path, _: Path) -> Found:
    """Reads in this process."""
    return kernel_table(read_trace(path))


def opened(path: Path, _: Path) -> Found:
    """Reads through the child process that the window uses, into an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        return kernel_table(open_trace_file(path, lambda *_: None, TraceCache(Path(folder))).trace)


def put(path: Path, folder: Path) -> Found:
    """Reads and keeps it in the cache; prepares ``cached``."""
    opened = open_trace_file(path, lambda *_: None, TraceCache(folder))
    if opened.keep is not None:
        opened.keep(lambda: None)
    return kernel_table(opened.trace)


def cached(path: Path, folder: Path) -> Found:
    """Opens what the cache has."""
    trace = TraceCache(folder).find(path)
    assert trace is not None, "it is not in the cache"
    return kernel_table(trace)


def typed(path: Path, _: Path) -> Found:
    """The yardstick: one typed decode of the whole file, and a sum by name."""
    # Collecting garbage among millions of events would only make it slower.
    gc.disable()
    document = msgspec.json.decode(path.read_bytes(), type=Document)
    sums: dict[str, tuple[int, float]] = {}
    for event in document.events:
        if event.cat == "kernel":
            calls, sum_us = sums.get(event.name, (0, 0.0))
            sums[event.name] = calls + 1, sum_us + event.dur
    kernels = sum(calls for calls, _ in sums.values())
    return Found(len(document.events), kernels, sum(sum_us for _, sum_us in sums.values()))


def read(path: Path, _: Path) -> Found:
    """The limit of every reader: only brings the bytes of the file into memory, block by block."""
    block = bytearray(BLOCK_BYTES)
    with path.open("rb", buffering=0) as file:
        while file.readinto(block):
            pass
    return Found()


def add_up(path: Path, _: Path) -> Found:
    """The limit of every scan: looks at each byte of the file, eight at a time, on one core."""
    block = np.empty(BLOCK_BYTES // 8, np.uint64)
    total = 0
    with path.open("rb", buffering=0) as file:
        while file.readinto(block.data):
            total ^= int(np.bitwise_xor.reduce(block))
    return Found()


def unpack(path: Path, _: Path) -> Found:
    """The limit of every reader of packed files: only unpacks."""
    unpacking = zlib.decompressobj(wbits=31)
    with path.open("rb", buffering=0) as file:
        while block := file.read(2**20):
            unpacking.decompress(block)
    return Found()


WAYS: dict[str, Callable[[Path, Path], Found]] = {
    way.__name__: way for way in (ours, opened, put, cached, typed, read, add_up, unpack)
}


def peak_bytes(before_bytes: int) -> int:
    """The most memory of this process, or of what it had when its child ran and that child."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own_bytes = int(status.split("VmHWM:")[1].split()[0]) * 1024
    child_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return max(own_bytes, before_bytes + child_bytes if child_bytes else 0)


def measure(way: str, path: Path, folder: Path) -> Measured:
    """Goes one way once."""
    before_bytes = psutil.Process().memory_info().rss
    cpu_s, began = sum(os.times()[:4]), time.perf_counter()
    found = WAYS[way](path, folder)
    wall_s = time.perf_counter() - began
    cpu_s = sum(os.times()[:4]) - cpu_s
    return Measured(wall_s, cpu_s, peak_bytes(before_bytes), before_bytes, found)


if __name__ == "__main__":
    way, path, *folder = sys.argv[1:]
    print(msgspec.json.encode(measure(way, Path(path), Path(*folder))).decode())
