"""Sets of time intervals, one set a key: their union, intersection, difference and length, exact in int64.

A key is whatever the caller tells apart: a device, a stream, a step. No figure
passes through floating point, so parts of a time add up to it to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.tables.columns import Int64, freeze_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LAST_NS: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class IntervalSet:
    """Half-open intervals, ascending by key and start, that neither overlap nor touch within a key. (n,).

    Attributes:
        key: int64.
        start_ns, end_ns: int64; every end lies behind its start.
    """

    key: Int64
    start_ns: Int64
    end_ns: Int64

    def __post_init__(self) -> None:
        freeze_columns(self, dict.fromkeys(("key", "start_ns", "end_ns"), np.int64))

    def __len__(self) -> int:
        return len(self.key)

    @property
    def total_ns(self) -> int:
        """Length of all intervals of all keys."""
        return exact_sum(self.end_ns - self.start_ns)

    def lengths_ns(self, keys: int) -> Int64:
        """Returns (keys,) int64: the length of each key's intervals, keys being 0 to ``keys - 1``."""
        return sums_by_key(self.key, self.end_ns - self.start_ns, keys)

    def of_key(self, key: int) -> IntervalSet:
        """Returns the intervals of one key."""
        first, last = np.searchsorted(self.key, [key, key + 1])
        return IntervalSet(self.key[first:last], self.start_ns[first:last], self.end_ns[first:last])


def exact_sum(values: Int64) -> int:
    """Returns the sum of int64 values, whatever its size."""
    high = int((values >> 32).sum(dtype=np.int64))
    low = int((values & 0xFFFF_FFFF).sum(dtype=np.int64))
    return (high << 32) + low


def sums_by_key(key: NDArray[np.integer], values: NDArray[np.integer], keys: int) -> Int64:
    """Returns (keys,) int64: the sum of the values of each key; keys are 0 to ``keys - 1``."""
    sums = np.zeros(keys, np.int64)
    np.add.at(sums, key, values)
    return sums


def exact_sums_by_key(key: NDArray[np.integer], values: Int64, keys: int) -> list[int]:
    """Returns the sum of the values of each key, whatever its size; keys are 0 to ``keys - 1``."""
    high = sums_by_key(key, values >> 32, keys).tolist()
    low = sums_by_key(key, values & 0xFFFF_FFFF, keys).tolist()
    return [(upper << 32) + lower for upper, lower in zip(high, low, strict=True)]


def counts_by_key(key: NDArray[np.integer], keys: int) -> Int64:
    """Returns (keys,) int64: how often each key occurs; keys are 0 to ``keys - 1``."""
    return np.bincount(key, minlength=keys).astype(np.int64)


def ends_ns(start_ns: Int64, duration_ns: Int64) -> Int64:
    """Returns where slices end. One without a length, or with an impossible one, ends where it starts.

    Args:
        start_ns: (n,) int64.
        duration_ns: (n,) int64, as recorded: may be negative or MISSING.
    """
    length_ns = np.maximum(duration_ns, 0)
    return np.where(start_ns > _LAST_NS - length_ns, _LAST_NS, start_ns + length_ns)


def union(key: NDArray[np.integer], start_ns: Int64, end_ns: Int64) -> IntervalSet:
    """Merges intervals that overlap or touch, key by key.

    Args:
        key: (n,) int, any numbers.
        start_ns: (n,) int64, any order.
        end_ns: (n,) int64; an interval that does not end behind its start counts nothing.
    """
    real = end_ns > start_ns
    keys, start_ns, end_ns = key[real].astype(np.int64), start_ns[real], end_ns[real]
    order = np.lexsort((start_ns, keys))
    keys, start_ns, end_ns = keys[order], start_ns[order], end_ns[order]
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = keys[1:] != keys[:-1]
    firsts = np.flatnonzero(begins)
    reach_ns = np.empty_like(end_ns)
    for first, last in zip(firsts.tolist(), _lasts(firsts, len(keys)), strict=True):
        np.maximum.accumulate(end_ns[first:last], out=reach_ns[first:last])
    begins[1:] |= start_ns[1:] > reach_ns[:-1]
    firsts = np.flatnonzero(begins)
    lasts = np.array(_lasts(firsts, len(keys)), np.int64) - 1
    return IntervalSet(keys[firsts], start_ns[firsts], reach_ns[lasts])


