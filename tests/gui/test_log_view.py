"""The log: bounded, filtered, rewritten in place, still while one reads, and always plain text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest

from core.telemetry.views import LogLine
from gui.models.log import LogFilter, LogModel
from gui.widgets.log_area import as_text, clock_text, pieces
from gui.widgets.log_view import LogView
from tests.helpers.snapshots import log_lines

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController

MARKUP = "<img src=x><b>hi</b>"


@pytest.fixture
def view(qtbot: QtBot, theme: ThemeController) -> LogView:
    view = LogView(LogModel(capacity=1000), theme)
    qtbot.addWidget(view)
    qtbot.addWidget(view.corner)
    view.resize(700, 120)
    view.set_ranks(4)
    with qtbot.waitExposed(view):
        view.show()
    view.corner.show()
    return view


def test_memory_is_bounded_and_what_is_gone_is_counted(view: LogView) -> None:
    for first in range(1, 3001, 500):
        view.add(log_lines(500, first=first))
    model = LogModel(capacity=1000)
    model.add(log_lines(5000))
    assert (len(model), model.kept, model.dropped) == (1000, 1000, 4000)
    assert model.line(0).number == 4001
    assert model.row_of(5000) == 999
    assert view.corner.count.text() == "last 1,000 of 3,000"
    assert "on disk only" in view.corner.count.toolTip()


def test_a_progress_bar_is_rewritten_in_its_place(view: LogView) -> None:
    lines = log_lines(10)
    view.add(lines)
    view.add([replace(lines[4], text="step 5:  90%|#########")])
    assert view.area.top_row + view.area.rows_in_sight >= 10
    model = LogModel()
    model.add(lines)
    model.add([replace(lines[4], text="99%"), *log_lines(1, first=11)])
    assert [line.number for line in model.lines()] == list(range(1, 12))
    assert model.line(4).text == "99%"


def test_a_rewritten_line_comes_and_goes_with_the_filter() -> None:
    model = LogModel()
    model.add(log_lines(6, ranks=2))
    model.set_filter(LogFilter(text="done"))
    assert len(model) == 0
    model.add([replace(model_line, text="Done 100%") for model_line in log_lines(1, first=3)])
    assert [line.number for line in model.lines()] == [3]
    model.add(log_lines(1, first=3))
    assert len(model) == 0


def test_a_filter_looks_at_texts_as_they_are_now_and_at_no_dropped_line() -> None:
    model = LogModel(capacity=10)
    model.add(log_lines(25))
    model.add([replace(line, text="Done 100%") for line in log_lines(1, first=20)])
    for wanted, numbers in (
        (LogFilter(text="done"), [20]),
        (LogFilter(rank=0, text="STEP"), [16, 24]),
        (LogFilter(rank=0), [16, 20, 24]),
        (LogFilter(), list(range(16, 26))),
    ):
        model.set_filter(wanted)
        assert [line.number for line in model.lines()] == numbers
    model.clear()
    model.set_filter(LogFilter(text="step"))
    assert len(model) == 0


def test_filters_by_rank_and_by_text_with_a_count(view: LogView) -> None:
    view.add(log_lines(100))
    assert view.corner.count.text() == "100 lines"
    QTest.keyClicks(view.corner.field, "STEP 9")
    assert view.corner.count.text() == "11 of 100"
    view.show_rank(1)
    assert view.corner.count.text() == "3 of 100"
    view.corner.reset()
    assert view.corner.count.text() == "100 lines"


def test_a_filter_that_hides_all_offers_to_clear_it(view: LogView, qtbot: QtBot) -> None:
    view.add(log_lines(20))
    QTest.keyClicks(view.corner.field, "flsh")
    assert not view.area.isVisible()
    assert view.corner.isVisible()
    assert view.corner.field.isVisible()
    assert "No line matches flsh. 20 are hidden." in view.words_when_hidden
    QTest.keyClick(view.corner.field, Qt.Key.Key_Escape)
    assert view.area.isVisible()


def test_f3_goes_through_the_matches_and_around(view: LogView) -> None:
    view.add(log_lines(40))
    QTest.keyClicks(view.corner.field, "step 1")
    rows = []
    for _ in range(12):
        QTest.keyClick(view.corner.field, Qt.Key.Key_F3)
        rows.append(view.area.selected_lines()[0].number)
    assert rows[:3] == rows[11:] + rows[1:3] or len(set(rows)) == 11
    assert all(str(number).startswith("1") for number in rows)
    QTest.keyClick(view.area, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert view.area.selected_lines()[0].number == rows[-2]


def test_the_view_stays_where_one_reads_unless_it_is_at_the_end(view: LogView) -> None:
    """Case G16."""
    view.add(log_lines(900))
    assert view.area.at_end
    view.area.verticalScrollBar().setValue(300)
    assert not view.area.at_end
    view.add(log_lines(90, first=901))
    assert view.area.top_row == 300
    # 90 lines too many: the 90 oldest are gone, and what is read stays in sight.
    view.add(log_lines(100, first=991))
    assert view.area.top_row == 300 - 90
    view.area.scroll_to_end()
    view.add(log_lines(50, first=1091))
    assert view.area.top_row + view.area.rows_in_sight == 1000


def test_a_flood_costs_no_more_than_what_is_in_sight(view: LogView) -> None:
    number = 1
    for _ in range(20):
        view.add(log_lines(5000, first=number))
        number += 5000
    assert view.corner.count.text() == "last 1,000 of 100,000"
    assert view.area.at_end


def test_lines_are_selected_and_copied_as_they_stand(view: LogView) -> None:
    view.add([replace(log_lines(1)[0], text=MARKUP), *log_lines(4, first=2)])
    view.area.go_to_row(0)
    view.area.setFocus()
    QTest.keyClick(view.area, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view.area, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().splitlines()
    assert len(copied) == 2
    assert copied[0].endswith(f"rank 1  {MARKUP}")
    view.copy_text_only()
    assert QGuiApplication.clipboard().text().splitlines()[0] == MARKUP
    QTest.keyClick(view.area, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert len(view.area.selected_lines()) == 5
    assert view.shown_text().count("\n") == 5


def test_a_selection_survives_new_lines_and_filters(view: LogView) -> None:
    view.add(log_lines(100))
    view.area.go_to_row(50)
    view.add(log_lines(20, first=101))
    assert [line.number for line in view.area.selected_lines()] == [51]
    view.show_rank(51 % 4)
    assert [line.number for line in view.area.selected_lines()] == [51]
    view.show_rank((51 + 1) % 4)
    assert view.area.selected_lines() == []


def test_a_click_on_a_line_tells_its_rank(view: LogView, qtbot: QtBot) -> None:
    view.add(log_lines(3))
    with qtbot.waitSignal(view.rank_clicked) as clicked:
        QTest.mouseClick(view.area.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(40, 8))
    assert clicked.args == [1]
    assert view.area.accessibleDescription() == "step 1  loss 9.9990"


def test_markup_is_drawn_as_text_and_colours_are_kept_apart() -> None:
    """Case G14."""
    plain, red = QColor("white"), QColor("red")
    line = LogLine(number=1, rank=0, stream="out", text=MARKUP, spans=((2, 5, 1), (4, 7, 1), (30, 40, 1)))
    cut = pieces(line, plain, lambda _: red)
    assert "".join(line.text[begin:end] for begin, end, _ in cut) == MARKUP
    assert [(begin, end) for begin, end, color in cut if color is red] == [(2, 5), (5, 7)]
    assert as_text(line) == f"rank 0  {MARKUP}"


def test_times_are_blank_where_they_are_not_known() -> None:
    assert clock_text(None) == ""
    assert clock_text(1_790_000_000_123_456_789).endswith(".123")


def test_the_menu_offers_the_whole_log(view: LogView, qtbot: QtBot) -> None:
    view.add(log_lines(3))
    view.area.go_to_row(0)
    menu = view.menu()
    qtbot.addWidget(menu)
    texts = [action.text() for action in menu.actions()]
    assert "Open the whole log of rank 1" in texts
    whole = menu.actions()[texts.index("Open the whole log of rank 1")]
    with qtbot.waitSignal(view.whole_log_asked) as asked:
        whole.trigger()
    assert asked.args == [1]


def test_another_run_starts_with_an_empty_log(view: LogView) -> None:
    view.add(log_lines(100))
    view.show_rank(2)
    view.start_again()
    view.add(log_lines(10))
    assert view.corner.count.text() == "10 lines"
    assert view.area.at_end
