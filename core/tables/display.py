"""How the cells of a result column read: one unit for all of them, named in the header.

The unit and the decimals follow from the values, so that points align and the
typical value has its digits. Nothing is drawn here; the window and the terminal
show the same texts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.tables.columns import MISSING
from core.units import (
    DECIMAL_PREFIXES,
    DURATION_UNITS,
    GIB,
    NO_BREAK_SPACE,
    NOT_MEASURED,
    format_count,
    format_fixed,
    format_number,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Float64
    from core.tables.result import Column

_SAMPLE = 10_000
_MOST_DECIMALS = 3
_VANISHES = 0.1
_MOST_SHOWN = 1e6
_TIME_ROOM = 10.0
"""A time is written as up to 9,999 of a unit before the next one is taken: 1,204.0 \N{MICRO SIGN}s."""

_MOMENTS = ("start_ns", "end_ns", "time_ns")
"""Keys of moments since the trace's start: fixed decimals, so that neighbours can be told apart."""

_SCALES: Final[dict[str, tuple[tuple[str, float], ...]]] = {
    "ns": DURATION_UNITS,
    "bytes": (("bytes", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", GIB)),
    "bytes_per_s": tuple((f"{prefix}B/s", scale) for prefix, scale in DECIMAL_PREFIXES),
    "flop": tuple((f"{prefix}FLOP", scale) for prefix, scale in DECIMAL_PREFIXES),
    "flop_per_s": tuple((f"{prefix}FLOP/s", scale) for prefix, scale in DECIMAL_PREFIXES),
    "flop_per_byte": (("FLOP/B", 1),),
}


@dataclass(frozen=True, slots=True)
class ColumnDisplay:
    """How one column reads.

    Attributes:
        header: Title with the unit: "Sum, ms".
        numeric: Whether cells are numbers, which stand at the right.
        kind: Unit of the column as the analysis gave it; "text" for texts.
        scale: What a value is divided by.
        decimals: Of every cell; None where each has its own.
    """

    header: str
    numeric: bool
    kind: str
    scale: float = 1.0
    decimals: int | None = None

    def text(self, value: float | str | None) -> str:
        """Returns what a cell says. ``value`` is as ``Column.value`` gives it."""
        if value is None:
            return NOT_MEASURED
        if isinstance(value, str):
            return value
        if self.kind == "id":
            return f"{value:.0f}"
        if self.kind == "pct":
            return f"{self._number(value)}{NO_BREAK_SPACE}%"
        return self._number(value)

    def _number(self, value: float) -> str:
        if self.decimals is None:
            return format_number(value)
        if self.decimals == 0 and isinstance(value, int) and self.scale == 1:
            return format_count(value)
        scaled = value / self.scale
        least = 10.0**-self.decimals
        # 0 means zero: what only rounds to it is not written as one.
        if 0 < abs(scaled) < least / 2:
            return f"<{least:.{self.decimals}f}" if scaled > 0 else f">{format_fixed(-least, self.decimals)}"
        return format_fixed(scaled, self.decimals)


def display_of(column: Column) -> ColumnDisplay:
    """Chooses unit and decimals for a column."""
    if column.texts is not None:
        return ColumnDisplay(column.title, numeric=False, kind="text")
    whole = column.values.dtype == np.int64
    if column.unit == "pct":
        return ColumnDisplay(column.title, numeric=True, kind="pct", decimals=1)
    if column.unit == "id" or (whole and column.unit in ("count", "")):
        return ColumnDisplay(column.title, numeric=True, kind=column.unit or "count", decimals=0)
    if column.unit == "":
        return ColumnDisplay(column.title, numeric=True, kind="")
    if column.key in _MOMENTS:
        return ColumnDisplay(f"{column.title}, ms", numeric=True, kind="ns", scale=1e6, decimals=3)
    typical, largest = _magnitudes(column)
    room = _TIME_ROOM if column.unit == "ns" else 1.0
    name, scale = _unit(_SCALES.get(column.unit, (("", 1.0),)), typical, largest, room)
    decimals = 0 if whole and scale == 1 else _decimals(typical / scale, largest / scale)
    header = f"{column.title}, {name}" if name else column.title
    return ColumnDisplay(header, numeric=True, kind=column.unit, scale=scale, decimals=decimals)


def displays_of(columns: Sequence[Column]) -> tuple[ColumnDisplay, ...]:
    """Chooses for several columns."""
    return tuple(display_of(column) for column in columns)


def _magnitudes(column: Column) -> tuple[float, float]:
    """Returns the median of what is not zero, and the largest, both without sign; 0 if there is nothing."""
    values = column.values
    step = max(1, len(values) // _SAMPLE)
    sample = _present(values[::step].astype(np.float64), column)
    sample = np.abs(sample[sample != 0])
    typical = float(np.median(sample)) if len(sample) else 0.0
    present = values != MISSING if values.dtype == np.int64 else np.isfinite(values)
    most = float(np.max(values, where=present, initial=0))
    least = float(np.min(values, where=present, initial=0))
    return typical, max(most, -least)


def _present(sample: Float64, column: Column) -> Float64:
    finite = np.isfinite(sample)
    return sample[finite & (sample != MISSING)] if column.values.dtype == np.int64 else sample[finite]


def _unit(
    scales: tuple[tuple[str, float], ...], typical: float, largest: float, room: float
) -> tuple[str, float]:
    """The largest value has one digit before its point, up to four for a time.

    A smaller unit stands in where a typical value would vanish beside an outlier.
    """
    place = 0
    while place + 1 < len(scales) and largest >= scales[place + 1][1] * room:
        place += 1
    while place and typical < scales[place][1] * _VANISHES and largest < scales[place - 1][1] * _MOST_SHOWN:
        place -= 1
    return scales[place]


def _decimals(typical: float, largest: float) -> int:
    """Four digits for the largest value, but two at least for a typical one."""
    for_largest = 4 - _digits_before_point(largest)
    for_typical = 1 - math.floor(math.log10(typical)) if typical > 0 else 0
    return min(max(for_largest, for_typical, 1), _MOST_DECIMALS)


def _digits_before_point(value: float) -> int:
    return 1 if value < 1 else int(math.log10(float(f"{value:.4g}"))) + 1
