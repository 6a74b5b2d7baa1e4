"""Times by group against what statistics of plain lists say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.analyses.grouping import dense_ids, dense_pairs, means_by_group, pick_members, times_by_group
from core.tables.columns import MISSING


def nearest_rank(values: list[int], pct: int) -> int:
    return sorted(values)[math.ceil(len(values) * pct / 100) - 1]


@pytest.mark.parametrize("longest", [50, 2**62], ids=["short", "too long for one sorting key"])
def test_the_figures_of_each_group_are_those_of_its_members(longest: int) -> None:
    random = np.random.default_rng(3)
    group = random.integers(0, 7, 500)
    duration = random.integers(-5, longest, 500)
    duration[::11] = MISSING
    if longest > 50:
        duration //= 1000
        duration[0] = longest
    times = times_by_group(group, 8, duration)
    for each in range(7):
        inside = duration[group == each].tolist()
        possible = [value for value in inside if value >= 0]
        assert times.calls[each] == len(inside)
        assert times.impossible[each] == len(inside) - len(possible)
        assert times.sum_ns[each] == sum(possible)
        assert times.mean_ns[each] == pytest.approx(sum(possible) / len(possible))
        assert (times.min_ns[each], times.max_ns[each]) == (min(possible), max(possible))
        assert (times.p50_ns[each], times.p99_ns[each]) == tuple(nearest_rank(possible, p) for p in (50, 99))


def test_a_group_without_a_possible_time_has_calls_and_no_times() -> None:
    times = times_by_group(np.array([1, 1, 2]), 3, np.array([-40, MISSING, 7]))
    assert times.calls.tolist() == [0, 2, 1]
    assert times.impossible.tolist() == [0, 2, 0]
    assert times.sum_ns.tolist() == [0, 0, 7]
    assert times.p50_ns.tolist() == times.max_ns.tolist() == [MISSING, MISSING, 7]
    assert np.isnan(times.mean_ns).tolist() == [True, True, False]


def test_percentiles_are_durations_that_occur() -> None:
    times = times_by_group(np.zeros(100, np.int64), 1, np.arange(1, 101))
    assert (times.p50_ns.tolist(), times.p99_ns.tolist()) == ([50], [99])
    one = times_by_group(np.zeros(1, np.int64), 1, np.array([0]))
    assert (one.p50_ns.tolist(), one.p99_ns.tolist(), one.impossible.tolist()) == ([0], [0], [0])


def test_members_come_in_the_order_of_the_groups_asked_for() -> None:
    rows = np.array([10, 11, 12, 13, 14], np.int32)
    times = times_by_group(np.array([0, 2, 0, 1, 2]), 3, np.ones(5, np.int64))
    members, ends = pick_members(rows, times, np.array([2, 0]))
    assert members.tolist() == [11, 14, 10, 12]
    assert ends.tolist() == [2, 4]


@pytest.mark.parametrize("high", [9, 2**40])
def test_distinct_values_and_their_places_rebuild_the_values(high: int) -> None:
    values = np.array([4, high, -3, 4, high], np.int64)
    distinct, place = dense_ids(values)
    assert distinct.tolist() == [-3, 4, high]
    assert distinct[place].tolist() == values.tolist()
    assert [len(each) for each in dense_ids(values[:0])] == [0, 0]


def test_pairs_are_equal_where_both_values_are() -> None:
    place = dense_pairs(np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5]))
    assert place.tolist() == [0, 1, 2, 0]


def test_the_mean_of_a_group_leaves_out_what_is_not_known() -> None:
    means = means_by_group(np.array([0, 0, 0, 1]), 2, np.array([10, 20, MISSING, -4]))
    assert means[0] == 15
    assert np.isnan(means[1])


def test_a_sum_that_int64_cannot_hold_is_the_largest_that_it_can() -> None:
    times = times_by_group(np.array([0, 0, 1]), 2, np.array([2**62, 2**62, 5]))
    assert times.sum_ns.tolist() == [2**63 - 1, 5]
