"""Reads one JSON value that breaks JSON's rules, as far as what was meant can be told.

Only for the few events that strict reading refuses: speed does not matter here.
What it forgives, it counts: ``nan``, ``inf`` and ``N/A`` as values, quotes that
were not escaped, stray commas, and what ``texts`` repairs inside strings.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from core.readers.torch_trace.texts import decode_text

if TYPE_CHECKING:
    from core.readers.torch_trace.raw import Oddities

MOST_BYTES: Final = 2**24
"""No event is longer; one that seems to be has no end."""
MOST_BROKEN_BYTES: Final = 2**20
"""Longer ones are not mended: that takes seconds a MiB."""
_MOST_DEPTH: Final = 64
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?=[\s,\]}]|$)")
_MOST_DIGITS: Final = 4000
"""Python refuses to read integers with more than 4,300."""
_WORD: Final = re.compile(r"[^\s,\]}\"{\[:]+")
_ABSENT_WORDS: Final = frozenset(
    (
        "nan",
        "-nan",
        "inf",
        "+inf",
        "-inf",
        "infinity",
        "-infinity",
        "+infinity",
        "n/a",
        "na",
        "none",
        "undefined",
    )
)


class NotReadableError(Exception):
    """What was meant cannot be told."""


def read_value(data: bytes, offset: int, oddities: Oddities) -> Any:
    """Reads the one value in ``data``; fractions come as ``Decimal``, what is no number as None.

    Args:
        data: UTF-8 text of one value, from its first to its last byte.
        offset: Place of ``data`` in the whole text, for the count of oddities.
        oddities: Gets what was repaired.

    Raises:
        NotReadableError: It could not be made sense of.
    """

    def no_number(word: str) -> None:
        oddities.add("not_a_number", offset, detail=word)

    if len(data) > MOST_BYTES:
        raise NotReadableError
    try:
        return json.loads(data.decode("utf-8"), parse_float=Decimal, parse_constant=no_number)
    except (ValueError, RecursionError, InvalidOperation):
        pass
    if len(data) > MOST_BROKEN_BYTES:
        raise NotReadableError
    repairs: list[tuple[str, int, str]] = []
    # surrogateescape keeps bad bytes apart until the text of each string is decoded
    text = data.decode("utf-8", "surrogateescape")
    value = _Parser(text, repairs).whole()
    at, place = 0, offset
    for code, index, detail in repairs:
        place += len(text[at:index].encode("utf-8", "surrogateescape"))
        at = index
        oddities.add(code, place, detail=detail)
    return value


class _Parser:
    def __init__(self, text: str, repairs: list[tuple[str, int, str]]) -> None:
        self._text = text
        self._at = 0
        self._repairs = repairs

    def whole(self) -> Any:
        value = self._value(0)
        self._space()
        if self._at != len(self._text):
            raise NotReadableError
        return value

    def _space(self) -> str:
        match = _SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _note(self, code: str, detail: str = "") -> None:
        self._repairs.append((code, self._at, detail))

    def _value(self, depth: int) -> Any:
        if depth > _MOST_DEPTH:
            raise NotReadableError
        first = self._space()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first == '"':
            return self._string(",]}")
        return self._word()

    def _word(self) -> Any:
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            return self._number(number[0], whole=not (number[1] or number[2]))
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise NotReadableError
        word = match[0]
        if word in ("true", "false", "null"):
            self._at = match.end()
            return {"true": True, "false": False, "null": None}[word]
        if word.lower() not in _ABSENT_WORDS:
            raise NotReadableError
        self._note("not_a_number", word)
        self._at = match.end()
        return None

    def _number(self, digits: str, *, whole: bool) -> int | Decimal | None:
        if whole and len(digits) < _MOST_DIGITS:
            return int(digits)
        try:
            return Decimal(digits)
        except InvalidOperation:
            # Its exponent is beyond all bounds.
            self._note("not_a_number", digits)
            return None

    def _string(self, followers: str) -> str:
        """Reads up to the first quote that one of ``followers`` follows; earlier ones belong to the text."""
        start = self._at + 1
        at = start
        inner = 0
        while True:
            at = self._next_quote(at)
            behind = _SPACE.match(self._text, at + 1)
            assert behind is not None
            if behind.end() == len(self._text) or self._text[behind.end()] in followers:
                break
            inner += 1
            at += 1
        if inner:
            self._note("unescaped_quote")
        raw = self._text[start:at].encode("utf-8", "surrogateescape")
        text, codes = decode_text(raw)
        for code in codes:
            self._note(code)
        self._at = at + 1
        return text

    def _next_quote(self, at: int) -> int:
        while True:
            quote = self._text.find('"', at)
            if quote < 0:
                raise NotReadableError
            slashes = quote
            while slashes > at and self._text[slashes - 1] == "\\":
                slashes -= 1
            if (quote - slashes) % 2 == 0:
                return quote
            at = quote + 1

    def _commas(self, closing: str, empty: bool) -> bool:
        """Goes over the separator; whether another element follows."""
        first = self._space()
        commas = 0
        while first == ",":
            commas += 1
            self._at += 1
            first = self._space()
        if first == closing:
            if commas:
                self._note("stray_comma")
            self._at += 1
            return False
        if commas > 1 or (commas and empty):
            self._note("stray_comma")
        if not commas and not empty:
            raise NotReadableError
        return True

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while self._commas("}", not found):
            if self._space() != '"':
                raise NotReadableError
            key = self._string(":")
            if self._space() != ":":
                raise NotReadableError
            self._at += 1
            found[key] = self._value(depth + 1)
        return found

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        while self._commas("]", not found):
            found.append(self._value(depth + 1))
        return found
