"""Makes the tables of a trace out of the raw events of its chunks.

Chunks come in the order of the file. Each is split at once into slices, flows,
memory events and instants, its texts joined to those before, so that no more
than the tables themselves stays in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.readers.torch_trace.raw import Oddities, RawEvents, Slot, Sparse
from core.tables.columns import MISSING, NO_ROW

if TYPE_CHECKING:
    from core.tables.columns import Bool, Int32, Int64, Uint8

_SLICE_PHASES: Final = tuple(ord(phase) for phase in "XBE")
_FLOW_PHASES: Final = tuple(ord(phase) for phase in "stf")
_INSTANT_PHASES: Final = tuple(ord(phase) for phase in "iIRn")
_FEWEST_ROWS: Final = 4096
_MEMORY_NAME: Final = b"[memory]"

_COLUMNS: Final = ("phase", "time_ns", "duration_ns", "name", "category", "track", "offset")
_MEMORY_SLOTS: Final = (
    Slot.ADDRESS,
    Slot.CHANGE_BYTES,
    Slot.ALLOCATED_BYTES,
    Slot.RESERVED_BYTES,
    Slot.DEVICE_TYPE,
    Slot.DEVICE_ID,
)
_SLICE_SLOTS: Final = tuple(slot for slot in Slot if slot not in (*_MEMORY_SLOTS, Slot.FLOW_ID))


class _Growing:
    """A column that grows at its end. Growing moves pages, not bytes, and leaves no second copy behind."""

    def __init__(self) -> None:
        self._column: np.ndarray[Any, Any] | None = None
        self._count = 0

    def add(self, part: np.ndarray[Any, Any]) -> None:
        """Adds values; a column of small integers widens when a large one comes."""
        if self._column is None:
            self._column = np.empty(max(len(part), _FEWEST_ROWS), part.dtype)
        elif part.dtype.itemsize > self._column.dtype.itemsize:
            self._column = self._column.astype(part.dtype)
        end = self._count + len(part)
        if end > len(self._column):
            self._column.resize(max(end, len(self._column) * 5 // 4), refcheck=False)
        self._column[self._count : end] = part
        self._count = end

    def take(self, dtype: type[np.generic]) -> np.ndarray[Any, Any]:
        """Returns the column. It is used up."""
        if self._column is None:
            return np.empty(0, dtype)
        column = self._column
        self._column = None
        column.resize(self._count, refcheck=False)
        return column


class Gathered:
    """Events of one class from all chunks: columns and the arguments that belong to them."""

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self._slots = slots
        self._columns: dict[str, _Growing] = {name: _Growing() for name in _COLUMNS}
        self._rows: dict[Slot, _Growing] = {}
        self._values: dict[Slot, _Growing] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self, columns: dict[str, np.ndarray[Any, Any]], arguments: dict[Slot, Sparse], chosen: Bool
    ) -> None:
        """Adds the chosen rows of a chunk."""
        count = int(np.count_nonzero(chosen))
        if not count:
            return
        whole = count == len(chosen)
        for name, column in columns.items():
            self._columns[name].add(column if whole else column[chosen])
        moved = None if whole else np.cumsum(chosen, dtype=np.int32) - np.int32(1)
        for slot in self._slots:
            sparse = arguments.get(slot)
            if sparse is None:
                continue
            rows, values = sparse.rows, sparse.values
            if moved is not None:
                kept = chosen[rows]
                rows, values = moved[rows[kept]], values[kept]
            if len(rows):
                self._rows.setdefault(slot, _Growing()).add(rows + np.int32(self._count))
                self._values.setdefault(slot, _Growing()).add(_narrowed(values))
        self._count += count

    def take(self, name: str, dtype: type[np.generic]) -> np.ndarray[Any, Any]:
        """Returns a column over all chunks. It is used up."""
        return self._columns.pop(name).take(dtype)

    def take_sparse(self, slot: Slot) -> Sparse:
        """Returns the values of a slot over all chunks. They are used up."""
        rows, values = self._rows.pop(slot, _Growing()), self._values.pop(slot, _Growing())
        return Sparse(rows.take(np.int32), values.take(np.int64))


class Assembly:
    """Takes chunks in the order of the file; ``core.readers.torch_trace.finish`` makes the trace of it."""

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self.slices = Gathered(_SLICE_SLOTS)
        self.flows = Gathered((Slot.FLOW_ID,))
        self.memory = Gathered(_MEMORY_SLOTS)
        self.instants = Gathered(())
        self.texts: dict[bytes, int] = {}
        self.tracks: dict[tuple[int, int], int] = {}

    @property
    def count(self) -> int:
        """How many events of a known phase were added."""
        return len(self.slices) + len(self.flows) + len(self.memory) + len(self.instants)

    def text_id(self, raw: bytes) -> int:
        """Returns the id of a text in its raw form, new or known."""
        return self.texts.setdefault(raw, len(self.texts))

    def add(self, events: RawEvents) -> None:
        """Adds the events of one chunk."""
        if not len(events):
            return
        known = np.fromiter((self.text_id(raw) for raw in events.texts), np.int32, len(events.texts))
        known = np.append(known, np.int32(NO_ROW))  # local NO_ROW (-1) picks the last
        columns: dict[str, np.ndarray[Any, Any]] = {
            "phase": events.phase,
            "time_ns": events.time_ns,
            "duration_ns": events.duration_ns,
            "name": known[events.name],
            "category": known[events.category],
            "track": self._tracks(known[events.process], known[events.thread]),
            "offset": events.offset,
        }
        arguments = {
            slot: Sparse(sparse.rows, known[sparse.values].astype(np.int64)) if slot in TEXT_SLOTS else sparse
            for slot, sparse in events.arguments.items()
        }
        timed = events.time_ns != MISSING
        self._count_untimed(events, timed)
        self._count_unknown(events)
        instants = _in(events.phase, _INSTANT_PHASES) & timed
        memory = instants & self._memory_events(columns["name"], events)
        for gathered, chosen in (
            (self.slices, _in(events.phase, _SLICE_PHASES)),
            (self.flows, _in(events.phase, _FLOW_PHASES) & timed),
            (self.memory, memory),
            (self.instants, instants & ~memory),
        ):
            gathered.add(columns, arguments, chosen)

    def _count_untimed(self, events: RawEvents, timed: Bool) -> None:
        """Counts events without a time: of slices the row stays, the rest says nothing without it."""
        rows = np.flatnonzero(~timed)
        if len(rows):
            self._oddities.add("no_time", int(events.offset[rows[0]]), len(rows))

    def _count_unknown(self, events: RawEvents) -> None:
        """Counts events whose phase says nothing here, those without a time apart."""
        known = _in(events.phase, (*_SLICE_PHASES, *_FLOW_PHASES, *_INSTANT_PHASES))
        rows = np.flatnonzero(~known & (events.time_ns != MISSING))
        if len(rows):
            phase = chr(events.phase[rows[0]]) if events.phase[rows[0]] else "no phase"
            self._oddities.add("unknown_phase", int(events.offset[rows[0]]), len(rows), phase)

    def _memory_events(self, names: Int32, events: RawEvents) -> Bool:
        wanted = self.texts.get(_MEMORY_NAME)
        if wanted is None or Slot.CHANGE_BYTES not in events.arguments:
            return np.zeros(len(names), np.bool_)
        has_bytes = np.zeros(len(names), np.bool_)
        has_bytes[events.arguments[Slot.CHANGE_BYTES].rows] = True
        found: Bool = has_bytes & (names == wanted)
        return found

    def _tracks(self, process: Int32, thread: Int32) -> Int32:
        """Returns the track of each event; a track is a (process, thread) of the file."""
        keys = (process.astype(np.int64) + 1) << 32 | (thread.astype(np.int64) + 1)
        change = np.flatnonzero(np.diff(keys)) + 1
        starts = np.concatenate(([0], change))
        distinct, inverse = np.unique(keys[starts], return_inverse=True)
        first_seen = np.argsort(_first_places(inverse, len(distinct)))
        ids = np.empty(len(distinct), np.int32)
        for place in first_seen.tolist():
            key = int(distinct[place])
            pair = ((key >> 32) - 1, (key & 0xFFFFFFFF) - 1)
            ids[place] = self.tracks.setdefault(pair, len(self.tracks))
        lengths = np.diff(np.append(starts, len(keys)))
        return np.repeat(ids[inverse], lengths).astype(np.int32)


TEXT_SLOTS: Final = frozenset(
    (
        Slot.INPUT_DIMS,
        Slot.INPUT_TYPES,
        Slot.CONCRETE_INPUTS,
        Slot.CALL_STACK,
        Slot.MODULE_HIERARCHY,
        Slot.COLLECTIVE_NAME,
        Slot.COLLECTIVE_DTYPE,
        Slot.GROUP_NAME,
        Slot.GROUP_DESCRIPTION,
        Slot.GROUP_RANKS,
        Slot.TASK_TYPE,
    )
)


def dense(sparse: Sparse, rows: Int32 | None, total: int, missing: int = MISSING) -> Int64:
    """Returns the values of a slot for the given rows, ``missing`` where a row has none.

    Args:
        sparse: Rows ascending.
        rows: (m,) int32, ascending; None is all of them.
        total: Number of all rows that ``sparse.rows`` may name.
        missing: What stands for no value.
    """
    found = np.full(total if rows is None else len(rows), missing, np.int64)
    if rows is None:
        found[sparse.rows] = sparse.values
    elif len(sparse.rows):
        place = np.full(total, NO_ROW, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        targets = place[sparse.rows]
        kept = targets != NO_ROW
        found[targets[kept]] = sparse.values[kept]
    return found


def _narrowed(values: Int64 | Int32) -> Int64 | Int32:
    """Returns the values in half the memory if they fit."""
    if values.dtype == np.int64 and values.min() >= -(2**31) and values.max() < 2**31:
        return values.astype(np.int32)
    return values


def _in(phase: Uint8, wanted: tuple[int, ...]) -> Bool:
    table = np.zeros(256, np.bool_)
    table[list(wanted)] = True
    found: Bool = table[phase]
    return found


def _first_places(inverse: Int64, count: int) -> Int64:
    first = np.full(count, len(inverse), np.int64)
    np.minimum.at(first, inverse, np.arange(len(inverse)))
    return first
