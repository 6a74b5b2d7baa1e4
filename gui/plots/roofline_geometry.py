"""Where a roofline has what: the plot's rectangle, and pixels from values and back. No drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from gui.plots.ticks import log_ticks

if TYPE_CHECKING:
    from core.tables.columns import Float64
    from gui.plots.roofline_range import PlotRange
    from gui.plots.ticks import Ticks

LEFT_PX: Final = 58
RIGHT_PX: Final = 14
TOP_PX: Final = 12
BOTTOM_PX: Final = 40
_X_LABEL_ROOM_PX: Final = 76
_Y_LABEL_ROOM_PX: Final = 36
_Y_UNITS: Final = ((12, "TFLOP/s"), (9, "GFLOP/s"), (6, "MFLOP/s"), (3, "kFLOP/s"))


@dataclass(frozen=True)
class RooflineGeometry:
    """One size and one range.

    Attributes:
        width, height: Of the widget, in device-independent pixels.
        ratio: Physical pixels for each.
        range: What is visible.
    """

    width: int
    height: int
    ratio: float
    range: PlotRange

    @cached_property
    def plot(self) -> QRectF:
        """The rectangle inside the axes."""
        return QRectF(
            LEFT_PX,
            TOP_PX,
            max(10, self.width - LEFT_PX - RIGHT_PX),
            max(10, self.height - TOP_PX - BOTTOM_PX),
        )

    @property
    def x_px(self) -> float:
        """Pixels a decade along x."""
        return self.plot.width() / self.range.width

    @property
    def y_px(self) -> float:
        """Pixels a decade along y."""
        return self.plot.height() / self.range.height

    def x_of(self, power: float) -> float:
        """Pixel of log10 FLOP/B."""
        return self.plot.left() + (power - self.range.left) * self.x_px

    def y_of(self, power: float) -> float:
        """Pixel of log10 FLOP/s."""
        return self.plot.bottom() - (power - self.range.bottom) * self.y_px

    def place_of(self, intensity: float, flop_per_s: float) -> QPointF:
        """Pixel of values above 0."""
        return QPointF(self.x_of(math.log10(intensity)), self.y_of(math.log10(flop_per_s)))

    def places(self, x_powers: Float64, y_powers: Float64) -> tuple[Float64, Float64]:
        """Returns (n,) pixels from left and (n,) from top."""
        x = self.plot.left() + (x_powers - self.range.left) * self.x_px
        y = self.plot.bottom() - (y_powers - self.range.bottom) * self.y_px
        return np.asarray(x), np.asarray(y)

    def powers_at(self, at: QPointF) -> tuple[float, float]:
        """Returns log10 FLOP/B and log10 FLOP/s at a pixel."""
        x = self.range.left + (at.x() - self.plot.left()) / self.x_px
        return x, self.range.bottom + (self.plot.bottom() - at.y()) / self.y_px

    @cached_property
    def slope_deg(self) -> float:
        """By how many degrees text is turned to lie along a rising ceiling."""
        return -math.degrees(math.atan2(self.y_px, self.x_px))

    @cached_property
    def y_unit(self) -> tuple[int, str]:
        """Power of ten and name of the unit along y: the middle of what is visible is not far below 1."""
        middle = (self.range.bottom + self.range.top) / 2
        return next((unit for unit in _Y_UNITS if middle >= unit[0] - 2.5), (0, "FLOP/s"))

    @cached_property
    def x_ticks(self) -> Ticks:
        """Ticks along x; positions are log10 FLOP/B."""
        return log_ticks(self.range.left, self.range.right, max(2.0, self.plot.width() / _X_LABEL_ROOM_PX))

    @cached_property
    def y_ticks(self) -> Ticks:
        """Ticks along y; positions are log10 of the rate in ``y_unit``."""
        shift = self.y_unit[0]
        count = max(2.0, self.plot.height() / _Y_LABEL_ROOM_PX)
        return log_ticks(self.range.bottom - shift, self.range.top - shift, count)
