"""The scan of a chunk of Chrome/Kineto JSON into ``RawEvents``: one compiled pass over its bytes.

Here are the ways in and the columns' memory; the loop itself is ``scan_loop``,
one event ``scan_event``, the bytes ``scan_text``, numbers ``scan_numbers``,
texts and keys ``scan_strings``, and where a broken event ends ``scan_break``.
Nothing is interpreted: what an event means is ``assemble``'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from core.readers.torch_trace import scan_break, scan_loop, scan_text
from core.readers.torch_trace.raw import RawEvents, Slot, Sparse
from core.readers.torch_trace.scan_event import ARGUMENT_KEYS, EVENT_KEYS, MOST_FOUND, NOTES
from core.readers.torch_trace.scan_loop import (
    AT_START,
    BEHIND_ELEMENT,
    COMMAS,
    EVENTS,
    KNOWN,
    LEFT,
    NULL_PLACE,
    NULLS,
    PENDING,
    PLACE,
    ROOM,
    STATE,
    VALUES,
    Columns,
    scan_events,
)
from core.readers.torch_trace.scan_strings import SECRET, place_again

if TYPE_CHECKING:
    from core.tables.columns import Int32, Int64, Uint8


T = TypeVar("T", bound=np.generic)


class Reason(IntEnum):
    """Why a scan stopped."""

    END = scan_loop.END
    """It reached its end; ``stopped`` is where the next event begins."""
    CLOSED = scan_loop.CLOSED
    """It met the array's ``]``; ``stopped`` is behind it."""
    INCOMPLETE = scan_loop.INCOMPLETE
    """The buffer ends inside the event that begins at ``stopped``."""


@dataclass(frozen=True, slots=True, eq=False)
class ScanResult:
    """The events of a chunk and where the scan stopped.

    Attributes:
        events: What was read.
        stopped: Index into the buffer.
        reason: Why there.
    """

    events: RawEvents
    stopped: int
    reason: Reason


def _shared_view(buffer: Uint8) -> Uint8:
    """Returns the buffer in one piece and read-only: one kind of array, so that all is compiled once."""
    view = np.ascontiguousarray(buffer)[:]
    view.flags.writeable = False
    return view


@dataclass(slots=True)
class _Room:
    """The memory that the loop fills. It grows.

    Attributes:
        columns: What the events become.
        texts: (3, t) int64: begin, end and hash of each text.
        places: (power of two,) int32: ids of texts by their hash.
    """

    columns: Columns
    texts: Int64
    places: Int32

    def tell(self, state: Int64) -> None:
        """Writes into the state how much there is room for."""
        state[ROOM + EVENTS] = len(self.columns.phase)
        state[ROOM + VALUES] = len(self.columns.values)
        state[ROOM + KNOWN] = self.texts.shape[1]
        state[ROOM + LEFT] = self.columns.left.shape[1]
        state[ROOM + COMMAS] = len(self.columns.commas)

    def grow(self, state: Int64) -> None:
        """Makes room in what is more than half full; what the loop has written stays."""
        old = self.columns
        events, values = int(state[EVENTS]), int(state[VALUES])
        self.columns = Columns(
            phase=_larger(old.phase, events),
            numbers=_larger(old.numbers, events),
            ids=_larger(old.ids, events),
            slots=_larger(old.slots, values),
            rows=_larger(old.rows, values),
            values=_larger(old.values, values),
            left=_larger(old.left, int(state[LEFT])),
            commas=_larger(old.commas, int(state[COMMAS])),
        )
        known = int(state[KNOWN])
        texts = _larger(self.texts, known)
        if texts is not self.texts:
            self.texts = texts
            self.places = _empty_places(texts.shape[1])
            place_again(texts[2, :known], self.places)


def _larger(column: np.ndarray[Any, np.dtype[T]], used: int) -> np.ndarray[Any, np.dtype[T]]:
    """Returns a column with twice the room and the same content; itself if less than half of it is used."""
    capacity = column.shape[-1]
    if 2 * used < capacity - MOST_FOUND:
        return column
    new = np.empty((*column.shape[:-1], 2 * capacity), column.dtype)
    new[..., :used] = column[..., :used]
    return new


def _empty_places(texts: int) -> Int32:
    return np.full(1 << (2 * texts - 1).bit_length(), -1, np.int32)


