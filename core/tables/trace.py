"""The tables of one profiler trace, as any reader returns it.

Every slice (an event with a begin and an end) is one row of ``SliceTable``, in
the order of the file. The other tables hold what only some slices have and
point to them by row; so a trace without kernels has an empty ``DeviceTable``,
not columns of nothing. Names are ids into one ``StringTable``.

Time is int64 nanoseconds since ``TraceFacts.origin_ns``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

from core.tables.columns import Float64, Int32, Int64, Uint8, freeze_columns
from core.tables.strings import StringTable


class SliceKind(IntEnum):
    """What a slice is, decided once by the reader from category, process and thread.

    ``DEVICE_KINDS`` are those that occupy a device. ``OP`` is an operator of the
    framework (``cpu_op``), ``RUNTIME`` a call into the device's runtime or
    driver library, ``PYTHON`` a Python frame, ``ANNOTATION`` a range of the user
    or of the profiler on the host, ``GPU_ANNOTATION`` its shadow on a device,
    ``SYNC`` a wait of the host or a stream as CUPTI records it, ``OVERHEAD`` the
    profiler's own, ``PROFILER`` the row that spans the whole recording.
    """

    OTHER = 0
    KERNEL = 1
    MEMCPY = 2
    MEMSET = 3
    OP = 4
    RUNTIME = 5
    PYTHON = 6
    ANNOTATION = 7
    GPU_ANNOTATION = 8
    SYNC = 9
    OVERHEAD = 10
    PROFILER = 11


DEVICE_KINDS: Final = (SliceKind.KERNEL, SliceKind.MEMCPY, SliceKind.MEMSET)


class FlowPhase(IntEnum):
    """Which end of an arrow a flow event is."""

    START = 0
    STEP = 1
    END = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was skipped, repaired or is doubtful.

    Attributes:
        code: Stable word for programs: ``bad_escape``.
        count: How often it occurred.
        message: One plain sentence for people, with the count.
        places: Where, for the first few: "line 28", "byte 1,024 of the unpacked text".
        rows: Rows of ``SliceTable`` it is about, the first few thousand at most.
    """

    code: str
    count: int
    message: str
    places: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SliceTable:
    """Every slice, in the order of the file. All columns (n,).

    Attributes:
        start_ns: int64, since the origin.
        duration_ns: int64 as recorded: negative if the file says so, ``MISSING`` if it says nothing.
        name_id: int32, text.
        category_id: int32, text of ``cat`` as it stands in the file, NO_ROW if there is none.
        kind: uint8, ``SliceKind``.
        track: int32, row of ``TrackTable``.
        correlation: int64, MISSING if there is none. Joins device work with the call that launched it.
        external_id: int64, MISSING if there is none. Joins device work with its operator.
        source_offset: int64, byte in the unpacked UTF-8 text of the file where the event's object begins.
    """

    start_ns: Int64
    duration_ns: Int64
    name_id: Int32
    category_id: Int32
    kind: Uint8
    track: Int32
    correlation: Int64
    external_id: Int64
    source_offset: Int64

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "start_ns": np.int64,
                "duration_ns": np.int64,
                "name_id": np.int32,
                "category_id": np.int32,
                "kind": np.uint8,
                "track": np.int32,
                "correlation": np.int64,
                "external_id": np.int64,
                "source_offset": np.int64,
            },
        )

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTable:
    """What only device work has (``DEVICE_KINDS``), a row each, by ascending ``slice_row``. Columns (n,).

    Attributes:
        slice_row: int32.
        device: int64, the device's number, MISSING if the file does not say.
        stream: int64, MISSING if the file does not say.
        grid, block: (n, 3) int64, MISSING where not recorded.
        registers_per_thread: int64, MISSING.
        shared_memory_bytes: int64, MISSING.
        occupancy_pct: float64, estimate of the profiler, NaN.
        copy_bytes: int64, of a copy or a set, MISSING.
        collective_row: int32, row of ``CollectiveTable``, NO_ROW.
    """

    slice_row: Int32
    device: Int64
    stream: Int64
    grid: Int64
    block: Int64
    registers_per_thread: Int64
    shared_memory_bytes: Int64
    occupancy_pct: Float64
    copy_bytes: Int64
    collective_row: Int32

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "slice_row": np.int32,
                "device": np.int64,
                "stream": np.int64,
                "grid": np.int64,
                "block": np.int64,
                "registers_per_thread": np.int64,
                "shared_memory_bytes": np.int64,
                "occupancy_pct": np.float64,
                "copy_bytes": np.int64,
                "collective_row": np.int32,
            },
            {"grid": 3, "block": 3},
        )

    def __len__(self) -> int:
        return len(self.slice_row)


