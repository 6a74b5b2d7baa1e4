"""What launched each piece of device work: the call into the runtime, and the operator around it.

Two number spaces join them. ``correlation`` names the call, ``External id`` the
operator; a number of one space says nothing in the other. Both are repeated in
merged files and mean something else in old ones, so an operator named by its
External id is believed only if the launch lies in it.

Source: Kineto's output_json.cpp and CuptiActivityProfiler.cpp (torch 1.8 to 2.13).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.intervals import counts_by_key
from core.analyses.nesting import nearest_of_kind, nearest_where
from core.compiled import compiled
from core.tables.columns import MISSING, NO_ROW, freeze_columns
from core.tables.trace import Problem, SliceKind

if TYPE_CHECKING:
    from core.analyses.nesting import Nesting
    from core.tables.columns import Bool, Int32, Int64, Uint8
    from core.tables.trace import Trace

_GRAPH_LAUNCH: Final = re.compile(r"(cuda|cu|hip|sycl|ze)GraphLaunch", re.IGNORECASE)
_MOST_ROWS: Final = 4096


class LinkKind(IntEnum):
    """How device work was linked.

    ``EXTERNAL_ID``: its External id names the operator. ``CORRELATION``: its
    correlation names the call; the operator is the innermost around it, if any.
    ``GRAPH``: the call replays a CUDA or HIP graph, of which it is one node.
    ``NONE``: neither is known.
    """

    NONE = 0
    EXTERNAL_ID = 1
    CORRELATION = 2
    GRAPH = 3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Links:
    """What launched each row of ``DeviceTable``. Columns (device rows,).

    Attributes:
        op_row: int32, the operator, or where there is none around the call the user's annotation; NO_ROW.
        launch_row: int32, the runtime or driver call, NO_ROW.
        how: uint8, ``LinkKind``.
        launch_delay_ns: int64, from the begin of the call to the begin of the work; of a graph launch only
            its first node has one. MISSING where the call is unknown or begins later.
        clock_skew_ns: int64, by how much the work begins before its call, which cannot be; MISSING elsewhere.
        problems: What could not be linked, and what is doubtful.

    Source of the delay: case T32 wants the begin of the call; HTA's "launch delay" counts from its end.
    """

    op_row: Int32
    launch_row: Int32
    how: Uint8
    launch_delay_ns: Int64
    clock_skew_ns: Int64
    problems: tuple[Problem, ...]

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "op_row": np.int32,
                "launch_row": np.int32,
                "how": np.uint8,
                "launch_delay_ns": np.int64,
                "clock_skew_ns": np.int64,
            },
        )

    def __len__(self) -> int:
        return len(self.op_row)


def link_device_work(trace: Trace, calls: Nesting) -> Links:
    """Finds the launching call and operator of all device work.

    Args:
        trace: The trace.
        calls: Its tree of operators, annotations and calls (``nest_slices`` of ``CALL_KINDS``).
    """
    work = _Work(trace)
    launch_row, repeated = _find_launches(trace, work)
    named, op_row, contradicted = _find_operators(trace, work, calls, launch_row)
    graph = _is_graph_launch(trace)[launch_row] & (launch_row != NO_ROW)
    how = np.full(len(work), LinkKind.NONE, np.uint8)
    how[launch_row != NO_ROW] = LinkKind.CORRELATION
    how[named] = LinkKind.EXTERNAL_ID
    how[graph] = LinkKind.GRAPH
    delay_ns, skew_ns = _delays(trace, work, launch_row, graph)
    problems = (
        _unlinked_problems(work, launch_row, op_row)
        + _problem(
            work, contradicted, "doubtful_external_id", "{} whose External id names an operator elsewhere"
        )
        + _problem(work, repeated, "repeated_correlation", "{} whose correlation names several calls")
        + _problem(work, skew_ns != MISSING, "clock_skew", "{} with a start before the launch (clock skew)")
    )
    return Links(
        op_row=op_row,
        launch_row=launch_row,
        how=how,
        launch_delay_ns=delay_ns,
        clock_skew_ns=skew_ns,
        problems=problems,
    )


class _Work:
    """The columns of device work that linking needs, a row for each row of ``DeviceTable``."""

    def __init__(self, trace: Trace) -> None:
        slices = trace.slices
        self.rows = trace.device_work.slice_row
        self.start_ns = slices.start_ns[self.rows]
        self.correlation = slices.correlation[self.rows]
        self.external_id = slices.external_id[self.rows]
        self.rank = trace.tracks.rank[slices.track[self.rows]]

    def __len__(self) -> int:
        return len(self.rows)


class _ByNumber:
    """Slices by a number that may be repeated: of those of one rank, the last that begins before a time."""

    def __init__(self, trace: Trace, rows: Int32, numbers: Int64) -> None:
        self._rows = rows
        self._numbers, place = np.unique(numbers, return_inverse=True)
        start_ns = trace.slices.start_ns[rows]
        rank = trace.tracks.rank[trace.slices.track[rows]]
        self._ranks, rank_place = np.unique(rank, return_inverse=True)
        numbers_count, ranks_count = len(self._numbers), len(self._ranks)
        self._any_rank = _Groups(place, numbers_count, start_ns)
        self._one_rank = (
            self._any_rank
            if ranks_count < 2
            else _Groups(place * ranks_count + rank_place, numbers_count * ranks_count, start_ns)
        )

    def find(self, numbers: Int64, ranks: Int64, times_ns: Int64) -> tuple[Int32, Int64]:
        """Returns the rows, NO_ROW where there is none, and how many slices each was chosen from.

        Only slices of the same rank are looked at, if the trace has any of that rank. The
        number 0, which profilers write where they have none, counts if one slice alone bears it.
        """
        found = np.full(len(numbers), NO_ROW, np.int32)
        choices = np.zeros(len(numbers), np.int64)
        if not len(self._rows):
            return found, choices
        place, known = _places(self._numbers, numbers)
        rank_place, rank_known = _places(self._ranks, ranks)
        several = len(self._ranks) > 1
        for group, here, keys in (
            (self._one_rank, known & rank_known, place * len(self._ranks) + rank_place if several else place),
            (self._any_rank, known & ~rank_known, place),
        ):
            position, count = group.last_before(keys[here], times_ns[here])
            row = np.where(position >= 0, self._rows[position], NO_ROW)
            found[here] = np.where((numbers[here] == 0) & (count > 1), NO_ROW, row)
            choices[here] = count
        return found, choices


class _Groups:
    """Positions grouped by a key from 0 on, each group by time."""

    def __init__(self, keys: Int64, key_count: int, times_ns: Int64) -> None:
        self._order = np.lexsort((times_ns, keys))
        self._times_ns = times_ns[self._order]
        self._sizes = counts_by_key(keys, key_count)
        self._ends = np.cumsum(self._sizes)

    def last_before(self, keys: Int64, times_ns: Int64) -> tuple[Int64, Int64]:
        """Returns the position of the last of each group that is not later than a time, else of its first.

        Position -1 where there is no such group; and the size of the group.
        """
        sizes, end = self._sizes[keys], self._ends[keys]
        chosen = end - sizes
        _last_in_range(self._times_ns, end - sizes, end, times_ns, chosen)
        position = self._order[np.minimum(chosen, len(self._order) - 1)]
        return np.where(sizes > 0, position, -1), sizes


@compiled
def _last_in_range(sorted_ns: Int64, first: Int64, end: Int64, times_ns: Int64, chosen: Int64) -> None:
    for i in range(len(first)):
        low = first[i]
        high = end[i]
        while high - low > 1:
            middle = (low + high) // 2
            if sorted_ns[middle] <= times_ns[i]:
                low = middle
            else:
                high = middle
        chosen[i] = low


def _places(distinct: Int64, values: Int64) -> tuple[Int64, Bool]:
    place = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return place, (distinct[place] == values) & (values != MISSING) if len(distinct) else (
        np.zeros(len(values), np.bool_)
    )


def _find_launches(trace: Trace, work: _Work) -> tuple[Int32, Bool]:
    """Returns each one's launching call and whether it was chosen among several."""
    slices = trace.slices
    is_call = (slices.kind == SliceKind.RUNTIME) & (slices.correlation != MISSING)
    rows = np.flatnonzero(is_call).astype(np.int32)
    calls = _ByNumber(trace, rows, slices.correlation[rows])
    found, choices = calls.find(work.correlation, work.rank, work.start_ns)
    return found, (found != NO_ROW) & (choices > 1)


