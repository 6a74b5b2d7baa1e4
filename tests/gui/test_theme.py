"""Two palettes, one sheet: they load without a warning, switch, and reach widgets."""

from __future__ import annotations

import gc
import re
from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from gui.actions import ActionRegistry
from gui.theme import THEME_FOLDER, load_theme, palette_of, set_kind, style_sheet_of

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent
    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.theme import Theme, ThemeController, ThemeName

THEMES: tuple[ThemeName, ...] = ("dark", "light")


@pytest.mark.parametrize("name", THEMES)
def test_the_sheet_is_filled_in_whole(qapp: QApplication, name: ThemeName) -> None:
    sheet = style_sheet_of(load_theme(name))
    assert "$" not in sheet
    assert set(re.findall(r"theme:([\w.-]+)", sheet)) <= {path.name for path in THEME_FOLDER.iterdir()}
    other = style_sheet_of(load_theme("dark" if name == "light" else "light"))
    assert sheet != other


def test_switching_reaches_palette_sheet_and_listeners(theme: ThemeController, qapp: QApplication) -> None:
    told: list[Theme] = []
    theme.changed.connect(told.append)
    dark = qapp.palette().color(QPalette.ColorRole.Window)
    theme.set_theme("light")
    assert [theme.name for theme in told] == ["light"]
    assert qapp.palette().color(QPalette.ColorRole.Window) != dark
    assert qapp.palette().color(QPalette.ColorRole.Window).name().upper() == theme.theme.tokens["surface1"]
    theme.set_theme("light")
    assert len(told) == 1


def test_the_systems_choice_is_followed_until_the_user_chooses(theme: ThemeController) -> None:
    theme.set_theme("system")
    assert theme.choice == "system"
    assert theme.theme.name in THEMES
    theme.set_theme("light")
    theme._follow_system()
    assert theme.theme.name == "light"


def test_disabled_text_has_the_disabled_colour(theme: ThemeController) -> None:
    palette = palette_of(theme.theme)
    group, role = QPalette.ColorGroup.Disabled, QPalette.ColorRole
    colours = {palette.color(group, each).name() for each in (role.WindowText, role.Text, role.ButtonText)}
    assert colours == {theme.theme.color("disabled").name()}


def test_figures_are_tabular_and_an_x_stays_an_x(theme: ThemeController) -> None:
    for font in (theme.theme.font(), theme.theme.font(mono=True)):
        assert font.featureValue(QFont.Tag("tnum")) == 1
        assert font.featureValue(QFont.Tag("calt")) == 0
        assert font.pixelSize() >= 11


def test_ranks_repeat_their_colours_after_eight_and_four_are_dashed(theme: ThemeController) -> None:
    shown = theme.theme
    assert shown.rank_color(9) == shown.rank_color(1)
    assert [shown.rank_dashed(rank) for rank in range(9)] == [False] * 4 + [True] * 4 + [False]
    assert len({shown.rank_color(rank).name() for rank in range(8)}) == 8


def test_every_icon_of_an_action_exists_and_is_drawn(window: MainWindow) -> None:
    registry: ActionRegistry = window.context.actions
    for spec in registry.specs:
        icon = registry.action(spec.id).icon()
        assert not icon.isNull(), spec.id
        image = icon.pixmap(16, 16).toImage()
        drawn = any(image.pixelColor(x, y).alpha() for x in range(16) for y in range(16))
        assert drawn, f"{spec.id}: {spec.icon} is blank"


def test_a_kind_changes_how_a_widget_looks(qtbot: QtBot, theme: ThemeController) -> None:
    button = QPushButton("Launch")
    qtbot.addWidget(button)
    button.show()
    plain = button.grab().toImage()
    set_kind(button, kind="primary")
    assert button.grab().toImage() != plain
    height = button.sizeHint().height()
    set_kind(button, size="small")
    assert button.sizeHint().height() < height
    label = QLabel("n/a")
    qtbot.addWidget(label)
    set_kind(label, kind="secondary")
    set_kind(label, kind=None)
    assert label.property("kind") is None


def test_no_garbage_is_collected_while_qt_goes_through_its_widgets(
    theme: ThemeController, qtbot: QtBot
) -> None:
    seen = []

    class Watcher(QWidget):
        def changeEvent(self, event: QEvent) -> None:  # noqa: N802  (Qt's name)
            seen.append(gc.isenabled())
            super().changeEvent(event)

    watcher = Watcher()
    qtbot.addWidget(watcher)
    watcher.show()
    seen.clear()
    theme.set_theme("light" if theme.theme.name == "dark" else "dark")
    assert seen
    assert not any(seen)
    assert gc.isenabled()
