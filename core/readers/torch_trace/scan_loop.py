"""The loop over a chunk: one event after the other into columns that were allocated before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.compiled import compiled_entry, compiled_part
from core.readers.torch_trace.scan_break import broken_end
from core.readers.torch_trace.scan_event import (
    ENDS,
    FOUND,
    MOST_FOUND,
    NOTE_DURATION,
    NOTE_PHASE,
    NOTE_TIME,
    NOTES,
    TEXTS,
    UNREAD,
    read_event,
)
from core.readers.torch_trace.scan_strings import Keys, intern
from core.readers.torch_trace.scan_text import (
    BAD,
    CLOSE_LIST,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    OUT,
    skip_space,
    skip_strict,
)
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from core.tables.columns import Int32, Int64, Uint8

END, CLOSED, INCOMPLETE, FULL = 0, 1, 2, 3
"""Why the loop stopped. ``FULL``: a column has no room for one more event; it goes on with larger ones."""

# Places in the (9,) int64 state of the loop.
PLACE, PENDING, EVENTS, VALUES, KNOWN, LEFT, COMMAS, NULLS, NULL_PLACE = 0, 1, 2, 3, 4, 5, 6, 7, 8
STATE: Final = 9

AT_START: Final = -2
"""Pending comma: none, and one would be stray, as no element came before."""
BEHIND_ELEMENT: Final = -1
"""Pending comma: none, and one would separate."""

MOST_TEXTS: Final = 32
"""More texts than one event can bring."""


class Columns(NamedTuple):
    """What the loop fills. The capacity is the length of the last axis.

    Attributes:
        phase: (n,) uint8.
        numbers: (3, n) int64: time, duration, offset.
        ids: (4, n) int32: name, category, process, thread.
        slots: (m,) uint8, slot of each value.
        rows: (m,) int32, its event.
        values: (m,) int64.
        texts: (3, t) int64: begin, end, hash.
        places: (power of two of at least 2 t,) int32.
        left: (2, k) int64: begin and end.
        commas: (s,) int64.
    """

    phase: Uint8
    numbers: Int64
    ids: Int32
    slots: Uint8
    rows: Int32
    values: Int64
    texts: Int64
    places: Int32
    left: Int64
    commas: Int64


@compiled_part
def _has_room(columns: Columns, state: Int64) -> bool:
    """Whether one more event fits, whatever it brings."""
    return (
        state[EVENTS] < len(columns.phase)
        and state[VALUES] + MOST_FOUND <= len(columns.values)
        and state[KNOWN] + MOST_TEXTS <= columns.texts.shape[1]
        and state[LEFT] < columns.left.shape[1]
        and state[COMMAS] < len(columns.commas)
    )


@compiled_part
def _keep(
    buffer: Uint8, offset: int, notes: Int64, found: Int64, columns: Columns, state: Int64, secret: Int64
) -> None:
    """Writes the event that was just read behind the others."""
    row = state[EVENTS]
    state[EVENTS] = row + 1
    columns.phase[row] = notes[NOTE_PHASE]
    columns.numbers[0, row] = notes[NOTE_TIME]
    columns.numbers[1, row] = notes[NOTE_DURATION]
    columns.numbers[2, row] = offset
    known = state[KNOWN]
    for code in range(TEXTS):
        text = NO_ROW
        if notes[code] >= 0:
            text = intern(
                buffer, notes[code], notes[ENDS + code], columns.texts, columns.places, secret, known
            )
            known = max(known, text + 1)
        columns.ids[code, row] = text
    at = state[VALUES]
    for k in range(notes[FOUND]):
        value = found[1, k]
        if found[2, k] >= 0:
            value = intern(buffer, value, found[2, k], columns.texts, columns.places, secret, known)
            known = max(known, value + 1)
        columns.slots[at] = found[0, k]
        columns.rows[at] = row
        columns.values[at] = value
        at += 1
    state[VALUES] = at
    state[KNOWN] = known


@compiled_part
def _leave(columns: Columns, state: Int64, begin: int, end: int) -> None:
    """Notes the span of an event that is to be read alone."""
    columns.left[0, state[LEFT]] = begin
    columns.left[1, state[LEFT]] = end
    state[LEFT] += 1


@compiled_part
def _note_comma(columns: Columns, state: Int64, i: int, base: int) -> None:
    """A comma at ``i``: it separates, or it is stray."""
    if state[PENDING] == BEHIND_ELEMENT:
        state[PENDING] = i
    else:
        columns.commas[state[COMMAS]] = base + i
        state[COMMAS] += 1


@compiled_part
def _skip_element(buffer: Uint8, i: int) -> int:
    """Returns the index behind an element that is no object: JSON, or whatever comes before the next separator."""
    end = skip_strict(buffer, i)
    if end != BAD:
        return end
    i += 1
    n = len(buffer)
    while i < n and buffer[i] not in (COMMA, OPEN_OBJECT, CLOSE_LIST, OPEN_LIST):
        i += 1
    return i


@compiled_part
def _other_element(buffer: Uint8, i: int, base: int, last: bool, state: Int64) -> int:
    """Counts an element that is no object. Returns the index behind it, ``OUT`` if it goes on in the next buffer."""
    end = _skip_element(buffer, i)
    if end == OUT:
        if not last:
            return OUT
        end = len(buffer)
    if state[NULLS] == 0:
        state[NULL_PLACE] = base + i
    state[NULLS] += 1
    state[PENDING] = BEHIND_ELEMENT
    return end


@compiled_part
def _event_end(buffer: Uint8, i: int, read: int, last: bool) -> int:
    """Returns the index behind an event that could not be read as ``read`` says, ``OUT`` if more text is needed."""
    if read == OUT and not last:
        return OUT
    end = broken_end(buffer, i)
    if end == OUT and last and read == BAD:
        return len(buffer)
    return end


@compiled_part
def _one_event(
    buffer: Uint8,
    i: int,
    base: int,
    last: bool,
    notes: Int64,
    found: Int64,
    own: Keys,
    keys: Keys,
    secrets: Int64,
    columns: Columns,
    state: Int64,
) -> int:
    """Reads the event at ``i`` and keeps it, or leaves it. Returns the index behind it, ``OUT``."""
    end = read_event(buffer, i, notes, found, own, keys, secrets[1])
    if end < 0:
        end = _event_end(buffer, i, end, last)
        if end < 0:
            return OUT
        _leave(columns, state, base + i, base + end)
    elif notes[UNREAD]:
        _leave(columns, state, base + i, base + end)
    else:
        _keep(buffer, base + i, notes, found, columns, state, secrets[0])
    state[PENDING] = BEHIND_ELEMENT
    return end


@compiled_part
def _stop_without_element(length: int, last: bool, state: Int64) -> int:
    """The buffer ends between two elements: it goes on behind the last of them that is settled."""
    if not last and state[PENDING] >= 0:
        state[PLACE] = state[PENDING]
    else:
        state[PLACE] = length
    return END


@compiled_part
def _close(columns: Columns, state: Int64, i: int, base: int) -> int:
    """The ``]`` of the array at ``i``; a comma before it is stray."""
    if state[PENDING] >= 0:
        columns.commas[state[COMMAS]] = base + state[PENDING]
        state[COMMAS] += 1
    state[PLACE] = i + 1
    return CLOSED


@compiled_entry
def scan_events(
    buffer: Uint8,
    end: int,
    base: int,
    last: bool,
    own: Keys,
    keys: Keys,
    secrets: Int64,
    notes: Int64,
    found: Int64,
    columns: Columns,
    state: Int64,
) -> int:
    """Reads events from ``state[PLACE]`` on until ``end``, the array's end, the buffer's end or a full column.

    Args:
        buffer: (n,) uint8, the text.
        end: Events that begin here or later are not read.
        base: Offset of ``buffer[0]`` in the whole text.
        last: Whether nothing follows this buffer.
        own: The event's own keys.
        keys: The known arguments.
        secrets: (2, 2) int64, multipliers of the hashes of texts and of flow ids.
        columns: Filled behind what they hold.
        state: (9,) int64, where the loop is; goes in and comes back.

    Returns:
        ``END``, ``CLOSED``, ``INCOMPLETE`` or ``FULL``; ``state[PLACE]`` is where it stopped.
    """
    n = len(buffer)
    i = state[PLACE]
    while True:
        i = skip_space(buffer, i)
        if i >= n:
            return _stop_without_element(n, last, state)
        state[PLACE] = i
        if not _has_room(columns, state):
            return FULL
        if buffer[i] == CLOSE_LIST:
            return _close(columns, state, i, base)
        if buffer[i] == COMMA:
            _note_comma(columns, state, i, base)
            i += 1
            continue
        if i >= end:
            return END
        if buffer[i] == OPEN_OBJECT:
            i = _one_event(buffer, i, base, last, notes, found, own, keys, secrets, columns, state)
        else:
            i = _other_element(buffer, i, base, last, state)
        if i < 0:
            return INCOMPLETE
