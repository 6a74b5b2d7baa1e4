"""Alerts in the words of the user, from what the diagnoses found. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runs.rank_words import begin, name_ranks
from core.runs.snapshot import Alert
from core.units import format_count, format_duration_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from core.runs.failures import Failure
    from core.runs.rank_facts import RankFacts
    from core.runs.rank_track import RankTrack
    from core.runs.stragglers import Straggler

_LEVELS = {"error": 0, "warn": 1, "info": 2}
_TEXT_LIMIT = 240
_LESS_MEMORY = "Use a smaller batch or activation checkpointing."


def in_order(alerts: Sequence[Alert]) -> tuple[Alert, ...]:
    """The gravest first, otherwise as given."""
    return tuple(sorted(alerts, key=lambda alert: _LEVELS[alert.level]))


def failure_alert(failure: Failure) -> Alert:
    """What ended the run first."""
    return Alert(
        key="failure",
        level="error",
        t_ns=failure.t_ns,
        message=failure.message,
        hint=failure.hint,
        rank=failure.rank,
        step=failure.step,
    )


def memory_alerts(
    facts: Sequence[RankFacts],
    tracks: Sequence[RankTrack],
    logged: Mapping[int | None, tuple[int, str]],
) -> list[Alert]:
    """Ranks that ran out of memory, by their exception or by their output, and ranks close to it.

    Args:
        facts: Facts of all ranks.
        tracks: The ranks, in the same order.
        logged: Rank -> (time, line) of the first line of output that says so.
    """
    steps: dict[int | None, int | None] = {track.rank: track.last_step for track in tracks}
    found = {rank: _out_of_memory(rank, t_ns, steps.get(rank), text) for rank, (t_ns, text) in logged.items()}
    for fact in facts:
        if fact.error is not None and fact.error.out_of_memory:
            found[fact.rank] = _out_of_memory(fact.rank, fact.error.t_ns, fact.error.step, fact.error.message)
    if len(found) > 1:
        found.pop(None, None)  # the launcher repeats what a rank has said
    tight = [
        Alert(
            key=f"tight-{track.rank}",
            level="warn",
            t_ns=track.heartbeat_ns or 0,
            message=(
                f"Rank {track.rank} had to give memory back {format_count(track.alloc_retries)} times "
                "to go on: its GPU is nearly full"
            ),
            hint=_LESS_MEMORY,
            rank=track.rank,
        )
        for track in tracks
        if track.alloc_retries and track.rank not in found
    ]
    return [*found.values(), *tight]


def _out_of_memory(rank: int | None, t_ns: int, step: int | None, text: str) -> Alert:
    who = "A process" if rank is None else f"Rank {rank}"
    at = "" if step is None else f" at step {format_count(step)}"
    line = text.strip().partition("\n")[0][:_TEXT_LIMIT]
    return Alert(
        key=f"oom-{rank}",
        level="error",
        t_ns=t_ns,
        message=f"{who} ran out of memory{at}: {line}",
        hint=_LESS_MEMORY,
        rank=rank,
        step=step,
    )


def slow_alert(slow: Straggler, since_ns: int) -> Alert:
    """The one rank that the others wait for."""
    return Alert(
        key="slow",
        level="warn",
        t_ns=since_ns,
        message=(
            f"Rank {slow.rank} is slow: {format_duration_ns(slow.own_ns)} of its own a step, "
            f"the others {format_duration_ns(slow.others_ns)}"
        ),
        hint="Look at its data loading, at its clocks and at what else runs on its device.",
        rank=slow.rank,
    )


def warning_alert(key: str, ranks: Set[int | None], message: str, count: int, t_ns: int) -> Alert:
    """A warning that programs wrote; None among ``ranks`` is the launcher."""
    known = sorted(rank for rank in ranks if rank is not None)
    who = begin(name_ranks(known)) if known else "torchrun"
    verb = "warn" if len(known) > 1 else "warns"
    times = f" ({format_count(count)} times)" if count > 1 else ""
    return Alert(
        key=f"log-{key}",
        level="warn",
        t_ns=t_ns,
        message=f"{who} {verb}: {message[:_TEXT_LIMIT]}{times}",
        rank=known[0] if known else None,
    )
