"""How the numbers of a file are written, and what a cell holds.

The tool writes them in the locale of its machine: 1,234.5 or 1.234,5. A single
cell such as 200.000 fits both, so the whole file decides.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.tables.ncu import MetricValue

_LONGEST: Final = 64
_GROUP: Final = 3
_MOST_INTEGER: Final = 2**64 - 1
_MOST_KEPT: Final = 200_000

_ABSENT: Final = frozenset(
    ("", "n/a", "na", "#n/a", "nan", "-nan", "nan(ind)", "-nan(ind)", "inf", "+inf", "-inf", "infinity")
)
_DOUBTED: Final = "(!)"
"""Stands before values that the tool itself doubts."""

_END: Final = r"(?:[eE][+-]?[0-9]{1,3})?"
# A group of three behind a leading zero is a fraction: nobody writes 0.123 for 123.
_POINT: Final = re.compile(rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+|[0-9]+)(?:\.[0-9]+)?{_END}")
_COMMA: Final = re.compile(rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+|[0-9]+)(?:,[0-9]+)?{_END}")
# What a number looks like, what to leave out of it, and what its point is.
_ENGLISH: Final = (_POINT, ",", ".")
_CONTINENTAL: Final = (_COMMA, ".", ",")
# Further separators of thousands: spaces of all kinds, and apostrophes.
_SPACED: Final = re.compile(
    r"(?<=[0-9])[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}'\N{RIGHT SINGLE QUOTATION MARK}](?=[0-9]{3})"
)
# A number with its values by instance behind it.
_INSTANCES: Final = re.compile(r"(\S+) \([^()]*\)")


class Numbers:
    """How numbers are written: gathered from all cells first, settled, then used to read them.

    Attributes:
        is_doubtful: Whether there are numbers that can be read in two ways, and nothing that tells which.
    """

    def __init__(self) -> None:
        self.is_doubtful = False
        self._way = _ENGLISH
        self._seen: set[str] = set()
        self._point_votes = 0
        self._comma_votes = 0
        self._ambiguous = 0
        self._values: dict[tuple[str, int], MetricValue] = {}
        self._odd: dict[tuple[str, int], str] = {}

    def gather(self, cells: Iterable[str]) -> None:
        """Takes cells with values into account."""
        self._seen.update(cells)
        if len(self._seen) > _MOST_KEPT:
            self._count()

    def _count(self) -> None:
        for cell in self._seen:
            if ("," not in cell and "." not in cell) or len(cell) > _LONGEST:
                continue
            text = _bare(cell)
            if _is_english(text):
                self._point_votes += 1
                continue
            fits_point, fits_comma = bool(_POINT.fullmatch(text)), bool(_COMMA.fullmatch(text))
            self._point_votes += fits_point and not fits_comma
            self._comma_votes += fits_comma and not fits_point
            self._ambiguous += fits_point and fits_comma
        self._seen.clear()

    def settle(self) -> None:
        """Decides for the way in which most of the cells must be read that can be read in one way only."""
        self._count()
        if self._comma_votes > self._point_votes:
            self._way = _CONTINENTAL
        self.is_doubtful = bool(self._ambiguous) and self._comma_votes == self._point_votes

    def read(self, cell: str, exponent: int = 0) -> MetricValue:
        """Returns what a cell holds: a number times a power of ten, a text, or None.

        Integers that are not scaled are exact. What is infinite or no number is None.
        """
        key = (cell, exponent)
        try:
            return self._values[key]
        except KeyError:
            pass
        if len(self._values) > _MOST_KEPT:
            self._values.clear()
        value = self._values[key] = self._read(cell, exponent)
        return value

    def why_absent(self, cell: str, exponent: int = 0) -> str | None:
        """Returns the code of what is odd about a cell that was read as None; None if it says n/a itself."""
        return self._odd.get((cell, exponent))

    def _read(self, cell: str, exponent: int) -> MetricValue:
        text = _bare(cell)
        if len(text) > _LONGEST:
            return cell
        if text.isdecimal() and text.isascii():
            return self._number(cell, text, exponent)
        if text.lower() in _ABSENT:
            return None
        number = self._plain(text)
        if number is None:
            with_instances = _INSTANCES.fullmatch(text)
            number = self._plain(with_instances[1]) if with_instances else None
        if number is None:
            if _POINT.fullmatch(text) or _COMMA.fullmatch(text):
                self._odd[cell, exponent] = "mixed_numbers"
                return None
            return cell
        return self._number(cell, number, exponent)

    def _number(self, cell: str, number: str, exponent: int) -> MetricValue:
        value = _value(number, exponent)
        if value is None:
            self._odd[cell, exponent] = "too_large"
        return value

    def _plain(self, text: str) -> str | None:
        """Returns a number with a decimal point and no separators, None if it is none."""
        pattern, separator, point = self._way
        if not pattern.fullmatch(text):
            return None
        return text.replace(separator, "").replace(point, ".")


def _bare(cell: str) -> str:
    """Returns a cell without what may stand around and within its number."""
    text = cell.strip()
    if text.startswith(_DOUBTED):
        text = text[len(_DOUBTED) :].lstrip()
    if text.isascii() and " " not in text and "'" not in text:
        return text
    return _SPACED.sub("", text) if len(text) <= _LONGEST else text


def _is_english(text: str) -> bool:
    """Tells quickly of most numbers that they have a point before decimals: 92.1, not 200.000."""
    whole_part, point, decimals = text.partition(".")
    return bool(point) and len(decimals) != _GROUP and whole_part.isdecimal() and decimals.isdecimal()


def _value(number: str, exponent: int) -> MetricValue:
    if not exponent and number.isdecimal():
        integer = int(number)
        return integer if integer <= _MOST_INTEGER else float(integer)
    value = float(Decimal(number).scaleb(exponent)) if exponent else float(number)
    # Beyond what a float holds nothing was measured.
    return value if abs(value) != float("inf") else None


def whole(cell: str) -> int | None:
    """Returns the number of a cell that identifies something, None if it holds none."""
    text = cell.strip()
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 18 else None
