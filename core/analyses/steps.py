"""The table of training steps: how long each took, what ran on the device, and what the device waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.intervals import counts_by_key, sums_by_key
from core.analyses.step_time import split_steps
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable
from core.tables.selection import WHOLE
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.analyses.step_ranges import Steps
    from core.analyses.step_time import StepTime
    from core.tables.columns import Int32, Int64
    from core.tables.selection import Selection
    from core.tables.trace import Trace

NO_STEPS: Final = (
    "The trace marks no steps (ProfilerStep#N). Call step() of torch.profiler.profile after each step."
)


_ORDER: Final = (
    "step",
    "rank",
    "duration_ns",
    "compute_ns",
    "communication_exposed_ns",
    "copy_ns",
    "idle_launch_ns",
    "idle_data_ns",
    "idle_sync_ns",
    "idle_other_ns",
    "communication_hidden_ns",
    "busy_ns",
    "kernels",
    "kernel_sum_ns",
    "start_ns",
    "thread",
)
"""What a step's time went to stands first, in parts that add up to it."""

_WITHOUT_WORK: Final = ("step", "rank", "duration_ns")
"""What is to be seen of the steps of a trace without device work."""
_OF_EVERY_TRACE: Final = (*_WITHOUT_WORK, "kernels", "start_ns", "thread")
"""What is known of such steps: of time on a device nothing is, so it is missing and not zero."""
_OF_COLLECTIVES: Final = ("communication_exposed_ns", "communication_hidden_ns")


