"""Small tables of a section, drawn whole: label left, numbers right, differences to the baseline behind them.

There are dozens of them in a report and all their rows are in sight, so they are
painted, not built of cells. What they hold can be copied and exported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QToolTip, QWidget

from gui.plain_text import tip_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent, QResizeEvent

    from gui.theme import Theme, ThemeController

ROW_PX: Final = 24
HEADER_PX: Final = 26
SCROLLBAR_PX: Final = 10
_PAD_PX: Final = 12
_LEAST_LABEL_PX: Final = 90
_MOST_TITLE_PX: Final = 96
_LEAST_NUMBER_PX: Final = 54
_DIFFERENCE_GAP_PX: Final = 10
_LINE = Qt.AlignmentFlag.AlignVCenter
_LEFT = int(_LINE | Qt.AlignmentFlag.AlignLeft)
_RIGHT = int(_LINE | Qt.AlignmentFlag.AlignRight)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """One cell.

    Attributes:
        text: What it says.
        difference: Against the baseline, signed; "" for nothing.
        tip: What more there is to say.
        is_missing: Whether it says that nothing was measured.
    """

    text: str
    difference: str = ""
    tip: str = ""
    is_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumn:
    """One column; labels stand left and take the room by their weights, numbers right."""

    title: str
    is_label: bool = False
    weight: int = 1


class GridTable(QWidget):
    """Draws a table; as high as its rows, as wide as there is room, never narrower than its numbers."""

    def __init__(
        self,
        theme: ThemeController,
        name: str,
        columns: Sequence[GridColumn],
        rows: Sequence[Sequence[GridCell | None]],
    ) -> None:
        """Args: ``name`` is for screen readers; the others as in the part that is shown."""
        super().__init__()
        self._theme = theme
        self.columns = tuple(columns)
        self.rows = tuple(tuple(row) for row in rows)
        self._widths: tuple[int, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{name}: {self._spoken()}")
        theme.changed.connect(self._restyle)
        self._measure()

    @property
    def has_header(self) -> bool:
        """Whether any column has a title."""
        return any(column.title for column in self.columns)

    def _spoken(self) -> str:
        lines = [", ".join(cell.text for cell in row if cell is not None) for row in self.rows[:20]]
        return "; ".join(lines)

    def _measure(self) -> None:
        theme = self._theme.theme
        self._font, self._small = theme.font(theme.px_table), theme.font(theme.px_small)
        self._metrics, self._small_metrics = QFontMetrics(self._font), QFontMetrics(self._small)
        self._difference_px = tuple(
            max((self._small_px(row[place]) for row in self.rows), default=0)
            for place in range(len(self.columns))
        )
        self._least = tuple(self._least_px(place) for place in range(len(self.columns)))
        self._lay_out()
        self.updateGeometry()

    def _least_px(self, place: int) -> int:
        column = self.columns[place]
        texts = [self._cell_px(row[place]) for row in self.rows]
        title = self._small_metrics.horizontalAdvance(column.title)
        if column.is_label:
            return min(max([title, *texts]), _LEAST_LABEL_PX) + 2 * _PAD_PX
        number = max([_LEAST_NUMBER_PX, *texts]) + self._difference_px[place]
        return max(min(title, _MOST_TITLE_PX), number) + 2 * _PAD_PX

    def _cell_px(self, cell: GridCell | None) -> int:
        if cell is None:
            return 0
        # An advance is rounded: a pixel less, and the last word is cut.
        return self._metrics.horizontalAdvance(cell.text) + 2

    def _small_px(self, cell: GridCell | None) -> int:
        """Room for the difference behind a number, and for the gap between them."""
        if cell is None or not cell.difference:
            return 0
        return self._small_metrics.horizontalAdvance(cell.difference) + _DIFFERENCE_GAP_PX

    def _lay_out(self) -> None:
        """Gives the room that numbers leave to the labels."""
        room = self.width() - sum(self._least)
        labels = [place for place, column in enumerate(self.columns) if column.is_label]
        takers = labels or list(range(len(self.columns)))
        whole = sum(self.columns[place].weight for place in takers)
        widths = list(self._least)
        for place in takers:
            share = room * self.columns[place].weight // whole
            if share > 0:
                widths[place] += share
                room -= share
            whole -= self.columns[place].weight
        self._widths = tuple(widths)

    def sizeHint(self) -> QSize:  # noqa: N802
        """All rows."""
        return QSize(max(sum(self._least), 240), self._height_px())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """All rows, and all numbers."""
        return QSize(sum(self._least), self._height_px())

    def _height_px(self) -> int:
        return (HEADER_PX if self.has_header else 0) + ROW_PX * len(self.rows)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Shares the room anew."""
        super().resizeEvent(event)
        self._lay_out()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draws what is in sight."""
        theme = self._theme.theme
        painter = QPainter(self)
        top = 0
        if self.has_header:
            self._paint_header(painter, theme)
            top = HEADER_PX
        border = theme.color("border")
        area = event.rect()
        for row in self.rows:
            if top + ROW_PX > area.top() and top < area.bottom() + 1:
                self._paint_row(painter, theme, row, top)
                painter.fillRect(0, top + ROW_PX - 1, self.width(), 1, border)
            top += ROW_PX
        painter.end()

    def _paint_header(self, painter: QPainter, theme: Theme) -> None:
        painter.setFont(self._small)
        painter.setPen(theme.color("text2"))
        x = 0
        for column, width in zip(self.columns, self._widths, strict=True):
            room = width - 2 * _PAD_PX
            text = self._small_metrics.elidedText(column.title, Qt.TextElideMode.ElideRight, room)
            flags = _LEFT if column.is_label else _RIGHT
            painter.drawText(x + _PAD_PX, 0, room, HEADER_PX, flags, text)
            x += width
        painter.fillRect(0, HEADER_PX - 1, self.width(), 1, theme.color("border"))

    def _paint_row(self, painter: QPainter, theme: Theme, row: Sequence[GridCell | None], top: int) -> None:
        x = 0
        for place, (width, cell) in enumerate(zip(self._widths, row, strict=True)):
            if cell is not None:
                box = QRect(x + _PAD_PX, top, width - 2 * _PAD_PX, ROW_PX)
                self._paint_cell(painter, theme, cell, box, place)
            x += width

    def _paint_cell(self, painter: QPainter, theme: Theme, cell: GridCell, box: QRect, place: int) -> None:
        if cell.difference:
            painter.setFont(self._small)
            painter.setPen(theme.color("text2"))
            painter.drawText(box, _RIGHT, cell.difference)
        # Differences have a column of their own, so that numbers stand below each other.
        room = box.width() - self._difference_px[place]
        painter.setFont(self._font)
        painter.setPen(theme.color("text2" if cell.is_missing else "text"))
        text = self._metrics.elidedText(cell.text, Qt.TextElideMode.ElideRight, room)
        inner = QRect(box.left(), box.top(), room, box.height())
        painter.drawText(inner, _LEFT if self.columns[place].is_label else _RIGHT, text)

    def event(self, event: QEvent) -> bool:
        """Says what a cell is, and the whole of what was cut."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            tip = self.tip_at(event.pos())
            if tip:
                QToolTip.showText(event.globalPos(), tip_text(tip), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def tip_at(self, at: QPoint) -> str:
        """What is said of a place, "" for nothing."""
        x = 0
        place = -1
        for number, width in enumerate(self._widths):
            if x <= at.x() < x + width:
                place = number
            x += width
        if place < 0:
            return ""
        above = HEADER_PX if self.has_header else 0
        if at.y() < above:
            return self.columns[place].title
        line = (at.y() - above) // ROW_PX
        cell = self.rows[line][place] if line < len(self.rows) else None
        return (
            "" if cell is None else "\n".join(part for part in (cell.text, cell.difference, cell.tip) if part)
        )

    def _restyle(self, _theme: Theme) -> None:
        self._measure()
        self.update()


class WideArea(QScrollArea):
    """Holds a table; scrolls sideways where its numbers have no room, never downwards."""

    def __init__(self, table: QWidget) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._table = table
        self.setWidget(table)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Makes room for the bar where there is one."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        hint = self._table.minimumSizeHint()
        bar = SCROLLBAR_PX if hint.width() > self.width() else 0
        self.setFixedHeight(hint.height() + bar)
