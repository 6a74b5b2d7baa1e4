"""A list of findings: an icon that tells how it is, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.plain_text import Paragraph, tip_text
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.theme import Theme, ThemeController

ICONS = {
    "ok": "check-circle",
    "warn": "warning",
    "error": "warning-octagon",
    "info": "info",
    "wait": "circle-dashed",
}
ICON_PX = 13


class CheckList(QWidget):
    """Replaces all its lines at once."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._findings: tuple[tuple[str, str, str], ...] = ()
        self._icons: list[QLabel] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(7)
        theme.changed.connect(self._draw)

    @property
    def findings(self) -> tuple[tuple[str, str, str], ...]:
        """What is shown."""
        return self._findings

    def set_findings(self, findings: Sequence[tuple[str, str, str]]) -> None:
        """Shows (level, words, what to do) a line; "info" and "wait" are grey."""
        if tuple(findings) == self._findings:
            return
        self._findings = tuple(findings)
        while item := self._layout.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._icons = []
        for level, words, hint in self._findings:
            self._layout.addWidget(self._line(level, words, hint))
        self._layout.addStretch(1)
        self._draw(self._theme.theme)

    def _line(self, level: str, words: str, hint: str) -> QWidget:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(7)
        icon = QLabel()
        icon.setFixedSize(ICON_PX, 14)
        self._icons.append(icon)
        text = Paragraph(f"{words.rstrip('.')}. {hint}" if hint else words)
        set_kind(text, kind="secondary" if level in ("info", "wait") else "table-text")
        line.setToolTip(tip_text(hint))
        row.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(text, 1)
        return line

    def _draw(self, theme: Theme) -> None:
        for icon, (level, _, _) in zip(self._icons, self._findings, strict=True):
            token = "text2" if level in ("info", "wait") else level
            icon.setPixmap(theme.pixmap(ICONS[level], token, ICON_PX, self.devicePixelRatioF()))
