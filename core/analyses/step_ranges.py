"""The training steps of a trace, and to which of them each piece of device work belongs.

A step is what ``torch.profiler`` marks as ``ProfilerStep#N`` on the thread that
calls ``step()``. Its shadow on a device is no step: it lasts as long as the
work, not as long as the step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.intervals import ends_ns
from core.tables.columns import MISSING, NO_ROW, Int32, Int64, freeze_columns
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.tables.columns import Bool
    from core.tables.trace import Trace

# Source: torch/profiler/profiler.py (2.13), profile.step(); torch 1.8 wrote the same name as an operator.
_STEP_NAME: Final = re.compile(r"ProfilerStep#(\d{1,18})")
_STEP_KINDS: Final = (SliceKind.ANNOTATION, SliceKind.OP, SliceKind.OTHER)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps by thread and start. All columns (n,).

    Attributes:
        slice_row: int32, the annotation.
        number: int64, the N of its name.
        track: int32, the thread that marked it.
        rank: int64, of that thread, MISSING.
        start_ns: int64.
        end_ns: int64, behind the start.
        unfinished: How many have no possible length and are left out.
    """

    slice_row: Int32
    number: Int64
    track: Int32
    rank: Int64
    start_ns: Int64
    end_ns: Int64
    unfinished: int = 0

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "slice_row": np.int32,
                "number": np.int64,
                "track": np.int32,
                "rank": np.int64,
                "start_ns": np.int64,
                "end_ns": np.int64,
            },
        )

    def __len__(self) -> int:
        return len(self.slice_row)

    def threads(self) -> list[tuple[int, int, int]]:
        """Returns (track, first step, step behind the last) of each thread that has steps."""
        tracks, firsts = np.unique(self.track, return_index=True)
        lasts = [*firsts[1:].tolist(), len(self)][: len(firsts)]
        return list(zip(tracks.tolist(), firsts.tolist(), lasts, strict=True))


def names_of(trace: Trace, wanted: Bool) -> Iterator[tuple[int, str]]:
    """Yields the id and text of every name that the wanted slices, (slices,) bool, bear."""
    # One more than there are texts: a slice without a name bears NO_ROW, which is the last place.
    used = np.zeros(len(trace.strings) + 1, np.bool_)
    used[trace.slices.name_id[wanted]] = True
    for text_id in np.flatnonzero(used[:-1]).tolist():
        yield text_id, trace.strings[text_id]


def find_steps(trace: Trace) -> Steps:
    """Finds the steps of a trace.

    A step that a file holds several times over, thread, number and times alike
    (ranks merged into one file), is one step.
    """
    slices, tracks = trace.slices, trace.tracks
    possible = np.isin(slices.kind, [int(kind) for kind in _STEP_KINDS])
    possible &= tracks.is_device[slices.track] == 0
    numbers = {
        text_id: int(match[1])
        for text_id, text in names_of(trace, possible)
        if text.startswith("ProfilerStep#") and (match := _STEP_NAME.fullmatch(text))
    }
    rows = np.flatnonzero(possible & np.isin(slices.name_id, list(numbers)))
    unfinished = int(np.count_nonzero(slices.duration_ns[rows] <= 0))
    rows = rows[slices.duration_ns[rows] > 0]
    number = np.array([numbers[each] for each in slices.name_id[rows].tolist()], np.int64)
    keys = np.stack((slices.track[rows], slices.start_ns[rows], slices.duration_ns[rows], number), axis=1)
    _, firsts = np.unique(keys.astype(np.int64), axis=0, return_index=True)
    rows, number = rows[firsts], number[firsts]
    on, start_ns = slices.track[rows], slices.start_ns[rows]
    return Steps(
        slice_row=rows.astype(np.int32),
        number=number,
        track=on,
        rank=tracks.rank[on],
        start_ns=start_ns,
        end_ns=ends_ns(start_ns, slices.duration_ns[rows]),
        unfinished=unfinished,
    )


def threads_of_work(trace: Trace, steps: Steps, launch_row: Int32) -> Int32:
    """Returns (device work,) int32: which of ``steps.threads()`` each piece of device work answers to.

    The thread that launched it if that has steps, else one of the same process,
    else one of the same rank, else the first.

    Args:
        trace: The trace; it has steps.
        steps: Its steps.
        launch_row: (device work,) int32, the slice of the call that launched it, NO_ROW.
    """
    tracks = trace.tracks
    threads = [track for track, _, _ in steps.threads()]
    of_track = np.zeros(len(tracks.process_id), np.int32)
    for place, track in reversed(list(enumerate(threads))):
        rank = tracks.rank[track]
        of_track[(tracks.rank == rank) & (rank != MISSING)] = place
    for place, track in reversed(list(enumerate(threads))):
        of_track[tracks.process_id == tracks.process_id[track]] = place
    of_track[threads] = np.arange(len(threads))
    origin = np.where(launch_row == NO_ROW, trace.device_work.slice_row, launch_row)
    answered: Int32 = of_track[trace.slices.track[origin]]
    return answered


def steps_of_work(trace: Trace, steps: Steps, launch_row: Int32) -> Int32:
    """Returns (device work,) int32: the step in which each piece was launched, NO_ROW if in none.

    Work whose launch is not in the trace belongs to the step in which it starts.

    Args:
        trace: The trace.
        steps: Its steps.
        launch_row: (device work,) int32, the slice of the call that launched it, NO_ROW.
    """
    found = np.full(len(trace.device_work), NO_ROW, np.int32)
    if not len(steps):
        return found
    origin = np.where(launch_row == NO_ROW, trace.device_work.slice_row, launch_row)
    moment_ns = trace.slices.start_ns[origin]
    thread = threads_of_work(trace, steps, launch_row)
    for place, (_, first, last) in enumerate(steps.threads()):
        here = np.flatnonzero(thread == place)
        step = first - 1 + np.searchsorted(steps.start_ns[first:last], moment_ns[here], side="right")
        inside = (step >= first) & (moment_ns[here] < steps.end_ns[np.maximum(step, first)])
        found[here[inside]] = step[inside]
    return found
