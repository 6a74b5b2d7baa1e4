"""Where the two docks are, how large, and when they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, QTimer

from gui.widgets.dock import InspectorDock, LogDock

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMainWindow

    from gui.theme import ThemeController

INSPECTOR_FROM_PX = 1100
WIDE_FROM_PX = 1700
INSPECTOR_PX, INSPECTOR_WIDE_PX = 304, 360
TALL_FROM_PX = 1000
LOG_PX, LOG_TALL_PX = 136, 232


class Docks(QObject):
    """Holds Inspector and log dock of a window.

    A dock is there if the page has something for it. The Inspector can be
    hidden by the user, and hides by itself in a narrow window.
    """

    def __init__(self, window: QMainWindow, theme: ThemeController, *, wants_inspector: bool) -> None:
        super().__init__(window)
        self._window = window
        self.inspector = InspectorDock()
        self.log = LogDock(theme)
        self._wants_inspector = wants_inspector
        self._has = (False, False)
        self._room = True
        self._size_class: tuple[bool, bool] | None = None
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self._place()
        self._arrange()

    @property
    def inspector_shown(self) -> bool:
        """Whether the Inspector is there."""
        return not self.inspector.isHidden()

    def show(self, *, inspector: bool, log: bool) -> None:
        """Tells which docks the page has something for."""
        self._has = (inspector, log)
        self._arrange()

    def toggle_inspector(self) -> bool:
        """Shows or hides the Inspector. Returns whether the user wants it now."""
        self._wants_inspector = not self.inspector_shown
        # Asked for in a narrow window, it comes nevertheless.
        self.inspector.setVisible(self._wants_inspector)
        return self._wants_inspector

    def toggle_log(self) -> None:
        """Folds the log down to its tabs, or unfolds it."""
        self.log.set_folded(not self.log.folded)

    def reset(self) -> None:
        """Puts both where they belong, in their usual sizes."""
        self._place()
        self._wants_inspector = True
        self.log.set_folded(False)
        self._arrange()
        self._size()

    def keep_sizes(self) -> None:
        """The sizes were restored: only a change of the window's class replaces them."""
        self._size_class = _class_of(self._window.size())

    def fit(self, size: QSize) -> None:
        """Follows the size of the window: narrow, usual or wide; usual or tall."""
        room = size.width() >= INSPECTOR_FROM_PX
        if room != self._room:
            self._room = room
            self._arrange()
        size_class = _class_of(size)
        if size_class != self._size_class:
            self._size_class = size_class
            # Qt lays docks out after the resize event.
            QTimer.singleShot(0, self, self._size)

    def _place(self) -> None:
        for dock, area in (
            (self.inspector, Qt.DockWidgetArea.RightDockWidgetArea),
            (self.log, Qt.DockWidgetArea.BottomDockWidgetArea),
        ):
            dock.setFloating(False)
            self._window.addDockWidget(area, dock)

    def _size(self) -> None:
        wide, tall = self._size_class or (False, False)
        side, below = INSPECTOR_WIDE_PX if wide else INSPECTOR_PX, LOG_TALL_PX if tall else LOG_PX
        self._window.resizeDocks([self.inspector], [side], Qt.Orientation.Horizontal)
        if not self.log.folded:
            self._window.resizeDocks([self.log], [below], Qt.Orientation.Vertical)

    def _arrange(self) -> None:
        has_inspector, has_log = self._has
        self.inspector.setVisible(has_inspector and self._wants_inspector and self._room)
        self.log.setVisible(has_log)


def _class_of(size: QSize) -> tuple[bool, bool]:
    return size.width() >= WIDE_FROM_PX, size.height() >= TALL_FROM_PX
