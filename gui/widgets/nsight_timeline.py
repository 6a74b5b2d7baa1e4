"""Metrics sampled while a launch ran, in rows of one unit, on one axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.analyses.report_view.words import value_text
from core.units import format_duration_ns
from gui.plain_text import tip_text
from gui.plots.ticks import linear_ticks
from gui.widgets.nsight_plot import series_pen

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from core.analyses.report_view.parts import TimelinePart, TimelineRow
    from gui.theme import Theme, ThemeController

ROW_PX: Final = 34
AXIS_PX: Final = 24
_LABEL_PX: Final = 190
_VALUE_PX: Final = 92
_MOST_VALUE_PX: Final = 140
_PAD_PX: Final = 12
_VALUE_GAP_PX: Final = 6 + _PAD_PX
_FILL_OPACITY: Final = 0.25
_LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)


def label_lines(label: str, metrics: QFontMetrics, room_px: int) -> tuple[str, ...]:
    """A label in one line, or in two where one is too short; what is left over goes from its middle."""
    words = label.split()
    lines = [label]
    if metrics.horizontalAdvance(label) > room_px:
        # As many words as fit; of a single long word there is nothing to break.
        heads = (count for count in range(len(words) - 1, 0, -1))
        fits = (count for count in heads if metrics.horizontalAdvance(" ".join(words[:count])) <= room_px)
        first = next(fits, 0)
        lines = [" ".join(part) for part in (words[:first], words[first:]) if part]
    return tuple(
        line
        if metrics.horizontalAdvance(line) <= room_px
        else metrics.elidedText(line, Qt.TextElideMode.ElideMiddle, room_px)
        for line in lines
    )


class TimelineChart(QWidget):
    """Draws the rows; each has its own scale from 0 to its largest value, at its end."""

    def __init__(self, theme: ThemeController, part: TimelinePart) -> None:
        super().__init__()
        self._theme = theme
        self.part = part
        self._span_ns = max(part.last_ns - part.first_ns, 1)
        self._largest = [value_text(row.largest, row.unit) if row.series else "" for row in part.rows]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        said = ", ".join(row.label for row in part.rows)
        self.setAccessibleName(f"{part.label or 'Timeline'}: {said}")
        theme.changed.connect(self._redraw)

    def sizeHint(self) -> QSize:  # noqa: N802
        """All rows and the axis."""
        return QSize(420, ROW_PX * len(self.part.rows) + AXIS_PX)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """All rows, narrower."""
        return QSize(300, ROW_PX * len(self.part.rows) + AXIS_PX)

    def _area(self) -> tuple[float, float]:
        label = min(_LABEL_PX, self.width() * 0.3)
        return label, self.width() - self._value_px()

    def _value_px(self) -> int:
        """Width of the column of largest values, so that units are whole."""
        theme = self._theme.theme
        metrics = QFontMetrics(theme.font(theme.px_small))
        # Advances are rounded: what is a fraction wider would be cut.
        widths = [metrics.horizontalAdvance(words) + 2 for words in self._largest if words]
        return min(max([_VALUE_PX, *(width + _VALUE_GAP_PX for width in widths)]), _MOST_VALUE_PX)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws all rows."""
        theme = self._theme.theme
        painter = QPainter(self)
        painter.setFont(theme.font(theme.px_small))
        left, right = self._area()
        for place, row in enumerate(self.part.rows):
            self._paint_row(painter, theme, row, place, left, right)
        self._paint_axis(painter, theme, left, right)
        painter.end()

    def _paint_row(  # noqa: PLR0913, PLR0917  (private, of one loop)
        self, painter: QPainter, theme: Theme, row: TimelineRow, place: int, left: float, right: float
    ) -> None:
        top = place * ROW_PX
        metrics = QFontMetrics(painter.font())
        painter.setPen(theme.color("text"))
        room = int(left) - _PAD_PX - 8
        label = "\n".join(label_lines(row.label, metrics, room))
        painter.drawText(_PAD_PX, top, room, ROW_PX, _LEFT, label)
        painter.setPen(theme.color("text2"))
        note = "" if row.series else row.note or "n/a"
        largest = row.largest or 1.0
        if note:
            shown = metrics.elidedText(note, Qt.TextElideMode.ElideRight, int(right - left))
            painter.drawText(QRectF(left, top, right - left, ROW_PX), _LEFT, shown)
        else:
            box = QRectF(right + 6, top, self.width() - right - _VALUE_GAP_PX, ROW_PX)
            words = metrics.elidedText(self._largest[place], Qt.TextElideMode.ElideRight, int(box.width()))
            painter.drawText(box, _RIGHT, words)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for number, _ in enumerate(row.series):
                self._paint_series(
                    painter, theme, row, number, QRectF(left, top + 3, right - left, ROW_PX - 6), largest
                )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.fillRect(QRectF(0, top + ROW_PX - 1, self.width(), 1), theme.color("border"))

    def _paint_series(  # noqa: PLR0913, PLR0917  (private, of one loop)
        self, painter: QPainter, theme: Theme, row: TimelineRow, number: int, box: QRectF, largest: float
    ) -> None:
        series = row.series[number]
        known = np.isfinite(series.values)
        if not known.any():
            return
        xs = box.left() + box.width() * (series.times_ns[known] - self.part.first_ns) / self._span_ns
        ys = box.bottom() - box.height() * series.values[known] / largest
        points = [QPointF(x, y) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
        if number == 0:
            fill = QColor(theme.rank_color(0))
            fill.setAlphaF(_FILL_OPACITY)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(fill)
            foot = [QPointF(points[-1].x(), box.bottom()), QPointF(points[0].x(), box.bottom())]
            painter.drawPolygon(QPolygonF([*points, *foot]))
            painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(series_pen(theme, number))
        painter.drawPolyline(QPolygonF(points))

    def _paint_axis(self, painter: QPainter, theme: Theme, left: float, right: float) -> None:
        top = ROW_PX * len(self.part.rows)
        first_us, last_us = self.part.first_ns / 1e3, (self.part.first_ns + self._span_ns) / 1e3
        per_us = (right - left) / (last_us - first_us)
        painter.setPen(QPen(theme.color("text2")))
        for tick in linear_ticks(first_us, last_us, max(2.0, (right - left) / 90)).major:
            x = left + (tick.position - first_us) * per_us
            painter.fillRect(QRectF(x, top, 1, 4), theme.color("chart-axis"))
            painter.drawText(QRectF(x - 50, top + 5, 100, 16), int(Qt.AlignmentFlag.AlignHCenter), tick.label)
        painter.drawText(QRectF(right + 6, top + 3, _VALUE_PX, 16), _LEFT, "\N{MICRO SIGN}s")
        end_ns = self.part.launch_end_ns
        for moment_ns in (0, end_ns) if end_ns is not None else ():
            x = left + (moment_ns / 1e3 - first_us) * per_us
            if left <= x <= right:
                painter.setPen(QPen(theme.color("chart-mark"), 1, Qt.PenStyle.DotLine))
                painter.drawLine(QPointF(x, 0), QPointF(x, top))

    def event(self, event: QEvent) -> bool:
        """Says the values at the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            tip = self.tip_at(event.pos().x(), event.pos().y())
            if tip:
                QToolTip.showText(event.globalPos(), tip_text(tip), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def tip_at(self, x: float, y: float) -> str:
        """The samples nearest to a place, or what a row is beside them; "" where there is neither."""
        left, right = self._area()
        place = int(y) // ROW_PX
        if not 0 <= place < len(self.part.rows):
            return ""
        row = self.part.rows[place]
        if not left <= x <= right:
            largest = self._largest[place]
            return f"{row.label}\nLargest: {largest}" if largest else row.label
        at_ns = self.part.first_ns + (x - left) / (right - left) * self._span_ns
        lines = [row.label]
        for series in row.series:
            if len(series.times_ns):
                nearest = int(np.argmin(np.abs(series.times_ns - at_ns)))
                value = value_text(float(series.values[nearest]), series.unit)
                when = format_duration_ns(int(series.times_ns[nearest]))
                lines.append(f"{series.label or series.metric}: {value} at {when}")
        return "\n".join(lines)

    def _redraw(self, _theme: Theme) -> None:
        self.update()
