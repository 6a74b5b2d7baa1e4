"""The widget that every plot with a pointer of its own is: it hands Qt's events to that pointer.

Draws nothing and knows nothing of what is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QWheelEvent

    from gui.plots.plot_pointer import PlotPointer


class PlotSurface(QWidget):
    """Passes Qt's events on, and knows whether the focus came by key and has to be shown."""

    _pointer: PlotPointer

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._focus_shown = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def event(self, event: QEvent) -> bool:
        """Keeps its keys from the window's shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and self._pointer.takes(event):  # type: ignore[arg-type]  # a QKeyEvent
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802  (Qt's name)
        """Zooms, moves, selects."""
        if not self._pointer.press_key(event):
            super().keyPressEvent(event)

    def zoom_by_key(self, notches: int) -> None:
        """Zooms in, or out with a negative number, as W and S do."""
        self._pointer.zoom_by(notches)

    def pan_by_key(self, notches: int) -> None:
        """Moves what is seen to the right, or to the left with a negative number, as D and A do."""
        self._pointer.pan_by(notches)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802  (Qt's name)
        """Shows the focus if it came by key."""
        by_key = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self._focus_shown = event.reason() in by_key
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802  (Qt's name)
        """Hides the focus."""
        super().focusOutEvent(event)
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802  (Qt's name)
        """Zooms, pans or scrolls."""
        self._pointer.turn_wheel(event)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802  (Qt's name)
        """May begin a drag."""
        self._pointer.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802  (Qt's name)
        """Drags or hovers."""
        self._pointer.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802  (Qt's name)
        """Ends a drag or clicks."""
        self._pointer.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802  (Qt's name)
        """Opens what is there."""
        self._pointer.double_click(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802  (Qt's name)
        """Hides what belongs to the pointer."""
        self._pointer.leave()
        super().leaveEvent(event)
