"""Curves that grow while they are looked at, and their smoothed copies.

The arrays handed out are read-only views that never change: a point is only ever
written behind their end, and what has to be rewritten goes into a new buffer.
Holds no knowledge of what is measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.telemetry.decimate import reduce_to_extremes
from core.telemetry.views import Series

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

POINT_LIMIT = 1 << 20
"""Points a curve keeps before its older part is thinned out."""

_THINNED_BUCKET = 8
_FIRST_CAPACITY = 64
_BLOCK = 256
_EXPONENT_LIMIT = 200.0


class GrowingSeries:
    """A curve with ascending x that takes points at its end.

    Memory is bounded: a curve of ``limit`` points keeps the lowest and the
    highest of each eight of its older half, so that spikes stay.
    """

    def __init__(self, limit: int = POINT_LIMIT) -> None:
        self._limit = max(limit, 4 * _THINNED_BUCKET)
        self._x = np.empty(_FIRST_CAPACITY)
        self._y = np.empty(_FIRST_CAPACITY)
        self._count = 0
        self._generation = 0
        self._view: Series | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def last_x(self) -> float | None:
        """X of the newest point, None while there is none."""
        return float(self._x[self._count - 1]) if self._count else None

    @property
    def last_y(self) -> float | None:
        """Y of the newest point, None while there is none."""
        return float(self._y[self._count - 1]) if self._count else None

    def append(self, x: float, y: float) -> None:
        """Adds a point. An x before the end replaces all from there on (a rank that began again)."""
        count = self._count
        if count and x < self._x[count - 1]:
            self.cut(x)
            count = self._count
        if count == len(self._x):
            self._grow()
            count = self._count
        self._x[count] = x
        self._y[count] = y
        self._count = count + 1
        self._view = None

    def extend(self, x: ArrayLike, y: ArrayLike) -> None:
        """Adds points, (m,) each, x ascending and not before the end of the curve."""
        new_x, new_y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        done = 0
        while done < len(new_x):
            if self._count == len(self._x):
                self._grow()
            taken = min(len(new_x) - done, len(self._x) - self._count)
            self._x[self._count : self._count + taken] = new_x[done : done + taken]
            self._y[self._count : self._count + taken] = new_y[done : done + taken]
            self._count += taken
            done += taken
        self._view = None

    def view(self) -> Series:
        """The curve as it is now; the same object until a point is added."""
        if self._view is None:
            x, y = self._x[: self._count], self._y[: self._count]
            x.flags.writeable = False
            y.flags.writeable = False
            self._view = Series(x=x, y=y, generation=self._generation)
        return self._view

    def cut(self, x: float) -> None:
        """Forgets the points from ``x`` on; views that were handed out keep theirs."""
        keep = int(np.searchsorted(self._x[: self._count], x, "left"))
        if keep < self._count:
            self._move(self._x[:keep], self._y[:keep], len(self._x))
            self._generation += 1

    def clear(self) -> None:
        """Forgets all points; views that were handed out keep theirs."""
        self._move(np.empty(0), np.empty(0), _FIRST_CAPACITY)
        self._generation += 1

    def _grow(self) -> None:
        if self._count < self._limit:
            self._move(self._x, self._y, min(2 * len(self._x), self._limit))
            return
        half = self._count // 2
        kept = reduce_to_extremes(self._y[:half], _THINNED_BUCKET)
        x = np.concatenate((self._x[:half][kept], self._x[half:]))
        y = np.concatenate((self._y[:half][kept], self._y[half:]))
        self._move(x, y, max(self._limit, len(x) + 1))
        self._generation += 1

    def _move(self, x: Floats, y: Floats, capacity: int) -> None:
        """Into a new buffer, so that views of the old one stay as they are."""
        new_x, new_y = np.empty(capacity), np.empty(capacity)
        new_x[: len(x)] = x
        new_y[: len(y)] = y
        self._x, self._y, self._count = new_x, new_y, len(x)
        self._view = None


class Smoother:
    """An exponential moving average of a growing curve, over its points.

    It is corrected for its start (the first average is the first value), and
    values that are not finite take no part in it and stay NaN. Only points that
    are new since the last call are worked on.

    Source: the correction is the one of Adam's moments, Kingma and Ba,
    "Adam: A Method for Stochastic Optimization", section 3 (2015).
    """

    def __init__(self, weight: float) -> None:
        """Takes the weight of the past, 0 (no smoothing) <= weight < 1.

        Raises:
            ValueError: The weight lies outside.
        """
        if not 0 <= weight < 1:
            raise ValueError(f"weight {weight} is not in [0, 1)")
        self._weight = weight
        self._block = max(1, min(_BLOCK, int(_EXPONENT_LIMIT / -math.log(weight)))) if weight else _BLOCK
        self._generation = -1
        self._restart()

    def _restart(self) -> None:
        self._sum, self._mass, self._done = 0.0, 0.0, 0
        self._buffer = np.empty(0)

    def update(self, series: Series) -> Series:
        """The smoothed curve of a newer view of the same series: same x, same length."""
        count = len(series.y)
        if series.generation != self._generation or count < self._done:
            self._generation = series.generation
            self._restart()
        if count > len(self._buffer):
            grown = np.empty(max(_FIRST_CAPACITY, 2 * count))
            grown[: self._done] = self._buffer[: self._done]
            self._buffer = grown
        for start in range(self._done, count, self._block):
            stop = min(start + self._block, count)
            self._buffer[start:stop] = self._averaged(series.y[start:stop])
        self._done = count
        y = self._buffer[:count]
        y.flags.writeable = False
        return Series(x=series.x, y=y, generation=series.generation)

    def _averaged(self, y: Floats) -> Floats:
        """The next block's averages, by sums of y / weight**k that cannot overflow in a block."""
        result = np.full(len(y), np.nan)
        finite = np.isfinite(y)
        values = y[finite]
        if self._weight == 0 or not len(values):
            result[finite] = values
            return result
        powers = self._weight ** np.arange(1, len(values) + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = powers * (self._sum + np.cumsum((1 - self._weight) * values / powers))
            masses = powers * (self._mass + np.cumsum((1 - self._weight) / powers))
            result[finite] = sums / masses
        self._sum, self._mass = float(sums[-1]), float(masses[-1])
        return result
