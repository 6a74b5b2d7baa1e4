"""Where an axis puts its ticks and what it writes beside them: pure arithmetic, no Qt.

Three kinds of axis: linear, seconds (which turns into minutes and hours), and
logarithmic, whose positions are given and returned as powers of ten, because
pyqtgraph's own log axis has no labels inside one decade.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.units import MINUS, format_number

_STEPS = (1.0, 2.0, 5.0, 10.0)
_SECOND_STEPS = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 43200.0)
_SECONDS_IN_PLAIN = 180.0
_RAISED = str.maketrans(
    "-0123456789",
    "\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}"
    "\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}\N{SUPERSCRIPT SIX}\N{SUPERSCRIPT SEVEN}"
    "\N{SUPERSCRIPT EIGHT}\N{SUPERSCRIPT NINE}",
)


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick: its place on the axis and its words ("" for a minor one)."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of one axis, ascending.

    Attributes:
        major: With labels.
        minor: Without.
        unit: Unit that the labels are written in where it depends on the range
            (seconds axes: "s", "min:s", "h:min"), else "".
    """

    major: tuple[Tick, ...]
    minor: tuple[Tick, ...] = ()
    unit: str = ""


def nice_step(span: float, count: float) -> float:
    """Smallest of 1, 2, 5 times a power of ten that gives at most ``count`` steps in ``span``."""
    raw = span / max(count, 1.0)
    if not math.isfinite(raw) or raw <= 0:
        return 1.0
    power = math.floor(math.log10(raw))
    for mantissa in _STEPS:
        # Dividing by ten to a positive power keeps 0.1, 0.01, ... exact.
        step = mantissa * 10.0**power if power >= 0 else mantissa / 10.0**-power
        if step >= raw * (1 - 1e-9):
            return step
    return 10.0 ** (power + 1)


def _multiples(low: float, high: float, step: float) -> list[float]:
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def linear_ticks(low: float, high: float, count: float, *, whole: bool = False) -> Ticks:
    """Ticks at 1, 2 or 5 times a power of ten.

    Args:
        low: Start of the axis.
        high: End of the axis, above ``low``.
        count: How many fit, at most.
        whole: The axis counts things (steps, ranks): no fractions.
    """
    step = nice_step(high - low, count)
    if whole:
        step = max(1.0, step)
    values = _multiples(low, high, step)
    return Ticks(tuple(Tick(value, text) for value, text in zip(values, labels(values, step), strict=True)))


def labels(values: list[float], step: float) -> list[str]:
    """Labels with the decimals that ``step`` needs, the same for all."""
    largest = max((abs(value) for value in values), default=0.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    if largest and (largest >= 1e7 or largest < 1e-3 or decimals > 6):
        return [format_number(value, 3) for value in values]
    return [_fixed(value, decimals) for value in values]


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    if text.startswith("-"):
        return text[1:] if not text.strip("-0.,") else MINUS + text[1:]
    return text


def second_ticks(low_s: float, high_s: float, count: float) -> Ticks:
    """Ticks of a time axis: seconds, above three minutes min:s, above three hours h:min."""
    if max(abs(low_s), abs(high_s)) <= _SECONDS_IN_PLAIN or nice_step(high_s - low_s, count) < 1:
        plain = linear_ticks(low_s, high_s, count)
        return Ticks(plain.major, unit="s")
    raw = (high_s - low_s) / max(count, 1.0)
    step = nice_step(high_s - low_s, count)
    if raw > 50:
        step = next((s for s in _SECOND_STEPS if s >= raw), 86400.0 * math.ceil(raw / 86400.0))
    elif raw > 20:
        step = 60.0 if raw > 30 else 30.0
    hours = high_s > 3 * 3600 and step % 60 == 0
    values = _multiples(low_s, high_s, step)
    return Ticks(
        tuple(Tick(value, _clock(value, hours)) for value in values), unit="h:min" if hours else "min:s"
    )


def _clock(value_s: float, hours: bool) -> str:
    sign = MINUS if value_s < 0 else ""
    whole = round(abs(value_s))
    left, right = divmod(whole // 60, 60) if hours else divmod(whole, 60)
    return f"{sign}{left}:{right:02d}"


def log_ticks(low_power: float, high_power: float, count: float) -> Ticks:
    """Ticks of a logarithmic axis; positions are log10 of the values.

    Below one decade the ticks are linear in the value, so that there are always
    at least two with words. Source of the rule: pyqtgraph 0.14's log axis draws
    none there.
    """
    span = high_power - low_power
    if span < 1:
        return _log_ticks_inside_a_decade(low_power, high_power, count)
    first, last = math.floor(low_power), math.ceil(high_power)
    mantissas = (1, 2, 5) if span <= 2 and count >= 3 * span else (1,)
    every = max(1, math.ceil(span / max(count, 1.0)))
    major: list[tuple[int, int]] = []
    minor: list[Tick] = []
    for power in range(first, last + 1):
        for digit in range(1, 10):
            position = power + math.log10(digit)
            if not low_power - 1e-9 <= position <= high_power + 1e-9:
                continue
            if digit in mantissas and power % every == 0:
                major.append((digit, power))
            elif span <= 6:
                minor.append(Tick(position, ""))
    # One way of writing an axis: 0.001 beside a power of ten would look like two scales.
    words = _plain if all(_is_plain(*each) for each in major) else _power_of_ten
    ticks = (Tick(power + math.log10(digit), words(digit, power)) for digit, power in major)
    return Ticks(tuple(ticks), tuple(minor))


def _is_plain(digit: int, power: int) -> bool:
    """Whether a value is from 0.001 to 100,000."""
    return power >= -3 and (power, digit) <= (5, 1)


def _plain(digit: int, power: int) -> str:
    """One digit and its zeros: "0.02", "500"."""
    return f"{digit * 10.0**power:,.{max(0, -power)}f}"


def _power_of_ten(digit: int, power: int) -> str:
    """The power of ten with its exponent raised, and the digit before it unless that is 1."""
    raised = str(power).translate(_RAISED)
    return f"10{raised}" if digit == 1 else f"{digit}\N{MULTIPLICATION SIGN}10{raised}"


def _log_ticks_inside_a_decade(low_power: float, high_power: float, count: float) -> Ticks:
    low, high = 10.0**low_power, 10.0**high_power
    step = nice_step(high - low, count)
    values = [value for value in _multiples(low, high, step) if value > 0]
    words = labels(values, step)
    return Ticks(tuple(Tick(math.log10(value), text) for value, text in zip(values, words, strict=True)))


def fitted(low: float, high: float, steps: float, zero_based: bool) -> tuple[float, float]:
    """A calm y range around what is visible: it moves in half steps of the ticks.

    Args:
        low: Smallest visible value.
        high: Largest visible value.
        steps: How many ticks fit.
        zero_based: The range begins at zero.
    """
    if zero_based:
        low = min(0.0, low)
    if high - low <= abs(high) * 1e-9:
        pad = abs(high) * 0.05 or 0.5
        low, high = (low if zero_based and low <= 0 < high else low - pad), high + pad
    half = nice_step(high - low, max(2.0, steps)) / 2
    room = 0.03 * (high - low)
    on_zero = zero_based and low == 0
    bottom = 0.0 if on_zero else math.floor((low - room) / half + 1e-9) * half
    top = math.ceil((high + room) / half - 1e-9) * half
    return bottom, top
