"""What makes the figures of a trace doubtful, beyond what its reader had to repair.

Each doubt is counted, said in one sentence and tied to its rows. Nothing is
mended here: an impossible time is in no sum anyway, a doubtful one stays in the
sum, and what the sum would be without it stands beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.intervals import counts_by_key, ends_ns, exact_sum
from core.analyses.step_ranges import names_of
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import Problem, SliceKind
from core.units import format_duration_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Int32, Int64
    from core.tables.trace import Trace

MOST_ROWS: Final = 4096
"""Rows that a problem names."""

# Old files round to a microsecond, and clocks of one device agree no better.
_TOLERATED_NS: Final = 1_000
# Source: names of the calls in CUDA's, HIP's and Level Zero's interfaces.
_KERNEL_LAUNCH: Final = re.compile(r"(cuda|cu|hip|hipExt|hipModule|hipExtModule|musa|ze\w*)Launch\w*Kernel")
# Source: CUDA programming guide 12.9, programmatic dependent launch: an attribute of cudaLaunchKernelEx.
_MAY_OVERLAP: Final = re.compile(r"LaunchKernelEx|GraphLaunch")
_STUB: Final = 10
"""A last step this many times shorter than its thread's longest is what is left of a recording."""


@dataclass(frozen=True, slots=True, eq=False)
class Overruns:
    """Device work that ends after the end of what follows it on its stream, which a stream cannot do.

    Attributes:
        rows: (n,) int32, slices, ascending.
        clipped_kernel_sum_ns: The sum of all kernels if these ended where the next one starts.
    """

    rows: Int32
    clipped_kernel_sum_ns: int


def judge(index: TraceIndex) -> tuple[Problem, ...]:
    """Looks for everything that makes a figure doubtful; what the reader found is not repeated."""
    trace = index.trace
    return (
        *_impossible_durations(trace),
        *_overruns(trace),
        *_overlaps(index),
        *(_sentence(problem) for problem in index.links.problems if problem.code == "clock_skew"),
        *_lost_launches(trace),
        *_steps_without_work(index),
        *_outside_steps(index),
    )


def find_overruns(trace: Trace) -> Overruns:
    """Finds device work that overruns the next on its stream."""
    order, next_place = _by_stream(trace)
    start_ns, end_ns = _times(trace, order)
    followed = np.flatnonzero(next_place != NO_ROW)
    follower = next_place[followed]
    overruns = followed[end_ns[followed] > end_ns[follower] + _TOLERATED_NS]
    rows = np.sort(order[overruns]).astype(np.int32)
    is_kernel = trace.slices.kind == SliceKind.KERNEL
    cut_ns = end_ns[overruns] - start_ns[next_place[overruns]]
    kernel_sum_ns = exact_sum(np.maximum(trace.slices.duration_ns[is_kernel], 0))
    return Overruns(rows, kernel_sum_ns - exact_sum(cut_ns[is_kernel[order[overruns]]]))


def _impossible_durations(trace: Trace) -> tuple[Problem, ...]:
    slices, told = trace.slices, {problem.code for problem in trace.problems}
    negative = (slices.duration_ns < 0) & (slices.duration_ns != MISSING)
    missing = slices.duration_ns == MISSING
    # What the reader has told of already: it put these at the start of the trace.
    if told & {"zero_time", "no_time"}:
        missing &= slices.start_ns != 0
    kernel, op = slices.kind == SliceKind.KERNEL, slices.kind == SliceKind.OP
    copy = (slices.kind == SliceKind.MEMCPY) | (slices.kind == SliceKind.MEMSET)
    found: list[Problem] = []
    for suffix, chosen, one, many in (
        ("", kernel, "kernel", "kernels"),
        ("_copy", copy, "copy or set", "copies and sets"),
        ("_op", op, "operator", "operators"),
        ("_other", ~kernel & ~copy & ~op, "other slice", "other slices"),
    ):
        rows = np.flatnonzero(chosen & negative)
        said = f"{_counted(len(rows), one, many)} with negative duration: in no sum"
        found += _problem(f"negative_duration{suffix}", rows, said)
        if suffix in ("", "_copy") or "unfinished" not in told:
            rows = np.flatnonzero(chosen & missing)
            said = f"{_counted(len(rows), one, many)} without a duration: in no sum"
            found += _problem(f"missing_duration{suffix}", rows, said)
    rows = np.flatnonzero(kernel & (slices.duration_ns == 0))
    said = f"{_counted(len(rows), 'kernel', 'kernels')} with zero duration: in no sum"
    return (*found, *_problem("zero_duration", rows, said))


def _overruns(trace: Trace) -> tuple[Problem, ...]:
    overruns = find_overruns(trace)
    cut = format_duration_ns(overruns.clipped_kernel_sum_ns)
    said = f"overruns the next kernel on its stream; cut at the next start, the kernel sum would be {cut}"
    if len(overruns.rows) != 1:
        said = said.replace("overruns the next kernel on its", "overrun the next kernel on their")
    return _problem("overruns_next", overruns.rows, f"{_work(trace, overruns.rows)} {said}")


