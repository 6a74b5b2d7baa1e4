"""One registry: shortcuts are unique, reasons reach tooltips, menus and triggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QKeySequence, Qt
from PySide6.QtWidgets import QMenu, QWidget

from gui.actions import MENUS, ActionRegistry, ActionSpec, shortcut_text

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow


@pytest.fixture
def registry(qtbot: QtBot) -> ActionRegistry:
    owner = QWidget()
    qtbot.addWidget(owner)
    return ActionRegistry(owner)


def test_a_reason_disables_and_is_told(registry: ActionRegistry) -> None:
    done: list[str] = []
    reason: list[str | None] = ["no run is going on"]
    spec = ActionSpec(
        id="run.stop",
        text="Stop the run",
        run=lambda: done.append("stop"),
        shortcut="Ctrl+.",
        enabled=lambda: reason[0],
    )
    action = registry.add(spec)
    assert not action.isEnabled()
    assert action.toolTip() == "Stop the run (Ctrl+.)\nNo run is going on"
    assert registry.trigger("run.stop") is False
    reason[0] = None
    registry.refresh()
    assert action.isEnabled()
    action.trigger()
    assert done == ["stop"]


def test_ids_and_shortcuts_are_taken_once(registry: ActionRegistry) -> None:
    registry.add(ActionSpec(id="a", text="A", run=lambda: None, shortcut="Ctrl+K; Ctrl+P"))
    for wrong in (
        ActionSpec(id="a", text="B", run=lambda: None),
        ActionSpec(id="b", text="B", run=lambda: None, shortcut="Ctrl+P"),
        ActionSpec(id="c", text="C", run=lambda: None, menu="Elsewhere"),
        ActionSpec(id="d", text="D", run=lambda: None, shortcut="Ctrl+NoSuchKey"),
    ):
        with pytest.raises(ValueError, match=r"."):
            registry.add(wrong)


def test_markup_in_a_reason_is_shown_as_it_is(registry: ActionRegistry) -> None:
    """Case G14."""
    spec = ActionSpec(id="a", text="Stop", run=lambda: None, enabled=lambda: "<b>job</b> is not yours")
    tip = registry.add(spec).toolTip()
    assert "job" in tip
    assert "&lt;b&gt;" in tip or not Qt.mightBeRichText(tip)


def test_a_switch_shows_its_state(registry: ActionRegistry) -> None:
    state = [False]

    def switch() -> None:
        state[0] = not state[0]

    spec = ActionSpec(id="a", text="Fold", run=switch, checked=lambda: state[0])
    action = registry.add(spec)
    action.trigger()
    assert action.isChecked()
    registry.trigger("a")
    assert not action.isChecked()


def test_every_action_of_the_window_has_a_menu_or_is_one(window: MainWindow) -> None:
    registry = window.context.actions
    menu = QMenu()
    registry.fill_menu(menu)
    titles = [action.text() for action in menu.actions()]
    assert titles == list(MENUS)
    assert [spec.id for spec in registry.specs if not spec.menu] == ["help.menu"]
    for page in {spec.page for spec in registry.specs}:
        specs = [spec for spec in registry.specs if spec.page in ("", page)]
        keys = [keys for spec in specs for keys in registry.action(spec.id).shortcuts()]
        assert len({key.toString() for key in keys}) == len(keys), page
    assert shortcut_text(next(spec for spec in registry.specs if spec.id == "view.palette")) == QKeySequence(
        "Ctrl+K"
    ).toString(QKeySequence.SequenceFormat.NativeText)
    menu.deleteLater()


def test_only_actions_of_different_pages_share_a_shortcut(registry: ActionRegistry) -> None:
    def spec(name: str, page: str) -> ActionSpec:
        return ActionSpec(id=name, text=name, run=lambda: None, shortcut="Ctrl+W", page=page)

    registry.add(spec("one", "trace"))
    registry.add(spec("other", "nsight"))
    for page in ("trace", ""):
        with pytest.raises(ValueError, match=r"Ctrl\+W"):
            registry.add(spec("third", page))
