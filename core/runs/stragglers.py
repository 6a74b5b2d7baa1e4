"""Which rank the others wait for, judged from times that ranks measure themselves.

Collectives make all ranks take the same time for a step, and a rank that waits
looks just as busy as the one that is waited for. So a rank's own time is given
only where it can be known, and is None elsewhere:

* Step times differ: nobody waits for anybody, so each step time is a rank's own.
* Step times are equal, but some ranks spend longer in backward than others: what
  they spend longer there than the quickest is waiting (in the reduction of
  gradients). This holds only for host times that include the work, on the CPU;
  on a GPU the host runs ahead of the work.
* Otherwise nothing is known: ranks may wait in forward as well.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rule = Literal["whole step", "without waiting"]

_EQUAL = 0.1
"""Spread of step times, as a share, up to which they count as equal."""

_NOTICEABLE = 0.15
"""Share of a step from which waiting in backward can be told from noise."""

_WINDOW = 16
_WAITING_LIMIT = 256

_SLOW = 1.25
"""Times the median of the others from which a rank is slow."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """The slow rank, with its own time and the median own time of the others."""

    rank: int
    own_ns: float
    others_ns: float


def own_time_rule(
    step_ns: NDArray[np.float64], backward_ns: NDArray[np.float64], host_times_are_work: bool
) -> Rule | None:
    """How own times can be known from some common steps.

    Args:
        step_ns: (steps, ranks) float64, time of each step.
        backward_ns: (steps, ranks) float64, time in backward; NaN is not measured.
        host_times_are_work: The ranks compute where these times are taken (CPU).
    """
    if step_ns.shape[0] == 0 or step_ns.shape[1] < 2 or not np.isfinite(step_ns).all():
        return None
    step = np.median(step_ns, axis=0)
    if np.ptp(step) > _EQUAL * np.median(step):
        return "whole step"
    if not host_times_are_work or not np.isfinite(backward_ns).all():
        return None
    waited = np.median(backward_ns - backward_ns.min(axis=1, keepdims=True), axis=0)
    return "without waiting" if waited.max() >= _NOTICEABLE * np.median(step) else None


def own_times(
    step_ns: NDArray[np.float64], backward_ns: NDArray[np.float64], rule: Rule
) -> NDArray[np.float64]:
    """Own time of each rank in each step: (steps, ranks) float64 ns."""
    if rule == "whole step":
        return step_ns
    own: NDArray[np.float64] = step_ns - (backward_ns - backward_ns.min(axis=1, keepdims=True))
    return own


def find_straggler(own_ns: NDArray[np.float64]) -> Straggler | None:
    """The one rank whose own time is a quarter above the median of the others."""
    rank = int(np.argmax(own_ns))
    others_ns = float(np.median(np.delete(own_ns, rank)))
    if own_ns[rank] <= _SLOW * others_ns:
        return None
    second_ns = float(np.delete(own_ns, rank).max())
    if own_ns[rank] < second_ns * (1 + _EQUAL):
        return None  # two of a kind: no single rank holds the others up
    return Straggler(rank, float(own_ns[rank]), others_ns)


class StepTable:
    """The newest steps that every rank has taken, with each rank's times in them."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._waiting: dict[int, dict[int, tuple[float, float]]] = {}
        self._rows: deque[tuple[int, NDArray[np.float64]]] = deque(maxlen=_WINDOW)

    def add(self, rank: int, step: int, step_ns: int | None, backward_ns: int | None) -> None:
        """Takes a step of a rank; one without a time (the first) is left out."""
        if step_ns is None:
            return
        row = self._waiting.setdefault(step, {})
        row[rank] = (float(step_ns), math.nan if backward_ns is None else float(backward_ns))
        if len(row) == self._ranks:
            del self._waiting[step]
            self._rows.append((step, np.array([row[rank] for rank in range(self._ranks)]).T))
        elif len(self._waiting) > _WAITING_LIMIT:
            del self._waiting[min(self._waiting)]

    @property
    def newest(self) -> int | None:
        """The newest step that every rank has taken."""
        return self._rows[-1][0] if self._rows else None

    def times(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """(steps,) numbers, (steps, ranks) step times and (steps, ranks) times in backward, ns."""
        numbers = np.array([step for step, _ in self._rows], dtype=np.int64)
        both = np.array([times for _, times in self._rows]).reshape(len(numbers), 2, self._ranks)
        return numbers, both[:, 0, :], both[:, 1, :]
