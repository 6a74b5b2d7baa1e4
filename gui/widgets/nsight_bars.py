"""Bars one below the other: label, track, value; a mark where the baseline stands.

Speed of light, stalls, limits of occupancy and the bar charts of sections are
all drawn by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.plain_text import tip_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent

    from gui.theme import Theme, ThemeController

Tone = Literal["sm", "memory", "plain"]

ROW_PX: Final = 25
BAR_PX: Final = 14
LABEL_PX: Final = 130
VALUE_PX: Final = 62
GAP_PX: Final = 10
INDENT_PX: Final = 14
MARK_PX: Final = 2
_PAD_PX: Final = 12
_MOST_LABEL: Final = 0.42
_PART_OPACITY: Final = 0.7
_RANKS: Final = {"sm": 0, "memory": 1, "plain": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One bar.

    Attributes:
        label: In front of it.
        value: Its length, on the scale of all; None is not measured.
        text: What is written behind it.
        baseline: Where the baseline stands on the same scale, None for nowhere.
        tone: Its colour.
        level: 1 is a part of the bar above it.
        tip: What more there is to say.
        warns: Whether it is marked: the smallest limit.
    """

    label: str
    value: float | None
    text: str
    baseline: float | None = None
    tone: Tone = "plain"
    level: int = 0
    tip: str = ""
    warns: bool = False


class BarRows(QWidget):
    """Draws rows; as high as they need."""

    def __init__(self, theme: ThemeController, name: str) -> None:
        """Args: ``name`` is for screen readers."""
        super().__init__()
        self._theme = theme
        self._name = name
        self._rows: tuple[BarRow, ...] = ()
        self._high = 100.0
        self._is_pct = True
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        theme.changed.connect(self._redraw)

    @property
    def rows(self) -> tuple[BarRow, ...]:
        """What is shown."""
        return self._rows

    @property
    def has_baseline(self) -> bool:
        """Whether a mark of the baseline is drawn."""
        return any(row.baseline is not None for row in self._rows)

    def set_rows(self, rows: Sequence[BarRow], *, high: float | None = None, is_pct: bool = False) -> None:
        """Shows other bars.

        Args:
            rows: From top to bottom.
            high: Where the scale ends; None is at the largest value.
            is_pct: Whether quarters of the scale are ticked.
        """
        self._rows = tuple(rows)
        values = [each for row in rows for each in (row.value, row.baseline) if each is not None]
        largest = max((value for value in values if math.isfinite(value)), default=0.0)
        self._high = max(high or 0.0, largest) or 1.0
        self._is_pct = is_pct
        said = "; ".join(f"{row.label} {row.text}" for row in self._rows)
        self.setAccessibleName(f"{self._name}: {said}")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """As high as the rows and the legend."""
        return QSize(360, self._height_px())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Narrow, but with all rows."""
        return QSize(240, self._height_px())

    def _height_px(self) -> int:
        return ROW_PX * (len(self._rows) + (1 if self.has_baseline else 0))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws all rows: there are few."""
        theme = self._theme.theme
        painter = QPainter(self)
        font = theme.font(theme.px_table)
        painter.setFont(font)
        metrics = QFontMetrics(font)
        left, right = self._track(metrics)
        for place, row in enumerate(self._rows):
            self._paint_row(painter, theme, metrics, row, place * ROW_PX, left, right)
        if self.has_baseline:
            self._paint_legend(painter, theme, left)
        painter.end()

    def _track(self, metrics: QFontMetrics) -> tuple[float, float]:
        """Left and right end of the tracks."""
        labels = [
            metrics.horizontalAdvance(row.label) + _PAD_PX + row.level * INDENT_PX for row in self._rows
        ]
        values = [metrics.horizontalAdvance(row.text) for row in self._rows]
        label = min(max([LABEL_PX, *labels]), int(self.width() * _MOST_LABEL))
        value = max([VALUE_PX, *values])
        left = float(_PAD_PX + label)
        return left, max(left + 20, self.width() - _PAD_PX - value - GAP_PX)

    def _paint_row(  # noqa: PLR0913, PLR0917  (private, of one loop)
        self,
        painter: QPainter,
        theme: Theme,
        metrics: QFontMetrics,
        row: BarRow,
        top: int,
        left: float,
        right: float,
    ) -> None:
        indent = row.level * INDENT_PX
        painter.setPen(theme.color("text2" if row.level else "text"))
        room = int(left) - _PAD_PX - indent - 8
        label = metrics.elidedText(row.label, Qt.TextElideMode.ElideRight, room)
        line = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(_PAD_PX + indent, top, room, ROW_PX, line | Qt.AlignmentFlag.AlignLeft, label)
        track = QRectF(left, top + (ROW_PX - BAR_PX) / 2, right - left, BAR_PX)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("surface3"))
        painter.drawRoundedRect(track, 2, 2)
        if row.value is not None and row.value > 0:
            share = min(row.value / self._high, 1.0)
            painter.setBrush(self._color(theme, row))
            # What is not zero has a bar that can be seen.
            painter.drawRoundedRect(
                QRectF(track.left(), track.top(), max(2.0, track.width() * share), BAR_PX), 2, 2
            )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        self._paint_ticks(painter, theme, track)
        if row.baseline is not None:
            x = track.left() + track.width() * min(max(row.baseline / self._high, 0.0), 1.0)
            painter.fillRect(QRectF(x - MARK_PX / 2, track.top(), MARK_PX, BAR_PX), theme.color("chart-mark"))
        measured = row.value is not None
        painter.setPen(theme.color("warn" if row.warns else "text" if measured else "text2"))
        box = QRectF(right + GAP_PX, top, self.width() - _PAD_PX - right - GAP_PX, ROW_PX)
        painter.drawText(box, int(line | Qt.AlignmentFlag.AlignRight), row.text)

    def _paint_ticks(self, painter: QPainter, theme: Theme, track: QRectF) -> None:
        if not self._is_pct:
            return
        for quarter in (25, 50, 75):
            x = track.left() + track.width() * quarter / self._high
            if x < track.right():
                painter.fillRect(QRectF(round(x), track.top(), 1, BAR_PX), theme.color("chart-bg"))

    def _paint_legend(self, painter: QPainter, theme: Theme, left: float) -> None:
        top = len(self._rows) * ROW_PX
        painter.fillRect(QRectF(left + 4, top + 8, MARK_PX, 10), theme.color("chart-mark"))
        painter.setFont(theme.font(theme.px_small))
        painter.setPen(theme.color("text2"))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRectF(left + 16, top, 200, ROW_PX), int(flags), "baseline")

    def _color(self, theme: Theme, row: BarRow) -> QColor:
        color = QColor(theme.rank_color(_RANKS[row.tone]))
        if row.level:
            color.setAlphaF(_PART_OPACITY)
        return color

    def event(self, event: QEvent) -> bool:
        """Says what a bar is of."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = event.pos().y() // ROW_PX
            if 0 <= place < len(self._rows):
                row = self._rows[place]
                QToolTip.showText(
                    event.globalPos(), tip_text(f"{row.label}: {row.text}\n{row.tip}".strip()), self
                )
                return True
            QToolTip.hideText()
        return super().event(event)

    def _redraw(self, _theme: Theme) -> None:
        self.update()
