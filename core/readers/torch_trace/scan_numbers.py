"""Numbers of JSON text, exactly: microseconds into nanoseconds, integers, float64 bits.

All of them go through the digits as they stand there; no float is involved
where an integer comes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.compiled import compiled_part
from core.readers.torch_trace.scan_text import (
    BAD,
    MINUS,
    NINE,
    OUT,
    PLUS,
    POINT,
    QUOTE,
    ZERO,
    Text,
    signed,
    skip_digits,
)

if TYPE_CHECKING:
    pass

KEPT_DIGITS: Final = 19
"""Significant digits that always fit a uint64."""
_MOST_EXPONENT: Final = 99_999
_EXACT_POWER: Final = 22
"""10**22 is the last power of ten that a float64 holds exactly."""
_TEN = np.uint64(10)
_ONE = np.uint64(1)
_NOUGHT = np.uint64(0)
_TIME_LIMIT = np.uint64(2**62)
_FLOAT_LIMIT = np.uint64(2**53)
_MOST = np.uint64(2**64 - 1)
_POSITIVE_LIMIT = np.uint64(2**63)
_POWERS = np.array([10**k for k in range(20)], np.uint64)
_FLOAT_POWERS = np.array([10.0**k for k in range(_EXACT_POWER + 1)], np.float64)

UNFIT: Final = 0
"""What stands there is sound JSON, but no such number."""
FIT: Final = 1


@compiled_part
def _digits(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, i: int, mantissa: np.uint64, kept: int, dropped: int, rest: int
) -> tuple[int, np.uint64, int, int, int]:
    """Adds the digits at ``i`` to a mantissa of at most ``KEPT_DIGITS`` digits.

    Returns:
        Index behind them, mantissa, how many digits it has (leading zeros apart), how many were dropped,
        the first dropped one.
    """
    n = text.length
    while i < n and ZERO <= text.data[i] <= NINE:
        digit = np.uint64(text.data[i] - ZERO)
        if kept < KEPT_DIGITS:
            mantissa = mantissa * _TEN + digit
            if mantissa != _NOUGHT:
                kept += 1
        else:
            if dropped == 0:
                rest = signed(digit)
            dropped += 1
        i += 1
    return i, mantissa, kept, dropped, rest


@compiled_part
def _exponent(text: Text, i: int) -> tuple[int, int]:
    """Reads what follows ``e``. Returns the index behind it (``OUT``, ``BAD``) and the exponent, bounded."""
    n = text.length
    negative = False
    if i < n and (text.data[i] == MINUS or text.data[i] == PLUS):
        negative = text.data[i] == MINUS
        i += 1
    first = i
    value = 0
    while i < n and ZERO <= text.data[i] <= NINE:
        value = min(value * 10 + signed(text.data[i] - ZERO), _MOST_EXPONENT)
        i += 1
    if i >= n:
        return OUT, 0
    return (i if i > first else BAD), (-value if negative else value)


@compiled_part
def read_decimal(text: Text, i: int) -> tuple[int, np.uint64, int, int]:
    """Reads the unsigned part of a JSON number: the sign has been read.

    Returns:
        Index behind it (``OUT`` where it touches the end of the text, ``BAD``), mantissa, exponent, rest.
        The value is (mantissa + rest / 10 + less than 1 / 10) * 10**exponent; ``rest`` is -1 if nothing was
        dropped.
    """
    n = text.length
    first = i
    i, mantissa, kept, exponent, rest = _digits(text, i, _NOUGHT, 0, 0, -1)
    if i >= n:
        return OUT, mantissa, exponent, rest
    if i == first or (text.data[first] == ZERO and i > first + 1):
        return BAD, mantissa, exponent, rest
    if text.data[i] == POINT:
        first = i + 1
        i, mantissa, _, dropped, rest = _digits(text, first, mantissa, kept, exponent, rest)
        exponent -= i - first - (dropped - exponent)
        if i >= n or i == first:
            return (OUT if i >= n else BAD), mantissa, exponent, rest
    if (text.data[i] | 32) == 101:
        i, power = _exponent(text, i + 1)
        exponent += power
    return i, mantissa, exponent, rest


@compiled_part
def _scaled(mantissa: np.uint64, exponent: int, rest: int) -> tuple[np.uint64, bool, bool]:
    """Brings a decimal to an integer, half rounded up.

    Returns:
        The integer, whether it fits 64 bits, whether nothing was rounded away.
    """
    if mantissa == _NOUGHT:
        return _NOUGHT, True, rest < 0
    if exponent > 0:
        fits = rest < 0 and exponent < 20 and mantissa <= _MOST // _POWERS[min(exponent, 19)]
        return (mantissa * _POWERS[exponent] if fits else _NOUGHT), fits, True
    if exponent == 0:
        return (mantissa + _ONE if rest >= 5 else mantissa), True, rest < 0
    if exponent < -KEPT_DIGITS:
        return _NOUGHT, True, False
    power = _POWERS[-exponent]
    whole = mantissa // power
    left = mantissa - whole * power
    if left >= power - left:
        whole += _ONE
    return whole, True, left == _NOUGHT and rest < 0


@compiled_part
def _begins_number(byte: int) -> bool:
    return byte == MINUS or ZERO <= byte <= NINE


@compiled_part
def _signed_end(text: Text, i: int) -> tuple[int, bool, bool]:
    """Steps over a quote and a minus sign before digits. Returns the index behind, quoted, negative."""
    n = text.length
    quoted = text.data[i] == QUOTE
    if quoted:
        i += 1
    negative = i < n and text.data[i] == MINUS
    if negative:
        i += 1
    return i, quoted, negative


@compiled_part
def read_time(text: Text, i: int) -> tuple[int, int, int]:
    """Reads microseconds, a number or a number between quotes, as nanoseconds; half a ns goes away from zero.

    Args:
        text: The text.
        i: Index of a value, inside the buffer.

    Returns:
        Index behind the number (``OUT``, ``BAD``), ns, and ``FIT`` or ``UNFIT``. ``UNFIT`` is 2**62 ns or
        more, and whatever is no number: then the index is ``i``.
    """
    first = text.data[i]
    if not (first == QUOTE or _begins_number(first)):
        return i, 0, UNFIT
    at, quoted, negative = _signed_end(text, i)
    end, mantissa, exponent, rest = read_decimal(text, at)
    if quoted and (end < 0 or text.data[end] != QUOTE):
        return i, 0, UNFIT
    if end < 0:
        return end, 0, UNFIT
    if quoted:
        end += 1
    value, fits, _ = _scaled(mantissa, exponent + 3, rest)
    if not fits or value >= _TIME_LIMIT:
        return end, 0, UNFIT
    return end, (-signed(value) if negative else signed(value)), FIT


@compiled_part
def _as_int64(value: np.uint64, negative: bool) -> tuple[int, int]:
    """Returns an integer as int64 and ``FIT``, or ``UNFIT``. From 2**63 on the bits are kept: addresses."""
    if negative:
        if value > _POSITIVE_LIMIT:
            return 0, UNFIT
        return signed(_NOUGHT - value), FIT
    return signed(value), FIT


@compiled_part
def read_integer(text: Text, i: int) -> tuple[int, int, int]:
    """Reads a JSON integer, one between quotes, or a float without a fraction.

    Args:
        text: The text.
        i: Index of a value, inside the buffer.

    Returns:
        Index behind it (``OUT``, ``BAD``), the value (from 2**63 to 2**64 - 1 as the same bits), and ``FIT``
        or ``UNFIT``. Where no number stands the index is ``i``.
    """
    n = text.length
    first = text.data[i]
    if not (first == QUOTE or _begins_number(first)):
        return i, 0, UNFIT
    at, quoted, negative = _signed_end(text, i)
    end = at
    value = _NOUGHT
    while end < n and ZERO <= text.data[end] <= NINE and end < at + KEPT_DIGITS:
        value = value * _TEN + np.uint64(text.data[end] - ZERO)
        end += 1
    plain = end > at and end < n and (text.data[at] != ZERO or end == at + 1)
    if plain and (text.data[end] == QUOTE if quoted else _ends_integer(text.data[end])):
        number, fit = _as_int64(value, negative)
        return (end + 1 if quoted else end), number, fit
    end, number, fit = _long_integer(text, at, negative)
    if quoted:
        if end < 0 or text.data[end] != QUOTE or not _only_digits(text, at, end):
            return i, 0, UNFIT
        return end + 1, number, fit
    return end, number, fit


@compiled_part
def _ends_integer(byte: int) -> bool:
    """Whether a number cannot go on with this byte."""
    return byte != POINT and (byte | 32) != 101 and not ZERO <= byte <= NINE


@compiled_part
def _only_digits(text: Text, start: int, end: int) -> bool:
    return skip_digits(text, start) == end


@compiled_part
def _long_integer(text: Text, at: int, negative: bool) -> tuple[int, int, int]:
    """Reads an integer of 20 digits or one that is written with a point or an exponent."""
    end, mantissa, exponent, rest = read_decimal(text, at)
    if end < 0:
        return end, 0, UNFIT
    if exponent == 1 and rest >= 0 and end - at == KEPT_DIGITS + 1 and _only_digits(text, at, end):
        last = np.uint64(rest)
        if mantissa > (_MOST - last) // _TEN:
            return end, 0, UNFIT
        value = mantissa * _TEN + last
    else:
        value, fits, exact = _scaled(mantissa, exponent, rest)
        if not fits or not exact:
            return end, 0, UNFIT
    number, fit = _as_int64(value, negative)
    return end, number, fit


@compiled_part
def read_float(text: Text, i: int) -> tuple[int, float, int]:
    """Reads a JSON number as the nearest float64.

    Returns:
        Index behind it (``OUT``, ``BAD``), the value, and ``FIT``. ``UNFIT`` where no number stands (the
        index is ``i``) or where 53 bits and one exact power of ten do not settle which float64 is nearest.
    """
    first = text.data[i]
    if not _begins_number(first):
        return i, 0.0, UNFIT
    negative = first == MINUS
    end, mantissa, exponent, rest = read_decimal(text, i + 1 if negative else i)
    if end < 0 or rest >= 0 or mantissa > _FLOAT_LIMIT or abs(exponent) > _EXACT_POWER:
        return end, 0.0, UNFIT
    value = np.float64(mantissa)
    value = value * _FLOAT_POWERS[exponent] if exponent >= 0 else value / _FLOAT_POWERS[-exponent]
    return end, (-value if negative else value), FIT
