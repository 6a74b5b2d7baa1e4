"""Long curves are condensed as they grow: the same points as all at once, and every spike."""

from __future__ import annotations

import numpy as np
import pytest

from core.telemetry.series import Smoother
from core.telemetry.views import Series
from gui.plots.condensed import Condenser, block_for
from gui.plots.curves import ChartData, Curve
from gui.plots.layers import LineLayer, Span, Style
from gui.theme import ThemeController

BLOCK = 16


@pytest.mark.parametrize(
    ("points", "block"), [(19_199, None), (19_200, 8), (76_799, 8), (76_800, 32), (10**6, 128)]
)
def test_blocks_are_at_most_a_quarter_of_a_pixel_column(points: int, block: int | None) -> None:
    assert block_for(points, 600) == block


def noisy(count: int) -> Series:
    """A course with a spike, a NaN, an infinity and values below zero."""
    random = np.random.default_rng(3)
    y = random.normal(0.2, 1.0, count)
    y[count // 3] = 50.0
    y[count // 2] = np.nan
    y[count // 2 + 40] = np.inf
    return Series(x=np.arange(count, dtype=np.float64), y=y)


def upto(series: Series, count: int) -> Series:
    return Series(x=series.x[:count], y=series.y[:count], generation=series.generation)


@pytest.mark.parametrize("only_positive", [False, True], ids=["linear", "log"])
def test_a_curve_that_grew_bit_by_bit_is_condensed_like_the_whole_one(only_positive: bool) -> None:
    whole = noisy(1_000)
    growing = Condenser(BLOCK, only_positive=only_positive)
    for count in (1, 15, 16, 17, 100, 640, 641, 999):
        growing.update(upto(whole, count))
    bit_by_bit, at_once = growing.update(whole), Condenser(BLOCK, only_positive=only_positive).update(whole)
    np.testing.assert_array_equal(bit_by_bit.x, at_once.x)
    np.testing.assert_array_equal(bit_by_bit.y, at_once.y)


def test_a_smoothed_curve_that_grew_bit_by_bit_is_the_whole_one() -> None:
    whole = noisy(70_000)
    growing, condenser = Smoother(0.95), Condenser(BLOCK)
    for count in (3, 300, 69_990, 69_991, 70_000):
        condensed = condenser.update(growing.update(upto(whole, count)))
    at_once = Smoother(0.95).update(whole)
    np.testing.assert_allclose(growing.update(whole).y, at_once.y, rtol=1e-9)
    np.testing.assert_allclose(condensed.y, Condenser(BLOCK).update(at_once).y, rtol=1e-9)


def test_each_block_keeps_its_lowest_its_highest_and_its_first_gap() -> None:
    y = np.full(2 * BLOCK, 1.0)
    y[5], y[9], y[BLOCK + 3], y[BLOCK + 4] = -2.0, 7.0, np.nan, np.nan
    condensed = Condenser(BLOCK).update(Series(x=np.arange(2.0 * BLOCK), y=y))
    assert condensed.x.tolist() == [5.0, 9.0, BLOCK, BLOCK + 3.0]


def test_a_rank_that_began_again_is_condensed_anew() -> None:
    condenser = Condenser(BLOCK)
    condenser.update(Series(x=np.arange(64.0), y=np.full(64, 9.0)))
    again = condenser.update(Series(x=np.arange(32.0), y=np.full(32, 1.0), generation=1))
    assert set(again.y.tolist()) == {1.0}


def test_a_long_curve_is_drawn_to_its_true_extremes(theme: ThemeController) -> None:
    random = np.random.default_rng(1)
    y = random.normal(0, 1, 100_000)
    y[70_001] = 40.0
    curve = Curve(0, np.arange(100_000.0), y)
    drawn = LineLayer(theme.theme).draw(ChartData("loss", (curve,)), Span(0, 99_999, 600, 200), Style())
    stroke = drawn.strokes[0]
    assert (drawn.low, drawn.high) == (y.min(), 40.0)
    assert len(stroke.x) <= 3 * 600 + 2
    assert stroke.x[np.argmax(stroke.y)] == 70_001
    # Nothing is made up: each drawn point is one of the curve, at its own place.
    np.testing.assert_array_equal(stroke.y, y[stroke.x.astype(int)])


def test_a_log_scale_counts_what_it_cannot_show_in_the_whole_curve(theme: ThemeController) -> None:
    y = np.full(100_000, 2.0)
    y[::1000] = 0.0
    data = ChartData("loss", (Curve(0, np.arange(100_000.0), y),))
    drawn = LineLayer(theme.theme).draw(data, Span(0, 99_999, 600, 200), Style(log=True))
    assert drawn.off_scale == 100
