"""Walking over JSON text byte by byte: spaces, strings, any value, the place where an event begins or ends.

Positions are indices of a (n,) uint8 buffer. A function that cannot go on
returns ``OUT`` where the buffer ends first and ``BAD`` where the text is not
JSON. Bytes inside a string are never judged, except that a backslash protects
the next one. What the values mean is not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from core.compiled import compiled_entry, compiled_part

if TYPE_CHECKING:
    from core.tables.columns import Uint8

    Array = TypeVar("Array", bound=NDArray[Any])

OUT: Final = -1
"""The buffer ends before the thing does."""
BAD: Final = -2
"""The text is not what JSON allows here."""

QUOTE, COMMA, COLON, BACKSLASH = 34, 44, 58, 92
OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT = 91, 93, 123, 125
MINUS, PLUS, POINT, ZERO, NINE = 45, 43, 46, 48, 57

DEEPEST: Final = 62
"""Levels inside one value; with the event and its ``args`` that makes 64."""
DOUBT_BYTES: Final = 1024
"""How far behind the likely begin of the next event a broken one may still end. Keeps a bad file linear."""

_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_NONE = np.uint64(0)


class Text(NamedTuple):
    """The bytes that are walked over: a bare pointer, as an array would cost seven words at every call.

    Attributes:
        data: The first byte.
        length: How many there are.
    """

    data: Uint8
    length: int


if TYPE_CHECKING:

    def signed(value: Any) -> int:
        """Types what turns any integer into a signed one."""

    def pointer(array: Array) -> Array:
        """Types the intrinsic of this name."""

    def load_word(data: Uint8, index: int) -> np.uint64:
        """Types the intrinsic of this name."""

    def lowest_byte(word: np.uint64) -> int:
        """Types the intrinsic of this name."""

else:
    signed = np.int64

    @intrinsic
    def pointer(_: Any, array: Any) -> Any:
        """Returns where the items of an array in one piece begin. The caller keeps the array alive."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data

        return types.CPointer(array.dtype)(array), generate

    @intrinsic
    def load_word(_: Any, data: Any, index: Any) -> Any:
        """Reads the 8 bytes at ``index`` as a little-endian word. The caller has checked that they exist."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.gep(arguments[0], [arguments[1]])
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(data, types.int64), generate

    @intrinsic
    def lowest_byte(_: Any, word: Any) -> Any:
        """Number of the lowest byte of a word that has a bit set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
            return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

        return types.int64(types.uint64), generate


@compiled_part
def is_space(byte: int) -> bool:
    """Whether a byte is JSON white space."""
    return byte == 32 or (9 <= byte <= 13 and byte != 11 and byte != 12)  # noqa: PLR1714  (a tuple is slower)


@compiled_part
def skip_space(text: Text, i: int) -> int:
    """Returns the index of the first byte that is no white space, the buffer's length if there is none."""
    n = text.length
    while i < n and is_space(text.data[i]):
        i += 1
    return i


@compiled_part
def backslashes(word: np.uint64) -> np.uint64:
    """Returns a word with the highest bit set in the lowest byte that is a backslash, and 0 if none is."""
    apart = word ^ _BACKSLASHES
    return (apart - _ONES) & ~apart & _HIGHS


@compiled_part
def closing_quote(text: Text, i: int) -> int:
    """Returns the index of the quote that ends the string whose content begins at ``i``, or ``OUT``."""
    n = text.length
    while i + 8 <= n:
        word = load_word(text.data, i)
        quotes = word ^ _QUOTES
        found = ((quotes - _ONES) & ~quotes & _HIGHS) | backslashes(word)
        if found == _NONE:
            i += 8
            continue
        i += lowest_byte(found)
        if text.data[i] == QUOTE:
            return i
        i += 2
    while i < n:
        if text.data[i] == QUOTE:
            return i
        i += 2 if text.data[i] == BACKSLASH else 1
    return OUT


@compiled_part
def end_of_key(text: Text, i: int) -> int:
    """Returns the index of the quote that ends the key whose first quote is at ``i``, ``OUT``, ``BAD``."""
    if i >= text.length:
        return OUT
    if text.data[i] != QUOTE:
        return BAD
    return closing_quote(text, i + 1)


@compiled_part
def behind_colon(text: Text, i: int) -> int:
    """Skips a colon and the space around it. Returns the index of the value, inside the buffer."""
    n = text.length
    if i < n and text.data[i] != COLON:
        i = skip_space(text, i)
    if i >= n:
        return OUT
    if text.data[i] != COLON:
        return BAD
    i += 1
    if i < n and text.data[i] <= 32:
        i = skip_space(text, i)
    return i if i < n else OUT


@compiled_part
def skip_digits(text: Text, i: int) -> int:
    """Returns the index behind the digits at ``i``."""
    n = text.length
    while i < n and ZERO <= text.data[i] <= NINE:
        i += 1
    return i


