"""Which lanes a trace has on the timeline: threads and streams, grouped by rank or process.

Pure and without Qt. Device work has the colour of its category; what else lies
on a stream (ranges of the user, waits) has a lane of its own, so that it covers
no kernel; so have the Python frames of a thread, which are deep and would hide
its operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from core.files import printable
from core.tables.columns import MISSING, NO_ROW
from core.tables.timeline import CounterLane, GroupFacts, LaneFacts, TimelineSlices
from core.tables.trace import DEVICE_KINDS, SliceKind
from core.units import GIB, gib

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.memory import MemoryCurve
    from core.tables.columns import Int64, Uint8
    from core.tables.trace import Trace

COLOURS: Final = (
    "gemm",
    "attention",
    "convolution",
    "normalisation",
    "elementwise",
    "reduction",
    "optimizer",
    "embedding",
    "communication",
    "memcpy",
    "memset",
    "triton",
    "other",
)
"""Name of the theme's colour of each category; Triton has the colour of the others, and a pattern."""

HOST_COLOUR: Final = len(COLOURS) - 1
"""Calls are coloured by their depth: this one only keeps their place."""

_CALLS: Final = (SliceKind.OP, SliceKind.RUNTIME)
_COLLECTIVES: Final = (
    ("allgather", "all-gather"),
    ("reducescatter", "reduce-scatter"),
    ("allreduce", "all-reduce"),
    ("alltoall", "all-to-all"),
    ("sendrecv", "send, recv"),
    ("broadcast", "broadcast"),
)
"""What stands in the name of a collective's kernel, and what the lane says."""

_MOST_NAME: Final = 60


@dataclass(frozen=True, slots=True, eq=False)
class TimelineParts:
    """What ``build_timeline`` takes."""

    slices: TimelineSlices
    lanes: tuple[LaneFacts, ...]
    groups: tuple[GroupFacts, ...]
    counters: tuple[CounterLane, ...]


class _Part(IntEnum):
    """What of a track is in a lane: its own work, what lies beside device work, or its Python frames."""

    MAIN = 0
    BESIDE = 1
    PYTHON = 2


_PARTS: Final = len(_Part)


@dataclass(frozen=True, slots=True)
class _Lane:
    """A lane before it has its number: a part of a track."""

    track: int
    on_device: bool
    part: _Part
    weight_ns: int

    @property
    def key(self) -> int:
        """Number of track and part in one."""
        return _PARTS * self.track + self.part

    @property
    def is_stream(self) -> bool:
        """Whether it holds device work."""
        return self.on_device and self.part == _Part.MAIN


