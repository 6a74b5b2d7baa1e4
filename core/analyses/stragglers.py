"""Who keeps the others waiting: when each rank arrives at each collective, and what that costs.

A collective moves data only once its last rank has arrived. So its time on the
last rank is transfer, and what the others spend in it before that is waiting.
What some rank left before another began is no such thing, and only counted.
Where no rank has collectives on a device, those of the CPU are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.analyses.alignment import (
    NO_COLLECTIVES,
    collectives_by_rank,
    host_collectives_by_rank,
    match_collectives,
    share_one_group,
)
from core.tables.columns import MISSING
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Int32, Int64
    from core.tables.selection import Selection

_ONE_RANK = (
    "This is the trace of one rank, and ranks are compared with each other. Open the files of all ranks "
    "together, or the folder they are in."
)
_NOTHING_SHARED = "No collective occurs equally often on all ranks, so none can be compared."
_SEVERAL_GROUPS = (
    "Collectives on the CPU name no process group, and the files do not say that there is one for all "
    "ranks: they cannot be compared."
)
_APART = (
    "not overlap in time on all ranks: they are not the same collective, the clocks are not aligned, "
    "or a rank need not wait for the others."
)
_ON_HOST = "These collectives ran on the CPU (gloo): a rank arrives when a thread of its own begins one."


class _Arrivals(NamedTuple):
    """Matched collectives: (m,) or, where each rank has a value, (m, ranks)."""

    ranks: Int64
    names: tuple[str, ...]
    slice_row: Int32
    start_ns: Int64
    end_ns: Int64
    empty: str = _NOTHING_SHARED
    notes: tuple[str, ...] = ()

    @property
    def last_start_ns(self) -> Int64:
        found: Int64 = self.start_ns.max(axis=1)
        return found

    @property
    def lateness_ns(self) -> Int64:
        """How much later than the first each rank arrived."""
        found: Int64 = self.start_ns - self.start_ns.min(axis=1)[:, None]
        return found

    @property
    def transfer_ns(self) -> Int64:
        """From the last arrival to the first departure."""
        found: Int64 = self.end_ns.min(axis=1) - self.last_start_ns
        return found

    @property
    def waiting_ns(self) -> Int64:
        """What each rank spends in the collective before the last has arrived."""
        found: Int64 = self.last_start_ns[:, None] - self.start_ns
        return found


def _arrivals(index: TraceIndex, selection: Selection) -> _Arrivals:
    trace = index.trace
    used = np.unique(trace.tracks.rank[np.unique(trace.slices.track)])
    ranks = used[used != MISSING]
    if len(ranks) < 2:
        none = np.empty((0, 1), np.int64)
        return _Arrivals(np.empty(0, np.int64), (), none.astype(np.int32), none, none, _ONE_RANK)
    by_rank = collectives_by_rank(trace, index.categories)
    on_host = not by_rank
    if on_host:
        by_rank = host_collectives_by_rank(trace)
    own = [by_rank.get(rank, NO_COLLECTIVES) for rank in ranks.tolist()]
    mixed = on_host and bool(by_rank) and not share_one_group(trace)
    rows = match_collectives(own)[: 0 if mixed else None]
    slice_row = np.stack([one.slice_row[rows[:, place]] for place, one in enumerate(own)], axis=1)
    # One rank is compared with the others: they belong to it whatever tracks are selected.
    inside = selection.times.mask(trace.slices)[slice_row].all(axis=1)
    rows, slice_row = rows[inside], slice_row[inside]
    start_ns = trace.slices.start_ns[slice_row]
    end_ns = start_ns + trace.slices.duration_ns[slice_row]
    met = start_ns.max(axis=1) < end_ns.min(axis=1)
    apart = _say_apart(len(met) - int(np.count_nonzero(met)), len(met))
    rows, slice_row, start_ns, end_ns = rows[met], slice_row[met], start_ns[met], end_ns[met]
    empty = _SEVERAL_GROUPS if mixed else apart or _NOTHING_SHARED
    return _Arrivals(
        ranks=ranks,
        names=tuple(own[0].key[place][0] for place in rows[:, 0].tolist()),
        slice_row=slice_row,
        start_ns=start_ns,
        end_ns=end_ns,
        empty=empty,
        notes=(
            *((apart,) if apart and len(rows) else ()),
            *((_ON_HOST,) if on_host and len(rows) else ()),
            *(problem.message for problem in trace.problems if problem.code in ("aligned", "not_aligned")),
        ),
    )


def _say_apart(count: int, of: int) -> str:
    """Returns what is to be said of matched collectives that some rank left before another began."""
    if not count:
        return ""
    does = "does" if count == 1 else "do"
    collectives = "collective" if of == 1 else "collectives"
    return f"{count:,} of {of:,} {collectives} {does} {_APART}"


def list_arrivals(index: TraceIndex, selection: Selection) -> ResultTable:
    """Returns a row for each collective of all ranks: who came first, who last, and what was transfer."""
    found = _arrivals(index, selection)
    texts: dict[str, int] = {}
    names = [texts.setdefault(name, len(texts)) for name in found.names]
    first = found.ranks[found.start_ns.argmin(axis=1)]
    last = found.ranks[found.start_ns.argmax(axis=1)]
    return ResultTable(
        name="arrivals",
        title="Arrivals",
        columns=(
            Column(
                key="name",
                title="Collective",
                unit="",
                help="Name of the collective, or of its kernel if the file does not say.",
                values=np.array(names, np.int32),
                texts=tuple(texts),
            ),
            Column(
                key="start_ns",
                title="First arrival",
                unit="ns",
                help="When the first rank began it, since the start of the trace.",
                values=found.start_ns.min(axis=1),
            ),
            Column(
                key="first_rank", title="First", unit="id", help="The rank that arrived first.", values=first
            ),
            Column(key="last_rank", title="Last", unit="id", help="The rank that arrived last.", values=last),
            Column(
                key="skew_ns",
                title="Skew",
                unit="ns",
                help="From the first arrival to the last: time lost to waiting, not to the network.",
                values=found.lateness_ns.max(axis=1),
            ),
            Column(
                key="transfer_ns",
                title="Transfer",
                unit="ns",
                help="From the last arrival to the first departure: what the collective itself takes.",
                values=found.transfer_ns,
            ),
        ),
        notes=found.notes,
        empty=found.empty,
        members=found.slice_row.reshape(-1),
        member_ends=np.arange(1, len(names) + 1, dtype=np.int64) * found.slice_row.shape[1],
    )


def summarize_stragglers(index: TraceIndex, selection: Selection) -> ResultTable:
    """Returns a row for each rank: how late it is, how often last, and how long it and others wait."""
    found = _arrivals(index, selection)
    ranks = found.ranks if found.names else np.empty(0, np.int64)
    count = len(ranks)
    last_place = found.start_ns.argmax(axis=1)
    caused_ns = np.zeros(count, np.int64)
    np.add.at(caused_ns, last_place, found.waiting_ns.sum(axis=1))
    lateness_ns = found.lateness_ns.sum(axis=0)[:count] // max(len(found.names), 1)
    step_ns = _step_times(index, ranks)
    return ResultTable(
        name="stragglers",
        title="Stragglers",
        columns=(
            Column(key="rank", title="Rank", unit="id", help="The rank.", values=ranks),
            Column(
                key="step_ns",
                title="Step",
                unit="ns",
                help="Median duration of its steps.",
                values=step_ns,
            ),
            Column(
                key="collectives",
                title="Collectives",
                unit="count",
                help="Collectives that all ranks were in at one time.",
                values=np.full(count, len(found.names), np.int64),
            ),
            Column(
                key="last",
                title="Last",
                unit="count",
                help="How often it was the last to arrive.",
                values=np.bincount(last_place, minlength=count)[:count].astype(np.int64),
            ),
            Column(
                key="mean_lateness_ns",
                title="Mean lateness",
                unit="ns",
                help="How much later than the first rank it arrives, on average.",
                values=lateness_ns,
            ),
            Column(
                key="waiting_ns",
                title="Waits",
                unit="ns",
                help="Time it spends in collectives before the last rank has arrived.",
                values=found.waiting_ns.sum(axis=0)[:count],
            ),
            Column(
                key="caused_ns",
                title="Makes others wait",
                unit="ns",
                help="Time that other ranks spend waiting for it, added up over them.",
                values=caused_ns,
            ),
        ),
        notes=found.notes,
        empty=found.empty,
        sorted_by="caused_ns",
    )


def _step_times(index: TraceIndex, ranks: Int64) -> Int64:
    steps = index.steps
    found = np.full(len(ranks), MISSING, np.int64)
    for place, rank in enumerate(ranks.tolist()):
        own = (steps.end_ns - steps.start_ns)[steps.rank == rank]
        if len(own):
            found[place] = int(np.sort(own)[(len(own) - 1) // 2])
    return found
