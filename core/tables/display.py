"""How the cells of a result table read: one unit for all of a column, named in the header.

Columns that are compared with each other share a unit, so that 46.73 never stands
beside 30,669.0 for less: those of one call (mean, median, longest), sums, launch
delays, all other durations, bytes, and rates. Their unit is that of one column
which had the largest value of them all and a typical value between theirs; columns
of nothing but zeros have no say in it. Decimals are each column's own, so that
points align and the typical value has its digits. Nothing is drawn here; the
window and the terminal show the same texts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

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
_VANISHING_SUM = 0.01
"""Of a unit: a smaller one is taken for typical values below it. Large sums are what is read: 262.423 ms."""

_MOST_SHOWN = 1e6
_TIME_ROOM = 10.0
"""A time is written as up to 9,999 of a unit before the next one is taken: 1,204.0 \N{MICRO SIGN}s."""

_MOMENTS = ("start_ns", "end_ns", "time_ns")
"""Keys of moments since the trace's start: fixed decimals, so that neighbours can be told apart."""

_SHARING: Final = ("ns", "bytes", "bytes_per_s")
"""Units of which a table's columns are compared with each other."""

_DELAYS: Final = "delays"
_SUMS: Final = "sums"
_TIMES: Final = (
    (_DELAYS, re.compile("delay|clock_skew")),
    ("times of one call", re.compile("(mean|min|max|p05|p50|p95|p99)_ns$")),
    (_SUMS, re.compile("(^sum|_total|_self)_ns$")),
    ("parts", re.compile("")),
)
"""Which durations are compared, told by their keys; the first that fits counts."""

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


def displays_of(columns: Sequence[Column]) -> tuple[ColumnDisplay, ...]:
    """Chooses units and decimals for the columns of a table.

    Args:
        columns: All that the table has, also those not shown: a column keeps its unit when another appears.
    """
    families = [_family(column) for column in columns]
    sizes = [
        _Size(0, 0) if family is None else _size(column)
        for column, family in zip(columns, families, strict=True)
    ]
    units = {
        family: _unit(family, [size for size, own in zip(sizes, families, strict=True) if own == family])
        for family in families
        if family is not None
    }
    return tuple(
        _plain_display(column) if family is None else _scaled_display(column, size, *units[family])
        for column, family, size in zip(columns, families, sizes, strict=True)
    )


class _Family(NamedTuple):
    """Columns that share a unit: of what unit their values are, and what joins them."""

    unit: str
    joined_by: str


class _Size(NamedTuple):
    """Of a column without signs: the median of what is not zero, and the largest; 0 for nothing."""

    typical: float
    largest: float


def _family(column: Column) -> _Family | None:
    """Returns with which columns one shares its unit; None if its values are shown as they are."""
    whole = column.values.dtype == np.int64
    if column.texts is not None or column.unit in ("pct", "id", "") or (whole and column.unit == "count"):
        return None
    if column.unit not in _SHARING:
        return _Family(column.unit, column.key)
    if column.unit != "ns":
        return _Family(column.unit, "")
    if column.key in _MOMENTS:
        return None
    return _Family("ns", next(name for name, keys in _TIMES if keys.search(column.key)))


def _plain_display(column: Column) -> ColumnDisplay:
    """Returns how texts, numbers without a unit, shares and moments read."""
    if column.texts is not None:
        return ColumnDisplay(column.title, numeric=False, kind="text")
    if column.unit == "ns":
        return ColumnDisplay(f"{column.title}, ms", numeric=True, kind="ns", scale=1e6, decimals=3)
    if column.unit == "pct":
        return ColumnDisplay(column.title, numeric=True, kind="pct", decimals=1)
    if column.unit == "" and column.values.dtype != np.int64:
        return ColumnDisplay(column.title, numeric=True, kind="")
    return ColumnDisplay(column.title, numeric=True, kind=column.unit or "count", decimals=0)


def _scaled_display(column: Column, size: _Size, name: str, scale: float) -> ColumnDisplay:
    exact = column.values.dtype == np.int64 and scale == 1
    decimals = 0 if exact else _decimals(size.typical / scale, size.largest / scale)
    header = f"{column.title}, {name}" if name else column.title
    return ColumnDisplay(header, numeric=True, kind=column.unit, scale=scale, decimals=decimals)


def _unit(family: _Family, sizes: Sequence[_Size]) -> tuple[str, float]:
    """Returns the name of the unit that a family shares, and its scale."""
    scales = _SCALES.get(family.unit, (("", 1.0),))
    some = [size for size in sizes if size.largest]
    if not some:
        return scales[0]
    typical = float(np.median([size.typical for size in some]))
    if family.joined_by == _DELAYS:
        # Some microseconds, and now and then a second of somebody who waited: the many are what is read.
        return _fitting(scales[1:], typical, typical, _TIME_ROOM)
    largest = max(size.largest for size in some)
    vanishes = _VANISHING_SUM if family.joined_by == _SUMS else _VANISHES
    return _fitting(scales, typical, largest, _TIME_ROOM if family.unit == "ns" else 1.0, vanishes)


def _size(column: Column) -> _Size:
    values = column.values
    step = max(1, len(values) // _SAMPLE)
    sample = _present(values[::step].astype(np.float64), column)
    sample = np.abs(sample[sample != 0])
    typical = float(np.median(sample)) if len(sample) else 0.0
    present = values != MISSING if values.dtype == np.int64 else np.isfinite(values)
    most = float(np.max(values, where=present, initial=0))
    least = float(np.min(values, where=present, initial=0))
    return _Size(typical, max(most, -least))


def _present(sample: Float64, column: Column) -> Float64:
    finite = np.isfinite(sample)
    return sample[finite & (sample != MISSING)] if column.values.dtype == np.int64 else sample[finite]


def _fitting(
    scales: tuple[tuple[str, float], ...],
    typical: float,
    largest: float,
    room: float,
    vanishes: float = _VANISHES,
) -> tuple[str, float]:
    """The largest value has one digit before its point, up to four for a time.

    A smaller unit stands in where a typical value would vanish beside an outlier.
    """
    place = 0
    while place + 1 < len(scales) and largest >= scales[place + 1][1] * room:
        place += 1
    while place and typical < scales[place][1] * vanishes and largest < scales[place - 1][1] * _MOST_SHOWN:
        place -= 1
    return scales[place]


def _decimals(typical: float, largest: float) -> int:
    """Four digits for the largest value, but two at least for a typical one, three below 1."""
    if not largest:
        return 1
    for_largest = 4 - _digits_before_point(largest)
    for_typical = (1 if typical >= 1 else 2) - math.floor(math.log10(typical)) if typical > 0 else 0
    return min(max(for_largest, for_typical, 1), _MOST_DECIMALS)


def _digits_before_point(value: float) -> int:
    return 1 if value < 1 else int(math.log10(float(f"{value:.4g}"))) + 1
