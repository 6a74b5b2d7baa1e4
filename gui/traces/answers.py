"""What a document is asked, answered. Called in workers: here numba and the analyses are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.errors import DashboardError
from core.files import printable
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable
from core.tables.selection import WHOLE
from core.tables.strings import string_table
from core.tables.trace import DEVICE_KINDS, SliceKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.analyses.index import TraceIndex
    from core.analyses.range_totals import RangeTotals
    from core.analyses.slice_facts import SliceFacts
    from core.analyses.totals import Totals
    from core.tables.columns import Int32, Int64
    from core.tables.selection import Selection
    from core.tables.timeline import CounterLane, TimelineIndex
    from core.tables.trace import Problem, Trace
    from gui.traces.document import TableAsk
    from gui.traces.lanes import TimelineParts

_TURN: Final = np.full(max(SliceKind) + 1, 2, np.int8)
"""When slices of a kind are come to in a search."""
_TURN[[*DEVICE_KINDS]] = 0
_TURN[SliceKind.OP] = 1
_TURN[SliceKind.PYTHON] = 3


@dataclass(frozen=True, slots=True)
class StepRange:
    """One step: its number, rank (None if not known) and times since the trace's start."""

    number: int
    rank: int | None
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """What is known of a whole trace.

    Attributes:
        totals: Its figures.
        clipped_kernel_sum_ns: The kernel sum if kernels that overrun the next ended there; None if none does.
        steps: By start.
        problems: Of the reader and of the analyses.
        outside_ns: Sum of the kernels outside any step.
        devices: How many devices worked; number 0 of two ranks on two hosts are two.
        device_numbers: Their numbers, as the profiler counts them.
    """

    totals: Totals
    clipped_kernel_sum_ns: int | None
    steps: tuple[StepRange, ...]
    problems: tuple[Problem, ...]
    outside_ns: int
    devices: int
    device_numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartFigures:
    """The figures of a selected part, and what it is: "Step 551", "Selected range"."""

    selection: Selection
    title: str
    totals: RangeTotals


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """A trace laid out in time.

    Attributes:
        index: What the timeline draws.
        lane: (slices,) int32, the lane of each slice.
        counters: Curves.
        first_ns, last_ns: What is shown first: all but the row that spans the profiler's own recording.
        group_tracks: Of each group of lanes the rows of ``TrackTable``, ascending.
    """

    index: TimelineIndex
    lane: Int32
    counters: tuple[CounterLane, ...]
    first_ns: int
    last_ns: int
    group_tracks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReadTrace:
    """A trace that has been read.

    Attributes:
        index: Of it.
        tables: (name, title) of each analysis.
        keeps: What makes the next opening of its files quick, to be called when there is time.
        files: It was read from; one for each rank.
        slice_ends: (files,) int64, where the slices of each file end.
    """

    index: TraceIndex
    tables: tuple[tuple[str, str], ...]
    keeps: tuple[Callable[[Callable[[], None]], None], ...]
    files: tuple[Path, ...]
    slice_ends: Int64

    def file_of(self, row: int) -> Path:
        """The file that a slice came from."""
        return self.files[int(np.searchsorted(self.slice_ends, row, side="right"))]


def open_trace(path: Path, files: tuple[Path, ...], report: Callable[[int, int], None]) -> ReadTrace:
    """Reads a trace: a file, the ranks in a folder, or the ranks in several files.

    Args:
        path: The file or folder.
        files: Several files that are one trace; () if ``path`` says it all.
        report: As for ``open_trace_file``.

    Raises:
        DashboardError: One is no trace, or two are of one rank.
    """
    from core.analyses.index import TraceIndex  # noqa: PLC0415
    from core.analyses.merged import merge_ranks  # noqa: PLC0415
    from core.analyses.registry import ANALYSES  # noqa: PLC0415
    from core.readers.trace_set import find_traces, open_traces  # noqa: PLC0415
    from core.readers.worker import open_trace_file  # noqa: PLC0415

    files = files or (tuple(find_traces(path)) if path.is_dir() else (path,))
    opened = open_traces(files, report) if len(files) > 1 else (open_trace_file(files[0], report),)
    trace, slice_ends = opened[0].trace, np.array([len(opened[0].trace.slices)], np.int64)
    if len(files) > 1:
        merged = merge_ranks([each.trace for each in opened])
        trace, slice_ends = merged.trace, merged.slice_ends
    return ReadTrace(
        index=TraceIndex(trace),
        tables=tuple((each.name, each.title) for each in ANALYSES),
        keeps=tuple(each.keep for each in opened if each.keep is not None),
        files=files,
        slice_ends=slice_ends,
    )


