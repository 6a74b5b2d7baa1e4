"""Where a timeline's ruler has ticks and what it writes beside them: whole nanoseconds, no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.units import MINUS

if TYPE_CHECKING:
    from gui.plots.timeline_span import TimeSpan

_UNITS = (("s", 10**9), ("ms", 10**6), ("\N{MICRO SIGN}s", 10**3), ("ns", 1))
_MOST_PARTS = 1000


@dataclass(frozen=True, slots=True)
class TimeTick:
    """One tick of the ruler."""

    time_ns: int
    label: str


def time_ticks(span: TimeSpan, origin_ns: int, count: float) -> tuple[TimeTick, ...]:
    """Ticks at 1, 2 or 5 times a power of ten nanoseconds, counted from an origin.

    All labels have one unit: the largest that is not above the times and shows
    the step with three decimals at most.

    Args:
        span: What is visible.
        origin_ns: What the ruler calls zero.
        count: How many fit, at most.
    """
    step_ns = _step_ns(span.length_ns, count)
    first = -((span.start_ns - origin_ns) // -step_ns)
    last = (span.end_ns - origin_ns) // step_ns
    largest_ns = max(abs(first), abs(last)) * step_ns
    highest = min(max(largest_ns, step_ns), step_ns * _MOST_PARTS)
    unit, scale = next((unit, scale) for unit, scale in _UNITS if scale <= highest)
    decimals = _decimals(step_ns, scale)
    return tuple(
        TimeTick(origin_ns + number * step_ns, _words(number * step_ns, unit, scale, decimals))
        for number in range(first, last + 1)
    )


def _step_ns(length_ns: int, count: float) -> int:
    raw_ns = length_ns / max(count, 1.0)
    step_ns = 1
    while True:
        for mantissa in (1, 2, 5):
            if mantissa * step_ns >= raw_ns:
                return mantissa * step_ns
        step_ns *= 10


def _decimals(step_ns: int, scale: int) -> int:
    decimals = 0
    while step_ns * 10**decimals % scale:
        decimals += 1
    return decimals


def _words(time_ns: int, unit: str, scale: int, decimals: int) -> str:
    # A whole number of the last decimal, so that nothing is rounded.
    whole, rest = divmod(abs(time_ns) * 10**decimals // scale, 10**decimals)
    fraction = f".{rest:0{decimals}d}" if decimals else ""
    return f"{MINUS if time_ns < 0 else ''}{whole:,}{fraction} {unit}"
