"""A push button for an action of the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPushButton

from gui.plain_text import control_text
from gui.theme import set_kind

if TYPE_CHECKING:
    from PySide6.QtGui import QAction


class ActionButton(QPushButton):
    """A push button that shows an action: its icon, tooltip and whether it can be used."""

    def __init__(
        self, action: QAction, text: str | None = None, *, primary: bool = False, icon: bool = True
    ) -> None:
        """Args: ``text`` stands in for the action's own words."""
        super().__init__()
        self._has_icon = icon
        self._action = action
        self._text = text
        if primary:
            set_kind(self, kind="primary")
        self.setIconSize(QSize(16, 16))
        self.clicked.connect(lambda _=False: action.trigger())
        action.changed.connect(self._sync)
        self._sync()

    def set_text(self, text: str | None) -> None:
        """Shows other words than the action's; None is the action's."""
        self._text = text
        self._sync()

    def _sync(self) -> None:
        text = self._action.text() if self._text is None else self._text
        # Qt puts icon and text too close together.
        self.setText(f" {control_text(text)}" if self._has_icon else control_text(text))
        if self._has_icon:
            self.setIcon(self._action.icon())
        self.setToolTip(self._action.toolTip())
        self.setEnabled(self._action.isEnabled())
        self.setAccessibleName(text)
