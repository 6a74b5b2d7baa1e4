"""Draws curves, already thinned, as fast as Qt can.

A transparent widget over the plot that draws in its own pixels.

WORKAROUND(https://github.com/pyqtgraph/pyqtgraph/issues/533): a curve that is a
path with a pen wider than one pixel, or that is drawn through a scaled
coordinate system as pyqtgraph's items are, costs Qt's raster engine ten to a
hundred times as much as separate lines in pixels do (measured for 1,350 noisy
points at scale 1: path 300 ms, scaled lines 30 ms, lines in pixels 3 ms).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyqtgraph.graphicsItems.PlotCurveItem import arrayToLineSegments
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from gui.plots.dashes import cut_dashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent

    from gui.plots.curves import Floats
    from gui.plots.pointer import Geometry

SMOOTHED_POINTS = 6_000
"""Points, of all strokes, up to which lines are smoothed: two a pixel of four curves or so."""

_FAR_PX = 20_000.0


@dataclass(frozen=True, slots=True, eq=False)
class Stroke:
    """One curve to draw.

    Attributes:
        x: (n,) float64, ascending.
        y: (n,) float64 in axis coordinates; NaN breaks the line.
        color: Opaque: separate lines overlap.
        width: In pixels.
        dashed: So that colour is not the only mark.
    """

    x: Floats
    y: Floats
    color: QColor
    width: float
    dashed: bool = False


class CurveCanvas(QWidget):
    """Shows strokes inside a plot's rectangle; later ones lie on top."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._clip = QRectF()
        self._smoothed = True
        self._lines: list[tuple[QPen, Any]] = []

    @property
    def smoothed(self) -> bool:
        """Whether the lines are antialiased: few enough of them are."""
        return self._smoothed

    def show_strokes(self, strokes: Sequence[Stroke], geometry: Geometry) -> None:
        """Draws these instead."""
        self._clip = geometry.rect
        self._smoothed = sum(len(stroke.x) for stroke in strokes) <= SMOOTHED_POINTS
        self._lines = [(self._pen(stroke), _in_pixels(stroke, geometry)) for stroke in strokes]
        self.update()

    def _pen(self, stroke: Stroke) -> QPen:
        # Without smoothing a width between one and two pixels cannot be seen.
        pen = QPen(stroke.color, stroke.width if self._smoothed else max(1.0, round(stroke.width - 0.5)))
        # Round caps would cost ten times as much.
        pen.setCapStyle(Qt.PenCapStyle.FlatCap if stroke.dashed else Qt.PenCapStyle.SquareCap)
        return pen

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the lines."""
        painter = QPainter(self)
        painter.setClipRect(self._clip.adjusted(0, -2, 1, 2))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self._smoothed)
        for pen, lines in self._lines:
            painter.setPen(pen)
            painter.drawLines(*lines.drawargs())
        painter.end()


def _in_pixels(stroke: Stroke, geometry: Geometry) -> Any:
    """The stroke's separate lines; what draws them needs no copy of the array."""
    rect, (x0, x1), (y0, y1) = geometry.rect, geometry.x, geometry.y
    x = rect.left() + (stroke.x - x0) * (rect.width() / (x1 - x0))
    y = rect.bottom() - (stroke.y - y0) * (rect.height() / (y1 - y0))
    x, y = np.clip(x, -_FAR_PX, _FAR_PX), np.clip(y, -_FAR_PX, _FAR_PX)
    if not stroke.dashed or len(x) < 2:
        return arrayToLineSegments(x, y, connect="finite", finiteCheck=True)
    x, y, connected = cut_dashes(x, y)
    return arrayToLineSegments(x, y, connect=connected, finiteCheck=True)
