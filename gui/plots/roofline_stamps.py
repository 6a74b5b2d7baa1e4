"""Many marks as one image: stamped with NumPy, and moved along when the view is.

There is one pass over all points for each pixel of a mark; the number of the
topmost point is kept for each pixel, so that the order is that of the smooth
marks. Points lie on a grid of whole device pixels that depends on the zoom only:
moving the view moves the image, and only what comes into sight is stamped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from core.roofline.points import PointOrigin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Float64, Int64
    from gui.plots.roofline_content import RooflinePoints
    from gui.plots.roofline_geometry import RooflineGeometry

DENSE_POINTS: Final = 20_000
"""From so many visible points on, marks are small and have no outline: they lie on each other."""

_DENSE_RADIUS_SHARE: Final = 0.5
_LEAST_RADIUS_PX: Final = 2

Pixels = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """The points in pixels.

    Attributes:
        x, y: (n,) float64, of all points, also those out of sight.
        radius: (n,) float64 px.
        order: (m,) int64, the visible ones from below to the top.
    """

    x: Float64
    y: Float64
    radius: Float64
    order: Int64


@dataclass(frozen=True, slots=True)
class _Look:
    """What an image that is only moved has in common with the one before."""

    x_px: float
    y_px: float
    width: int
    height: int
    is_dense: bool


class StampedImage:
    """The image of one set of points."""

    def __init__(
        self, points: RooflinePoints, x_powers: Float64, y_powers: Float64, colors: Sequence[QColor]
    ) -> None:
        self._points = points
        self._x_powers, self._y_powers = x_powers, y_powers
        self._palette = _palette(colors)
        self._look: _Look | None = None
        self._grid = (np.empty(0, np.int64), np.empty(0, np.int64))
        self._corner = (0, 0)
        self._pixels: Pixels = np.empty((0, 0), np.uint32)

    def set_colors(self, colors: Sequence[QColor]) -> None:
        """Takes other colours."""
        self._palette = _palette(colors)
        self._look = None

    def forget(self) -> None:
        """Draws everything anew the next time, because other points are shown."""
        self._look = None

    def image(self, geometry: RooflineGeometry, placed: Placed) -> QImage:
        """All marks as an image of the plot, transparent elsewhere."""
        plot, ratio = geometry.plot, geometry.ratio
        x_px, y_px = geometry.x_px * ratio, geometry.y_px * ratio
        width, height = round(plot.width() * ratio), round(plot.height() * ratio)
        is_dense = len(placed.order) > DENSE_POINTS
        look = _Look(round(x_px, 6), round(y_px, 6), width, height, is_dense)
        corner = (round(geometry.range.left * x_px), round(-geometry.range.top * y_px))
        if look != self._look:
            self._look = look
            self._grid = (
                np.floor(self._x_powers * x_px).astype(np.int64),
                np.floor(-self._y_powers * y_px).astype(np.int64),
            )
            self._pixels = np.zeros((height, width), np.uint32)
            self._corner = corner
            self._stamp(placed, ratio, 0, 0, width, height)
        elif corner != self._corner:
            self._move(placed, ratio, corner)
        image = QImage(self._pixels.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(ratio)
        return image

    def _move(self, placed: Placed, ratio: float, corner: tuple[int, int]) -> None:
        """Moves what is there, and stamps what comes into sight at two sides."""
        height, width = self._pixels.shape
        right, down = corner[0] - self._corner[0], corner[1] - self._corner[1]
        moved = np.zeros_like(self._pixels)
        if abs(right) < width and abs(down) < height:
            kept = self._pixels[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)]
            top, left = max(-down, 0), max(-right, 0)
            moved[top : top + kept.shape[0], left : left + kept.shape[1]] = kept
        self._pixels, self._corner = moved, corner
        right, down = max(-width, min(right, width)), max(-height, min(down, height))
        if right:
            self._stamp(placed, ratio, width - right if right > 0 else 0, 0, abs(right), height)
        if down:
            self._stamp(placed, ratio, 0, height - down if down > 0 else 0, width, abs(down))

    def _stamp(  # noqa: PLR0913, PLR0917  (a rectangle)
        self, placed: Placed, ratio: float, left: int, top: int, width: int, height: int
    ) -> None:
        """Draws all marks of a part of the image anew."""
        assert self._look is not None
        share = _DENSE_RADIUS_SHARE if self._look.is_dense else 1.0
        order = placed.order
        steps = np.maximum(np.round(placed.radius[order] * (share * ratio)), _LEAST_RADIUS_PX)
        reach = steps + 2
        x = self._grid[0][order] - (self._corner[0] + left)
        y = self._grid[1][order] - (self._corner[1] + top)
        near = (x >= -reach) & (x < width + reach) & (y >= -reach) & (y < height + reach)
        chosen = np.flatnonzero(near)
        field = _topmost(
            x[chosen],
            y[chosen],
            steps[chosen].astype(np.int64),
            self._points.origin[order[chosen]],
            (height, width),
            outlined=not self._look.is_dense,
        )
        # 0 is no point; then for each point its outline, which is cut out, and its fill.
        lut = np.zeros(2 * len(chosen) + 2, np.uint32)
        lut[3::2] = self._palette[self._points.category[order[chosen]]]
        self._pixels[top : top + height, left : left + width] = lut[field]


def _palette(colors: Sequence[QColor]) -> Pixels:
    return np.array([color.rgba() for color in colors], np.uint32)


def _topmost(  # noqa: PLR0913  (private, called once)
    x: Int64,
    y: Int64,
    steps: Int64,
    origin: NDArray[np.uint8],
    shape: tuple[int, int],
    *,
    outlined: bool,
) -> NDArray[np.int32]:
    """Which point each pixel shows.

    Args:
        x: (n,) column in the field, or beside it by no more than a mark reaches; upper points last.
        y: (n,) row, the same.
        steps: (n,) radii in pixels.
        origin: (n,) which mark.
        shape: Height and width of the field.
        outlined: Whether filled marks have an outline.

    Returns:
        int32 of ``shape``: 0 for none, 2 k + 2 for the outline of the k-th point, 2 k + 3 for its fill.
    """
    # Room for points beside the field and for what their marks reach further.
    margin = 2 * (int(steps.max(initial=1)) + 2)
    stride = shape[1] + 2 * margin
    field = np.zeros((shape[0] + 2 * margin) * stride, np.int32)
    base = (y + margin) * stride + x + margin
    value = np.arange(len(x), dtype=np.int32) * 2 + 2
    looks = steps * 4 + origin
    for look in np.unique(looks).tolist():
        chosen = np.flatnonzero(looks == look)
        places, values = base[chosen], value[chosen]
        for dx, dy, part in _mask(look // 4, look % 4, outlined):
            target = places + (dy * stride + dx)
            # Values ascend: of two points in one pass the upper one is written last and stays.
            field[target] = np.maximum(field[target], values + part)
    inner = field.reshape(shape[0] + 2 * margin, stride)
    return inner[margin : margin + shape[0], margin : margin + shape[1]]


@cache
def _mask(radius: int, origin: int, outlined: bool) -> tuple[tuple[int, int, int], ...]:
    """Pixels of a mark: offsets, and 1 for fill or 0 for outline."""
    reach = radius + 1
    around = [(dx, dy) for dy in range(-reach, reach + 1) for dx in range(-reach, reach + 1)]
    found = []
    for dx, dy in around:
        far = abs(dx) + abs(dy) if origin == PointOrigin.ESTIMATED else (dx * dx + dy * dy) ** 0.5
        if origin == PointOrigin.MODELLED:
            if radius - 1.0 <= far < radius + 0.6:
                found.append((dx, dy, 1))
        elif far < radius + 0.4:
            found.append((dx, dy, 1))
        elif outlined and far < radius + 1.2:
            found.append((dx, dy, 0))
    return tuple(found)
