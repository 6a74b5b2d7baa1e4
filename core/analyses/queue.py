"""How far the host runs ahead of each stream: how long launches wait, and how many wait at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, text_column
from core.analyses.grouping import dense_ids, times_by_group
from core.analyses.quality import launches_without_kernels
from core.tables.columns import MISSING
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection

if TYPE_CHECKING:
    from core.analyses.grouping import GroupTimes
    from core.analyses.index import TraceIndex
    from core.tables.columns import Int64
    from core.tables.result import Column

NO_LAUNCHES: Final = "No device work of this part of the trace has its launch in the trace."


def summarize_queue(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes a row for each stream.

    A launch waits from the begin of the call to the begin of the work. A replayed
    graph is one launch. Work that begins before its call (clock skew) is left out.

    Args:
        index: The trace.
        selection: Work that starts in it.
    """
    trace, links = index.trace, index.links
    rows = trace.device_work.slice_row
    selected = selection.mask(trace.slices)[rows]
    known = np.flatnonzero(selected & (links.launch_delay_ns != MISSING))
    notes = _notes(index, int(np.count_nonzero(selected & (links.clock_skew_ns != MISSING))))
    if not len(known):
        return ResultTable(name="queue", title="Queue", columns=(), empty=NO_LAUNCHES, notes=notes)
    streams, group = dense_ids(trace.slices.track[rows[known]])
    delay_ns, start_ns = links.launch_delay_ns[known], trace.slices.start_ns[rows[known]]
    times = times_by_group(group, len(streams), delay_ns)
    return ResultTable(
        name="queue",
        title="Queue",
        columns=(
            text_column(
                "device",
                "Device",
                "Process of the file that stands for the device.",
                trace.tracks.process_id[streams],
                trace.strings,
            ),
            number_column("stream", "Stream", "id", "Number of the stream.", trace.tracks.stream[streams]),
            *_delays(times),
            *_depths(start_ns, delay_ns, times),
        ),
        notes=notes,
        members=rows[known][times.order],
        member_ends=times.ends,
    )


def depth_over_time(start_ns: Int64, delay_ns: Int64) -> tuple[Int64, Int64]:
    """Returns how many launches wait, from each moment at which that changes.

    Args:
        start_ns: (n,) int64, when each piece of work begins.
        delay_ns: (n,) int64, how long before that its launch was called; not negative.

    Returns:
        The moments, ascending and distinct, and the number that holds from each one on. (m,) int64 each.
    """
    moments = np.concatenate((start_ns - delay_ns, start_ns))
    changes = np.repeat(np.array([1, -1], np.int64), len(start_ns))
    order = np.argsort(moments, kind="stable")
    moments, depth = moments[order], np.cumsum(changes[order])
    last = np.append(moments[1:] != moments[:-1], True)[: len(moments)]
    return moments[last], depth[last]


def _delays(times: GroupTimes) -> tuple[Column, ...]:
    return (
        number_column("launches", "Launches", "count", "Launches whose delay is known.", times.calls),
        number_column(
            "delay_mean_ns", "Mean delay", "ns", "From the begin of the call to the work's.", times.mean_ns
        ),
        number_column("delay_min_ns", "Min delay", "ns", "The shortest.", times.min_ns),
        number_column("delay_p50_ns", "p50 delay", "ns", "Half are no longer.", times.p50_ns),
        number_column("delay_p99_ns", "p99 delay", "ns", "99 of 100 are no longer.", times.p99_ns),
        number_column("delay_max_ns", "Max delay", "ns", "The longest.", times.max_ns),
    )


def _depths(start_ns: Int64, delay_ns: Int64, times: GroupTimes) -> tuple[Column, ...]:
    most = np.zeros(len(times.ends), np.int64)
    mean = np.full(len(times.ends), np.nan)
    first = 0
    for place, last in enumerate(times.ends.tolist()):
        members = times.order[first:last]
        moments, depth = depth_over_time(start_ns[members], delay_ns[members])
        most[place] = depth.max()
        span_ns = int(moments[-1]) - int(moments[0])
        if span_ns:
            mean[place] = float(np.dot(depth[:-1].astype(np.float64), np.diff(moments))) / span_ns
        first = last
    return (
        number_column("depth_max", "Max waiting", "count", "Most launches that waited at once.", most),
        number_column(
            "depth_mean",
            "Mean waiting",
            "count",
            "Launches that waited, averaged over the time from the first call to the last begin of work.",
            mean,
        ),
    )


def _notes(index: TraceIndex, skewed: int) -> tuple[str, ...]:
    notes = []
    without = len(launches_without_kernels(index.trace))
    if without:
        what = "1 launch has" if without == 1 else f"{without:,} launches have"
        notes.append(f"{what} no kernel in the trace.")
    if skewed:
        what = "1 launch" if skewed == 1 else f"{skewed:,} launches"
        notes.append(f"{what} left out: the work begins before the call (clock skew).")
    return tuple(notes)
