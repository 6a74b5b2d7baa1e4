"""Fewer points that draw the same picture: min/max decimation of long curves.

Works on arrays only; what a gap or a mark looks like is decided where curves are
drawn. A screen column shows nothing but the span from the lowest to the highest
value inside it, so two points a column are enough, and a spike of one point
cannot get lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Positions = NDArray[np.intp]


_BLOCK = 15_000
"""Points that are worked on at a time."""


def min_max(x: Floats, y: Floats, x0: float, x1: float, pixels: int) -> tuple[Floats, Floats]:
    """The points that draw like the whole curve between x0 and x1.

    Of each of the ``pixels`` equal columns the lowest and the highest finite
    point stay, at their own x; where a column holds a value that is not finite,
    the first such stays as NaN, so that the line breaks there. The nearest point
    on either side of the view stays too, so that lines run out of it. Curves of
    fewer points than that come back whole.

    Args:
        x: (n,) float64, ascending.
        y: (n,) float64; NaN and infinities are allowed.
        x0: Left edge of the view, in units of x.
        x1: Right edge.
        pixels: Columns between the edges.

    Returns:
        x and y, both (m,) float64, x ascending, m <= 3 * pixels + 2. y is
        finite or NaN.
    """
    first = max(0, int(np.searchsorted(x, x0, "left")) - 1)
    last = min(len(x), int(np.searchsorted(x, x1, "right")) + 1)
    x, y = x[first:last], y[first:last]
    bad = np.flatnonzero(~np.isfinite(y))
    if len(x) > 2 * max(1, pixels) + 2 and x1 > x0:
        edges = x0 + (x1 - x0) * np.arange(1, max(1, pixels)) / max(1, pixels)
        starts = _bucket_starts(np.searchsorted(x, edges, "left"), x, x0, x1)
        kept = _kept(y, bad, starts)
        x, y = x[kept], y[kept]
        bad = np.flatnonzero(~np.isfinite(y)) if len(bad) else bad
    if len(bad):
        y = y.copy()
        y[bad] = np.nan
    return x, y


def _bucket_starts(inner: Positions, x: Floats, x0: float, x1: float) -> Positions:
    """Starts of the buckets that hold a point; the points outside the view are buckets of their own."""
    inside = int(np.searchsorted(x, x0, "left")), int(np.searchsorted(x, x1, "right"))
    starts = np.concatenate(([0, inside[0]], inner, [inside[1]]))
    starts = starts[starts < len(x)]
    return starts[np.diff(starts, append=len(x)) > 0]


def reduce_to_extremes(y: Floats, bucket: int) -> Positions:
    """Positions to keep of a curve that is cut into buckets of equally many points.

    Args:
        y: (n,) float64.
        bucket: Points a bucket.

    Returns:
        Ascending positions: the lowest, the highest and the first value that is
        not finite of each bucket.
    """
    return _kept(y, np.flatnonzero(~np.isfinite(y)), np.arange(0, len(y), bucket))


def _kept(y: Floats, bad: Positions, starts: Positions) -> Positions:
    """Positions of each bucket's lowest, highest and first bad point, ascending.

    Works on a few buckets at a time: what fits the cache and the allocator's
    arenas takes a quarter of the time of arrays as long as the curve.
    """
    kept = []
    ends = np.append(starts[1:], len(y))
    first = 0
    while first < len(starts):
        begin = int(starts[first])
        last = max(first + 1, int(np.searchsorted(ends, begin + _BLOCK, "right")))
        end = int(ends[last - 1])
        bad_here = bad[np.searchsorted(bad, begin) : np.searchsorted(bad, end)] - begin if len(bad) else bad
        kept.append(_kept_of_block(y[begin:end], bad_here, starts[first:last] - begin) + begin)
        first = last
    return np.concatenate(kept) if kept else starts


def _kept_of_block(y: Floats, bad: Positions, starts: Positions) -> Positions:
    """The same for one block. In a bucket of nothing but bad points all three are its first."""
    marked = np.zeros(len(y), dtype=bool)
    counts = np.diff(starts, append=len(y))
    for reduce, stand_in in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        values = y
        if len(bad):
            values = y.copy()
            values[bad] = stand_in
        extremes = np.repeat(reduce.reduceat(values, starts), counts)
        marked[_first_in_buckets(np.flatnonzero(values == extremes), starts, len(y))] = True
    if len(bad):
        marked[_first_in_buckets(bad, starts, len(y))] = True
    return np.flatnonzero(marked)


def _first_in_buckets(positions: Positions, starts: Positions, count: int) -> Positions:
    """The first of the positions in each bucket that has one."""
    if len(positions) > 4 * len(starts):
        # A level curve hits at every point: cheaper than looking each of them up.
        by_position = np.full(count, count)
        by_position[positions] = positions
        first = np.minimum.reduceat(by_position, starts)
        return first[first < count]
    bucket = np.searchsorted(starts, positions, "right")
    return positions[np.diff(bucket, prepend=-1) > 0]


def marks(x: Floats, y: Floats, x0: float = -np.inf, x1: float = np.inf) -> Floats:
    """Where the curve holds NaN or an infinity: (m,) positions in x, x0 <= x <= x1."""
    first, last = int(np.searchsorted(x, x0, "left")), int(np.searchsorted(x, x1, "right"))
    return x[first:last][~np.isfinite(y[first:last])]


def lone_points(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Finite points without a finite neighbour, which a line does not show.

    Args:
        x: (n,) float64, as ``min_max`` gives it.
        y: (n,) float64.

    Returns:
        x and y of the points that need a dot.
    """
    drawable = np.isfinite(y)
    alone = drawable.copy()
    alone[1:] &= ~drawable[:-1]
    alone[:-1] &= ~drawable[1:]
    return x[alone], y[alone]


def positive(y: Floats) -> Floats:
    """A copy for a log scale (still linear): NaN where it has no place, at zero and below."""
    return np.where(y > 0, y, np.nan)


def count_not_positive(y: Floats) -> int:
    """How many measured values a log scale has no place for: zero, negative, finite."""
    return int(np.count_nonzero((y <= 0) & (y > -np.inf)))