def _allocate(size: int) -> _Room:
    """Returns room for what ``size`` bytes of a usual trace hold."""
    events = size // 200 + 64
    texts = size // 1000 + 256
    columns = Columns(
        phase=np.empty(events, np.uint8),
        numbers=np.empty((3, events), np.int64),
        ids=np.empty((4, events), np.int32),
        slots=np.empty(events * 5, np.uint8),
        rows=np.empty(events * 5, np.int32),
        values=np.empty(events * 5, np.int64),
        left=np.empty((2, size // 10_000 + 64), np.int64),
        commas=np.empty(64, np.int64),
    )
    return _Room(columns, np.empty((3, texts), np.int64), _empty_places(texts))


def _by_slot(columns: Columns, count: int) -> dict[Slot, Sparse]:
    """Sorts the values of all slots into those of each."""
    slots = columns.slots[:count]
    order = np.argsort(slots, kind="stable")
    rows = columns.rows[:count][order]
    values = columns.values[:count][order]
    ends = np.cumsum(np.bincount(slots, minlength=len(Slot)))
    found = {}
    start = 0
    for slot, end in zip(Slot, ends.tolist(), strict=True):
        if end > start:
            found[slot] = Sparse(rows[start:end], values[start:end])
        start = end
    return found


def _finish(buffer: Uint8, room: _Room, state: Int64) -> RawEvents:
    """Returns the filled part of the columns."""
    events, columns = int(state[EVENTS]), room.columns
    data = buffer.data
    begins, ends = room.texts[:2, : state[KNOWN]].tolist()
    return RawEvents(
        phase=columns.phase[:events].copy(),
        time_ns=columns.numbers[0, :events].copy(),
        duration_ns=columns.numbers[1, :events].copy(),
        name=columns.ids[0, :events].copy(),
        category=columns.ids[1, :events].copy(),
        process=columns.ids[2, :events].copy(),
        thread=columns.ids[3, :events].copy(),
        offset=columns.numbers[2, :events].copy(),
        arguments=_by_slot(columns, int(state[VALUES])),
        texts=[bytes(data[begin:end]) for begin, end in zip(begins, ends, strict=True)],
        left=np.ascontiguousarray(columns.left[:, : state[LEFT]].T),
        null_count=int(state[NULLS]),
        null_offset=int(state[NULL_PLACE]),
        stray_commas=columns.commas[: state[COMMAS]].copy(),
    )


def _pending_at(buffer: Uint8, begin: int) -> int:
    """Returns whether a comma at ``begin`` would separate: not where the array has just been opened."""
    at = begin - 1
    while at >= 0 and buffer[at] in b" \n\r\t":
        at -= 1
    return AT_START if at >= 0 and buffer[at] == scan_text.OPEN_LIST else BEHIND_ELEMENT


def scan_chunk(buffer: Uint8, begin: int, end: int, base: int, last: bool) -> ScanResult:
    """Reads the events of a part of the array ``traceEvents``.

    A comma missing between two events is let pass. A flow's ``id`` that is neither a number nor ``0x`` and
    hex digits becomes a 62-bit hash of its text, the same in every chunk.

    Args:
        buffer: (n,) uint8, UTF-8 text.
        begin: Index inside the array, at or before the ``{`` of an event; only space and commas between.
        end: Events that begin here or later are not read; the last one read may end behind it.
        base: Offset of ``buffer[0]`` in the whole unpacked text.
        last: Whether nothing follows this buffer.

    Returns:
        The events and why it stopped. ``END``: all before ``end`` was read and ``stopped`` is at the next
        event (where the buffer ends first: at the comma before it, or at the buffer's end). ``CLOSED``:
        behind the array's ``]``. ``INCOMPLETE``: at an event, or another element, that the buffer does not
        hold whole.
    """
    text = _shared_view(buffer)
    state = np.zeros(STATE, np.int64)
    state[PLACE] = begin
    state[PENDING] = _pending_at(text, begin)
    state[NULL_PLACE] = -1
    work = np.zeros(2 + NOTES + 3 * MOST_FOUND, np.int64)
    work[:2] = SECRET
    room = _allocate(max(0, min(end, len(text)) - begin))
    stop = scan_loop.FULL
    while stop == scan_loop.FULL:
        room.tell(state)
        stop = scan_events(
            text,
            end,
            base,
            last,
            EVENT_KEYS,
            ARGUMENT_KEYS,
            work,
            room.columns,
            room.texts,
            room.places,
            state,
        )
        if stop == scan_loop.FULL:
            room.grow(state)
    return ScanResult(_finish(text, room, state), int(state[PLACE]), Reason(stop))


def find_boundary(buffer: Uint8, start: int) -> int:
    """Guesses where an event begins: behind ``}``, a comma and ``{`` comes a key that events have.

    Args:
        buffer: (n,) uint8.
        start: Where to begin to look.

    Returns:
        Index of the ``{``, -1 if there is none. A guess: the scan of the part before it has to stop there.
    """
    return int(scan_break.next_event(_shared_view(buffer), start))


def skip_value(buffer: Uint8, start: int) -> int:
    """Returns the index behind the value at ``start``, by its brackets and quotes: it may be no strict JSON.

    Args:
        buffer: (n,) uint8.
        start: Where the value begins, or the white space before it.

    Returns:
        Index behind it; -1 if the buffer ends first, which a number or literal at its very end counts as.
    """
    return int(scan_text.skip_lenient(_shared_view(buffer), start))
