"""One event: its own keys and its known arguments, into a few numbers; nothing is kept of a broken one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.compiled import compiled_part
from core.readers.torch_trace.raw import ABSENT, ARGUMENTS, ArgumentKind, Slot
from core.readers.torch_trace.scan_numbers import FIT, read_float, read_integer, read_time
from core.readers.torch_trace.scan_strings import (
    CODE,
    KIND,
    Keys,
    find_key,
    has_escape,
    hash_flow,
    known_keys,
)
from core.readers.torch_trace.scan_text import (
    BACKSLASH,
    BAD,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COMMA,
    NINE,
    OPEN_LIST,
    OPEN_OBJECT,
    OUT,
    QUOTE,
    ZERO,
    Text,
    behind_colon,
    end_of_key,
    signed,
    skip_space,
    skip_strict,
)
from core.tables.columns import MISSING

if TYPE_CHECKING:
    from core.tables.columns import Int64

TEXTS: Final = 4
"""Codes 0 to 3 are the texts: name, category, process, thread."""
TIME, DURATION, PHASE, ID, ARGS = 4, 5, 6, 7, 8
EVENT_KEYS: Final = known_keys(
    [
        ("name", 0, 0),
        ("cat", 1, 0),
        ("pid", 2, 0),
        ("tid", 3, 0),
        ("ts", TIME, 0),
        ("dur", DURATION, 0),
        ("ph", PHASE, 0),
        ("id", ID, 0),
        ("args", ARGS, 0),
    ]
)
ARGUMENT_KEYS: Final = known_keys([(key, int(slot), int(kind)) for key, slot, kind in ARGUMENTS])

# Places in the (16,) int64 notes of one event. 0 to 3 and 4 to 7: begin and end of its texts, -1.
ENDS, NOTE_PHASE, NOTE_TIME, NOTE_DURATION, SEEN, UNREAD, FOUND, SLOTS = 4, 8, 9, 10, 11, 12, 13, 14
NOTES: Final = 16
MOST_FOUND: Final = 64

_INTEGER = int(ArgumentKind.INTEGER)
_NUMBER = int(ArgumentKind.NUMBER)
_TRIPLE = int(ArgumentKind.TRIPLE)
_FLOW_ID = int(Slot.FLOW_ID)
_LETTER_M, _LETTER_C, _LETTER_N = 77, 67, 110


@compiled_part
def _put(notes: Int64, found: Int64, slot: int, value: int, end: int) -> None:
    """Notes the value of a slot, or over it if the event has named it before.

    Args:
        notes: (16,) int64.
        found: 3 x 64 int64: slot, value and end. Of a text ``value`` is where it begins.
        slot: Which one.
        value: The integer.
        end: Where the text ends, -1 if it is none.
    """
    k = notes[FOUND]
    if notes[SLOTS] & (1 << slot):
        k = 0
        while found[k] != slot:
            k += 1
    else:
        notes[FOUND] += 1
        notes[SLOTS] |= 1 << slot
    found[k] = slot
    found[MOST_FOUND + k] = value
    found[2 * MOST_FOUND + k] = end


@compiled_part
def _drop(notes: Int64, found: Int64, slot: int) -> None:
    """Takes a slot's value away again: the key came a second time, with ``null``."""
    if notes[SLOTS] & (1 << slot) == 0:
        return
    last = notes[FOUND] - 1
    for k in range(last):
        if found[k] == slot:
            for part in range(3):
                found[part * MOST_FOUND + k] = found[part * MOST_FOUND + last]
            break
    notes[FOUND] = last
    notes[SLOTS] &= ~(1 << slot)


@compiled_part
def _read_triple(text: Text, i: int, notes: Int64, found: Int64, slot: int) -> int:
    """Reads three integers between brackets. Returns the index behind, ``i`` if they are something else."""
    at = i
    opening = OPEN_LIST
    for part in range(3):
        if at >= text.length or text.data[at] != opening:
            return i
        at = skip_space(text, at + 1)
        if at >= text.length or text.data[at] == QUOTE:
            return i
        at, value, fit = read_integer(text, at)
        if fit != FIT:
            return i
        _put(notes, found, slot + part, value, -1)
        at = skip_space(text, at)
        opening = COMMA
    return at + 1 if at < text.length and text.data[at] == CLOSE_LIST else i


