"""The ladder of signals that ends a job: which signal is due, when, and to whom. Sends none itself."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

Why = Literal["stop", "kill", "orphans"]

ORPHAN_GRACE_S = 2.0
ORPHAN_DELAY_S = 0.2
"""Helpers of Python's own end a moment after their program."""
KILL_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True)
class Rung:
    """One signal, and how long it may take.

    Attributes:
        launcher_only: While torchrun lives it alone gets it and passes it on,
            so that a script sees one interrupt, not two.
    """

    signal: signal.Signals
    wait_s: float
    launcher_only: bool = False


class Ladder:
    """Signals in order, each due when the time of the one before is over.

    Times are of the monotonic clock, in seconds.
    """

    def __init__(self, why: Why, rungs: list[Rung], now_s: float, delay_s: float = 0.0) -> None:
        self.why = why
        self._rungs = rungs
        self._next = 0
        self._due_s = now_s + delay_s
        self.killing_since_s: float | None = None

    def due(self, now_s: float) -> Rung | None:
        """Returns the signal that is due now and counts it as sent; the last one repeats."""
        if now_s < self._due_s:
            return None
        rung = self._rungs[min(self._next, len(self._rungs) - 1)]
        self._next += 1
        self._due_s = now_s + rung.wait_s
        if rung.signal == signal.SIGKILL and self.killing_since_s is None:
            self.killing_since_s = now_s
        return rung


def stop_ladder(now_s: float, grace_s: float) -> Ladder:
    """Returns the ladder of a graceful stop."""
    return Ladder(
        "stop",
        [
            Rung(signal.SIGINT, grace_s, launcher_only=True),
            Rung(signal.SIGTERM, grace_s),
            Rung(signal.SIGKILL, KILL_AGAIN_S),
        ],
        now_s,
    )


def kill_ladder(now_s: float) -> Ladder:
    """Returns the ladder of a stop that does not wait."""
    return Ladder("kill", [Rung(signal.SIGKILL, KILL_AGAIN_S)], now_s)


def orphan_ladder(now_s: float, grace_s: float, *, patient: bool) -> Ladder:
    """Returns the ladder for processes that outlive torchrun; ``patient`` lets them end by themselves."""
    return Ladder(
        "orphans",
        [Rung(signal.SIGTERM, min(grace_s, ORPHAN_GRACE_S)), Rung(signal.SIGKILL, KILL_AGAIN_S)],
        now_s,
        delay_s=grace_s if patient else ORPHAN_DELAY_S,
    )