def timeline_parts(trace: Trace, categories: Uint8, titles: Callable[[int], str]) -> TimelineParts:
    """Lays a trace out.

    Args:
        trace: The trace.
        categories: (device work,) uint8.
        titles: Gives the title of a category.
    """
    slices, tracks = trace.slices, trace.tracks
    is_work = np.isin(slices.kind, [int(kind) for kind in DEVICE_KINDS])
    holds_work = np.zeros(len(tracks), np.bool_)
    holds_work[slices.track[is_work]] = True
    on_device = holds_work[slices.track]
    key = _PARTS * slices.track.astype(np.int64)
    key[on_device & ~is_work] += _Part.BESIDE
    key[~on_device & (slices.kind == SliceKind.PYTHON)] += _Part.PYTHON
    length_ns = np.maximum(slices.duration_ns, 0)
    weight = np.bincount(key, weights=length_ns.astype(np.float64), minlength=_PARTS * len(tracks))
    used = np.flatnonzero(np.bincount(key, minlength=_PARTS * len(tracks)))
    found = [
        _Lane(each // _PARTS, bool(holds_work[each // _PARTS]), _Part(each % _PARTS), int(weight[each]))
        for each in used.tolist()
    ]
    group_of, groups = _groups(trace, found)
    calls = np.bincount(
        slices.track[np.isin(slices.kind, [int(kind) for kind in _CALLS])], minlength=len(tracks)
    )
    main = _main_threads(trace, found, group_of, calls)

    def order(lane: _Lane) -> tuple[int, int, int, int, str]:
        place = _order(trace, lane, int(calls[lane.track]), main=lane.track in main)
        return (group_of[lane.track], *place)

    ordered = sorted(found, key=order)
    number = np.full(_PARTS * len(tracks), NO_ROW, np.int32)
    number[[lane.key for lane in ordered]] = np.arange(len(ordered))
    colour = np.full(len(slices), HOST_COLOUR, np.uint8)
    colour[trace.device_work.slice_row] = categories
    has_device = any(lane.on_device for lane in found)
    tall = _tallest(ordered, group_of)
    lanes = tuple(
        LaneFacts(
            name=_lane_name(trace, lane),
            note=_note(trace, lane, categories, titles),
            group=group_of[lane.track],
            host=not lane.is_stream,
            tall=lane in tall,
            in_overview=lane.is_stream if has_device else bool(calls[lane.track]),
        )
        for lane in ordered
    )
    return TimelineParts(
        TimelineSlices(slices.start_ns, slices.duration_ns, number[key], colour),
        lanes,
        groups,
        _memory_curves(trace, group_of),
    )


def _memory_curves(trace: Trace, group_of: dict[int, int]) -> tuple[CounterLane, ...]:
    """What was allocated on each device, in the group of the threads that did it."""
    # Compiled code comes with it, which the UI thread must not load.
    from core.analyses.memory import memory_curves  # noqa: PLC0415

    memory, rank = trace.memory, trace.tracks.rank
    # A thread that does nothing else has no lane: its rank has others.
    of_rank = {int(rank[track]): group for track, group in group_of.items()}
    curves = []
    for curve in memory_curves(trace):
        rows = curve.event[memory.allocated_bytes[curve.event] != MISSING]
        if not len(rows) or curve.device_type == MISSING:
            continue
        value = memory.allocated_bytes[rows].astype(np.float64)
        track = int(memory.track[rows[0]])
        group = group_of.get(track, of_rank.get(int(rank[track]), 0))
        words = _memory_words(float(value.max()))
        curves.append(CounterLane(_memory_name(curve), words, group, memory.time_ns[rows], value))
    return tuple(curves)


def _memory_name(curve: MemoryCurve) -> str:
    if curve.device_type == 0:
        return "CPU memory"
    return "Memory" if curve.device_number in (0, MISSING) else f"Memory, GPU {curve.device_number}"


def _memory_words(most_bytes: float) -> str:
    if most_bytes >= 0.1 * GIB:
        return f"{gib(most_bytes, 1)} GiB"
    return f"{most_bytes / 2**20:.1f} MiB" if most_bytes >= 2**20 else f"{most_bytes / 2**10:.0f} KiB"


def _tallest(lanes: list[_Lane], group_of: dict[int, int]) -> set[_Lane]:
    """The busiest stream of each group."""
    best: dict[int, _Lane] = {}
    for lane in lanes:
        group = group_of[lane.track]
        if lane.is_stream and (group not in best or lane.weight_ns > best[group].weight_ns):
            best[group] = lane
    return set(best.values())


def _groups(trace: Trace, lanes: list[_Lane]) -> tuple[dict[int, int], tuple[GroupFacts, ...]]:
    """Returns the group of each track, and the groups: ranks where they are known, else processes.

    Where one process alone makes calls, the devices are its own.
    """
    tracks, slices = trace.tracks, trace.slices
    calling = np.unique(slices.track[np.isin(slices.kind, [int(kind) for kind in _CALLS])])
    callers = {int(tracks.process_id[track]) for track in calling.tolist()}
    only = next(iter(callers)) if len(callers) == 1 else None
    keys: dict[tuple[int, int], int] = {}
    group_of: dict[int, int] = {}
    members: dict[tuple[int, int], list[_Lane]] = {}
    for lane in lanes:
        rank = int(tracks.rank[lane.track])
        process = int(tracks.process_id[lane.track]) if only is None else only
        key = (0, rank) if rank != MISSING else (1, process)
        keys.setdefault(key, len(keys))
        members.setdefault(key, []).append(lane)
    in_order = sorted(keys)
    for number, key in enumerate(in_order):
        for lane in members[key]:
            group_of[lane.track] = number
    return group_of, tuple(_group_facts(trace, key, members[key]) for key in in_order)


def _group_facts(trace: Trace, key: tuple[int, int], lanes: list[_Lane]) -> GroupFacts:
    tracks = trace.tracks
    devices = {int(tracks.device[lane.track]) for lane in lanes if lane.on_device} - {MISSING}
    note = (
        f"GPU {next(iter(devices))}" if len(devices) == 1 else f"{len(devices)} devices" if devices else "CPU"
    )
    kind, number = key
    if kind == 0:
        return GroupFacts(f"Rank {number}", note, number)
    track = next(
        (lane.track for lane in lanes if int(tracks.process_id[lane.track]) == number), lanes[0].track
    )
    return GroupFacts(_process_name(trace, track), note)


def _process_name(trace: Trace, track: int) -> str:
    tracks = trace.tracks
    pid = trace.strings[int(tracks.process_id[track])]
    name_id = int(tracks.process_name_id[track])
    name = "" if name_id == NO_ROW else printable(trace.strings[name_id])[:_MOST_NAME]
    return f"{name} {printable(pid)}" if name and name != pid else name or f"Process {printable(pid)}"


def _order(trace: Trace, lane: _Lane, calls: int, *, main: bool) -> tuple[int, int, int, str]:
    """The main thread, streams (each below its ranges), threads by calls, Python frames, other tracks."""
    tracks = trace.tracks
    thread = trace.strings[int(tracks.thread_id[lane.track])]
    if lane.on_device:
        below = lane.part == _Part.MAIN
        return 1, int(tracks.device[lane.track]), 2 * int(tracks.stream[lane.track]) + below, thread
    if lane.part == _Part.PYTHON:
        return 3, 0, -calls, thread
    if not calls:
        return 4, 0, -lane.weight_ns, thread
    return 0 if main else 2, 0, -calls, thread


def _main_threads(trace: Trace, lanes: list[_Lane], group_of: dict[int, int], calls: Int64) -> set[int]:
    """Track of the thread in each group that marks ranges (steps) for the longest time, else calls most."""
    slices = trace.slices
    marks = slices.kind == SliceKind.ANNOTATION
    length_ns = np.maximum(slices.duration_ns[marks], 0).astype(np.float64)
    marked_ns = np.bincount(slices.track[marks], weights=length_ns, minlength=len(trace.tracks))
    best: dict[int, tuple[float, int, int]] = {}
    for lane in lanes:
        if not lane.on_device and calls[lane.track]:
            found = (float(marked_ns[lane.track]), int(calls[lane.track]), lane.track)
            best[group_of[lane.track]] = max(best.get(group_of[lane.track], found), found)
    return {track for _, _, track in best.values()}


def _lane_name(trace: Trace, lane: _Lane) -> str:
    tracks = trace.tracks
    thread = printable(trace.strings[int(tracks.thread_id[lane.track])])[:_MOST_NAME]
    name_id = int(tracks.thread_name_id[lane.track])
    name = "" if name_id == NO_ROW else printable(trace.strings[name_id])[:_MOST_NAME]
    if lane.on_device:
        stream = int(tracks.stream[lane.track])
        return (name or thread) if stream == MISSING else f"Stream {stream}"
    if not name or name.startswith("thread "):
        return f"Thread {thread}" if thread.isdecimal() else thread or "Thread"
    return name


def _note(trace: Trace, lane: _Lane, categories: Uint8, titles: Callable[[int], str]) -> str:
    if lane.part != _Part.MAIN:
        return "ranges" if lane.part == _Part.BESIDE else "Python"
    if not lane.on_device:
        return "CPU"
    slices, work = trace.slices, trace.device_work.slice_row
    here = slices.track[work] == lane.track
    rows = work[here]
    main = _main_category(categories[here], np.maximum(slices.duration_ns[rows], 0), titles)
    if main != "communication" or not len(rows):
        return main
    name_id = np.bincount(slices.name_id[rows]).argmax()
    folded = re.sub(r"[^a-z]", "", trace.strings[int(name_id)].lower())
    return next((words for part, words in _COLLECTIVES if part in folded), "comm.")


def _main_category(categories: Uint8, length_ns: Int64, titles: Callable[[int], str]) -> str:
    """What a stream mostly does, "compute" if it is of several kinds."""
    weight = np.bincount(categories, weights=length_ns.astype(np.float64))
    if not weight.sum():
        return ""
    main = int(weight.argmax())
    return titles(main).lower() if weight[main] > 0.9 * weight.sum() else "compute"
