"""The keyboard on the Trace page: who has it, what the palette finds, what tabs are called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QToolButton

from core import prepare
from gui.shell.palette_entries import palette_entries
from gui.widgets.document_tabs import LEAST_PX, tab_names
from gui.widgets.palette import find_entries
from gui.widgets.shortcuts_dialog import ShortcutsDialog
from tests.helpers.traces import kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.trace import TracePage
    from gui.plots.timeline_view import TimelineView
    from gui.widgets.trace_view import TraceView

LIMIT_MS = 60_000


def write_trace(path: Path, *names: str) -> Path:
    events = [kernel(name, 100 * place, 50) for place, name in enumerate(names)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.fixture
def open_trace(qtbot: QtBot, window: MainWindow) -> Callable[[Path], TraceView]:
    """Opens a file as every way in does, and waits until everything about it is known."""

    def open_it(path: Path) -> TraceView:
        with qtbot.waitActive(window):
            window.activateWindow()
        window.context.open_path(path)

        def known() -> bool:
            view = getattr(window.page, "view", None)
            if view is None or view.document.path != path or view.document.overview is None:
                return False
            return view.tables.table.model.table is not None

        qtbot.waitUntil(known, timeout=LIMIT_MS)
        # Offscreen no window manager gives a window back what a passing one took.
        with qtbot.waitActive(window):
            window.activateWindow()
        view: TraceView = window.page.view  # type: ignore[attr-defined]
        return view

    return open_it


@pytest.fixture
def view(open_trace: Callable[[Path], TraceView], tmp_path: Path) -> TraceView:
    return open_trace(write_trace(tmp_path / "one.pt.trace.json", "gemm", "relu", "sum"))


def page_of(window: MainWindow) -> TracePage:
    page: TracePage = window.page  # type: ignore[assignment]
    assert page.NAME == "trace"
    return page


def timeline_of(view: TraceView) -> TimelineView:
    assert view.timeline.view is not None
    return view.timeline.view


def press(key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Presses a key where the keyboard is."""
    where = QApplication.focusWidget()
    assert where is not None
    QTest.keyClick(where, key, held)


def test_an_opened_trace_has_the_keyboard_in_its_timeline(view: TraceView) -> None:
    timeline = timeline_of(view)
    assert QApplication.focusWidget() is timeline
    whole_ns = timeline.span.length_ns
    press(Qt.Key.Key_W)
    assert timeline.span.length_ns < whole_ns
    assert view.bar.field.text() == ""


def test_letters_move_the_timeline_from_the_table_but_not_from_a_field(view: TraceView) -> None:
    timeline = timeline_of(view)
    view.tables.table.view.setFocus()
    whole_ns = timeline.span.length_ns
    press(Qt.Key.Key_W)
    near_ns = timeline.span.length_ns
    assert near_ns < whole_ns
    press(Qt.Key.Key_S)
    assert timeline.span.length_ns > near_ns
    view.bar.field.setFocus()
    before = timeline.span
    press(Qt.Key.Key_W)
    assert timeline.span == before
    assert view.bar.field.text() == "w"


def test_a_name_that_is_typed_in_the_table_keeps_its_letters(view: TraceView) -> None:
    table, timeline = view.tables.table, timeline_of(view)
    table.view.setFocus()
    before = timeline.span
    press(Qt.Key.Key_R)
    press(Qt.Key.Key_E)
    press(Qt.Key.Key_S)
    assert timeline.span == before


