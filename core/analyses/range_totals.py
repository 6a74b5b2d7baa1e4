"""The figures of a part of a trace: the sum of its kernels, and how long the devices were busy in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.categories import Category
from core.analyses.intervals import counts_by_key, ends_ns, exact_sum, union
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Int64
    from core.tables.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeTotals:
    """The figures, exact. A slice counts in the range in which it starts, as in every table.

    Attributes:
        kernels: Kernels that start in the range.
        kernel_sum_ns: Sum of their durations, each whole.
        kernel_busy_ns: Time of the range in which at least one kernel ran on a device, added over devices;
            a kernel that reaches over a border counts with what lies inside.
        span_ns: Length of the range.
        devices: Devices that ran a kernel anywhere on the tracks.
        communication_ns: Sum of the durations of the collectives among the kernels.
        memcpy, memset, ops: Copies, sets and operators that start in the range.
    """

    kernels: int
    kernel_sum_ns: int
    kernel_busy_ns: int
    span_ns: int
    devices: int
    communication_ns: int
    memcpy: int
    memset: int
    ops: int

    @property
    def busy_pct(self) -> float | None:
        """Busy time over the time of all devices; None for a range without length or device."""
        whole_ns = self.span_ns * self.devices
        return 100 * self.kernel_busy_ns / whole_ns if whole_ns else None


def summarize_range(index: TraceIndex, selection: Selection) -> RangeTotals:
    """Computes the figures of a range; a side that is open ends with the slices of its tracks."""
    trace, slices = index.trace, index.trace.slices
    start_ns, end_ns = _borders(index, selection)
    is_kernel = slices.kind[trace.device_work.slice_row] == SliceKind.KERNEL
    is_kernel &= selection.on_tracks(slices.track[trace.device_work.slice_row])
    rows = trace.device_work.slice_row[is_kernel]
    chosen = selection.mask(slices)
    own = chosen[rows]
    length_ns = np.maximum(slices.duration_ns[rows], 0)
    process = trace.tracks.process_id[slices.track[rows]]
    busy = union(
        process,
        np.maximum(slices.start_ns[rows], start_ns),
        np.minimum(ends_ns(slices.start_ns[rows], length_ns), end_ns),
    )
    kinds = counts_by_key(slices.kind[chosen], max(SliceKind) + 1)
    communicates = index.categories[is_kernel] == Category.COMMUNICATION
    return RangeTotals(
        kernels=int(np.count_nonzero(own)),
        kernel_sum_ns=exact_sum(length_ns[own]),
        kernel_busy_ns=busy.total_ns,
        span_ns=end_ns - start_ns,
        devices=len(np.unique(process)),
        communication_ns=exact_sum(length_ns[own & communicates]),
        memcpy=int(kinds[SliceKind.MEMCPY]),
        memset=int(kinds[SliceKind.MEMSET]),
        ops=int(kinds[SliceKind.OP]),
    )


def _borders(index: TraceIndex, selection: Selection) -> tuple[int, int]:
    start_ns, end_ns = selection.start_ns, selection.end_ns
    slices = index.trace.slices
    here = selection.on_tracks(slices.track)
    if start_ns is None:
        start_ns = _edge(slices.start_ns[here], first=True)
    if end_ns is None:
        end_ns = _edge(ends_ns(slices.start_ns, slices.duration_ns)[here], first=False)
    return start_ns, max(end_ns, start_ns)


def _edge(times_ns: Int64, *, first: bool) -> int:
    if not len(times_ns):
        return 0
    return int(times_ns.min() if first else times_ns.max())
