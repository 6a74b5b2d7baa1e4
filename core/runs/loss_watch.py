"""Notices losses that are not finite and losses that jump.

Works value by value with a few numbers of memory a rank, so that a flood of
losses costs little. Decides what to say, not where it is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.runs.rank_words import on_ranks
from core.runs.snapshot import Alert
from core.units import format_count, format_number

_WARM_UP = 10
_WEIGHT = 0.1
_DEVIATIONS = 10.0
_RELATIVE = 0.5


@dataclass(frozen=True, slots=True)
class _Bad:
    step: int
    value: float
    t_ns: int


@dataclass(frozen=True, slots=True)
class _Spike:
    rank: int
    step: int
    value: float
    before: float
    t_ns: int


class _RankLosses:
    """Running mean and mean absolute deviation of one rank's finite losses."""

    __slots__ = ("count", "deviation", "first_bad", "mean")

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.deviation = 0.0
        self.first_bad: _Bad | None = None

    def add(self, value: float) -> bool:
        """Takes a finite loss; True if it jumps up from what came before."""
        self.count += 1
        if self.count == 1:
            self.mean = value
            return False
        distance = value - self.mean
        limit = max(_DEVIATIONS * self.deviation, _RELATIVE * abs(self.mean), 1e-9)
        is_spike = self.count > _WARM_UP and distance > limit
        if is_spike:
            distance = limit  # a single spike must not hide the next one
        weight = max(_WEIGHT, 1 / self.count)
        self.mean += weight * distance
        self.deviation += weight * (abs(distance) - self.deviation)
        return is_spike


class LossWatch:
    """What is odd about the losses of a run so far."""

    def __init__(self, ranks: int) -> None:
        self._world_size = ranks
        self._ranks: dict[int, _RankLosses] = {}
        self._spike: _Spike | None = None
        self._spikes = 0

    def add(self, rank: int, step: int, value: float, t_ns: int) -> None:
        """Takes the next loss of a rank."""
        losses = self._ranks.get(rank)
        if losses is None:
            losses = self._ranks[rank] = _RankLosses()
        if not math.isfinite(value):
            if losses.first_bad is None:
                losses.first_bad = _Bad(step, value, t_ns)
            return
        before = losses.mean
        if losses.add(value):
            self._spikes += 1
            newest = self._spike
            if newest is None or value - before > newest.value - newest.before:
                self._spike = _Spike(rank, step, value, before, t_ns)

    def forget(self, rank: int) -> None:
        """A rank's losses come from another source now, or it began again."""
        self._ranks.pop(rank, None)
        if self._spike is not None and self._spike.rank == rank:
            self._spike, self._spikes = None, 0

    def alerts(self) -> list[Alert]:
        """One alert for the first loss that is not finite, one for the largest jump."""
        return [alert for alert in (self._not_finite(), self._spiked()) if alert is not None]

    def _not_finite(self) -> Alert | None:
        bad = {rank: losses.first_bad for rank, losses in self._ranks.items() if losses.first_bad}
        if not bad:
            return None
        step = min(first.step for first in bad.values())
        ranks = sorted(rank for rank, first in bad.items() if first.step == step)
        first = bad[ranks[0]]
        where = on_ranks(ranks, self._world_size)
        return Alert(
            key="loss-not-finite",
            level="error",
            t_ns=first.t_ns,
            message=f"Loss is {format_number(first.value)} {where} at step {format_count(step)}",
            hint="Look at the gradient norm and the learning rate before that step.",
            rank=ranks[0],
            step=step,
        )

    def _spiked(self) -> Alert | None:
        spike = self._spike
        if spike is None:
            return None
        more = f"; {format_count(self._spikes)} jumps in all" if self._spikes > 1 else ""
        return Alert(
            key="loss-spike",
            level="warn",
            t_ns=spike.t_ns,
            message=(
                f"Loss jumped to {format_number(spike.value)} on rank {spike.rank} at step "
                f"{format_count(spike.step)}, from about {format_number(spike.before)}{more}"
            ),
            hint="Look at the data of that step and at the gradient norm.",
            rank=spike.rank,
            step=spike.step,
        )
