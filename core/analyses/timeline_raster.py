"""What is drawn of a timeline's index: exact busy time and colour of every pixel, ticks and counters.

Pixel ``i`` of a row is the time from edge ``i`` to edge ``i + 1`` of
``edges_ns``: whole nanoseconds, no gaps. Its busy time is exact; it is idle if
and only if that is 0. Its colour is the one with the most busy time in it, of
several the one with the lowest number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.analyses.timeline_index import PACKED_LIMIT_NS, UNPACKED, edges_ns
from core.compiled import compiled, prefetch
from core.tables.timeline import IDLE

_FEW_A_PIXEL = 4
"""Slices a pixel, on average over a row, up to which they are walked through."""

_DURATION_BITS = PACKED_LIMIT_NS - 1

_BLOCKS_AT_ONCE = 16
"""So many blocks are compared with an edge together; a pixel of a very crowded picture has about as many."""

_MOST_STEPS = 4
"""Steps of so many blocks until the distance to an edge is doubled instead."""

_PIXELS_AT_ONCE = 128
"""So many pixels of a crowded row are worked out together, so that what is in between stays in the cache."""

Uint32 = NDArray[np.uint32]
Uint64 = NDArray[np.uint64]

if TYPE_CHECKING:
    from core.tables.columns import Float64, Int64, Uint8
    from core.tables.timeline import CounterLane, TimelineIndex


def raster(
    index: TimelineIndex, rows: Int64, start_ns: int, end_ns: int, width_px: int
) -> tuple[Uint8, Int64]:
    """What each pixel of the rows shows.

    Args:
        index: Of the timeline.
        rows: (r,) int64, numbers of rows.
        start_ns: Left edge; may lie before the data.
        end_ns: Right edge; at least ``width_px`` ns after the left one.
        width_px: Pixels.

    Returns:
        colour: (r, width_px) uint8, IDLE where nothing ran.
        busy_ns: (r, width_px) int64, time of the pixel in which the row was busy.

    Raises:
        ValueError: A pixel would be shorter than a nanosecond.
    """
    edges = _pixel_edges(start_ns, end_ns, width_px)
    colour = np.empty((len(rows), width_px), np.uint8)
    busy_ns = np.empty((len(rows), width_px), np.int64)
    _raster(
        index.start_ns,
        index.end_ns,
        index.colour,
        index.row_first,
        index.block_first,
        index.block_start_ns,
        index.block_slices,
        index.note_first,
        index.note_busy_ns,
        rows,
        edges,
        colour,
        busy_ns,
    )
    return colour, busy_ns


def ticks(index: TimelineIndex, rows: Int64, start_ns: int, end_ns: int, width_px: int) -> Uint8:
    """Where slices without length are.

    Returns:
        (r, width_px) uint8: colour of the last such slice that begins in the pixel, IDLE if none does.

    Raises:
        ValueError: A pixel would be shorter than a nanosecond.
    """
    edges = _pixel_edges(start_ns, end_ns, width_px)
    shown = np.full((len(rows), width_px), IDLE, np.uint8)
    for number, row in enumerate(rows):
        first, last = int(index.tick_first[row]), int(index.tick_first[row + 1])
        if first < last:
            inside = index.tick_ns[first:last].searchsorted((start_ns, end_ns))
            part = slice(first + int(inside[0]), first + int(inside[1]))
            pixel = edges.searchsorted(index.tick_ns[part], side="right") - 1
            shown[number, pixel] = index.tick_colour[part]
    return shown


def counter_envelope(
    counter: CounterLane, start_ns: int, end_ns: int, width_px: int
) -> tuple[Float64, Float64]:
    """Smallest and largest value of a counter in each pixel.

    Returns:
        low, high: (width_px,) float64, NaN before the first sample.

    Raises:
        ValueError: A pixel would be shorter than a nanosecond.
    """
    edges = _pixel_edges(start_ns, end_ns, width_px)
    place = counter.time_ns.searchsorted(edges, side="left")
    held = counter.time_ns.searchsorted(edges[:-1], side="right") - 1
    low = np.where(held >= 0, counter.value[np.maximum(held, 0)], np.nan) if len(counter.value) else None
    if low is None:
        empty = np.full(width_px, np.nan)
        return empty, empty.copy()
    high = low.copy()
    _envelope(counter.value, place, low, high)
    return low, high


def _pixel_edges(start_ns: int, end_ns: int, width_px: int) -> Int64:
    if width_px < 1 or end_ns - start_ns < width_px:
        raise ValueError(f"{end_ns - start_ns} ns are too few for {width_px} pixels")
    return edges_ns(start_ns, end_ns, width_px)


@compiled
def _envelope(value: Float64, place: Int64, low: Float64, high: Float64) -> None:
    for pixel in range(len(low)):
        for at in range(place[pixel], place[pixel + 1]):
            # Also true where nothing was measured yet.
            if not value[at] >= low[pixel]:
                low[pixel] = value[at]
            if not value[at] <= high[pixel]:
                high[pixel] = value[at]


@compiled
def block_before(block_start_ns: Int64, first: int, last: int, time_ns: int) -> int:
    """The last block from ``first`` on that begins before a moment, ``first`` if none does."""
    step = 1
    low = first
    high = first + 1
    while high < last and block_start_ns[high] < time_ns:
        low = high
        high += step
        step *= 2
    high = min(high, last)
    room = high - low
    while room > 1:
        half = room // 2
        # A product and no branch: which half it is cannot be foreseen.
        low += half * (block_start_ns[low + half] < time_ns)
        room -= half
    return low


@compiled
def _raster(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    slice_colour: Uint8,
    row_first: Int64,
    block_first: Int64,
    block_start_ns: Int64,
    block_slices: Uint64,
    note_first: Int64,
    note_busy_ns: Int64 | Uint32,
    rows: Int64,
    edges: Int64,
    colour: Uint8,
    busy_ns: Int64,
) -> None:
    """Walks the slices of a row where they are few a pixel, and takes notes of the busy time where many."""
    # Colour by colour, so that pixels are compared several at a time.
    until = np.empty((note_busy_ns.shape[1], _PIXELS_AT_ONCE + 1), np.int64)
    most_ns = np.empty(_PIXELS_AT_ONCE, np.int64)
    by_colour = np.empty(note_busy_ns.shape[1], np.int64)
    blocks = np.empty(len(edges), np.int64)
    for number in range(len(rows)):
        row = rows[number]
        first, last = row_first[row], row_first[row + 1]
        begin = first + np.searchsorted(end_ns[first:last], edges[0], side="right")
        end = begin + np.searchsorted(start_ns[begin:last], edges[-1], side="left")
        if end - begin <= _FEW_A_PIXEL * (len(edges) - 1):
            _walk(
                start_ns, end_ns, slice_colour, begin, end, edges, by_colour, colour[number], busy_ns[number]
            )
            continue
        part = slice(block_first[row], block_first[row + 1])
        notes = note_busy_ns[note_first[row] : note_first[row + 1]]
        _find_blocks(block_start_ns[part], block_slices[part], notes, edges, blocks)
        for pixel in range(0, len(edges) - 1, _PIXELS_AT_ONCE):
            here = slice(pixel, min(pixel + _PIXELS_AT_ONCE, len(edges) - 1) + 1)
            _busy_until(
                start_ns[first:last],
                end_ns[first:last],
                slice_colour[first:last],
                block_start_ns[part],
                block_slices[part],
                notes,
                blocks[here],
                edges[here],
                until,
            )
            within = slice(pixel, here.stop - 1)
            _differences(until, most_ns, colour[number, within], busy_ns[number, within])


@compiled
def _find_blocks(
    block_start_ns: Int64, block_slices: Uint64, notes: Int64 | Uint32, edges: Int64, blocks: Int64
) -> None:
    """The last block of a row that begins before each edge, the first if none does.

    What ``_busy_until`` is going to read of it is asked for at once: main memory
    answers many such reads together, and ``_busy_until`` would wait for each.
    """
    count = len(block_start_ns)
    block = 0
    for edge in range(len(edges)):
        steps = 0
        while True:
            if steps == _MOST_STEPS or block + _BLOCKS_AT_ONCE >= count:
                block = block_before(block_start_ns, block, count, edges[edge])
                break
            # A slice and a fixed number, so that the compiler compares several at a time.
            next_ns = block_start_ns[block + 1 : block + 1 + _BLOCKS_AT_ONCE]
            before = 0
            for each in range(_BLOCKS_AT_ONCE):
                before += int(next_ns[each] < edges[edge])
            block += before
            if before < _BLOCKS_AT_ONCE:
                break
            steps += 1
        blocks[edge] = block
        prefetch(block_slices, block * block_slices.shape[1])
        note = block // 2 * notes.shape[1]
        prefetch(notes, note)
        prefetch(notes, note + notes.shape[1] - 1)


@compiled
def _busy_until(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    colour: Uint8,
    block_start_ns: Int64,
    block_slices: Uint64,
    notes: Int64 | Uint32,
    blocks: Int64,
    edges: Int64,
    until: Int64,
) -> None:
    """Busy time of each colour from a row's start to each edge.

    A pair's note stands between its blocks: in the second one the slices add to
    it, in the first one they take from it what lies behind the edge. Whole blocks
    are looked at, because a branch that depends on a slice costs more.

    Args:
        start_ns: (n,) int64, of the row.
        end_ns: (n,) int64, of the row.
        colour: (n,) uint8, of the row.
        block_start_ns: (blocks,) int64, of the row.
        block_slices: (blocks, size) uint64, of the row.
        notes: (notes, colours), of the row.
        blocks: (edges,) int64, the last block that begins before each edge.
        edges: (edges,) int64.
        until: (colours, edges at least) int64, is filled.
    """
    size = block_slices.shape[1]
    for edge in range(len(edges)):
        block = blocks[edge]
        for each in range(notes.shape[1]):
            until[each, edge] = notes[block // 2, each]
        whole = 1 - block % 2
        if block_slices[block, 0] == UNPACKED:
            for at in range(block * size, min(block * size + size, len(start_ns))):
                part = max(min(end_ns[at], edges[edge]) - start_ns[at], 0)
                until[colour[at], edge] += part - whole * (end_ns[at] - start_ns[at])
            continue
        inside = edges[edge] - block_start_ns[block]
        for at in range(size):
            word = block_slices[block, at]
            offset, duration = np.int64(word >> 36), np.int64((word >> 8) & _DURATION_BITS)
            part = max(min(duration, inside - offset), 0)
            until[np.int64(word & 255), edge] += part - whole * duration


@compiled
def _differences(until: Int64, most_ns: Int64, colour: Uint8, busy_ns: Int64) -> None:
    """Colour and busy time of pixels from the busy time of each colour up to each edge."""
    busy_ns[:] = 0
    most_ns[:] = 0
    colour[:] = 255
    for each in range(until.shape[0]):
        noted = until[each]
        for pixel in range(len(colour)):
            part = noted[pixel + 1] - noted[pixel]
            busy_ns[pixel] += part
            colour[pixel] = each if part > most_ns[pixel] else colour[pixel]
            most_ns[pixel] = max(most_ns[pixel], part)


@compiled
def _walk(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    start_ns: Int64,
    end_ns: Int64,
    slice_colour: Uint8,
    place: int,
    last: int,
    edges: Int64,
    by_colour: Int64,
    colour: Uint8,
    busy_ns: Int64,
) -> None:
    """The same from the slices themselves; ``place`` is the first that ends after the first edge."""
    for pixel in range(len(colour)):
        left, right = edges[pixel], edges[pixel + 1]
        total, most, chosen = np.int64(0), np.int64(0), 255
        if place < last and start_ns[place] < right:
            if end_ns[place] >= right:
                total = right - max(start_ns[place], left)
                chosen = slice_colour[place]
            else:
                by_colour[:] = 0
                while place < last and start_ns[place] < right:
                    part = min(end_ns[place], right) - max(start_ns[place], left)
                    total += part
                    by_colour[slice_colour[place]] += part
                    if end_ns[place] > right:
                        break
                    place += 1
                for each in range(len(by_colour)):
                    if by_colour[each] > most:
                        most, chosen = by_colour[each], each
            if place < last and end_ns[place] <= right:
                place += 1
        colour[pixel] = chosen
        busy_ns[pixel] = total