def make_table(index: TraceIndex, ask: TableAsk, overview: Overview | None) -> ResultTable:
    """Makes the table that was asked for."""
    from core.analyses.kernels import GroupBy, summarize_kernels  # noqa: PLC0415
    from core.analyses.registry import summarize  # noqa: PLC0415

    if ask.table == "quality":
        return problems_table(() if overview is None else overview.problems)
    if ask.table == "kernels" and ask.group_by:
        return summarize_kernels(index, ask.selection, group_by=GroupBy(ask.group_by))
    return summarize(index, ask.table, ask.selection)


def lay_out(index: TraceIndex) -> TimelineParts:
    """Decides on lanes and colours."""
    from core.analyses.categories import Category  # noqa: PLC0415
    from gui.traces.lanes import timeline_parts  # noqa: PLC0415

    return timeline_parts(index.trace, index.categories, lambda number: Category(number).title)


def build(trace: Trace, parts: TimelineParts) -> Laid:
    """Builds the index of the timeline."""
    from core.analyses.timeline_index import build_timeline  # noqa: PLC0415

    index = build_timeline(parts.slices, parts.lanes, parts.groups)
    slices = trace.slices
    if not len(trace.device_work):
        index = replace(index, overview_busy_ns=_host_busy_ns(trace, parts, index))
    own = (slices.kind != SliceKind.PROFILER) & (slices.duration_ns > 0)
    first_ns, last_ns = index.start_of_all_ns, index.end_of_all_ns
    if own.any():
        start_ns = slices.start_ns[own]
        first_ns = max(first_ns, int(start_ns.min()))
        last_ns = min(last_ns, int((start_ns + slices.duration_ns[own]).max()))
    lane, tracks = parts.slices.lane, _group_tracks(trace, parts)
    return Laid(index, lane, parts.counters, first_ns, max(last_ns, first_ns + 1), tracks)


def _group_tracks(trace: Trace, parts: TimelineParts) -> tuple[tuple[int, ...], ...]:
    """Returns the tracks of each group; all lanes of a track are in one."""
    group = np.full(len(trace.tracks), NO_ROW, np.int64)
    lane_group = np.array([lane.group for lane in parts.lanes], np.int64)
    group[trace.slices.track] = lane_group[parts.slices.lane]
    return tuple(tuple(np.flatnonzero(group == each).tolist()) for each in range(len(parts.groups)))


def _host_busy_ns(trace: Trace, parts: TimelineParts, index: TimelineIndex) -> Int64:
    """Returns (groups, bins) int64: time in which an operator, a call or a collective ran on the host.

    Ranges lie over them in the same lanes: a step is no work, and lasts all the time.
    """
    from core.analyses.alignment import host_collectives_by_rank  # noqa: PLC0415
    from core.analyses.intervals import busy_in_bins, ends_ns, union  # noqa: PLC0415
    from core.analyses.timeline_index import edges_ns  # noqa: PLC0415

    slices = trace.slices
    chosen = np.isin(slices.kind, [int(kind) for kind in (SliceKind.OP, SliceKind.RUNTIME)])
    for collectives in host_collectives_by_rank(trace).values():
        chosen[collectives.slice_row] = True
    group = np.array([lane.group for lane in parts.lanes], np.int64)[parts.slices.lane[chosen]]
    start_ns = slices.start_ns[chosen]
    busy = union(group, start_ns, ends_ns(start_ns, slices.duration_ns[chosen]))
    edges = edges_ns(index.start_of_all_ns, index.end_of_all_ns, index.overview_busy_ns.shape[1])
    found = np.zeros_like(index.overview_busy_ns)
    for number in range(len(parts.groups)):
        found[number] = busy_in_bins(busy.of_key(number), edges)
    return found


def overview_of(index: TraceIndex) -> Overview:
    """Computes the figures of a whole trace, and what makes them doubtful."""
    from core.analyses.quality import find_overruns, judge  # noqa: PLC0415
    from core.analyses.totals import summarize_totals  # noqa: PLC0415

    trace, steps = index.trace, index.steps
    overruns = find_overruns(trace)
    order = np.argsort(steps.start_ns, kind="stable").tolist()
    rows = trace.device_work.slice_row
    outside = rows[(trace.slices.kind[rows] == SliceKind.KERNEL) & (index.step_of_work == NO_ROW)]
    return Overview(
        totals=summarize_totals(index),
        clipped_kernel_sum_ns=overruns.clipped_kernel_sum_ns if len(overruns.rows) else None,
        steps=tuple(
            StepRange(
                int(steps.number[each]),
                None if steps.rank[each] == MISSING else int(steps.rank[each]),
                int(steps.start_ns[each]),
                int(steps.end_ns[each]),
            )
            for each in order
        ),
        problems=(*trace.problems, *judge(index)),
        outside_ns=int(np.maximum(trace.slices.duration_ns[outside], 0).sum()) if len(steps) else 0,
        devices=len(np.unique(trace.tracks.process_id[trace.slices.track[rows]])),
        device_numbers=tuple(
            number for number in np.unique(trace.device_work.device).tolist() if number >= 0
        ),
    )


