"""The loop over a chunk: one event after the other into columns that were allocated before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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
from core.readers.torch_trace.scan_strings import Keys, Texts, intern
from core.readers.torch_trace.scan_text import (
    BAD,
    CLOSE_LIST,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    OUT,
    Text,
    pointer,
    skip_space,
    skip_strict,
)
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from core.tables.columns import Int32, Int64, Uint8

END, CLOSED, INCOMPLETE, FULL = 0, 1, 2, 3
"""Why the loop stopped. ``FULL``: a column has no room for one more event; it goes on with larger ones."""

# Places in the (18,) int64 state of the loop; behind ROOM, in the same order, how much the columns hold.
PLACE, PENDING, EVENTS, VALUES, KNOWN, LEFT, COMMAS, NULLS, NULL_PLACE = 0, 1, 2, 3, 4, 5, 6, 7, 8
ROOM: Final = 9
STATE: Final = 18

AT_START: Final = -2
"""Pending comma: none, and one would be stray, as no element came before."""
BEHIND_ELEMENT: Final = -1
"""Pending comma: none, and one would separate."""

MOST_TEXTS: Final = 32
"""More texts than one event can bring."""


class Columns(NamedTuple):
    """What the loop fills: arrays outside of compiled code, bare pointers inside.

    Attributes:
        phase: (n,) uint8.
        numbers: (3, n) int64: time, duration, offset.
        ids: (4, n) int32: name, category, process, thread.
        slots: (m,) uint8, slot of each value.
        rows: (m,) int32, its event.
        values: (m,) int64.
        left: (2, k) int64: begin and end.
        commas: (s,) int64.
    """

    phase: Uint8
    numbers: Int64
    ids: Int32
    slots: Uint8
    rows: Int32
    values: Int64
    left: Int64
    commas: Int64


class Tools(NamedTuple):
    """What reading one event needs, besides its text.

    Attributes:
        own: The event's own keys.
        keys: The known arguments.
        secrets: Two multipliers of the hash of texts.
        notes: Room for one event, see ``scan_event``.
        found: Room for its arguments.
    """

    own: Keys
    keys: Keys
    secrets: Int64
    notes: Int64
    found: Int64


@compiled_part
def _has_room(state: Int64) -> bool:
    """Whether one more event fits, whatever it brings."""
    return bool(
        state[EVENTS] < state[ROOM + EVENTS]
        and state[VALUES] + MOST_FOUND <= state[ROOM + VALUES]
        and state[KNOWN] + MOST_TEXTS <= state[ROOM + KNOWN]
        and state[LEFT] < state[ROOM + LEFT]
        and state[COMMAS] < state[ROOM + COMMAS]
    )


@compiled_part
def _keep(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, offset: int, tools: Tools, columns: Columns, texts: Texts, state: Int64
) -> None:
    """Writes the event that was just read behind the others."""
    notes, found = tools.notes, tools.found
    row = state[EVENTS]
    room = state[ROOM + EVENTS]
    state[EVENTS] = row + 1
    columns.phase[row] = notes[NOTE_PHASE]
    columns.numbers[row] = notes[NOTE_TIME]
    columns.numbers[room + row] = notes[NOTE_DURATION]
    columns.numbers[2 * room + row] = offset
    known = state[KNOWN]
    for code in range(TEXTS):
        value = NO_ROW
        if notes[code] >= 0:
            value = intern(text, notes[code], notes[ENDS + code], texts, tools.secrets, known)
            known = max(known, value + 1)
        columns.ids[code * room + row] = value
    at = state[VALUES]
    for k in range(notes[FOUND]):
        value = found[MOST_FOUND + k]
        if found[2 * MOST_FOUND + k] >= 0:
            value = intern(text, value, found[2 * MOST_FOUND + k], texts, tools.secrets, known)
            known = max(known, value + 1)
        columns.slots[at + k] = found[k]
        columns.rows[at + k] = row
        columns.values[at + k] = value
    state[VALUES] = at + notes[FOUND]
    state[KNOWN] = known


@compiled_part
def _leave(columns: Columns, state: Int64, begin: int, end: int) -> None:
    """Notes the span of an event that is to be read alone."""
    columns.left[state[LEFT]] = begin
    columns.left[state[ROOM + LEFT] + state[LEFT]] = end
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
def _skip_element(text: Text, i: int) -> int:
    """Returns the index behind an element that is no object: JSON, or what comes before the next comma."""
    end = skip_strict(text, i)
    if end != BAD:
        return end
    i += 1
    n = text.length
    while i < n and text.data[i] not in (COMMA, OPEN_OBJECT, CLOSE_LIST, OPEN_LIST):
        i += 1
    return i


@compiled_part
def _other_element(text: Text, i: int, base: int, last: bool, state: Int64) -> int:
    """Counts an element that is no object. Returns the index behind it, ``OUT`` if the buffer ends in it."""
    end = _skip_element(text, i)
    if end == OUT:
        if not last:
            return OUT
        end = text.length
    if state[NULLS] == 0:
        state[NULL_PLACE] = base + i
    state[NULLS] += 1
    state[PENDING] = BEHIND_ELEMENT
    return end


@compiled_part
def _event_end(text: Text, i: int, read: int, last: bool) -> int:
    """Returns the index behind an event that was not read, for the reason ``read``; ``OUT``: more text."""
    if read == OUT and not last:
        return OUT
    end = broken_end(text, i, last)
    if end == OUT and last and read == BAD:
        return text.length
    return end


@compiled_part
def _one_event(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, i: int, base: int, last: bool, tools: Tools, columns: Columns, texts: Texts, state: Int64
) -> int:
    """Reads the event at ``i`` and keeps it, or leaves it. Returns the index behind it, ``OUT``."""
    end = read_event(text, i, tools.notes, tools.found, tools.own, tools.keys)
    if end < 0:
        end = _event_end(text, i, end, last)
        if end < 0:
            return OUT
        _leave(columns, state, base + i, base + end)
    elif tools.notes[UNREAD]:
        _leave(columns, state, base + i, base + end)
    else:
        _keep(text, base + i, tools, columns, texts, state)
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


@compiled_part
def _loop(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, end: int, base: int, last: bool, tools: Tools, columns: Columns, texts: Texts, state: Int64
) -> int:
    """The loop of ``scan_events``."""
    i = state[PLACE]
    while True:
        i = skip_space(text, i)
        if i >= text.length:
            return _stop_without_element(text.length, last, state)
        state[PLACE] = i
        if not _has_room(state):
            return FULL
        if text.data[i] == CLOSE_LIST:
            return _close(columns, state, i, base)
        if text.data[i] == COMMA:
            _note_comma(columns, state, i, base)
            i += 1
            continue
        if i >= end:
            return END
        if text.data[i] == OPEN_OBJECT:
            i = _one_event(text, i, base, last, tools, columns, texts, state)
        else:
            i = _other_element(text, i, base, last, state)
        if i < 0:
            return INCOMPLETE


@compiled_entry
def scan_events(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    buffer: Uint8,
    end: int,
    base: int,
    last: bool,
    own: tuple[Int64, Uint8],
    keys: tuple[Int64, Uint8],
    work: Int64,
    columns: Columns,
    texts: Int64,
    places: Int32,
    state: Int64,
) -> int:
    """Reads events from ``state[PLACE]`` on to ``end``, the array's end, the buffer's end or a full column.

    Args:
        buffer: (n,) uint8, the text.
        end: Events that begin here or later are not read.
        base: Offset of ``buffer[0]`` in the whole text.
        last: Whether nothing follows this buffer.
        own: The event's own keys, see ``Keys``.
        keys: The known arguments.
        work: (2 + 16 + 3 x 64,) int64: the multipliers of the hash, then room for one event.
        columns: Filled behind what they hold.
        texts: (3, t) int64: begin, end and hash of each text.
        places: (power of two of at least 2 t,) int32, see ``Texts``.
        state: (9 + 9,) int64, where the loop is, and how much room each column has.

    Returns:
        ``END``, ``CLOSED``, ``INCOMPLETE`` or ``FULL``; ``state[PLACE]`` is where it stopped.
    """
    tools = Tools(
        Keys(pointer(own[0]), Text(pointer(own[1]), len(own[1]))),
        Keys(pointer(keys[0]), Text(pointer(keys[1]), len(keys[1]))),
        pointer(work),
        pointer(work[2:]),
        pointer(work[2 + NOTES :]),
    )
    bare = Columns(
        pointer(columns.phase),
        pointer(columns.numbers),
        pointer(columns.ids),
        pointer(columns.slots),
        pointer(columns.rows),
        pointer(columns.values),
        pointer(columns.left),
        pointer(columns.commas),
    )
    known = Texts(pointer(texts[0]), pointer(texts[1]), pointer(texts[2]), pointer(places), len(places) - 1)
    return _loop(Text(pointer(buffer), len(buffer)), end, base, last, tools, bare, known, pointer(state))
