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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EQUAL = 0.1
"""Spread of step times, as a share, up to which they count as equal."""

_NOTICEABLE = 0.15
"""Share of a step from which waiting in backward can be told from noise."""

_SLOW = 1.25
"""Times the median of the others from which a rank is slow."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """The slow rank, with its own time and the median own time of the others."""

    rank: int
    own_ns: float
    others_ns: float


def own_times(
    step_ns: NDArray[np.float64], backward_ns: NDArray[np.float64], host_times_are_work: bool
) -> NDArray[np.float64] | None:
    """Own time of each rank, or None if it cannot be known.

    Args:
        step_ns: (steps, ranks) float64, time of each of some common steps.
        backward_ns: (steps, ranks) float64, time in backward; NaN is not measured.
        host_times_are_work: The ranks compute where these times are taken (CPU).

    Returns:
        (ranks,) float64 ns, medians over the steps.
    """
    if step_ns.shape[0] == 0 or step_ns.shape[1] < 2 or not np.isfinite(step_ns).all():
        return None
    step: NDArray[np.float64] = np.median(step_ns, axis=0)
    if np.ptp(step) > _EQUAL * np.median(step):
        return step
    if not host_times_are_work or not np.isfinite(backward_ns).all():
        return None
    waited = np.median(backward_ns - backward_ns.min(axis=1, keepdims=True), axis=0)
    if waited.max() < _NOTICEABLE * np.median(step):
        return None
    own: NDArray[np.float64] = step - waited
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