def _lasts(firsts: NDArray[np.integer], count: int) -> list[int]:
    """Returns where the run that begins at each of ``firsts`` ends."""
    return [*firsts[1:].tolist(), count][: len(firsts)]


def intersect(left: IntervalSet, right: IntervalSet) -> IntervalSet:
    """Returns what lies in both, key by key."""
    return _combine(left, right, in_right=True)


def subtract(left: IntervalSet, right: IntervalSet) -> IntervalSet:
    """Returns what lies in ``left`` and not in ``right``, key by key."""
    return _combine(left, right, in_right=False)


def _combine(left: IntervalSet, right: IntervalSet, *, in_right: bool) -> IntervalSet:
    """Walks over all ends of both sets; between two of them nothing changes."""
    key = np.concatenate((left.key, left.key, right.key, right.key))
    time_ns = np.concatenate((left.start_ns, left.end_ns, right.start_ns, right.end_ns))
    change_left = np.repeat(np.array([1, -1, 0, 0], np.int64), [len(left)] * 2 + [len(right)] * 2)
    change_right = np.repeat(np.array([0, 0, 1, -1], np.int64), [len(left)] * 2 + [len(right)] * 2)
    order = np.lexsort((time_ns, key))
    within = np.cumsum(change_left[order]) > 0
    within &= (np.cumsum(change_right[order]) > 0) == in_right
    # What is chosen after an end holds until the next one. A set's last end of a key closes it, so
    # nothing is chosen from one key to the next.
    places = np.flatnonzero(within[:-1])
    key, time_ns = key[order], time_ns[order]
    return union(key[places], time_ns[places], time_ns[places + 1])


def busy_in_bins(intervals: IntervalSet, edges_ns: Int64) -> Int64:
    """Returns how much of each bin one key's intervals fill.

    Args:
        intervals: Of one key.
        edges_ns: (bins + 1,) int64, where the bins begin and end; ascending.

    Returns:
        (bins,) int64.
    """
    until_ns = np.concatenate(([0], np.cumsum(intervals.end_ns - intervals.start_ns)))
    begun = np.searchsorted(intervals.start_ns, edges_ns, side="right")
    end_ns = np.concatenate((edges_ns[:1], intervals.end_ns))[begun]
    filled: Int64 = np.diff(until_ns[begun] - np.where(end_ns > edges_ns, end_ns - edges_ns, 0))
    return filled


def cut_to_windows(
    line: IntervalSet, window_key: NDArray[np.integer], start_ns: Int64, end_ns: Int64
) -> IntervalSet:
    """Returns, for each of many windows, the part of one key's intervals that lies in it.

    Windows may overlap each other; what lies in several counts in each.

    Args:
        line: Intervals of a single key.
        window_key: (n,) int: the key that a window's part gets. Windows of one key are taken together.
        start_ns: (n,) int64, where each window begins.
        end_ns: (n,) int64, where it ends.
    """
    first = np.searchsorted(line.end_ns, start_ns, side="right")
    last = np.maximum(np.searchsorted(line.start_ns, end_ns, side="left"), first)
    window = np.repeat(np.arange(len(first)), last - first)
    place = np.arange(len(window)) - np.repeat(np.cumsum(last - first) - last, last - first)
    return union(
        window_key[window],
        np.maximum(line.start_ns[place], start_ns[window]),
        np.minimum(line.end_ns[place], end_ns[window]),
    )
