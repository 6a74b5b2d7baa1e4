"""Lays the slices of a trace into rows that do not overlap, and notes what drawing them needs.

Pure and without Qt: it may run in any thread or process. The loops release the
interpreter lock. What is drawn from the index is in ``timeline_raster``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.compiled import compiled
from core.tables.columns import MISSING, NO_ROW
from core.tables.timeline import MOST_COLOURS, TimelineIndex, TimelineMarks

Uint64 = NDArray[np.uint64]
Number = TypeVar("Number", np.uint32, np.uint64)

if TYPE_CHECKING:
    from core.tables.columns import Bool, Int32, Int64, Uint8
    from core.tables.timeline import GroupFacts, LaneFacts, TimelineSlices

LEAST_BLOCK: Final = 8
OVERVIEW_BINS: Final = 4096
PACKED_LIMIT_NS: Final = 2**28
UNPACKED: Final = np.uint64(2**64 - 1)
_LONGEST_SORTED_RUN: Final = 64
_LAST_NS: Final = 2**63 - 1
_CACHE_LINE: Final = 64


def build_timeline(
    slices: TimelineSlices, lanes: tuple[LaneFacts, ...], groups: tuple[GroupFacts, ...]
) -> TimelineIndex:
    """Builds the index of a timeline.

    In a lane, slices are taken by start, the longer first; each goes to the first
    row that is free by then. For calls that nest properly that is their depth.

    Args:
        slices: Any order. Those with a negative or missing duration become marks.
        lanes: By the numbers that ``slices.lane`` holds.
        groups: By the numbers that the lanes hold.

    Raises:
        ValueError: A slice or lane refers to a lane, group or colour that cannot be.
    """
    _check(slices, lanes)
    drawable, unplaced = _sort_out(slices)
    marks = _marks(slices, ~drawable & ~unplaced)
    unplaced_count = int(unplaced.sum())
    order, lane_first_slice = _in_lanes(slices, drawable, len(lanes))
    del drawable, unplaced
    rows = _lay_out(slices, order, lane_first_slice)
    del order
    columns = _Columns.of(slices, rows)
    colour_count = max(1, int(slices.colour.max(initial=0)) + 1)
    block_size = max(LEAST_BLOCK, (1 << (colour_count - 1).bit_length()) // 2)
    block_first = _firsts(-(np.diff(rows.row_first) // -block_size))
    note_first = _firsts(-(np.diff(block_first) // -2))
    block_start_ns = np.empty(int(block_first[-1]), np.int64)
    block_slices = _aligned((len(block_start_ns), block_size), np.uint64)
    note_busy_ns = _notes(columns, rows.row_first, (int(note_first[-1]), colour_count))
    _note(
        columns.start_ns,
        columns.end_ns,
        columns.colour,
        rows.row_first,
        block_size,
        block_first,
        block_start_ns,
        note_first,
        note_busy_ns,
    )
    _pack(columns.start_ns, columns.end_ns, columns.colour, rows.row_first, block_first, block_slices)
    zero = np.flatnonzero(columns.start_ns == columns.end_ns)
    first_ns, last_ns = _extent(columns, marks)
    return TimelineIndex(
        lanes=lanes,
        groups=groups,
        colour_count=colour_count,
        block_size=block_size,
        lane_first=rows.lane_first,
        row_lane=np.repeat(np.arange(len(lanes), dtype=np.int32), np.diff(rows.lane_first)),
        row_longest_ns=_longest(columns.start_ns, columns.end_ns, rows.row_first),
        row_first=rows.row_first,
        start_ns=columns.start_ns,
        end_ns=columns.end_ns,
        colour=columns.colour,
        slice_row=rows.slice_row,
        block_first=block_first,
        block_start_ns=block_start_ns,
        block_slices=block_slices,
        note_first=note_first,
        note_busy_ns=note_busy_ns,
        tick_first=np.searchsorted(zero, rows.row_first).astype(np.int64),
        tick_ns=columns.start_ns[zero],
        tick_colour=columns.colour[zero],
        marks=marks,
        unplaced_count=unplaced_count,
        start_of_all_ns=first_ns,
        end_of_all_ns=last_ns,
        overview_busy_ns=_overview(columns, rows, lanes, len(groups), first_ns, last_ns),
    )


def edges_ns(start_ns: int, end_ns: int, parts: int) -> Int64:
    """Where equal parts of a range begin and end: ``start + (end - start) * i // parts``.

    Args:
        start_ns: Start of the range.
        end_ns: Its end, above the start.
        parts: How many, at least 1.

    Returns:
        (parts + 1,) int64.
    """
    step, rest = divmod(end_ns - start_ns, parts)
    index = np.arange(parts + 1, dtype=np.int64)
    # The same as the formula, without a product that may not fit.
    return start_ns + step * index + rest * index // parts


def locate(index: TimelineIndex, slice_row: int) -> int:
    """Position of a slice in the index's columns, NO_ROW if it is not in it."""
    found = np.flatnonzero(index.slice_row == slice_row)
    return int(found[0]) if len(found) else NO_ROW


