"""Walking over JSON text byte by byte: spaces, strings, any value, the place where an event begins or ends.

Positions are indices of a (n,) uint8 buffer. A function that cannot go on
returns ``OUT`` where the buffer ends first and ``BAD`` where the text is not
JSON. Bytes inside a string are never judged, except that a backslash protects
the next one. What the values mean is not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from core.compiled import compiled_entry, compiled_part

if TYPE_CHECKING:
    from core.tables.columns import Uint8

OUT: Final = -1
"""The buffer ends before the thing does."""
BAD: Final = -2
"""The text is not what JSON allows here."""

QUOTE, COMMA, COLON, BACKSLASH = 34, 44, 58, 92
OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT = 91, 93, 123, 125
MINUS, PLUS, POINT, ZERO, NINE = 45, 43, 46, 48, 57

DEEPEST: Final = 62
"""Levels inside one value; with the event and its ``args`` that makes 64."""
DOUBT_BYTES: Final = 4096
"""How far behind the likely begin of the next event a broken one may still end. Keeps a bad file linear."""

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_NONE = np.uint64(0)

if TYPE_CHECKING:

    def load_word(buffer: Uint8, index: int) -> np.uint64:
        """Types the intrinsic of this name."""

    def lowest_byte(word: np.uint64) -> int:
        """Types the intrinsic of this name."""

else:

    @intrinsic
    def load_word(_: Any, buffer: Any, index: Any) -> Any:
        """Reads the 8 bytes at ``index`` as one little-endian word. The caller has checked that they exist."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(buffer, types.int64), generate

    @intrinsic
    def lowest_byte(_: Any, word: Any) -> Any:
        """Number of the lowest byte of a word that has a bit set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
            return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

        return types.int64(types.uint64), generate


@compiled_part
def skip_space(buffer: Uint8, i: int) -> int:
    """Returns the index of the first byte that is no JSON white space, the buffer's length if there is none."""
    n = len(buffer)
    while i < n and buffer[i] <= 32 and (buffer[i] in (32, 10, 13, 9)):
        i += 1
    return i


@compiled_part
def closing_quote(buffer: Uint8, i: int) -> int:
    """Returns the index of the quote that ends the string whose content begins at ``i``, or ``OUT``."""
    n = len(buffer)
    while i + 8 <= n:
        word = load_word(buffer, i)
        quotes = word ^ _QUOTES
        backslashes = word ^ _BACKSLASHES
        found = (((quotes - _ONES) & ~quotes) | ((backslashes - _ONES) & ~backslashes)) & _HIGHS
        if found == _NONE:
            i += 8
            continue
        i += lowest_byte(found)
        if buffer[i] == QUOTE:
            return i
        i += 2
    while i < n:
        if buffer[i] == QUOTE:
            return i
        i += 2 if buffer[i] == BACKSLASH else 1
    return OUT


@compiled_part
def end_of_key(buffer: Uint8, i: int) -> int:
    """Like ``closing_quote`` for the key of a member, which begins at ``i`` with its quote.

    Returns:
        Index of the closing quote; ``BAD`` where no string begins, or for a key with an escape: it may
        be another spelling of one that is known.
    """
    n = len(buffer)
    if i >= n:
        return OUT
    if buffer[i] != QUOTE:
        return BAD
    i += 1
    while i < n:
        if buffer[i] == QUOTE:
            return i
        if buffer[i] == BACKSLASH:
            return BAD
        i += 1
    return OUT


@compiled_part
def behind_colon(buffer: Uint8, i: int) -> int:
    """Skips a colon and the space around it. Returns the index of the value, inside the buffer."""
    n = len(buffer)
    if i < n and buffer[i] != COLON:
        i = skip_space(buffer, i)
    if i >= n:
        return OUT
    if buffer[i] != COLON:
        return BAD
    i += 1
    if i < n and buffer[i] <= 32:
        i = skip_space(buffer, i)
    return i if i < n else OUT


@compiled_part
def skip_digits(buffer: Uint8, i: int) -> int:
    """Returns the index behind the digits at ``i``."""
    n = len(buffer)
    while i < n and ZERO <= buffer[i] <= NINE:
        i += 1
    return i


@compiled_part
def skip_number(buffer: Uint8, i: int) -> int:
    """Returns the index behind a JSON number; ``OUT`` where it touches the end of the buffer."""
    n = len(buffer)
    if buffer[i] == MINUS:
        i += 1
    first = i
    i = skip_digits(buffer, i)
    if i < n and (i == first or (buffer[first] == ZERO and i > first + 1)):
        return BAD
    if i < n and buffer[i] == POINT:
        first = i + 1
        i = skip_digits(buffer, first)
        if i < n and i == first:
            return BAD
    if i < n and (buffer[i] | 32) == 101:
        first = i + 1
        if first < n and buffer[first] in (PLUS, MINUS):
            first += 1
        i = skip_digits(buffer, first)
        if i < n and i == first:
            return BAD
    return i if i < n else OUT