def _overlaps(index: TraceIndex) -> tuple[Problem, ...]:
    """Work that begins before the one before it on its stream has ended, and ends after it.

    A launch with attributes and a graph may ask for that (programmatic dependent
    launch): such work is in order.
    """
    trace = index.trace
    order, next_place = _by_stream(trace)
    start_ns, end_ns = _times(trace, order)
    followed = np.flatnonzero(next_place != NO_ROW)
    follower = next_place[followed]
    shared_ns = end_ns[followed] - start_ns[follower]
    partly = (shared_ns > _TOLERATED_NS) & (end_ns[followed] <= end_ns[follower] + _TOLERATED_NS)
    partly &= ~_may_overlap(index)[order[follower]]
    rows = np.sort(order[follower[partly]])
    total = format_duration_ns(exact_sum(shared_ns[partly]))
    said = f"{'begins' if len(rows) == 1 else 'begin'} before the one before on the stream has ended"
    return _problem("overlapping_on_stream", rows, f"{_work(trace, rows)} {said}, by {total} in all")


def _may_overlap(index: TraceIndex) -> Bool:
    """Returns (slices,) bool: device work whose launch may let it begin early."""
    slices, launch_row = index.trace.slices, index.links.launch_row
    call = slices.kind == SliceKind.RUNTIME
    call &= np.isin(
        slices.name_id, [i for i, text in names_of(index.trace, call) if _MAY_OVERLAP.search(text)]
    )
    allowed = np.zeros(len(slices), np.bool_)
    allowed[index.trace.device_work.slice_row] = (launch_row != NO_ROW) & call[launch_row]
    return allowed


def _by_stream(trace: Trace) -> tuple[Int32, Int32]:
    """Returns the rows of device work with a possible length by stream and start, and the place of the next.

    The place is NO_ROW for the last of a stream.
    """
    rows = trace.device_work.slice_row
    rows = rows[trace.slices.duration_ns[rows] > 0]
    track, start_ns = trace.slices.track[rows], trace.slices.start_ns[rows]
    order = rows[np.lexsort((-trace.slices.duration_ns[rows], start_ns, track))]
    place = np.arange(1, len(order) + 1, dtype=np.int32)
    if len(order):
        place[:-1][np.diff(trace.slices.track[order]) != 0] = NO_ROW
        place[-1] = NO_ROW
    return order, place


def _times(trace: Trace, rows: Int32) -> tuple[Int64, Int64]:
    start_ns = trace.slices.start_ns[rows]
    return start_ns, ends_ns(start_ns, trace.slices.duration_ns[rows])


def launches_without_kernels(trace: Trace) -> Int32:
    """Returns the rows of calls that launch a kernel of which the trace holds nothing."""
    slices = trace.slices
    launch = (slices.kind == SliceKind.RUNTIME) & (slices.correlation != MISSING)
    named = [text_id for text_id, text in names_of(trace, launch) if _KERNEL_LAUNCH.match(text)]
    launch &= np.isin(slices.name_id, named)
    launch &= ~np.isin(slices.correlation, slices.correlation[trace.device_work.slice_row])
    return np.flatnonzero(launch).astype(np.int32)


def _lost_launches(trace: Trace) -> tuple[Problem, ...]:
    rows = launches_without_kernels(trace)
    said = f"{_counted(len(rows), 'launch', 'launches')} without a kernel in the trace"
    return _problem("launches_without_kernels", rows, said)


def _steps_without_work(index: TraceIndex) -> tuple[Problem, ...]:
    steps, work_step = index.steps, index.step_of_work
    if not len(index.trace.device_work) or not len(steps):
        return ()
    without = counts_by_key(work_step[work_step != NO_ROW], len(steps)) == 0
    duration_ns = steps.end_ns - steps.start_ns
    for _, first, last in steps.threads():
        usual_ns = duration_ns[first:last].max()
        without[last - 1] &= duration_ns[last - 1] >= usual_ns // _STUB
    said = f"{np.count_nonzero(without):,} of {_counted(len(steps), 'step', 'steps')} launched no GPU work"
    return _problem("steps_without_gpu_work", steps.slice_row[without], said)


def _outside_steps(index: TraceIndex) -> tuple[Problem, ...]:
    if not len(index.steps):
        return ()
    slices, rows = index.trace.slices, index.trace.device_work.slice_row
    rows = rows[(slices.kind[rows] == SliceKind.KERNEL) & (index.step_of_work == NO_ROW)]
    total = format_duration_ns(exact_sum(np.maximum(slices.duration_ns[rows], 0)))
    said = f"{_counted(len(rows), 'kernel', 'kernels')} ({total}) outside any step"
    return _problem("outside_steps", rows, said)


def _sentence(problem: Problem) -> Problem:
    """Ends what another module counted as a sentence."""
    return replace(problem, message=problem.message.rstrip(".") + ".")


def _counted(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def _work(trace: Trace, rows: NDArray[np.integer]) -> str:
    """Counts device work in words."""
    if (trace.slices.kind[rows] == SliceKind.KERNEL).all():
        return _counted(len(rows), "kernel", "kernels")
    return _counted(len(rows), "kernel or copy", "kernels or copies")


def _problem(code: str, rows: NDArray[np.integer], message: str) -> tuple[Problem, ...]:
    if not len(rows):
        return ()
    return (Problem(code, len(rows), f"{message}.", rows=tuple(rows[:MOST_ROWS].tolist())),)
