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
    # Ends and starts of dashes in turn, the start of the first one left out.
    count = int(along[-1] // period) + 1
    cuts = (np.arange(count)[:, None] * period + np.array([0.0, ON_PX])).ravel()[1:]
    cuts = cuts[cuts < along[-1]]
    # Where on which segment each cut lies; a segment without length holds none.
    segment = np.searchsorted(along, cuts, side="right") - 1
    share = (cuts - along[segment]) / lengths[segment]
    # Every cut comes behind the start of its segment and the cuts before it.
    cut_places = segment + 1 + np.arange(len(cuts))
    old = np.ones(len(x) + len(cuts), dtype=bool)
    old[cut_places] = False
    new_x, new_y, new_along = np.empty(len(old)), np.empty(len(old)), np.empty(len(old))
    new_x[old], new_y[old], new_along[old] = x, y, along
    new_x[cut_places] = x[segment] + share * (x[segment + 1] - x[segment])
    new_y[cut_places] = y[segment] + share * (y[segment + 1] - y[segment])
    new_along[cut_places] = cuts
    middle = (new_along[:-1] + new_along[1:]) / 2
    connected = np.isfinite(new_y[:-1]) & np.isfinite(new_y[1:]) & (middle % period < ON_PX)
    return new_x, new_y, np.append(connected, False)
