"""How a value of a metric reads: scaled to four digits, with its unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from core.units import (
    DECIMAL_PREFIXES,
    NO_BREAK_SPACE,
    NOT_MEASURED,
    format_count,
    format_duration_ns,
    format_file_bytes,
    format_number,
    format_pct,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.report_view.parts import Cell
    from core.tables.ncu import MetricValue

_KIB: Final = 1024
_LEAST_PCT: Final = 0.01
_WORDS: Final = {
    "register/thread": ("a thread", "a thread"),
    "1/cycle": ("a cycle", "a cycle"),
    "inst": ("instruction", "instructions"),
    "block": ("block", "blocks"),
    "warp": ("warp", "warps"),
    # Warps that are there in a cycle: a number of warps, on average.
    "warp/cycle": ("warp", "warps"),
    "thread": ("thread", "threads"),
    "cycle": ("cycle", "cycles"),
    "sector": ("sector", "sectors"),
    "request": ("request", "requests"),
    "sample": ("sample", "samples"),
    "SM": ("SM", "SMs"),
    "TPC": ("TPC", "TPCs"),
}
_MOST_WHOLE: Final = 1e15
_LEAST_ROUNDED: Final = 1e6
_LEAST_CYCLES: Final = 1e-3
_SHARED_MEMORY: Final = "shared_mem"
_SHARED_BYTES: Final = "byte of shared memory"


def cell_text(cell: Cell | None) -> str:
    """Returns how a cell reads; "" for a place where nothing belongs."""
    if cell is None:
        return ""
    if cell.unit_in_title:
        return value_text(cell.value, "")
    return value_text(cell.value, shown_unit(cell.unit, cell.metric))


def shown_unit(unit: str, metric: str) -> str:
    """Returns the unit that a metric is written in: sizes of shared memory in KiB, wherever they stand."""
    return _SHARED_BYTES if unit == "byte" and _SHARED_MEMORY in metric else unit


def value_text(value: MetricValue, unit: str) -> str:
    """Returns how a value in a base unit reads: "412.6 µs", "2.684 TB/s", "38 a thread", "n/a".

    Args:
        value: None is not measured.
        unit: In the vendor's words, as ``core.tables.ncu_units`` gives it.
    """
    if value is None:
        return NOT_MEASURED
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return format_number(float(value))
    scaled = _SCALED.get(unit)
    if scaled is not None:
        return scaled(value)
    if unit.endswith("/s"):
        return _prefixed(value, unit.removeprefix("1"))
    return _counted(value, unit)


def _pct(value: float) -> str:
    if 0 < abs(value) < _LEAST_PCT:
        return f"{format_number(value, 2)}{NO_BREAK_SPACE}%"
    return format_pct(value, 1 if abs(value) >= 1 or value == 0 else 2)


def _bytes(value: float) -> str:
    if abs(value) < 1_000 and float(value).is_integer():
        return format_file_bytes(int(value))
    return _prefixed(value, "B")


def _memory(value: float) -> str:
    return f"{_kib(value)} a block"


def _kib(value: float) -> str:
    if abs(value) < _KIB:
        return f"{format_number(value, 4)} B"
    return f"{format_number(value / _KIB, 4)} KiB"


def _prefixed(value: float, unit: str) -> str:
    if value == 0:
        return f"0 {unit}"
    for prefix, scale in DECIMAL_PREFIXES:
        if abs(float(f"{value / scale:.4g}")) < 1_000:
            return f"{format_number(value / scale, 4)} {prefix}{unit}"
    return f"{format_number(value, 4)} {unit}"


def _counted(value: float, unit: str) -> str:
    if unit == "cycle" and 0 < value < _LEAST_CYCLES:
        return f"< {_LEAST_CYCLES} cycles"
    # Above a million nobody reads a fraction.
    whole = float(value).is_integer() or abs(value) >= _LEAST_ROUNDED
    number = format_count(round(value)) if whole and abs(value) < _MOST_WHOLE else format_number(value, 4)
    one, many = _WORDS.get(unit, (unit, unit))
    words = one if value == 1 else many
    return f"{number} {words}" if words else number


_SCALED: Final[dict[str, Callable[[float], str]]] = {
    "ns": format_duration_ns,
    "%": _pct,
    "byte": _bytes,
    "byte/block": _memory,
    _SHARED_BYTES: _kib,
    "byte/s": lambda value: _prefixed(value, "B/s"),
    "Hz": lambda value: _prefixed(value, "Hz"),
}
