"""Which slice of a host thread lies in which: the tree of calls, without a Python loop over slices.

The tree can be asked for all slices of the host, or for some kinds only: a Python
frame that begins in an operator and ends after it must not cut the operators
apart. What a slice launched on a device is in ``links``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.intervals import ends_ns
from core.compiled import compiled
from core.tables.columns import MISSING, NO_ROW, freeze_columns
from core.tables.trace import DEVICE_KINDS, SliceKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.tables.columns import Bool, Int32, Int64, Uint8
    from core.tables.trace import SliceTable, TrackTable

CALL_KINDS: Final = (SliceKind.OP, SliceKind.ANNOTATION, SliceKind.RUNTIME)
"""What ``torch.profiler`` takes an operator's own time to lie between."""

# Of two slices with the same times, the outer one first.
_OUTER_FIRST: Final = {
    SliceKind.PROFILER: 0,
    SliceKind.PYTHON: 1,
    SliceKind.ANNOTATION: 1,
    SliceKind.RUNTIME: 3,
}
_BETWEEN: Final = 2
_MOST_TOGETHER: Final = 64
_LAST_NS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Nesting:
    """The tree of slices of each host thread.

    The parent of a slice is the innermost slice of its thread that contains it
    wholly. One that begins inside another and ends after it is no child: both are
    children of what contains both. A slice that begins where another ends is not
    inside it. A negative or missing duration counts as 0. Of two slices with the
    same times, calls lie in operators and operators in annotations and Python
    frames, else the first in the file is the parent.

    Attributes:
        parent_row: (slices,) int32, NO_ROW for the outermost and for what is not in the tree.
        depth: (slices,) int32, 0 for the outermost, NO_ROW for what is not in the tree.
        order: (m,) int32, the rows in the tree: thread by thread, parents before children, by start.
        overlapping_count: Slices that begin inside another and end after it.
    """

    parent_row: Int32
    depth: Int32
    order: Int32
    overlapping_count: int

    def __post_init__(self) -> None:
        freeze_columns(self, {"parent_row": np.int32, "depth": np.int32})
        self.order.flags.writeable = False


def nest_slices(slices: SliceTable, tracks: TrackTable, kinds: Iterable[SliceKind] | None = None) -> Nesting:
    """Builds the tree of slices of the host.

    In it is what lies on no device's track and is neither device work nor an
    annotation's shadow there.

    Args:
        slices: The slices.
        tracks: Their tracks.
        kinds: Only slices of these, as if there were no others; None for all.
    """
    chosen = _on_host(slices, tracks)
    if kinds is not None:
        chosen &= np.isin(slices.kind, [int(kind) for kind in kinds])
    order = np.flatnonzero(chosen).astype(np.int32)
    _sort_outer_first(order, slices)
    parent = np.full(len(slices), NO_ROW, np.int32)
    depth = np.full(len(slices), NO_ROW, np.int32)
    overlapping = _find_parents(order, slices.track, slices.start_ns, slices.duration_ns, parent, depth)
    return Nesting(parent, depth, order, int(overlapping))


def self_times_ns(nesting: Nesting, slices: SliceTable) -> Int64:
    """Returns (slices,) int64: the part of each slice that none of its children covers.

    MISSING for what is not in the tree and for slices whose duration is negative or missing.
    """
    length_ns = _lengths_ns(slices)
    self_ns = length_ns.copy()
    _take_children_off(nesting.order, nesting.parent_row, slices.start_ns, length_ns, self_ns)
    self_ns[(nesting.depth == NO_ROW) | (slices.duration_ns < 0)] = MISSING
    return self_ns


def sums_with_inner(nesting: Nesting, values: Int64) -> Int64:
    """Returns (slices,) int64: the value of each slice and of all that lie in it, added up.

    Args:
        nesting: The tree.
        values: (slices,) int64.
    """
    total = values.copy()
    _hand_up(nesting.order, nesting.parent_row, total)
    return total


def nearest_of_kind(nesting: Nesting, slices: SliceTable, kind: SliceKind) -> Int32:
    """Returns (slices,) int32: the innermost slice of a kind that each one lies in or is, else NO_ROW."""
    return nearest_where(nesting, slices.kind == kind)


def nearest_where(nesting: Nesting, wanted: Bool) -> Int32:
    """Returns (slices,) int32: the innermost wanted slice that each one lies in or is, else NO_ROW.

    Args:
        nesting: The tree.
        wanted: (slices,) bool. What is not in the tree is never found.
    """
    found = np.full(len(nesting.parent_row), NO_ROW, np.int32)
    _hand_down(nesting.order, nesting.parent_row, wanted, found)
    return found


