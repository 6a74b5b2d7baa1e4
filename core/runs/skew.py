"""How far apart the ranks' step times are, step by step, while they grow.

Works on the ranks' own curves, so it needs no memory of steps that some ranks
have not ended yet, however far one file has been read ahead of another.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from core.telemetry.series import GrowingSeries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from core.telemetry.views import Series

    Floats = NDArray[np.float64]


class StepSkew:
    """Largest minus smallest step time over all ranks, at each step that every one of them has ended."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._curve = GrowingSeries()
        self._next_step = -math.inf

    def begin_again(self, step: float) -> None:
        """Forgets all from a step on: a rank takes them once more."""
        self._curve.cut(step)
        self._next_step = min(self._next_step, step)

    def follow(self, step_times: Mapping[int, Series]) -> Series | None:
        """Takes in what the ranks' step times have gained since the last call.

        Args:
            step_times: By rank; x is the step, y the time in any unit.

        Returns:
            The skew in the same unit, None while no step can be compared.
        """
        if len(step_times) == self._ranks > 1:
            self._compare(step_times)
        return self._curve.view() if len(self._curve) else None

    def _compare(self, step_times: Mapping[int, Series]) -> None:
        last = min(float(series.x[-1]) for series in step_times.values())
        if last < self._next_step:
            return
        new = [_between(series, self._next_step, last) for series in step_times.values()]
        steps = new[0][0]
        if not all(np.array_equal(steps, x) for x, _ in new[1:]):  # some have lost records
            steps = functools.reduce(np.intersect1d, [x for x, _ in new])
        if steps.size:
            times = [y[np.searchsorted(x, steps)] for x, y in new]
            self._curve.extend(steps, np.max(times, axis=0) - np.min(times, axis=0))
        self._next_step = math.nextafter(last, math.inf)


def _between(series: Series, first: float, last: float) -> tuple[Floats, Floats]:
    start = int(np.searchsorted(series.x, first, "left"))
    stop = int(np.searchsorted(series.x, last, "right"))
    return series.x[start:stop], series.y[start:stop]
