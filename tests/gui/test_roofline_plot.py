"""The roofline plot: exact places, ceilings, words that do not overlap, ticks, pointer, keys, pictures."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from core.roofline.points import PointOrigin
from gui.plots.export import save_png, save_svg
from gui.plots.roofline_content import (
    NOTHING,
    RooflineContent,
    RooflinePoints,
    TrafficRoof,
    WorkRoof,
    radius_px,
)
from gui.plots.roofline_geometry import RooflineGeometry
from gui.plots.roofline_labels import Box
from gui.plots.roofline_marks import SMOOTH_POINTS
from gui.plots.roofline_notice import ALL_FILTERED, ALL_SWITCHED_OFF, BOTH_HIDE, OUT_OF_VIEW
from gui.plots.roofline_range import PlotRange, RangeState, fitting_range
from gui.plots.roofline_roofs import ridge_lines, roof_lines
from gui.plots.roofline_stamps import DENSE_POINTS
from gui.plots.roofline_view import TIP_DELAY_MS, RooflineView
from gui.plots.roofline_words import ABOVE_WORDS
from gui.plots.timeline_content import CATEGORIES, SliceWords

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController

GEMM, NORMALISATION = CATEGORIES.index("gemm"), CATEGORIES.index("normalisation")
MEASURED, ESTIMATED, MODELLED = PointOrigin.MEASURED, PointOrigin.ESTIMATED, PointOrigin.MODELLED
DRAM = TrafficRoof(label="DRAM 3.350 TB/s", bytes_per_s=3.35e12, chosen=True)
BF16 = WorkRoof(label="BF16 tensor 989.4 TFLOP/s", flop_per_s=989.4e12, chosen=True)
FP32 = WorkRoof(label="FP32 66.90 TFLOP/s", flop_per_s=66.9e12)

Row = tuple[float, float, int, int]
"""FLOP/B, FLOP/s, category, origin."""

N00: tuple[Row, ...] = (
    (1024.0, 687.194767e12, GEMM, MEASURED),
    (0.375, 1.00663296e12, NORMALISATION, MEASURED),
)


def content_of(
    rows: Sequence[Row],
    works: tuple[WorkRoof, ...] = (BF16, FP32),
    traffics: tuple[TrafficRoof, ...] = (DRAM,),
    sum_ns: int = 200_000,
) -> RooflineContent:
    intensity = np.array([row[0] for row in rows])
    peak = max((roof.flop_per_s for roof in works), default=math.nan)
    width = traffics[0].bytes_per_s if traffics else math.nan
    points = RooflinePoints(
        intensity=intensity,
        flop_per_s=np.array([row[1] for row in rows]),
        roof_flop_per_s=np.minimum(peak, width * intensity),
        sum_ns=np.full(len(rows), sum_ns, np.int64),
        category=np.array([row[2] for row in rows], np.uint8),
        origin=np.array([row[3] for row in rows], np.uint8),
    )
    return RooflineContent(
        points=points,
        works=works,
        traffics=traffics,
        name_of=lambda point: f"<b>kernel {point}</b>",
        words_of=lambda point: SliceWords(f"<b>kernel {point}</b>", (("FLOP/B", str(intensity[point])),)),
    )


@pytest.fixture
def view(qtbot: QtBot, theme: ThemeController) -> RooflineView:
    view = RooflineView(theme.theme)
    qtbot.addWidget(view)
    view.resize(912, 500)
    with qtbot.waitExposed(view):
        view.show()
    view.set_content(content_of(N00))
    return view


def pixel(view: RooflineView, at: QPointF) -> str:
    return view.grab().toImage().pixelColor(round(at.x()), round(at.y())).name().upper()


def colour(theme: ThemeController, category: int) -> str:
    return QColor(theme.theme.categories[CATEGORIES[category]]).name().upper()


def press(view: RooflineView, key: Qt.Key) -> None:
    QApplication.sendEvent(view, QKeyEvent(QEvent.Type.KeyPress, key.value, Qt.KeyboardModifier.NoModifier))


def wheel(view: RooflineView, at: QPointF, notches: int) -> None:
    event = QWheelEvent(
        at,
        view.mapToGlobal(at),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)


# --- where things are


def test_a_point_is_drawn_where_its_values_say(view: RooflineView, theme: ThemeController) -> None:
    for point, (intensity, rate, category, _) in enumerate(N00):
        at = view.current_geometry().place_of(intensity, rate)
        x, y = view.current_geometry().powers_at(at)
        assert (10**x, 10**y) == pytest.approx((intensity, rate))
        assert pixel(view, at) == colour(theme, category)
        assert view.point_at(at) == point


def test_the_pixels_of_the_axes_are_those_of_the_formula(view: RooflineView) -> None:
    geometry = view.current_geometry()
    plot, seen = geometry.plot, geometry.range
    at = geometry.place_of(1024, 687.194767e12)
    share = (math.log10(1024) - seen.left) / (seen.right - seen.left)
    assert at.x() == pytest.approx(plot.left() + share * plot.width())
    share = (math.log10(687.194767e12) - seen.bottom) / (seen.top - seen.bottom)
    assert at.y() == pytest.approx(plot.bottom() - share * plot.height())


def test_the_tip_of_the_point_under_the_cursor_reads_its_values(qtbot: QtBot, view: RooflineView) -> None:
    for point, value in ((1, "0.375"), (0, "1024.0")):
        QTest.mouseMove(view, view.place_of(point).toPoint())
        qtbot.waitUntil(lambda: view.tip_words is not None, timeout=TIP_DELAY_MS * 20)
        assert view.tip_words is not None
        assert view.tip_words.pairs == (("FLOP/B", value),)
        # A name is data: it is drawn as it is.
        assert view.tip_words.name == f"<b>kernel {point}</b>"
        QTest.mouseMove(view, view.current_geometry().plot.center().toPoint())
        qtbot.waitUntil(lambda: view.tip_words is None)


def test_hollow_filled_and_diamond_tell_sources_apart(view: RooflineView, theme: ThemeController) -> None:
    rows = [(13.0, 2e12, GEMM, MEASURED), (33.0, 2e12, GEMM, MODELLED), (93.0, 2e12, GEMM, ESTIMATED)]
    view.set_content(content_of(rows, sum_ns=64_000_000))
    filled, ground = colour(theme, GEMM), QColor(theme.theme.tokens["chart-bg"]).name().upper()
    middles = [pixel(view, view.place_of(point)) for point in range(3)]
    assert middles == [filled, ground, filled]
    # A diamond reaches a little further than a circle of 10 px, along the axes only.
    off = QPointF(11.4, 0)
    assert pixel(view, view.place_of(0) + off) == ground
    assert pixel(view, view.place_of(2) + off) != ground


def test_radii_grow_with_the_root_of_the_time_up_to_a_limit() -> None:
    assert radius_px(np.array([0, 4_000_000, 10**12])).tolist() == [4.0, 5.5, 10.0]


# --- ceilings


def test_a_roof_stops_where_its_lines_cross() -> None:
    content = content_of(N00)
    geometry = RooflineGeometry(912, 500, 1.0, fitting_range(content))
    flat, low, rising = roof_lines(content, geometry)
    ridge = geometry.place_of(989.4e12 / 3.35e12, 989.4e12)
    assert (flat.start.x(), flat.start.y()) == pytest.approx((ridge.x(), ridge.y()))
    assert (rising.end.x(), rising.end.y()) == pytest.approx((ridge.x(), ridge.y()))
    assert low.start.x() == pytest.approx(geometry.x_of(math.log10(66.9 / 3.35)))
    assert [line.text for line in ridge_lines(content, geometry)] == ["ridge 295", "ridge 20.0"]


def test_ceilings_that_begin_at_one_intensity_share_a_ridge(view: RooflineView) -> None:
    fp16 = WorkRoof(label="FP16 tensor 989.5 TFLOP/s", flop_per_s=989.5e12)
    content = content_of(N00, (BF16, FP32, fp16))
    ridges = ridge_lines(content, RooflineGeometry(912, 500, 1.0, fitting_range(content)))
    assert [line.text for line in ridges] == ["ridge 295", "ridge 20.0"]
    view.set_content(content)
    view.grab()
    assert [label.text for label in view.labels].count("ridge 295") == 1
    assert ridges[0].top == view.current_geometry().y_of(math.log10(989.5e12))


@pytest.mark.parametrize(
    ("works", "traffics", "lines"),
    [((), (), 0), ((BF16,), (), 1), ((), (DRAM,), 1), ((BF16,), (DRAM,), 2)],
    ids=["none", "no bandwidth", "no peak", "both"],
)
def test_missing_ceilings_are_not_drawn_and_break_nothing(
    view: RooflineView, works: tuple[WorkRoof, ...], traffics: tuple[TrafficRoof, ...], lines: int
) -> None:
    content = content_of(N00, works, traffics)
    view.set_content(content)
    view.select(0)
    assert not view.grab().isNull()
    geometry = view.current_geometry()
    assert len(roof_lines(content, geometry)) == lines
    assert len(ridge_lines(content, geometry)) == (1 if works and traffics else 0)
    words = [label.text for label in view.labels]
    assert "no roof known" in words or (works and traffics)


def test_a_roof_without_a_bandwidth_goes_over_the_whole_width() -> None:
    content = content_of(N00, (BF16,), ())
    geometry = RooflineGeometry(912, 500, 1.0, fitting_range(content))
    (line,) = roof_lines(content, geometry)
    assert (line.start.x(), line.end.x()) == (geometry.plot.left(), geometry.plot.right())


def test_nothing_at_all_is_drawn_too(view: RooflineView) -> None:
    view.set_content(NOTHING)
    assert not view.grab().isNull()
    assert view.labels == ()
    assert view.point_at(view.current_geometry().plot.center()) == -1


def test_what_lies_above_its_roof_is_called_out(view: RooflineView) -> None:
    view.set_content(content_of([(1024.0, 1374e12, GEMM, MEASURED), (1024.0, 600e12, GEMM, MEASURED)]))
    view.grab()
    assert view.content.points.above().tolist() == [0]
    assert [label.text for label in view.labels].count(ABOVE_WORDS) == 1
    place = view.place_of(0)
    assert view.current_geometry().plot.contains(place), "it is never clipped"


# --- words


def test_no_words_lie_over_others_at_any_zoom(view: RooflineView) -> None:
    generator = np.random.default_rng(3)
    rows = [
        (float(10 ** generator.uniform(-1, 3)), float(10 ** generator.uniform(11, 15)), GEMM, MEASURED)
        for _ in range(60)
    ]
    works = tuple(WorkRoof(label=f"type {n} with a long name", flop_per_s=1e14 * 1.02**n) for n in range(12))
    traffics = (DRAM, TrafficRoof(label="L2 3.5 TB/s", bytes_per_s=3.5e12, dashed=True))
    view.set_content(content_of(rows, works, traffics))
    view.select(0)
    for notches in (0, 2, 4, -3, -8):
        view.zoom_by_key(notches)
        view.grab()
        boxes = [label.box for label in view.labels]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
        plot = view.current_geometry().plot
        assert all(box.lies_in(plot) for box in boxes)


def test_the_selected_point_says_its_share_of_the_roof(view: RooflineView) -> None:
    view.select(0)
    view.grab()
    words = [label.text for label in view.labels]
    assert "<b>kernel 0</b>" in words
    assert "69.5\u00a0% of its roof" in words


def test_turned_boxes_overlap_where_they_share_area_only() -> None:
    slope = Box(QPointF(0, 0), 100, 10, -45)
    assert slope.overlaps(Box(QPointF(30, -30), 20, 10))
    # Inside the slope's bounding rectangle, but beside the slope.
    assert not slope.overlaps(Box(QPointF(50, -5), 20, 10))
    room = QRectF(-10, -90, 100, 110)
    assert slope.lies_in(room)
    assert not Box(QPointF(0, 60), 10, 10).lies_in(room)


@pytest.mark.parametrize(
    ("decades", "expected"),
    [
        (6.0, ["0.1", "1", "10", "100", "1,000", "10,000"]),
        (2.0, ["5", "10", "20", "50", "100", "200"]),
    ],
)
def test_ticks_can_be_read_at_every_zoom(decades: float, expected: list[str]) -> None:
    low = 1.4 - decades / 2 if decades < 3 else -1.5
    geometry = RooflineGeometry(912, 500, 1.0, PlotRange(low, low + decades, 10.0, 10.0 + decades))
    labels = [tick.label for tick in geometry.x_ticks.major]
    assert labels[: len(expected)] == expected or labels == expected


@pytest.mark.parametrize("decades", [0.02, 0.1, 0.5, 0.9, 1.5, 3.0, 8.0, 20.0])
def test_there_are_always_two_ticks_with_words(decades: float) -> None:
    geometry = RooflineGeometry(912, 500, 1.0, PlotRange(0.3, 0.3 + decades, 12.1, 12.1 + decades))
    for ticks in (geometry.x_ticks, geometry.y_ticks):
        assert len(ticks.major) >= 2
        assert len({tick.label for tick in ticks.major}) == len(ticks.major)


def test_rates_are_written_in_a_unit_that_fits() -> None:
    small = RooflineGeometry(912, 500, 1.0, PlotRange(-1, 3, 4, 8))
    large = RooflineGeometry(912, 500, 1.0, PlotRange(-1, 3, 11, 15))
    assert (small.y_unit[1], large.y_unit[1]) == ("MFLOP/s", "TFLOP/s")


# --- pointer and keys


def test_the_wheel_zooms_at_the_cursor_and_is_undone_at_once(view: RooflineView) -> None:
    before = view.visible_range
    at = view.place_of(1)
    values = view.current_geometry().powers_at(at)
    wheel(view, at, 1)
    wheel(view, at, 2)
    assert view.visible_range.width == pytest.approx(before.width * 0.8**3)
    assert view.current_geometry().powers_at(at) == pytest.approx(values)
    assert view.undo_view()
    assert view.visible_range == before
    assert not view.undo_view()


def test_dragging_moves_what_is_seen_with_the_pointer(view: RooflineView) -> None:
    place = view.place_of(0)
    middle = view.current_geometry().plot.center().toPoint()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=middle)
    QTest.mouseMove(view, middle + QPoint(-40, 10))
    QTest.mouseMove(view, middle + QPoint(-60, 30))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=middle + QPoint(-60, 30))
    moved = view.place_of(0) - place
    assert (moved.x(), moved.y()) == pytest.approx((-60, 30))
    assert view.selected == -1, "a drag is no click"


def test_keys_zoom_move_reset_and_undo(view: RooflineView) -> None:
    whole = view.visible_range
    press(view, Qt.Key.Key_W)
    assert view.visible_range.width == pytest.approx(whole.width * 0.8)
    press(view, Qt.Key.Key_D)
    assert view.visible_range.left > whole.left
    press(view, Qt.Key.Key_0)
    assert view.visible_range == whole
    press(view, Qt.Key.Key_S)
    assert view.visible_range.width == pytest.approx(whole.width / 0.8)


def test_keys_zoom_where_points_are_if_the_pointer_is_elsewhere(view: RooflineView) -> None:
    for selected, middle in ((-1, 0), (1, 1)):
        view.reset_view()
        view.select(selected)
        before = view.place_of(middle)
        for _ in range(12):
            press(view, Qt.Key.Key_W)
            assert view.notice == ""
        after = view.place_of(middle)
        assert (after.x(), after.y()) == pytest.approx((before.x(), before.y()))


def test_a_view_without_points_says_the_way_back(view: RooflineView) -> None:
    for _ in range(12):
        view.zoom_by_key(1)
    assert view.notice == ""
    for _ in range(12):
        view.pan_by_key(1)
    assert view.notice == OUT_OF_VIEW
    empty = view.grab().toImage()
    press(view, Qt.Key.Key_Home)
    assert view.notice == ""
    assert view.undo_view()
    assert view.grab().toImage() == empty


def test_who_hides_all_points_is_named(view: RooflineView) -> None:
    view.toggle_category(GEMM)
    assert view.notice == ""
    view.set_filter(np.array([True, False]))
    assert view.notice == BOTH_HIDE
    view.toggle_category(NORMALISATION)
    view.set_filter(None)
    assert view.notice == ALL_SWITCHED_OFF
    view.set_filter(np.array([False, False]))
    assert view.notice == ALL_FILTERED
    view.set_content(replace(NOTHING, why_empty="of a reason"))
    assert view.notice == "of a reason"
    assert not view.grab().isNull()


def test_a_click_selects_and_a_click_beside_clears(qtbot: QtBot, view: RooflineView) -> None:
    with qtbot.waitSignal(view.point_selected) as told:
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.place_of(1).toPoint())
    assert (told.args, view.selected) == ([1], 1)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(500, 430))
    assert view.selected == -1


def test_arrows_go_from_point_to_point_and_bring_them_into_sight(view: RooflineView) -> None:
    rows = [(float(10**n), 1e12, GEMM, MEASURED) for n in range(4)]
    view.set_content(content_of(rows))
    view.select(0)
    for expected in (1, 2, 3, 3):
        press(view, Qt.Key.Key_Right)
        assert view.selected == expected
    for _ in range(12):
        view.zoom_by_key(1)
    press(view, Qt.Key.Key_Left)
    assert view.selected == 2
    assert view.current_geometry().plot.contains(view.place_of(2))
    press(view, Qt.Key.Key_Escape)
    assert view.selected == -1


def test_the_legend_hides_a_category(view: RooflineView, theme: ThemeController) -> None:
    at = view.place_of(0)
    view.toggle_category(GEMM)
    assert pixel(view, at) != colour(theme, GEMM)
    assert view.point_at(at) == -1
    view.toggle_category(GEMM)
    assert view.point_at(at) == 0


def test_a_filter_hides_points(view: RooflineView) -> None:
    view.set_filter(np.array([False, True]))
    assert view.point_at(view.place_of(0)) == -1
    assert view.point_at(view.place_of(1)) == 1
    view.set_filter(None)
    assert view.point_at(view.place_of(0)) == 0


def test_views_stay_near_the_points() -> None:
    state = RangeState()
    state.set_whole(PlotRange(0, 4, 10, 14))
    state.show(PlotRange(100, 104, 10, 14))
    assert state.range.left < 4
    state.show(PlotRange(0, 1e-6, 10, 14))
    assert state.range.width > 1e-3


# --- many points


def many(count: int) -> RooflineContent:
    generator = np.random.default_rng(7)
    rows = [
        (float(x), float(y), int(category), int(origin))
        for x, y, category, origin in zip(
            10 ** generator.uniform(-1, 3, count),
            10 ** generator.uniform(10, 14, count),
            generator.integers(0, len(CATEGORIES), count),
            generator.integers(0, 3, count),
            strict=True,
        )
    ]
    return content_of(rows)


@pytest.mark.parametrize("count", [SMOOTH_POINTS + 500, DENSE_POINTS + 500], ids=["many", "dense"])
def test_a_moved_image_is_the_image_of_the_moved_view(view: RooflineView, count: int) -> None:
    """Only what comes into sight is drawn when the view moves; all of it must fit together."""
    drawn = many(count).points
    # Marks of all sizes: small ones alone may come into sight.
    lengths = np.random.default_rng(1).lognormal(14, 3, count).astype(np.int64)
    points = RooflinePoints(
        intensity=drawn.intensity,
        flop_per_s=drawn.flop_per_s,
        roof_flop_per_s=drawn.roof_flop_per_s,
        sum_ns=lengths,
        category=drawn.category,
        origin=drawn.origin,
    )
    view.set_content(RooflineContent(points=points, works=(BF16,), traffics=(DRAM,)))
    view.grab()
    geometry = view.current_geometry()
    whole = view.visible_range
    state = view.state
    # Within the limits of the view, so that it moves by whole pixels.
    for dx, dy in ((37, 0), (0, -23), (-80, 41), (15, 5)):
        state.show(state.range.moved(dx / geometry.x_px, dy / geometry.y_px))
        view.show_changed_range()
        moved = view.grab().toImage()
    assert view.visible_range != whole
    view.set_filter(None)
    anew = view.grab().toImage()
    assert moved == anew


def test_of_many_points_the_topmost_is_seen_and_found(view: RooflineView, theme: ThemeController) -> None:
    content = many(SMOOTH_POINTS + 500)
    points = content.points
    # The shortest lies on top of all others.
    sum_ns = points.sum_ns.copy()
    sum_ns[0] = 1
    origin = points.origin.copy()
    origin[0] = MEASURED
    on_top = RooflinePoints(
        intensity=points.intensity,
        flop_per_s=points.flop_per_s,
        roof_flop_per_s=points.roof_flop_per_s,
        sum_ns=sum_ns,
        category=points.category,
        origin=origin,
    )
    view.set_content(RooflineContent(points=on_top, works=(BF16,), traffics=(DRAM,)))
    at = view.place_of(0)
    assert view.point_at(at) == 0
    image = view.grab().toImage()
    wanted = colour(theme, int(points.category[0]))
    assert image.pixelColor(math.floor(at.x()), math.floor(at.y())).name().upper() == wanted


# --- pictures


def test_pictures_are_written_as_pixels_and_as_vectors(view: RooflineView, tmp_path: Path) -> None:
    save_png(view, tmp_path / "a.png")
    save_svg(view, tmp_path / "a.svg", "Roofline")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "a.svg").read_text()
    assert "BF16 tensor 989.4 TFLOP/s" in text
    assert "<image" not in text, "points are shapes"