@dataclass(frozen=True, slots=True, eq=False)
class OpTable:
    """What only operators and annotations have, by ascending ``slice_row``. Columns (n,).

    The texts are the JSON of the file as it stands there, parsed when shown.

    Attributes:
        slice_row: int32.
        input_dims_id, input_types_id, concrete_inputs_id: int32 texts, NO_ROW. Of concrete inputs an element
            an input: the value of a number or a list of numbers, empty for a tensor.
        call_stack_id, module_hierarchy_id: int32 texts, NO_ROW.
        sequence_number: int64, joins forward and backward, MISSING.
        forward_thread_id: int64, MISSING.
        collective_row: int32, row of ``CollectiveTable``, NO_ROW.
    """

    slice_row: Int32
    input_dims_id: Int32
    input_types_id: Int32
    concrete_inputs_id: Int32
    call_stack_id: Int32
    module_hierarchy_id: Int32
    sequence_number: Int64
    forward_thread_id: Int64
    collective_row: Int32

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "slice_row": np.int32,
                "input_dims_id": np.int32,
                "input_types_id": np.int32,
                "concrete_inputs_id": np.int32,
                "call_stack_id": np.int32,
                "module_hierarchy_id": np.int32,
                "sequence_number": np.int64,
                "forward_thread_id": np.int64,
                "collective_row": np.int32,
            },
        )

    def __len__(self) -> int:
        return len(self.slice_row)


@dataclass(frozen=True, slots=True, eq=False)
class CollectiveTable:
    """Arguments of collectives, as kernels and ``record_param_comms`` carry them. Columns (n,).

    Attributes:
        slice_row: int32.
        name_id, dtype_id, group_name_id, group_description_id, group_ranks_id: int32 texts, NO_ROW.
        in_elements, out_elements: int64, MISSING.
        group_size: int64, MISSING.
        sequence: int64, the collective's number in its group, MISSING.
    """

    slice_row: Int32
    name_id: Int32
    dtype_id: Int32
    group_name_id: Int32
    group_description_id: Int32
    group_ranks_id: Int32
    in_elements: Int64
    out_elements: Int64
    group_size: Int64
    sequence: Int64

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "slice_row": np.int32,
                "name_id": np.int32,
                "dtype_id": np.int32,
                "group_name_id": np.int32,
                "group_description_id": np.int32,
                "group_ranks_id": np.int32,
                "in_elements": np.int64,
                "out_elements": np.int64,
                "group_size": np.int64,
                "sequence": np.int64,
            },
        )

    def __len__(self) -> int:
        return len(self.slice_row)


