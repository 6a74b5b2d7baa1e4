"""A state as icon and word on its tint: never colour alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy

from gui.plain_text import plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from gui.theme import Theme, ThemeController

ICON_PX = 13


class Pill(QFrame):
    """Shows one state; 18 px high, 22 in bars."""

    def __init__(self, theme: ThemeController, *, height: int = 18) -> None:
        super().__init__()
        self._theme = theme
        self._shown = ("info", "", "none")
        self._icon = QLabel()
        self._icon.setFixedWidth(ICON_PX)
        self._word = plain_label()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(6, 0, 6, 0)
        layout.setSpacing(5)
        layout.addWidget(self._icon)
        layout.addWidget(self._word)
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        set_kind(self, kind="pill", level="none")
        theme.changed.connect(self._draw)

    @property
    def text(self) -> str:
        """The word that it shows."""
        return self._shown[1]

    def set_state(self, icon: str, text: str, level: str = "none") -> None:
        """Shows a state.

        Args:
            icon: Phosphor name.
            text: One or two words.
            level: "ok", "warn", "error", "info", or "none" for grey.
        """
        if (icon, text, level) == self._shown:
            return
        self._shown = (icon, text, level)
        self._word.setText(text)
        self.setAccessibleName(text)
        set_kind(self, kind="pill", level=level)
        # The labels' colour hangs on the pill's level: the sheet must look at them again.
        style = self.style()
        style.unpolish(self._word)
        style.polish(self._word)
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        icon, _, level = self._shown
        token = "text2" if level == "none" else level
        self._icon.setPixmap(theme.pixmap(icon, token, ICON_PX, self.devicePixelRatioF()))
