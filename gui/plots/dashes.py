"""Dashed curves as separate lines: a pen's own dashes would begin anew at each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gui.plots.curves import Floats

ON_PX = 6.0
OFF_PX = 3.0
_LONG_PX = 30_000.0


def cut_dashes(x: Floats, y: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Cuts a curve at the ends of its dashes, measured along the curve.

    Args:
        x: (n,) float64, in pixels, n >= 2.
        y: (n,) float64, in pixels; NaN breaks the curve.

    Returns:
        x and y with the ends of the dashes put in, (m,), and whether each point
        is connected to the next one, (m,).
    """
    joined = np.isfinite(y[:-1]) & np.isfinite(y[1:])
    lengths = np.where(joined, np.hypot(np.diff(x), np.diff(y)), 0.0)
    along = np.concatenate(([0.0], np.cumsum(lengths)))
    period = ON_PX + OFF_PX
    if along[-1] > _LONG_PX:
        # Noise that fills the plot: dashes along x look the same and need no cuts.
        phase = (x[:-1] - x[0]) % period
        return x, y, np.append(joined & (phase < ON_PX), False)
    starts = np.arange(0.0, along[-1], period)
    cuts = np.sort(np.concatenate((starts[1:], starts + ON_PX)))
    cuts = cuts[cuts < along[-1]]
    # Where on which segment each cut lies; a segment without length holds none.
    segment = np.searchsorted(along, cuts, side="right") - 1
    share = (cuts - along[segment]) / lengths[segment]
    cut_x = x[segment] + share * (x[segment + 1] - x[segment])
    cut_y = y[segment] + share * (y[segment + 1] - y[segment])
    new_x = np.insert(x, segment + 1, cut_x)
    new_y = np.insert(y, segment + 1, cut_y)
    new_along = np.insert(along, segment + 1, cuts)
    middle = (new_along[:-1] + new_along[1:]) / 2
    connected = np.isfinite(new_y[:-1]) & np.isfinite(new_y[1:]) & (middle % period < ON_PX)
    return new_x, new_y, np.append(connected, False)