@dataclass(frozen=True, slots=True, eq=False)
class CounterTable:
    """Samples of counters (``ph: C``), a row for each series of each sample. Columns (n,).

    Attributes:
        time_ns: int64.
        name_id, series_id: int32 texts.
        track: int32.
        value: float64, NaN if the file holds no number.
    """

    time_ns: Int64
    name_id: Int32
    series_id: Int32
    track: Int32
    value: Float64

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "time_ns": np.int64,
                "name_id": np.int32,
                "series_id": np.int32,
                "track": np.int32,
                "value": np.float64,
            },
        )

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTable:
    """Allocations and frees (``[memory]`` events of ``profile_memory``), in the order of the file. (n,).

    Attributes:
        time_ns: int64.
        track: int32, the thread that did it.
        address: int64 (the bits of the unsigned address), MISSING.
        change_bytes: int64, positive for an allocation, negative for a free, MISSING.
        allocated_bytes, reserved_bytes: int64, the allocator's totals after it, MISSING.
        device_type: int64 as in ``c10::DeviceType`` (0 CPU, 1 CUDA, 6 HIP, 12 XPU, 20 PrivateUse1), MISSING.
        device: int64, its number, MISSING.
    """

    time_ns: Int64
    track: Int32
    address: Int64
    change_bytes: Int64
    allocated_bytes: Int64
    reserved_bytes: Int64
    device_type: Int64
    device: Int64

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "time_ns": np.int64,
                "track": np.int32,
                "address": np.int64,
                "change_bytes": np.int64,
                "allocated_bytes": np.int64,
                "reserved_bytes": np.int64,
                "device_type": np.int64,
                "device": np.int64,
            },
        )

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, slots=True, eq=False)
class FlowTable:
    """Ends of arrows (``ph: s, t, f``), in the order of the file. Columns (n,).

    Attributes:
        time_ns: int64.
        track: int32.
        phase: uint8, ``FlowPhase``.
        flow_id: int64; arrows with one id and one category belong together.
        category_id: int32 text (``ac2g``, ``fwdbwd``), NO_ROW.
    """

    time_ns: Int64
    track: Int32
    phase: Uint8
    flow_id: Int64
    category_id: Int32

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "time_ns": np.int64,
                "track": np.int32,
                "phase": np.uint8,
                "flow_id": np.int64,
                "category_id": np.int32,
            },
        )

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, slots=True, eq=False)
class InstantTable:
    """Moments without a length (``ph: i, I, R``) that are no memory events. Columns (n,).

    Attributes:
        time_ns: int64.
        track: int32.
        name_id: int32.
    """

    time_ns: Int64
    track: Int32
    name_id: Int32

    def __post_init__(self) -> None:
        freeze_columns(self, {"time_ns": np.int64, "track": np.int32, "name_id": np.int32})

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, slots=True, eq=False)
class TrackTable:
    """One row for each (process, thread) of the file, in the order of first appearance. Columns (n,).

    Attributes:
        process_id, thread_id: int32 texts of ``pid`` and ``tid`` as they stand there, without quotes.
        process_name_id, thread_name_id: int32 texts of the metadata rows, NO_ROW.
        is_device: uint8, 1 if the process stands for a device.
        device: int64, the device's number, MISSING.
        stream: int64, the stream's number if the thread stands for one, MISSING.
        rank: int64, of distributedInfo, else of the events' own ``rank`` argument, MISSING.
    """

    process_id: Int32
    thread_id: Int32
    process_name_id: Int32
    thread_name_id: Int32
    is_device: Uint8
    device: Int64
    stream: Int64
    rank: Int64

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "process_id": np.int32,
                "thread_id": np.int32,
                "process_name_id": np.int32,
                "thread_name_id": np.int32,
                "is_device": np.uint8,
                "device": np.int64,
                "stream": np.int64,
                "rank": np.int64,
            },
        )

    def __len__(self) -> int:
        return len(self.process_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """One device as ``deviceProperties`` describes it; None where it does not say."""

    id: int
    name: str
    total_memory_bytes: int | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    warp_size: int | None = None
    max_threads_per_sm: int | None = None
    registers_per_sm: int | None = None
    shared_memory_per_sm_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFacts:
    """What the file says of itself outside its events.

    Attributes:
        origin_ns: Time zero of the tables, as the file's own ``ts`` in nanoseconds.
        base_time_ns: ``baseTimeNanoseconds``; epoch time = base + origin + start. None if the file has none.
        schema_version: None if absent.
        rank, world_size, backend: of ``distributedInfo``.
        devices: of ``deviceProperties``.
        metadata: every other top-level key, name to text (JSON, at most 4 KiB each).
        event_count: elements of ``traceEvents``, whatever they are.
        source_bytes: size of the file; ``text_bytes`` of its unpacked text.
    """

    origin_ns: int
    base_time_ns: int | None = None
    schema_version: int | None = None
    rank: int | None = None
    world_size: int | None = None
    backend: str | None = None
    devices: tuple[DeviceFacts, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    event_count: int = 0
    source_bytes: int = 0
    text_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trace:
    """One trace: its tables, its texts, what it says of itself, and what is wrong with it."""

    name: str
    strings: StringTable
    slices: SliceTable
    device_work: DeviceTable
    ops: OpTable
    collectives: CollectiveTable
    counters: CounterTable
    memory: MemoryTable
    flows: FlowTable
    instants: InstantTable
    tracks: TrackTable
    facts: TraceFacts
    problems: tuple[Problem, ...]
