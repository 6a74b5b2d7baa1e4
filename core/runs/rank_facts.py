"""What is known of one rank at one moment, as the diagnoses need it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core.runs.stack_text import Place

SECOND_NS = 1_000_000_000

Phase = Literal["start", "forward", "backward", "optimizer", "idle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaisedError:
    """An exception that ended a rank's script."""

    type: str
    message: str
    step: int | None
    t_ns: int
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFacts:
    """What is known of one rank at one moment; times are Unix time in ns.

    Attributes:
        started: Its agent has written something.
        working: The script has shown a step, a loss or any output.
        step: Steps that the agent has seen end, which is also the number of the
            step under way (steps count from 0); None before its first word.
        log_step: Newest step that the rank's output names.
        phase: From the newest heartbeat.
        progress_ns: Newest step, loss or output; its start before that.
        arrived_ns: When it came to its step and phase; None if that is unknown.
        heartbeat_ns: Newest record of any kind.
        process_gone: Its process is known to have ended.
        exit_code: Negative is a signal; None while it runs or if unknown.
        ended_ns: When the script ended, from the agent.
        signalled: We, or the launcher on our behalf, have sent it a signal.
        place: From a stacks capture that is newer than its progress.
        stands: The last two stacks captures show the same frames.
    """

    rank: int
    started: bool = False
    working: bool = False
    step: int | None = None
    log_step: int | None = None
    phase: Phase = "start"
    progress_ns: int | None = None
    arrived_ns: int | None = None
    heartbeat_ns: int | None = None
    process_gone: bool = False
    error: RaisedError | None = None
    exit_code: int | None = None
    ended_ns: int | None = None
    signalled: bool = False
    place: Place | None = None
    stands: bool = False

    @property
    def has_ended(self) -> bool:
        """Nothing more is to be expected of it."""
        return self.exit_code is not None or self.ended_ns is not None or self.error is not None

    @property
    def is_live(self) -> bool:
        """It has begun and not ended."""
        return self.started and not self.has_ended and not self.process_gone

    @property
    def last_step(self) -> int | None:
        """The newest step that it is known to have reached, as the user counts."""
        if self.step:
            return self.step - 1
        return self.log_step
