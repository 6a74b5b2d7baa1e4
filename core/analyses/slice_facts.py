"""What the tables know of one slice: what it is, who called it, where else its name is, in which step it is.

What only the file knows (its other arguments) is read by ``event_text``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.beside import beside_communication
from core.analyses.categories import Category
from core.analyses.intervals import exact_sum
from core.analyses.stacks import python_stack
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import DEVICE_KINDS, SliceKind

if TYPE_CHECKING:
    from core.analyses.beside import BesideCommunication
    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Int32, Int64
    from core.tables.trace import Trace


_SHARED_KINDS: Final = (*DEVICE_KINDS, SliceKind.OP, SliceKind.RUNTIME)
"""Kinds whose slices do not lie in each other, operators inside operators apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """How a kernel was launched; None where the trace does not say."""

    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    registers_per_thread: int | None
    shared_memory_bytes: int | None
    occupancy_pct: float | None
    copy_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What launched a piece of device work, or what an operator was called with.

    Attributes:
        launch_row, op_row: Slices, None if they are not known.
        launch_name, op_name, module: "" if they are not known.
        inputs: (shape, type) of each input, as texts.
        stack: Python frames, the outermost first.
        launch_delay_ns: From the begin of the call to the begin of the work.
        clock_skew_ns: By how much the work begins before its call, which cannot be.
    """

    launch_row: int | None = None
    launch_name: str = ""
    op_row: int | None = None
    op_name: str = ""
    module: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    stack: tuple[str, ...] = ()
    launch_delay_ns: int | None = None
    clock_skew_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SameName:
    """All slices of one name and kind.

    Attributes:
        rows: (calls,) int32, by start.
        position: Which of them, from 1, this one is.
        sum_ns: Of the possible durations; min, mean and max are None if there are none.
        is_longest: Whether it is the first of the longest, and another is shorter.
        share_pct: Of the summed time of all slices of its kind, of operators of the outermost ones; None if
            that is 0, and where slices of this name or kind lie in each other, so that shares do not add up.
    """

    rows: Int32
    position: int
    is_longest: bool
    sum_ns: int
    share_pct: float | None
    min_ns: int | None
    mean_ns: float | None
    max_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InStep:
    """The step that launched or holds a slice.

    Attributes:
        number: As the profiler counts.
        offset_ns: From the step's start to the slice's; it may begin after the step has ended.
        start_ns, end_ns: Of the step.
    """

    number: int
    offset_ns: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SliceFacts:
    """One slice.

    Attributes:
        row: Of ``SliceTable``.
        category: Title of the category of device work, else "".
        duration_ns: As recorded: negative if the file says so, None if it says nothing.
        device, stream, rank: None if the trace does not say.
        thread: Name or number of the thread or stream.
        beside: What communicated during it, None if nothing did or it is no computing kernel.
        source_offset: Where the event stands in the file.
    """

    row: int
    name: str
    kind: SliceKind
    category: str
    start_ns: int
    duration_ns: int | None
    device: int | None
    stream: int | None
    rank: int | None
    process: str
    thread: str
    launch: LaunchShape | None
    collective: tuple[tuple[str, str], ...]
    caller: Caller
    same: SameName
    step: InStep | None
    beside: BesideCommunication | None
    source_offset: int

    @property
    def is_device_work(self) -> bool:
        """Whether it occupies a device."""
        return self.kind in DEVICE_KINDS

    @property
    def is_kernel(self) -> bool:
        """Whether it computes, and is no copy."""
        return self.kind == SliceKind.KERNEL


def describe_slice(index: TraceIndex, row: int) -> SliceFacts:
    """Gathers what is known of one slice.

    Args:
        index: The trace.
        row: Row of its ``SliceTable``.
    """
    trace = index.trace
    slices, tracks, strings = trace.slices, trace.tracks, trace.strings
    track = int(slices.track[row])
    place = _place(trace.device_work.slice_row, row)
    thread_id = int(tracks.thread_name_id[track])
    process_id = int(tracks.process_name_id[track])
    work = trace.device_work
    return SliceFacts(
        row=row,
        name=strings[int(slices.name_id[row])],
        kind=SliceKind(int(slices.kind[row])),
        category="" if place is None else Category(int(index.categories[place])).title,
        start_ns=int(slices.start_ns[row]),
        duration_ns=_known(slices.duration_ns[row]),
        device=_known(tracks.device[track] if place is None else work.device[place]),
        stream=_known(tracks.stream[track] if place is None else work.stream[place]),
        rank=_known(tracks.rank[track]),
        process=strings[int(tracks.process_id[track]) if process_id == NO_ROW else process_id],
        thread=strings[int(tracks.thread_id[track]) if thread_id == NO_ROW else thread_id],
        launch=None if place is None else _launch_shape(trace, place),
        collective=_collective(trace, row),
        caller=_host_caller(index, row) if place is None else _device_caller(index, place),
        same=_same_name(index, row),
        step=_step_of(index, row, place),
        beside=beside_communication(index, row),
        source_offset=int(slices.source_offset[row]),
    )


def _place(rows: Int32, row: int) -> int | None:
    """Returns where a row stands among ascending rows, None if it does not."""
    at = int(np.searchsorted(rows, row))
    return at if at < len(rows) and int(rows[at]) == row else None


def _known(value: Any) -> int | None:
    return None if int(value) == MISSING else int(value)


def _launch_shape(trace: Trace, place: int) -> LaunchShape:
    work = trace.device_work
    occupancy = float(work.occupancy_pct[place])
    return LaunchShape(
        grid=_triple(work.grid, place),
        block=_triple(work.block, place),
        registers_per_thread=_known(work.registers_per_thread[place]),
        shared_memory_bytes=_known(work.shared_memory_bytes[place]),
        occupancy_pct=None if np.isnan(occupancy) else occupancy,
        copy_bytes=_known(work.copy_bytes[place]),
    )


def _triple(values: Int64, place: int) -> tuple[int, int, int] | None:
    x, y, z = (int(each) for each in values[place])
    return None if MISSING in (x, y, z) else (x, y, z)


def _collective(trace: Trace, row: int) -> tuple[tuple[str, str], ...]:
    table = trace.collectives
    found = np.flatnonzero(table.slice_row == row)
    if not len(found):
        return ()
    place = int(found[0])

    def text(column: Int32) -> str | None:
        return None if column[place] == NO_ROW else trace.strings[int(column[place])]

    def number(column: Int64) -> str | None:
        value = _known(column[place])
        return None if value is None else f"{value:,}"

    pairs = (
        ("Collective", text(table.name_id)),
        ("Data type", text(table.dtype_id)),
        ("Elements in", number(table.in_elements)),
        ("Elements out", number(table.out_elements)),
        ("Group size", number(table.group_size)),
        ("Group", text(table.group_description_id) or text(table.group_name_id)),
    )
    return tuple((key, value) for key, value in pairs if value)


def _device_caller(index: TraceIndex, place: int) -> Caller:
    trace, links = index.trace, index.links
    launch_row, op_row = int(links.launch_row[place]), int(links.op_row[place])
    ids, names = index.module_of_work
    module = int(ids[place])
    row = int(trace.device_work.slice_row[place])
    return Caller(
        launch_row=None if launch_row == NO_ROW else launch_row,
        launch_name="" if launch_row == NO_ROW else trace.strings[int(trace.slices.name_id[launch_row])],
        op_row=None if op_row == NO_ROW else op_row,
        op_name="" if op_row == NO_ROW else trace.strings[int(trace.slices.name_id[op_row])],
        module="" if module == NO_ROW else names[module],
        inputs=_inputs(trace, op_row),
        stack=python_stack(index, row),
        launch_delay_ns=_known(links.launch_delay_ns[place]),
        clock_skew_ns=_known(links.clock_skew_ns[place]),
    )


def _host_caller(index: TraceIndex, row: int) -> Caller:
    """What calls a slice of the host: the operator around it."""
    trace = index.trace
    parent = int(index.calls.parent_row[row])
    return Caller(
        op_row=None if parent == NO_ROW else parent,
        op_name="" if parent == NO_ROW else trace.strings[int(trace.slices.name_id[parent])],
        inputs=_inputs(trace, row),
        stack=python_stack(index, row),
    )


def _inputs(trace: Trace, op_row: int) -> tuple[tuple[str, str], ...]:
    place = None if op_row == NO_ROW else _place(trace.ops.slice_row, op_row)
    if place is None:
        return ()
    shapes = _json_list(trace, int(trace.ops.input_dims_id[place]))
    types = _json_list(trace, int(trace.ops.input_types_id[place]))
    types += [""] * (len(shapes) - len(types))
    return tuple(
        (json.dumps(shape, ensure_ascii=False), str(kind))
        for shape, kind in zip(shapes, types, strict=False)
        if shape or kind
    )


def _json_list(trace: Trace, text_id: int) -> list[Any]:
    if text_id == NO_ROW:
        return []
    try:
        value = json.loads(trace.strings[text_id])
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _same_name(index: TraceIndex, row: int) -> SameName:
    slices = index.trace.slices
    kind = slices.kind == slices.kind[row]
    rows = np.flatnonzero(kind & (slices.name_id == slices.name_id[row])).astype(np.int32)
    rows = rows[np.argsort(slices.start_ns[rows], kind="stable")]
    length_ns = slices.duration_ns[rows]
    possible = length_ns[length_ns >= 0]
    sum_ns = exact_sum(possible)
    everything_ns = _base_ns(index, SliceKind(int(slices.kind[row])), rows)
    longest = rows[np.argmax(length_ns)]
    return SameName(
        rows=rows,
        position=int(np.flatnonzero(rows == row)[0]) + 1,
        sum_ns=sum_ns,
        is_longest=bool(longest == row and len(possible) > 1 and possible.min() < possible.max()),
        share_pct=100 * sum_ns / everything_ns if everything_ns else None,
        min_ns=int(possible.min()) if len(possible) else None,
        mean_ns=sum_ns / len(possible) if len(possible) else None,
        max_ns=int(possible.max()) if len(possible) else None,
    )


def _base_ns(index: TraceIndex, kind: SliceKind, rows: Int32) -> int:
    """Returns what the time of some slices of a kind can be a share of, 0 if of nothing."""
    slices = index.trace.slices
    if kind not in _SHARED_KINDS:
        return 0
    chosen = np.flatnonzero(slices.kind == kind)
    if kind == SliceKind.OP:
        if _lie_in_operators(index, rows).any():
            return 0
        chosen = chosen[~_lie_in_operators(index, chosen)]
    return exact_sum(np.maximum(slices.duration_ns[chosen], 0))


def _lie_in_operators(index: TraceIndex, rows: Int32 | Int64) -> Bool:
    """Returns (n,) bool: whether an operator is around each slice, however far out; other ranges are none."""
    kind, parent_row = index.trace.slices.kind, index.calls.parent_row
    around = parent_row[rows]
    while (further := (around != NO_ROW) & (kind[around] != SliceKind.OP)).any():
        around = np.where(further, parent_row[around], around)
    inside: Bool = around != NO_ROW
    return inside


def _step_of(index: TraceIndex, row: int, place: int | None) -> InStep | None:
    steps, start_ns = index.steps, int(index.trace.slices.start_ns[row])
    if place is not None:
        step = int(index.step_of_work[place])
    else:
        inside = (steps.start_ns <= start_ns) & (start_ns < steps.end_ns)
        own = inside & (steps.track == index.trace.slices.track[row])
        found = np.flatnonzero(own if own.any() else inside)
        step = int(found[0]) if len(found) else NO_ROW
    if step == NO_ROW:
        return None
    return InStep(
        number=int(steps.number[step]),
        offset_ns=start_ns - int(steps.start_ns[step]),
        start_ns=int(steps.start_ns[step]),
        end_ns=int(steps.end_ns[step]),
    )