def _find_operators(trace: Trace, work: _Work, calls: Nesting, launch_row: Int32) -> tuple[Bool, Int32, Bool]:
    """Returns whether the External id named the operator, the operator, and whether it named a wrong one."""
    slices = trace.slices
    around = nearest_of_kind(calls, slices, SliceKind.OP)
    has_launch = launch_row != NO_ROW
    innermost = np.where(has_launch, around[launch_row], NO_ROW).astype(np.int32)
    by_id = np.full(len(work), NO_ROW, np.int32)
    _climb_to_number(innermost, work.external_id, slices.external_id, calls.parent_row, around, by_id)
    annotation = nearest_where(calls, _own_annotations(trace))
    innermost = np.where((innermost == NO_ROW) & has_launch, annotation[launch_row], innermost).astype(
        np.int32
    )
    outermost_named = (by_id == NO_ROW) & (innermost != NO_ROW) & (work.external_id != MISSING)
    outermost_named &= slices.external_id[innermost] == work.external_id
    by_id = np.where(outermost_named, innermost, by_id).astype(np.int32)

    elsewhere = _named_alone(trace, work, (by_id == NO_ROW) & (work.external_id != MISSING))
    contradicted = has_launch & (by_id == NO_ROW) & (elsewhere != NO_ROW)
    # In old files these numbers count something else: then they name no operator without a launch either.
    agreed = np.count_nonzero(has_launch & (by_id != NO_ROW))
    if np.count_nonzero(contradicted) <= agreed:
        by_id = np.where(has_launch, by_id, elsewhere).astype(np.int32)
    named = by_id != NO_ROW
    return named, np.where(named, by_id, innermost).astype(np.int32), contradicted


