"""Draws the points of a roofline: few ones smooth, many ones as one image painted with NumPy.

A point is filled where it was measured, hollow where it was modelled, and a
filled diamond where it was estimated. Long ones lie below short ones, so that
none hides another. Smooth marks are drawn once for each look and kept; above
``SMOOTH_POINTS`` visible ones they are an image, see ``roofline_stamps`` (a
painter's call for each point would take 50 ms for 50,000).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap, QPolygonF

from core.roofline.points import PointOrigin
from gui.plots.roofline_content import radius_px
from gui.plots.roofline_stamps import Placed, StampedImage
from gui.plots.timeline_content import CATEGORIES

if TYPE_CHECKING:
    from core.tables.columns import Bool
    from gui.plots.roofline_content import RooflinePoints
    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.theme import Theme

SMOOTH_POINTS: Final = 1_500
RING_PX: Final = 1.8
OUTLINE_PX: Final = 1.0


class RooflineMarks:
    """Holds what does not change with the view: logarithms, sizes, sprites."""

    def __init__(self, theme: Theme, points: RooflinePoints) -> None:
        self._theme = theme
        self._points = points
        self._x_powers = np.log10(points.intensity)
        self._y_powers = np.log10(points.flop_per_s)
        self._radius = radius_px(points.sum_ns)
        self._order = np.argsort(-points.sum_ns, kind="stable")
        self._sprites: dict[tuple[int, int, int, float], QPixmap] = {}
        self._colors = _category_colors(theme)
        self._image = StampedImage(points, self._x_powers, self._y_powers, self._colors)

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours of a theme."""
        self._theme = theme
        self._colors = _category_colors(theme)
        self._sprites.clear()
        self._image.set_colors(self._colors)

    def forget(self) -> None:
        """Draws all points anew, because others are shown."""
        self._image.forget()

    def place(self, geometry: RooflineGeometry, shown: Bool | None = None) -> Placed:
        """Finds where the points are.

        Args:
            geometry: The view.
            shown: (n,) bool, those that a filter lets through; None for all.
        """
        x, y = geometry.places(self._x_powers, self._y_powers)
        plot, room = geometry.plot, float(self._radius.max(initial=0.0))
        visible = (
            (x > plot.left() - room)
            & (x < plot.right() + room)
            & (y > plot.top() - room)
            & (y < plot.bottom() + room)
        )
        if shown is not None:
            visible &= shown
        order = self._order[visible[self._order]]
        return Placed(x, y, self._radius, order)

    def draw(
        self, painter: QPainter, geometry: RooflineGeometry, placed: Placed, *, vectors: bool = False
    ) -> None:
        """Draws the points; ``vectors`` as shapes, for a picture that can be made larger."""
        painter.save()
        painter.setClipRect(geometry.plot)
        if vectors:
            self._draw_shapes(painter, placed)
        elif len(placed.order) <= SMOOTH_POINTS:
            self._draw_sprites(painter, geometry.ratio, placed)
        else:
            painter.drawImage(geometry.plot.topLeft(), self._image.image(geometry, placed))
        painter.restore()

    def color_of(self, point: int) -> QColor:
        """The colour of a point's category."""
        return self._colors[int(self._points.category[point])]

    def _draw_shapes(self, painter: QPainter, placed: Placed) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        points = self._points
        for point in placed.order.tolist():
            at = QPointF(placed.x[point], placed.y[point])
            draw_mark(painter, at, placed.radius[point], int(points.origin[point]), self.color_of(point))

    def _draw_sprites(self, painter: QPainter, ratio: float, placed: Placed) -> None:
        order = placed.order
        looks = zip(
            np.round(placed.radius[order] * 2).astype(np.int64).tolist(),
            self._points.origin[order].tolist(),
            self._points.category[order].tolist(),
            placed.x[order].tolist(),
            placed.y[order].tolist(),
            strict=True,
        )
        for half_px, origin, category, x, y in looks:
            sprite = self._sprite(half_px, origin, category, ratio)
            side = sprite.deviceIndependentSize().width() / 2
            painter.drawPixmap(QPointF(x - side, y - side), sprite)

    def _sprite(self, half_px: int, origin: int, category: int, ratio: float) -> QPixmap:
        key = (half_px, origin, category, ratio)
        sprite = self._sprites.get(key)
        if sprite is None:
            radius = half_px / 2
            side = 2 * (int(radius + RING_PX) + 2)
            sprite = QPixmap(QSize(side, side) * ratio)
            sprite.setDevicePixelRatio(ratio)
            sprite.fill(Qt.GlobalColor.transparent)
            painter = QPainter(sprite)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            middle = QPointF(side / 2, side / 2)
            outline = self._theme.color("chart-bg")
            draw_mark(painter, middle, radius, origin, self._colors[category], outline)
            painter.end()
            self._sprites[key] = sprite
        return sprite


def _category_colors(theme: Theme) -> tuple[QColor, ...]:
    return tuple(QColor(theme.categories[name]) for name in CATEGORIES)


def draw_mark(  # noqa: PLR0913, PLR0917  (what a mark is)
    painter: QPainter,
    at: QPointF,
    radius: float,
    origin: int,
    color: QColor,
    outline: QColor | None = None,
) -> None:
    """Draws one mark smoothly; ``outline`` sets a filled one off from its neighbours."""
    if origin == PointOrigin.MODELLED:
        painter.setPen(QPen(color, RING_PX))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(at, radius, radius)
        return
    painter.setPen(Qt.PenStyle.NoPen if outline is None else QPen(outline, OUTLINE_PX))
    painter.setBrush(QBrush(color))
    if origin == PointOrigin.ESTIMATED:
        reach = radius * 1.25
        painter.drawPolygon(
            QPolygonF(
                [
                    at + QPointF(0, -reach),
                    at + QPointF(reach, 0),
                    at + QPointF(0, reach),
                    at + QPointF(-reach, 0),
                ]
            )
        )
        return
    painter.drawEllipse(QRectF(at.x() - radius, at.y() - radius, 2 * radius, 2 * radius))
