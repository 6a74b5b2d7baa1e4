"""How columns read: the unit that fits, decimals that align, and zero only for zero."""

from __future__ import annotations

import numpy as np
import pytest

from core.tables.columns import MISSING
from core.tables.display import displays_of
from core.tables.result import Column, Unit


def shown(unit: Unit, values: list[int] | list[float]) -> tuple[str, list[str]]:
    whole = all(isinstance(value, int) for value in values)
    array = np.array(values, np.int64) if whole else np.array(values, np.float64)
    column = Column(key="x", title="X", unit=unit, help="", values=array)
    (display,) = displays_of((column,))
    return display.header, [display.text(column.value(row)) for row in range(len(values))]


@pytest.mark.parametrize(
    ("unit", "values", "header", "texts"),
    [
        ("ns", [36_240_000, 2_540_000, 20_000], "X, ms", ["36.24", "2.54", "0.02"]),
        ("ns", [369_800.0, 1_204_000.0, 1_900.0], "X, µs", ["369.8", "1,204.0", "1.9"]),
        ("ns", [12, 0, MISSING], "X, ns", ["12", "0", "n/a"]),
        ("ns", [2_000_000, 3, -50_000_000], "X, ms", ["2.00", "<0.01", "\N{MINUS SIGN}50.00"]),
        ("ns", [262_422_500, 176_800, 167_400], "X, ms", ["262.423", "0.177", "0.167"]),
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
    (display,) = displays_of((column,))
    assert (display.header, display.text(column.value(0))) == ("Start, ms", "61.982")


def table(unit: Unit, **columns: list[int]) -> dict[str, list[str]]:
    """The header and the cells of each column of a table, by key."""
    made = [
        Column(key=key, title=key, unit=unit, help="", values=np.array(values, np.int64))
        for key, values in columns.items()
    ]
    return {
        column.key: [display.header, *(display.text(column.value(row)) for row in range(len(column)))]
        for column, display in zip(made, displays_of(made), strict=True)
    }


def test_times_of_one_call_share_a_unit_and_sums_have_theirs() -> None:
    cells = table("ns", sum_ns=[93_460_000_000], mean_ns=[46_730_000], p50_ns=[9_669_000], min_ns=[300])
    assert cells == {
        "sum_ns": ["sum_ns, s", "93.46"],
        "mean_ns": ["mean_ns, ms", "46.73"],
        "p50_ns": ["p50_ns, ms", "9.669"],
        "min_ns": ["min_ns, ms", "<0.001"],
    }


def test_large_sums_keep_their_unit_beside_many_small_ones() -> None:
    cells = table(
        "ns", sum_ns=[262_422_500, 90_000, 30_000, 20_000], mean_ns=[2_186_900, 9_000, 3_000, 2_000]
    )
    assert cells == {
        "sum_ns": ["sum_ns, ms", "262.423", "0.090", "0.030", "0.020"],
        "mean_ns": ["mean_ns, µs", "2,186.9", "9.0", "3.0", "2.0"],
    }


def test_the_parts_of_a_step_share_a_unit_also_where_all_are_zero() -> None:
    cells = table(
        "ns",
        duration_ns=[700_000_000, 690_000_000],
        kernel_sum_ns=[3_000_000, 2_000_000],
        idle_data_ns=[619_000_000, 0],
        idle_sync_ns=[5_258_600, 4_000_000],
        communication_exposed_ns=[0, 0],
    )
    assert cells == {
        "duration_ns": ["duration_ns, ms", "700.0", "690.0"],
        "kernel_sum_ns": ["kernel_sum_ns, ms", "3.000", "2.000"],
        "idle_data_ns": ["idle_data_ns, ms", "619.0", "0.0"],
        "idle_sync_ns": ["idle_sync_ns, ms", "5.259", "4.000"],
        "communication_exposed_ns": ["communication_exposed_ns, ms", "0.0", "0.0"],
    }


def test_launch_delays_keep_their_figures_beside_long_waits_and_long_kernels() -> None:
    cells = table(
        "ns",
        sum_ns=[50_000_000_000] * 3,
        launch_delay_mean_ns=[5_200, 7_300, 2_000_000_000],
        clock_skew_ns=[0] * 3,
    )
    assert cells["launch_delay_mean_ns"] == ["launch_delay_mean_ns, µs", "5.2", "7.3", "2,000,000.0"]
    assert cells["clock_skew_ns"][0] == "clock_skew_ns, µs"


def test_bytes_of_a_table_share_a_unit() -> None:
    cells = table("bytes", in_bytes=[2**20, 2**21], out_bytes=[2**23, 2**24], held_bytes=[0, 0])
    assert cells == {
        "in_bytes": ["in_bytes, MiB", "1.000", "2.000"],
        "out_bytes": ["out_bytes, MiB", "8.00", "16.00"],
        "held_bytes": ["held_bytes, MiB", "0.0", "0.0"],
    }