def summarize_steps(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes a row for each step of each thread that marks steps.

    Kernels, their sum and the members belong to the step that launched them. The
    parts of the time are those of the step's own time and add up to it.

    Args:
        index: The trace.
        selection: Only steps that begin in it are listed, each whole.
    """
    trace, steps = index.trace, index.steps
    chosen = np.flatnonzero(selection.mask(trace.slices)[steps.slice_row])
    if not len(chosen):
        empty = "No step begins in the selected range." if len(steps) else NO_STEPS
        return ResultTable(name="steps", title="Steps", columns=(), empty=empty)
    found = {
        column.key: column
        for column in (
            *_facts(trace, steps),
            *_launched(trace, index.step_of_work, len(steps)),
            *_parts(split_steps(index)),
        )
    }
    columns = tuple(found[key] for key in _ORDER)
    place = np.full(len(steps) + 1, NO_ROW, np.int32)
    place[chosen] = np.arange(len(chosen))
    chosen_step = place[index.step_of_work]
    members, member_ends = _members(trace, chosen_step, len(chosen))
    told = _telling_keys(index)
    known = _ORDER if len(trace.device_work) else _OF_EVERY_TRACE
    return ResultTable(
        name="steps",
        title="Steps",
        columns=tuple(
            replace(
                column,
                values=column.values[chosen] if column.key in known else np.full(len(chosen), MISSING),
                shown=column.shown and column.key in told,
            )
            for column in columns
        ),
        notes=_notes(index, chosen_step, len(chosen)),
        members=members,
        member_ends=member_ends,
    )


def _telling_keys(index: TraceIndex) -> frozenset[str]:
    """Returns the columns that are not zero or missing in each step because the trace lacks such work."""
    if not len(index.trace.device_work):
        return frozenset(_WITHOUT_WORK)
    communicates = bool((index.categories == Category.COMMUNICATION).any())
    return frozenset(_ORDER if communicates else set(_ORDER).difference(_OF_COLLECTIVES))


def _facts(trace: Trace, steps: Steps) -> tuple[Column, ...]:
    tracks = trace.tracks
    thread = np.where(tracks.thread_name_id == NO_ROW, tracks.thread_id, tracks.thread_name_id)[steps.track]
    return (
        Column(
            key="step",
            title="Step",
            unit="id",
            help="Number of the step, as the profiler counts them.",
            values=steps.number,
        ),
        Column(
            key="rank",
            title="Rank",
            unit="id",
            help="Rank of the process that marked the step.",
            values=steps.rank,
            shown=len(np.unique(steps.rank)) > 1,
        ),
        Column(
            key="thread",
            title="Thread",
            unit="",
            help="Thread that marked the step.",
            values=thread,
            texts=trace.strings,
            shown=False,
        ),
        Column(
            key="start_ns",
            title="Start",
            unit="ns",
            help="When the step began, since the start of the trace.",
            values=steps.start_ns,
            shown=False,
        ),
        _time("duration_ns", "Duration", "Wall time of the step.", steps.end_ns - steps.start_ns),
    )


def _launched(trace: Trace, work_step: Int32, count: int) -> tuple[Column, ...]:
    rows = trace.device_work.slice_row
    kernel = (trace.slices.kind[rows] == SliceKind.KERNEL) & (work_step != NO_ROW)
    duration_ns = np.maximum(trace.slices.duration_ns[rows[kernel]], 0)
    return (
        Column(
            key="kernels",
            title="Kernels",
            unit="count",
            help="Kernels launched in the step; one whose launch is not in the trace counts where it starts.",
            values=counts_by_key(work_step[kernel], count),
        ),
        _time(
            "kernel_sum_ns",
            "Kernel sum",
            "Sum of the durations of those kernels; where they overlap, more than the time they took.",
            sums_by_key(work_step[kernel], duration_ns, count),
        ),
    )


def _parts(time: StepTime) -> tuple[Column, ...]:
    return (
        _time(
            "busy_ns",
            "Busy",
            "Time of the step in which at least one kernel ran: compute and exposed communication.",
            time.compute_ns + time.communication_exposed_ns,
        ),
        _time(
            "compute_ns",
            "Compute",
            "Time of the step in which a kernel ran that is no communication.",
            time.compute_ns,
        ),
        _time(
            "communication_exposed_ns",
            "Exposed communication",
            "Time in which a collective ran and nothing computed.",
            time.communication_exposed_ns,
        ),
        _time(
            "communication_hidden_ns",
            "Hidden communication",
            "Time in which a collective ran beside a kernel that computes; it is part of the compute time.",
            time.communication_hidden_ns,
        ),
        _time(
            "copy_ns",
            "Copies and sets",
            "Time in which the device copied or set memory and no kernel ran.",
            time.copy_ns,
        ),
        _time(
            "idle_launch_ns",
            "Idle: launch-bound",
            "The device did nothing and the launch of what runs next had not returned yet.",
            time.idle_launch_ns,
        ),
        _time(
            "idle_data_ns",
            "Idle: waiting for data",
            "The device did nothing while the host was in its data loader.",
            time.idle_data_ns,
        ),
        _time(
            "idle_sync_ns",
            "Idle: sync",
            "The device did nothing while the host was in a call that waits for it.",
            time.idle_sync_ns,
        ),
        _time(
            "idle_other_ns",
            "Idle: other",
            "The device did nothing for a reason that the trace does not show.",
            time.idle_other_ns,
        ),
    )


def _time(key: str, title: str, explanation: str, values: Int64) -> Column:
    return Column(key=key, title=title, unit="ns", help=explanation, values=values)


def _members(trace: Trace, work_step: Int32, count: int) -> tuple[Int32, Int64]:
    """Returns the rows of device work by step, and where each step's end."""
    order = np.argsort(work_step, kind="stable")
    order = order[np.count_nonzero(work_step == NO_ROW) :]
    ends = np.cumsum(counts_by_key(work_step[order], count))
    return trace.device_work.slice_row[order], ends


def _notes(index: TraceIndex, chosen_step: Int32, count: int) -> tuple[str, ...]:
    """Says what the table of the chosen steps does not show, and of the whole trace what lies outside."""
    trace, notes = index.trace, []
    without = int(np.count_nonzero(counts_by_key(chosen_step[chosen_step != NO_ROW], count) == 0))
    if not len(trace.device_work):
        notes.append("The trace holds no GPU work: no step has a busy time.")
    elif without:
        notes.append(f"{without:,} of {count:,} steps launched no GPU work.")
    kernel = trace.slices.kind[trace.device_work.slice_row] == SliceKind.KERNEL
    outside = int(np.count_nonzero(kernel & (index.step_of_work == NO_ROW)))
    if outside:
        notes.append(f"{outside:,} {'kernel lies' if outside == 1 else 'kernels lie'} outside any step.")
    if index.steps.unfinished:
        what = "step has" if index.steps.unfinished == 1 else "steps have"
        notes.append(f"{index.steps.unfinished:,} {what} no end in the trace: left out.")
    return tuple(notes)
