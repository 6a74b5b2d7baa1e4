"""How columns read: the unit that fits, decimals that align, and zero only for zero."""

from __future__ import annotations

import numpy as np
import pytest

from core.tables.columns import MISSING
from core.tables.display import display_of
from core.tables.result import Column, Unit


def shown(unit: Unit, values: list[int] | list[float]) -> tuple[str, list[str]]:
    whole = all(isinstance(value, int) for value in values)
    array = np.array(values, np.int64) if whole else np.array(values, np.float64)
    column = Column(key="x", title="X", unit=unit, help="", values=array)
    display = display_of(column)
    return display.header, [display.text(column.value(row)) for row in range(len(values))]


@pytest.mark.parametrize(
    ("unit", "values", "header", "texts"),
    [
        ("ns", [36_240_000, 2_540_000, 20_000], "X, ms", ["36.24", "2.54", "0.02"]),
        ("ns", [369_800.0, 1_204_000.0, 1_900.0], "X, µs", ["369.8", "1,204.0", "1.9"]),
        ("ns", [12, 0, MISSING], "X, ns", ["12", "0", "n/a"]),
        ("ns", [2_000_000, 3, -50_000_000], "X, ms", ["2.00", "<0.01", "\N{MINUS SIGN}50.00"]),
        ("ns", [262_422_500, 176_800, 167_400], "X, ms", ["262.42", "0.18", "0.17"]),
        ("ns", [0, 0], "X, ns", ["0", "0"]),
        ("bytes", [2**31, 2**30, 2**29], "X, GiB", ["2.000", "1.000", "0.500"]),
        ("bytes", [4, 16], "X, bytes", ["4", "16"]),
        ("bytes_per_s", [2.684e12, 671.1e9], "X, TB/s", ["2.684", "0.671"]),
        ("flop_per_byte", [1.67, 295.0], "X, FLOP/B", ["1.7", "295.0"]),
        ("pct", [81.3, 0.0, 0.01], "X", ["81.3\u00a0%", "0.0\u00a0%", "<0.1\u00a0%"]),
        ("count", [1248, 7], "X", ["1,248", "7"]),
        ("count", [1248.5, 2.25], "X", ["1,248.5", "2.2"]),
        ("id", [48211, MISSING], "X", ["48211", "n/a"]),
        ("id", [7.0, float("nan")], "X", ["7", "n/a"]),
        ("", [2.1e-6, float("inf")], "X", ["2.1e-6", "inf"]),
    ],
)
def test_columns_read_in_one_unit(
    unit: Unit, values: list[int] | list[float], header: str, texts: list[str]
) -> None:
    assert shown(unit, values) == (header, texts)


def test_a_few_long_ones_do_not_make_the_numbers_endless() -> None:
    header, texts = shown("ns", [5_000] * 9 + [2_000_000_000_000])
    assert (header, texts[0], texts[-1]) == ("X, s", "<0.001", "2,000.000")


def test_typical_values_do_not_vanish_beside_an_outlier() -> None:
    header, texts = shown("ns", [5_000] * 9 + [50_000_000_000])
    assert (header, texts[0], texts[-1]) == ("X, ms", "0.005", "50,000.000")


def test_a_moment_keeps_its_decimals_however_long_the_trace_is() -> None:
    values = np.array([61_982_000, 63_000_000_123_000], np.int64)
    column = Column(key="start_ns", title="Start", unit="ns", help="", values=values)
    display = display_of(column)
    assert (display.header, display.text(column.value(0))) == ("Start, ms", "61.982")
