"""What a chart is given to draw: curves with a rank, and how they are meant.

Plain data and how to find one's way in it; nothing here draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_LINES = 8
"""Up to this many ranks get a line of their own; more are a band or a heat map."""

LARGEST_DRAWN, SMALLEST_DRAWN = 1e300, 1e-300
"""Finite values beyond these are drawn at these, or as zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One rank's curve.

    Attributes:
        rank: Global rank; ``ALL_RANKS`` for a curve that is one for all of them.
        x: (n,) float64, ascending.
        y: (n,) float64; NaN and the infinities may be gaps or measured values.
        generation: Curves of one rank with the same generation differ only by
            points added at the end.
    """

    rank: int
    x: Floats
    y: Floats
    generation: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ChartData:
    """Everything that one chart shows.

    Attributes:
        name: What y is, as a file or column name would say it ("loss").
        curves: One per rank, by ascending rank.
        x_name: "step", or "s" for seconds since the run was created.
        unit: Of y, "" if it has none.
        zero_based: The y axis starts at zero.
        marks_non_finite: A NaN or an infinity was measured and gets a mark;
            otherwise it is a gap.
        note: One more line of words in the plot.
    """

    name: str
    curves: tuple[Curve, ...]
    x_name: Literal["step", "s"] = "step"
    unit: str = ""
    zero_based: bool = False
    marks_non_finite: bool = False
    note: str = ""

    def extent(self) -> tuple[float, float] | None:
        """Smallest and largest x of all curves, None if there are no points."""
        ends = [(float(curve.x[0]), float(curve.x[-1])) for curve in self.curves if curve.x.size]
        if not ends:
            return None
        return min(low for low, _ in ends), max(high for _, high in ends)


def drawable(y: Floats) -> Floats:
    """Values that an axis can hold: its ends, their distance and its ticks stay finite and apart.

    A loss on its way to infinity passes through values whose differences overflow.
    """
    size = np.abs(y)
    with_place = np.where(size < SMALLEST_DRAWN, 0.0, np.clip(y, -LARGEST_DRAWN, LARGEST_DRAWN))
    return np.where(np.isfinite(y), with_place, y)


def visible(x: Floats, low: float, high: float) -> slice:
    """The points of an ascending ``x`` in [low, high], and one more on each side."""
    first = int(np.searchsorted(x, low, side="left"))
    last = int(np.searchsorted(x, high, side="right"))
    return slice(max(0, first - 1), min(len(x), last + 1))


def nearest(curve: Curve, x: float) -> int | None:
    """Index of the point that is nearest to ``x``, None for an empty curve."""
    size = len(curve.x)
    if not size:
        return None
    right = int(np.searchsorted(curve.x, x))
    if right == 0:
        return 0
    if right == size:
        return size - 1
    return right if curve.x[right] - x < x - curve.x[right - 1] else right - 1
