"""The kernels of a trace: grouped by what they have in common, and launch by launch.

A time that is negative or missing is counted as a kernel and is in no sum. One
that overruns the next kernel of its stream is doubtful and stays in the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.answer_columns import impossible_column, number_column, own_text_column, text_column
from core.analyses.categories import Category
from core.analyses.grouping import dense_ids, dense_pairs, means_by_group, pick_members, times_by_group
from core.analyses.intervals import exact_sum
from core.analyses.kernel_names import short_name
from core.analyses.links import LinkKind
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection
from core.tables.trace import SliceKind
from core.units import format_duration_ns

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.analyses.grouping import GroupTimes
    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Int32, Int64
    from core.tables.result import Column

CATEGORY_TITLES: Final = tuple(category.title for category in Category)
KERNELS_ONLY: Final = (SliceKind.KERNEL,)


class GroupBy(StrEnum):
    """What kernels of one row have in common."""

    NAME = "name"
    SHORT_NAME = "short_name"
    CATEGORY = "category"
    OP = "op"
    MODULE = "module"
    STREAM = "stream"
    DEVICE = "device"
    STEP = "step"

    @property
    def heading(self) -> str:
        """Head of the first column."""
        return _TITLES[self]


_TITLES: Final = {
    GroupBy.NAME: "Kernel",
    GroupBy.SHORT_NAME: "Kernel",
    GroupBy.CATEGORY: "Category",
    GroupBy.OP: "Operator",
    GroupBy.MODULE: "Module",
    GroupBy.STREAM: "Stream",
    GroupBy.DEVICE: "Device",
    GroupBy.STEP: "Step",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Which group each chosen piece of device work is in, and what the groups are called.

    ``of_row`` is (m,) int64; ``names`` and ``full_names`` have one text a group.
    """

    of_row: Int64
    names: list[str]
    full_names: list[str] | None = None


def summarize_kernels(
    index: TraceIndex,
    selection: Selection = WHOLE,
    *,
    group_by: GroupBy = GroupBy.NAME,
    categories: Collection[Category] | None = None,
    kinds: Collection[SliceKind] = KERNELS_ONLY,
) -> ResultTable:
    """Sums kernels up by what they have in common, the largest sum first.

    Args:
        index: The trace.
        selection: Kernels that start in it.
        group_by: What makes a row.
        categories: Only these; None for all.
        kinds: Kinds of device work that count: kernels, or copies and sets too.
    """
    asked = choose_work(index, selection, kinds)
    places = (
        asked if categories is None else asked[np.isin(index.categories[asked], list(map(int, categories)))]
    )
    groups = _groups(index, places, group_by)
    rows = index.trace.device_work.slice_row[places]
    times = times_by_group(groups.of_row, len(groups.names), index.trace.slices.duration_ns[rows])
    names = np.array(groups.names, object)
    shown = np.lexsort((names, -times.sum_ns)) if len(names) else np.empty(0, np.int64)
    asked_ns = index.trace.slices.duration_ns[index.trace.device_work.slice_row[asked]]
    members, member_ends = pick_members(rows, times, shown)
    return ResultTable(
        name="kernels",
        title="Kernels",
        columns=(
            *_name_columns(groups, group_by, shown),
            _category_column(index, places, groups, shown),
            *_time_columns(times, shown, exact_sum(np.maximum(asked_ns, 0))),
            _delay_column(index, places, groups, shown),
        ),
        notes=linking_notes(index, places),
        empty="" if len(places) else why_no_kernels(index),
        members=members,
        member_ends=member_ends,
        sorted_by="sum_ns",
    )


def choose_work(index: TraceIndex, selection: Selection, kinds: Collection[SliceKind]) -> Int64:
    """Returns the rows of ``DeviceTable`` of some kinds that start in the selection."""
    trace = index.trace
    rows = trace.device_work.slice_row
    chosen: Bool = np.isin(trace.slices.kind[rows], list(map(int, kinds)))
    if selection != WHOLE:
        chosen &= selection.mask(trace.slices)[rows]
    return np.flatnonzero(chosen)


