"""How much of each device's communication its own computing hides, in whole and step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.categories import Category
from core.analyses.communication import why_no_communication
from core.analyses.intervals import IntervalSet, cut_to_windows, ends_ns, intersect, union
from core.analyses.step_ranges import threads_of_work
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Int64
    from core.tables.result import Column


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Times of one device in the selection or in some steps. All (n,) int64, a row for each part."""

    labels: tuple[str, ...]
    computing_ns: Int64
    communicating_ns: Int64
    hidden_ns: Int64


def summarize_overlap(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes for each device that communicates a row for all selected work, and one a step.

    A device is a process id of the file. Steps are those that begin in the
    selection; their rows hold what ran during the step, whichever step launched it.
    """
    trace = index.trace
    rows = trace.device_work.slice_row
    kernel = (trace.slices.kind[rows] == SliceKind.KERNEL) & (trace.slices.duration_ns[rows] > 0)
    selected = kernel & selection.mask(trace.slices)[rows]
    process = trace.tracks.process_id[trace.slices.track[rows]]
    devices: list[str] = []
    parts: list[_Part] = []
    for device in np.unique(process[selected & (index.categories == Category.COMMUNICATION)]).tolist():
        on_device = process == device
        for part in (
            _selected_part(index, selected & on_device),
            _step_parts(index, kernel & on_device, selection),
        ):
            devices += [trace.strings[device]] * len(part.labels)
            parts.append(part)
    columns = _columns(devices, parts) if parts else ()
    empty = "" if parts else why_no_communication(index, selection)
    return ResultTable(name="overlap", title="Overlap", columns=columns, empty=empty)


def _selected_part(index: TraceIndex, chosen: Bool) -> _Part:
    computing, communicating = _lines(index, chosen)
    hidden = intersect(computing, communicating)
    return _Part(("all",), *(each.lengths_ns(1) for each in (computing, communicating, hidden)))


def _step_parts(index: TraceIndex, chosen: Bool, selection: Selection) -> _Part:
    """Cuts the device's time at the steps of the threads that its work answers to."""
    steps = index.steps
    if not len(steps):
        nothing = np.zeros(0, np.int64)
        return _Part((), nothing, nothing, nothing)
    answering = np.unique(threads_of_work(index.trace, steps, index.links.launch_row)[chosen])
    tracks = [steps.threads()[place][0] for place in answering.tolist()]
    listed = np.isin(steps.track, tracks) & selection.mask(index.trace.slices)[steps.slice_row]
    start_ns, end_ns = steps.start_ns[listed], steps.end_ns[listed]
    window = np.arange(len(start_ns))
    computing, communicating = (
        cut_to_windows(line, window, start_ns, end_ns) for line in _lines(index, chosen)
    )
    hidden = intersect(computing, communicating)
    labels = tuple(f"step {number}" for number in steps.number[listed].tolist())
    return _Part(labels, *(each.lengths_ns(len(labels)) for each in (computing, communicating, hidden)))


def _lines(index: TraceIndex, chosen: Bool) -> tuple[IntervalSet, IntervalSet]:
    """Returns when chosen kernels compute and when they communicate, under key 0."""
    slices, rows = index.trace.slices, index.trace.device_work.slice_row
    communicates = index.categories == Category.COMMUNICATION
    found = []
    for wanted in (~communicates, communicates):
        picked = rows[chosen & wanted]
        start_ns = slices.start_ns[picked]
        end_ns = ends_ns(start_ns, slices.duration_ns[picked])
        found.append(union(np.zeros(len(picked), np.int64), start_ns, end_ns))
    return found[0], found[1]


def _columns(devices: list[str], parts: list[_Part]) -> tuple[Column, ...]:
    communicating_ns = np.concatenate([part.communicating_ns for part in parts])
    hidden_ns = np.concatenate([part.hidden_ns for part in parts])
    share_pct = np.full(len(hidden_ns), np.nan)
    np.divide(100.0 * hidden_ns, communicating_ns, out=share_pct, where=communicating_ns > 0)
    return (
        own_text_column("device", "Device", "Process of the file that stands for the device.", devices),
        own_text_column(
            "part",
            "Part",
            "All selected work, or what ran during one step.",
            [label for part in parts for label in part.labels],
        ),
        number_column(
            "communication_ns",
            "Communication",
            "ns",
            "Time in which at least one collective ran.",
            communicating_ns,
        ),
        number_column(
            "compute_ns",
            "Compute",
            "ns",
            "Time in which at least one kernel ran that is no communication.",
            np.concatenate([part.computing_ns for part in parts]),
        ),
        number_column("hidden_ns", "Hidden", "ns", "Time in which both ran.", hidden_ns),
        number_column(
            "exposed_ns",
            "Exposed",
            "ns",
            "Time in which a collective ran and nothing computed.",
            communicating_ns - hidden_ns,
        ),
        number_column("hidden_pct", "Hidden share", "pct", "Hidden by communication time.", share_pct),
    )
