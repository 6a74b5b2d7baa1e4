"""Decimation against brute force, gaps, spikes and the log scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.telemetry.decimate import count_not_positive, lone_points, marks, min_max, positive

if TYPE_CHECKING:
    from numpy.typing import NDArray


def column_spans(
    x: NDArray[np.float64], y: NDArray[np.float64], view: tuple[float, float], pixels: int
) -> dict[int, tuple[float, float]]:
    """Lowest and highest drawable value of each pixel column, one point at a time."""
    x0, x1 = view
    edges = [x0 + (x1 - x0) * k / pixels for k in range(1, pixels)]
    spans: dict[int, tuple[float, float]] = {}
    for position, value in zip(x.tolist(), y.tolist(), strict=True):
        if not x0 <= position <= x1 or not math.isfinite(value):
            continue
        column = int(np.searchsorted(edges, position, "right"))
        low, high = spans.get(column, (value, value))
        spans[column] = (min(low, value), max(high, value))
    return spans


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 400),
    pixels=st.integers(1, 60),
    bad=st.floats(0, 1),
    view=st.tuples(st.floats(-20, 120), st.floats(0.1, 150)),
)
def test_every_column_keeps_its_span(
    seed: int, count: int, pixels: int, bad: float, view: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    x = np.sort(np.round(rng.uniform(0, 100, count), rng.integers(0, 3)))
    y = np.round(rng.normal(0, 2, count), rng.integers(-1, 2))
    broken = rng.uniform(size=count) < bad
    y[broken] = rng.choice([math.nan, math.inf, -math.inf], int(broken.sum()))
    x0, x1 = view[0], view[0] + view[1]
    shown_x, shown_y = min_max(x, y, x0, x1, pixels)
    assert column_spans(shown_x, shown_y, (x0, x1), pixels) == column_spans(x, y, (x0, x1), pixels)
    assert len(shown_x) <= 3 * pixels + 2
    assert (np.diff(shown_x) >= 0).all()
    finite = np.isfinite(shown_y)
    assert set(zip(shown_x[finite], shown_y[finite], strict=True)) <= set(zip(x, y, strict=True))


def test_a_spike_survives_the_full_view() -> None:
    """Case M16: the one value of 50 at step 61,803 of 100,000."""
    x = np.arange(100_000.0)
    y = 2.0 + (x % 7) * 0.001
    y[61_803] = 50.0
    shown_x, shown_y = min_max(x, y, 0, 99_999, 1000)
    assert len(shown_x) <= 2 * 1000 + 2
    assert shown_x[shown_y.argmax()] == 61_803
    assert shown_y.max() == 50.0


def test_gaps_break_the_line_and_are_marked() -> None:
    x = np.arange(100_000.0)
    y = np.ones(100_000)
    y[30_000:40_000] = math.nan
    y[70_000] = math.inf
    shown_x, shown_y = min_max(x, y, 0, 99_999, 500)
    inside = (shown_x >= 30_000) & (shown_x < 40_000)
    assert inside.any()
    assert np.isnan(shown_y[inside]).all()
    assert math.isnan(shown_y[shown_x == 70_000][0])
    assert marks(x, y).tolist() == [*range(30_000, 40_000), 70_000]
    assert marks(x, y, 40_000, 80_000).tolist() == [70_000]


def test_a_single_value_between_gaps_is_a_dot() -> None:
    """Case M14: 2.9 at step 4, NaN or infinite on both sides."""
    nan = math.nan
    x = np.arange(10.0)
    y = np.array([4.0, 3.5, nan, nan, 2.9, nan, math.inf, -math.inf, 1e-05, nan])
    shown_x, shown_y = min_max(x, y, 0, 9, 1000)
    assert marks(x, y).tolist() == [2, 3, 5, 6, 7, 9]
    dots = lone_points(shown_x, shown_y)
    assert dots[0].tolist() == [4, 8]
    assert dots[1].tolist() == [2.9, 1e-05]


def test_zeros_leave_a_log_view_and_are_counted() -> None:
    """Case G07: 0, 1, 10, 100 on a log axis."""
    x, y = np.arange(4.0), np.array([0.0, 1.0, 10.0, 100.0])
    shown_x, shown_y = min_max(x, positive(y), 0, 3, 800)
    assert shown_x.tolist() == [0, 1, 2, 3]
    assert math.isnan(shown_y[0])
    assert shown_y[1:].tolist() == [1.0, 10.0, 100.0]
    assert count_not_positive(y) == 1
    assert count_not_positive(np.array([math.nan, -1.0, -math.inf, math.inf])) == 1


def test_the_lowest_positive_value_survives_beside_zeros() -> None:
    x = np.arange(10_000.0)
    y = np.full(10_000, 10.0)
    y[::10] = 0.0
    y[5_001] = 0.001
    _, shown_y = min_max(x, positive(y), 0, 9_999, 100)
    assert np.nanmin(shown_y) == 0.001


@pytest.mark.parametrize(("x0", "x1"), [(5.0, 5.0), (9.0, 2.0), (200.0, 300.0), (-9.0, -5.0)])
def test_an_empty_view_is_no_error(x0: float, x1: float) -> None:
    x = np.arange(100.0)
    shown_x, shown_y = min_max(x, x, x0, x1, 10)
    assert len(shown_x) == len(shown_y) <= 100


def test_lines_run_out_of_the_view() -> None:
    x = np.arange(100_000.0)
    shown_x, _ = min_max(x, x, 20_000.5, 60_000.5, 100)
    assert shown_x[0] == 20_000
    assert shown_x[-1] == 60_001
