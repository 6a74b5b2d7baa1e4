"""Many ranks in one picture: bins over x, the band and the median, outliers, deviations.

Above eight ranks nobody can tell lines apart. Every rank is binned over the
visible range first, so that the cost does not depend on how long the run is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gui.plots.curves import Curve, Floats, drawable, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_OUTLIERS = 3
_OUTLIER_DEVIATIONS = 5.0
_OUTLIER_SHARE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """Ranks over common bins. NaN: a rank has no point up to there or after its end.

    Attributes:
        ranks: Global rank of each row.
        x: (bins,) centre of each bin.
        mean: (ranks, bins).
        low: (ranks, bins) smallest value in the bin; a spike stays visible.
        high: (ranks, bins) largest value.
    """

    ranks: tuple[int, ...]
    x: Floats
    mean: Floats
    low: Floats
    high: Floats


def bin_curves(curves: Sequence[Curve], low: float, high: float, max_bins: int) -> Binned:
    """Bins all curves over [low, high].

    Args:
        curves: One per rank.
        low: Start of the range.
        high: End of the range, above ``low``.
        max_bins: At most this many; fewer if the longest curve has fewer points there.
    """
    points = max((_count(curve, low, high) for curve in curves), default=1)
    bins = max(1, min(max_bins, points))
    edges = np.linspace(low, high, bins + 1)
    shape = (len(curves), bins)
    result = Binned(
        ranks=tuple(curve.rank for curve in curves),
        x=(edges[:-1] + edges[1:]) / 2,
        mean=np.full(shape, np.nan),
        low=np.full(shape, np.nan),
        high=np.full(shape, np.nan),
    )
    for row, curve in enumerate(curves):
        _bin_one(curve, edges, result, row)
    return result


def _count(curve: Curve, low: float, high: float) -> int:
    return int(np.searchsorted(curve.x, high, "right") - np.searchsorted(curve.x, low, "left"))


def _bin_one(curve: Curve, edges: Floats, result: Binned, row: int) -> None:
    part = visible(curve.x, float(edges[0]), float(edges[-1]))
    x, y = curve.x[part], curve.y[part]
    finite = np.isfinite(y)
    if not finite.all():
        x, y = x[finite], y[finite]
    if not x.size:
        return
    y = drawable(y)
    index = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    filled = index[starts]
    counts = np.diff(np.concatenate((starts, [len(x)])))
    result.mean[row, filled] = np.add.reduceat(y, starts) / counts
    result.low[row, filled] = np.minimum.reduceat(y, starts)
    result.high[row, filled] = np.maximum.reduceat(y, starts)
    _fill_forward(result, row, int(filled[0]), int(filled[-1]))


def _fill_forward(result: Binned, row: int, first: int, last: int) -> None:
    """A bin between two points of a rank holds the value before it."""
    for values in (result.mean, result.low, result.high):
        part = values[row, first : last + 1]
        index = np.where(np.isnan(part), 0, np.arange(len(part)))
        np.maximum.accumulate(index, out=index)
        values[row, first : last + 1] = part[index]


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """What a band chart draws: (bins,) each, and the ranks that stand out."""

    x: Floats
    low: Floats
    median: Floats
    high: Floats
    outliers: tuple[int, ...]


def band_of(binned: Binned) -> Band:
    """Smallest, median and largest value over the ranks in each bin."""
    some = ~np.isnan(binned.mean).all(axis=0)
    median = np.full(len(binned.x), np.nan)
    low, high = median.copy(), median.copy()
    if some.any():
        median[some] = np.nanmedian(binned.mean[:, some], axis=0)
        low[some] = np.nanmin(binned.low[:, some], axis=0)
        high[some] = np.nanmax(binned.high[:, some], axis=0)
    return Band(binned.x, low, median, high, outliers_of(binned, median))


def outliers_of(binned: Binned, median: Floats) -> tuple[int, ...]:
    """Rows of at most three ranks that stand apart in the newest quarter of the bins.

    A rank stands apart if it is further from the median than five times what is
    usual among the ranks, and further than 2 % of the median.
    """
    if len(binned.ranks) < 4:
        return ()
    recent = slice(max(0, len(median) - max(1, len(median) // 4)), None)
    part = binned.mean[:, recent] - median[recent]
    usable = ~np.isnan(part).all(axis=1)
    distance = np.zeros(len(binned.ranks))
    distance[usable] = np.abs(np.nanmedian(part[usable], axis=1))
    usual = float(np.median(distance[usable])) if usable.any() else 0.0
    known = median[recent][~np.isnan(median[recent])]
    least = _OUTLIER_SHARE * abs(float(np.median(known))) if known.size else 0.0
    apart = np.flatnonzero(distance > max(_OUTLIER_DEVIATIONS * usual, least, 1e-12))
    ordered = sorted(apart.tolist(), key=lambda row: -distance[row])
    return tuple(ordered[:MAX_OUTLIERS])


def deviation_pct(binned: Binned) -> Floats:
    """(ranks, bins) deviation of each rank from the median of all, in percent of it."""
    result = np.full(binned.mean.shape, np.nan)
    some = ~np.isnan(binned.mean).all(axis=0)
    if some.any():
        median = np.nanmedian(binned.mean[:, some], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (binned.mean[:, some] - median) / np.abs(median) * 100.0
        part[~np.isfinite(part)] = np.nan
        result[:, some] = part
    return result
