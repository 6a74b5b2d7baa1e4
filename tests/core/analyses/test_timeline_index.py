"""The timeline's rows and pixels: what is drawn is what is there, at every zoom."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from core.analyses.timeline_find import row_at, separate_slices, slice_in, wide_slices
from core.analyses.timeline_index import build_timeline, edges_ns, locate, row_of
from core.analyses.timeline_raster import counter_envelope, raster, ticks
from core.tables.columns import MISSING, NO_ROW
from core.tables.timeline import (
    IDLE,
    CounterLane,
    GroupFacts,
    LaneFacts,
    TimelineIndex,
    TimelineMarks,
    TimelineSlices,
)

LAST_NS = 2**63 - 1


def slices_of(*rows: tuple[int, int, int, int]) -> TimelineSlices:
    """Slices from (start, duration, lane, colour)."""
    start, duration, lane, colour = zip(*rows, strict=True) if rows else ((), (), (), ())
    return TimelineSlices(
        np.array(start, np.int64),
        np.array(duration, np.int64),
        np.array(lane, np.int32),
        np.array(colour, np.uint8),
    )


def index_of(*rows: tuple[int, int, int, int], lanes: int = 1) -> TimelineIndex:
    return build_timeline(
        slices_of(*rows), tuple(LaneFacts(f"Stream {n}") for n in range(lanes)), (GroupFacts("Rank 0"),)
    )


def rows_of(index: TimelineIndex) -> list[list[int]]:
    """Slice rows of each row."""
    return [
        index.slice_row[index.row_first[row] : index.row_first[row + 1]].tolist()
        for row in range(index.row_count)
    ]


def random_slices(seed: int, count: int, lanes: int, colours: int) -> TimelineSlices:
    """Bursts of 1-ns slices, long ones, gaps, overlaps, zero lengths, in any order, around time zero."""
    random = np.random.default_rng(seed)
    duration = random.choice([0, 1, 1, 2, 7, 100, 3_000], count) * random.integers(1, 4, count)
    start = np.cumsum(random.choice([0, 1, 1, 5, 200, 5_000], count)) - 40_000
    order = random.permutation(count)
    return TimelineSlices(
        start[order].astype(np.int64),
        duration[order].astype(np.int64),
        random.integers(0, lanes, count).astype(np.int32),
        random.integers(0, colours, count).astype(np.uint8),
    )


def brute(index: TimelineIndex, row: int, edges: list[int]) -> tuple[list[int], list[int]]:
    """Colour and busy time of each pixel, slice by slice with Python's integers."""
    part = slice(int(index.row_first[row]), int(index.row_first[row + 1]))
    columns = (index.start_ns[part], index.end_ns[part], index.colour[part])
    entries = list(zip(*(column.tolist() for column in columns), strict=True))
    colours, busy = [], []
    for left, right in pairwise(edges):
        by_colour: dict[int, int] = {}
        for start, end, colour in entries:
            inside = min(end, right) - max(start, left)
            if inside > 0:
                by_colour[colour] = by_colour.get(colour, 0) + inside
        total = sum(by_colour.values())
        busy.append(total)
        colours.append(min(by_colour, key=lambda each: (-by_colour[each], each)) if total else IDLE)
    return colours, busy


def test_nested_calls_take_a_row_a_depth() -> None:
    index = index_of((0, 100, 0, 0), (10, 50, 0, 1), (20, 10, 0, 2), (40, 5, 0, 3), (70, 20, 0, 4))
    assert rows_of(index) == [[0], [1, 4], [2, 3]]
    assert index.rows_of_lane(0) == range(3)


def test_overlapping_slices_of_a_stream_go_to_further_rows_and_none_is_dropped() -> None:
    index = index_of((0, 10, 0, 0), (5, 10, 0, 1), (8, 10, 0, 2), (12, 5, 0, 3), (0, 10, 1, 4), lanes=2)
    assert rows_of(index) == [[0, 3], [1], [2], [4]]
    assert index.row_lane.tolist() == [0, 0, 0, 1]


def test_slices_that_touch_share_a_row_and_of_one_start_the_longer_is_above() -> None:
    assert rows_of(index_of((10, 10, 0, 0), (0, 10, 0, 0))) == [[1, 0]]
    assert rows_of(index_of((0, 2, 0, 0), (0, 9, 0, 0), (0, 2, 0, 0))) == [[1], [0], [2]]


def test_hundreds_of_slices_with_one_start_are_ordered_too() -> None:
    index = index_of(*((5, 1 + number, 0, 0) for number in range(300)))
    assert rows_of(index) == [[299 - number] for number in range(300)]


