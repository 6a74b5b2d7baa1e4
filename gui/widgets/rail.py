"""The rail at the left: one entry a page, icon over word, and the settings below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QToolButton, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.theme import Theme, ThemeController

RAIL_PX = 64
ENTRY_PX = 50
ICON_PX = 18


class Rail(QWidget):
    """Chooses the page.

    Signals:
        page_chosen: Name of the page.
        settings_chosen: The entry at the bottom was pressed.
    """

    page_chosen = Signal(str)
    settings_chosen = Signal()

    def __init__(self, theme: ThemeController, entries: Sequence[tuple[str, str, str]]) -> None:
        """Args: ``entries`` holds (page name, word, icon) in the order shown."""
        super().__init__()
        self.setObjectName("rail")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(RAIL_PX)
        self.setAccessibleName("Pages")
        self._theme = theme
        self._icons: dict[QToolButton, str] = {}
        self._pages: dict[str, QToolButton] = {}
        self._group = QButtonGroup(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 6)
        layout.setSpacing(2)
        for name, word, icon in entries:
            button = self._entry(word, icon)
            button.setCheckable(True)
            button.setAccessibleName(f"{word} page")
            button.clicked.connect(lambda _=False, name=name: self.page_chosen.emit(name))
            button.toggled.connect(lambda _: self._draw(self._theme.theme))
            self._group.addButton(button)
            self._pages[name] = button
            layout.addWidget(button)
        layout.addStretch(1)
        settings = self._entry("Settings", "gear")
        settings.clicked.connect(self.settings_chosen)
        layout.addWidget(settings)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def set_current(self, name: str) -> None:
        """Marks the page that is shown."""
        self._pages[name].setChecked(True)

    def set_tip(self, name: str, tip: str) -> None:
        """Says on hover which shortcut leads to a page."""
        self._pages[name].setToolTip(tip)

    def _entry(self, word: str, icon: str) -> QToolButton:
        button = QToolButton()
        button.setText(word)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        button.setIconSize(QSize(ICON_PX, ICON_PX))
        button.setFixedHeight(ENTRY_PX)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._icons[button] = icon
        return button

    def _draw(self, theme: Theme) -> None:
        for button, icon in self._icons.items():
            current = button.isChecked()
            name, token = (f"{icon}-fill", "text") if current else (icon, "text2")
            button.setIcon(theme.icon(name, token, ICON_PX))
