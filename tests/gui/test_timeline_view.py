"""The timeline: pixels against brute force, and what pointer, keys and headers do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from core.analyses.timeline_index import build_timeline
from core.tables.timeline import CounterLane, GroupFacts, LaneFacts, TimelineSlices
from gui.plots.timeline_content import CATEGORIES, FlowArrow, SliceRef, SliceWords, TimelineContent
from gui.plots.timeline_geometry import HEADER_PX, OVERVIEW_PX, RULER_PX
from gui.plots.timeline_image import LaneImage, lane_palette
from gui.plots.timeline_labels import text_on
from gui.plots.timeline_layout import FOLDED_ROWS, HEAD_PX, LayoutChoice, Strip, lay_out
from gui.plots.timeline_paint import HeaderLook, fitted_pair, names_top_px
from gui.plots.timeline_span import SpanState, TimeSpan
from gui.plots.timeline_ticks import time_ticks
from gui.plots.timeline_view import TIP_DELAY_MS, TimelineView
from gui.theme import load_theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytestqt.qtbot import QtBot

    from core.tables.timeline import TimelineIndex
    from gui.theme import ThemeController, ThemeName

MS = 1_000_000
LANES_TOP = OVERVIEW_PX + RULER_PX
STREAM_Y = LANES_TOP + HEAD_PX + 10
"""In the first row of the first lane, if nothing is pinned."""

GEMM, COMMUNICATION = CATEGORIES.index("gemm"), CATEGORIES.index("communication")

Row = tuple[int, int, int, int]


def index_of(rows: Sequence[Row], lanes: tuple[LaneFacts, ...], groups: int = 1) -> TimelineIndex:
    start, duration, lane, colour = (np.array(column) for column in zip(*rows, strict=True))
    slices = TimelineSlices(
        start.astype(np.int64), duration.astype(np.int64), lane.astype(np.int32), colour.astype(np.uint8)
    )
    return build_timeline(slices, lanes, tuple(GroupFacts(f"Rank {n}", f"GPU {n}", n) for n in range(groups)))


def content_of(index: TimelineIndex, counters: tuple[CounterLane, ...] = ()) -> TimelineContent:
    return TimelineContent(
        index=index,
        name_of=lambda row: f"kernel<{row}>",
        words_of=lambda row: SliceWords(f"<b>kernel</b> {row}", (("Stream", "7"), ("Grid", "2, 1, 1"))),
        counters=counters,
    )


STREAMS = (LaneFacts("Stream 7", "compute"), LaneFacts("Stream 22", "all-gather"))


def two_streams() -> TimelineIndex:
    """Ten kernels of 50 ms each every 100 ms, and in the other lane one of 300 ms."""
    rows = [(n * 100 * MS, 50 * MS, 0, GEMM) for n in range(10)]
    return index_of([*rows, (400 * MS, 300 * MS, 1, COMMUNICATION), (950 * MS, 50 * MS, 1, GEMM)], STREAMS)


@pytest.fixture
def view(qtbot: QtBot, theme: ThemeController) -> TimelineView:
    view = TimelineView(theme.theme)
    qtbot.addWidget(view)
    view.resize(HEADER_PX + 500, 300)
    with qtbot.waitExposed(view):
        view.show()
    view.set_content(content_of(two_streams()))
    settle()
    return view


def settle() -> None:
    for _ in range(3):
        QApplication.processEvents()


def press_key(view: TimelineView, key: Qt.Key, held: Qt.KeyboardModifier | None = None) -> None:
    QTest.keyClick(view, key, held or Qt.KeyboardModifier.NoModifier)
    settle()


def turn(view: TimelineView, at: QPointF, notches: float, held: Qt.KeyboardModifier | None = None) -> None:
    event = QWheelEvent(
        at,
        view.mapToGlobal(at),
        QPoint(),
        QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton,
        held or Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)
    settle()


def drag(view: TimelineView, start: QPoint, end: QPoint, held: Qt.KeyboardModifier | None = None) -> None:
    button, keys = Qt.MouseButton.LeftButton, held or Qt.KeyboardModifier.NoModifier
    QTest.mousePress(view, button, keys, start)
    QTest.mouseMove(view, (start + end) / 2)
    QTest.mouseMove(view, end)
    QTest.mouseRelease(view, button, keys, end)
    settle()


def click(view: TimelineView, x: float, y: float) -> None:
    none = Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, none, QPoint(round(x), round(y)))
    settle()


def x_of(view: TimelineView, time_ns: int) -> int:
    return round(view.current_geometry().x_of(time_ns))


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize("seed", range(3))
def test_busy_and_idle_pixels_of_the_widget_equal_brute_force(
    qtbot: QtBot, theme: ThemeController, seed: int, name: ThemeName
) -> None:
    random = np.random.default_rng(seed)
    start = np.cumsum(random.choice([1, 3, 50, 4_000, 90_000], 3_000))
    rows = [
        (int(at), int(length), 0, int(colour))
        for at, length, colour in zip(
            start,
            random.choice([1, 2, 30, 2_000], 3_000),
            random.choice([0, 1, COMMUNICATION, 9, 10], 3_000),
            strict=True,
        )
    ]
    index = index_of(rows, (LaneFacts("Stream 7"),))
    shown = load_theme(name)
    view = TimelineView(shown)
    qtbot.addWidget(view)
    view.resize(HEADER_PX + 400, 200)
    view.set_content(content_of(index))
    view.show()
    nothing = {shown.color(token).rgb() for token in ("chart-bg", "chart-grid")}
    part = slice(int(index.row_first[0]), int(index.row_first[1]))
    entries = list(zip(index.start_ns[part].tolist(), index.end_ns[part].tolist(), strict=True))
    whole = view.span
    for share in (1.0, 0.1, 0.01, 0.0001):
        length_ns = max(400, round(whole.length_ns * share))
        view.show_span(
            TimeSpan(whole.start_ns + whole.length_ns // 3, whole.start_ns + whole.length_ns // 3 + length_ns)
        )
        settle()
        span = view.span
        picture = view.lanes_image()
        width = picture.width()
        edges = [span.start_ns + span.length_ns * number // width for number in range(width + 1)]
        busy = [
            any(end > left and begin < right for begin, end in entries) for left, right in pairwise(edges)
        ]
        # No label and no separator is in the lane's picture; any line of the row tells the same.
        for y in (HEAD_PX + 3, HEAD_PX + 9, HEAD_PX + 16):
            drawn = [picture.pixel(x, y) not in nothing for x in range(width)]
            assert drawn == busy


def test_a_pixel_has_the_colour_of_the_longest_category(view: TimelineView, theme: ThemeController) -> None:
    view.set_content(
        content_of(index_of([(0, 400, 0, 0), (400, 600, 0, 1), (10**6, 10**6, 0, 4)], (LaneFacts("s"),)))
    )
    view.show_span(TimeSpan(0, 2 * 10**6))
    settle()
    picture = view.lanes_image()
    colours = [QColor(theme.theme.categories[name]) for name in ("attention", "elementwise")]
    first = QColor(picture.pixel(0, HEAD_PX + 9))
    assert first.hslHue() == pytest.approx(colours[0].hslHue(), abs=12)
    assert picture.pixel(400, HEAD_PX + 9) == colours[1].rgb()


def test_the_wheel_keeps_the_time_under_the_cursor(view: TimelineView) -> None:
    for x, notches in ((HEADER_PX + 123, 5), (HEADER_PX + 400, 3), (HEADER_PX + 50, 7), (HEADER_PX + 50, -4)):
        before_ns = view.current_geometry().time_at(x)
        length_ns = view.span.length_ns
        turn(view, QPointF(x, STREAM_Y), notches)
        after = view.current_geometry()
        assert abs(after.x_of(before_ns) - x) <= 1
        assert (after.span.length_ns < length_ns) == (notches > 0)


def test_ctrl_and_the_wheel_pan_and_over_the_headers_it_scrolls(view: TimelineView) -> None:
    turn(view, QPointF(HEADER_PX + 250, STREAM_Y), 4)
    span = view.span
    turn(view, QPointF(HEADER_PX + 250, STREAM_Y), -1, Qt.KeyboardModifier.ControlModifier)
    assert view.span.length_ns == span.length_ns
    assert view.span.start_ns > span.start_ns
    turn(view, QPointF(20, STREAM_Y), -1)
    assert view.span.length_ns == span.length_ns


def test_one_cannot_zoom_below_a_nanosecond_a_pixel(view: TimelineView) -> None:
    for _ in range(20):
        turn(view, QPointF(HEADER_PX + 33, STREAM_Y), 10)
    assert view.span.length_ns == view.current_geometry().plot_device_px
    before_ns = view.current_geometry().time_at(HEADER_PX + 33)
    turn(view, QPointF(HEADER_PX + 33, STREAM_Y), 1)
    assert view.current_geometry().time_at(HEADER_PX + 33) == before_ns


def test_a_click_selects_the_slice_that_a_crowded_pixel_shows(view: TimelineView) -> None:
    """1,000 slices a pixel; in each pixel one is longer than the others, of one colour with some of them."""
    rows: list[Row] = []
    for pixel in range(500):
        at = pixel * 100_000
        lengths = [40] * 1_000
        lengths[(pixel * 37) % 1_000] = 55_000
        for length in lengths:
            rows.append((at, length, 0, 0 if length > 40 else 1 + len(rows) % 2))
            at += length + 1
    view.set_content(content_of(index_of(rows, (LaneFacts("Stream 7"),))))
    view.show_span(TimeSpan(0, 500 * 100_000))
    settle()
    chosen: list[SliceRef | None] = []
    view.slice_selected.connect(chosen.append)
    for pixel in (0, 3, 250, 499):
        click(view, HEADER_PX + pixel, STREAM_Y)
        ref = chosen[-1]
        assert ref == view.selection
        assert ref is not None
        assert ref.slice_row == pixel * 1_000 + (pixel * 37) % 1_000
        assert ref.end_ns - ref.start_ns == 55_000


def test_a_click_beside_a_slice_takes_it_and_one_into_nothing_clears(view: TimelineView) -> None:
    chosen: list[SliceRef | None] = []
    view.slice_selected.connect(chosen.append)
    click(view, x_of(view, 150 * MS) - 1 + 27, STREAM_Y)
    assert chosen == [SliceRef(2, 0, 200 * MS, 250 * MS)]
    click(view, x_of(view, 250 * MS) + 2, STREAM_Y)
    assert chosen[-1] == chosen[0]
    click(view, x_of(view, 280 * MS), STREAM_Y)
    assert chosen[-1] is None
    assert view.selection is None


def test_dragging_on_the_ruler_or_with_shift_selects_a_range(view: TimelineView) -> None:
    told: list[TimeSpan | None] = []
    view.range_changed.connect(told.append)
    span = view.span
    ruler_y = OVERVIEW_PX + 8
    drag(view, QPoint(HEADER_PX + 100, ruler_y), QPoint(HEADER_PX + 200, ruler_y))
    assert told == [TimeSpan(200 * MS, 400 * MS)]
    assert view.span == span
    shift = Qt.KeyboardModifier.ShiftModifier
    drag(view, QPoint(HEADER_PX + 300, STREAM_Y), QPoint(HEADER_PX + 250, STREAM_Y), shift)
    assert told[-1] == view.chosen_range == TimeSpan(500 * MS, 600 * MS)
    press_key(view, Qt.Key.Key_Escape)
    assert told[-1] is None
    assert view.chosen_range is None
    view.set_range(TimeSpan(1, 2))
    assert len(told) == 3
    click(view, HEADER_PX + 400, ruler_y)
    assert len(told) == 4
    assert view.chosen_range is None


def test_keys_zoom_move_reset_and_undo(view: TimelineView) -> None:
    told: list[TimeSpan] = []
    view.span_changed.connect(told.append)
    whole = view.span
    QTest.mouseMove(view, QPoint(HEADER_PX + 100, STREAM_Y))
    settle()
    press_key(view, Qt.Key.Key_W)
    zoomed = view.span
    assert zoomed.length_ns == pytest.approx(whole.length_ns * 0.8, rel=1e-6)
    assert abs(view.current_geometry().x_of(200 * MS) - (HEADER_PX + 100)) <= 1
    press_key(view, Qt.Key.Key_D)
    assert view.span.start_ns > zoomed.start_ns
    press_key(view, Qt.Key.Key_A)
    assert abs(view.span.start_ns - zoomed.start_ns) <= 1
    press_key(view, Qt.Key.Key_S)
    press_key(view, Qt.Key.Key_Home)
    assert view.span == whole
    press_key(view, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    press_key(view, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    press_key(view, Qt.Key.Key_0)
    assert view.span == whole
    assert told[0] == zoomed
    while view.undo_view():
        pass
    assert view.span == whole
    assert not view.undo_view()


def test_its_keys_do_not_reach_shortcuts_of_the_window(view: TimelineView) -> None:
    none, ctrl = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
    for key, held, taken in (
        (Qt.Key.Key_W, none, True),
        (Qt.Key.Key_Z, ctrl, True),
        (Qt.Key.Key_Left, none, True),
        (Qt.Key.Key_W, ctrl, False),
        (Qt.Key.Key_O, ctrl, False),
    ):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, held)
        event.ignore()
        QApplication.sendEvent(view, event)
        assert event.isAccepted() == taken


def test_arrow_keys_go_to_neighbours_and_bring_them_into_sight(view: TimelineView) -> None:
    press_key(view, Qt.Key.Key_Right)
    assert view.selection is None
    view.select(4)
    press_key(view, Qt.Key.Key_Right)
    press_key(view, Qt.Key.Key_Right)
    assert view.selection == SliceRef(6, 0, 600 * MS, 650 * MS)
    press_key(view, Qt.Key.Key_Left)
    press_key(view, Qt.Key.Key_Down)
    assert view.selection == SliceRef(10, 1, 400 * MS, 700 * MS)
    press_key(view, Qt.Key.Key_Up)
    assert view.selection is not None
    assert view.selection.slice_row == 5
    view.show_span(TimeSpan(500 * MS, 560 * MS))
    for _ in range(9):
        press_key(view, Qt.Key.Key_Right)
    assert view.selection.slice_row == 9
    assert view.span.start_ns < 900 * MS < view.span.end_ns
    assert view.span.length_ns == 60 * MS


def test_a_double_click_zooms_to_the_slice(view: TimelineView) -> None:
    QTest.mouseDClick(
        view,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QPoint(x_of(view, 320 * MS), STREAM_Y),
    )
    settle()
    assert view.selection == SliceRef(3, 0, 300 * MS, 350 * MS)
    assert view.span.start_ns < 300 * MS
    assert view.span.end_ns > 350 * MS
    assert view.span.length_ns < 100 * MS


def test_dragging_pans_and_one_drag_is_one_step_of_undo(view: TimelineView) -> None:
    turn(view, QPointF(HEADER_PX + 250, STREAM_Y), 5)
    span = view.span
    grabbed_ns = view.current_geometry().time_at(HEADER_PX + 300)
    drag(view, QPoint(HEADER_PX + 300, STREAM_Y), QPoint(HEADER_PX + 200, STREAM_Y + 1))
    assert abs(view.current_geometry().x_of(grabbed_ns) - (HEADER_PX + 200)) <= 1
    assert view.selection is None
    view.undo_view()
    assert view.span == span


def test_the_overviews_frame_is_moved_and_resized(view: TimelineView) -> None:
    view.show_span(TimeSpan(200 * MS, 400 * MS))
    settle()
    drag(view, QPoint(HEADER_PX + 150, 20), QPoint(HEADER_PX + 250, 20))
    assert view.span.length_ns == 200 * MS
    assert view.span.start_ns == pytest.approx(400 * MS, abs=3 * MS)
    drag(view, QPoint(HEADER_PX + 300, 20), QPoint(HEADER_PX + 400, 20))
    assert view.span.start_ns == pytest.approx(400 * MS, abs=3 * MS)
    assert view.span.end_ns == pytest.approx(800 * MS, abs=5 * MS)
    drag(view, QPoint(HEADER_PX + 50, 20), QPoint(HEADER_PX + 60, 20))
    assert view.span.start_ns < 120 * MS < view.span.end_ns


def test_groups_close_to_one_row_and_open(view: TimelineView) -> None:
    before = view.lanes_image().copy()
    click(view, 60, LANES_TOP + 10)
    assert view.closed_groups == {0}
    assert view.lanes_image() != before
    chosen: list[SliceRef | None] = []
    view.slice_selected.connect(chosen.append)
    click(view, x_of(view, 520 * MS), LANES_TOP + 10)
    click(view, x_of(view, 580 * MS), LANES_TOP + 10)
    assert [ref and ref.slice_row for ref in chosen] == [5, 10]
    view.show_selection()
    assert not view.closed_groups


def test_a_pinned_lane_stands_at_the_top_and_stays(view: TimelineView) -> None:
    second_y = LANES_TOP + HEAD_PX + 20 + 8
    click(view, HEADER_PX - 14, second_y)
    assert list(view.pinned_lanes) == [1]
    click(view, x_of(view, 500 * MS), LANES_TOP + 8)
    assert view.selection == SliceRef(10, 1, 400 * MS, 700 * MS)
    click(view, HEADER_PX - 14, LANES_TOP + 8)
    assert not view.pinned_lanes


def test_more_lanes_than_fit_are_scrolled(qtbot: QtBot, view: TimelineView) -> None:
    lanes = tuple(LaneFacts(f"Stream {n}") for n in range(40))
    view.set_content(content_of(index_of([(n, 1_000, n, 0) for n in range(40)], lanes)))
    settle()
    assert view.selection is None
    view.select(39)
    view.show_selection()
    settle()
    geometry = view.current_geometry()
    assert geometry.scroll_px > 0
    assert geometry.width < view.width()
    turn(view, QPointF(20, STREAM_Y), 100)
    assert view.current_geometry().scroll_px == 0


def test_deep_threads_are_folded_and_open(view: TimelineView) -> None:
    rows = [(n, 1_000 - 2 * n, 0, 0) for n in range(20)]
    lanes = (LaneFacts("Thread 1", host=True), LaneFacts("Stream 7"))
    index = index_of([*rows, (0, 1_000, 1, 0)], lanes)
    view.set_content(content_of(index))
    layout = lay_out(index, (), LayoutChoice())
    assert [len(strip.rows) for strip in layout.strips] == [0, FOLDED_ROWS, 1]
    assert layout.strips[1].hidden_rows == 20 - FOLDED_ROWS
    view.select(19)
    view.show_selection()
    settle()
    opened = lay_out(index, (), LayoutChoice().with_fold_toggled(0))
    assert len(opened.strips[1].rows) == 20
    assert opened.height > layout.height


def test_every_height_of_a_lane_belongs_to_the_row_that_is_drawn_there() -> None:
    rows = [(n, 1_000 - 2 * n, 0, 0) for n in range(5)]
    strip = lay_out(index_of(rows, (LaneFacts("Thread 1", host=True),)), (), LayoutChoice()).strips[1]
    for place, row in enumerate(strip.rows):
        top, height = strip.row_box(place)
        assert {strip.row_at(y) for y in (top, top + height / 2, top + height - 1)} == {row}
        assert strip.rows_above(top - strip.top) == place
    assert strip.row_at(strip.top + strip.height + 3) is None


def test_slices_without_length_and_impossible_ones_are_seen_but_not_busy(
    view: TimelineView, theme: ThemeController
) -> None:
    rows = [(0, 100, 0, 0), (500, 0, 0, COMMUNICATION), (700, -5, 0, 0), (900, 100, 0, 0)]
    view.set_content(content_of(index_of(rows, (LaneFacts("Stream 7"),))))
    view.show_span(TimeSpan(0, 1_000))
    settle()
    picture = view.lanes_image()
    nothing = theme.theme.color("chart-bg").rgb()
    assert picture.pixel(250, HEAD_PX + 5) == nothing
    assert QColor(picture.pixel(250, HEAD_PX + 14)) == QColor(theme.theme.categories["communication"])
    assert picture.pixel(350, HEAD_PX + 1) == theme.theme.color("warn").rgb()
    assert picture.pixel(350, HEAD_PX + 9) == nothing
    click(view, HEADER_PX + 251, STREAM_Y)
    assert view.selection == SliceRef(1, 0, 500, 500)


@pytest.mark.parametrize("closed", [False, True])
def test_nothing_of_an_earlier_picture_is_left_after_a_pan(
    view: TimelineView, qtbot: QtBot, theme: ThemeController, closed: bool
) -> None:
    fresh = TimelineView(theme.theme)
    qtbot.addWidget(fresh)
    fresh.resize(view.size())
    fresh.set_content(content_of(two_streams()))
    for each, spans in ((view, (300, 0, 700)), (fresh, (700,))):
        each.toggle_pin(1)
        if closed:
            each.toggle_group(0)
        for start in spans:
            each.show_span(TimeSpan(start * MS, (start + 300) * MS))
            each.grab()
    assert view.lanes_image() == fresh.lanes_image()
    assert view.grab().toImage() == fresh.grab().toImage()


def test_patterns_mark_wide_slices_only(theme: ThemeController) -> None:
    palette = lane_palette(theme.theme, CATEGORIES)
    index = index_of(
        [(0, 5, 0, COMMUNICATION), (20, 6, 0, COMMUNICATION), (40, 30, 0, GEMM)], (LaneFacts("s"),)
    )
    from gui.plots.timeline_image import Bar, Bars

    image = LaneImage()
    image.resize(100, 20)
    image.clear(palette, ())
    image.paint_bars(index, TimeSpan(0, 100), Bars.of([Bar((0,), 0, 20)]), palette, 1.0)
    colours = [len(np.unique(image.pixels[:, x])) for x in range(100)]
    assert max(colours[:20]) == 1
    assert max(colours[20:26]) == 2
    assert max(colours[40:]) == 1


def test_triton_has_the_colour_of_the_others_and_lines_on_it(theme: ThemeController) -> None:
    from gui.plots.timeline_image import Bar, Bars

    palette = lane_palette(theme.theme, ("triton", "other"))
    image = LaneImage()
    image.resize(100, 20)
    image.clear(palette, ())
    index = index_of([(0, 40, 0, 0), (50, 40, 0, 1)], (LaneFacts("s"),))
    image.paint_bars(index, TimeSpan(0, 100), Bars.of([Bar((0,), 0, 20)]), palette, 1.0)
    row = image.pixels[10]
    assert len(np.unique(image.pixels[:, 3])) == 1
    assert row[3] != row[2] == row[52] == row[53]


def test_a_counter_reaches_the_top_where_it_is_largest(view: TimelineView, theme: ThemeController) -> None:
    counter = CounterLane(
        "Memory", "9 GiB", 0, np.array([0, 500 * MS, 500 * MS + 1], np.int64), np.array([1.0, 9.0, 3.0])
    )
    view.set_content(content_of(two_streams(), (counter,)))
    settle()
    picture = view.lanes_image()
    top = HEAD_PX + 20 + 20 + 3
    line = theme.theme.color("text2").rgb()
    x = x_of(view, 500 * MS) - HEADER_PX
    assert line in {picture.pixel(each, top) for each in (x - 1, x, x + 1)}
    assert picture.pixel(x - 40, top) != line
    assert picture.pixel(x + 40, top + 15) == line


def test_a_step_begins_at_a_dashed_line(view: TimelineView, theme: ThemeController) -> None:
    index = index_of([(0, 1_000 * MS, 0, GEMM)], (LaneFacts("Stream 7"),))
    view.set_content(replace(content_of(index), boundaries_ns=(200 * MS,)))
    settle()
    picture, line = view.lanes_image(), theme.theme.color("text2").rgb()
    drawn = [picture.pixel(100, y) == line for y in range(picture.height())]
    assert drawn[60:72] == [True, True, True, False, False, False] * 2
    assert line not in {picture.pixel(x, 60) for x in (99, 101)}


def test_the_tooltip_waits_and_shows_names_literally(view: TimelineView, qtbot: QtBot) -> None:
    QTest.mouseMove(view, QPoint(x_of(view, 220 * MS), STREAM_Y))
    assert view.tip_words is None
    qtbot.waitUntil(lambda: view.tip_words is not None, timeout=TIP_DELAY_MS + 3_000)
    words = view.tip_words
    assert words is not None
    assert words.name == "<b>kernel</b> 2"
    QTest.mouseMove(view, QPoint(x_of(view, 280 * MS), STREAM_Y))
    assert view.tip_words is None


def test_both_themes_draw_and_the_change_reaches_everything(
    view: TimelineView, theme: ThemeController
) -> None:
    view.select(2)
    view.set_arrows([FlowArrow(0, 200 * MS, 1, 450 * MS)])
    view.set_range(TimeSpan(100 * MS, 300 * MS))
    settle()
    dark = view.grab().toImage()
    theme.set_theme("light")
    view.set_theme(theme.theme)
    settle()
    light = view.grab().toImage()
    assert light.size() == dark.size()
    for x, y in ((10, 10), (HEADER_PX + 3, LANES_TOP + 200), (10, STREAM_Y)):
        assert light.pixelColor(x, y).lightness() > 200
        assert dark.pixelColor(x, y).lightness() < 80
    assert light.pixelColor(x_of(view, 420 * MS), STREAM_Y) == QColor(theme.theme.categories["gemm"])


@pytest.mark.parametrize("name", ["dark", "light"])
def test_labels_can_be_read_on_every_category(qapp: QApplication, name: ThemeName) -> None:
    def luminance(colour: QColor) -> float:
        parts = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in (colour.redF(), colour.greenF(), colour.blueF())
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    for category in CATEGORIES:
        fill = QColor(load_theme(name).categories[category])
        low, high = sorted((luminance(fill), luminance(text_on(fill))))
        assert (high + 0.05) / (low + 0.05) >= 4.5, category


def test_nothing_is_shown_without_a_content(view: TimelineView) -> None:
    view.set_content(None)
    settle()
    click(view, HEADER_PX + 50, STREAM_Y)
    press_key(view, Qt.Key.Key_W)
    press_key(view, Qt.Key.Key_Right)
    assert view.selection is None
    assert view.accessibleName() == "Timeline"


def test_ticks_have_one_unit_and_as_many_decimals_as_they_need() -> None:
    def labels(start: int, end: int, origin: int = 0) -> list[str]:
        return [tick.label for tick in time_ticks(TimeSpan(start, end), origin, 5)]

    assert labels(0, 110 * MS) == ["0 ms", "50 ms", "100 ms"]
    assert labels(-MS, MS) == ["\N{MINUS SIGN}1.0 ms", "\N{MINUS SIGN}0.5 ms", "0.0 ms", "0.5 ms", "1.0 ms"]
    assert labels(61_982_000, 61_982_900) == [
        f"61,982.{tenth} \N{MICRO SIGN}s" for tenth in ("0", "2", "4", "6", "8")
    ]
    assert labels(5 * 10**9, 5 * 10**9 + 4 * MS)[0] == "5.000 s"
    assert labels(10**18, 10**18 + 10, 10**18) == ["0 ns", "2 ns", "4 ns", "6 ns", "8 ns", "10 ns"]


def test_the_span_stays_on_the_data_and_within_its_limits() -> None:
    state = SpanState()
    state.set_least(100)
    state.set_all(TimeSpan(1_000, 11_000))
    state.pan(5_000)
    assert state.span == TimeSpan(1_000, 11_000)
    assert not state.can_undo
    state.zoom(6_000, 0.5)
    assert state.span == TimeSpan(3_500, 8_500)
    state.pan(10**9)
    assert state.span.start_ns < 11_000
    state.zoom(11_000, 1e-9)
    assert state.span.length_ns == 100
    state.set_least(300)
    assert state.span.length_ns == 300
    state.zoom(0, 1e12)
    assert state.span == TimeSpan(1_000, 11_000)
    state.set_all(TimeSpan(5, 6))
    assert state.span == TimeSpan(5, 305)


def test_the_name_of_a_lane_stays_in_sight_while_its_first_rows_are_scrolled_away() -> None:
    strip = Strip(kind="lane", number=0, top=0, height=400, group=0)
    assert names_top_px(strip, HeaderLook(top=64, visible_top=64, hovered=False)) == 64
    assert names_top_px(strip, HeaderLook(top=-136, visible_top=64, hovered=False)) == 64
    nearly_gone = names_top_px(strip, HeaderLook(top=-330, visible_top=64, hovered=False))
    assert nearly_gone == -330 + 400 - 26


@pytest.mark.usefixtures("qtbot")
def test_a_header_shortens_its_note_before_its_name_and_keeps_them_apart() -> None:
    metrics = QFontMetricsF(QFont("DejaVu Sans", 11))
    width_of = metrics.horizontalAdvance
    name, rows = "Thread 21587", ("6 of 44 rows", "6 of 44")

    def fitted(width: float, name: str = name, notes: tuple[str, ...] = rows) -> tuple[str, str]:
        return fitted_pair(width, (name, metrics), (notes, metrics))

    wide, narrow = (width_of(name) + width_of(note) + 8 for note in rows)
    assert fitted(wide) == (name, "6 of 44 rows")
    assert fitted(wide - 1) == (name, "6 of 44")
    assert fitted(narrow) == (name, "6 of 44")
    # A long name is cut, a short note beside it stays whole and does not touch it.
    process = "python3.10 -m a.very.long.module 1670242"
    shown, note = fitted(150, process, ("GPU 0",))
    assert note == "GPU 0"
    assert shown.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert 100 - width_of("GPU 0") < width_of(shown) <= 150 - 8 - width_of("GPU 0") + 1
    assert fitted(150, process, ("",))[1] == ""
    both = fitted(150, process, ("a note that is long, too",))
    assert all(each.endswith("\N{HORIZONTAL ELLIPSIS}") for each in both)
