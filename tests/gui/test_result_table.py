"""The one table of all analyses: filter, sort, columns, copy and export as a user meets them."""

from __future__ import annotations

import csv
import html
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QPushButton

from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable
from core.tables.strings import string_table
from gui.models.result_model import LARGE_ROWS
from gui.models.row_order import SortBy, stable_order
from gui.settings import Settings
from gui.widgets.category_swatch import category_swatch
from gui.widgets.result_columns import NAME_LEAST_PX
from gui.widgets.result_table import ResultTableWidget, RowChosen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.errors import DashboardError
    from gui.tasks import Tasks
    from gui.theme import ThemeController

OFFSCREEN_MENU = pytest.mark.qt_log_ignore(r"^This plugin does not support ")
"""Let a menu open on the offscreen platform, which cannot give it the keyboard."""

NAMES = ("gemm_NT", "ncclAllReduce", "=1+1", "gemm_NN", "<b>bold</b>", "copy\nto host")
CATEGORIES = ("GEMM", "Communication", "Other", "GEMM", "Other", "Memcpy")
SUMS = (36_240_000, 31_300_000, MISSING, 36_240_000, 20_000, 2_540_000)
SHARES = (34.1, 29.4, float("nan"), 34.1, 0.01, 2.4)


def texts(key: str, title: str, values: tuple[str, ...], *, shown: bool = True) -> Column:
    unique = tuple(dict.fromkeys(values))
    ids = np.array([unique.index(value) for value in values], np.int32)
    return Column(key=key, title=title, unit="", help=f"{title}.", values=ids, texts=unique, shown=shown)


def kernels(name: str = "kernels") -> ResultTable:
    return ResultTable(
        name=name,
        title="Kernels",
        columns=(
            texts("name", "Kernel", NAMES),
            texts("category", "Category", CATEGORIES),
            Column(key="sum_ns", title="Sum", unit="ns", help="Of all.", values=np.array(SUMS, np.int64)),
            Column(key="share_pct", title="Share", unit="pct", help="Of sum.", values=np.array(SHARES)),
            Column(
                key="stream",
                title="Stream",
                unit="id",
                help="Number.",
                values=np.arange(7, 13, dtype=np.int64),
                shown=False,
            ),
        ),
        notes=("1 launch could not be linked",),
        empty="This trace has no kernels.",
        sorted_by="sum_ns",
    )


def launches(count: int) -> ResultTable:
    random = np.random.default_rng(11)
    return ResultTable(
        name="launches",
        title="Launches",
        columns=(
            Column(
                key="name",
                title="Kernel",
                unit="",
                help="",
                values=random.integers(0, 300, count).astype(np.int32),
                texts=string_table(f"kernel_{number:03d}" for number in range(300)),
            ),
            Column(
                key="duration_ns",
                title="Duration",
                unit="ns",
                help="",
                values=random.integers(0, 9_000, count),
            ),
        ),
    )


@pytest.fixture
def settings() -> Settings:
    return Settings.load()


@pytest.fixture
def make(
    qtbot: QtBot, theme: ThemeController, tasks: Tasks, settings: Settings
) -> Callable[[ResultTable], ResultTableWidget]:
    def made(table: ResultTable) -> ResultTableWidget:
        widget = ResultTableWidget(theme, tasks, settings)
        qtbot.addWidget(widget)
        widget.resize(900, 400)
        widget.show_table(table)
        with qtbot.waitExposed(widget):
            widget.show()
        return widget

    return made


@pytest.fixture
def shown(make: Callable[[ResultTable], ResultTableWidget]) -> ResultTableWidget:
    return make(kernels())


def column_texts(widget: ResultTableWidget, column: int) -> list[str]:
    return [widget.model.cell(place, column) for place in range(widget.model.rowCount())]


def headers(widget: ResultTableWidget) -> list[str]:
    places = range(widget.model.columnCount())
    return [str(widget.model.headerData(place, Qt.Orientation.Horizontal)) for place in places]


def click_header(widget: ResultTableWidget, column: int) -> None:
    header = widget.view.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(column) + 20, 13)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)


def check(menu: QMenu, text: str) -> None:
    action = next(each for each in menu.actions() if each.text() == text)
    action.toggle()


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def test_a_table_opens_sorted_as_its_analysis_says_with_units_in_the_header(shown: ResultTableWidget) -> None:
    assert headers(shown) == ["Kernel", "Category", "Sum, ms \N{DOWNWARDS ARROW}", "Share", "Stream"]
    assert column_texts(shown, 2) == ["36.24", "36.24", "31.30", "2.54", "0.02", "n/a"]
    assert shown.bar.count.text() == "6 of 6 rows"
    assert shown.notes.full_text == "1 launch could not be linked"


