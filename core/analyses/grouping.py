"""Times of many slices by group: calls, sums and percentiles, exact, without a loop over slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.intervals import counts_by_key, exact_sums_by_key, sums_by_key
from core.tables.columns import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.tables.columns import Float64, Int32, Int64

_SMALL_RANGE: Final = 1 << 22
_LAST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupTimes:
    """What ``times_by_group`` found, a row a group. All columns (groups,).

    Attributes:
        calls: int64, all members.
        impossible: int64, members whose duration is negative or missing. They are in no other figure.
        sum_ns: int64.
        mean_ns: float64, NaN without a possible member.
        min_ns, max_ns, p50_ns, p99_ns: int64, MISSING without a possible member. A percentile is the smallest
            duration that at least so many percent of the members do not exceed (nearest rank).
        order: (n,) int64, the positions of the members, all groups one after the other, in their order.
        ends: int64, where the members of each group end.
    """

    calls: Int64
    impossible: Int64
    sum_ns: Int64
    mean_ns: Float64
    min_ns: Int64
    max_ns: Int64
    p50_ns: Int64
    p99_ns: Int64
    order: Int64
    ends: Int64


def dense_ids(values: NDArray[Any]) -> tuple[NDArray[Any], Int64]:
    """Returns the distinct values, ascending, and for each value its place among them.

    The same as ``np.unique`` with its inverse, without sorting where the values lie close together.
    """
    if not len(values):
        return values, np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low >= _SMALL_RANGE:
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place
    seen = np.zeros(high - low + 1, np.bool_)
    offset = values - low
    seen[offset] = True
    place_of = np.cumsum(seen, dtype=np.int64) - 1
    return (np.flatnonzero(seen) + low).astype(values.dtype), place_of[offset]


def dense_pairs(left: Int64, right: Int64) -> Int64:
    """Returns numbers from 0 on that are equal where both values are."""
    _, left_place = dense_ids(left)
    right_values, right_place = dense_ids(right)
    _, place = dense_ids(left_place * len(right_values) + right_place)
    return place


def means_by_group(group: Int64, groups: int, values: Int64) -> Float64:
    """Returns (groups,) float64: the mean of the values of each group that are not negative, else NaN."""
    known = values >= 0
    counted = counts_by_key(group[known], groups)
    return _mean(sums_by_key(group[known], values[known], groups), counted)


def times_by_group(group: Int64, groups: int, duration_ns: Int64) -> GroupTimes:
    """Sums durations up by group.

    Args:
        group: (n,) int64, 0 to ``groups - 1``.
        groups: How many there are; each has a row, also one without members.
        duration_ns: (n,) int64, negative or MISSING where it is impossible.
    """
    possible = duration_ns >= 0
    group_of, time_ns = group[possible], duration_ns[possible]
    calls = counts_by_key(group, groups)
    counted = counts_by_key(group_of, groups)
    sum_ns = _sums(group_of, time_ns, groups)
    ordered = _sorted_within_groups(group_of, time_ns, counted)
    ends = np.cumsum(counted)
    small = np.uint16 if groups <= 1 << 16 else np.int32
    return GroupTimes(
        calls=calls,
        impossible=calls - counted,
        sum_ns=sum_ns,
        mean_ns=_mean(sum_ns, counted),
        min_ns=_of_rank(ordered, ends, counted, np.ones(groups, np.int64)),
        max_ns=_of_rank(ordered, ends, counted, counted),
        p50_ns=_of_rank(ordered, ends, counted, -(-counted * 50 // 100)),
        p99_ns=_of_rank(ordered, ends, counted, -(-counted * 99 // 100)),
        # A stable sort of 16-bit numbers does not compare.
        order=np.argsort(group.astype(small), kind="stable"),
        ends=np.cumsum(calls),
    )


def _sums(group: Int64, time_ns: Int64, groups: int) -> Int64:
    """Returns the sums, the largest that int64 holds where they are larger: no total turns negative."""
    if int(time_ns.max(initial=0)) * len(time_ns) <= _LAST:
        return sums_by_key(group, time_ns, groups)
    return np.array([min(each, _LAST) for each in exact_sums_by_key(group, time_ns, groups)], np.int64)


def _mean(sums: Int64, counted: Int64) -> Float64:
    mean: Float64 = np.divide(sums, counted, out=np.full(len(sums), np.nan), where=counted > 0)
    return mean


def pick_members(rows: Int32, times: GroupTimes, shown: Int64) -> tuple[Int32, Int64]:
    """Returns the member rows of some groups, one group after the other, and where each group's end.

    Args:
        rows: (n,) int32, what the positions given to ``times_by_group`` stand for.
        times: Its answer.
        shown: (m,) int64, the groups, in the order in which they are shown.
    """
    calls = times.calls[shown]
    ends = np.cumsum(calls)
    shift = np.repeat(times.ends[shown] - ends, calls)
    return rows[times.order[np.arange(len(shift)) + shift]], ends


def _sorted_within_groups(group: Int64, time_ns: Int64, counted: Int64) -> Int64:
    """Returns the times of group 0 ascending, then those of group 1, and so on."""
    groups = len(counted)
    span = int(time_ns.max(initial=0)) + 1
    if groups * span > _LAST:
        return time_ns[np.lexsort((time_ns, group))]
    keyed = group * span + time_ns
    keyed.sort()
    keyed -= np.repeat(np.arange(groups, dtype=np.int64) * span, counted)
    return keyed


def _of_rank(ordered: Int64, ends: Int64, counted: Int64, rank: Int64) -> Int64:
    """Returns the time of a rank, 1 the smallest, of each group."""
    found = np.full(len(ends), MISSING, np.int64)
    some = counted > 0
    found[some] = ordered[(ends - counted + rank - 1)[some]]
    return found
