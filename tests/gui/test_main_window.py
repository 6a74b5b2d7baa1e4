"""The window as a whole: pages, docks, theme, job state, palette, keyboard, and how it closes."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDialog,
    QLineEdit,
    QPushButton,
    QTabBar,
    QToolButton,
    QWidget,
)

from core.errors import DashboardError
from core.launch.preflight import Preflight
from core.runs.manifest import write_manifest
from gui.main_window import MainWindow
from gui.pages import PAGES, PageEntry
from gui.settings import FILE_NAME, Settings
from gui.widgets.dock import INSPECTOR_LEAST_PX
from gui.widgets.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.runs.job import JobSpec
    from core.runs.store import RunFolder, RunStore
    from gui.shell.docks import Docks
    from gui.tasks import Tasks
    from gui.theme import ThemeController


def has_sizes(docks: Docks, expected: tuple[int, int]) -> bool:
    return (docks.inspector.width(), docks.log.height()) == expected


def press(parent: QWidget, text: str) -> None:
    button = next(each for each in parent.findChildren(QPushButton) if each.text().strip() == text)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def saved(window: MainWindow) -> dict[str, object]:
    values: dict[str, object] = json.loads(window.context.settings.path.read_bytes())
    return values


def attach(qtbot: QtBot, window: MainWindow, folder: RunFolder) -> None:
    with qtbot.waitSignal(window.context.session.snapshot_changed):
        window.context.session.attach(folder)


@pytest.fixture
def run_shown(qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]) -> RunFolder:
    """An ended run on the Run page: the docks belong to it."""
    folder = make_run()
    attach(qtbot, window, folder)
    window.navigate("run")
    return folder


@pytest.mark.parametrize("entry", PAGES, ids=[entry.name for entry in PAGES])
def test_the_list_of_pages_says_what_the_pages_say(entry: PageEntry) -> None:
    page = entry.load()
    assert (entry.name, entry.title, entry.icon) == (page.NAME, page.TITLE, page.ICON)


def test_pages_change_by_rail_and_by_key(qtbot: QtBot, window: MainWindow) -> None:
    assert window.page.NAME == "home"
    rail = {button.text(): button for button in window.rail.findChildren(QToolButton)}
    assert list(rail) == ["Home", "Run", "Trace", "Nsight", "Roofline", "Edge", "Settings"]
    QTest.mouseClick(rail["Run"], Qt.MouseButton.LeftButton)
    assert window.page.NAME == "run"
    assert rail["Run"].isChecked()
    assert "Run" in window.windowTitle()
    QTest.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.page.NAME == "home"
    assert rail["Home"].isChecked()


def test_docks_are_there_where_a_page_has_something_for_them(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    inspector, log = window.docks.inspector, window.docks.log
    attach(qtbot, window, make_run())
    assert inspector.isHidden()
    assert log.isHidden()
    assert window.context.actions.reason("view.inspector") == "this page has no inspector"
    window.navigate("run")
    assert inspector.isVisible()
    assert log.isVisible()
    window.context.actions.trigger("view.inspector")
    assert inspector.isHidden()
    window.navigate("home")
    window.navigate("run")
    assert inspector.isHidden()
    assert log.isVisible()


@pytest.mark.usefixtures("run_shown")
def test_the_form_has_the_room_of_the_docks(window: MainWindow) -> None:
    inspector, log = window.docks.inspector, window.docks.log
    page = window.page
    page.show_form()
    assert inspector.isHidden()
    assert log.isHidden()
    assert window.context.actions.reason("view.log") == "the form has no log"
    page.show_run()
    assert inspector.isVisible()
    assert log.isVisible()
    page.show_form()
    window._show_problems()
    assert log.isVisible()


@pytest.mark.usefixtures("run_shown")
def test_docks_have_the_measures_of_the_design_and_come_back(qtbot: QtBot, window: MainWindow) -> None:
    docks = window.docks
    for size, side, below in (((1280, 800), 304, 136), ((1920, 1080), 360, 232)):
        window.resize(*size)
        expected = (side, below)
        qtbot.waitUntil(partial(has_sizes, docks, expected))
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks.inspector)
    docks.log.setFloating(True)
    docks.log.set_folded(True)
    window.context.actions.trigger("view.reset")
    assert window.dockWidgetArea(docks.inspector) == Qt.DockWidgetArea.RightDockWidgetArea
    assert not docks.log.isFloating()
    assert not docks.log.folded
    qtbot.waitUntil(lambda: docks.inspector.width() == 360)


@pytest.mark.usefixtures("run_shown")
def test_the_log_keeps_its_lines_in_the_smallest_window(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: window.docks.log.height() == 136)
    window.resize(960, 600)
    qtbot.waitUntil(lambda: window.height() == 600)
    qtbot.wait(50)
    assert window.docks.log.height() == 136
    assert window.page.height() >= 350


@pytest.mark.usefixtures("run_shown")
def test_the_inspector_never_gets_too_narrow_to_be_read(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1280, 800)
    qtbot.waitUntil(partial(has_sizes, window.docks, (304, 136)))
    window.resizeDocks([window.docks.inspector], [60], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: window.docks.inspector.width() == INSPECTOR_LEAST_PX)


@pytest.mark.usefixtures("run_shown")
def test_the_inspector_gives_way_in_a_narrow_window(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1000, 700)
    qtbot.waitUntil(window.docks.inspector.isHidden)
    window.context.actions.trigger("view.inspector")
    assert window.docks.inspector.isVisible()
    window.resize(1280, 800)
    qtbot.waitUntil(window.docks.inspector.isVisible)


@pytest.mark.usefixtures("run_shown")
def test_the_log_folds_down_to_its_tabs(qtbot: QtBot, window: MainWindow) -> None:
    log = window.docks.log
    qtbot.waitUntil(lambda: log.height() == 136)
    window.context.actions.trigger("view.log")
    qtbot.waitUntil(lambda: log.height() <= 34)
    assert log.findChildren(QTabBar)[0].isVisible()
    window.context.actions.trigger("view.log")
    qtbot.waitUntil(lambda: log.height() == 136)


def test_theme_switches_at_run_time_and_is_kept(qtbot: QtBot, window: MainWindow) -> None:
    before = window.grab().toImage()
    QTest.keyClick(
        window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert window.context.theme.theme.name == "light"
    assert window.grab().toImage() != before
    qtbot.waitUntil(window.context.settings.path.exists)
    assert saved(window)["theme"] == "light"


def test_a_job_shows_its_state_on_every_page(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    bar = window.top_bar
    assert bar._launch.isVisible()
    assert not bar._stop.isVisible()
    assert window.status.texts == ("No job", "", "GPUs not known", "No problems")
    attach(qtbot, window, make_run("<b>mini</b> & co", "running"))
    for name in ("home", "run"):
        window.navigate(name)
        assert bar._stop.isVisible()
        assert bar._capture.isVisible()
        assert not bar._launch.isVisible()
        assert bar._pill.text == "Running"
        assert window.status.texts[0] == "<b>mini</b> & co running"
        assert window.status.texts[1].endswith("of 2 ranks alive")
    window.context.actions.trigger("run.detach")
    assert bar._launch.isVisible()
    assert window.status.texts[0] == "No job"


def test_the_palette_runs_actions_and_finds_runs(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("minillm 735M")
    window.context.recent.refresh()
    qtbot.waitUntil(lambda: bool(window.context.recent.rows))
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window.palette_box
    assert palette.isVisible()
    field = palette.findChildren(QLineEdit)[0]
    QTest.keyClicks(field, "show run")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert window.page.NAME == "run"
    window.open_palette()
    QTest.keyClicks(field, "735")
    assert palette.shown_texts == ["minillm 735M"]
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.context.session.folder == folder)


def test_everything_that_takes_the_keyboard_has_a_name(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    attach(qtbot, window, make_run("tiny"))
    for name in ("run", "home"):
        window.navigate(name)
        for kind in (QAbstractButton, QLineEdit, QComboBox, QAbstractItemView, QTabBar):
            for widget in window.findChildren(kind):
                inner = isinstance(widget.parentWidget(), QComboBox) or widget.objectName().startswith("qt_")
                if inner or widget.focusPolicy() == Qt.FocusPolicy.NoFocus or not widget.isVisible():
                    continue
                named = widget.accessibleName() or (isinstance(widget, QAbstractButton) and widget.text())
                assert named, f"{type(widget).__name__} in {type(widget.parentWidget()).__name__} on {name}"


def test_tab_goes_around_the_whole_window(qtbot: QtBot, window: MainWindow) -> None:
    window.activateWindow()
    window.setFocus()
    seen: list[str] = []
    for _ in range(60):
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        focused = window.focusWidget()
        assert focused is not None
        name = focused.accessibleName() or getattr(focused, "text", str)()
        if seen and name == seen[0]:
            break
        seen.append(name.strip())
    for wanted in (
        "Menu",
        "Search or run a command",
        "Home page",
        "Settings",
        "Launch on 4 CPU ranks",
        "Open file",
        "Recent: All",
        "Check again",
        "No problems",
    ):
        assert any(wanted in name or name in wanted for name in seen if name), (wanted, seen)


def test_dialogs_of_the_menu_open_and_close(qtbot: QtBot, window: MainWindow) -> None:
    for action in ("app.settings", "help.shortcuts", "help.about"):
        window.context.actions.trigger(action)
        dialog = next(each for each in window.findChildren(QDialog) if each.isVisible())
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: not any(each.isVisible() for each in window.findChildren(QDialog)))


def test_a_bug_in_a_slot_is_shown_and_the_window_goes_on(qtbot: QtBot, window: MainWindow) -> None:
    window.context.tasks.crashed.emit(ZeroDivisionError("boom"))
    assert window._crash is not None
    assert "ZeroDivisionError: boom" in window._crash.text
    window.report_bug(KeyError("again"))
    assert len([each for each in window.findChildren(QDialog) if each.isVisible()]) == 1
    window._crash.close()
    window.navigate("run")
    assert window.page.NAME == "run"


def test_closing_without_a_job_saves_and_ends(
    qtbot: QtBot, theme: ThemeController, tasks: Tasks, store: RunStore
) -> None:
    window = MainWindow(theme, tasks, Settings.load(), store)
    # The offscreen screen is 800 x 800: a higher window would be fitted to it.
    window.resize(960, 640)
    with qtbot.waitExposed(window):
        window.show()
    window.navigate("run")
    window.close()
    assert not window.isVisible()
    assert saved(window)["page"] == "run"
    again = MainWindow(theme, tasks, Settings.load(), store)
    assert (again.width(), again.height()) == (960, 640)
    for each in (window, again):
        each.close_now(save=False)
        each.deleteLater()


def test_closing_while_a_job_trains_asks_first(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    """Case G05."""
    folder = make_run("tiny", "running")
    attach(qtbot, window, folder)
    window.close()
    window.close()
    [question] = [each for each in window.findChildren(Question) if each.isVisible()]
    assert window.isVisible()
    press(question, "Cancel")
    assert window.isVisible()
    qtbot.waitUntil(lambda: not window.findChildren(Question))
    window.close()
    [question] = window.findChildren(Question)
    QTest.keyClick(question, Qt.Key.Key_Return)
    assert not window.isVisible()
    assert folder.control_path.read_bytes() == b""


def test_closing_can_stop_the_job(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    attach(qtbot, window, folder)
    window.close()
    [question] = window.findChildren(Question)
    press(question, "Stop the run")
    qtbot.waitUntil(lambda: not window.isVisible())
    [record] = [json.loads(line) for line in folder.control_path.read_bytes().splitlines() if line]
    assert (record["kind"], record["now"]) == ("stop", False)


def test_a_job_that_ends_answers_the_question_itself(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    attach(qtbot, window, folder)
    window.close()
    assert window.isVisible()
    write_manifest(folder.path, replace(folder.read(), status="done", ended_ns=time.time_ns()))
    qtbot.waitUntil(lambda: not window.isVisible())


class HeldLaunch:
    """A launch whose check of the interpreter waits for ``go``; its run is ``folder``."""

    def __init__(self, folder: RunFolder, error: DashboardError | None = None) -> None:
        self.go = threading.Event()
        self.started: list[JobSpec] = []
        self._folder, self._error = folder, error

    def run_preflight(self, _spec: JobSpec, **_options: object) -> Preflight:
        assert self.go.wait(10)
        if self._error is not None:
            raise self._error
        return Preflight(python="3.11", torch="2.13.0", cuda=None, nccl=None, gloo=True, gpu_count=0)

    def launch(self, spec: JobSpec, *_: object, **_options: object) -> RunFolder:
        self.started.append(spec)
        return self._folder


@pytest.fixture
def hold_launch(
    monkeypatch: pytest.MonkeyPatch, window: MainWindow, make_run: Callable[..., RunFolder]
) -> Iterator[Callable[..., HeldLaunch]]:
    held: list[HeldLaunch] = []

    def hold(error: DashboardError | None = None) -> HeldLaunch:
        held.append(HeldLaunch(make_run("tiny", "running"), error))
        monkeypatch.setattr("core.launch.preflight.run_preflight", held[-1].run_preflight)
        monkeypatch.setattr("core.launch.client.launch", held[-1].launch)
        window.launch_demo()
        return held[-1]

    yield hold
    for each in held:
        each.go.set()


def test_closing_while_a_job_is_launched_can_wait_for_it(
    qtbot: QtBot, window: MainWindow, hold_launch: Callable[..., HeldLaunch]
) -> None:
    held = hold_launch()
    window.close()
    [question] = window.findChildren(Question)
    press(question, "Close when it runs")
    assert window.isVisible()
    held.go.set()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert len(held.started) == 1


def test_closing_while_a_job_is_launched_can_give_it_up(
    window: MainWindow, hold_launch: Callable[..., HeldLaunch]
) -> None:
    hold_launch()
    window.close()
    assert window.isVisible()
    [question] = window.findChildren(Question)
    press(question, "Give the launch up")
    assert not window.isVisible()


def test_a_launch_that_fails_keeps_the_window_that_was_to_close(
    qtbot: QtBot, window: MainWindow, hold_launch: Callable[..., HeldLaunch]
) -> None:
    held = hold_launch(DashboardError("PyTorch is not installed for x.", "Install it."))
    window.close()
    [question] = window.findChildren(Question)
    press(question, "Close when it runs")
    with qtbot.waitSignal(window.context.session.failed):
        held.go.set()
    assert window.isVisible()
    assert held.started == []


def test_a_second_job_is_launched_beside_the_first(
    qtbot: QtBot,
    window: MainWindow,
    make_run: Callable[..., RunFolder],
    hold_launch: Callable[..., HeldLaunch],
) -> None:
    """Case L05: the first goes on and is reached from Recent."""
    first = make_run("first", "running")
    attach(qtbot, window, first)
    assert window.context.actions.action("run.launch").isEnabled()
    held = hold_launch()
    held.go.set()
    session = window.context.session
    qtbot.waitUntil(lambda: session.folder is not None and session.folder.path != first.path)
    assert first.control_path.read_bytes() == b""
    qtbot.waitUntil(lambda: first.path in {row.path for row in window.context.recent.rows})
    window.context.open_path(first.path)
    qtbot.waitUntil(lambda: session.folder is not None and session.folder.path == first.path)
    qtbot.waitUntil(lambda: session.running)


def test_settings_that_cannot_be_written_do_not_hold_the_window(
    qtbot: QtBot, window: MainWindow, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    window.context.settings.path = tmp_path / "file" / FILE_NAME
    window.close()
    assert not window.isVisible()
    assert "cannot be used" in capsys.readouterr().err