@compiled_part
def _skip_null(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, i: int, notes: Int64, found: Int64, slot: int, kind: int
) -> int:
    """Skips what begins with ``n``: ``null`` takes the value away."""
    _drop(notes, found, slot)
    if kind == _TRIPLE:
        _drop(notes, found, slot + 1)
        _drop(notes, found, slot + 2)
    return skip_strict(text, i)


@compiled_part
def _read_argument(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, i: int, notes: Int64, found: Int64, slot: int, kind: int
) -> int:
    """Reads the value of a known argument at ``i``. Returns the index behind it, ``OUT``, ``BAD``."""
    if text.data[i] == _LETTER_N:
        return _skip_null(text, i, notes, found, slot, kind)
    end = i
    if kind == _INTEGER:
        end, value, fit = read_integer(text, i)
        if fit == FIT:
            _put(notes, found, slot, value, -1)
            return end
    elif kind == _NUMBER:
        end, number, fit = read_float(text, i)
        if fit == FIT:
            _put(notes, found, slot, signed(np.float64(number).view(np.int64)), -1)
            return end
    elif kind == _TRIPLE:
        end = _read_triple(text, i, notes, found, slot)
        if end != i:
            return end
    else:
        end = skip_strict(text, i)
        if end >= 0:
            quote = 1 if text.data[i] == QUOTE else 0
            _put(notes, found, slot, i + quote, end - quote)
        return end
    notes[UNREAD] = 1
    return skip_strict(text, i) if end == i else end


@compiled_part
def _read_arguments(text: Text, i: int, notes: Int64, found: Int64, keys: Keys) -> int:
    """Reads the ``args`` object that opens at ``i``. Returns the index behind it, ``OUT``, ``BAD``."""
    n = text.length
    i = skip_space(text, i + 1)
    if i < n and text.data[i] == CLOSE_OBJECT:
        return i + 1
    while True:
        key_end = end_of_key(text, i)
        if key_end < 0:
            return key_end
        value = behind_colon(text, key_end + 1)
        if value < 0:
            return value
        number = find_key(text, i + 1, key_end, keys)
        if number >= 0:
            i = _read_argument(
                text, value, notes, found, keys.table[number + CODE], keys.table[number + KIND]
            )
        else:
            # An escape may be another spelling of a known key.
            notes[UNREAD] |= signed(has_escape(text, i + 1, key_end))
            i = skip_strict(text, value)
        if i < 0:
            return i
        i, more = next_member(text, i)
        if not more:
            return i


@compiled_part
def next_member(text: Text, i: int) -> tuple[int, bool]:
    """Goes from behind a member of an object to the next key, or behind the object.

    Returns:
        The index (``OUT``, ``BAD``), and whether a key follows there.
    """
    n = text.length
    if i < n and text.data[i] <= 32:
        i = skip_space(text, i)
    if i >= n:
        return OUT, False
    if text.data[i] == COMMA:
        return skip_space(text, i + 1), True
    return (i + 1 if text.data[i] == CLOSE_OBJECT else BAD), False


@compiled_part
def _read_id(text: Text, i: int, notes: Int64, found: Int64) -> int:
    """Reads a flow's ``id``: an integer, hex digits behind ``0x``, or any text as a 62-bit hash of it."""
    if text.data[i] == _LETTER_N:
        return skip_strict(text, i)
    end, value, fit = read_integer(text, i)
    if fit != FIT:
        if text.data[i] != QUOTE:
            notes[UNREAD] = 1
            return skip_strict(text, i) if end == i else end
        end = skip_strict(text, i)
        if end < 0:
            return end
        value, fit = _read_hex(text, i + 1, end - 1)
        if fit != FIT:
            value = hash_flow(text, i + 1, end - 1)
    _put(notes, found, _FLOW_ID, value, -1)
    return end