@compiled_part
def skip_number(text: Text, i: int) -> int:
    """Returns the index behind a JSON number; ``OUT`` where it touches the end of the buffer."""
    n = text.length
    if text.data[i] == MINUS:
        i += 1
    first = i
    i = skip_digits(text, i)
    if i < n and (i == first or (text.data[first] == ZERO and i > first + 1)):
        return BAD
    if i < n and text.data[i] == POINT:
        first = i + 1
        i = skip_digits(text, first)
        if i < n and i == first:
            return BAD
    if i < n and (text.data[i] | 32) == 101:
        first = i + 1
        if first < n and text.data[first] in (PLUS, MINUS):
            first += 1
        i = skip_digits(text, first)
        if i < n and i == first:
            return BAD
    return i if i < n else OUT


@compiled_part
def skip_word(text: Text, i: int) -> int:
    """Returns the index behind ``true``, ``false`` or ``null``."""
    word = b"null"
    if text.data[i] == 116:
        word = b"true"
    elif text.data[i] == 102:
        word = b"false"
    for k in range(len(word)):
        if i + k >= text.length:
            return OUT
        if text.data[i + k] != word[k]:
            return BAD
    return i + len(word)


@compiled_part
def skip_scalar(text: Text, i: int) -> int:
    """Returns the index behind a string, a number or a literal that begins at ``i``."""
    first = text.data[i]
    if first == QUOTE:
        end = closing_quote(text, i + 1)
        return end + 1 if end >= 0 else OUT
    if first == MINUS or ZERO <= first <= NINE:
        return skip_number(text, i)
    return skip_word(text, i)


@compiled_part
def skip_key(text: Text, i: int) -> int:
    """Skips a key of any spelling and its colon. Returns the index of the value."""
    end = end_of_key(text, i)
    return behind_colon(text, end + 1) if end >= 0 else end


@compiled_part
def _open(text: Text, i: int) -> int:
    """Goes from the bracket that opens a list or object to its first value.

    Returns:
        Index of the first value or of the bracket that closes it again at once, or ``OUT``, ``BAD``.
    """
    is_object = text.data[i] == OPEN_OBJECT
    i = skip_space(text, i + 1)
    if i >= text.length:
        return OUT
    if is_object and text.data[i] != CLOSE_OBJECT:
        return skip_key(text, i)
    return i


@compiled_part
def _behind_value(text: Text, i: int, kinds: int, depth: int) -> tuple[int, int, int]:
    """Goes from the end of a value to the next one, through the brackets that close in between.

    Args:
        text: The text.
        i: Index behind the value.
        kinds: A bit for each open level, the innermost lowest: 1 is an object.
        depth: How many levels are open.

    Returns:
        Index (of the next value, or behind the last bracket), ``kinds`` and ``depth`` there.
    """
    while depth > 0:
        i = skip_space(text, i)
        if i >= text.length:
            return OUT, kinds, depth
        if text.data[i] == COMMA:
            i = skip_space(text, i + 1)
            if kinds & 1:
                i = skip_key(text, i)
            return (i if i < text.length else OUT), kinds, depth
        if text.data[i] != (CLOSE_OBJECT if kinds & 1 else CLOSE_LIST):
            return BAD, kinds, depth
        i += 1
        kinds >>= 1
        depth -= 1
    return i, kinds, depth


@compiled_part
def skip_strict(text: Text, i: int) -> int:
    """Returns the index behind the JSON value that begins at ``i`` (inside the text), or ``OUT``, ``BAD``."""
    kinds = 0
    depth = 0
    while True:
        if text.data[i] == OPEN_LIST or text.data[i] == OPEN_OBJECT:
            if depth == DEEPEST:
                return BAD
            closing = text.data[i] + 2
            kinds = (kinds << 1) | (1 if text.data[i] == OPEN_OBJECT else 0)
            depth += 1
            i = _open(text, i)
            if i < 0:
                return i
            if text.data[i] != closing:
                continue
            kinds >>= 1
            depth -= 1
            i += 1
        else:
            i = skip_scalar(text, i)
            if i < 0:
                return i
        if depth > 0:
            i, kinds, depth = _behind_value(text, i, kinds, depth)
        if i < 0 or depth == 0:
            return i


@compiled_part
def _skip_lenient(text: Text, i: int) -> int:
    """Returns the index behind any value by its brackets and quotes alone, or ``OUT``."""
    depth = 0
    n = text.length
    i = skip_space(text, i)
    while i < n:
        byte = text.data[i]
        if byte == QUOTE:
            i = closing_quote(text, i + 1)
            if i < 0:
                return OUT
        elif byte in (OPEN_OBJECT, OPEN_LIST):
            depth += 1
        elif byte in (CLOSE_OBJECT, CLOSE_LIST):
            depth -= 1
            if depth < 0:
                return i
        elif depth == 0 and (byte == COMMA or byte <= 32):
            return i
        i += 1
        if depth == 0 and byte in (QUOTE, CLOSE_OBJECT, CLOSE_LIST):
            return i
    return OUT


@compiled_entry
def skip_lenient(buffer: Uint8, i: int) -> int:
    """``_skip_lenient`` of an array."""
    return _skip_lenient(Text(pointer(buffer), len(buffer)), i)