def _groups(index: TraceIndex, places: Int64, group_by: GroupBy) -> _Groups:
    trace = index.trace
    if group_by in (GroupBy.NAME, GroupBy.SHORT_NAME):
        return _groups_by_name(index, places, merged=group_by is GroupBy.SHORT_NAME)
    if group_by is GroupBy.CATEGORY:
        found, of_row = dense_ids(index.categories[places])
        return _Groups(of_row, [CATEGORY_TITLES[each] for each in found.tolist()])
    if group_by is GroupBy.OP:
        op_row = index.links.op_row[places]
        name_id = np.where(op_row == NO_ROW, NO_ROW, trace.slices.name_id[op_row])
        return _groups_by_text(name_id, trace.strings, "No operator known")
    if group_by is GroupBy.MODULE:
        module, names = index.module_of_work
        return _groups_by_text(module[places], names, "No module known")
    return _groups_by_place(index, places, group_by)


def _groups_by_place(index: TraceIndex, places: Int64, group_by: GroupBy) -> _Groups:
    """By where the kernels ran: step, device or stream."""
    work = index.trace.device_work
    if group_by is GroupBy.STEP:
        step = index.step_of_work[places]
        number = np.where(step == NO_ROW, MISSING, index.steps.number[step] if len(index.steps) else MISSING)
        return _groups_by_number(number, "Step {}", "Outside any step")
    rank = index.trace.tracks.rank[index.trace.slices.track[work.slice_row[places]]]
    stream = work.stream[places] if group_by is GroupBy.STREAM else None
    return _groups_by_device(rank, work.device[places], stream)


def _groups_by_name(index: TraceIndex, places: Int64, *, merged: bool) -> _Groups:
    trace = index.trace
    found, of_row = dense_ids(trace.slices.name_id[trace.device_work.slice_row[places]])
    full = [trace.strings[text_id] for text_id in found.tolist()]
    if not merged:
        return _Groups(of_row, [index.short_name_of[name] for name in full], full)
    ids: dict[str, int] = {}
    moved = np.array([ids.setdefault(short_name(text), len(ids)) for text in full], np.int64)
    return _Groups(moved[of_row], list(ids))


def _groups_by_text(text_id: Int32, texts: Any, unknown: str) -> _Groups:
    found, of_row = dense_ids(text_id)
    return _Groups(of_row, [unknown if each == NO_ROW else texts[each] for each in found.tolist()])


def _groups_by_number(number: Int64, sentence: str, unknown: str) -> _Groups:
    found, of_row = dense_ids(number)
    return _Groups(of_row, [unknown if each == MISSING else sentence.format(each) for each in found.tolist()])


def _groups_by_device(rank: Int64, device: Int64, stream: Int64 | None) -> _Groups:
    """By device, or by stream if there are some; each rank may count its devices from 0."""
    of_row = dense_pairs(rank, device)
    if stream is not None:
        of_row = dense_pairs(of_row, stream)
    _, first = np.unique(of_row, return_index=True)
    parts = [("device", device)]
    if (rank != rank[:1]).any():
        parts.insert(0, ("rank", rank))
    if stream is not None:
        parts.append(("stream", stream))
    texts = [
        ", ".join(_numbered(what, int(numbers[row])) for what, numbers in parts) for row in first.tolist()
    ]
    return _Groups(of_row, [text[:1].upper() + text[1:] for text in texts])


def _numbered(what: str, number: int) -> str:
    return f"{what} not named" if number == MISSING else f"{what} {number}"


def _name_columns(groups: _Groups, group_by: GroupBy, shown: Int64) -> tuple[Column, ...]:
    names = [groups.names[each] for each in shown.tolist()]
    if groups.full_names is None:
        return (
            own_text_column("name", group_by.heading, "What the kernels of a row have in common.", names),
        )
    full = [groups.full_names[each] for each in shown.tolist()]
    return (
        own_text_column("name", group_by.heading, "Short name; names that differ stay different.", names),
        own_text_column("full_name", "Full name", "Name as it stands in the trace.", full, shown=False),
    )


def _category_column(index: TraceIndex, places: Int64, groups: _Groups, shown: Int64) -> Column:
    """The category that all kernels of a row have."""
    category = index.categories[places].astype(np.int32)
    several = len(CATEGORY_TITLES)
    lowest = np.full(len(groups.names), several, np.int32)
    highest = np.zeros(len(groups.names), np.int32)
    np.minimum.at(lowest, groups.of_row, category)
    np.maximum.at(highest, groups.of_row, category)
    found = np.where(lowest == highest, lowest, several).astype(np.int32)[shown]
    explained = "Kind of work, told from the kernel's name."
    return text_column("category", "Category", explained, found, (*CATEGORY_TITLES, "Several"))