def part_figures(index: TraceIndex, selection: Selection) -> PartFigures:
    """Computes the figures of a part of a trace."""
    from core.analyses.range_totals import summarize_range  # noqa: PLC0415

    return PartFigures(selection, _part_title(index, selection), summarize_range(index, selection))


def _part_title(index: TraceIndex, selection: Selection) -> str:
    if selection.tracks is None:
        return _time_title(index, selection)
    place = _place_title(index.trace, selection.tracks)
    title = _time_title(index, selection)
    return place if selection.times == WHOLE else f"{place}, {title[:1].lower()}{title[1:]}"


def _place_title(trace: Trace, tracks: tuple[int, ...]) -> str:
    """Names some tracks by their rank, else by their process."""
    ranks = np.unique(trace.tracks.rank[list(tracks)]).tolist()
    if len(ranks) == 1 and ranks[0] != MISSING:
        return f"Rank {ranks[0]}"
    return f"Process {printable(trace.strings[int(trace.tracks.process_id[tracks[0]])])}"


def _time_title(index: TraceIndex, selection: Selection) -> str:
    steps = index.steps
    if not len(steps):
        return "Selected range"
    same = (steps.start_ns == selection.start_ns) & (steps.end_ns == selection.end_ns)
    found = np.unique(steps.number[same])
    if len(found) == 1:
        return f"Step {int(found[0])}"
    if (selection.start_ns, selection.end_ns) == (int(steps.start_ns.min()), int(steps.end_ns.max())):
        return "All steps"
    return "Selected range"


def problems_table(problems: tuple[Problem, ...]) -> ResultTable:
    """Lists what was skipped, repaired or is doubtful; the rows are made of the slices they are about."""
    members = [np.array(problem.rows, np.int32) for problem in problems]
    return ResultTable(
        name="quality",
        title="Notes on the data",
        columns=(
            _texts("name", "What", [problem.message for problem in problems], "What was found, in words."),
            Column(
                key="count",
                title="Count",
                unit="count",
                help="How often it occurs.",
                values=np.array([problem.count for problem in problems], np.int64),
            ),
            _texts(
                "places", "Where", [", ".join(p.places) for p in problems], "The first places in the file."
            ),
            _texts("code", "Code", [p.code for p in problems], "Its name for programs."),
        ),
        empty="Nothing was skipped, repaired or found doubtful: the figures hold what the file says.",
        members=np.concatenate([*members, np.empty(0, np.int32)]),
        member_ends=np.cumsum([len(each) for each in members], dtype=np.int64),
    )


def _texts(key: str, title: str, texts: list[str], explained: str) -> Column:
    ids: dict[str, int] = {}
    values = np.array([ids.setdefault(text, len(ids)) for text in texts], np.int32)
    return Column(key=key, title=title, unit="", help=explained, values=values, texts=string_table(ids))


def describe(index: TraceIndex, row: int) -> SliceFacts:
    """Gathers what the tables know of a slice."""
    from core.analyses.slice_facts import describe_slice  # noqa: PLC0415

    return describe_slice(index, row)


def read_arguments(path: Path, facts: SliceFacts, check: Callable[[], None]) -> tuple[tuple[str, str], ...]:
    """Reads all arguments of a slice from the file.

    Raises:
        DashboardError: The file cannot be read, or has changed.
    """
    from core.readers.torch_trace.event_text import argument_texts, read_event  # noqa: PLC0415

    event: dict[str, Any] = read_event(path, facts.source_offset, check)
    if not isinstance(event.get("name", ""), str | int | float):
        raise DashboardError("The event has no name any more.", "Open the file again.")
    return tuple(argument_texts(event))


def search(trace: Trace, words: str, check: Callable[[], None]) -> Int32:
    """Returns (n,) int32: rows of slices whose name holds all words.

    Device work stands first, then operators, then the rest of the host, Python
    frames last; in each by start.
    """
    wanted = words.casefold().split()
    used = np.unique(trace.slices.name_id)
    check()
    hits = [i for i in used.tolist() if all(word in trace.strings[i].casefold() for word in wanted)]
    check()
    rows = np.flatnonzero(np.isin(trace.slices.name_id, hits)) if wanted else np.empty(0, np.int64)
    check()
    order = np.lexsort((trace.slices.start_ns[rows], _TURN[trace.slices.kind[rows]]))
    return rows[order].astype(np.int32)


def longest_named(trace: Trace, name: str) -> int | None:
    """Returns the row of the longest device work of a name, None if there is none."""
    rows = trace.device_work.slice_row
    rows = rows[trace.slices.name_id[rows] == trace.strings.find(name)]
    return int(rows[int(np.argmax(trace.slices.duration_ns[rows]))]) if len(rows) else None


def short(name: str, *, is_work: bool) -> str:
    """Returns a name as lanes show it: of a kernel what tells it apart, on one line."""
    from core.analyses.kernel_names import short_name  # noqa: PLC0415

    return printable(short_name(name) if is_work else name[:200])
