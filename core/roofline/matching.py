"""Where a trace and a report meet: kernels of the one matched to profiled launches of the other.

A kernel is its name, its grid and its block; the same kernel on another size of
data is another row, since its counters are others. What is not found is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column, text_column
from core.analyses.grouping import dense_pairs, pick_members, times_by_group
from core.analyses.intervals import exact_sum, sums_by_key
from core.analyses.kernels import KERNELS_ONLY, choose_work, why_no_kernels
from core.analyses.work import chosen_kernels, totals_by_group
from core.roofline.kernel_spelling import same_kernels
from core.roofline.measured import measured_points
from core.tables.columns import MISSING, NO_ROW, Float64, Int32, Int64, Uint8, freeze_columns
from core.tables.ncu_terms import DRAM_BYTES_PER_S, MEMORY_PCT, SM_PCT
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection
from core.units import format_count, format_pct, format_shape

if TYPE_CHECKING:
    from core.analyses.grouping import GroupTimes
    from core.analyses.index import TraceIndex
    from core.tables.ncu import Report
    from core.tables.result import Column


class MatchKind(IntEnum):
    """How a kernel of a trace was found in a report, or why it was not."""

    ABSENT = 0
    OTHER_SIZE = 1
    NAME = 2
    NAME_AND_SIZE = 3

    @property
    def words(self) -> str:
        """As the table shows it."""
        return _WORDS[self]


_WORDS: Final = {
    MatchKind.ABSENT: "not in the report",
    MatchKind.OTHER_SIZE: "in the report with another grid or block only",
    MatchKind.NAME: "by name; a grid or block is not recorded",
    MatchKind.NAME_AND_SIZE: "by name, grid and block",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelMatches:
    """Kernels of a trace by name, grid and block, and the launches of a report that are the same.

    Attributes:
        places: (k,) int64 rows of ``DeviceTable`` that the kernels were made of.
        kernel: (k,) int64, which kernel each is.
        first: (kernels,) int64, row of ``DeviceTable`` of the first call of each kernel.
        how: (kernels,) uint8, ``MatchKind``.
        launch_row: (m,) int32, rows of ``LaunchTable``, all kernels one after the other.
        launch_ends: (kernels,) int64, where those of each kernel end.
        unmatched_launches: How many launches of the report match no kernel.
    """

    places: Int64
    kernel: Int64
    first: Int64
    how: Uint8
    launch_row: Int32
    launch_ends: Int64
    unmatched_launches: int

    def __post_init__(self) -> None:
        freeze_columns(self, {"places": np.int64, "kernel": np.int64})
        freeze_columns(self, {"first": np.int64, "how": np.uint8, "launch_ends": np.int64})
        freeze_columns(self, {"launch_row": np.int32})

    def __len__(self) -> int:
        return len(self.first)

    def launches_of(self, kernel: int) -> Int32:
        """Returns the rows of ``LaunchTable`` that match a kernel."""
        start = int(self.launch_ends[kernel - 1]) if kernel else 0
        return self.launch_row[start : int(self.launch_ends[kernel])]

    def launches_of_work(self, place: int) -> Int32:
        """Returns those that match one piece of device work, by its row of ``DeviceTable``."""
        at = int(np.searchsorted(self.places, place))
        if at == len(self.places) or self.places[at] != place:
            return self.launch_row[:0]
        return self.launches_of(int(self.kernel[at]))


def match_kernels(index: TraceIndex, report: Report, selection: Selection = WHOLE) -> KernelMatches:
    """Matches the kernels of a trace to the launches of a report.

    Args:
        index: The trace.
        report: Of the same program, or of one of its kernels.
        selection: Kernels that start in it.
    """
    places = choose_work(index, selection, KERNELS_ONLY)
    kernel, first = _kernels(index, places)
    by_name = _launches_by_name(index, report, first)
    launches = report.launches
    work = index.trace.device_work
    how = np.zeros(len(first), np.uint8)
    found: list[Int64] = []
    for row, (place, candidates) in enumerate(zip(first.tolist(), by_name, strict=True)):
        size = np.concatenate((work.grid[place], work.block[place]))
        sizes = np.concatenate((launches.grid[candidates], launches.block[candidates]), axis=1)
        unknown = (sizes == MISSING) | (size == MISSING)
        fits = ((sizes == size) | unknown).all(axis=1)
        how[row] = _how(len(candidates), fits, unknown)
        found.append(candidates[fits])
    used = np.concatenate([np.empty(0, np.int64), *found])
    return KernelMatches(
        places=places,
        kernel=kernel,
        first=first,
        how=how,
        launch_row=used.astype(np.int32),
        launch_ends=np.cumsum([len(each) for each in found], dtype=np.int64),
        unmatched_launches=len(launches) - len(np.unique(used)),
    )


def _how(candidates: int, fits: np.ndarray, unknown: np.ndarray) -> MatchKind:
    if not candidates:
        return MatchKind.ABSENT
    if not fits.any():
        return MatchKind.OTHER_SIZE
    return MatchKind.NAME if unknown[fits].any() else MatchKind.NAME_AND_SIZE


def _kernels(index: TraceIndex, places: Int64) -> tuple[Int64, Int64]:
    """Return which kernel each piece of work is, by name, grid and block, and the first call of each."""
    trace, work = index.trace, index.trace.device_work
    kernel = trace.slices.name_id[work.slice_row[places]].astype(np.int64)
    for side in range(3):
        kernel = dense_pairs(kernel, work.grid[places, side])
        kernel = dense_pairs(kernel, work.block[places, side])
    _, first = np.unique(kernel, return_index=True)
    return kernel, places[first]


def _launches_by_name(index: TraceIndex, report: Report, first: Int64) -> list[Int64]:
    """Return, for each kernel, the launches of the report that have its name, however spelled."""
    trace = index.trace
    name_id = trace.slices.name_id[trace.device_work.slice_row[first]]
    mine = {text_id: trace.strings[text_id] for text_id in np.unique(name_id).tolist()}
    rows_of: dict[str, list[int]] = {}
    for ids in (report.launches.name_id, report.launches.mangled_name_id):
        for row in np.flatnonzero(ids != NO_ROW).tolist():
            rows_of.setdefault(report.strings[int(ids[row])], []).append(row)
    others = same_kernels(list(mine.values()), rows_of)
    found = {
        text_id: np.array(sorted({row for name in names for row in rows_of[name]}), np.int64)
        for text_id, names in zip(mine, others, strict=True)
    }
    return [found[text_id] for text_id in name_id.tolist()]


def summarize_matches(index: TraceIndex, report: Report, selection: Selection = WHOLE) -> ResultTable:
    """Joins the counters of a report to the kernels of a trace, the largest sum first.

    Args:
        index: The trace.
        report: Of the same program, or of one of its kernels.
        selection: Kernels that start in it.
    """
    matches = match_kernels(index, report, selection)
    rows = index.trace.device_work.slice_row[matches.places]
    times = times_by_group(matches.kernel, len(matches), index.trace.slices.duration_ns[rows])
    shown = np.argsort(-times.sum_ns, kind="stable")
    members, member_ends = pick_members(rows, times, shown)
    return ResultTable(
        name="matches",
        title="Measured kernels",
        columns=(
            *_kernel_columns(index, matches.first[shown]),
            *_time_columns(times, shown),
            *counter_columns(report, matches, shown),
            *_model_columns(index, matches, selection, shown),
            own_text_column(
                "match",
                "Match",
                "How it was found in the report.",
                [MatchKind(each).words for each in matches.how[shown].tolist()],
            ),
        ),
        notes=_notes(index, report, matches, times),
        empty="" if len(matches) else why_no_kernels(index),
        members=members,
        member_ends=member_ends,
        sorted_by="sum_ns",
    )


def _kernel_columns(index: TraceIndex, places: Int64) -> tuple[Column, ...]:
    trace, work = index.trace, index.trace.device_work
    name_id = trace.slices.name_id[work.slice_row[places]]
    short, texts = index.short_names
    sizes = [
        [None if MISSING in sides else format_shape(sides) for sides in column[places].tolist()]
        for column in (work.grid, work.block)
    ]
    return (
        text_column("name", "Kernel", "Short name of the kernel.", short[places], texts),
        text_column(
            "full_name",
            "Full name",
            "Name as it stands in the trace.",
            name_id.astype(np.int32),
            trace.strings,
            shown=False,
        ),
        own_text_column("grid", "Grid", "Blocks in x, y and z.", sizes[0]),
        own_text_column("block", "Block", "Threads of a block in x, y and z.", sizes[1]),
    )


def _time_columns(times: GroupTimes, shown: Int64) -> tuple[Column, ...]:
    return (
        number_column("calls", "Calls", "count", "In the trace.", times.calls[shown]),
        number_column("sum_ns", "Sum", "ns", "Durations in the trace added up.", times.sum_ns[shown]),
        number_column("mean_ns", "Mean", "ns", "Mean duration in the trace.", times.mean_ns[shown]),
    )


def counter_columns(report: Report, matches: KernelMatches, shown: Int64) -> tuple[Column, ...]:
    """Returns what the launches that match each of some kernels were counted to do.

    Args:
        report: Of the launches.
        matches: Of the kernels.
        shown: (n,) which of them, in the order wanted.
    """
    launches = [matches.launches_of(kernel) for kernel in shown.tolist()]
    counted = np.array([len(each) for each in launches], np.int64)
    duration_ns = report.launches.duration_ns.astype(np.float64)
    duration_ns[report.launches.duration_ns == MISSING] = np.nan
    points = measured_points(report)
    flop_per_s = points.flop / np.where(duration_ns > 0, duration_ns, np.nan) * 1e9
    of_launches = "mean of the launches in the report."
    return (
        number_column("launches", "Profiled", "count", "Launches of the report that match.", counted),
        number_column(
            "profiled_ns",
            "Profiled mean",
            "ns",
            "Duration in the report, where clocks are locked to the base clock unless told otherwise.",
            _means(duration_ns, launches),
        ),
        number_column(
            "sm_pct",
            "SM",
            "pct",
            f"SM throughput of its peak, {of_launches}",
            _means(report.column(SM_PCT), launches),
        ),
        number_column(
            "memory_pct",
            "Memory",
            "pct",
            f"Memory throughput of its peak, {of_launches}",
            _means(report.column(MEMORY_PCT), launches),
        ),
        number_column(
            "dram_bytes_per_s",
            "DRAM",
            "bytes_per_s",
            f"Bytes read from and written to DRAM a second, {of_launches}",
            _means(report.column(DRAM_BYTES_PER_S), launches),
        ),
        number_column(
            "flop_per_s",
            "FLOP/s",
            "flop_per_s",
            f"Operations of its main type a second, counted, {of_launches}",
            _means(flop_per_s, launches),
        ),
    )


def _model_columns(
    index: TraceIndex, matches: KernelMatches, selection: Selection, shown: Int64
) -> tuple[Column, ...]:
    """Return what the shapes of operators say, beside what counters do."""
    work = index.kernel_work
    chosen = chosen_kernels(index, selection)
    duration_ns = index.trace.slices.duration_ns[index.trace.device_work.slice_row[work.place[chosen]]]
    modelled = (work.work_row[chosen] != NO_ROW) & (duration_ns > 0)
    # Both list the kernels that start in the selection, in the order of the file.
    group = matches.kernel[modelled]
    totals = totals_by_group(work, chosen[modelled], group)
    sum_ns = sums_by_key(group, duration_ns[modelled], len(matches))
    flop_per_s, bytes_per_s = np.full(len(matches), np.nan), np.full(len(matches), np.nan)
    for kernel, total in totals.items():
        flop_per_s[kernel] = _rate(total.flop, int(sum_ns[kernel]))
        bytes_per_s[kernel] = _rate(total.moved_bytes, int(sum_ns[kernel]))
    return (
        number_column(
            "modelled_flop_per_s",
            "FLOP/s, modelled",
            "flop_per_s",
            "Operations that the shapes of its operator need, over its time in the trace.",
            flop_per_s[shown],
        ),
        number_column(
            "modelled_bytes_per_s",
            "Bytes/s, modelled",
            "bytes_per_s",
            "The least bytes that its operator must move, over its time in the trace.",
            bytes_per_s[shown],
        ),
    )


def _rate(amount: int | None, time_ns: int) -> float:
    return np.nan if amount is None or time_ns <= 0 else amount / time_ns * 1e9


def _means(values: Float64, launches: list[Int32]) -> Float64:
    """Return the mean of the values of each list of launches that were measured, NaN where none was."""
    means = np.full(len(launches), np.nan)
    for row, chosen in enumerate(launches):
        known = values[chosen][~np.isnan(values[chosen])]
        if len(known):
            means[row] = known.mean()
    return means


def _notes(index: TraceIndex, report: Report, matches: KernelMatches, times: GroupTimes) -> tuple[str, ...]:
    total_ns = exact_sum(times.sum_ns)
    is_found = matches.how >= MatchKind.NAME
    found, count = int(np.count_nonzero(is_found)), len(matches)
    share = ""
    if total_ns:
        share = f" ({format_pct(100 * exact_sum(times.sum_ns[is_found]) / total_ns)} of kernel time)"
    notes = [f"In the report: {format_count(found)} of {_counted(count)}{share}."]
    if other_size := int(np.count_nonzero(matches.how == MatchKind.OTHER_SIZE)):
        notes.append(f"With another grid or block only: {_counted(other_size)}.")
    if matches.unmatched_launches:
        of = f"{format_count(matches.unmatched_launches)} of {format_count(len(report.launches))}"
        notes.append(f"Launches of the report that are not in the trace: {of}.")
    return (*notes, *_devices_note(index, report))


def _counted(count: int) -> str:
    return "1 kernel" if count == 1 else f"{format_count(count)} kernels"


def _devices_note(index: TraceIndex, report: Report) -> tuple[str, ...]:
    mine = {device.name for device in index.trace.facts.devices if device.name}
    theirs = {device.name for device in report.devices if device.name}
    if not mine or not theirs or mine & theirs:
        return ()
    return (
        f"Other devices: {', '.join(sorted(mine))} in the trace, {', '.join(sorted(theirs))} in the report.",
    )
