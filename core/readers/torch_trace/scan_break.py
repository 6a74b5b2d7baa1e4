"""Where an event very probably begins, and where a broken one ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.compiled import compiled_entry, compiled_part
from core.readers.torch_trace.scan_text import (
    BAD,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    DOUBT_BYTES,
    OPEN_LIST,
    OPEN_OBJECT,
    OUT,
    QUOTE,
    closing_quote,
    skip_space,
)

if TYPE_CHECKING:
    from core.tables.columns import Uint8

USUAL_KEYS: Final = b'"ph""cat""name""ts""pid""tid""args""dur""s""bp""id"'
"""First keys of an event, each between quotes. ``id`` comes last: other objects begin with it too."""
_ID: Final = 47
"""Where ``"id"`` begins in ``USUAL_KEYS``."""


@compiled_part
def _usual_key(buffer: Uint8, i: int) -> int:
    """Returns where in ``USUAL_KEYS`` the key stands whose opening quote is at ``i``, -1 if it is none."""
    start = 0
    while start < len(USUAL_KEYS):
        k = 1
        while USUAL_KEYS[start + k] != QUOTE:
            k += 1
        same = i + k < len(buffer)
        for j in range(k + 1):
            same = same and buffer[i + j] == USUAL_KEYS[start + j]
        if same:
            return start
        start += k + 1
    return -1


@compiled_part
def _last_before(buffer: Uint8, i: int, floor: int) -> int:
    """Returns the index of the last byte before ``i`` that is no white space, -1 if it lies before ``floor``."""
    i -= 1
    while i >= floor and (buffer[i] in (32, 10, 13, 9)):
        i -= 1
    return i if i >= floor else -1


@compiled_part
def begins_event(buffer: Uint8, i: int, floor: int) -> int:
    """Whether the ``{`` at ``i`` very probably begins an event that follows another.

    Args:
        buffer: The text.
        i: Index of a ``{``.
        floor: Bytes before this index are not looked at.

    Returns:
        Where the first key stands in ``USUAL_KEYS``, -1 if it is no event.
    """
    comma = _last_before(buffer, i, floor)
    if comma < 0 or buffer[comma] != COMMA:
        return -1
    end = _last_before(buffer, comma, floor)
    if end < 0 or buffer[end] != CLOSE_OBJECT:
        return -1
    key = skip_space(buffer, i + 1)
    if key >= len(buffer) or buffer[key] != QUOTE:
        return -1
    return _usual_key(buffer, key)


@compiled_entry
def next_event(buffer: Uint8, start: int) -> int:
    """Returns the index of the first ``{`` behind ``}`` and a comma from ``start`` on that begins an event, or -1."""
    for i in range(start, len(buffer)):
        if buffer[i] == OPEN_OBJECT and begins_event(buffer, i, start) >= 0:
            return i
    return -1


@compiled_part
def _closes_array(buffer: Uint8, i: int) -> bool:
    """Whether the ``]`` at ``i`` looks like the end of the array: then comes another key, the end or nothing."""
    after = skip_space(buffer, i + 1)
    if after < len(buffer) and buffer[after] == COMMA:
        after = skip_space(buffer, after + 1)
        if after < len(buffer) and buffer[after] == QUOTE:
            end = closing_quote(buffer, after + 1)
            return 0 <= end < after + 200 and end + 1 < len(buffer) and buffer[end + 1] == COLON
        return False
    return after >= len(buffer) or buffer[after] == CLOSE_OBJECT


@compiled_part
def _cut(buffer: Uint8, start: int) -> int:
    """Returns the index behind the ``}`` before the next event or before the array's end, or ``OUT``."""
    array_end = -1
    for i in range(start + 1, len(buffer)):
        if buffer[i] == OPEN_OBJECT:
            key = begins_event(buffer, i, start)
            if key >= 0:
                if key == _ID and array_end >= 0:
                    return array_end
                return _last_before(buffer, _last_before(buffer, i, start), start) + 1
        elif buffer[i] == CLOSE_LIST and array_end < 0:
            brace = _last_before(buffer, i, start)
            if brace > start and buffer[brace] == CLOSE_OBJECT and _closes_array(buffer, i):
                array_end = brace + 1
    return array_end if array_end >= 0 else OUT


@compiled_part
def _spans_events(buffer: Uint8, start: int, end: int) -> bool:
    """Whether a string's content looks like what stands between two events: then its quotes are the wrong ones."""
    for i in range(start, end):
        if buffer[i] == OPEN_OBJECT or buffer[i] == CLOSE_LIST:
            before = _last_before(buffer, i, start)
            if before >= 0 and buffer[before] == COMMA and buffer[i] == OPEN_OBJECT:
                before = _last_before(buffer, before, start)
            elif buffer[i] == OPEN_OBJECT:
                continue
            if before >= 0 and buffer[before] == CLOSE_OBJECT:
                return True
    return False


@compiled_part
def _follows_value(buffer: Uint8, i: int) -> bool:
    """Whether a comma, the end of the array or nothing comes from ``i`` on."""
    after = skip_space(buffer, i)
    return after >= len(buffer) or buffer[after] == COMMA or buffer[after] == CLOSE_LIST


@compiled_part
def _balanced(buffer: Uint8, start: int) -> int:
    """Returns the index behind the ``}`` that closes the object at ``start``, ``BAD`` if its brackets are not sane."""
    braces = 0
    brackets = 0
    limit = len(buffer)
    i = start
    while i < limit:
        byte = buffer[i]
        if byte == QUOTE:
            end = closing_quote(buffer, i + 1)
            if end < 0:
                return OUT
            if _spans_events(buffer, i + 1, end):
                return BAD
            i = end
        elif byte == OPEN_OBJECT:
            braces += 1
            if limit == len(buffer) and begins_event(buffer, i, start) >= 0:
                limit = min(limit, i + DOUBT_BYTES)
        elif byte == CLOSE_OBJECT:
            braces -= 1
            if braces == 0:
                return i + 1 if brackets == 0 and _follows_value(buffer, i + 1) else BAD
        elif byte == OPEN_LIST:
            brackets += 1
        elif byte == CLOSE_LIST:
            brackets -= 1
            if brackets < 0:
                return BAD
        i += 1
    return OUT if limit == len(buffer) else BAD


@compiled_part
def broken_end(buffer: Uint8, start: int) -> int:
    """Returns the index behind the broken event that begins at ``start``, ``OUT`` if this buffer does not say.

    Where its brackets and quotes still add up it ends with them, otherwise
    before the next event or before the array's end.
    """
    end = _balanced(buffer, start)
    if end >= 0:
        return end
    return _cut(buffer, start)