def row_of(index: TimelineIndex, position: int) -> int:
    """Row of the slice at a position of the index's columns."""
    return int(np.searchsorted(index.row_first, position, side="right")) - 1


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Which slice lies where: rows of each lane, slices of each row."""

    lane_first: Int64
    row_first: Int64
    slice_row: Int32


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Columns of the slices in the order of the rows."""

    start_ns: Int64
    end_ns: Int64
    colour: Uint8

    @staticmethod
    def of(slices: TimelineSlices, rows: _Rows) -> _Columns:
        start_ns = slices.start_ns[rows.slice_row]
        end_ns = slices.duration_ns[rows.slice_row]
        end_ns += start_ns
        return _Columns(start_ns, end_ns, slices.colour[rows.slice_row])


def _check(slices: TimelineSlices, lanes: tuple[LaneFacts, ...]) -> None:
    if not len(slices):
        return
    if slices.lane.min() < 0 or slices.lane.max() >= len(lanes):
        raise ValueError(f"slices lie in lanes {slices.lane.min()} to {slices.lane.max()} of {len(lanes)}")
    if slices.colour.max() >= MOST_COLOURS:
        raise ValueError(f"colour {slices.colour.max()} stands for idle")


def _firsts(counts: Int64) -> Int64:
    """Where groups of so many entries begin, one after the other, and where the last ends."""
    first = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=first[1:])
    return first