def test_sorting_is_stable_and_leaves_missing_values_last_both_ways(shown: ResultTableWidget) -> None:
    assert shown.model.rows.tolist() == [0, 3, 1, 5, 4, 2]
    click_header(shown, 2)
    assert shown.model.rows.tolist() == [4, 5, 1, 0, 3, 2]
    assert headers(shown)[2] == "Sum, ms \N{UPWARDS ARROW}"
    click_header(shown, 3)
    assert shown.model.rows.tolist() == [0, 3, 1, 5, 4, 2]
    click_header(shown, 0)
    assert column_texts(shown, 0)[:2] == ["<b>bold</b>", "=1+1"]


def test_the_filter_takes_all_words_in_any_text_and_any_case(shown: ResultTableWidget) -> None:
    QTest.keyClicks(shown.bar.field, "GEMM")
    assert shown.bar.count.text() == "2 of 6 rows"
    QTest.keyClicks(shown.bar.field, " nn")
    assert column_texts(shown, 0) == ["gemm_NN"]
    shown.bar.field.setText("all commun")
    assert shown.model.rows.tolist() == [1]
    QTest.keyClick(shown.bar.field, Qt.Key.Key_Escape)
    assert shown.bar.count.text() == "6 of 6 rows"


def test_the_filter_is_reached_by_a_key_and_left_for_the_rows(shown: ResultTableWidget, qtbot: QtBot) -> None:
    shown.view.setFocus()
    QTest.keyClick(shown.view, Qt.Key.Key_Slash)
    qtbot.waitUntil(shown.bar.field.hasFocus)
    assert shown.bar.field.text() == ""
    QTest.keyClick(shown.bar.field, Qt.Key.Key_Down)
    qtbot.waitUntil(shown.view.hasFocus)
    assert shown.current_row() == 0


def test_a_filter_that_hides_everything_offers_to_clear_it(shown: ResultTableWidget) -> None:
    shown.bar.field.setText("zzz")
    assert not shown.view.isVisible()
    button = next(each for each in shown.findChildren(QPushButton) if each.text() == "Clear filter")
    assert button.isVisible()
    button.click()
    assert shown.view.isVisible()
    assert shown.bar.count.text() == "6 of 6 rows"


def test_an_empty_table_says_what_is_missing(make: Callable[[ResultTable], ResultTableWidget]) -> None:
    nothing = np.empty(0, np.int32)
    column = Column(key="name", title="Kernel", unit="", help="", values=nothing, texts=())
    widget = make(ResultTable(name="kernels", title="Kernels", columns=(column,), empty="No kernels here."))
    assert not widget.view.isVisible()
    assert widget._nothing.accessibleName() == "No kernels. No kernels here."


def test_names_are_literal_everywhere(shown: ResultTableWidget) -> None:
    place = shown.model.place_of(4)
    assert shown.model.cell(place, 0) == "<b>bold</b>"
    tip = shown.model.data(shown.model.index(place, 0), Qt.ItemDataRole.ToolTipRole)
    assert "&lt;b&gt;bold" in tip
    assert shown.model.cell(shown.model.place_of(5), 0) == "copy\\nto host"


def test_a_value_in_words_keeps_its_space_and_a_name_shows_its_controls(
    make: Callable[[ResultTable], ResultTableWidget],
) -> None:
    column = texts("shown", "Value", ("100.0\N{NO-BREAK SPACE}%", "\x1b[31mred"))
    widget = make(ResultTable(name="metrics", title="Metrics", columns=(column,)))
    cells = [widget.model.cell(widget.model.place_of(row), 0) for row in range(2)]
    assert cells == ["100.0\N{NO-BREAK SPACE}%", "\\x1b[31mred"]
    tip = widget.model.data(widget.model.index(widget.model.place_of(0), 0), Qt.ItemDataRole.ToolTipRole)
    assert "100.0\N{NO-BREAK SPACE}%" in html.unescape(tip)