@compiled
def _climb_to_number(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    innermost: Int32, wanted: Int64, numbers: Int64, parent: Int32, around: Int32, found: Int32
) -> None:
    """Finds the operator of the wanted number among the innermost one and those around it."""
    for i in range(len(innermost)):
        op = innermost[i]
        if wanted[i] == MISSING:
            continue
        while op >= 0 and numbers[op] != wanted[i]:
            op = around[parent[op]] if parent[op] >= 0 else -1
        found[i] = op


def _named_alone(trace: Trace, work: _Work, asked: Bool) -> Int32:
    """Returns the operator, else the annotation, that the External id names, whatever else is known.

    Only where it is asked for; NO_ROW elsewhere.
    """
    slices = trace.slices
    found = np.full(len(work), NO_ROW, np.int32)
    places = np.flatnonzero(asked)
    if not len(places):
        return found
    for wanted in (_own_annotations(trace), slices.kind == SliceKind.OP):
        rows = np.flatnonzero(wanted & (slices.external_id != MISSING)).astype(np.int32)
        named = _ByNumber(trace, rows, slices.external_id[rows])
        row, _ = named.find(work.external_id[places], work.rank[places], work.start_ns[places])
        # What begins later launched nothing.
        sound = (row != NO_ROW) & (slices.start_ns[row] <= work.start_ns[places])
        found[places[sound]] = row[sound]
    return found


def _own_annotations(trace: Trace) -> Bool:
    """Returns (slices,) bool: ranges of the user; the profiler's steps launch nothing."""
    slices = trace.slices
    chosen: Bool = slices.kind == SliceKind.ANNOTATION
    names = np.unique(slices.name_id[chosen]).tolist()
    steps = [name for name in names if trace.strings[name].startswith("ProfilerStep#")]
    chosen &= ~np.isin(slices.name_id, steps)
    return chosen


def _is_graph_launch(trace: Trace) -> Bool:
    """Returns (slices,) bool."""
    slices = trace.slices
    calls: Bool = slices.kind == SliceKind.RUNTIME
    names = np.unique(slices.name_id[calls]).tolist()
    launches = [name for name in names if _GRAPH_LAUNCH.match(trace.strings[name])]
    return calls & np.isin(slices.name_id, launches)


def _delays(trace: Trace, work: _Work, launch_row: Int32, graph: Bool) -> tuple[Int64, Int64]:
    """Returns the launch delay and, where it would be negative, the skew of the clocks instead."""
    delay_ns = np.full(len(work), MISSING, np.int64)
    skew_ns = np.full(len(work), MISSING, np.int64)
    counted = (launch_row != NO_ROW) & ~graph
    nodes = np.flatnonzero(graph)
    in_turn = nodes[np.lexsort((work.start_ns[nodes], launch_row[nodes]))]
    counted[in_turn[np.flatnonzero(np.diff(launch_row[in_turn], prepend=NO_ROW))]] = True
    since_ns = work.start_ns[counted] - trace.slices.start_ns[launch_row[counted]]
    delay_ns[counted] = np.where(since_ns >= 0, since_ns, MISSING)
    skew_ns[counted] = np.where(since_ns < 0, -since_ns, MISSING)
    return delay_ns, skew_ns


def _unlinked_problems(work: _Work, launch_row: Int32, op_row: Int32) -> tuple[Problem, ...]:
    no_op = op_row == NO_ROW
    numbered = (work.correlation != MISSING) | (work.external_id != MISSING)
    has_launch = launch_row != NO_ROW
    return (
        _problem(work, no_op & has_launch, "launch_outside_ops", "{} launched outside any operator")
        + _problem(
            work, no_op & ~has_launch & numbered, "launch_missing", "{} whose launch is not in the trace"
        )
        + _problem(work, no_op & ~numbered, "no_launch_number", "{} without a number that names its launch")
    )


def _problem(work: _Work, chosen: Bool, code: str, sentence: str) -> tuple[Problem, ...]:
    count = int(np.count_nonzero(chosen))
    if not count:
        return ()
    what = "1 kernel or copy" if count == 1 else f"{count:,} kernels or copies"
    rows = tuple(work.rows[chosen][:_MOST_ROWS].tolist())
    return (Problem(code, count, sentence.format(what), rows=rows),)