@pytest.mark.parametrize("seed", range(4))
def test_rows_never_overlap_and_hold_every_slice_once(seed: int) -> None:
    slices = random_slices(seed, 2_000, 5, 3)
    lanes = tuple(LaneFacts(str(n)) for n in range(5))
    index = build_timeline(slices, lanes, (GroupFacts("all"),))
    assert sorted(index.slice_row.tolist()) == list(range(2_000))
    for row in range(index.row_count):
        part = slice(int(index.row_first[row]), int(index.row_first[row + 1]))
        assert (index.start_ns[part][1:] >= index.end_ns[part][:-1]).all()
        assert (slices.lane[index.slice_row[part]] == index.row_lane[row]).all()
    assert (index.start_ns == slices.start_ns[index.slice_row]).all()
    assert (index.end_ns - index.start_ns == slices.duration_ns[index.slice_row]).all()


def test_impossible_times_are_marks_and_counted_not_bars() -> None:
    index = index_of(
        (30, -5, 0, 0),
        (10, MISSING, 1, 0),
        (MISSING, 5, 0, 0),
        (LAST_NS - 3, 4, 0, 0),
        (0, 20, 0, 0),
        lanes=2,
    )
    assert index.slice_row.tolist() == [4]
    assert index.marks.slice_row.tolist() == [1, 0, 3]
    assert index.marks.time_ns.tolist() == [10, 30, LAST_NS - 3]
    assert index.marks.lane.tolist() == [1, 0, 0]
    assert index.unplaced_count == 1


def test_an_index_of_nothing_can_be_drawn() -> None:
    index = index_of(lanes=2)
    assert (index.start_of_all_ns, index.end_of_all_ns) == (0, 1)
    colour, busy_ns = raster(index, np.arange(index.row_count), -50, 50, 10)
    assert (colour == IDLE).all()
    assert not busy_ns.any()
    assert not index.overview_busy_ns.any()


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="lanes 1 to 1 of 1"):
        index_of((0, 1, 1, 0))
    with pytest.raises(ValueError, match="255"):
        index_of((0, 1, 0, IDLE))
    with pytest.raises(ValueError, match="no group"):
        build_timeline(slices_of(), (LaneFacts("a", group=1),), (GroupFacts("g"),))
    with pytest.raises(ValueError, match="9 ns"):
        raster(index_of((0, 1, 0, 0)), np.arange(1), 0, 9, 10)


