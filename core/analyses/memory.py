"""Memory over time for each device, and what was held when it was most, by the operator that asked for it.

Built from the allocator's events (``profile_memory=True``). An event tells the
allocator's totals after it, so the curves are exact from the first one on; what
was allocated before the recording is in the totals and has no holder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.intervals import counts_by_key, ends_ns, sums_by_key
from core.analyses.nesting import nearest_where
from core.analyses.step_ranges import names_of
from core.files import printable
from core.tables.columns import MISSING, NO_ROW, Int64, freeze_columns
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection
from core.tables.trace import SliceKind
from core.units import GIB, format_bytes_gib, format_count, format_duration_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.analyses.index import TraceIndex
    from core.tables.columns import Int32
    from core.tables.trace import Trace

NO_MEMORY: Final = "The trace holds no memory events. Record it with profile_memory=True."
BEFORE: Final = "(before the recording)"
NO_OPERATOR: Final = "(outside any operator)"
# Source: c10/core/DeviceType.h (torch 2.13).
_DEVICE_TYPES: Final = {
    0: "CPU",
    1: "CUDA",
    6: "HIP",
    9: "XLA",
    12: "XPU",
    13: "MPS",
    15: "HPU",
    20: "PrivateUse1",
}
_LEAST_IN_GIB: Final = GIB // 10
# Operators that only ask for memory: who called them is told instead.
_ASKS_ONLY: Final = ("aten::empty", "aten::new_empty", "aten::resize_", "aten::_empty_affine")


@dataclass(frozen=True, slots=True, eq=False)
class MemoryCurve:
    """One device's memory over time, as one process uses it. Columns (n,).

    Attributes:
        device: For people: "CUDA 0", of several ranks "Rank 1, CUDA 0".
        device_type: As c10 numbers them, MISSING.
        device_number: Of its type, MISSING; negative for a type that has but one.
        event: int64, rows of ``MemoryTable``, by time.
        time_ns: int64.
        allocated_bytes: int64, in use after the event. Where the file tells no totals, since the first event.
        reserved_bytes: int64, held by the allocator after the event, MISSING.
    """

    device: str
    device_type: int
    device_number: int
    event: Int64
    time_ns: Int64
    allocated_bytes: Int64
    reserved_bytes: Int64

    def __post_init__(self) -> None:
        columns = ("event", "time_ns", "allocated_bytes", "reserved_bytes")
        freeze_columns(self, dict.fromkeys(columns, np.int64))


def memory_curves(trace: Trace, selection: Selection = WHOLE) -> tuple[MemoryCurve, ...]:
    """Returns the curve of each device that has memory events on the tracks of a selection, at all times.

    Each rank, or process where ranks are not known, has an allocator and totals
    of its own, also for a device that another one numbers alike.
    """
    table, tracks = trace.memory, trace.tracks
    rows = np.flatnonzero(selection.on_tracks(table.track))
    if not len(rows):
        return ()
    track = table.track[rows]
    rank = tracks.rank[track]
    process = np.where(rank == MISSING, tracks.process_id[track], NO_ROW)
    columns = (rank, process, table.device_type[rows], table.device[rows])
    order = np.lexsort((table.time_ns[rows], *reversed(columns)))
    keys = [column[order] for column in columns]
    begins = np.flatnonzero(np.logical_or.reduce([np.diff(key) != 0 for key in keys])) + 1
    several = any((key != key[0]).any() for key in keys[:2])
    return tuple(
        _curve(trace, rows[event], _owner(trace, int(table.track[rows[event[0]]])) if several else "")
        for event in np.split(order, begins)
    )


def _owner(trace: Trace, track: int) -> str:
    """Names whose memory it is, before the device."""
    rank = int(trace.tracks.rank[track])
    process = printable(trace.strings[int(trace.tracks.process_id[track])])
    return f"Rank {rank}, " if rank != MISSING else f"Process {process}, "


def summarize_memory(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes a row for each operator that held memory at the peak of a device, the largest first.

    Args:
        index: The trace.
        selection: The peak is looked for among the events in it.
    """
    trace = index.trace
    peaks = [
        (curve, peak)
        for curve in memory_curves(trace, selection)
        if (peak := _peak(curve, selection)) is not None
    ]
    asking = _Asking.of(index) if peaks else None
    holders = [holder for curve, peak in peaks if asking for holder in _holders(index, asking, curve, peak)]
    notes = tuple(_peak_note(curve, peak) for curve, peak in peaks)
    empty = "No memory event lies in the selected range." if len(trace.memory) else NO_MEMORY
    if not holders:
        return ResultTable(name="memory", title="Memory", columns=(), empty=empty, notes=notes)
    members = [holder.op_rows for holder in holders]
    return ResultTable(
        name="memory",
        title="Memory",
        columns=(
            own_text_column("device", "Device", "Whose memory.", [each.device for each in holders]),
            own_text_column(
                "op",
                "Operator",
                "The innermost operator that asked for the memory, but for those that do nothing else.",
                [each.op for each in holders],
            ),
            number_column(
                "held_bytes",
                "Held at the peak",
                "bytes",
                "Bytes that were in use when the device's memory in use was most.",
                np.array([each.held_bytes for each in holders], np.int64),
            ),
            number_column(
                "share_pct",
                "Share of the peak",
                "pct",
                "Of all bytes in use at that moment.",
                np.array([each.share_pct for each in holders], np.float64),
            ),
            number_column(
                "allocations",
                "Allocations",
                "count",
                "Blocks of memory that these bytes are.",
                np.array([each.allocations for each in holders], np.int64),
            ),
        ),
        notes=notes,
        members=np.concatenate(members),
        member_ends=np.cumsum([len(each) for each in members], dtype=np.int64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Holder:
    device: str
    op: str
    held_bytes: int
    share_pct: float
    allocations: int
    op_rows: Int32


def _curve(trace: Trace, event: NDArray[np.integer], owner: str) -> MemoryCurve:
    table = trace.memory
    device_type, device = int(table.device_type[event[0]]), int(table.device[event[0]])
    allocated = table.allocated_bytes[event]
    if (allocated == MISSING).any():
        change = table.change_bytes[event]
        allocated = np.cumsum(np.where(change == MISSING, 0, change))
    name = _DEVICE_TYPES.get(device_type, f"Device type {device_type}")
    return MemoryCurve(
        device=owner + (name if device_type == 0 or device < 0 else f"{name} {device}"),
        device_type=device_type,
        device_number=device,
        event=event.astype(np.int64),
        time_ns=table.time_ns[event],
        allocated_bytes=allocated,
        reserved_bytes=table.reserved_bytes[event],
    )


def _peak(curve: MemoryCurve, selection: Selection) -> int | None:
    """Returns the place of the first event of a range after which most is in use, None without any."""
    first = 0 if selection.start_ns is None else int(np.searchsorted(curve.time_ns, selection.start_ns))
    last = len(curve.time_ns)
    if selection.end_ns is not None:
        last = int(np.searchsorted(curve.time_ns, selection.end_ns))
    if first >= last:
        return None
    return first + int(np.argmax(curve.allocated_bytes[first:last]))


def _peak_note(curve: MemoryCurve, peak: int) -> str:
    reserved = int(curve.reserved_bytes[peak])
    # The CPU's allocator reserves nothing and tells 0.
    held = f", {_size(reserved)} reserved" if reserved > 0 else ""
    return (
        f"{curve.device}: peak of {_size(int(curve.allocated_bytes[peak]))} allocated{held}, "
        f"at {format_duration_ns(int(curve.time_ns[peak]))}."
    )


def _size(value_bytes: int) -> str:
    if abs(value_bytes) < 2**20:
        return f"{format_count(value_bytes)} bytes"
    small = abs(value_bytes) < _LEAST_IN_GIB
    return f"{value_bytes / 2**20:,.2f} MiB" if small else format_bytes_gib(value_bytes)


def _holders(index: TraceIndex, asking: _Asking, curve: MemoryCurve, peak: int) -> list[_Holder]:
    """Groups what is live at a peak by operator, the largest first, and what came before at the end."""
    memory, strings = index.trace.memory, index.trace.strings
    live = _live(index.trace, curve.event[: peak + 1])
    op_row = asking.ops(live)
    name_id = np.append(index.trace.slices.name_id, np.int32(NO_ROW))[op_row]
    names, group = np.unique(name_id, return_inverse=True)
    held = sums_by_key(group, memory.change_bytes[live], len(names))
    blocks = counts_by_key(group, len(names))
    total = int(curve.allocated_bytes[peak])
    found = []
    for place in np.argsort(-held, kind="stable").tolist():
        rows = np.unique(op_row[(group == place) & (op_row != NO_ROW)]).astype(np.int32)
        name = NO_OPERATOR if names[place] == NO_ROW else strings[int(names[place])]
        bytes_held = int(held[place])
        found.append(
            _Holder(curve.device, name, bytes_held, _share_pct(bytes_held, total), int(blocks[place]), rows)
        )
    before = total - int(held.sum())
    if before > 0:
        nothing = np.empty(0, np.int32)
        found.append(_Holder(curve.device, BEFORE, before, _share_pct(before, total), MISSING, nothing))
    return found


def _share_pct(part: int, total: int) -> float:
    return 100.0 * part / total if total > 0 else float("nan")


def _live(trace: Trace, event: Int64) -> Int64:
    """Returns the allocations among some events, by time, that no later one of them frees or replaces."""
    memory = trace.memory
    event = event[(memory.address[event] != MISSING) & (memory.change_bytes[event] != MISSING)]
    _, from_behind = np.unique(memory.address[event][::-1], return_index=True)
    last = event[np.sort(len(event) - 1 - from_behind)]
    return last[memory.change_bytes[last] > 0]


@dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    """Who asked for memory.

    Attributes:
        index: The trace.
        track: (calls,) int32, the track of each slice of ``index.calls.order``, ascending.
        does_more: (slices + 1,) int32, the innermost operator around each slice that does more than ask,
            NO_ROW; the last entry, which NO_ROW points to, is NO_ROW.
        any_op: (slices + 1,) int32, the innermost operator around each slice, as ``does_more``.
    """

    index: TraceIndex
    track: Int32
    does_more: Int32
    any_op: Int32

    @classmethod
    def of(cls, index: TraceIndex) -> _Asking:
        slices = index.trace.slices
        is_op = slices.kind == SliceKind.OP
        only = [text_id for text_id, text in names_of(index.trace, is_op) if text.startswith(_ASKS_ONLY)]
        does_more = nearest_where(index.calls, is_op & ~np.isin(slices.name_id, only))
        any_op = nearest_where(index.calls, is_op)
        none = np.int32(NO_ROW)
        track = slices.track[index.calls.order]
        return cls(index, track, np.append(does_more, none), np.append(any_op, none))

    def ops(self, event: Int64) -> Int32:
        """Returns the row of the operator around each event, NO_ROW where there is none."""
        memory, order = self.index.trace.memory, self.index.calls.order
        found = np.full(len(event), NO_ROW, np.int32)
        for track in np.unique(memory.track[event]).tolist():
            here = np.flatnonzero(memory.track[event] == track)
            first, last = np.searchsorted(self.track, [track, track + 1])
            found[here] = _around(self.index, order[first:last], memory.time_ns[event[here]])
        op_row = self.does_more[found]
        return np.where(op_row == NO_ROW, self.any_op[found], op_row)


def _around(index: TraceIndex, order: Int32, time_ns: Int64) -> Int32:
    """Returns the innermost slice of a thread around each moment, NO_ROW where there is none.

    Args:
        index: The trace.
        order: (n,) int32, the thread's slices by start, parents before children.
        time_ns: (m,) int64, the moments.
    """
    if not len(order):
        return np.full(len(time_ns), NO_ROW, np.int32)
    slices, parent = index.trace.slices, index.calls.parent_row
    before = np.searchsorted(slices.start_ns[order], time_ns, side="right") - 1
    row = np.append(order, np.int32(NO_ROW))[before]
    while True:
        end_ns = ends_ns(slices.start_ns[row], slices.duration_ns[row])
        over = np.flatnonzero((row != NO_ROW) & (end_ns < time_ns))
        if not len(over):
            return row
        row[over] = parent[row[over]]
