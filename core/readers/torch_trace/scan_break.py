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
    Text,
    closing_quote,
    is_space,
    pointer,
    skip_space,
)

if TYPE_CHECKING:
    from core.tables.columns import Uint8

USUAL_KEYS: Final = b'"ph""cat""name""ts""pid""tid""args""dur""s""bp""id"'
"""First keys of an event, each between quotes. ``id`` comes last: other objects begin with it too."""
_ID: Final = 47
"""Where ``"id"`` begins in ``USUAL_KEYS``."""


@compiled_part
def _usual_key(text: Text, i: int) -> int:
    """Returns where in ``USUAL_KEYS`` the key stands whose opening quote is at ``i``, -1 if it is none."""
    start = 0
    while start < len(USUAL_KEYS):
        k = 1
        while USUAL_KEYS[start + k] != QUOTE:
            k += 1
        same = i + k < text.length
        for j in range(k + 1):
            same = same and text.data[i + j] == USUAL_KEYS[start + j]
        if same:
            return start
        start += k + 1
    return -1


@compiled_part
def _last_before(text: Text, i: int, floor: int) -> int:
    """Returns the index of the last byte before ``i`` that is no white space, -1 if there is none."""
    i -= 1
    while i >= floor and is_space(text.data[i]):
        i -= 1
    return i if i >= floor else -1


@compiled_part
def begins_event(text: Text, i: int, floor: int) -> int:
    """Whether the ``{`` at ``i`` very probably begins an event that follows another.

    Args:
        text: The text.
        i: Index of a ``{``.
        floor: Bytes before this index are not looked at.

    Returns:
        Where the first key stands in ``USUAL_KEYS``, -1 if it is no event.
    """
    comma = _last_before(text, i, floor)
    if comma < 0 or text.data[comma] != COMMA:
        return -1
    end = _last_before(text, comma, floor)
    if end < 0 or text.data[end] != CLOSE_OBJECT:
        return -1
    key = skip_space(text, i + 1)
    if key >= text.length or text.data[key] != QUOTE:
        return -1
    return _usual_key(text, key)


@compiled_part
def _next_event(text: Text, start: int) -> int:
    """Returns the index of the first ``{`` from ``start`` on that begins an event, or -1."""
    for i in range(start, text.length):
        if text.data[i] == OPEN_OBJECT and begins_event(text, i, start) >= 0:
            return i
    return -1


@compiled_part
def _closes_array(text: Text, i: int) -> bool:
    """Whether the ``]`` at ``i`` ends the array by its looks: another key, a ``}`` or nothing follows."""
    after = skip_space(text, i + 1)
    if after < text.length and text.data[after] == COMMA:
        after = skip_space(text, after + 1)
        if after < text.length and text.data[after] == QUOTE:
            end = closing_quote(text, after + 1)
            return 0 <= end < after + 200 and end + 1 < text.length and text.data[end + 1] == COLON
        return False
    return after >= text.length or text.data[after] == CLOSE_OBJECT


@compiled_part
def _cut(text: Text, start: int, last: bool) -> int:
    """Returns the index behind the ``}`` before the next event or before the array's end, or ``OUT``.

    Whether the array ends can only be told where all text behind is known.
    """
    array_end = -1
    for i in range(start + 1, text.length):
        if text.data[i] == OPEN_OBJECT:
            key = begins_event(text, i, start)
            if key >= 0:
                if key == _ID and array_end >= 0:
                    return array_end
                return _last_before(text, _last_before(text, i, start), start) + 1
        elif text.data[i] == CLOSE_LIST and array_end < 0:
            brace = _last_before(text, i, start)
            if brace > start and text.data[brace] == CLOSE_OBJECT and _closes_array(text, i):
                array_end = brace + 1
    return array_end if last and array_end >= 0 else OUT


@compiled_part
def _spans_events(text: Text, start: int, end: int) -> bool:
    """Whether a string ends like what stands before an event or behind the last: its quotes are wrong."""
    last = _last_before(text, end, start)
    if last < 0:
        return False
    if text.data[last] == OPEN_OBJECT:
        last = _last_before(text, last, start)
        if last < 0 or text.data[last] != COMMA:
            return False
    elif text.data[last] == COMMA:
        last = _last_before(text, last, start)
        if last < 0 or text.data[last] != CLOSE_LIST:
            return False
    else:
        return False
    last = _last_before(text, last, start)
    return last >= 0 and text.data[last] == CLOSE_OBJECT


@compiled_part
def _follows_value(text: Text, i: int) -> bool:
    """Whether a comma, the end of the array or nothing comes from ``i`` on."""
    after = skip_space(text, i)
    return after >= text.length or text.data[after] == COMMA or text.data[after] == CLOSE_LIST


@compiled_part
def _balanced(text: Text, start: int) -> int:
    """Returns the index behind the ``}`` of the object at ``start``, ``BAD`` if its brackets are not sane."""
    braces = 0
    brackets = 0
    limit = text.length
    i = start
    while i < limit:
        byte = text.data[i]
        if byte == QUOTE:
            end = closing_quote(text, i + 1)
            if end < 0:
                return OUT
            if _spans_events(text, i + 1, end):
                return BAD
            i = end
        elif byte == OPEN_OBJECT and limit == text.length and begins_event(text, i, start) >= 0:
            limit = min(limit, i + DOUBT_BYTES)
        braces += _step(byte, OPEN_OBJECT, CLOSE_OBJECT)
        brackets += _step(byte, OPEN_LIST, CLOSE_LIST)
        i += 1
        if braces <= 0 or brackets < 0:
            return i if braces == brackets == 0 and _follows_value(text, i) else BAD
    return OUT if limit == text.length else BAD


@compiled_part
def _step(byte: int, opening: int, closing: int) -> int:
    """Returns how a byte changes the depth of one kind of bracket."""
    if byte == opening:
        return 1
    return -1 if byte == closing else 0


@compiled_part
def broken_end(text: Text, start: int, last: bool) -> int:
    """Returns the index behind the broken event that begins at ``start``, ``OUT`` if no end is in sight.

    Where its brackets and quotes still add up it ends with them, otherwise
    before the next event or before the array's end. ``last``: nothing follows this text; otherwise the
    answer is the one that all of it would give, or ``OUT``.
    """
    end = _balanced(text, start)
    if end >= 0 or (end == OUT and not last):
        return end
    return _cut(text, start, last)


@compiled_entry
def next_event(buffer: Uint8, start: int) -> int:
    """``_next_event`` of an array."""
    return _next_event(Text(pointer(buffer), len(buffer)), start)