def _time_columns(times: GroupTimes, shown: Int64, everything_ns: int) -> tuple[Column, ...]:
    sum_ns = times.sum_ns[shown]
    share = np.full(len(shown), np.nan)
    if everything_ns:
        share = sum_ns * (100 / everything_ns)
    rank = "by nearest rank: a duration that occurs."
    return (
        number_column(
            "calls", "Calls", "count", "All, also those with an impossible time.", times.calls[shown]
        ),
        number_column("sum_ns", "Sum", "ns", "Durations added up, also where kernels overlap.", sum_ns),
        number_column(
            "share_pct", "Share of sum", "pct", "Of the summed time of all in the selection.", share
        ),
        number_column("mean_ns", "Mean", "ns", "Over the calls with a possible time.", times.mean_ns[shown]),
        number_column("min_ns", "Min", "ns", "Shortest duration.", times.min_ns[shown], shown=False),
        number_column("max_ns", "Max", "ns", "Longest duration.", times.max_ns[shown], shown=False),
        number_column("p50_ns", "p50", "ns", f"Half are no longer, {rank}", times.p50_ns[shown], shown=False),
        number_column("p99_ns", "p99", "ns", f"99 of 100 are no longer, {rank}", times.p99_ns[shown]),
        impossible_column(times.impossible[shown]),
    )


def _delay_column(index: TraceIndex, places: Int64, groups: _Groups, shown: Int64) -> Column:
    delays = means_by_group(groups.of_row, len(groups.names), index.links.launch_delay_ns[places])
    return number_column(
        "launch_delay_mean_ns",
        "Mean launch delay",
        "ns",
        "From the begin of the launching call to the begin of the kernel, where both are known.",
        delays[shown],
        shown=False,
    )


def why_no_kernels(index: TraceIndex) -> str:
    """Returns what to say where a table of kernels has no rows (cases T35, and traces of the CPU alone)."""
    kinds = index.trace.slices.kind
    counts = {kind: int(np.count_nonzero(kinds == kind)) for kind in SliceKind}
    if counts[SliceKind.KERNEL]:
        return "No kernels in the selected part of this trace."
    others = [
        f"{_counted(counts[kind], word)} ({_summed(index, kind)})"
        for kind, word in ((SliceKind.MEMCPY, "copy"), (SliceKind.MEMSET, "set"))
        if counts[kind]
    ]
    if others:
        return f"No kernels; {' and '.join(others)}."
    if counts[SliceKind.RUNTIME]:
        calls = _counted(counts[SliceKind.RUNTIME], "call")
        return f"No kernels in this trace, though it holds {calls} into the GPU's runtime."
    if counts[SliceKind.OP]:
        return (
            "This trace was recorded on the CPU only: it holds operators, no kernels. "
            "The Operators table shows what ran."
        )
    return "No kernels in this trace."


def _counted(count: int, word: str) -> str:
    plural = "copies" if word == "copy" else f"{word}s"
    return f"1 {word}" if count == 1 else f"{count:,} {plural}"


def _summed(index: TraceIndex, kind: SliceKind) -> str:
    slices = index.trace.slices
    return format_duration_ns(exact_sum(np.maximum(slices.duration_ns[slices.kind == kind], 0)))


def linking_notes(index: TraceIndex, places: Int64) -> tuple[str, ...]:
    """Returns what limits a table of kernels, for people.

    Args:
        index: The trace.
        places: (m,) rows of ``DeviceTable`` that the table is about.
    """
    notes = []
    durations = index.trace.slices.duration_ns[index.trace.device_work.slice_row[places]]
    impossible = int(np.count_nonzero(durations < 0))
    if impossible:
        notes.append(f"{_kernels(impossible)} with an impossible time, in no sum.")
    how = index.links.how[places[index.links.op_row[places] == NO_ROW]]
    unlinked = int(np.count_nonzero(how == LinkKind.NONE))
    if unlinked:
        notes.append(f"{_kernels(unlinked)} of unknown launch.")
    if len(how) > unlinked:
        notes.append(f"{_kernels(len(how) - unlinked)} launched outside any operator.")
    skewed = int(np.count_nonzero(index.links.clock_skew_ns[places] != MISSING))
    if skewed:
        notes.append(f"{_kernels(skewed)} with a start before the launch (clock skew), in no launch delay.")
    return tuple(notes)


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count:,} kernels"
