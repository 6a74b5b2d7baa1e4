"""The small square of a kernel category: its colour, and its pattern where colour is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap

if TYPE_CHECKING:
    from gui.theme import Theme

SWATCH_PX: Final = 10
_RADIUS_PX = 2
_PATTERN_OPACITY = 0.55
_OTHER: Final = "other"


def category_swatch(theme: Theme, category: str, ratio: float = 1.0) -> QPixmap:
    """Draws the square; an unknown category has the colour of the others, and so has Triton, with lines.

    Args:
        theme: Whose colours are used.
        category: A name such as "GEMM", in any case.
        ratio: Physical pixels for each of the 10 x 10.
    """
    name = category.casefold()
    color = theme.categories.get(name, theme.categories[_OTHER])
    pixmap = QPixmap(round(SWATCH_PX * ratio), round(SWATCH_PX * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    shape = QPainterPath()
    shape.addRoundedRect(QRectF(0, 0, SWATCH_PX, SWATCH_PX), _RADIUS_PX, _RADIUS_PX)
    painter.setClipPath(shape)
    painter.fillPath(shape, QColor(color))
    painter.setOpacity(_PATTERN_OPACITY)
    _draw_pattern(painter, name, theme.color("chart-bg"))
    painter.end()
    return pixmap


def _draw_pattern(painter: QPainter, name: str, ground: QColor) -> None:
    """Hatch, lines and dots as on the timeline."""
    if name == "communication":
        painter.setPen(QPen(ground, 1.3))
        painter.drawLines([QLineF(at - SWATCH_PX, SWATCH_PX, at, 0) for at in range(0, 2 * SWATCH_PX + 1, 6)])
    elif name == "memcpy":
        painter.setPen(QPen(ground, 1.4))
        painter.drawLines([QLineF(0, at + 1.5, SWATCH_PX, at + 1.5) for at in range(0, SWATCH_PX, 4)])
    elif name == "triton":
        painter.setPen(QPen(ground, 1.4))
        painter.drawLines([QLineF(at + 1.5, 0, at + 1.5, SWATCH_PX) for at in range(0, SWATCH_PX, 4)])
    elif name == "memset":
        for x in range(1, SWATCH_PX, 4):
            for y in range(1, SWATCH_PX, 4):
                painter.fillRect(QRectF(x, y, 2, 2), ground)
