"""The rows of a result table as they are painted, and as keys and the pointer reach them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QEvent, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QTableView

if TYPE_CHECKING:
    from gui.models.result_model import ResultModel
    from gui.widgets.result_delegate import ResultDelegate


@dataclass(frozen=True, slots=True)
class MenuAsked:
    """Where a context menu is wanted.

    Attributes:
        place: Of the cell, -1 beside the rows.
        column: Of the cell.
        at: On the screen.
    """

    place: int
    column: int
    at: QPoint


class ResultView(QTableView):
    """Draws the rows whole, and says what keys and the pointer ask for.

    Signals:
        filter_asked: The key that goes to the filter field.
        copy_asked: Ctrl+C.
        menu_asked: ``MenuAsked``: a right click, or the menu key.
        resized: The room for columns has changed.
    """

    filter_asked = Signal()
    copy_asked = Signal()
    menu_asked = Signal(object)
    resized = Signal()

    def __init__(self, model: ResultModel) -> None:
        super().__init__()
        self._rows = model
        self._typed = ""
        self._since_typed = QElapsedTimer()
        self.setModel(model)

    def set_painter(self, delegate: ResultDelegate) -> None:
        """Says who draws the rows."""
        self._delegate = delegate
        self.setItemDelegate(delegate)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draws the rows and columns that are asked for."""
        area = event.rect()
        first, last = self.rowAt(area.top()), self.rowAt(area.bottom())
        cells = self._cells_between(area.left(), area.right())
        if first < 0 or not cells:
            return
        painter = QPainter(self.viewport())
        painter.setFont(self._delegate.font)
        chosen, root = self.selectionModel(), QModelIndex()
        some = chosen.hasSelection()
        for place in range(first, (last if last >= 0 else self._rows.rowCount() - 1) + 1):
            top = self.rowViewportPosition(place)
            selected = some and chosen.rowIntersectsSelection(place, root)
            self._delegate.paint_row(painter, place, top, cells, selected=selected)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Keeps the letters of a name that is being typed from the window's shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            letters = event.text()
            if letters and letters.isprintable() and self.is_typing:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """The filter, copy, and the first and the last row."""
        moves = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self._rows.rowCount() - 1}
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()
        elif event.key() == Qt.Key.Key_F10 and event.modifiers() == Qt.KeyboardModifier.ShiftModifier:
            # Qt knows the menu key, but not what stands for it on keyboards without one.
            self._ask_menu_by_key()
        elif event.text() == "/":
            self.filter_asked.emit()
        elif plain and event.key() in moves and self._rows.rowCount():
            self._go_to(moves[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:  # noqa: N802
        """Goes to the next name that begins with what was typed."""
        again = self.is_typing
        self._since_typed.restart()
        self._typed = self._typed + search if again else search
        current = self.currentIndex().row()
        place = self._rows.place_starting(self._typed, max(current, 0) if again else current + 1)
        if place >= 0:
            self._go_to(place)

    @property
    def is_typing(self) -> bool:
        """Whether a letter would go on with the name that is being typed."""
        interval_ms = QGuiApplication.styleHints().keyboardInputInterval()
        return self._since_typed.isValid() and self._since_typed.elapsed() < interval_ms

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802
        """Tells which cell is meant; for the key it is the current one, wherever the pointer is."""
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self._ask_menu_by_key()
            return
        index = self.indexAt(event.pos())
        self.menu_asked.emit(MenuAsked(index.row(), index.column(), event.globalPos()))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Lets the name column take what is there."""
        super().resizeEvent(event)
        self.resized.emit()

    def _cells_between(self, left: int, right: int) -> list[tuple[int, int, int]]:
        """Column, left edge and width of each shown column between two places, from left to right."""
        header = self.horizontalHeader()
        columns = [header.logicalIndex(visual) for visual in range(header.count())]
        cells = [
            (column, self.columnViewportPosition(column), self.columnWidth(column))
            for column in columns
            if not header.isSectionHidden(column)
        ]
        return [cell for cell in cells if cell[1] <= right and cell[1] + cell[2] > left]

    def _ask_menu_by_key(self) -> None:
        index = self.currentIndex()
        at = self.viewport().mapToGlobal(self.visualRect(index).bottomLeft())
        self.menu_asked.emit(MenuAsked(index.row(), index.column(), at))

    def _go_to(self, place: int) -> None:
        self.selectRow(place)
        self.scrollTo(self._rows.index(place, max(self._rows.name_column, 0)))
