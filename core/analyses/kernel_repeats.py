"""Kernels whose launch is not in a trace, but which repeat a sequence whose launches are.

Work that was queued before a recording began has kernels and no operators. Often
it is the same step as one that is recorded: then its kernels have the same names,
grids and blocks, one after the other on one stream. That is believed for
``IN_A_ROW`` of them, and only where all recorded sequences like it did the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.grouping import dense_ids, dense_pairs
from core.tables.columns import MISSING, NO_ROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.tables.columns import Bool, Int32, Int64
    from core.tables.trace import Trace

IN_A_ROW: Final = 32
"""Kernels that must agree. A layer of a transformer has 10 to 50: fewer may be alike and do other work."""


def find_repeats(trace: Trace, place: Int32, unknown: Bool, outcome: Int64) -> Int64:
    """Finds for kernels of unknown operators the recorded ones that they repeat.

    Args:
        trace: The trace.
        place: (kernels,) int32, rows of ``DeviceTable``.
        unknown: (kernels,) bool, which have no operator.
        outcome: (kernels,) int64, equal where what is known of two kernels is.

    Returns:
        (kernels,) int64, the kernel that each repeats, NO_ROW.
    """
    found = np.full(len(place), NO_ROW, np.int64)
    rows = trace.device_work.slice_row[place]
    track = trace.slices.track[rows]
    order = np.lexsort((trace.slices.start_ns[rows], track))
    starts, is_unknown = _windows(unknown[order], track[order])
    if not is_unknown.any() or is_unknown.all():
        return found
    alike = _hashes(_tokens(trace, place)[order], starts)
    same = _hashes(outcome[order], starts)
    recorded, asked = starts[~is_unknown], starts[is_unknown]
    distinct, first, group = np.unique(alike[~is_unknown], return_index=True, return_inverse=True)
    same = same[~is_unknown]
    disagrees = np.zeros(len(distinct), np.bool_)
    disagrees[group[same != same[first][group]]] = True
    match = np.minimum(np.searchsorted(distinct, alike[is_unknown]), len(distinct) - 1)
    usable = (distinct[match] == alike[is_unknown]) & ~disagrees[match]
    repeated, by = asked[usable], recorded[first[match[usable]]]
    doubtful = np.zeros(len(place), np.bool_)
    for step in range(IN_A_ROW):
        target, source = order[repeated + step], order[by + step]
        before = found[target]
        doubtful[target] |= (before != NO_ROW) & (outcome[before] != outcome[source])
        found[target] = source
    found[doubtful] = NO_ROW
    return found


def _windows(unknown: Bool, track: Int32) -> tuple[Int64, Bool]:
    """Returns where so many kernels in a row begin that are of one track and all known or all not.

    Returns:
        (windows,) int64, and (windows,) bool: whether they are unknown.
    """
    change = (np.diff(track) != 0) | (np.diff(unknown.astype(np.int8)) != 0)
    run = np.concatenate(([0], np.cumsum(change))) if len(track) else np.empty(0, np.int64)
    starts = np.flatnonzero(run[: max(0, len(run) - IN_A_ROW + 1)] == run[IN_A_ROW - 1 :])
    return starts, unknown[starts]


def _tokens(trace: Trace, place: Int32) -> Int64:
    """Returns (kernels,) int64: equal where name, grid and block are; where there is no grid, to none."""
    work = trace.device_work
    token = dense_ids(trace.slices.name_id[work.slice_row[place]])[1]
    for column in (*work.grid[place].T, *work.block[place].T):
        token = dense_pairs(token, column)
    unlike = np.flatnonzero((work.grid[place] == MISSING).any(axis=1))
    token[unlike] = len(token) + np.arange(len(unlike))
    return dense_ids(token)[1]


def _hashes(tokens: Int64, starts: Int64) -> NDArray[np.uint64]:
    """Returns (windows,) uint64: a hash of the tokens from each start on."""
    random = np.random.default_rng(0)
    of_token = random.integers(0, 2**64, int(tokens.max(initial=-1)) + 1, np.uint64)
    factors = random.integers(0, 2**63, IN_A_ROW, np.uint64) * np.uint64(2) + np.uint64(1)
    values = of_token[tokens]
    total = np.zeros(len(starts), np.uint64)
    for step in range(IN_A_ROW):
        total += values[starts + step] * factors[step]
    return total
