"""Events as they stand in the file: what the scan of one chunk hands on, before anything is interpreted.

The compiled scan and the slow reading of single broken events fill the same
columns, so nothing after them knows which of the two read an event. The numbers
of ``Slot`` are built into compiled code: core.compiled looks for changes here too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from core.tables.columns import Int32, Int64, Uint8


class ArgumentKind(IntEnum):
    """How the value of a known argument is kept."""

    INTEGER = 0
    """int64."""
    NUMBER = 1
    """The bits of a float64, as int64."""
    TEXT = 2
    """Id of the text: of a string its content, of anything else its JSON as it stands there."""
    TRIPLE = 3
    """Three integers: kept under this slot and the two after it."""


class Slot(IntEnum):
    """Arguments that are kept; all others stay in the file and are read there when asked for."""

    CORRELATION = 0
    EXTERNAL_ID = 1
    STREAM = 2
    DEVICE = 3
    GRID = 4
    GRID_Y = 5
    GRID_Z = 6
    BLOCK = 7
    BLOCK_Y = 8
    BLOCK_Z = 9
    REGISTERS = 10
    SHARED_MEMORY = 11
    OCCUPANCY = 12
    COPY_BYTES = 13
    INPUT_DIMS = 14
    INPUT_TYPES = 15
    CONCRETE_INPUTS = 16
    CALL_STACK = 17
    MODULE_HIERARCHY = 18
    SEQUENCE_NUMBER = 19
    FORWARD_THREAD = 20
    COLLECTIVE_NAME = 21
    COLLECTIVE_DTYPE = 22
    IN_ELEMENTS = 23
    OUT_ELEMENTS = 24
    GROUP_SIZE = 25
    GROUP_NAME = 26
    GROUP_DESCRIPTION = 27
    GROUP_RANKS = 28
    COLLECTIVE_SEQUENCE = 29
    ADDRESS = 30
    CHANGE_BYTES = 31
    ALLOCATED_BYTES = 32
    RESERVED_BYTES = 33
    DEVICE_TYPE = 34
    DEVICE_ID = 35
    RANK = 36
    TASK_TYPE = 37
    FLOW_ID = 38
    """The event's own ``id``, not an argument."""


_INTEGER = ArgumentKind.INTEGER
_NUMBER = ArgumentKind.NUMBER
_TEXT = ArgumentKind.TEXT
_TRIPLE = ArgumentKind.TRIPLE

# Source: names as torch 1.8 to 2.13, Kineto's output_json.cpp and NPU and JAX traces write them.
ARGUMENTS: Final[tuple[tuple[str, Slot, ArgumentKind], ...]] = (
    ("correlation", Slot.CORRELATION, _INTEGER),
    ("External id", Slot.EXTERNAL_ID, _INTEGER),
    ("external id", Slot.EXTERNAL_ID, _INTEGER),
    ("stream", Slot.STREAM, _INTEGER),
    ("device", Slot.DEVICE, _INTEGER),
    ("grid", Slot.GRID, _TRIPLE),
    ("block", Slot.BLOCK, _TRIPLE),
    ("registers per thread", Slot.REGISTERS, _INTEGER),
    ("shared memory", Slot.SHARED_MEMORY, _INTEGER),
    ("est. achieved occupancy %", Slot.OCCUPANCY, _NUMBER),
    ("bytes", Slot.COPY_BYTES, _INTEGER),
    ("Input Dims", Slot.INPUT_DIMS, _TEXT),
    ("Input dims", Slot.INPUT_DIMS, _TEXT),
    ("Input type", Slot.INPUT_TYPES, _TEXT),
    ("Concrete Inputs", Slot.CONCRETE_INPUTS, _TEXT),
    ("Call stack", Slot.CALL_STACK, _TEXT),
    ("Module Hierarchy", Slot.MODULE_HIERARCHY, _TEXT),
    ("Sequence number", Slot.SEQUENCE_NUMBER, _INTEGER),
    ("Fwd thread id", Slot.FORWARD_THREAD, _INTEGER),
    ("Collective name", Slot.COLLECTIVE_NAME, _TEXT),
    ("collective_name", Slot.COLLECTIVE_NAME, _TEXT),
    ("dtype", Slot.COLLECTIVE_DTYPE, _TEXT),
    ("In msg nelems", Slot.IN_ELEMENTS, _INTEGER),
    ("in_msg_nelems", Slot.IN_ELEMENTS, _INTEGER),
    ("Out msg nelems", Slot.OUT_ELEMENTS, _INTEGER),
    ("out_msg_nelems", Slot.OUT_ELEMENTS, _INTEGER),
    ("Group size", Slot.GROUP_SIZE, _INTEGER),
    ("group_size", Slot.GROUP_SIZE, _INTEGER),
    ("Process Group Name", Slot.GROUP_NAME, _TEXT),
    ("Process Group Description", Slot.GROUP_DESCRIPTION, _TEXT),
    ("Process Group Ranks", Slot.GROUP_RANKS, _TEXT),
    ("Seq", Slot.COLLECTIVE_SEQUENCE, _INTEGER),
    ("Addr", Slot.ADDRESS, _INTEGER),
    ("Bytes", Slot.CHANGE_BYTES, _INTEGER),
    ("Total Allocated", Slot.ALLOCATED_BYTES, _INTEGER),
    ("Total Reserved", Slot.RESERVED_BYTES, _INTEGER),
    ("Device Type", Slot.DEVICE_TYPE, _INTEGER),
    ("Device Id", Slot.DEVICE_ID, _INTEGER),
    ("rank", Slot.RANK, _INTEGER),
    ("Task Type", Slot.TASK_TYPE, _TEXT),
)