@compiled_part
def _read_hex(text: Text, start: int, end: int) -> tuple[int, int]:
    """Reads ``0x`` and up to 16 hex digits. Returns the value and ``FIT``, or 0 and 0."""
    if not 3 <= end - start <= 18 or text.data[start] != ZERO or (text.data[start + 1] | 32) != 120:
        return 0, 0
    value = 0
    for i in range(start + 2, end):
        byte = signed(text.data[i])
        letter = (byte | 32) - 97
        if ZERO <= byte <= NINE:
            value = (value << 4) | (byte - ZERO)
        elif 0 <= letter < 6:
            value = (value << 4) | (letter + 10)
        else:
            return 0, 0
    return value, FIT


@compiled_part
def _read_phase(text: Text, i: int, notes: Int64) -> int:
    """Reads ``ph``. Metadata, counters and what is no single ASCII character are to be read alone."""
    n = text.length
    if i + 2 < n and text.data[i] == QUOTE and text.data[i + 2] == QUOTE and text.data[i + 1] != BACKSLASH:
        phase = signed(text.data[i + 1])
        notes[NOTE_PHASE] = phase
        if phase <= 32 or phase > 126 or phase in (_LETTER_M, _LETTER_C, QUOTE):
            notes[UNREAD] = 1
        return i + 3
    if text.data[i] != _LETTER_N:
        notes[UNREAD] = 1
    return skip_strict(text, i)


@compiled_part
def _read_text(text: Text, i: int, notes: Int64, code: int) -> int:
    """Notes the span of a name, category, process or thread."""
    end = skip_strict(text, i)
    if end >= 0 and text.data[i] != _LETTER_N:
        quote = 1 if text.data[i] == QUOTE else 0
        notes[code] = i + quote
        notes[ENDS + code] = end - quote
    return end


@compiled_part
def _read_member(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, i: int, notes: Int64, found: Int64, code: int, keys: Keys
) -> int:
    """Reads the value at ``i`` of one of the event's own keys. Returns the index behind it or why not."""
    if code < TEXTS:
        return _read_text(text, i, notes, code)
    if code == ARGS:
        if text.data[i] == OPEN_OBJECT:
            return _read_arguments(text, i, notes, found, keys)
        if text.data[i] != _LETTER_N:
            notes[UNREAD] = 1
        return skip_strict(text, i)
    if code in (PHASE, ID):
        return _read_phase(text, i, notes) if code == PHASE else _read_id(text, i, notes, found)
    end, value, fit = read_time(text, i)
    if fit == FIT:
        notes[NOTE_TIME if code == TIME else NOTE_DURATION] = value
        return end
    notes[UNREAD] = 1
    return skip_strict(text, i) if end == i else end


@compiled_part
def read_event(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, start: int, notes: Int64, found: Int64, own: Keys, keys: Keys
) -> int:
    """Reads the event whose ``{`` is at ``start``.

    Args:
        text: The text of the chunk.
        start: Index of the ``{``.
        notes: (16,) int64, filled: see the names of its places. ``UNREAD`` is 1 if the event is sound JSON
            but must be read alone.
        found: 3 x 64 int64, filled with the known arguments (the first ``notes[FOUND]`` columns).
        own: The event's own keys.
        keys: The known arguments.

    Returns:
        Index behind the ``}``, ``OUT`` or ``BAD``.
    """
    for code in range(TEXTS):
        notes[code] = -1
    for place in range(NOTE_PHASE, NOTES):
        notes[place] = 0
    notes[NOTE_PHASE] = ABSENT
    notes[NOTE_TIME] = MISSING
    notes[NOTE_DURATION] = MISSING
    i = skip_space(text, start + 1)
    if i < text.length and text.data[i] == CLOSE_OBJECT:
        return i + 1
    more = True
    while more:
        key_end = end_of_key(text, i)
        if key_end < 0:
            return key_end
        value = behind_colon(text, key_end + 1)
        if value < 0:
            return value
        number = find_key(text, i + 1, key_end, own)
        if number >= 0:
            code = own.table[number + CODE]
            notes[UNREAD] |= (notes[SEEN] >> code) & 1
            notes[SEEN] |= 1 << code
            i = _read_member(text, value, notes, found, code, keys)
        else:
            # An escape may be another spelling of a known key.
            notes[UNREAD] |= signed(has_escape(text, i + 1, key_end))
            i = skip_strict(text, value)
        if i < 0:
            return i
        i, more = next_member(text, i)
    return i
