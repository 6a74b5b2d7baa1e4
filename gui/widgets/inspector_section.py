"""A part of an inspector: heading, contents one below the other, and a line below all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from gui.theme import Theme, ThemeController


class InspectorSection(QWidget):
    """One part; an empty title has no heading."""

    def __init__(self, theme: ThemeController, title: str, *contents: QWidget) -> None:
        super().__init__()
        self._theme = theme
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 9, 12, 11)
        layout.setSpacing(6)
        self._heading = plain_label(title)
        set_kind(self._heading, kind="heading")
        self._heading.setVisible(bool(title))
        layout.addWidget(self._heading)
        for content in contents:
            layout.addWidget(content)
        theme.changed.connect(self._redraw)

    @property
    def title(self) -> str:
        """What its contents are of."""
        return self._heading.text()

    def set_title(self, title: str) -> None:
        """Says what its contents are of."""
        self._heading.setText(title)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the line."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.theme.color("border"))
        painter.end()

    def _redraw(self, _theme: Theme) -> None:
        self.update()