ABSENT: Final = 0
"""Phase of an event without ``ph``."""


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """The values of one slot: only the events that have it.

    Attributes:
        rows: (m,) int32, event rows of this chunk, ascending, each once (the last value wins).
        values: (m,) int64, or int32 where all fit: the integer, the bits of the float64, or the text id.
    """

    rows: Int32
    values: Int64 | Int32


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RawEvents:
    """The slices, flows and instants of one chunk, in the order of the file. Columns (n,).

    Metadata rows (``M``), counters (``C``) and whatever the scan could not read
    are not here: their places are in ``left``.

    Attributes:
        phase: uint8, the ASCII code of the one-letter ``ph``, ``ABSENT``.
        time_ns: int64, ``ts`` in ns exactly as its decimals say (half a ns rounds away from zero), MISSING.
        duration_ns: int64, ``dur`` in ns, MISSING if absent.
        name, category, process, thread: int32 ids into ``texts``, NO_ROW if absent. A number stands there as
            its JSON text.
        offset: int64, byte of the event's ``{`` in the unpacked UTF-8 text.
        arguments: the known arguments, by slot.
        texts: every text of the chunk once. Strings as they stand between their quotes, still escaped.
        left: (k, 2) int64, begin and end in the unpacked text of events that are to be read one by one.
        null_count: elements of the array that are no objects (null, numbers, texts).
        null_offset: where the first of them is, -1 if there is none.
        stray_commas: (s,) int64, where a comma stands that separates nothing.
    """

    phase: Uint8
    time_ns: Int64
    duration_ns: Int64
    name: Int32
    category: Int32
    process: Int32
    thread: Int32
    offset: Int64
    arguments: dict[Slot, Sparse]
    texts: list[bytes]
    left: Int64
    null_count: int
    null_offset: int
    stray_commas: Int64

    def __len__(self) -> int:
        return len(self.phase)


@dataclass(slots=True)
class Oddities:
    """What was repaired or skipped, by code: how often and where. Grows while a file is read."""

    counts: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, list[int]] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)

    def add(self, code: str, offset: int, count: int = 1, detail: str = "") -> None:
        """Counts ``count`` of them, the first at ``offset`` of the unpacked text."""
        self.counts[code] = self.counts.get(code, 0) + count
        places = self.offsets.setdefault(code, [])
        if len(places) < 8:
            places.append(offset)
        if detail:
            self.details.setdefault(code, detail)
