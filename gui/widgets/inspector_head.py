"""The head of an inspector: what is selected, where it is, and a button that copies all that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.category_swatch import category_swatch
from gui.widgets.elided_label import ElidedLabel

if TYPE_CHECKING:
    from gui.theme import Theme, ThemeController


class InspectorHead(QWidget):
    """Names the selection in the dock's head.

    Signals:
        copy_asked: Everything shown should be copied.
    """

    copy_asked = Signal()

    def __init__(self, theme: ThemeController, name: str) -> None:
        """Args: ``name``: what it says until something is selected."""
        super().__init__()
        self._theme = theme
        self._category = ""
        self._swatch = QLabel()
        self._swatch.hide()
        self._name = plain_label(name)
        set_kind(self._name, kind="section")
        self._detail = ElidedLabel()
        set_kind(self._detail, kind="secondary")
        self.copy = QToolButton()
        self.copy.setToolTip("Copy all of this")
        self.copy.setAccessibleName("Copy all of this")
        self.copy.setIconSize(QSize(16, 16))
        self.copy.clicked.connect(self.copy_asked)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._swatch)
        row.addWidget(self._name)
        row.addWidget(self._detail)
        row.addStretch(1)
        row.addWidget(self.copy)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    @property
    def text(self) -> str:
        """Name and place of the selection."""
        return f"{self._name.text()} {self._detail.full_text}".strip()

    def show_words(self, name: str, detail: str = "", category: str = "") -> None:
        """Names something: ``name`` is short and stays whole; ``category`` gives it a swatch."""
        self._category = category
        self._name.setText(name)
        self._detail.set_full_text(detail)
        self._swatch.setVisible(bool(category))
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        self.copy.setIcon(theme.icon("copy"))
        if self._category:
            self._swatch.setPixmap(category_swatch(theme, self._category, self.devicePixelRatioF()))
