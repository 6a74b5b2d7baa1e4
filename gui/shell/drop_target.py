"""Makes the whole window a drop target that says what a drop would do before it is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent

from core.files import printable
from gui.dropped_paths import paths_of
from gui.pages import PAGES
from gui.shell.opener import drop_words
from gui.widgets.drop_overlay import DropOverlay

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from core.files import FileDescription
    from gui.shell.opener import Opener


class DropTarget(QObject):
    """Filters the drag events of a window. Its children take no drops."""

    def __init__(self, window: QWidget, opener: Opener) -> None:
        super().__init__(window)
        self._window = window
        self._opener = opener
        self.overlay = DropOverlay(window)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Handles a drag from its entry to its end."""
        # A drop is a move to Qt, and an entry is one too: the most special comes first.
        if isinstance(event, QDragEnterEvent):
            return self._enter(event)
        if isinstance(event, QDragMoveEvent):
            _take(event)
            return True
        if isinstance(event, QDropEvent):
            self._end()
            _take(event)
            self._opener.open(paths_of(event.mimeData()))
            return True
        if event.type() == QEvent.Type.DragLeave:
            self._end()
            return True
        return False

    def _enter(self, event: QDragEnterEvent) -> bool:
        paths = paths_of(event.mimeData())
        if not paths:
            return False
        _take(event)
        self.overlay.show_over(self._window.size(), "Looking at it", printable(paths[0].name), "")
        self._opener.preview(paths[0], lambda description: self._show(description, len(paths) - 1))
        return True

    def _show(self, description: FileDescription, more: int) -> None:
        title = next((entry.title for entry in PAGES if entry.name == description.opens_on), None)
        self.overlay.show_over(self._window.size(), *drop_words(description, title, more))

    def _end(self) -> None:
        self._opener.drop_preview()
        self.overlay.hide()


def _take(event: QDropEvent) -> None:
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()
