"""How the cells of a result table are drawn: swatch and name, share as bar then number, the 2 px mark.

Everything is painted here and not by the style sheet: a frame of 40 rows has
400 cells, and a sheet takes a millisecond for every 20 of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
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

PAD_PX: Final = 8
EDGE_PAD_PX: Final = 12
SWATCH_ROOM_PX: Final = SWATCH_PX + 8
BAR_PX: Final = 40
BAR_GAP_PX: Final = 6
_BAR_HEIGHT_PX = 8
_KEPT_CUTS = 8_192

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
        self._cuts: dict[tuple[str, int], str] = {}
        self._swatches: dict[tuple[str, float], QPixmap] = {}
        theme.changed.connect(self._set_theme)
        self._set_theme(theme.theme)

    def set_columns(self, *, first: int, category: int) -> None:
        """Says which column stands leftmost, and which one holds the category (-1 for none)."""
        self._first_column = first
        self._category_column = category

    @property
    def number_width_px(self) -> int:
        """Room for the number of a share: the bars of all rows end at one place."""
        return self._number_px

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """The height of a row, and the text of a cell with its paddings."""
        text = self._model.cell(index.row(), index.column())
        return QSize(self.cell_width_px(text, index.column()), ROW_PX)

    def cell_width_px(self, text: str, column: int) -> int:
        """How wide a column must be to show a text whole."""
        width = self._metrics.horizontalAdvance(text) + 2 * PAD_PX + 2
        if self._model.has_bar(column):
            width = self._number_px + BAR_PX + BAR_GAP_PX + 2 * PAD_PX
        return width + (SWATCH_ROOM_PX if self._has_swatch(column) else 0)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draws one cell."""
        rect: QRect = option.rect
        place, column = index.row(), index.column()
        text = self._model.cell(place, column)
        if option.state & _SELECTED:
            painter.fillRect(rect, self._selection)
            if column == self._first_column:
                painter.fillRect(rect.left(), rect.top(), MARK_PX, rect.height(), self._accent)
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, self._border)
        left = rect.left() + (EDGE_PAD_PX if column == self._first_column else PAD_PX)
        room = QRect(left, rect.top(), rect.right() + 1 - PAD_PX - left, rect.height())
        numeric = self._model.displays[column].numeric
        if self._has_swatch(column):
            self._draw_swatch(painter, room, place)
            room.setLeft(room.left() + SWATCH_ROOM_PX)
        elif self._model.has_bar(column):
            self._draw_bar(painter, room, self._model.share(place, column))
        self._draw_text(
            painter, room, text, numeric=numeric, loud=numeric or column == self._model.name_column
        )

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
            if fits and text != NOT_MEASURED and not self._model.displays[column].numeric:
                QToolTip.hideText()
                return True
        return super().helpEvent(event, view, option, index)

    def _has_swatch(self, column: int) -> bool:
        return self._category_column >= 0 and column == self._model.name_column

    def _draw_text(self, painter: QPainter, room: QRect, text: str, *, numeric: bool, loud: bool) -> None:
        quiet = not loud or text in (NOT_MEASURED, NO_NAME)
        painter.setFont(self._font)
        painter.setPen(self._text2 if quiet else self._text)
        painter.drawText(room, _RIGHT if numeric else _LEFT, self._cut(text, room.width()))

    def _cut(self, text: str, width: int) -> str:
        key = (text, width)
        cut = self._cuts.get(key)
        if cut is None:
            if len(self._cuts) >= _KEPT_CUTS:
                self._cuts.clear()
            cut = self._cuts[key] = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        return cut

    def _draw_swatch(self, painter: QPainter, room: QRect, place: int) -> None:
        category = self._model.value(place, self._category_column)
        if not isinstance(category, str) or not category:
            return
        ratio = self._view.devicePixelRatioF()
        key = (category, ratio)
        if key not in self._swatches:
            self._swatches[key] = category_swatch(self._theme, category, ratio)
        top = room.top() + (room.height() - SWATCH_PX) / 2
        painter.drawPixmap(QPointF(room.left(), top), self._swatches[key])

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
        self._number_px = self._metrics.horizontalAdvance("100.0\u00a0%")
        names = ("selection", "accent", "border", "text", "text2", "chart-axis")
        colors = (theme.color(name) for name in names)
        self._selection, self._accent, self._border, self._text, self._text2, self._bar = colors
        self._cuts.clear()
        self._swatches.clear()
        self._view.viewport().update()
