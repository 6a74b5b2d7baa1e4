"""The figures of a whole trace, as exact integers: what a summary prints and the page shows first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.intervals import counts_by_key, ends_ns, exact_sum, exact_sums_by_key, union
from core.tables.columns import NO_ROW
from core.tables.trace import DEVICE_KINDS, SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Int32, Int64
    from core.tables.trace import SliceTable, Trace

TOP_KERNELS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKernel:
    """All kernels of one name.

    Attributes:
        name: Full, as in the file.
        calls: Records of it, the impossible ones too.
        sum_ns: Of its possible durations.
    """

    name: str
    calls: int
    sum_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The figures.

    A record with an impossible time (negative, missing, never filled in) is
    counted; its time is in no sum.

    Attributes:
        events: Elements of the file's list of events.
        kernels: Records of kernels.
        kernel_sum_ns: Sum of their durations; where they overlap, more than the time they took.
        kernel_busy_ns: Time in which at least one kernel ran on a device, added over devices. A device is
            a process id of the file.
        communication_ns: Sum of the durations of collectives.
        memcpy, memset: Records of copies and of sets.
        ops: Records of the framework's operators.
        steps: Steps that the profiler marked.
        streams: Streams on which kernels ran.
        span_ns: From the first start to the last end of all slices.
        kernels_outside_steps: Kernels that no step launched; 0 where the trace marks no step.
        top_kernels: The names with the largest sums, ties by name.
    """

    events: int
    kernels: int
    kernel_sum_ns: int
    kernel_busy_ns: int
    communication_ns: int
    memcpy: int
    memset: int
    ops: int
    steps: int
    streams: int
    span_ns: int
    kernels_outside_steps: int
    top_kernels: tuple[TopKernel, ...]


def summarize_totals(index: TraceIndex) -> Totals:
    """Computes the figures of a trace."""
    trace = index.trace
    slices = trace.slices
    is_kernel = slices.kind[trace.device_work.slice_row] == SliceKind.KERNEL
    rows = trace.device_work.slice_row[is_kernel]
    length_ns = np.maximum(slices.duration_ns[rows], 0)
    process = trace.tracks.process_id[slices.track[rows]]
    busy = union(process, slices.start_ns[rows], ends_ns(slices.start_ns[rows], length_ns))
    kinds = counts_by_key(slices.kind, max(SliceKind) + 1)
    outside = is_kernel & (index.step_of_work == NO_ROW)
    return Totals(
        events=trace.facts.event_count,
        kernels=len(rows),
        kernel_sum_ns=exact_sum(length_ns),
        kernel_busy_ns=busy.total_ns,
        communication_ns=exact_sum(length_ns[index.categories[is_kernel] == Category.COMMUNICATION]),
        memcpy=int(kinds[SliceKind.MEMCPY]),
        memset=int(kinds[SliceKind.MEMSET]),
        ops=int(kinds[SliceKind.OP]),
        steps=len(index.steps),
        streams=_streams(trace, rows),
        span_ns=_span_ns(slices),
        kernels_outside_steps=int(np.count_nonzero(outside)) if len(index.steps) else 0,
        top_kernels=_top_kernels(trace, rows, length_ns),
    )


def _streams(trace: Trace, rows: Int32) -> int:
    """Counts (process, thread): ranks that collide on one stream of the file do not make it several."""
    tracks = np.unique(trace.slices.track[rows])
    pairs = np.stack((trace.tracks.process_id[tracks], trace.tracks.thread_id[tracks]), axis=1)
    return len(np.unique(pairs, axis=0))


def _span_ns(slices: SliceTable) -> int:
    """From the first start to the last end of slices whose time is possible; moments stretch nothing."""
    placed: Bool = slices.duration_ns >= 0
    placed &= (slices.duration_ns > 0) | ~np.isin(slices.kind, [int(kind) for kind in DEVICE_KINDS])
    if not placed.any():
        return 0
    start_ns = slices.start_ns[placed]
    return int(ends_ns(start_ns, slices.duration_ns[placed]).max()) - int(start_ns.min())


def _top_kernels(trace: Trace, rows: Int32, length_ns: Int64) -> tuple[TopKernel, ...]:
    names, of_row = np.unique(trace.slices.name_id[rows], return_inverse=True)
    calls = counts_by_key(of_row, len(names)).tolist()
    sums = exact_sums_by_key(of_row, length_ns, len(names))
    found = [
        TopKernel(name=trace.strings[text_id], calls=count, sum_ns=sum_ns)
        for text_id, count, sum_ns in zip(names.tolist(), calls, sums, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: (-each.sum_ns, each.name))[:TOP_KERNELS])
