"""What the time of each step went to: every nanosecond of it to exactly one part.

At each moment of a step the first of these that holds decides: a kernel that
computes runs; a kernel that communicates runs; a copy or a set runs; the device
is idle while the host waits for data; while it waits for the device; until the
launch of what runs next has returned; for no reason that the trace shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.intervals import IntervalSet, cut_to_windows, ends_ns, intersect, subtract, union
from core.analyses.step_ranges import names_of, threads_of_work
from core.tables.columns import NO_ROW
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.analyses.step_ranges import Steps
    from core.tables.columns import Bool, Int32, Int64
    from core.tables.trace import Trace

# "enumerate(DataLoader)#..." is torch.utils.data's own range; the others are what trainers write.
_DATA_NAME: Final = re.compile(r"data_?load(er|ing)", re.IGNORECASE)
_DATA_KINDS: Final = (SliceKind.ANNOTATION, SliceKind.OP)
# cudaStreamSynchronize, hipDeviceSynchronize, cuCtxSynchronize, zeEventHostSynchronize, ...
_SYNC_NAME: Final = re.compile("synchronize", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class StepTime:
    """The parts of each step's time. All (steps,) int64; all but ``communication_hidden_ns`` add up to it.

    Attributes:
        compute_ns: A kernel that computes runs, whatever else does.
        communication_exposed_ns: A collective runs and no kernel computes.
        communication_hidden_ns: A collective runs beside a kernel that computes; a part of ``compute_ns``.
        copy_ns: A copy or a set runs and no kernel.
        idle_data_ns: Nothing runs; the host waits for its data loader.
        idle_sync_ns: Nothing runs; the host waits for the device.
        idle_launch_ns: Nothing runs; the launch of what runs next has not returned yet.
        idle_other_ns: Nothing runs, for another reason.
    """

    compute_ns: Int64
    communication_exposed_ns: Int64
    communication_hidden_ns: Int64
    copy_ns: Int64
    idle_data_ns: Int64
    idle_sync_ns: Int64
    idle_launch_ns: Int64
    idle_other_ns: Int64


def split_steps(index: TraceIndex) -> StepTime:
    """Divides the time of each step.

    Devices are those whose work was launched by the step's thread or answers to
    it; where there are several, one that works is enough.
    """
    trace, steps, launch_row = index.trace, index.steps, index.links.launch_row
    if not len(steps):
        return StepTime(*([np.zeros(0, np.int64)] * 8))
    work = _Work.of(index)
    whole = _as_set(steps)
    compute = work.during(steps, ~work.is_copy & ~work.is_communication)
    communication = work.during(steps, work.is_communication)
    exposed = subtract(communication, compute)
    idle = subtract(subtract(whole, compute), exposed)
    copy = intersect(idle, work.during(steps, work.is_copy))
    idle = subtract(idle, copy)
    parts = [compute, exposed, intersect(communication, compute), copy]
    waits = _host_waits(trace, launch_row, steps)
    for cause in (*waits, _until_launched(trace, work, steps, idle)):
        parts.append(intersect(idle, cause))
        idle = subtract(idle, cause)
    parts.append(idle)
    return StepTime(*(part.lengths_ns(len(steps)) for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Device work with a possible length, by start. Columns (n,).

    ``thread`` is which of ``Steps.threads()`` it answers to.
    """

    start_ns: Int64
    end_ns: Int64
    thread: Int32
    launch_row: Int32
    is_copy: Bool
    is_communication: Bool

    @classmethod
    def of(cls, index: TraceIndex) -> _Work:
        trace, launch_row = index.trace, index.links.launch_row
        rows = trace.device_work.slice_row
        duration_ns = trace.slices.duration_ns[rows]
        chosen = np.flatnonzero(duration_ns > 0)
        chosen = chosen[np.argsort(trace.slices.start_ns[rows[chosen]], kind="stable")]
        start_ns = trace.slices.start_ns[rows[chosen]]
        return cls(
            start_ns=start_ns,
            end_ns=ends_ns(start_ns, duration_ns[chosen]),
            thread=threads_of_work(trace, index.steps, launch_row)[chosen],
            launch_row=launch_row[chosen],
            is_copy=trace.slices.kind[rows[chosen]] != SliceKind.KERNEL,
            is_communication=index.categories[chosen] == Category.COMMUNICATION,
        )

    def during(self, steps: Steps, wanted: Bool) -> IntervalSet:
        """Returns when wanted work runs, a key for each step."""
        busy = union(self.thread[wanted], self.start_ns[wanted], self.end_ns[wanted])
        found = []
        for place, (_, first, last) in enumerate(steps.threads()):
            window = np.arange(first, last)
            line = busy.of_key(place)
            found.append(cut_to_windows(line, window, steps.start_ns[first:last], steps.end_ns[first:last]))
        return _joined(found)


