"""The collectives of a trace: grouped by what was moved among whom, and launch by launch.

The time of a collective is that of its kernel, and in that lies the wait for the
last rank to arrive: a bandwidth here is what the operation reached, not what
the links can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.alignment import host_collectives_by_rank
from core.analyses.answer_columns import number_column, text_column
from core.analyses.collectives import Collectives, Pattern, argument, bandwidths, find_collectives
from core.analyses.grouping import times_by_group
from core.analyses.intervals import sums_by_key
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Float64, Int32, Int64
    from core.tables.result import Column
    from core.tables.trace import Trace

_PATTERN_TITLES: Final = tuple(pattern.value for pattern in Pattern)
_ALGORITHM: Final = "Bytes by time, as nccl-tests counts the bytes of such a collective."
_BUS: Final = "Algorithm bandwidth scaled to what each link carried, as nccl-tests does for this collective."


def summarize_communication(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes a row for each kernel name, collective, type and group of ranks, the longest sum first.

    Args:
        index: The trace.
        selection: Collectives that start in it.
    """
    trace = index.trace
    found = find_collectives(index, selection.mask(trace.slices))
    if not len(found.slice_row):
        return ResultTable(
            name="communication",
            title="Communication",
            columns=(),
            empty=why_no_communication(index, selection),
        )
    keys = np.stack([column.astype(np.int64) for column in _keys(trace, found)], axis=1)
    distinct, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    duration_ns = trace.slices.duration_ns[found.slice_row]
    sum_ns = sums_by_key(group, np.maximum(duration_ns, 0), len(distinct))
    order = np.argsort(-sum_ns, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    group, first = place[group], first[order]
    times = times_by_group(group, len(distinct), duration_ns)
    size_bytes, timed_ns = _measured(found, duration_ns, group, len(distinct))
    return ResultTable(
        name="communication",
        title="Communication",
        columns=(
            *_names(trace, found, first),
            number_column("calls", "Calls", "count", "Collectives of this kind.", times.calls),
            number_column("sum_ns", "Sum", "ns", "Sum of their durations.", times.sum_ns),
            number_column("mean_ns", "Mean", "ns", "Mean duration.", times.mean_ns),
            number_column("min_ns", "Min", "ns", "Shortest.", times.min_ns),
            number_column("max_ns", "Max", "ns", "Longest.", times.max_ns),
            number_column("size_bytes", "Size", "bytes", "Of all that tell their size and time.", size_bytes),
            *_bandwidth_columns(size_bytes, found.factor[first], timed_ns),
        ),
        notes=_notes(found, duration_ns),
        members=found.slice_row[times.order],
        member_ends=times.ends,
        sorted_by="sum_ns",
    )


def list_collectives(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes a row for each kernel that communicates, by start.

    Args:
        index: The trace.
        selection: Collectives that start in it.
    """
    trace = index.trace
    found = find_collectives(index, selection.mask(trace.slices))
    if not len(found.slice_row):
        return ResultTable(
            name="collectives", title="Collectives", columns=(), empty=why_no_communication(index, selection)
        )
    order = np.argsort(trace.slices.start_ns[found.slice_row], kind="stable")
    row, slice_row = found.collective_row[order], found.slice_row[order]
    duration_ns = trace.slices.duration_ns[slice_row]
    elements = argument(trace.collectives.in_elements, row, MISSING)
    return ResultTable(
        name="collectives",
        title="Collectives",
        columns=(
            *_names(trace, found, order),
            number_column(
                "start_ns", "Start", "ns", "Since the start of the trace.", trace.slices.start_ns[slice_row]
            ),
            number_column("duration_ns", "Duration", "ns", "As recorded.", duration_ns),
            number_column("in_elements", "Elements in", "count", "Elements that each rank gives.", elements),
            number_column(
                "in_bytes", "Data in", "bytes", "Bytes that each rank gives.", found.in_bytes[order]
            ),
            number_column(
                "out_bytes", "Data out", "bytes", "Bytes that each rank gets.", found.out_bytes[order]
            ),
            *_bandwidth_columns(found.size_bytes[order], found.factor[order], duration_ns),
            number_column(
                "sequence",
                "Sequence",
                "id",
                "Number of the collective in its group.",
                argument(trace.collectives.sequence, row, MISSING),
                shown=False,
            ),
        ),
        notes=_notes(found, duration_ns),
        members=slice_row,
        member_ends=np.arange(1, len(slice_row) + 1),
    )


def why_no_communication(index: TraceIndex, selection: Selection) -> str:
    """Returns what to say where a table of communicating kernels has no rows."""
    selected = selection.mask(index.trace.slices)
    on_host = host_collectives_by_rank(index.trace).values()
    count = sum(int(np.count_nonzero(selected[each.slice_row])) for each in on_host)
    if not count:
        return "No kernel of this part of the trace communicates."
    ran = "1 collective" if count == 1 else f"{count:,} collectives"
    return f"No kernel communicates here: {ran} ran on the CPU (gloo). The Arrivals table compares the ranks."


def _keys(trace: Trace, found: Collectives) -> tuple[Int32 | Int64, ...]:
    """Returns what collectives of one row have in common."""
    row, table = found.collective_row, trace.collectives
    return (
        trace.slices.name_id[found.slice_row],
        found.pattern,
        argument(table.name_id, row, NO_ROW),
        argument(table.dtype_id, row, NO_ROW),
        argument(table.group_size, row, MISSING),
        argument(table.group_name_id, row, NO_ROW),
        argument(table.group_ranks_id, row, NO_ROW),
    )


def _names(trace: Trace, found: Collectives, places: Int64) -> tuple[Column, ...]:
    """Returns the columns that say what each row is, for the collectives at some places."""
    kernel, pattern, *said = (column[places] for column in _keys(trace, found))
    collective, dtype, ranks, group, members = said

    def text(key: str, title: str, explained: str, ids: Int32 | Int64, *, shown: bool = True) -> Column:
        return text_column(key, title, explained, ids.astype(np.int32), trace.strings, shown=shown)

    return (
        text_column(
            "pattern", "Pattern", "Who sends what to whom.", pattern.astype(np.int32), _PATTERN_TITLES
        ),
        text("collective", "Collective", "As its arguments name it.", collective),
        text("kernel", "Kernel", "Name of the kernel; it may name a building block.", kernel),
        text("dtype", "Type", "Type of the elements.", dtype),
        number_column("group_size", "Ranks", "count", "Ranks of the group.", ranks.astype(np.int64)),
        text("group", "Group", "Name of the process group.", group),
        text("group_ranks", "Members", "Ranks of the group, as listed in the file.", members, shown=False),
    )


def _bandwidth_columns(size_bytes: Int64, factor: Float64, duration_ns: Int64) -> tuple[Column, ...]:
    algorithm, bus = bandwidths(size_bytes, factor, duration_ns)
    return (
        number_column("algorithm_bytes_per_s", "Algorithm bandwidth", "bytes_per_s", _ALGORITHM, algorithm),
        number_column("bus_bytes_per_s", "Bus bandwidth", "bytes_per_s", _BUS, bus),
    )


def _measured(found: Collectives, duration_ns: Int64, group: Int64, groups: int) -> tuple[Int64, Int64]:
    """Returns the bytes and the time of each group's collectives that tell both; else bytes are MISSING."""
    both = (found.size_bytes != MISSING) & (duration_ns > 0)
    size_bytes = sums_by_key(group[both], found.size_bytes[both], groups)
    timed_ns = sums_by_key(group[both], duration_ns[both], groups)
    return np.where(timed_ns > 0, size_bytes, MISSING), timed_ns


def _notes(found: Collectives, duration_ns: Int64) -> tuple[str, ...]:
    notes = ["The time of a collective includes the wait for its last rank."]
    without = int(np.count_nonzero(found.collective_row == NO_ROW))
    if without:
        what = "1 collective has" if without == 1 else f"{without:,} collectives have"
        notes.append(f"{what} no arguments in the trace: no bytes, no bandwidth.")
    impossible = int(np.count_nonzero(duration_ns <= 0))
    if impossible:
        what = "1 collective has" if impossible == 1 else f"{impossible:,} collectives have"
        notes.append(f"{what} an impossible duration: in no sum.")
    return tuple(notes)
