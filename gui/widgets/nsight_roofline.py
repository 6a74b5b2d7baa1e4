"""A roofline as a section of a report defines it: its ceilings, and what the launch achieved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from core.units import DECIMAL_PREFIXES, format_bytes_per_s, format_flop_per_s, format_number
from gui.plots.ticks import Tick
from gui.widgets.nsight_plot import Plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.report_view.parts import Roof, RooflinePart, RooflinePoint
    from gui.theme import Theme, ThemeController

ROOFLINE_PX: Final = 260
_LEAST_DECADES: Final = 3.0
_ROOM: Final = 0.35
"""Decades beside the outermost point or ridge."""
_POINT_PX: Final = 5.0
_LABEL_PX: Final = 14.0


class RooflineChart(Plot):
    """Both axes are logarithmic; positions are powers of ten."""

    def __init__(
        self, theme: ThemeController, part: RooflinePart, baseline: Sequence[RooflinePoint] = ()
    ) -> None:
        """Args: ``baseline`` are the points of the same chart of the baseline."""
        super().__init__(theme, part.label or "Roofline", ROOFLINE_PX)
        self.part = part
        self._baseline = tuple(baseline)
        self.is_log = True
        self.x_title = part.intensity_label or "Arithmetic intensity, FLOP/B"
        self.y_title = part.work_label or "Performance, FLOP/s"
        self.x_range, self.y_range = _ranges(part, self._baseline)

    def y_ticks(self, count: float) -> tuple[Tick, ...]:
        """Decades, written with a prefix: "10 T"."""
        ticks = super().y_ticks(count)
        return tuple(Tick(tick.position, _prefixed(tick.position)) for tick in ticks)

    def paint_inside(self, painter: QPainter, area: QRectF) -> None:
        """Ceilings, ridges, then points."""
        theme = self.theme
        taken: list[QRectF] = []
        for number, roof in enumerate(self.part.roofs):
            self._paint_roof(painter, theme, area, roof, taken, is_first=number == 0)
        for point in self._baseline:
            self._paint_point(painter, theme, area, point, taken, is_baseline=True)
        for point in self.part.points:
            self._paint_point(painter, theme, area, point, taken, is_baseline=False)

    def _paint_roof(  # noqa: PLR0913  (private, of one loop)
        self,
        painter: QPainter,
        theme: Theme,
        area: QRectF,
        roof: Roof,
        taken: list[QRectF],
        *,
        is_first: bool,
    ) -> None:
        left, right = self.x_range
        pen = QPen(theme.color("chart-mark" if is_first else "text2"), 1.5 if is_first else 1.2)
        painter.setPen(pen)
        ridge = roof.ridge_flop_per_byte
        work = None if not roof.peak_flop_per_s else math.log10(roof.peak_flop_per_s)
        start = left if ridge is None else math.log10(ridge)
        if work is not None:
            y = self.y_px(area, work)
            painter.drawLine(QPointF(self.x_px(area, max(start, left)), y), QPointF(area.right(), y))
            self._label(
                painter, theme, QPointF(area.right() - 4, y - _LABEL_PX), roof.label, taken, right=True
            )
        if roof.peak_bytes_per_s:
            traffic = math.log10(roof.peak_bytes_per_s)
            end = right if ridge is None else min(start, right)
            ends = [QPointF(self.x_px(area, x), self.y_px(area, x + traffic)) for x in (left, end)]
            painter.setPen(pen)
            painter.drawLine(*ends)
            if work is None:
                self._label(painter, theme, ends[0] + QPointF(6, -_LABEL_PX), roof.label, taken, right=False)
        if ridge is not None and left < start < right:
            painter.setPen(QPen(theme.color("chart-axis"), 1, Qt.PenStyle.DotLine))
            x = self.x_px(area, start)
            painter.drawLine(QPointF(x, self.y_px(area, work or 0.0)), QPointF(x, area.bottom()))
            foot = QPointF(x + 4, area.bottom() - _LABEL_PX - 2)
            self._label(painter, theme, foot, f"ridge {format_number(ridge, 3)}", taken, right=False)

    def _paint_point(  # noqa: PLR0913  (private, of one loop)
        self,
        painter: QPainter,
        theme: Theme,
        area: QRectF,
        point: RooflinePoint,
        taken: list[QRectF],
        *,
        is_baseline: bool,
    ) -> None:
        at = QPointF(
            self.x_px(area, math.log10(point.intensity)), self.y_px(area, math.log10(point.flop_per_s))
        )
        color = theme.color("chart-mark") if is_baseline else theme.rank_color(0)
        painter.setPen(QPen(color if is_baseline else theme.color("chart-bg"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush if is_baseline else color)
        painter.drawEllipse(at, _POINT_PX, _POINT_PX)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        words = f"{point.label}, baseline" if is_baseline else point.label
        self._label(painter, theme, at + QPointF(9, -7), words, taken, right=False)

    def _label(  # noqa: PLR0913  (private)
        self,
        painter: QPainter,
        theme: Theme,
        at: QPointF,
        words: str,
        taken: list[QRectF],
        *,
        right: bool,
    ) -> None:
        """Writes words unless they would lie upon others; the tip says all of them."""
        width = painter.fontMetrics().horizontalAdvance(words) + 2
        left = at.x() - width if right else at.x()
        area = self.area()
        left = min(max(left, area.left() + 2), area.right() - width)
        box = QRectF(left, max(at.y(), area.top()), width, _LABEL_PX)
        for _ in range(6):
            if not any(box.intersects(other) for other in taken):
                break
            box.translate(0, _LABEL_PX)
        else:
            return
        taken.append(box)
        painter.setPen(theme.color("text2"))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), words)

    def tip_at(self, x: float) -> str:
        """All ceilings and points: there are few."""
        del x
        lines = [f"{roof.label}: {_peaks(roof)}" for roof in self.part.roofs]
        for point in self.part.points:
            at = f"{format_number(point.intensity, 4)} FLOP/B"
            lines.append(f"{point.label}: {format_flop_per_s(point.flop_per_s)} at {at}")
        if self.part.hidden:
            lines.append(f"Not of this launch: {', '.join(self.part.hidden[:6])}")
        return "\n".join(lines)


def _peaks(roof: Roof) -> str:
    peaks = []
    if roof.peak_flop_per_s is not None:
        peaks.append(format_flop_per_s(roof.peak_flop_per_s))
    if roof.peak_bytes_per_s is not None:
        peaks.append(format_bytes_per_s(roof.peak_bytes_per_s))
    return ", ".join(peaks) or "n/a"


def _ranges(
    part: RooflinePart, baseline: Sequence[RooflinePoint]
) -> tuple[tuple[float, float], tuple[float, float]]:
    points = (*part.points, *baseline)
    ridges = [ridge for roof in part.roofs if (ridge := roof.ridge_flop_per_byte)]
    xs = [math.log10(each) for each in (*ridges, *(point.intensity for point in points))] or [0.0]
    low, high = _widened(min(xs) - _ROOM, max(xs) + 2 * _ROOM)
    peaks = [roof.peak_flop_per_s for roof in part.roofs if roof.peak_flop_per_s]
    ys = [math.log10(each) for each in (*peaks, *(point.flop_per_s for point in points))]
    slopes = [low + math.log10(roof.peak_bytes_per_s) for roof in part.roofs if roof.peak_bytes_per_s]
    ys = [*ys, *slopes] or [9.0]
    return (low, high), _widened(min(ys) - _ROOM, max(ys) + 2 * _ROOM)


def _widened(low: float, high: float) -> tuple[float, float]:
    lack = max(0.0, _LEAST_DECADES - (high - low)) / 2
    return low - lack, high + lack


def _prefixed(power: float) -> str:
    value = float(f"{10.0**power:.3g}")
    for prefix, scale in reversed(DECIMAL_PREFIXES):
        if value >= scale:
            return f"{value / scale:g} {prefix}".strip()
    return f"{value:g}"
