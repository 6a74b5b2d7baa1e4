"""Live charts: what is visible of the data, what is said in words, what pointer and keys do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from core.runs.snapshot import ALL_RANKS
from gui.plots.band import band_of, bin_curves
from gui.plots.charts import CHARTS, chart_data, empty_words, offered, options_of, skew_words
from gui.plots.curves import ChartData, Curve
from gui.plots.dashes import cut_dashes
from gui.plots.export import in_view, save_png, save_svg, to_csv, to_json
from gui.plots.labels import closest_group, place
from gui.plots.layers import Style
from gui.plots.live_chart import LiveChart
from gui.plots.ticks import fitted, linear_ticks, log_ticks, second_ticks
from tests.helpers.snapshots import cpu_snapshot, gpu_snapshot, series

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController


def loss_data(*ys: list[float] | np.ndarray, **changes: object) -> ChartData:
    curves = tuple(
        Curve(rank, np.arange(len(y), dtype=np.float64), np.asarray(y, dtype=np.float64))
        for rank, y in enumerate(ys)
    )
    return ChartData("loss", curves, marks_non_finite=True, **changes)  # type: ignore[arg-type]  # test data


@pytest.fixture
def chart(qtbot: QtBot, theme: ThemeController) -> LiveChart:
    chart = LiveChart(theme.theme)
    qtbot.addWidget(chart)
    chart.resize(460, 260)
    with qtbot.waitExposed(chart):
        chart.show()
    return chart


def settle(chart: LiveChart) -> None:
    for _ in range(4):
        QApplication.processEvents()
    chart.draw()


def wheel(chart: LiveChart, at: QPointF, notches: float, *, ctrl: bool = False) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
    event = QWheelEvent(
        at,
        chart.overlay.mapToGlobal(at),
        QPoint(),
        QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(chart.overlay, event)


def labels_of(ticks: object) -> list[str]:
    return [tick.label for tick in ticks.major]  # type: ignore[attr-defined]  # Ticks


def test_ticks_can_be_read() -> None:
    assert labels_of(linear_ticks(0, 12.4, 4)) == ["0", "5", "10"]
    assert labels_of(linear_ticks(10.345, 10.54, 5)) == ["10.35", "10.40", "10.45", "10.50"]
    assert labels_of(linear_ticks(-1, 1, 4)) == [
        "\N{MINUS SIGN}1.0",
        "\N{MINUS SIGN}0.5",
        "0.0",
        "0.5",
        "1.0",
    ]
    assert labels_of(linear_ticks(0, 1248, 4, whole=True)) == ["0", "500", "1,000"]
    assert labels_of(linear_ticks(0, 2, 9, whole=True)) == ["0", "1", "2"]
    assert labels_of(linear_ticks(0, 3e-4, 4)) == ["0", "1e-4", "2e-4", "3e-4"]
    minutes = second_ticks(0, 600, 6)
    assert (labels_of(minutes), minutes.unit) == (["0:00", "2:00", "4:00", "6:00", "8:00", "10:00"], "min:s")
    assert second_ticks(0, 40, 4).unit == "s"
    assert second_ticks(0, 5 * 3600, 5).unit == "h:min"


def test_a_log_axis_has_labels_inside_one_decade_too() -> None:
    assert labels_of(log_ticks(0, 2, 5)) == ["1", "10", "100"]
    inside = log_ticks(np.log10(10.3), np.log10(10.6), 5)
    assert len(inside.major) >= 2
    assert "10.4" in labels_of(inside) or "10.40" in labels_of(inside)
    assert labels_of(log_ticks(-5, 1, 3))[0] == "10⁻⁴"


def test_a_log_axis_is_written_in_one_way() -> None:
    assert labels_of(log_ticks(-3, 5, 9)) == [
        *("0.001", "0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000"),
    ]
    assert labels_of(log_ticks(-4, 1, 9)) == ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹"]
    assert labels_of(log_ticks(4, 6, 9))[-1] == "10⁶"
    assert labels_of(log_ticks(4.5, 5.6, 9)) == ["5×10⁴", "10⁵", "2×10⁵"]


def test_a_fitted_range_holds_everything_and_is_calm() -> None:
    low, high = fitted(10.36, 10.53, 5, zero_based=False)
    assert low <= 10.36
    assert high >= 10.53
    assert fitted(10.361, 10.529, 5, zero_based=False) == (low, high)
    assert fitted(0.41, 0.41, 5, zero_based=True)[0] == 0
    assert fitted(0.0, 0.0, 5, zero_based=False)[1] > 0


def test_labels_never_lie_upon_each_other() -> None:
    centres = place([50, 51, 52, 120], 15, 0, 200)
    gaps = np.diff(sorted(centres))
    assert (gaps >= 15 - 1e-9).all()
    assert centres[:3] == sorted(centres[:3])
    assert place([500, -40], 15, 0, 200) == [192.5, 7.5]
    assert len(set(place([5.0] * 30, 15, 0, 100))) == 30
    assert closest_group([10, 11, 12.5, 60, 61], 2) == [0, 1, 2]
    assert closest_group([10, 60], 2) == []


def test_a_spike_among_100_000_points_reaches_the_screen(chart: LiveChart, theme: ThemeController) -> None:
    """Case M16."""
    y = np.full(100_000, 2.0)
    y[61_803] = 50.0
    chart.show_data(loss_data(y))
    settle(chart)
    assert chart.drawn.high == 50.0
    at = chart.geometry_now.px_of(61_803, 40.0)
    image = chart.grab().toImage()
    color = theme.theme.rank_color(0)
    near = [image.pixelColor(round(at.x()) + offset, round(at.y())) for offset in (-2, -1, 0, 1, 2)]
    distance = min(abs(pixel.red() - color.red()) + abs(pixel.blue() - color.blue()) for pixel in near)
    assert distance < 60


def test_values_that_are_no_numbers_are_marked_at_their_step(chart: LiveChart) -> None:
    """Case M14: a lone finite value between them is seen as well."""
    nan, inf = np.nan, np.inf
    chart.show_data(loss_data([3.0, 2.95, nan, nan, 2.9, inf, nan, nan, 2.7, -inf, 1e-5]))
    settle(chart)
    marks = sorted((mark.x, mark.kind) for mark in chart.drawn.marks)
    assert marks == [(2, "nan"), (3, "nan"), (5, "inf"), (6, "nan"), (7, "nan"), (9, "-inf")]
    assert [(dot.x, dot.y) for dot in chart.drawn.dots] == [(4, 2.9), (8, 2.7), (10, 1e-5)]
    assert "NaN at 4 steps, infinite at 2 steps" in chart.overlay.content.notes
    assert len(chart.overlay.content.marks) == 6


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "y",
    [
        [1.7e308, -1.7e308, 1.0],
        [1.7e308, 1.7e308, 1.7e308],
        [5e-324, 1e-323, 5e-324],
        [np.inf, 1.5e308, np.nan],
    ],
)
def test_a_loss_at_the_ends_of_what_a_number_holds_is_drawn(
    chart: LiveChart, log: bool, y: list[float]
) -> None:
    chart.set_style(Style(log=log))
    for ranks in (2, 64):
        chart.show_data(loss_data(*[y] * ranks))
        settle(chart)
        assert np.isfinite(chart.overlay.content.plot.width())
        assert not chart.grab().isNull()


@pytest.mark.parametrize("step", [0.0, 2.0**53, float(2**63 - 1)])
def test_a_step_far_from_zero_has_a_place_of_its_own(chart: LiveChart, step: float) -> None:
    chart.show_data(ChartData("loss", (Curve(0, np.array([step]), np.array([2.5])),)))
    settle(chart)
    low, high = chart.view.x_range()
    assert low <= step < high
    chart.view.zoom_x(step, 0.5)
    chart.draw()
    low, high = chart.view.x_range()
    assert low < high


def test_zeros_on_a_log_axis_are_counted_and_the_rest_stays(chart: LiveChart) -> None:
    """Case G07."""
    chart.set_style(Style(log=True))
    chart.show_data(loss_data([0.0, 1.0, 10.0, 100.0]))
    settle(chart)
    assert (chart.drawn.low, chart.drawn.high) == (0.0, 2.0)
    assert "1 value at or below 0, not on the log scale" in chart.overlay.content.notes
    assert [tick.label for tick in chart.y_ticks.major] == ["1", "10", "100"]


def test_curves_that_cannot_be_told_apart_say_so(chart: LiveChart) -> None:
    flat = np.full(50, 8.0)
    chart.show_data(loss_data(flat, flat + 0.02, flat + 0.04, flat + 5, unit="GiB", zero_based=True))
    settle(chart)
    assert any("within 0.04 GiB" in note for note in chart.overlay.content.notes)
    assert [label.text for label in chart.overlay.content.labels] == ["Rank 0", "Rank 1", "Rank 2", "Rank 3"]
    assert chart.overlay.accessibleDescription().startswith("Rank 0 8.00 GiB")


def test_notes_keep_out_of_the_way_of_the_curves(chart: LiveChart) -> None:
    rising = np.linspace(0, 9, 100)
    chart.show_data(loss_data(rising, rising + 1e-4, unit="GiB", zero_based=True))
    settle(chart)
    assert chart.overlay.content.notes == ("2 ranks within 0.01 GiB",)
    assert chart.overlay.content.notes_on_top
    chart.show_data(loss_data(rising[::-1], rising[::-1], unit="GiB", zero_based=True))
    settle(chart)
    assert not chart.overlay.content.notes_on_top


def test_the_wheel_zooms_at_the_cursor_and_undo_brings_it_back(chart: LiveChart) -> None:
    chart.show_data(loss_data(np.linspace(10, 5, 1001)))
    settle(chart)
    rect = chart.geometry_now.rect
    at = QPointF(rect.left() + rect.width() * 0.3, rect.center().y())
    under = chart.geometry_now.x_at(at.x())
    wheel(chart, at, 5)
    assert chart.geometry_now.x[1] - chart.geometry_now.x[0] < 400
    assert chart.geometry_now.x_at(at.x()) == pytest.approx(under)
    assert not chart.view.view.follow
    chart.overlay.setFocus()
    QTest.keyClick(chart.overlay, Qt.Key.Key_Backspace)
    assert chart.geometry_now.x == (0, 1000)
    wheel(chart, at, 2, ctrl=True)
    assert chart.view.view.y is not None
    QTest.keyClick(chart.overlay, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert chart.view.view.y is None


def test_drag_pans_and_a_double_click_shows_all_again(chart: LiveChart) -> None:
    chart.show_data(loss_data(np.linspace(10, 5, 1001)))
    settle(chart)
    centre = chart.geometry_now.rect.center().toPoint()
    wheel(chart, QPointF(centre), 5)
    before = chart.geometry_now.x
    QTest.mousePress(chart.overlay, Qt.MouseButton.LeftButton, pos=centre)
    for step in (20, 40, 60):
        QTest.mouseMove(chart.overlay, centre + QPoint(step, 0))
    QTest.mouseRelease(chart.overlay, Qt.MouseButton.LeftButton, pos=centre + QPoint(60, 0))
    assert chart.geometry_now.x[0] < before[0]
    assert chart.geometry_now.x[1] - chart.geometry_now.x[0] == pytest.approx(before[1] - before[0])
    QTest.mouseDClick(chart.overlay, Qt.MouseButton.LeftButton, pos=centre)
    assert chart.geometry_now.x == (0, 1000)
    assert chart.view.view.follow


@pytest.mark.parametrize(("key", "narrower"), [(Qt.Key.Key_W, True), (Qt.Key.Key_S, False)])
def test_w_and_s_zoom(chart: LiveChart, key: Qt.Key, narrower: bool) -> None:
    chart.show_data(loss_data(np.linspace(10, 5, 1001)))
    settle(chart)
    QTest.keyClick(chart.overlay, Qt.Key.Key_W)
    width = chart.geometry_now.x[1] - chart.geometry_now.x[0]
    QTest.keyClick(chart.overlay, key)
    now = chart.geometry_now.x[1] - chart.geometry_now.x[0]
    assert (now < width) is narrower


def test_a_and_d_pan_and_do_not_reach_the_windows_shortcuts(chart: LiveChart) -> None:
    chart.show_data(loss_data(np.linspace(10, 5, 1001)))
    settle(chart)
    for _ in range(3):
        QTest.keyClick(chart.overlay, Qt.Key.Key_W)
    middle = chart.geometry_now.x
    QTest.keyClick(chart.overlay, Qt.Key.Key_A)
    assert chart.geometry_now.x[0] < middle[0]
    QTest.keyClick(chart.overlay, Qt.Key.Key_D)
    assert chart.geometry_now.x[0] == pytest.approx(middle[0])
    override = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_D, Qt.KeyboardModifier.NoModifier)
    override.ignore()
    QApplication.sendEvent(chart.overlay, override)
    assert override.isAccepted()


def test_a_window_at_the_end_follows_new_points(chart: LiveChart) -> None:
    chart.show_data(loss_data(np.linspace(10, 5, 1001)))
    settle(chart)
    rect = chart.geometry_now.rect
    wheel(chart, QPointF(rect.right() - 0.5, rect.center().y()), 5)
    width = chart.geometry_now.x[1] - chart.geometry_now.x[0]
    chart.show_data(loss_data(np.linspace(10, 4, 1501)))
    settle(chart)
    assert chart.geometry_now.x[1] == 1500
    assert chart.geometry_now.x[1] - chart.geometry_now.x[0] == pytest.approx(width)


def test_a_click_selects_the_rank_of_the_curve_or_of_its_name(chart: LiveChart, qtbot: QtBot) -> None:
    chart.show_data(loss_data(np.full(50, 2.0), np.full(50, 8.0)))
    settle(chart)
    geometry = chart.geometry_now
    with qtbot.waitSignal(chart.rank_clicked) as clicked:
        QTest.mouseClick(chart.overlay, Qt.MouseButton.LeftButton, pos=geometry.px_of(20, 8.0).toPoint())
    assert clicked.args == [1]
    label = chart.overlay.content.labels[0]
    with qtbot.waitSignal(chart.rank_clicked) as clicked:
        place_ = QPoint(round(geometry.rect.right()) + 20, round(label.y))
        QTest.mouseClick(chart.overlay, Qt.MouseButton.LeftButton, pos=place_)
    assert clicked.args == [0]
    far = QPointF(geometry.px_of(20, 5.0))
    assert chart.rank_at(far) is None


def test_the_crosshair_tells_every_ranks_value(chart: LiveChart) -> None:
    chart.show_data(loss_data([5, 4, 3], [6, 5, np.nan], unit="ms"))
    settle(chart)
    geometry = chart.geometry_now
    QTest.mouseMove(chart.overlay, geometry.px_of(1.9, 4.0).toPoint())
    read_out = chart.overlay.read_out
    assert read_out is not None
    assert read_out.title == "step 2"
    assert [(name, value) for _, name, value in read_out.rows] == [("Rank 0", "3.0 ms"), ("Rank 1", "NaN ms")]
    QApplication.sendEvent(chart.overlay, QEvent(QEvent.Type.Leave))
    assert chart.overlay.read_out is None


def test_smoothing_keeps_the_raw_extremes_in_view(chart: LiveChart) -> None:
    y = np.full(400, 3.0)
    y[200] = 9.0
    chart.set_style(Style(smooth=True))
    chart.show_data(loss_data(y))
    settle(chart)
    assert chart.drawn.high == 9.0
    assert chart.drawn.ends[0].y == pytest.approx(3.0, abs=0.01)


def test_a_hidden_chart_is_drawn_when_it_is_seen_again(chart: LiveChart, qtbot: QtBot) -> None:
    chart.show_data(loss_data([1.0, 2.0]))
    settle(chart)
    chart.hide()
    chart.show_data(loss_data([1.0, 2.0, 7.0]))
    assert chart.drawn.high == 2.0
    chart.show()
    qtbot.waitUntil(lambda: chart.drawn.high == 7.0)


def test_an_empty_chart_says_so(chart: LiveChart) -> None:
    chart.set_empty_words("No loss measured yet")
    chart.show_data(loss_data([]))
    assert chart.overlay.content.empty == "No loss measured yet"
    chart.show_data(loss_data([np.nan, np.nan]))
    settle(chart)
    assert chart.overlay.content.empty == ""
    assert "NaN at 2 steps" in chart.overlay.content.notes


def test_an_empty_chart_has_an_axis_without_ticks(chart: LiveChart) -> None:
    chart.set_empty_words("")
    settle(chart)
    picture = chart.grab().toImage()
    ground = picture.pixelColor(2, 2)
    inked = {y for y in range(picture.height()) for x in range(20, 300) if picture.pixelColor(x, y) != ground}
    # One line of one pixel, or of two where it is smoothed: the x axis.
    assert 1 <= len(inked) <= 2


def test_an_empty_chart_says_what_is_missing_and_what_brings_it() -> None:
    loss = next(spec for spec in CHARTS if spec.id == "loss")
    running = replace(cpu_snapshot(), series={})
    assert empty_words(loss, running) == (
        "No loss yet: it comes with the first backward pass, or with a line of the log that names a loss"
    )
    assert empty_words(loss, replace(running, alive=False)) == (
        "No loss measured: no backward pass was seen and no line of the log names a loss"
    )
    clocks = next(spec for spec in CHARTS if spec.id == "clocks")
    assert empty_words(clocks, running) == "No SM clock yet"


def test_a_new_theme_repaints_ground_and_curves(chart: LiveChart, theme: ThemeController) -> None:
    chart.show_data(loss_data(np.full(50, 5.0)))
    settle(chart)
    theme.set_theme("light")
    chart.set_theme(theme.theme)
    settle(chart)
    image = chart.grab().toImage()
    ground = theme.theme.color("surface2")
    assert image.pixelColor(round(chart.geometry_now.rect.center().x()), 14) == ground
    assert chart.drawn.ends[0].color == theme.theme.rank_color(0)


def many_ranks(count: int = 64, slow: int = 37) -> ChartData:
    random = np.random.default_rng(3)
    ys = [100 + random.normal(0, 1, 400) + (18.0 if rank == slow else 0.0) for rank in range(count)]
    return loss_data(*ys, unit="ms")


def test_many_ranks_become_a_band_with_named_outliers(chart: LiveChart) -> None:
    chart.show_data(many_ranks())
    settle(chart)
    assert chart.mode == "band"
    assert [end.text for end in chart.drawn.ends] == ["median", "min\N{EN DASH}max", "Rank 37"]
    assert chart.drawn.high is not None
    assert chart.drawn.high > 117
    chart.set_selected(5)
    settle(chart)
    assert [end.text for end in chart.drawn.ends][2:] == ["Rank 5", "Rank 37"]


def test_a_heat_map_has_a_row_a_rank(chart: LiveChart, qtbot: QtBot) -> None:
    chart.set_mode("heat")
    chart.show_data(many_ranks())
    settle(chart)
    assert chart.mode == "heat"
    labels = [tick.label for tick in chart.y_ticks.major]
    assert labels[-1] == "0"
    assert len(labels) <= 20
    row = chart.geometry_now.px_of(200, 63 - 37)
    with qtbot.waitSignal(chart.rank_clicked) as clicked:
        QTest.mouseClick(chart.overlay, Qt.MouseButton.LeftButton, pos=row.toPoint())
    assert clicked.args == [37]
    assert any(end.text == "Rank 37" for end in chart.drawn.ends)
    chart.set_style(Style(by_deviation=True))
    settle(chart)
    assert chart.rank_at(chart.geometry_now.px_of(200, 63)) == 37


def test_bins_fill_gaps_between_points_but_not_beyond_the_ends() -> None:
    dense = Curve(0, np.arange(10.0), np.arange(10.0))
    sparse = Curve(1, np.array([2.0, 6.0]), np.array([5.0, 7.0]))
    binned = bin_curves([dense, sparse], 0, 9, 9)
    assert binned.mean[1].tolist()[2:7] == [5, 5, 5, 5, 7]
    assert np.isnan(binned.mean[1][[0, 1, 7, 8]]).all()
    band = band_of(binned)
    assert band.low[0] == 0
    assert band.high[-1] == 9


def test_dashes_are_cut_along_the_curve_and_gaps_stay_gaps() -> None:
    x, y, connected = cut_dashes(np.array([0.0, 90.0]), np.array([0.0, 0.0]))
    drawn = np.diff(x)[connected[:-1]]
    assert drawn.sum() == pytest.approx(60.0)
    assert len(drawn) == 10
    _, gap_y, gap = cut_dashes(np.arange(3.0), np.array([1.0, np.nan, 1.0]))
    assert not gap.any()
    assert np.isnan(gap_y).sum() == 1
    # A cliff is seen although it is narrower than a dash.
    x, y, connected = cut_dashes(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 100.0]))
    assert np.abs(np.diff(y))[connected[:-1]].sum() > 50


def test_the_skew_of_a_run_is_drawn_as_it_comes() -> None:
    spec = next(spec for spec in CHARTS if spec.id == "step_time")
    times = {0: series([5, 5]), 1: series([5, 6.25])}
    skew = series([0, 1.25], generation=3)
    running = replace(cpu_snapshot(), series={"step_time": times, "skew": {ALL_RANKS: skew}})
    option = options_of(spec, running)[-1]
    data = chart_data(spec, option, running)
    assert (option.label, data.unit, data.x_name) == ("Skew", "ms", "step")
    assert [(curve.rank, curve.generation) for curve in data.curves] == [(-1, 3)]
    assert data.curves[0].y is skew.y
    assert skew_words(running) == "skew 1.2 ms at step 1"
    alone = replace(running, series={"step_time": {0: series([5, 5])}})
    assert [option.label for option in options_of(spec, alone)] == ["Step"]
    assert skew_words(alone) == ""


def test_charts_offer_only_what_a_run_has() -> None:
    memory = CHARTS[0]
    assert [option.label for option in options_of(memory, cpu_snapshot())] == ["Resident"]
    on_gpu = [option.label for option in options_of(memory, gpu_snapshot())]
    assert on_gpu == ["Allocated", "Reserved", "Driver", "Device"]
    assert "clocks" not in [spec.id for spec in offered(cpu_snapshot())]
    assert "clocks" in [spec.id for spec in offered(gpu_snapshot())]
    data = chart_data(memory, options_of(memory, cpu_snapshot())[0], cpu_snapshot())
    assert (data.unit, data.x_name, len(data.curves)) == ("GiB", "s", 4)


def test_values_are_exported_with_their_units_and_without_loss(chart: LiveChart, tmp_path: Path) -> None:
    data = ChartData(
        "step_time", (Curve(2, np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.2, np.inf])),), "step", "ms"
    )
    assert to_csv(data) == "rank,step,step_time (ms)\n2,0,0.1\n2,1,0.2\n2,2,inf\n"
    assert in_view(data, 1, 1.5).curves[0].x.tolist() == [1]
    parsed = json.loads(to_json(data))
    assert parsed["ranks"]["2"]["y"] == [0.1, 0.2, "inf"]
    chart.show_data(data)
    settle(chart)
    save_png(chart, tmp_path / "chart.png")
    save_svg(chart, tmp_path / "chart.svg", "Step time")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "chart.svg").read_text()
    assert "Rank 2" in svg
    assert chart.drawn.ends[0].color.name() in svg.lower()
    assert "<text" in svg
