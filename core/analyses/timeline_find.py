"""Which slices of a timeline's index are wide in a picture, and which one a pixel shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.timeline_raster import block_before
from core.compiled import compiled
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from core.tables.columns import Int64
    from core.tables.timeline import TimelineIndex


def wide_slices(
    index: TimelineIndex, rows: Int64, start_ns: int, end_ns: int, least_ns: int
) -> tuple[Int64, Int64]:
    """Slices of which at least ``least_ns`` lie in the range, each once.

    Returns:
        which: (k,) int64, number in ``rows``; ascending.
        position: (k,) int64, position in the index's columns; ascending in a row.
    """
    # Such a slice holds at least one moment of a grid that is half as fine.
    step = max(1, least_ns // 2)
    numbers = np.flatnonzero(index.row_longest_ns[rows] >= least_ns)
    most = len(numbers) * ((end_ns - start_ns) // step + 2)
    which = np.empty(most, np.int64)
    position = np.empty(most, np.int64)
    count = _wide(
        *_columns(index),
        rows[numbers],
        start_ns,
        end_ns,
        least_ns,
        step,
        which,
        position,
    )
    return numbers[which[:count]], position[:count]


def separate_slices(
    index: TimelineIndex, rows: Int64, edges: Int64, busy_ns: Int64, least_px: int
) -> tuple[Int64, Int64]:
    """Slices of which at least ``least_px`` pixels lie in a picture, and whose end lies in it.

    Looks for them only where pixels are busy all the time, because such a slice fills some.

    Args:
        index: Of the timeline.
        rows: (r,) int64, numbers of rows.
        edges: (width + 1,) int64, of the pixels.
        busy_ns: (r, width) int64, from ``raster``.
        least_px: At least 3.

    Returns:
        which: (k,) int64, number in ``rows``; ascending.
        position: (k,) int64, position in the index's columns; ascending in a row.
    """
    length_ns = int(edges[-1] - edges[0])
    least_ns = max(1, length_ns * least_px // (len(edges) - 1))
    numbers = np.flatnonzero(index.row_longest_ns[rows] >= least_ns)
    # A pixel of every second is looked at.
    most = len(numbers) * (len(edges) // 2 + 1)
    which = np.empty(most, np.int64)
    position = np.empty(most, np.int64)
    count = _separate(
        *_columns(index),
        rows,
        numbers,
        edges,
        busy_ns,
        least_ns,
        least_px - 2,
        which,
        position,
    )
    return which[:count], position[:count]


def _columns(index: TimelineIndex) -> tuple[Int64, Int64, Int64, Int64, Int64, int]:
    """What compiled loops that look for slices begin with."""
    return (
        index.start_ns,
        index.end_ns,
        index.row_first,
        index.block_first,
        index.block_start_ns,
        index.block_size,
    )


def slice_in(index: TimelineIndex, row: int, start_ns: int, end_ns: int) -> int:
    """The slice that a pixel shows: of the pixel's colour, the one with the most time in it.

    A slice without length is found where no other one is.

    Returns:
        Position in the index's columns, NO_ROW if the pixel is empty.
    """
    first, last = int(index.row_first[row]), int(index.row_first[row + 1])
    begin = first + int(index.end_ns[first:last].searchsorted(start_ns, side="left"))
    end = first + int(index.start_ns[first:last].searchsorted(end_ns, side="left"))
    if begin >= end:
        return NO_ROW
    part = slice(begin, end)
    inside_ns = np.minimum(index.end_ns[part], end_ns) - np.maximum(index.start_ns[part], start_ns)
    colours = index.colour[part]
    by_colour = np.zeros(index.colour_count, np.int64)
    np.add.at(by_colour, colours, inside_ns)
    if by_colour.any():
        inside_ns = np.where(colours == by_colour.argmax(), inside_ns, -1)
        return begin + int(inside_ns.argmax())
    without_length = np.flatnonzero(
        (index.start_ns[part] == index.end_ns[part]) & (index.start_ns[part] >= start_ns)
    )
    return begin + int(without_length[-1]) if len(without_length) else NO_ROW


def row_at(index: TimelineIndex, lane: int, time_ns: int) -> int:
    """The deepest row of a lane in which something is at a moment; its first row if nothing is."""
    rows = index.rows_of_lane(lane)
    for row in reversed(rows):
        first, last = int(index.row_first[row]), int(index.row_first[row + 1])
        at = first + int(index.start_ns[first:last].searchsorted(time_ns, side="right")) - 1
        if at >= first and index.end_ns[at] >= time_ns:
            return row
    return rows[0]


@compiled
def _wide(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    row_first: Int64,
    block_first: Int64,
    block_start_ns: Int64,
    block_size: int,
    rows: Int64,
    from_ns: int,
    to_ns: int,
    least_ns: int,
    step: int,
    which: Int64,
    position: Int64,
) -> int:
    count = 0
    for number in range(len(rows)):
        row = rows[number]
        first, last = block_first[row], block_first[row + 1]
        if first == last:
            continue
        block = first
        seen = -1
        for moment in range(from_ns, to_ns, step):
            block = block_before(block_start_ns, block, last, moment + 1)
            place = row_first[row] + (block - first) * block_size
            at = place
            while at < min(place + block_size, row_first[row + 1]) and start_ns[at] <= moment:
                at += 1
            at -= 1
            if at < place or at == seen:
                continue
            seen = at
            if min(end_ns[at], to_ns) - max(start_ns[at], from_ns) >= least_ns:
                which[count] = number
                position[count] = at
                count += 1
    return count


@compiled
def _separate(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    row_first: Int64,
    block_first: Int64,
    block_start_ns: Int64,
    block_size: int,
    rows: Int64,
    numbers: Int64,
    edges: Int64,
    busy_ns: Int64,
    least_ns: int,
    least_full_px: int,
    which: Int64,
    position: Int64,
) -> int:
    count = 0
    for number in numbers:
        row = rows[number]
        first, last = block_first[row], block_first[row + 1]
        block = first
        seen = -1
        full = 0
        for pixel in range(busy_ns.shape[1]):
            if busy_ns[number, pixel] != edges[pixel + 1] - edges[pixel]:
                full = 0
                continue
            full += 1
            # The slice fills so many pixels at least; of them every second is looked at.
            if full < least_full_px or (full - least_full_px) % 2:
                continue
            moment = edges[pixel]
            block = block_before(block_start_ns, block, last, moment + 1)
            place = row_first[row] + (block - first) * block_size
            at = place
            while at < min(place + block_size, row_first[row + 1]) and start_ns[at] <= moment:
                at += 1
            at -= 1
            if at < place or at == seen:
                continue
            seen = at
            shown_ns = min(end_ns[at], edges[-1]) - max(start_ns[at], edges[0])
            if shown_ns >= least_ns and end_ns[at] <= edges[-1]:
                which[count] = number
                position[count] = at
                count += 1
    return count