def test_escape_closes_the_palette_and_keeps_the_range(window: MainWindow, view: TraceView) -> None:
    view.show_part(0, 50_000)
    chosen = view.selection
    press(Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert window.palette_box.isVisible()
    press(Qt.Key.Key_Escape)
    assert not window.palette_box.isVisible()
    assert view.selection == chosen
    assert QApplication.focusWidget() is timeline_of(view)


def test_tab_names_leave_out_what_all_have_in_common() -> None:
    assert tab_names(["a.pt.trace.json.gz", "b.json", "c.json.gz", "d.txt", ".json"]) == [
        "a",
        "b",
        "c",
        "d.txt",
        ".json",
    ]
    assert tab_names(["a.json", "a.json.gz", "b.json"]) == ["a.json", "a.json.gz", "b"]


def test_twelve_tabs_can_still_be_read(
    window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    paths = [
        write_trace(tmp_path / f"a_rather_long_name_of_a_trace_{n:02}.pt.trace.json", "k") for n in range(12)
    ]
    for path in paths[:-1]:
        window.context.traces.add(path, show=False)
    open_trace(paths[-1])
    tabs = page_of(window).tabs
    assert tabs.count() == 12
    assert all(tabs.tabRect(place).width() >= LEAST_PX for place in range(12))
    assert tabs.tabText(3) == "a_rather_long_name_of_a_trace_03"
    assert tabs.tabToolTip(3).endswith("_03.pt.trace.json")
    close = tabs.tabButton(3, tabs.ButtonPosition.RightSide)
    assert isinstance(close, QToolButton)
    assert close.focusPolicy() == Qt.FocusPolicy.NoFocus


def palette_texts(window: MainWindow, query: str) -> list[str]:
    entries = palette_entries(window.context.actions, (), lambda _paths: None)
    return [entry.text for entry in find_entries(entries, query)]


def test_actions_of_a_trace_say_why_they_cannot_be_used(window: MainWindow) -> None:
    actions = window.context.actions
    assert actions.reason("trace.zoom_in") == "the Trace page is not shown"
    window.navigate("trace")
    assert actions.reason("trace.zoom_in") == "no trace is open"
    assert not actions.action("trace.close").isEnabled()
    assert palette_texts(window, "close")[0] == "Quit"


def test_the_palette_closes_a_tab_before_it_quits(window: MainWindow, view: TraceView) -> None:
    found = palette_texts(window, "close")
    assert found[0] == "Close trace"
    assert found.index("Quit") > 0
    actions = window.context.actions
    assert actions.reason("trace.zoom_in") is None
    assert actions.reason("trace.next_tab") == "only one trace is open"
    assert actions.reason("trace.next_match") == "the filter has found no slice"
    assert actions.reason("trace.zoom_selection") == "no slice is selected"


def test_all_keys_of_the_page_are_listed(window: MainWindow) -> None:
    dialog = ShortcutsDialog(window.context.actions, window)
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    for text, keys in (
        ("Zoom in", "W"),
        ("Close trace", "Ctrl+W"),
        ("Next match", "F3"),
        ("Filter by name", "/"),
        ("Zoom to the selection", "Return"),
        ("Copy the table", "Ctrl+C"),
        ("Pan", "Drag, or Ctrl+wheel"),
        ("Select a range", "Drag on the ruler, or Shift+drag"),
    ):
        assert texts[texts.index(text) + 1] == keys


def test_keys_go_from_tab_to_tab_and_close_one(
    window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    first, second = (write_trace(tmp_path / f"{name}.json", name) for name in ("first", "second"))
    open_trace(first)
    open_trace(second)
    traces = window.context.traces
    held = Qt.KeyboardModifier.ControlModifier
    press(Qt.Key.Key_Tab, held)
    assert traces.shown == first
    press(Qt.Key.Key_Backtab, held | Qt.KeyboardModifier.ShiftModifier)
    assert traces.shown == second
    press(Qt.Key.Key_PageUp, held)
    assert traces.shown == first
    press(Qt.Key.Key_W, held)
    assert traces.paths == (second,)


def test_kernels_are_grouped_from_the_palette(qtbot: QtBot, window: MainWindow, view: TraceView) -> None:
    actions = window.context.actions
    actions.trigger("trace.launches")
    assert view.tables.shown == "launches"
    actions.trigger("trace.group_stream")
    assert view.tables.shown == "kernels"
    assert view.tables.ask.group_by == "stream"


def test_f3_and_slash_work_in_the_whole_page(qtbot: QtBot, window: MainWindow, view: TraceView) -> None:
    press(Qt.Key.Key_Slash)
    assert QApplication.focusWidget() is view.bar.field
    view.bar.field.setText("gemm")
    qtbot.waitUntil(lambda: view.hits == 1, timeout=LIMIT_MS)
    press(Qt.Key.Key_F3)
    assert view.has_selected_slice


def test_copies_and_exports_are_told(
    qtbot: QtBot, window: MainWindow, view: TraceView, tmp_path: Path
) -> None:
    table = view.tables.table
    table.copy_rows("tsv")
    assert window.status.words == "3 rows copied"
    table.select_rows([0])
    table.copy_rows("csv")
    assert window.status.words == "1 row copied"
    table.export(tmp_path / "kernels.csv", "csv")
    qtbot.waitUntil(lambda: window.status.words == "kernels.csv written", timeout=LIMIT_MS)
    view.export_picture(tmp_path / "t.png")
    assert window.status.words == "t.png written"


def test_an_export_is_named_after_trace_and_table_and_opening_begins_there(
    window: MainWindow, view: TraceView, tmp_path: Path
) -> None:
    view.tables.table.ask_export("csv")
    dialog = view.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.selectedFiles()[0].endswith("/one-kernels.csv")
    dialog.reject()
    window.ask_for_file()
    opening = [each for each in window.findChildren(QFileDialog) if each.windowTitle() == "Open file"]
    assert opening[0].directory().absolutePath() == str(tmp_path)
    opening[0].reject()


def test_a_trace_waits_for_the_child_that_compiles_and_says_so(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    with prepare._child_runs:
        window.context.traces.add(write_trace(tmp_path / "t.json", "gemm"))
        window.navigate("trace")
        view = page_of(window)._view_of(tmp_path / "t.json")
        said = "Reading t.json, Compiling the trace reader, once after an update"
        qtbot.waitUntil(lambda: view.reading.text == said, timeout=LIMIT_MS)
        assert view.document.state == "reading"
    qtbot.waitUntil(lambda: view.document.state == "open", timeout=LIMIT_MS)