def test_a_shortened_name_tells_and_copies_its_full_one(
    make: Callable[[ResultTable], ResultTableWidget],
) -> None:
    full = "void at::native::gemm<float>(Params)"
    widget = make(
        ResultTable(
            name="kernels",
            title="Kernels",
            columns=(
                texts("name", "Kernel", ("gemm",)),
                texts("full_name", "Full name", (full,), shown=False),
            ),
        )
    )
    tip = widget.model.data(widget.model.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    assert html.unescape(tip).find(full) >= 0
    widget.menu(0, 0).actions()[0].trigger()
    assert clipboard() == full
    widget.bar.field.setText("native")
    assert widget.bar.count.text() == "1 of 1 row"


def test_what_is_missing_says_why(shown: ResultTableWidget) -> None:
    index = shown.model.index(shown.model.place_of(2), 2)
    assert shown.model.data(index, Qt.ItemDataRole.ToolTipRole) == "Of all.\nn/a: not known for this row."
    assert shown.model.data(index, Qt.ItemDataRole.AccessibleTextRole) == "Sum, ms: n/a"


def test_selection_follows_its_rows_through_filter_and_sort(shown: ResultTableWidget) -> None:
    told: list[RowChosen] = []
    shown.selected.connect(told.append)
    shown.select_rows([5])
    assert told[-1].row == 5
    assert told[-1].table is shown.model.table
    click_header(shown, 0)
    assert shown.selected_rows().tolist() == [5]
    shown.bar.field.setText("copy")
    assert shown.selected_rows().tolist() == [5]
    assert shown.current_row() == 5
    shown.bar.field.setText("gemm")
    assert shown.selected_rows().tolist() == []


def test_the_selected_row_stays_selected_in_the_next_answer_of_its_analysis(shown: ResultTableWidget) -> None:
    shown.select_rows([1])
    told: list[RowChosen] = []
    shown.selected.connect(told.append)
    table = kernels()
    shown.show_table(table)
    assert [(each.table, each.row) for each in told] == [(table, 1)]
    assert shown.selected_rows().tolist() == [1]
    shown.show_table(kernels("operators"))
    assert shown.selected_rows().tolist() == []


@OFFSCREEN_MENU
@pytest.mark.parametrize("key", ["menu", "shift"])
def test_the_menu_opens_by_key_at_the_current_row(shown: ResultTableWidget, key: str) -> None:
    shown.select_rows([3])
    shown.view.setFocus()
    if key == "shift":
        QTest.keyClick(shown.view, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    else:
        far = QPoint(300, 300)
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, far, shown.view.mapToGlobal(far))
        QApplication.sendEvent(shown.view, event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    next(action for action in menu.actions() if action.text() == "Copy cell").trigger()
    menu.close()
    assert clipboard() == "gemm_NN"


@OFFSCREEN_MENU
def test_the_columns_menu_stays_open_while_columns_are_chosen(shown: ResultTableWidget) -> None:
    menu = shown._columns_menu
    menu.popup(shown.mapToGlobal(QPoint(0, 0)))
    share = next(action for action in menu.actions() if action.text() == "Share")
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(share).center())
    assert shown.columns.visible_keys() == ("name", "category", "sum_ns")
    menu.setActiveAction(share)
    QTest.keyClick(menu, Qt.Key.Key_Space)
    assert menu.isVisible()
    assert shown.columns.visible_keys() == ("name", "category", "sum_ns", "share_pct")
    menu.close()


def test_enter_activates_the_row_of_the_table(shown: ResultTableWidget) -> None:
    told: list[RowChosen] = []
    shown.activated.connect(told.append)
    shown.view.setFocus()
    QTest.keyClick(shown.view, Qt.Key.Key_End)
    QTest.keyClick(shown.view, Qt.Key.Key_Return)
    assert [each.row for each in told] == [2]


def test_typing_goes_to_the_next_name_that_begins_so(shown: ResultTableWidget) -> None:
    shown.view.setFocus()
    QTest.keyClicks(shown.view, "nccl")
    assert shown.current_row() == 1


def test_copied_rows_are_exact_and_safe_to_paste(shown: ResultTableWidget) -> None:
    shown.select_rows([0, 2])
    QTest.keyClick(shown.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard() == (
        "name\tcategory\tsum_ns\tshare_pct\r\ngemm_NT\tGEMM\t36240000\t34.1\r\n'=1+1\tOther\t\t\r\n"
    )


def test_the_context_menu_copies_a_cell_and_rows_as_csv_and_json(shown: ResultTableWidget) -> None:
    shown.select_rows([2])
    menu = shown.menu(shown.model.place_of(2), 0)
    actions = {action.text(): action for action in menu.actions()}
    told: list[str] = []
    shown.told.connect(told.append)
    actions["Copy cell"].trigger()
    assert clipboard() == "=1+1"
    assert told == ["1 cell copied"]
    actions["Copy selected rows as CSV"].trigger()
    assert clipboard().splitlines() == ["name,category,sum_ns,share_pct", "'=1+1,Other,,"]
    actions["Copy selected rows as JSON"].trigger()
    assert json.loads(clipboard())["rows"] == [
        {"name": "=1+1", "category": "Other", "sum_ns": None, "share_pct": None}
    ]


def test_a_table_can_be_sorted_without_the_mouse(shown: ResultTableWidget) -> None:
    sort = next(each for each in shown.menu(0, 0).findChildren(QMenu) if each.title() == "Sort by")
    next(action for action in sort.actions() if action.text() == "Stream").trigger()
    assert shown.model.rows.tolist() == [5, 4, 3, 2, 1, 0]


def test_an_export_holds_the_shown_rows_with_all_columns(
    shown: ResultTableWidget, qtbot: QtBot, tmp_path: Path
) -> None:
    shown.bar.field.setText("o")
    path = tmp_path / "out.csv"
    shown.export(path, "csv")
    qtbot.waitUntil(path.is_file)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["ncclAllReduce", "copy\nto host", "<b>bold</b>", "'=1+1"]
    assert rows[0] == {
        "name": "ncclAllReduce",
        "category": "Communication",
        "sum_ns": "31300000",
        "share_pct": "29.4",
        "stream": "8",
    }


def test_the_export_dialog_leads_to_a_file(shown: ResultTableWidget, qtbot: QtBot, tmp_path: Path) -> None:
    shown.ask_export("json")
    dialog = shown.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    assert dialog.defaultSuffix() == "json"
    path = tmp_path / "out.json"
    dialog.fileSelected.emit(str(path))
    dialog.close()
    qtbot.waitUntil(path.is_file)
    assert len(json.loads(path.read_text(encoding="utf-8"))["rows"]) == 6


def test_a_file_that_cannot_be_written_is_told(
    shown: ResultTableWidget, qtbot: QtBot, tmp_path: Path
) -> None:
    told: list[DashboardError] = []
    shown.failed.connect(told.append)
    shown.export(tmp_path / "absent" / "out.csv", "csv")
    qtbot.waitUntil(lambda: bool(told))
    assert "could not be written" in told[0].message


def test_columns_sort_and_widths_are_kept_by_table_name(
    make: Callable[[ResultTable], ResultTableWidget], settings: Settings
) -> None:
    first = make(kernels())
    menu = QMenu(first)
    first.columns.fill_menu(menu)
    check(menu, "Stream")
    check(menu, "Share")
    header = first.view.horizontalHeader()
    header.moveSection(header.visualIndex(4), 1)
    header.resizeSection(1, 150)
    click_header(first, 2)
    assert first.columns.visible_keys() == ("name", "stream", "category", "sum_ns")
    settings.write(settings.encoded())

    again = Settings.load()
    assert again.page_value("tables", "kernels") == settings.page_value("tables", "kernels")
    second = make(kernels())
    assert second.columns.visible_keys() == ("name", "stream", "category", "sum_ns")
    assert second.view.columnWidth(1) == 150
    assert second.model.sort_by is not None
    assert not second.model.sort_by.descending
    other = make(kernels("operators"))
    assert other.columns.visible_keys() == ("name", "category", "sum_ns", "share_pct")


def collectives(*sizes: int) -> ResultTable:
    """Rows whose sizes are known only if the trace has them."""
    return ResultTable(
        name="communication",
        title="Communication",
        columns=(
            texts("name", "Pattern", ("All-reduce", "Send")),
            Column(key="sum_ns", title="Sum", unit="ns", help="", values=np.array([5, 3], np.int64)),
            Column(key="size_bytes", title="Size", unit="bytes", help="", values=np.array(sizes, np.int64)),
        ),
    )


def test_a_column_without_any_value_is_hidden_until_the_user_shows_it(
    make: Callable[[ResultTable], ResultTableWidget],
) -> None:
    widget = make(collectives(MISSING, MISSING))
    assert widget.columns.visible_keys() == ("name", "sum_ns")
    menu = QMenu(widget)
    widget.columns.fill_menu(menu)
    check(menu, "Size")
    assert widget.columns.visible_keys() == ("name", "sum_ns", "size_bytes")
    assert make(collectives(MISSING, MISSING)).columns.visible_keys() == ("name", "sum_ns", "size_bytes")
    check(menu, "Size")
    assert widget.columns.visible_keys() == ("name", "sum_ns")
    assert make(collectives(8, MISSING)).columns.visible_keys() == ("name", "sum_ns", "size_bytes")


def test_a_column_stays_when_a_part_of_the_trace_has_no_value_for_it(
    make: Callable[[ResultTable], ResultTableWidget],
) -> None:
    widget = make(collectives(MISSING, MISSING))
    widget.show_table(collectives(8, 16))
    assert widget.columns.visible_keys() == ("name", "sum_ns", "size_bytes")
    widget.show_table(collectives(MISSING, MISSING))
    assert widget.columns.visible_keys() == ("name", "sum_ns", "size_bytes")


def test_columns_can_be_put_back(shown: ResultTableWidget) -> None:
    menu = QMenu(shown)
    shown.columns.fill_menu(menu)
    assert not next(action for action in menu.actions() if action.text() == "Kernel").isEnabled()
    check(menu, "Category")
    assert shown.columns.visible_keys() == ("name", "sum_ns", "share_pct")
    next(action for action in menu.actions() if action.text() == "Reset columns").trigger()
    assert shown.columns.visible_keys() == ("name", "category", "sum_ns", "share_pct")


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        {"order": [1, "x"], "hidden": "name", "widths": {"sum_ns": "wide"}, "sort": ["gone", True]},
        {"sort": [1, 2, 3], "widths": [1], "shown": {"a": 1}},
    ],
)
def test_settings_that_make_no_sense_are_ignored(
    value: object, settings: Settings, make: Callable[[ResultTable], ResultTableWidget]
) -> None:
    settings.set_page_value("tables", "kernels", value)
    widget = make(kernels())
    assert widget.columns.visible_keys() == ("name", "category", "sum_ns", "share_pct")
    assert widget.model.rows.tolist() == [0, 3, 1, 5, 4, 2]


