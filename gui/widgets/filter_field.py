"""The field that filters the list or table below it, with the keys that lead from one to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

from gui.theme import set_kind

if TYPE_CHECKING:
    from gui.theme import Theme, ThemeController

FIELD_PX: Final = 220
_OWN_KEYS: Final = (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down)


class FilterField(QLineEdit):
    """Escape empties the field and then goes to the rows; Down and Enter go there at once.

    Signals:
        left: The field was left for the rows.
    """

    left = Signal()

    def __init__(self, theme: ThemeController, words: str, tip: str) -> None:
        """Args: ``words``: what the empty field says; ``tip``: what its words are held against."""
        super().__init__()
        self.setPlaceholderText(words)
        self.setAccessibleName(words)
        self.setToolTip(tip)
        self.setClearButtonEnabled(True)
        self.setFixedWidth(FIELD_PX)
        set_kind(self, size="small")
        self._funnel = self.addAction(theme.theme.icon("funnel"), QLineEdit.ActionPosition.LeadingPosition)
        theme.changed.connect(self._draw)

    def enter(self) -> None:
        """Puts the cursor into it."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    def event(self, event: QEvent) -> bool:
        """Keeps its keys from the shortcuts of the window."""
        if event.type() == QEvent.Type.ShortcutOverride and _is_own(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Empties or leaves the field."""
        if not _is_own(event):
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            self.left.emit()

    def _draw(self, theme: Theme) -> None:
        self._funnel.setIcon(theme.icon("funnel"))


def _is_own(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.key() in _OWN_KEYS