@compiled_part
def skip_word(buffer: Uint8, i: int) -> int:
    """Returns the index behind ``true``, ``false`` or ``null``."""
    word = b"null"
    if buffer[i] == 116:
        word = b"true"
    elif buffer[i] == 102:
        word = b"false"
    for k in range(len(word)):
        if i + k >= len(buffer):
            return OUT
        if buffer[i + k] != word[k]:
            return BAD
    return i + len(word)


@compiled_part
def skip_scalar(buffer: Uint8, i: int) -> int:
    """Returns the index behind a string, a number or a literal that begins at ``i``."""
    first = buffer[i]
    if first == QUOTE:
        end = closing_quote(buffer, i + 1)
        return end + 1 if end >= 0 else OUT
    if first == MINUS or ZERO <= first <= NINE:
        return skip_number(buffer, i)
    return skip_word(buffer, i)


@compiled_part
def skip_key(buffer: Uint8, i: int) -> int:
    """Skips a key of any spelling and its colon. Returns the index of the value."""
    if i >= len(buffer):
        return OUT
    if buffer[i] != QUOTE:
        return BAD
    end = closing_quote(buffer, i + 1)
    if end < 0:
        return OUT
    return behind_colon(buffer, end + 1)


@compiled_part
def _open(buffer: Uint8, i: int) -> int:
    """Goes from the bracket that opens a list or object to its first value.

    Returns:
        Index of the first value or of the bracket that closes it again at once, or ``OUT``, ``BAD``.
    """
    is_object = buffer[i] == OPEN_OBJECT
    i = skip_space(buffer, i + 1)
    if i >= len(buffer):
        return OUT
    if is_object and buffer[i] != CLOSE_OBJECT:
        return skip_key(buffer, i)
    return i


@compiled_part
def _behind_value(buffer: Uint8, i: int, kinds: int, depth: int) -> tuple[int, int, int]:
    """Goes from the end of a value to the next one, through the brackets that close in between.

    Args:
        buffer: The text.
        i: Index behind the value.
        kinds: A bit for each open level, the innermost lowest: 1 is an object.
        depth: How many levels are open.

    Returns:
        Index (of the next value, or behind the last bracket), ``kinds`` and ``depth`` there.
    """
    while depth > 0:
        i = skip_space(buffer, i)
        if i >= len(buffer):
            return OUT, kinds, depth
        if buffer[i] == COMMA:
            i = skip_space(buffer, i + 1)
            if kinds & 1:
                i = skip_key(buffer, i)
            return (i if i < len(buffer) else OUT), kinds, depth
        if buffer[i] != (CLOSE_OBJECT if kinds & 1 else CLOSE_LIST):
            return BAD, kinds, depth
        i += 1
        kinds >>= 1
        depth -= 1
    return i, kinds, depth


@compiled_part
def skip_strict(buffer: Uint8, i: int) -> int:
    """Returns the index behind the JSON value that begins at ``i`` (inside the buffer), or ``OUT``, ``BAD``."""
    kinds = 0
    depth = 0
    while True:
        if buffer[i] == OPEN_LIST or buffer[i] == OPEN_OBJECT:
            if depth == DEEPEST:
                return BAD
            closing = buffer[i] + 2
            kinds = (kinds << 1) | (1 if buffer[i] == OPEN_OBJECT else 0)
            depth += 1
            i = _open(buffer, i)
            if i < 0:
                return i
            if buffer[i] != closing:
                continue
            kinds >>= 1
            depth -= 1
            i += 1
        else:
            i = skip_scalar(buffer, i)
            if i < 0:
                return i
        if depth > 0:
            i, kinds, depth = _behind_value(buffer, i, kinds, depth)
        if i < 0 or depth == 0:
            return i


@compiled_entry
def skip_lenient(buffer: Uint8, i: int) -> int:
    """Returns the index behind any value by its brackets and quotes alone, ``OUT`` if the buffer ends first."""
    depth = 0
    n = len(buffer)
    i = skip_space(buffer, i)
    while i < n:
        byte = buffer[i]
        if byte == QUOTE:
            i = closing_quote(buffer, i + 1)
            if i < 0:
                return OUT
        elif byte == OPEN_OBJECT or byte == OPEN_LIST:
            depth += 1
        elif byte == CLOSE_OBJECT or byte == CLOSE_LIST:
            depth -= 1
            if depth < 0:
                return i
        elif depth == 0 and (byte == COMMA or byte <= 32):
            return i
        i += 1
        if depth == 0 and byte in (QUOTE, CLOSE_OBJECT, CLOSE_LIST):
            return i
    return OUT