def test_the_room_that_is_left_goes_to_the_name(
    make: Callable[[ResultTable], ResultTableWidget], qtbot: QtBot
) -> None:
    table = kernels()
    names = texts("name", "Kernel", tuple(f"{name}{'_long' * 12}" for name in NAMES))
    shown = make(replace(table, columns=(names, *table.columns[1:])))
    view = shown.view
    others = [view.columnWidth(place) for place in (1, 2, 3)]
    before = view.columnWidth(0)
    shown.resize(1200, 400)
    qtbot.waitUntil(lambda: view.columnWidth(0) == before + 300)
    assert [view.columnWidth(place) for place in (1, 2, 3)] == others
    shown.resize(300, 400)
    qtbot.waitUntil(lambda: view.columnWidth(0) == NAME_LEAST_PX)


def test_short_names_take_no_more_than_they_need(shown: ResultTableWidget, qtbot: QtBot) -> None:
    shown.resize(300, 400)
    qtbot.waitUntil(lambda: shown.view.columnWidth(0) < NAME_LEAST_PX - 50)


def test_a_table_of_numbers_shows_no_names_that_are_not_asked_for(
    make: Callable[[ResultTable], ResultTableWidget],
) -> None:
    steps = ResultTable(
        name="steps",
        title="Steps",
        columns=(
            Column(key="step", title="Step", unit="id", help="", values=np.array([3, 4])),
            texts("thread", "Thread", ("main", "other"), shown=False),
        ),
    )
    widget = make(steps)
    assert widget.columns.visible_keys() == ("step",)
    assert widget.view.columnWidth(0) < NAME_LEAST_PX // 2
    menu = QMenu(widget)
    widget.columns.fill_menu(menu)
    check(menu, "Thread")
    assert widget.columns.visible_keys() == ("step", "thread")