def test_edges_are_the_formula_also_where_a_product_would_not_fit() -> None:
    for start, end, parts in ((-7, 100, 9), (0, 10**18, 1_700), (-(2**62), 2**61 + 12_345, 3_839)):
        expected = [start + (end - start) * number // parts for number in range(parts + 1)]
        assert edges_ns(start, end, parts).tolist() == expected


@pytest.mark.parametrize("seed", range(6))
def test_every_pixel_equals_brute_force(seed: int) -> None:
    """From 1 ns a pixel to all in one, from before the data to behind it, in both ways of counting."""
    slices = random_slices(seed, 500, 2, (1, 3, 12, 40, 3, 12)[seed])
    lanes = (LaneFacts("a"), LaneFacts("b"))
    index = build_timeline(slices, lanes, (GroupFacts("all"),))
    first, last = index.start_of_all_ns, index.end_of_all_ns
    random = np.random.default_rng(seed)
    rows = np.array([0, index.row_count - 1, index.lane_first[1], 1], np.int64)
    for width in (1, 7, 30):
        spans = [width, width + 3, 10 * width, 1_000, 60_000, last - first, 3 * (last - first)]
        for span in (max(span, width) for span in spans):
            start = int(random.integers(first - span // 2, last - span // 3))
            colour, busy_ns = raster(index, rows, start, start + span, width)
            edges = [start + span * number // width for number in range(width + 1)]
            for number, row in enumerate(rows):
                colours, busy = brute(index, int(row), edges)
                assert busy_ns[number].tolist() == busy
                assert colour[number].tolist() == colours


def test_hours_of_busy_time_are_as_exact_as_seconds() -> None:
    """Beyond 2**32 ns a colour in a row the notes are kept in another width."""
    hour_ns = 3_600 * 10**9
    index = index_of(*((n * hour_ns, hour_ns - 1 - n, 0, n % 2) for n in range(200)))
    short = index_of(*((n * 100, 60, 0, n % 2) for n in range(200)))
    assert [each.note_busy_ns.dtype.name for each in (index, short)] == ["int64", "uint32"]
    for width in (1, 3, 20):
        edges = [index.end_of_all_ns * number // width for number in range(width + 1)]
        colour, busy_ns = raster(index, np.arange(1), 0, index.end_of_all_ns, width)
        assert (colour[0].tolist(), busy_ns[0].tolist()) == brute(index, 0, edges)


def test_slices_around_the_limit_of_a_packed_word_are_exact() -> None:
    limit = 2**28
    lengths = [limit - 1, limit, limit + 1, 1, 0, 5, 3, 2 * limit, 9, 9, 9, 9, 9, 9, limit - 2, 1] * 12
    rows, at = [], -7
    for number, length in enumerate(lengths):
        rows.append((at, length, 0, number % 3))
        at += length + number % 2
    index = index_of(*rows)
    start, end = index.start_of_all_ns - 5, index.end_of_all_ns + 9
    for width in (1, 2, 5, 11):
        edges = [start + (end - start) * number // width for number in range(width + 1)]
        colour, busy_ns = raster(index, np.arange(1), start, end, width)
        assert (colour[0].tolist(), busy_ns[0].tolist()) == brute(index, 0, edges)


def test_one_busy_nanosecond_in_a_second_is_not_idle() -> None:
    index = index_of((0, 1, 0, 2), (10**9 - 1, 1, 0, 1))
    colour, busy_ns = raster(index, np.arange(1), 0, 10**9, 10)
    assert colour[0].tolist() == [2, *[IDLE] * 8, 1]
    assert busy_ns[0].tolist() == [1, *[0] * 8, 1]


def test_crowded_rows_drawn_together_are_the_same_as_one_by_one() -> None:
    slices = random_slices(9, 60_000, 40, 12)
    index = build_timeline(slices, tuple(LaneFacts(str(n)) for n in range(40)), (GroupFacts("all"),))
    rows = np.arange(index.row_count)
    start, end = index.start_of_all_ns, index.end_of_all_ns
    together = raster(index, rows, start, end, 20)
    for row in rows:
        colour, busy_ns = raster(index, rows[row : row + 1], start, end, 20)
        assert (colour[0] == together[0][row]).all()
        assert (busy_ns[0] == together[1][row]).all()


def test_slices_without_length_are_ticks_and_no_busy_time() -> None:
    index = index_of((5, 0, 0, 1), (25, 0, 0, 2), (29, 0, 0, 3), (40, 10, 0, 0), (100, 0, 0, 1))
    _, busy_ns = raster(index, np.arange(1), 0, 100, 10)
    assert busy_ns[0].tolist() == [0, 0, 0, 0, 10, 0, 0, 0, 0, 0]
    shown = ticks(index, np.arange(1), 0, 100, 10)[0].tolist()
    assert shown == [1, IDLE, 3, *[IDLE] * 7]
    assert ticks(index, np.arange(1), -10, 5, 3)[0].tolist() == [IDLE] * 3


@pytest.mark.parametrize("least_ns", [1, 2, 50, 2_000])
def test_wide_slices_are_all_found(least_ns: int) -> None:
    index = build_timeline(random_slices(3, 800, 1, 2), (LaneFacts("a"),), (GroupFacts("all"),))
    rows = np.arange(index.row_count)
    start, end = index.start_of_all_ns + 5_000, index.start_of_all_ns + 90_000
    which, position = wide_slices(index, rows, start, end, least_ns)
    expected = [
        (row, at)
        for row in range(index.row_count)
        for at in range(int(index.row_first[row]), int(index.row_first[row + 1]))
        if min(index.end_ns[at], end) - max(index.start_ns[at], start) >= least_ns
    ]
    assert list(zip(which.tolist(), position.tolist(), strict=True)) == expected


@pytest.mark.parametrize("length_ns", [60_000, 3_000, 400])
def test_separate_slices_are_the_wide_ones_that_end_in_the_picture(length_ns: int) -> None:
    index = build_timeline(
        random_slices(2, 900, 2, 5), (LaneFacts("a"), LaneFacts("b")), (GroupFacts("all"),)
    )
    rows, width, found = np.arange(index.row_count, dtype=np.int64), 97, 0
    for start in range(index.start_of_all_ns - 7, index.start_of_all_ns + 40 * length_ns, length_ns):
        edges = edges_ns(start, start + length_ns, width)
        _, busy_ns = raster(index, rows, start, start + length_ns, width)
        which, position = separate_slices(index, rows, edges, busy_ns, 5)
        expected = [
            (row, at)
            for row in range(index.row_count)
            for at in range(int(index.row_first[row]), int(index.row_first[row + 1]))
            if start < index.end_ns[at] <= start + length_ns
            and index.end_ns[at] - max(int(index.start_ns[at]), start) >= length_ns * 5 // width
        ]
        assert list(zip(which.tolist(), position.tolist(), strict=True)) == expected
        found += len(expected)
    assert found


def test_a_pixel_names_the_longest_slice_of_its_colour() -> None:
    index = index_of((0, 4, 0, 1), (4, 5, 0, 2), (9, 4, 0, 1), (13, 0, 0, 1), (90, 0, 0, 3))
    assert index.slice_row[slice_in(index, 0, 0, 20)] == 0
    assert index.slice_row[slice_in(index, 0, 2, 20)] == 2
    assert index.slice_row[slice_in(index, 0, 4, 9)] == 1
    assert index.slice_row[slice_in(index, 0, 80, 100)] == 4
    assert slice_in(index, 0, 40, 60) == NO_ROW


def test_a_slice_is_found_by_its_row_and_a_row_by_its_slice() -> None:
    index = index_of((0, 10, 0, 0), (2, 3, 0, 0), (20, 5, 0, 0), (-5, -1, 0, 0))
    assert [row_of(index, locate(index, row)) for row in range(3)] == [0, 1, 0]
    assert locate(index, 3) == NO_ROW
    assert [row_at(index, 0, time) for time in (1, 3, 15)] == [0, 1, 0]


def test_the_overview_counts_the_union_of_a_groups_lanes() -> None:
    lanes = (
        LaneFacts("Stream 7", group=0),
        LaneFacts("Stream 8", group=0),
        LaneFacts("Thread 1", group=0, in_overview=False),
        LaneFacts("Stream 7", group=1),
    )
    slices = slices_of(
        (0, 10, 0, 0), (5, 10, 1, 0), (6, 2, 0, 0), (0, 40, 2, 0), (20, 4, 3, 0), (23, 5, 3, 0)
    )
    index = build_timeline(slices, lanes, (GroupFacts("Rank 0"), GroupFacts("Rank 1")))
    assert index.overview_busy_ns.shape == (2, 40)
    assert np.flatnonzero(index.overview_busy_ns[0]).tolist() == list(range(15))
    assert np.flatnonzero(index.overview_busy_ns[1]).tolist() == list(range(20, 28))
    assert index.overview_busy_ns.max() == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_overview_adds_up_to_brute_force(seed: int) -> None:
    slices = random_slices(seed, 3_000, 4, 3)
    index = build_timeline(slices, tuple(LaneFacts(str(n)) for n in range(4)), (GroupFacts("all"),))
    busy = np.zeros(index.end_of_all_ns - index.start_of_all_ns, np.bool_)
    for start, end in zip(index.start_ns.tolist(), index.end_ns.tolist(), strict=True):
        busy[start - index.start_of_all_ns : end - index.start_of_all_ns] = True
    edges = edges_ns(0, len(busy), index.overview_busy_ns.shape[1])
    expected = [int(busy[left:right].sum()) for left, right in pairwise(edges)]
    assert index.overview_busy_ns[0].tolist() == expected


def test_a_counter_keeps_its_peaks_when_many_samples_share_a_pixel() -> None:
    counter = CounterLane(
        "Memory", "9 GiB", 0, np.array([10, 11, 12, 13, 40], np.int64), np.array([5.0, 9.0, 1.0, 4.0, 2.0])
    )
    low, high = counter_envelope(counter, 0, 50, 5)
    assert np.isnan(low[0])
    assert low[1:].tolist() == [1, 4, 4, 2]
    assert high[1:].tolist() == [9, 4, 4, 2]
    nothing = CounterLane("Memory", "", 0, np.empty(0, np.int64), np.empty(0))
    assert np.isnan(counter_envelope(nothing, 0, 50, 5)[0]).all()
    with pytest.raises(ValueError, match="order of time"):
        CounterLane("Memory", "", 0, np.array([2, 1], np.int64), np.zeros(2))


def test_columns_are_read_only() -> None:
    index = index_of((0, 1, 0, 0))
    marks: TimelineMarks = index.marks
    for column in (index.start_ns, index.note_busy_ns, index.overview_busy_ns, marks.time_ns):
        with pytest.raises(ValueError, match="read-only"):
            column[...] = 0


def test_a_crowded_row_is_exact_over_a_whole_screen() -> None:
    slices = random_slices(3, 6_000, 1, 12)
    index = build_timeline(slices, (LaneFacts("a"),), (GroupFacts("all"),))
    start, end, width = index.start_of_all_ns, index.end_of_all_ns, 300
    colour, busy_ns = raster(index, np.array([0], np.int64), start, end, width)
    colours, busy = brute(index, 0, [start + (end - start) * n // width for n in range(width + 1)])
    assert int(index.row_first[1]) > 4 * width
    assert busy_ns[0].tolist() == busy
    assert colour[0].tolist() == colours


def test_blocks_lie_in_whole_lines_of_the_processors_cache() -> None:
    index = build_timeline(random_slices(0, 500, 1, 12), (LaneFacts("a"),), (GroupFacts("all"),))
    assert index.block_slices.ctypes.data % 64 == 0
    assert index.note_busy_ns.ctypes.data % 64 == 0
