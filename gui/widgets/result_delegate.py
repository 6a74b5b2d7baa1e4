"""How the cells of a result table are drawn: swatch and name, share as bar then number, the 2 px mark.

Rows are painted whole, by the view's own paint event, and not cell by cell through
the style sheet: a frame of 40 rows has 400 cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from core.units import NOT_MEASURED
from gui.models.result_model import NO_NAME
from gui.widgets.category_swatch import SWATCH_PX, category_swatch
from gui.widgets.row_delegate import MARK_PX, ROW_PX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
_ICON_PX: Final = 14
_ICON_ROOM_PX: Final = _ICON_PX + 6
_KEPT_CUTS = 8_192

_QUIET: Final = (NOT_MEASURED, NO_NAME)
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)

# A module lies at most so deep that its name still has room.
INDENT_PX: Final = 12
_MOST_INDENTS: Final = 12


class ResultDelegate(QStyledItemDelegate):
    """Draws a ``ResultModel``."""

    def __init__(self, theme: ThemeController, model: ResultModel, view: QTableView) -> None:
        super().__init__(view)
        self._model = model
        self._view = view
        self._category_column = -1
        self._first_column = 0
        self._swatch_column = -1
        self._name_column = -1
        self._numeric: tuple[bool, ...] = ()
        self._loud: tuple[bool, ...] = ()
        self._with_bar: tuple[bool, ...] = ()
        self._may_be_wrong: tuple[bool, ...] = ()
        self.icons: dict[str, Callable[[str], tuple[str, str] | None]] = {}
        """By the key of a column of texts: what gives a text's icon and its colour; set by who shows it."""
        self._icons: tuple[Callable[[str], tuple[str, str] | None] | None, ...] = ()
        self._cuts: dict[tuple[str, int], str] = {}
        self._swatches: dict[tuple[str, float], QPixmap] = {}
        theme.changed.connect(self._set_theme)
        self._set_theme(theme.theme)

    @property
    def font(self) -> QFont:
        """Font of all cells."""
        return self._font

    def set_columns(self, *, first: int, category: int) -> None:
        """Says which column stands leftmost, and which one holds the category (-1 for none)."""
        self._first_column = first
        self._category_column = category
        name = self._model.name_column
        self._numeric = tuple(display.numeric for display in self._model.displays)
        self._loud = tuple(numeric or place == name for place, numeric in enumerate(self._numeric))
        self._with_bar = tuple(map(self._model.has_bar, range(len(self._numeric))))
        table = self._model.table
        columns = () if table is None else table.columns
        self._may_be_wrong = tuple(column.wrong is not None for column in columns)
        self._icons = tuple(self.icons.get(column.key) for column in columns)
        self._swatch_column = name if category >= 0 else -1
        self._name_column = name

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """The height of a row, and the text of a cell with its paddings."""
        text = self._model.cell(index.row(), index.column())
        return QSize(self.cell_width_px(text, index.column()), ROW_PX)

    def cell_width_px(self, text: str, column: int) -> int:
        """How wide a column must be to show a text whole."""
        width = self._metrics.horizontalAdvance(text) + 2 * PAD_PX + 2
        if self._model.has_bar(column):
            width = self._number_px + BAR_PX + BAR_GAP_PX + 2 * PAD_PX
        has_icon = column < len(self._icons) and self._icons[column] is not None
        return width + (SWATCH_ROOM_PX if column == self._swatch_column else _ICON_ROOM_PX if has_icon else 0)

    def paint_row(
        self,
        painter: QPainter,
        place: int,
        top: int,
        cells: Sequence[tuple[int, int, int]],
        *,
        selected: bool,
    ) -> None:
        """Draws one row, 24 px high.

        Args:
            painter: Of the viewport, with ``font`` set.
            place: Of the row on the screen's order.
            top: Its upper edge.
            cells: Column, left edge and width of each cell, from left to right.
            selected: Whether it is selected.
        """
        left, right = cells[0][1], cells[-1][1] + cells[-1][2]
        if selected:
            painter.fillRect(left, top, right - left, ROW_PX, self._selection)
            if cells[0][0] == self._first_column:
                painter.fillRect(left, top, MARK_PX, ROW_PX, self._accent)
        painter.fillRect(left, top + ROW_PX - 1, right - left, 1, self._border)
        for column, x, width in cells:
            self._paint_cell(painter, place, column, x, top, width)

    def _paint_cell(  # noqa: PLR0913, PLR0917  (called 400 times a frame: nothing is built for it)
        self, painter: QPainter, place: int, column: int, left: int, top: int, width: int
    ) -> None:
        pad = EDGE_PAD_PX if column == self._first_column else PAD_PX
        left += pad
        room = width - pad - PAD_PX
        if column == self._swatch_column:
            self._draw_swatch(painter, left, top, place)
            left += SWATCH_ROOM_PX
            room -= SWATCH_ROOM_PX
        elif column == self._name_column:
            indent = min(self._model.depth(place), _MOST_INDENTS) * INDENT_PX
            left += indent
            room -= indent
        elif self._with_bar[column]:
            self._draw_bar(painter, left, top, room, self._model.share(place, column))
        text = self._model.cell(place, column)
        icon_of = self._icons[column]
        if icon_of is not None:
            self._draw_icon(painter, left, top, icon_of(text))
            left += _ICON_ROOM_PX
            room -= _ICON_ROOM_PX
        numeric = self._numeric[column]
        if not numeric or (len(text) + 1) * self._digit_px > room:
            text = self._cut(text, room)
        if self._may_be_wrong[column] and self._model.is_wrong(place, column):
            painter.setPen(self._error)
        else:
            painter.setPen(self._text if self._loud[column] and text not in _QUIET else self._text2)
        painter.drawText(left, top, room, ROW_PX, _RIGHT if numeric else _LEFT, text)

    def _draw_icon(self, painter: QPainter, left: int, top: int, icon: tuple[str, str] | None) -> None:
        if icon is not None:
            ratio = self._view.devicePixelRatioF()
            pixmap = self._theme.pixmap(*icon, _ICON_PX, ratio)
            painter.drawPixmap(left, top + (ROW_PX - _ICON_PX) // 2, pixmap)

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

    def _draw_swatch(self, painter: QPainter, left: int, top: int, place: int) -> None:
        category = self._model.value(place, self._category_column)
        if not isinstance(category, str) or not category:
            return
        ratio = self._view.devicePixelRatioF()
        key = (category, ratio)
        if key not in self._swatches:
            self._swatches[key] = category_swatch(self._theme, category, ratio)
        painter.drawPixmap(left, top + (ROW_PX - SWATCH_PX) // 2, self._swatches[key])

    def _draw_bar(self, painter: QPainter, left: int, top: int, room: int, share: float | None) -> None:
        if not share:
            return
        end = left + room - self._number_px - BAR_GAP_PX
        # What is not zero has a bar that can be seen.
        width = max(1.0, share * min(BAR_PX, end - left))
        painter.fillRect(
            QRectF(end - width, top + (ROW_PX - _BAR_HEIGHT_PX) / 2, width, _BAR_HEIGHT_PX), self._bar
        )

    def _set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font = theme.font(theme.px_table)
        self._metrics = QFontMetrics(self._font)
        self._digit_px = self._metrics.horizontalAdvance("0")
        self._number_px = self._metrics.horizontalAdvance("100.0\u00a0%")
        names = ("selection", "accent", "border", "text", "text2", "chart-axis", "error")
        colors = (theme.color(name) for name in names)
        self._selection, self._accent, self._border, self._text, self._text2, self._bar, self._error = colors
        self._cuts.clear()
        self._swatches.clear()
        self._view.viewport().update()
