"""How the cells of a result table are drawn: swatch and name, share as bar then number, the 2 px mark.

Everything is painted here and not by the style sheet: a frame of 40 rows has
400 cells, and a sheet takes a millisecond for every 20 of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from core.units import NOT_MEASURED
from gui.models.result_model import NO_NAME
from gui.widgets.category_swatch import SWATCH_PX, category_swatch
from gui.widgets.row_delegate import MARK_PX, ROW_PX

if TYPE_CHECKING:
    from PySide6.QtWidgets import QTableView

    from gui.models.result_model import ResultModel
    from gui.theme import Theme, ThemeController

Index = QModelIndex | QPersistentModelIndex

# As the style sheet pads the sections of a header, so that each stands over its cells.
PAD_PX: Final = 11
EDGE_PAD_PX: Final = 15
SWATCH_ROOM_PX: Final = SWATCH_PX + 8
BAR_PX: Final = 40
BAR_GAP_PX: Final = 6
_BAR_HEIGHT_PX = 8
_KEPT_CUTS = 8_192

_QUIET: Final = (NOT_MEASURED, NO_NAME)
_SELECTED: Final = QStyle.StateFlag.State_Selected
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)


class ResultDelegate(QStyledItemDelegate):
    """Draws a ``ResultModel``."""

    def __init__(self, theme: ThemeController, model: ResultModel, view: QTableView) -> None:
        super().__init__(view)
        self._model = model
        self._view = view
        self._category_column = -1
        self._first_column = 0
        self._swatch_column = -1
        self._numeric: tuple[bool, ...] = ()
        self._loud: tuple[bool, ...] = ()
        self._with_bar: tuple[bool, ...] = ()
        self._cuts: dict[tuple[str, int], str] = {}
        self._swatches: dict[tuple[str, float], QPixmap] = {}
        theme.changed.connect(self._set_theme)
        self._set_theme(theme.theme)

    def set_columns(self, *, first: int, category: int) -> None:
        """Says which column stands leftmost, and which one holds the category (-1 for none)."""
        self._first_column = first
        self._category_column = category
        name = self._model.name_column
        self._numeric = tuple(display.numeric for display in self._model.displays)
        self._loud = tuple(numeric or place == name for place, numeric in enumerate(self._numeric))
        self._with_bar = tuple(map(self._model.has_bar, range(len(self._numeric))))
        self._swatch_column = name if category >= 0 else -1

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """The height of a row, and the text of a cell with its paddings."""
        text = self._model.cell(index.row(), index.column())
        return QSize(self.cell_width_px(text, index.column()), ROW_PX)

    def cell_width_px(self, text: str, column: int) -> int:
        """How wide a column must be to show a text whole."""
        width = self._metrics.horizontalAdvance(text) + 2 * PAD_PX + 2
        if self._model.has_bar(column):
            width = self._number_px + BAR_PX + BAR_GAP_PX + 2 * PAD_PX
        return width + (SWATCH_ROOM_PX if column == self._swatch_column else 0)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draws one cell. Called 400 times a frame: nothing is asked or built here that can be kept."""
        rect: QRect = option.rect
        left, top, width, height = rect.x(), rect.y(), rect.width(), rect.height()
        place, column = index.row(), index.column()
        first = column == self._first_column
        if option.state & _SELECTED:
            painter.fillRect(left, top, width, height, self._selection)
            if first:
                painter.fillRect(left, top, MARK_PX, height, self._accent)
        painter.fillRect(left, top + height - 1, width, 1, self._border)
        room = width - PAD_PX - (EDGE_PAD_PX if first else PAD_PX)
        left += EDGE_PAD_PX if first else PAD_PX
        if column == self._swatch_column:
            self._draw_swatch(painter, left, top, height, place)
            left += SWATCH_ROOM_PX
            room -= SWATCH_ROOM_PX
        elif self._with_bar[column]:
            self._draw_bar(painter, QRect(left, top, room, height), self._model.share(place, column))
        text = self._model.cell(place, column)
        quiet = not self._loud[column] or text in _QUIET
        painter.setFont(self._font)
        painter.setPen(self._text2 if quiet else self._text)
        if not self._numeric[column] or (len(text) + 1) * self._digit_px > room:
            text = self._cut(text, room)
        painter.drawText(left, top, room, height, _RIGHT if self._numeric[column] else _LEFT, text)

    def helpEvent(  # noqa: N802
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        """Says nothing that the cell already says whole."""
        if event.type() == QEvent.Type.ToolTip and index.isValid():
            column = index.column()
            text = self._model.cell(index.row(), column)
            fits = self.cell_width_px(text, column) + EDGE_PAD_PX - PAD_PX <= option.rect.width()
            said = fits and text == self._model.full_text(index.row(), column)
            if text != NOT_MEASURED and (said or self._numeric[column]):
                QToolTip.hideText()
                return True
        return super().helpEvent(event, view, option, index)

    def _cut(self, text: str, width: int) -> str:
        key = (text, width)
        cut = self._cuts.get(key)
        if cut is None:
            if len(self._cuts) >= _KEPT_CUTS:
                self._cuts.clear()
            cut = self._cuts[key] = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        return cut

    def _draw_swatch(self, painter: QPainter, left: int, top: int, height: int, place: int) -> None:
        category = self._model.value(place, self._category_column)
        if not isinstance(category, str) or not category:
            return
        ratio = self._view.devicePixelRatioF()
        key = (category, ratio)
        if key not in self._swatches:
            self._swatches[key] = category_swatch(self._theme, category, ratio)
        painter.drawPixmap(left, top + (height - SWATCH_PX) // 2, self._swatches[key])

    def _draw_bar(self, painter: QPainter, room: QRect, share: float | None) -> None:
        if not share:
            return
        right = room.right() + 1 - self._number_px - BAR_GAP_PX
        # What is not zero has a bar that can be seen.
        width = max(1.0, share * min(BAR_PX, right - room.left()))
        top = room.top() + (room.height() - _BAR_HEIGHT_PX) / 2
        painter.fillRect(QRectF(right - width, top, width, _BAR_HEIGHT_PX), self._bar)

    def _set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font = theme.font(theme.px_table)
        self._metrics = QFontMetrics(self._font)
        self._digit_px = self._metrics.horizontalAdvance("0")
        self._number_px = self._metrics.horizontalAdvance("100.0\u00a0%")
        names = ("selection", "accent", "border", "text", "text2", "chart-axis")
        colors = (theme.color(name) for name in names)
        self._selection, self._accent, self._border, self._text, self._text2, self._bar = colors
        self._cuts.clear()
        self._swatches.clear()
        self._view.viewport().update()