def test_a_new_table_keeps_filter_and_sorting(shown: ResultTableWidget) -> None:
    click_header(shown, 0)
    shown.bar.field.setText("gemm")
    table = kernels()
    shown.show_table(table)
    assert shown.model.table is table
    assert column_texts(shown, 0) == ["gemm_NN", "gemm_NT"]
    assert shown.bar.count.text() == "2 of 6 rows"


def test_a_million_rows_open_without_an_object_for_each(
    make: Callable[[ResultTable], ResultTableWidget], qtbot: QtBot
) -> None:
    table = launches(1_000_000)
    widget = make(table)
    qtbot.waitUntil(lambda: widget.model.rowCount() == 1_000_000, timeout=20_000)
    widget.view.grab()
    widget.view.scrollToBottom()
    widget.view.grab()
    assert widget.model.cell(999_999, 0).startswith("kernel_")
    assert len(widget.model._texts) < 200

    widget.bar.field.setText("kernel_00")
    expected = int((table.columns[0].values < 10).sum())
    qtbot.waitUntil(lambda: widget.model.rowCount() == expected, timeout=20_000)
    click_header(widget, 1)
    qtbot.waitUntil(lambda: widget.model.sort_by is not None, timeout=20_000)
    durations = table.columns[1].values[widget.model.rows]
    assert (np.diff(durations) <= 0).all()
    ties = np.flatnonzero(np.diff(durations) == 0)
    assert (np.diff(widget.model.rows)[ties] > 0).all()


