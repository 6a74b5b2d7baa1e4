"""Which part of a roofline is looked at, in powers of ten: zoom, pan, limits and undo, without Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from gui.plots.roofline_content import RooflineContent

_HISTORY: Final = 100
LEAST_DECADES: Final = 0.02
MOST_DECADES: Final = 24.0
_ROOM_DECADES: Final = 0.35
_BEYOND_RIDGE_DECADES: Final = 1.0


@dataclass(frozen=True, slots=True)
class PlotRange:
    """The visible part: log10 of FLOP/B from left to right, log10 of FLOP/s from bottom to top."""

    left: float
    right: float
    bottom: float
    top: float

    @property
    def width(self) -> float:
        """Decades along x."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Decades along y."""
        return self.top - self.bottom

    def moved(self, dx: float, dy: float) -> PlotRange:
        """The range moved by decades."""
        return PlotRange(self.left + dx, self.right + dx, self.bottom + dy, self.top + dy)

    def zoomed(self, x: float, y: float, x_factor: float, y_factor: float) -> PlotRange:
        """The range made larger by factors; the place (x, y) stays where it is."""
        return PlotRange(
            x - (x - self.left) * x_factor,
            x + (self.right - x) * x_factor,
            y - (y - self.bottom) * y_factor,
            y + (self.top - y) * y_factor,
        )


EMPTY_RANGE: Final = PlotRange(-1.0, 4.0, 10.0, 15.0)


def fitting_range(content: RooflineContent) -> PlotRange:
    """Returns the range that shows all points, all flat ceilings and their ridges."""
    points = content.points
    ridges = [content.ridge_of(roof) for roof in content.works]
    x_values = [math.log10(ridge) for ridge in ridges if ridge]
    x_values += [max(x_values) + _BEYOND_RIDGE_DECADES] if x_values else []
    y_values = [math.log10(roof.flop_per_s) for roof in content.works]
    if len(points):
        x_values += [float(np.log10(points.intensity.min())), float(np.log10(points.intensity.max()))]
        y_values += [float(np.log10(points.flop_per_s.min())), float(np.log10(points.flop_per_s.max()))]
    left, right = _with_room(x_values, EMPTY_RANGE.left, EMPTY_RANGE.right)
    traffic = content.main_traffic
    if traffic is not None and y_values:
        # Where the rising ceiling leaves the picture at the left should be seen.
        y_values.append(max(left + math.log10(traffic.bytes_per_s), min(y_values) - 1))
    bottom, top = _with_room(y_values, EMPTY_RANGE.bottom, EMPTY_RANGE.top)
    return PlotRange(left, right, bottom, top)


def _with_room(values: list[float], low: float, high: float) -> tuple[float, float]:
    if not values:
        return low, high
    first, last = min(values) - _ROOM_DECADES, max(values) + _ROOM_DECADES
    return (first, last) if last - first >= 1 else (first - 0.5, last + 0.5)


class RangeState:
    """The visible range of one plot and the ranges before it."""

    def __init__(self) -> None:
        self._whole = EMPTY_RANGE
        self._range = EMPTY_RANGE
        self._before: list[PlotRange] = []
        self._gesture: object = None

    @property
    def range(self) -> PlotRange:
        """What is visible."""
        return self._range

    @property
    def changed(self) -> bool:
        """Something else than everything is visible."""
        return self._range != self._whole

    @property
    def can_undo(self) -> bool:
        """There is an earlier range."""
        return bool(self._before)

    def set_whole(self, whole: PlotRange, *, keep: bool = False) -> None:
        """Tells what everything is; shows it unless ``keep`` and the user looks at a part."""
        looks_at_part = keep and self.changed
        self._whole = whole
        if not looks_at_part:
            self._range = whole
            self._before.clear()
            self._gesture = None

    def show(self, wanted: PlotRange, gesture: object = None) -> None:
        """Shows a range, or what is possible of it; steps of one gesture are undone together."""
        wanted = self._limited(wanted)
        if wanted == self._range:
            return
        if gesture is None or gesture != self._gesture:
            self._before.append(self._range)
            del self._before[:-_HISTORY]
        self._gesture = gesture
        self._range = wanted

    def reset(self) -> None:
        """Shows everything."""
        self.show(self._whole)

    def undo(self) -> bool:
        """Back to the range before. False if there is none."""
        if not self._before:
            return False
        self._range = self._before.pop()
        self._gesture = None
        return True

    def _limited(self, wanted: PlotRange) -> PlotRange:
        """Not closer or further than makes sense, and a tenth of it on what there is."""
        now, whole = self._range, self._whole
        left, right = _span(wanted.left, wanted.right, now.left, now.right)
        bottom, top = _span(wanted.bottom, wanted.top, now.bottom, now.top)
        dx = _pull(left, right, whole.left, whole.right)
        dy = _pull(bottom, top, whole.bottom, whole.top)
        return PlotRange(left + dx, right + dx, bottom + dy, top + dy)


def _span(low: float, high: float, old_low: float, old_high: float) -> tuple[float, float]:
    return (low, high) if LEAST_DECADES <= high - low <= MOST_DECADES else (old_low, old_high)


def _pull(low: float, high: float, first: float, last: float) -> float:
    """How far a range must move so that a tenth of it lies on [first, last]."""
    share = (high - low) * 0.1
    if high < first + share:
        return first + share - high
    return last - share - low if low > last - share else 0.0
