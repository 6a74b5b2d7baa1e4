"""Long curves kept condensed while they grow, so that drawing one costs less than its length.

Holds the choice of points only; how many of them a screen column needs is decided
in ``core.telemetry.decimate``, on what comes from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.telemetry.decimate import positive, reduce_to_extremes
from core.telemetry.series import GrowingSeries
from core.telemetry.views import Series

if TYPE_CHECKING:
    from gui.plots.curves import Floats

BLOCKS = (8, 32, 128)
"""How many points of a curve may be condensed to their extremes."""

_LEAST_BLOCKS_A_PIXEL = 4


def block_for(points: int, width_px: int) -> int | None:
    """The largest block of which at least four go into a pixel column; None: draw the points themselves."""
    fitting = [block for block in BLOCKS if block * _LEAST_BLOCKS_A_PIXEL * width_px <= points]
    return max(fitting, default=None)


class Condenser:
    """The extremes of each block of points of a growing curve; only new points are worked on.

    The lowest and the highest point of a block stay, and its first one that is not
    finite. So no spike is lost. Where a block lies on the border of two pixel
    columns, a point may be missing from its column if a larger one of the same
    block stands in the other: less than a quarter of a pixel away.
    """

    def __init__(self, block: int, *, only_positive: bool = False) -> None:
        """Takes the points a block, and whether values at or below zero are gaps, for a log scale."""
        self._block = block
        self._only_positive = only_positive
        self._generation = -1
        self._restart()

    def _restart(self) -> None:
        self._kept = GrowingSeries()
        self._done = 0

    def update(self, series: Series) -> Series:
        """The condensed curve of a newer view of the same series.

        The points behind the last whole block come as they are.
        """
        if series.generation != self._generation or len(series.y) < self._done:
            self._generation = series.generation
            self._restart()
        upto = len(series.y) - len(series.y) % self._block
        if upto > self._done:
            x, y = series.x[self._done : upto], self._values(series.y[self._done : upto])
            kept = reduce_to_extremes(y, self._block)
            self._kept.extend(x[kept], y[kept])
            self._done = upto
        kept_so_far = self._kept.view()
        return Series(
            x=np.concatenate((kept_so_far.x, series.x[upto:])),
            y=np.concatenate((kept_so_far.y, self._values(series.y[upto:]))),
            generation=series.generation,
        )

    def _values(self, y: Floats) -> Floats:
        return positive(y) if self._only_positive else y