def test_an_answer_to_an_older_question_is_dropped(
    make: Callable[[ResultTable], ResultTableWidget], qtbot: QtBot
) -> None:
    widget = make(launches(LARGE_ROWS))
    for text in ("k", "kernel_1", "kernel_12", "kernel_123"):
        widget.bar.field.setText(text)
    qtbot.waitUntil(lambda: widget.model.words == ("kernel_123",), timeout=20_000)
    seen = {widget.model.cell(place, 0) for place in range(widget.model.rowCount())}
    assert seen == {"kernel_123"}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.int32])
def test_the_order_of_equal_keys_is_kept(kind: type[np.generic], descending: bool) -> None:
    keys = np.random.default_rng(2).integers(-20, 20, 5_000).astype(kind)
    expected = sorted(range(len(keys)), key=lambda at: -keys[at] if descending else keys[at])
    assert stable_order(keys, descending).tolist() == expected


def test_a_missing_text_comes_last_both_ways(make: Callable[[ResultTable], ResultTableWidget]) -> None:
    column = Column(
        key="op",
        title="Operator",
        unit="",
        help="",
        values=np.array([NO_ROW, 1, 0], np.int32),
        texts=("aten::mm", "aten::add"),
    )
    widget = make(ResultTable(name="ops", title="Operators", columns=(column,)))
    click_header(widget, 0)
    assert column_texts(widget, 0) == ["aten::add", "aten::mm", "n/a"]
    click_header(widget, 0)
    assert column_texts(widget, 0) == ["aten::mm", "aten::add", "n/a"]


def test_a_name_without_characters_is_shown_as_such(make: Callable[[ResultTable], ResultTableWidget]) -> None:
    widget = make(ResultTable(name="t", title="T", columns=(texts("name", "Kernel", ("", "a")),)))
    assert column_texts(widget, 0) == ["(no name)", "a"]
    widget.copy_rows("csv")
    assert clipboard() == 'name\r\n""\r\na\r\n'


@pytest.mark.usefixtures("qapp")
def test_categories_have_their_colours_and_patterns(theme: ThemeController) -> None:
    colours = theme.theme.categories
    middle = {
        name: category_swatch(theme.theme, name).toImage().pixelColor(3, 4)
        for name in ("GEMM", "Triton", "Other")
    }
    assert middle["GEMM"] == QColor(colours["gemm"])
    assert middle["Triton"] == middle["Other"] == QColor(colours["other"])
    for name in ("Communication", "memcpy", "Memset", "Triton"):
        image = category_swatch(theme.theme, name).toImage()
        assert len({image.pixelColor(x, y).rgb() for x in range(2, 8) for y in range(2, 8)}) > 1


def test_a_tree_is_indented_in_its_own_order_alone(make: Callable[[ResultTable], ResultTableWidget]) -> None:
    tree = ResultTable(
        name="modules",
        title="Modules",
        columns=(
            Column(
                key="name",
                title="Module",
                unit="",
                help="",
                values=np.arange(3, dtype=np.int32),
                texts=("Model", "Layer", "Linear"),
            ),
            Column(key="depth", title="Depth", unit="id", help="", values=np.array([0, 1, 2]), shown=False),
        ),
    )
    widget = make(tree)
    assert [widget.model.depth(place) for place in range(3)] == [0, 1, 2]
    widget.model.sort_rows(SortBy("name", descending=True))
    assert [widget.model.depth(place) for place in range(3)] == [0, 0, 0]
