"""Charts of a section, drawn whole by a painter: the frame with its axes, and lines over one axis.

They are small, still, and many; they show what the report says and are saved
with it. The live charts of a run and the roofline page have plots of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.analyses.report_view.words import value_text
from gui.plain_text import tip_text
from gui.plots.ticks import Tick, linear_ticks, log_ticks

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from core.analyses.report_view.parts import Axis, LinePart
    from gui.theme import Theme, ThemeController

LINE_CHART_PX: Final = 190
_LEAST_PX: Final = 180
_TOP_PX: Final = 8
_BOTTOM_PX: Final = 36
_RIGHT_PX: Final = 14
_TICK_PX: Final = 4
_LEGEND_PX: Final = 18
_X_SPACING_PX: Final = 70
_Y_SPACING_PX: Final = 34
MOST_LINES: Final = 8
"""More lines than colours are not told apart."""
_ELIDE = Qt.TextElideMode.ElideRight
_CENTRE = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
_RIGHT_MIDDLE = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT_MIDDLE = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class Plot(QWidget):
    """A frame with two axes. What is inside is drawn by ``paint_inside``."""

    def __init__(self, theme: ThemeController, name: str, height_px: int) -> None:
        """Args: ``name`` is for screen readers."""
        super().__init__()
        self._theme = theme
        self._height = height_px
        self.x_range = (0.0, 1.0)
        self.y_range = (0.0, 1.0)
        self.x_title = ""
        self.y_title = ""
        self.is_log = False
        self.legend_px = 0
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._redraw)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Of its own height."""
        return QSize(320, self._height)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Still to be read."""
        return QSize(_LEAST_PX, self._height)

    @property
    def theme(self) -> Theme:
        """The colours that it is drawn in."""
        return self._theme.theme

    def x_ticks(self, count: float) -> tuple[Tick, ...]:
        """Where the axis of categories has words."""
        low, high = self.x_range
        return (log_ticks(low, high, count) if self.is_log else linear_ticks(low, high, count)).major

    def y_ticks(self, count: float) -> tuple[Tick, ...]:
        """Where the axis of values has words."""
        low, high = self.y_range
        return (log_ticks(low, high, count) if self.is_log else linear_ticks(low, high, count)).major

    def paint_inside(self, painter: QPainter, area: QRectF) -> None:
        """Draws the content; ``area`` is inside the axes."""

    def tip_at(self, x: float) -> str:
        """What is said of a place on the axis of categories, "" for nothing."""
        del x
        return ""

    def x_px(self, area: QRectF, value: float) -> float:
        """Where a value lies, in pixels."""
        low, high = self.x_range
        return area.left() + area.width() * (value - low) / (high - low)

    def y_px(self, area: QRectF, value: float) -> float:
        """Where a value lies, in pixels."""
        low, high = self.y_range
        return area.bottom() - area.height() * (value - low) / (high - low)

    def area(self) -> QRectF:
        """The room inside the axes."""
        metrics = QFontMetrics(self.theme.font(self.theme.px_small))
        height = self.height() - _TOP_PX - _BOTTOM_PX - self.legend_px
        ticks = self.y_ticks(max(2.0, height / _Y_SPACING_PX))
        labels = max((metrics.horizontalAdvance(tick.label) for tick in ticks), default=0)
        left = labels + 12 + (metrics.height() + 4 if self.y_title else 0)
        return QRectF(
            left, _TOP_PX + self.legend_px, max(20.0, self.width() - left - _RIGHT_PX), max(20.0, height)
        )

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws grid, axes and content."""
        theme, area = self.theme, self.area()
        painter = QPainter(self)
        painter.setFont(theme.font(theme.px_small))
        self._paint_axes(painter, theme, area)
        painter.save()
        painter.setClipRect(area.adjusted(-1, -1, 1, 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint_inside(painter, area)
        painter.restore()
        painter.end()

    def _paint_axes(self, painter: QPainter, theme: Theme, area: QRectF) -> None:
        grid, axis = theme.color("chart-grid"), theme.color("chart-axis")
        for tick in self.y_ticks(max(2.0, area.height() / _Y_SPACING_PX)):
            y = round(self.y_px(area, tick.position))
            painter.fillRect(QRectF(area.left(), y, area.width(), 1), grid)
            painter.setPen(theme.color("text2"))
            painter.drawText(QRectF(0, y - 8, area.left() - 6, 16), _RIGHT_MIDDLE, tick.label)
        for tick in self.x_ticks(max(2.0, area.width() / _X_SPACING_PX)):
            x = round(self.x_px(area, tick.position))
            if self.is_log:
                painter.fillRect(QRectF(x, area.top(), 1, area.height()), grid)
            painter.fillRect(QRectF(x, area.bottom(), 1, _TICK_PX), axis)
            painter.setPen(theme.color("text2"))
            # The last one would reach out of sight.
            half = painter.fontMetrics().horizontalAdvance(tick.label) / 2 + 1
            middle = min(x, self.width() - half)
            painter.drawText(QRectF(middle - 60, area.bottom() + 5, 120, 14), _CENTRE, tick.label)
        painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), axis)
        painter.setPen(theme.color("text2"))
        title = painter.fontMetrics().elidedText(self.x_title, _ELIDE, int(area.width()))
        painter.drawText(QRectF(area.left(), area.bottom() + 20, area.width(), 14), _CENTRE, title)
        if self.y_title:
            title = painter.fontMetrics().elidedText(self.y_title, _ELIDE, int(area.height()))
            painter.save()
            painter.translate(0, area.bottom())
            painter.rotate(-90)
            painter.drawText(QRectF(0, 0, area.height(), 14), _CENTRE, title)
            painter.restore()

    def event(self, event: QEvent) -> bool:
        """Says what stands under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            area = self.area()
            low, high = self.x_range
            x = low + (event.pos().x() - area.left()) / area.width() * (high - low)
            tip = self.tip_at(x) if low <= x <= high else ""
            if tip:
                QToolTip.showText(event.globalPos(), tip_text(tip), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def _redraw(self, _theme: Theme) -> None:
        self.update()


class LineChart(Plot):
    """Lines over one axis, with the launch's own place marked."""

    def __init__(self, theme: ThemeController, part: LinePart) -> None:
        super().__init__(theme, part.label or "Line chart", LINE_CHART_PX)
        self.part = part
        series = [line for line in part.series if len(line.xs)][:MOST_LINES]
        self._series = series
        self.x_range = axis_range(part.category, [line.xs for line in series], zero=False)
        self.y_range = axis_range(part.value, [line.ys for line in series], zero=True)
        self.x_title, self.y_title = axis_title(part.category), axis_title(part.value)
        self.legend_px = _LEGEND_PX if len(series) > 1 else 0

    def paint_inside(self, painter: QPainter, area: QRectF) -> None:
        """Draws the lines, then the marks."""
        theme = self.theme
        for number, line in enumerate(self._series):
            painter.setPen(series_pen(theme, number))
            points = [
                QPointF(self.x_px(area, x), self.y_px(area, y))
                for x, y in zip(line.xs.tolist(), line.ys.tolist(), strict=True)
            ]
            painter.drawPolyline(QPolygonF(points))
            if len(points) == 1:
                painter.drawEllipse(points[0], 3, 3)
        for mark in self.part.highlighted:
            self._paint_mark(painter, theme, area, mark.x, mark.label)
        if self.legend_px:
            painter.setClipping(False)
            paint_legend(painter, theme, area, [line.label for line in self._series])

    def _paint_mark(self, painter: QPainter, theme: Theme, area: QRectF, at: float, label: str) -> None:
        x = self.x_px(area, at)
        painter.setPen(QPen(theme.color("chart-mark"), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        for line in self._series[:1]:
            y = float(np.interp(at, line.xs, line.ys))
            painter.setPen(QPen(theme.color("chart-bg"), 1))
            painter.setBrush(theme.color("chart-mark"))
            painter.drawEllipse(QPointF(x, self.y_px(area, y)), 4, 4)
            painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.color("text"))
        words = f"{label} {value_text(at, self.part.category.unit)}".strip()
        width = painter.fontMetrics().horizontalAdvance(words) + 4
        box = QRectF(mark_left(area, x, width), area.bottom() - 18, width, 16)
        painter.fillRect(box, theme.color("chart-bg"))
        painter.drawText(box, _LEFT_MIDDLE, words)

    def tip_at(self, x: float) -> str:
        """The nearest measured place and its values."""
        lines = []
        for line in self._series:
            at = int(np.argmin(np.abs(line.xs - x)))
            name = line.label or self.part.value.label or "Value"
            value = value_text(float(line.ys[at]), self.part.value.unit)
            lines.append(f"{name}: {value} at {value_text(float(line.xs[at]), self.part.category.unit)}")
        return "\n".join(lines)


def mark_left(area: QRectF, x: float, width: float) -> float:
    """Where the words of a mark at ``x`` begin: beside it, else as near as the frame lets them be whole."""
    if x + 6 + width <= area.right():
        return x + 6
    if x - 6 - width >= area.left():
        return x - 6 - width
    return max(area.right() - width, area.left())


def axis_range(axis: Axis, values: list[np.ndarray], *, zero: bool) -> tuple[float, float]:
    """The ends of an axis: as the report says, else what its values need."""
    known = [each[np.isfinite(each)] for each in values]
    every = np.concatenate([each for each in known if len(each)]) if any(map(len, known)) else np.zeros(1)
    low = axis.low if axis.low is not None else min(float(every.min()), 0.0) if zero else float(every.min())
    high = float(every.max()) * (1.06 if zero else 1.0)
    if axis.high is not None:
        high = max(axis.high, float(every.max()))
    return (low, high) if high > low else (low, low + 1.0)


def axis_title(axis: Axis) -> str:
    """Label and unit of an axis."""
    return f"{axis.label}, {axis.unit}" if axis.label and axis.unit else axis.label or axis.unit


def series_pen(theme: Theme, number: int) -> QPen:
    """How one of several lines is drawn."""
    pen = QPen(theme.rank_color(number), 1.5)
    if theme.rank_dashed(number):
        pen.setDashPattern([6, 3])
    return pen


def paint_legend(painter: QPainter, theme: Theme, area: QRectF, names: list[str]) -> None:
    """Names the lines above the frame, as far as there is room."""
    x = area.left()
    for number, name in enumerate(names):
        width = painter.fontMetrics().horizontalAdvance(name) + 30
        if x + width > area.right() + _RIGHT_PX:
            break
        painter.setPen(series_pen(theme, number))
        y = area.top() - _LEGEND_PX / 2 - 1
        painter.drawLine(QPointF(x, y), QPointF(x + 14, y))
        painter.setPen(theme.color("text2"))
        painter.drawText(QRectF(x + 18, y - 8, width, 16), _LEFT_MIDDLE, name)
        x += width + 6
