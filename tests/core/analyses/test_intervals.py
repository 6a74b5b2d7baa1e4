"""Interval sets against a brute force that looks at every nanosecond."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analyses.intervals import (
    IntervalSet,
    busy_in_bins,
    cut_to_windows,
    ends_ns,
    exact_sum,
    exact_sums_by_key,
    intersect,
    subtract,
    sums_by_key,
    union,
)
from core.tables.columns import MISSING

Intervals = list[tuple[int, int, int]]
some_intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(-2, 8)).map(
        lambda each: (each[0], each[1], each[1] + each[2])
    ),
    max_size=12,
)


def set_of(intervals: Intervals) -> IntervalSet:
    columns = np.array(intervals, np.int64).reshape(-1, 3)
    return union(columns[:, 0], columns[:, 1].copy(), columns[:, 2].copy())


def moments(intervals: Intervals) -> set[tuple[int, int]]:
    """Every nanosecond of every key that lies in some interval."""
    return {(key, ns) for key, start, end in intervals for ns in range(start, end)}


def listed(found: IntervalSet) -> Intervals:
    return list(zip(found.key.tolist(), found.start_ns.tolist(), found.end_ns.tolist(), strict=True))


def check(found: IntervalSet, expected: set[tuple[int, int]]) -> None:
    assert moments(listed(found)) == expected
    assert found.total_ns == len(expected)
    assert found.lengths_ns(3).tolist() == [len([1 for key, _ in expected if key == k]) for k in range(3)]
    for (key, _, end), (next_key, next_start, _) in zip(listed(found), listed(found)[1:], strict=False):
        assert (key, end) < (next_key, next_start)


@given(some_intervals)
def test_the_union_holds_every_moment_once(intervals: Intervals) -> None:
    check(set_of(intervals), moments(intervals))


@given(some_intervals, some_intervals)
def test_intersection_and_difference_split_a_set(left: Intervals, right: Intervals) -> None:
    check(intersect(set_of(left), set_of(right)), moments(left) & moments(right))
    check(subtract(set_of(left), set_of(right)), moments(left) - moments(right))


@given(some_intervals, some_intervals)
def test_windows_cut_a_line(line: Intervals, windows: Intervals) -> None:
    one_key = [(0, start, end) for _, start, end in line]
    columns = np.array(windows, np.int64).reshape(-1, 3)
    found = cut_to_windows(set_of(one_key), columns[:, 0], columns[:, 1], columns[:, 2])
    busy = {ns for _, ns in moments(one_key)}
    check(found, {(key, ns) for key, ns in moments(windows) if ns in busy})


@given(some_intervals, st.lists(st.integers(-5, 45), min_size=2, max_size=8))
def test_bins_are_filled_by_what_lies_in_them(line: Intervals, edges: list[int]) -> None:
    one_key = [(0, start, end) for _, start, end in line]
    edges.sort()
    busy = {ns for _, ns in moments(one_key)}
    expected = [len(busy.intersection(range(*each))) for each in pairwise(edges)]
    assert busy_in_bins(set_of(one_key), np.array(edges, np.int64)).tolist() == expected


def test_the_intervals_of_one_key() -> None:
    found = set_of([(0, 1, 3), (1, 5, 6), (1, 8, 9), (2, 0, 1)])
    assert listed(found.of_key(1)) == [(1, 5, 6), (1, 8, 9)]
    assert listed(found.of_key(7)) == []


def test_times_near_the_end_of_int64_do_not_wrap() -> None:
    start = np.array([2**63 - 10, 0, 5, 7], np.int64)
    duration = np.array([100, 2**62, -3, MISSING], np.int64)
    assert ends_ns(start, duration).tolist() == [2**63 - 1, 2**62, 5, 7]


@pytest.mark.parametrize("values", [[], [1, -5], [2**62] * 9, [-(2**63), 2**63 - 1, 2**63 - 1, 2**63 - 1]])
def test_a_sum_beyond_int64_is_exact(values: list[int]) -> None:
    assert exact_sum(np.array(values, np.int64)) == sum(values)


def test_sums_by_key_are_exact_where_a_float_is_not() -> None:
    values = np.array([2**53, 1, 2**53, 1, 7], np.int64)
    assert sums_by_key(np.array([0, 0, 1, 1, 3]), values, 4).tolist() == [2**53 + 1, 2**53 + 1, 0, 7]


def test_sums_by_key_beyond_int64_are_exact() -> None:
    values = np.array([2**62, 2**62, 2**62, -5], np.int64)
    assert exact_sums_by_key(np.array([0, 0, 0, 1]), values, 3) == [3 * 2**62, -5, 0]
