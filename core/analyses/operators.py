"""The operators of a trace by name, or by name and input shapes: time on the host and on the device.

The figures are those of ``key_averages()`` of ``torch.profiler``: an operator that
only passes on to another of its own name counts once with it, and one that calls
its own name among others counts twice in a total, never in an own time. Where
Python frames were recorded torch takes those inside an operator from its own time;
here they are no calls, so that an own time is the same with frames and without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import impossible_column, number_column, text_column
from core.analyses.grouping import dense_ids, dense_pairs, pick_members, times_by_group
from core.analyses.intervals import counts_by_key, sums_by_key
from core.analyses.nesting import self_times_ns, sums_with_inner
from core.tables.columns import NO_ROW
from core.tables.result import Column, ResultTable
from core.tables.selection import WHOLE, Selection
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.grouping import GroupTimes
    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Int32, Int64

EMPTY: Final = "No operators in the selected part of this trace."


def summarize_operators(
    index: TraceIndex, selection: Selection = WHOLE, *, by_shapes: bool = False
) -> ResultTable:
    """Sums operators up, the largest own time on the host first.

    Args:
        index: The trace.
        selection: Operators that start in it, with all that they launched.
        by_shapes: Whether calls with other input shapes make another row.

    Source of the definitions: torch/autograd/profiler_util.py (2.13), FunctionEventAvg.
    """
    slices = index.trace.slices
    rows = np.flatnonzero((slices.kind == SliceKind.OP) & selection.mask(slices)).astype(np.int32)
    shapes = index.op_arguments(rows)[0]
    passed_on = _passed_on(index)[rows]
    key = slices.name_id[rows].astype(np.int64)
    group = dense_pairs(key, shapes.astype(np.int64)) if by_shapes else dense_ids(key)[1]
    _, first = np.unique(group, return_index=True)
    counted = ~passed_on
    times = times_by_group(group[counted], len(first), slices.duration_ns[rows[counted]])
    self_ns = sums_by_key(group, np.maximum(self_times_ns(index.calls, slices)[rows], 0), len(first))
    shown = np.lexsort((first, -self_ns))
    members, member_ends = pick_members(rows[counted], times, shown)
    names = text_column(
        "name", "Operator", "Name of the operator.", slices.name_id[rows[first]][shown], index.trace.strings
    )
    shape = text_column(
        "input_dims",
        "Input shapes",
        "Shapes of its inputs (record_shapes).",
        shapes[first][shown],
        index.trace.strings,
    )
    return ResultTable(
        name="ops_by_shape" if by_shapes else "ops",
        title="Operators by shape" if by_shapes else "Operators",
        columns=(
            *((names, shape) if by_shapes else (names,)),
            *_host_columns(times, self_ns, shown),
            *_device_columns(index, rows, group, counted, shown),
        ),
        notes=_notes(index, rows),
        empty=EMPTY,
        members=members,
        member_ends=member_ends,
        sorted_by="cpu_self_ns",
    )


def summarize_operators_by_shape(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Sums operators up by name and input shapes; see ``summarize_operators``."""
    return summarize_operators(index, selection, by_shapes=True)


def _passed_on(index: TraceIndex) -> Bool:
    """Returns (slices,) bool: the only child of one of the same name.

    Source: torch/autograd/profiler_util.py, EventList._remove_dup_nodes.
    """
    parent, name_id = index.calls.parent_row, index.trace.slices.name_id
    inner = np.flatnonzero(parent != NO_ROW)
    children = counts_by_key(parent[inner], len(parent))
    passed_on = np.zeros(len(parent), np.bool_)
    passed_on[inner] = (children[parent[inner]] == 1) & (name_id[parent[inner]] == name_id[inner])
    return passed_on


def _host_columns(times: GroupTimes, self_ns: Int64, shown: Int64) -> tuple[Column, ...]:
    total = int(self_ns.sum())
    share = np.full(len(shown), np.nan)
    if total:
        share = self_ns[shown] * (100 / total)
    return (
        number_column("calls", "Calls", "count", "Calls in the selection.", times.calls[shown]),
        number_column(
            "cpu_self_ns", "CPU self", "ns", "Without the operators and calls that it made.", self_ns[shown]
        ),
        number_column("share_pct", "Share of self", "pct", "Of the own time of all operators.", share),
        number_column(
            "cpu_total_ns", "CPU total", "ns", "With all that it called, also itself.", times.sum_ns[shown]
        ),
        number_column("cpu_mean_ns", "CPU mean", "ns", "Total over calls.", times.mean_ns[shown]),
        number_column("cpu_max_ns", "CPU max", "ns", "Longest call.", times.max_ns[shown], shown=False),
        impossible_column(times.impossible[shown]),
    )


def _device_columns(
    index: TraceIndex, rows: Int32, group: Int64, counted: Bool, shown: Int64
) -> tuple[Column, ...]:
    """Device time of the operators' own launches, and of all inside; nothing without device work."""
    slices, work = index.trace.slices, index.trace.device_work
    if not len(work):
        return ()
    linked = index.links.op_row != NO_ROW
    op_row = index.links.op_row[linked]
    duration_ns = np.maximum(slices.duration_ns[work.slice_row[linked]], 0)
    own_ns = sums_by_key(op_row, duration_ns, len(slices))
    own_count = sums_by_key(op_row, np.ones(len(op_row), np.int64), len(slices))
    groups = len(shown)
    self_ns = sums_by_key(group, own_ns[rows], groups)[shown]
    total_ns = sums_by_key(group[counted], sums_with_inner(index.calls, own_ns)[rows[counted]], groups)[shown]
    count = sums_by_key(group[counted], sums_with_inner(index.calls, own_count)[rows[counted]], groups)[shown]
    return (
        number_column(
            "device_calls",
            "Launches",
            "count",
            "Kernels, copies and sets that it and what it called launched.",
            count,
        ),
        number_column(
            "device_total_ns",
            "Device total",
            "ns",
            "Summed time of those kernels, copies and sets.",
            total_ns,
        ),
        number_column(
            "device_self_ns", "Device self", "ns", "Summed time of what it launched directly.", self_ns
        ),
    )


def _notes(index: TraceIndex, rows: Int32) -> tuple[str, ...]:
    impossible = int(np.count_nonzero(index.trace.slices.duration_ns[rows] < 0))
    if not impossible:
        return ()
    what = "1 operator" if impossible == 1 else f"{impossible:,} operators"
    return (f"{what} with an impossible time, in no sum.",)
