"""Draws a whole roofline: grid and axes, ceilings and ridges, points, words, and what is selected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QPolygonF

from gui.plots.roofline_labels import Box, Label, box_of
from gui.plots.roofline_legend import LegendEntry, draw_legend, legend_entries, legend_rect
from gui.plots.roofline_marks import RooflineMarks
from gui.plots.roofline_notice import beside_lines
from gui.plots.roofline_roofs import ridge_lines, roof_lines
from gui.plots.roofline_words import ABOVE_WORDS, TRIANGLE_PX, Fonts, WordLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QFont

    from core.tables.columns import Bool
    from gui.plots.roofline_content import RooflineContent
    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.plots.roofline_roofs import RidgeLine, RoofLine
    from gui.plots.roofline_stamps import Placed
    from gui.theme import Theme

_CHOSEN_PX: Final = 1.5
_OTHER_PX: Final = 1.2
_DASHES: Final = (5 / _OTHER_PX, 4 / _OTHER_PX)
_DOTS: Final = (1.0, 3.0)
_TICK_PX: Final = 4
_SELECTED_RING_PX: Final = 2.0
_RING_GAP_PX: Final = 3.0
_TITLE_OFF_PX: Final = 46
_NOTICE_PX: Final = 8
_NOTICE_WIDTH_PX: Final = 460


@dataclass(frozen=True, slots=True, eq=False)
class Over:
    """What is drawn over the points.

    Attributes:
        selected: Number of a point, -1 for none.
        hovered: The same.
        shown: (n,) bool, points that a filter lets through; None for all.
        hidden_categories: Categories that are switched off in the legend.
        focus: Whether the focus is to be seen.
        notice: What stands in the middle because no point can be seen; "".
    """

    selected: int = -1
    hovered: int = -1
    shown: Bool | None = None
    hidden_categories: frozenset[int] = frozenset()
    focus: bool = False
    notice: str = ""


class RooflineScene:
    """Everything that is drawn; holds what does not change from frame to frame."""

    def __init__(self, theme: Theme, content: RooflineContent) -> None:
        self._theme = theme
        self._content = content
        self.marks = RooflineMarks(theme, content.points)
        self._above = content.points.above()
        self._entries = legend_entries(content.points)
        self.labels: tuple[Label, ...] = ()
        """The words that were drawn last beside lines and points; none lies over another."""
        self._dress()

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours and fonts of a theme."""
        self._theme = theme
        self.marks.set_theme(theme)
        self._dress()

    def _dress(self) -> None:
        theme = self._theme
        self._font: QFont = theme.font(theme.px_small)
        self._bold: QFont = theme.font(theme.px_small, bold=True)
        self._metrics = QFontMetricsF(self._font)
        self._fonts = Fonts(self._metrics, QFontMetricsF(self._bold))

    @property
    def entries(self) -> tuple[LegendEntry, ...]:
        """What the legend lists."""
        return self._entries

    def legend_rect(self, geometry: RooflineGeometry) -> QRectF:
        """Where the legend is; empty if there is no room for it."""
        return legend_rect(self._entries, geometry, self._metrics)

    def draw(
        self,
        painter: QPainter,
        geometry: RooflineGeometry,
        placed: Placed,
        over: Over,
        *,
        vectors: bool = False,
    ) -> None:
        """Draws a frame.

        Args:
            painter: Of the widget or of a picture.
            geometry: The view.
            placed: Where the points are.
            over: What is marked.
            vectors: For a picture that can be made larger.
        """
        theme, content = self._theme, self._content
        painter.fillRect(QRectF(0, 0, geometry.width, geometry.height), theme.color("chart-bg"))
        painter.setFont(self._font)
        self._draw_axes(painter, geometry)
        lines, ridges = roof_lines(content, geometry), ridge_lines(content, geometry)
        self._draw_roofs(painter, geometry, lines, ridges)
        if over.selected >= 0:
            self._draw_cross(painter, geometry, over.selected)
        self.marks.draw(painter, geometry, placed, vectors=vectors)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        taken: list[Box] = []
        legend = self.legend_rect(geometry)
        if not legend.isEmpty():
            taken.append(box_of(legend))
            draw_legend(painter, theme, self._entries, legend, over.hidden_categories)
        if over.notice:
            taken.append(self._draw_notice(painter, geometry, over.notice, lines, legend))
        layout = WordLayout(content, geometry, placed, self._fonts, taken)
        words = layout.lay_out(lines, ridges, self._above, over.selected)
        self.labels = tuple(words.labels)
        for label in words.labels:
            self._draw_label(painter, label)
        for middle in words.triangles:
            self._draw_triangle(painter, middle)
        self._draw_rings(painter, geometry, placed, over)
        if over.focus:
            painter.setPen(QPen(theme.color("focus"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(1, 1, geometry.width - 2, geometry.height - 2))

    def _draw_notice(
        self,
        painter: QPainter,
        geometry: RooflineGeometry,
        notice: str,
        lines: Sequence[RoofLine],
        legend: QRectF,
    ) -> Box:
        """Draws words near the middle of the plot, over its grid and no ceiling, and returns their room."""
        plot = geometry.plot
        beside = max(_NOTICE_PX, (plot.width() - _NOTICE_WIDTH_PX) / 2)
        room = plot.adjusted(beside, _NOTICE_PX, -beside, -_NOTICE_PX)
        wrapped = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        words = self._fonts.bold.boundingRect(room, wrapped, notice)
        middle = words.adjusted(-_NOTICE_PX, -_NOTICE_PX, _NOTICE_PX, _NOTICE_PX)
        ground = beside_lines(middle, plot, lines, legend)
        painter.fillRect(ground, self._theme.color("chart-bg"))
        painter.setFont(self._bold)
        painter.setPen(self._theme.color("text"))
        painter.drawText(ground.adjusted(_NOTICE_PX - 1, 0, 1 - _NOTICE_PX, 0), wrapped, notice)
        painter.setFont(self._font)
        return box_of(ground)

    # --- axes

    def _draw_axes(self, painter: QPainter, geometry: RooflineGeometry) -> None:
        theme, plot = self._theme, geometry.plot
        unit_power, unit = geometry.y_unit
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        grid, axis = QPen(theme.color("chart-grid"), 1), QPen(theme.color("chart-axis"), 1)
        text = theme.color("text2")
        height = self._metrics.height()
        for tick in geometry.x_ticks.major:
            x = round(geometry.x_of(tick.position))
            painter.setPen(grid)
            painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))
            painter.setPen(axis)
            painter.drawLine(QLineF(x, plot.bottom(), x, plot.bottom() + _TICK_PX))
            painter.setPen(text)
            width = self._metrics.horizontalAdvance(tick.label)
            left = min(max(x - width / 2, 2.0), geometry.width - width - 2.0)
            rect = QRectF(left, plot.bottom() + _TICK_PX + 1, width + 1, height)
            painter.drawText(rect, Qt.AlignmentFlag.AlignLeft, tick.label)
        painter.setPen(axis)
        for tick in geometry.x_ticks.minor:
            x = round(geometry.x_of(tick.position))
            painter.drawLine(QLineF(x, plot.bottom(), x, plot.bottom() + 2))
        for tick in geometry.y_ticks.major:
            y = round(geometry.y_of(tick.position + unit_power))
            painter.setPen(grid)
            painter.drawLine(QLineF(plot.left(), y, plot.right(), y))
            painter.setPen(text)
            rect = QRectF(0, y - height / 2, plot.left() - 8, height)
            painter.drawText(rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, tick.label)
        painter.setPen(axis)
        for tick in geometry.y_ticks.minor:
            y = round(geometry.y_of(tick.position + unit_power))
            painter.drawLine(QLineF(plot.left() - 2, y, plot.left(), y))
        painter.drawLine(QLineF(plot.left(), plot.bottom(), plot.right(), plot.bottom()))
        painter.drawLine(QLineF(plot.left(), plot.top(), plot.left(), plot.bottom()))
        self._draw_titles(painter, geometry, unit)

    def _draw_titles(self, painter: QPainter, geometry: RooflineGeometry, unit: str) -> None:
        plot = geometry.plot
        painter.setPen(self._theme.color("text2"))
        bottom = QRectF(plot.left(), geometry.height - self._metrics.height() - 3, plot.width(), 16)
        painter.drawText(bottom, Qt.AlignmentFlag.AlignHCenter, "Arithmetic intensity, FLOP/B")
        painter.save()
        painter.translate(plot.left() - _TITLE_OFF_PX, plot.center().y())
        painter.rotate(-90)
        width = self._metrics.horizontalAdvance(unit)
        painter.drawText(QPointF(-width / 2, self._metrics.ascent() / 2 - 2), unit)
        painter.restore()

    # --- ceilings

    def _draw_roofs(
        self,
        painter: QPainter,
        geometry: RooflineGeometry,
        lines: list[RoofLine],
        ridges: list[RidgeLine],
    ) -> None:
        painter.save()
        painter.setClipRect(geometry.plot.adjusted(0, -1, 1, 0))
        dots = QPen(self._theme.color("text2"), 1)
        dots.setDashPattern(list(_DOTS))
        painter.setPen(dots)
        for ridge in ridges:
            painter.drawLine(QLineF(ridge.x, ridge.top, ridge.x, geometry.plot.bottom()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line in sorted(lines, key=lambda line: line.chosen):
            color = self._theme.color("chart-mark" if line.chosen else "text2")
            pen = QPen(color, _CHOSEN_PX if line.chosen else _OTHER_PX)
            if line.dashed:
                pen.setDashPattern(list(_DASHES))
            painter.setPen(pen)
            painter.drawLine(QLineF(line.start, line.end))
        painter.restore()

    # --- points

    def _draw_cross(self, painter: QPainter, geometry: RooflineGeometry, point: int) -> None:
        """Thin lines to both axes, and a bar up to the roof."""
        points, plot = self._content.points, geometry.plot
        at = geometry.place_of(points.intensity[point], points.flop_per_s[point])
        roof = float(points.roof_flop_per_s[point])
        painter.save()
        painter.setClipRect(plot)
        painter.setPen(QPen(self._theme.color("text2"), 1))
        painter.drawLine(QLineF(plot.left(), at.y(), at.x(), at.y()))
        painter.drawLine(QLineF(at.x(), at.y(), at.x(), plot.bottom()))
        if roof > 0:
            painter.setPen(QPen(self._theme.color("chart-mark"), 2))
            painter.drawLine(QLineF(at.x(), at.y(), at.x(), geometry.y_of(math.log10(roof))))
        painter.restore()

    def _draw_rings(self, painter: QPainter, geometry: RooflineGeometry, placed: Placed, over: Over) -> None:
        painter.save()
        painter.setClipRect(geometry.plot)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for point, token in ((over.hovered, "text2"), (over.selected, "chart-mark")):
            if point >= 0:
                painter.setPen(QPen(self._theme.color(token), _SELECTED_RING_PX))
                radius = placed.radius[point] + _RING_GAP_PX
                painter.drawEllipse(QPointF(placed.x[point], placed.y[point]), radius, radius)
        painter.restore()

    def _draw_triangle(self, painter: QPainter, at: QPointF) -> None:
        half = TRIANGLE_PX / 2
        painter.setPen(QPen(self._theme.color("warn"), 1.3))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        corners = (QPointF(0, -half), QPointF(half, half * 0.8), QPointF(-half, half * 0.8))
        painter.drawPolygon(QPolygonF([at + corner for corner in corners]))

    def _draw_label(self, painter: QPainter, label: Label) -> None:
        color = self._theme.color("text" if label.strong else "text2")
        if label.text == ABOVE_WORDS:
            color = self._theme.color("warn")
        painter.save()
        painter.setFont(self._bold if label.bold else self._font)
        painter.setPen(color)
        painter.translate(label.box.corner)
        painter.rotate(label.box.angle_deg)
        ground = QRectF(-1, 1 - label.box.height, label.box.width + 2, label.box.height - 1)
        painter.fillRect(ground, self._theme.color("chart-bg"))
        painter.drawText(QPointF(0, -self._metrics.descent()), label.text)
        painter.restore()