def _as_set(steps: Steps) -> IntervalSet:
    return union(np.arange(len(steps)), steps.start_ns, steps.end_ns)


def _joined(sets: list[IntervalSet]) -> IntervalSet:
    """Puts sets of different keys together."""
    return union(
        np.concatenate([each.key for each in sets]),
        np.concatenate([each.start_ns for each in sets]),
        np.concatenate([each.end_ns for each in sets]),
    )


def _host_waits(trace: Trace, launch_row: Int32, steps: Steps) -> tuple[IntervalSet, IntervalSet]:
    """Returns when the host waits for data and when for the device, a key for each step.

    Only threads count that mark the steps or launch work in the same process: a
    watchdog that polls events holds nobody up.
    """
    slices, tracks = trace.slices, trace.tracks
    launching = np.zeros(len(tracks.process_id), np.bool_)
    launching[slices.track[launch_row[launch_row != NO_ROW]]] = True
    is_data = np.isin(slices.kind, [int(kind) for kind in _DATA_KINDS])
    is_data &= np.isin(slices.name_id, [i for i, text in names_of(trace, is_data) if _DATA_NAME.search(text)])
    is_sync = slices.kind == SliceKind.RUNTIME
    is_sync &= np.isin(slices.name_id, [i for i, text in names_of(trace, is_sync) if _SYNC_NAME.search(text)])
    waits = [np.flatnonzero(chosen) for chosen in (is_data, is_sync)]
    found: tuple[list[IntervalSet], list[IntervalSet]] = ([], [])
    for track, first, last in steps.threads():
        threads = launching & (tracks.process_id == tracks.process_id[track])
        threads[track] = True
        window = np.arange(first, last)
        for place, chosen in enumerate(waits):
            rows = chosen[threads[slices.track[chosen]]]
            start_ns = slices.start_ns[rows]
            line = union(np.zeros(len(rows), np.int64), start_ns, ends_ns(start_ns, slices.duration_ns[rows]))
            windows = cut_to_windows(line, window, steps.start_ns[first:last], steps.end_ns[first:last])
            found[place].append(windows)
    return _joined(found[0]), _joined(found[1])


def _until_launched(trace: Trace, work: _Work, steps: Steps, idle: IntervalSet) -> IntervalSet:
    """Returns the part of each idle time in which the launch of the next work had not returned."""
    slices = trace.slices
    launched_ns = np.empty(len(idle), np.int64)
    for place, (_, first, last) in enumerate(steps.threads()):
        of_thread = np.flatnonzero(work.thread == place)
        gaps = np.flatnonzero((idle.key >= first) & (idle.key < last))
        following = np.searchsorted(work.start_ns[of_thread], idle.start_ns[gaps], side="left")
        launch = np.append(work.launch_row[of_thread], NO_ROW)[following]
        ended_ns = ends_ns(slices.start_ns[launch], slices.duration_ns[launch])
        launched_ns[gaps] = np.where(launch == NO_ROW, idle.start_ns[gaps], ended_ns)
    return union(idle.key, idle.start_ns, np.minimum(idle.end_ns, launched_ns))