def _aligned(shape: tuple[int, int], dtype: type[Number]) -> NDArray[Number]:
    """Zeros that begin where a line of the processor's cache does: a block of 8 is one line then, not two."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    memory = np.zeros(size + _CACHE_LINE, np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE
    return memory[first : first + size].view(dtype).reshape(shape)


def _notes(columns: _Columns, row_first: Int64, shape: tuple[int, int]) -> Int64 | NDArray[np.uint32]:
    """Room for the notes: uint32 if that holds what any row is busy with any colour."""
    most_ns = _most_busy_ns(columns.start_ns, columns.end_ns, columns.colour, row_first, shape[1])
    return _aligned(shape, np.uint32) if most_ns < 2**32 else np.zeros(shape, np.int64)


def _sort_out(slices: TimelineSlices) -> tuple[Bool, Bool]:
    """Which slices can be drawn with their length, and which have not even a start."""
    unplaced = slices.start_ns == MISSING
    # MISSING is negative too.
    drawable = (slices.duration_ns >= 0) & ~unplaced
    drawable &= slices.start_ns <= _LAST_NS - np.maximum(slices.duration_ns, 0)
    return drawable, unplaced


def _marks(slices: TimelineSlices, chosen: Bool) -> TimelineMarks:
    row = np.flatnonzero(chosen).astype(np.int32)
    row = row[np.argsort(slices.start_ns[row], kind="stable")]
    return TimelineMarks(slices.start_ns[row], slices.lane[row], row)


def _extent(columns: _Columns, marks: TimelineMarks) -> tuple[int, int]:
    starts = [int(column.min()) for column in (columns.start_ns, marks.time_ns) if len(column)]
    ends = [int(column.max()) for column in (columns.end_ns, marks.time_ns) if len(column)]
    if not starts:
        return 0, 1
    return min(starts), max(*ends, min(starts) + 1)


def _in_lanes(slices: TimelineSlices, drawable: Bool, lane_count: int) -> tuple[Int32, Int64]:
    """Rows of the drawable slices, lane by lane, each by start and then the longer first."""
    counts = np.bincount(slices.lane[drawable], minlength=lane_count)
    first = _firsts(counts)
    order = np.empty(int(first[-1]), np.int32)
    _scatter(slices.lane, drawable, first[:-1].copy(), order)
    for lane in range(lane_count):
        rows = order[first[lane] : first[lane + 1]]
        start_ns = slices.start_ns[rows]
        if (start_ns[1:] < start_ns[:-1]).any():
            rows[:] = rows[np.argsort(start_ns)]
        if not _order_ties(slices.start_ns, slices.duration_ns, rows, _LONGEST_SORTED_RUN):
            rows[:] = rows[np.lexsort((rows, -slices.duration_ns[rows], slices.start_ns[rows]))]
    return order, first


def _lay_out(slices: TimelineSlices, order: Int32, lane_first_slice: Int64) -> _Rows:
    lane_count = len(lane_first_slice) - 1
    depth = np.empty(len(order), np.int32)
    row_counts = np.ones(lane_count, np.int64)
    for lane in range(lane_count):
        part = slice(int(lane_first_slice[lane]), int(lane_first_slice[lane + 1]))
        row_counts[lane] = max(
            1, _first_free_rows(slices.start_ns, slices.duration_ns, order[part], depth[part])
        )
    lane_first = _firsts(row_counts)
    row_first = np.zeros(int(lane_first[-1]) + 1, np.int64)
    slice_row = np.empty(len(order), np.int32)
    _by_row(order, depth, lane_first_slice, lane_first, row_first, slice_row)
    return _Rows(lane_first, row_first, slice_row)


def _overview(  # noqa: PLR0913, PLR0917  (what it needs of the index that is being made)
    columns: _Columns,
    rows: _Rows,
    lanes: tuple[LaneFacts, ...],
    group_count: int,
    first_ns: int,
    last_ns: int,
) -> Int64:
    bins = min(OVERVIEW_BINS, last_ns - first_ns)
    busy_ns = np.zeros((group_count, bins), np.int64)
    edges = edges_ns(first_ns, last_ns, bins)
    for group in range(group_count):
        counted = [
            np.arange(rows.lane_first[number], rows.lane_first[number + 1], dtype=np.int64)
            for number, lane in enumerate(lanes)
            if lane.group == group and lane.in_overview
        ]
        if counted:
            _union_in_bins(
                columns.start_ns,
                columns.end_ns,
                rows.row_first,
                np.concatenate(counted),
                edges,
                busy_ns[group],
            )
    return busy_ns


@compiled
def _scatter(lane: Int32, chosen: Bool, place: Int64, order: Int32) -> None:
    for row in range(len(lane)):
        if chosen[row]:
            order[place[lane[row]]] = row
            place[lane[row]] += 1


@compiled
def _order_ties(start_ns: Int64, duration_ns: Int64, rows: Int32, longest: int) -> bool:
    """Orders slices of one start by insertion; False if there are too many of one start for that."""
    first = 0
    for place in range(1, len(rows)):
        row = rows[place]
        if start_ns[row] != start_ns[rows[place - 1]]:
            first = place
            continue
        if place - first > longest:
            return False
        hole = place
        while hole > first:
            before = rows[hole - 1]
            longer = duration_ns[before] > duration_ns[row]
            if longer or (duration_ns[before] == duration_ns[row] and before < row):
                break
            rows[hole] = before
            hole -= 1
        rows[hole] = row
    return True


@compiled
def _first_free_rows(start_ns: Int64, duration_ns: Int64, rows: Int32, depth: Int32) -> int:
    """Gives each slice the first row that is free at its start; returns how many rows there are.

    A tree over the rows holds the smallest end below each node, so that many
    slices that all overlap cost no more than the logarithm of their number.
    """
    never = np.int64(-(2**63))
    leaves = 1
    tree = np.full(2, never, np.int64)
    most = 0
    for place in range(len(rows)):
        start = start_ns[rows[place]]
        while tree[1] > start:
            grown = np.full(4 * leaves, never, np.int64)
            grown[2 * leaves : 3 * leaves] = tree[leaves:]
            leaves *= 2
            for node in range(leaves - 1, 0, -1):
                grown[node] = min(grown[2 * node], grown[2 * node + 1])
            tree = grown
        node = 1
        while node < leaves:
            node *= 2
            if tree[node] > start:
                node += 1
        depth[place] = node - leaves
        most = max(most, node - leaves + 1)
        tree[node] = start + duration_ns[rows[place]]
        while node > 1:
            node //= 2
            tree[node] = min(tree[2 * node], tree[2 * node + 1])
    return most


@compiled
def _by_row(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    order: Int32, depth: Int32, lane_first_slice: Int64, lane_first: Int64, row_first: Int64, slice_row: Int32
) -> None:
    """Puts slices row by row, in each by start."""
    for lane in range(len(lane_first) - 1):
        for place in range(lane_first_slice[lane], lane_first_slice[lane + 1]):
            row_first[lane_first[lane] + depth[place] + 1] += 1
    for row in range(1, len(row_first)):
        row_first[row] += row_first[row - 1]
    free = row_first.copy()
    for lane in range(len(lane_first) - 1):
        for place in range(lane_first_slice[lane], lane_first_slice[lane + 1]):
            row = lane_first[lane] + depth[place]
            slice_row[free[row]] = order[place]
            free[row] += 1


@compiled
def _longest(start_ns: Int64, end_ns: Int64, row_first: Int64) -> Int64:
    longest_ns = np.zeros(len(row_first) - 1, np.int64)
    for row in range(len(longest_ns)):
        for place in range(row_first[row], row_first[row + 1]):
            longest_ns[row] = max(longest_ns[row], end_ns[place] - start_ns[place])
    return longest_ns


@compiled
def _most_busy_ns(start_ns: Int64, end_ns: Int64, colour: Uint8, row_first: Int64, colours: int) -> int:
    most_ns = np.int64(0)
    for row in range(len(row_first) - 1):
        busy = np.zeros(colours, np.int64)
        for place in range(row_first[row], row_first[row + 1]):
            busy[colour[place]] += end_ns[place] - start_ns[place]
        most_ns = max(most_ns, busy.max())
    return int(most_ns)


@compiled
def _note(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    colour: Uint8,
    row_first: Int64,
    block_size: int,
    block_first: Int64,
    block_start_ns: Int64,
    note_first: Int64,
    note_busy_ns: Int64 | NDArray[np.uint32],
) -> None:
    busy = np.zeros(note_busy_ns.shape[1], np.int64)
    for row in range(len(row_first) - 1):
        busy[:] = 0
        for block in range(block_first[row + 1] - block_first[row]):
            begin = row_first[row] + block * block_size
            block_start_ns[block_first[row] + block] = start_ns[begin]
            for place in range(begin, min(begin + block_size, row_first[row + 1])):
                busy[colour[place]] += end_ns[place] - start_ns[place]
            if block % 2 == 0:
                note_busy_ns[note_first[row] + block // 2] = busy


@compiled
def _pack(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    colour: Uint8,
    row_first: Int64,
    block_first: Int64,
    block_slices: Uint64,
) -> None:
    """Puts each slice into one word: start since the block's (28 bits), duration (28), colour (8).

    A block with a slice that does not fit holds nothing but ``UNPACKED``. Places
    behind a row's last slice are 0, a slice without length.
    """
    size = block_slices.shape[1]
    for row in range(len(row_first) - 1):
        for block in range(block_first[row], block_first[row + 1]):
            begin = row_first[row] + (block - block_first[row]) * size
            for place in range(begin, min(begin + size, row_first[row + 1])):
                offset, duration = start_ns[place] - start_ns[begin], end_ns[place] - start_ns[place]
                if offset >= PACKED_LIMIT_NS or duration >= PACKED_LIMIT_NS:
                    block_slices[block] = UNPACKED
                    break
                block_slices[block, place - begin] = (offset << 36) | (duration << 8) | colour[place]


@compiled
def _union_in_bins(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64, end_ns: Int64, row_first: Int64, rows: Int64, edges: Int64, busy_ns: Int64
) -> None:
    """Adds up the time in which at least one of the rows is busy, bin by bin.

    The rows are merged by start with a heap of their next slices.
    """
    heap = np.empty(len(rows), np.int64)
    last = np.empty(len(rows), np.int64)
    size = 0
    for row in rows:
        if row_first[row] < row_first[row + 1]:
            heap[size] = row_first[row]
            last[size] = row_first[row + 1]
            size += 1
    for top in range(size // 2 - 1, -1, -1):
        _sink(start_ns, heap, last, size, top)
    covered = np.int64(-(2**63))
    part = 0
    while size:
        place = heap[0]
        begin, end = max(start_ns[place], covered), end_ns[place]
        if end > begin:
            covered = end
            while edges[part + 1] <= begin:
                part += 1
            while end > edges[part + 1]:
                busy_ns[part] += edges[part + 1] - begin
                part += 1
                begin = edges[part]
            busy_ns[part] += end - begin
        heap[0] = place + 1
        if place + 1 == last[0]:
            size -= 1
            heap[0], last[0] = heap[size], last[size]
        _sink(start_ns, heap, last, size, 0)


@compiled
def _sink(start_ns: Int64, heap: Int64, last: Int64, size: int, top: int) -> None:
    while 2 * top + 1 < size:
        child = 2 * top + 1
        if child + 1 < size and start_ns[heap[child + 1]] < start_ns[heap[child]]:
            child += 1
        if start_ns[heap[top]] <= start_ns[heap[child]]:
            return
        heap[top], heap[child] = heap[child], heap[top]
        last[top], last[child] = last[child], last[top]
        top = child