def _on_host(slices: SliceTable, tracks: TrackTable) -> Bool:
    elsewhere = [int(kind) for kind in (*DEVICE_KINDS, SliceKind.GPU_ANNOTATION)]
    on_host: Bool = ~np.isin(slices.kind, elsewhere) & (tracks.is_device[slices.track] == 0)
    return on_host


def _lengths_ns(slices: SliceTable) -> Int64:
    """Returns (slices,) int64: durations, 0 where there is none, cut where times end."""
    return ends_ns(slices.start_ns, slices.duration_ns) - slices.start_ns


def _sort_outer_first(order: Int32, slices: SliceTable) -> None:
    """Sorts ascending rows by track, start, longest first, then by kind.

    A file has long runs in the order of time, which a stable sort by the start
    alone uses; what begins at the same time is then put in order where it lies.
    """
    track = slices.track[order]
    if len(track) and track.max() < 2**16:
        track = track.astype(np.uint16)  # NumPy sorts these by counting
    order[:] = order[np.argsort(track, kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(slices.track[order])) + 1):
        rows[:] = rows[np.argsort(slices.start_ns[rows], kind="stable")]
    kind_rank = np.full(256, _BETWEEN, np.uint8)
    for kind, place in _OUTER_FIRST.items():
        kind_rank[kind] = place
    rank = kind_rank[slices.kind]
    if not _order_equal_starts(order, slices.track, slices.start_ns, slices.duration_ns, rank):
        shorter = -_lengths_ns(slices)[order]
        keys = (rank[order], shorter, slices.start_ns[order], slices.track[order])
        order[:] = order[np.lexsort((order, *keys))]


@compiled
def _length_ns(start_ns: int, duration_ns: int) -> int:
    """One of ``_lengths_ns``: columns of them would take more memory than all else here."""
    length_ns = max(duration_ns, 0)
    return _LAST_NS - start_ns if start_ns > _LAST_NS - length_ns else length_ns


@compiled
def _order_equal_starts(order: Int32, track: Int32, start_ns: Int64, duration_ns: Int64, rank: Uint8) -> bool:
    """Inserts each row among those before it with its start; returns whether few enough begin together."""
    first = 0
    for place in range(len(order)):
        row = order[place]
        if track[order[first]] != track[row] or start_ns[order[first]] != start_ns[row]:
            first = place
        if place - first > _MOST_TOGETHER:
            return False
        to = place
        length = _length_ns(start_ns[row], duration_ns[row])
        while to > first:
            before = order[to - 1]
            before_length = _length_ns(start_ns[before], duration_ns[before])
            if before_length > length or (before_length == length and rank[before] <= rank[row]):
                break
            order[to] = before
            to -= 1
        order[to] = row
    return True


@compiled
def _find_parents(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    order: Int32, track: Int32, start_ns: Int64, duration_ns: Int64, parent: Int32, depth: Int32
) -> int:
    """Fills parents and depths; the open slices are the innermost one and its ancestors."""
    overlapping = 0
    innermost = -1
    for row in order:
        if innermost >= 0 and track[innermost] != track[row]:
            innermost = -1
        begin = start_ns[row]
        end = begin + _length_ns(begin, duration_ns[row])
        overruns = False
        while innermost >= 0:
            open_until = start_ns[innermost] + _length_ns(start_ns[innermost], duration_ns[innermost])
            if open_until > begin:
                if open_until >= end:
                    break
                overruns = True
            innermost = parent[innermost]
        if overruns:
            overlapping += 1
        parent[row] = innermost
        depth[row] = depth[innermost] + 1 if innermost >= 0 else 0
        innermost = row
    return overlapping


@compiled
def _take_children_off(
    order: Int32, parent: Int32, start_ns: Int64, length_ns: Int64, self_ns: Int64
) -> None:
    covered_until = start_ns.copy()
    for row in order:
        outer = parent[row]
        if outer >= 0:
            begin = max(start_ns[row], covered_until[outer])
            end = start_ns[row] + length_ns[row]
            if end > begin:
                self_ns[outer] -= end - begin
                covered_until[outer] = end


@compiled
def _hand_down(order: Int32, parent: Int32, wanted: Bool, found: Int32) -> None:
    for row in order:
        if wanted[row]:
            found[row] = row
        elif parent[row] >= 0:
            found[row] = found[parent[row]]


@compiled
def _hand_up(order: Int32, parent: Int32, total: Int64) -> None:
    for place in range(len(order) - 1, -1, -1):
        row = order[place]
        if parent[row] >= 0:
            total[parent[row]] += total[row]
