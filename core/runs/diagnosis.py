"""The state of each rank in one word, and of the run in one line.

Pure functions: facts in, words out. Who stands still is ``hangs``' matter, what
failed first that of ``failures``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runs.failures import Failure, is_secondary
from core.runs.manifest import ENDED, Manifest, Status
from core.runs.snapshot import Alert, RankStatus
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runs.hangs import Hang
    from core.runs.rank_facts import RankFacts


def rank_status(rank: RankFacts, hang: Hang | None, slow_rank: int | None, status: Status) -> RankStatus:
    """The state of a rank, in one word."""
    if rank.has_ended:
        return _end_status(rank, status)
    if not rank.started:
        return RankStatus.NOT_STARTED
    if rank.process_gone or status in ENDED:
        return RankStatus.GONE
    return _live_status(rank, hang, slow_rank)


def _live_status(rank: RankFacts, hang: Hang | None, slow_rank: int | None) -> RankStatus:
    if hang is not None and hang.kind in {"silent", "dead"} and rank.rank in hang.ranks:
        return RankStatus.SILENT
    if _waits(rank, hang):
        return RankStatus.WAITING
    if not rank.working:
        return RankStatus.STARTING
    return RankStatus.SLOW if rank.rank == slow_rank else RankStatus.RUNNING


def _waits(rank: RankFacts, hang: Hang | None) -> bool:
    if hang is None:
        return False
    if hang.kind == "left":
        return hang.is_certain and rank.rank in hang.ranks
    return hang.kind == "silent" and rank.rank in hang.waiting


def _end_status(rank: RankFacts, status: Status) -> RankStatus:
    """Follows the exit code; a rank that was ended because of others has only stopped."""
    if rank.exit_code == 0 or (rank.exit_code is None and rank.error is None):
        return RankStatus.DONE
    by_others = rank.signalled or status in {"stopping", "stopped"} or rank.exit_code == -15
    if rank.error is None:
        by_others = by_others or rank.exit_code == -2
    else:
        by_others = by_others or is_secondary(rank.error.message)
    return RankStatus.STOPPED if by_others else RankStatus.FAILED


def headline(
    manifest: Manifest,
    status: Status,
    ranks: Sequence[RankFacts],
    failure: Failure | None,
    alerts: Sequence[Alert],
) -> str:
    """What went wrong first, else what the run does or how it ended.

    Args:
        manifest: Of the run.
        status: Checked against the processes that live.
        ranks: Facts of all ranks.
        failure: The first one, if any.
        alerts: The gravest first.
    """
    if failure is not None:
        return failure.message
    step = max((rank.last_step for rank in ranks if rank.last_step is not None), default=None)
    at_step = f" at step {format_count(step)}" if step is not None else ""
    if status in ENDED:
        return _end_words(manifest, status, at_step)
    urgent = next((alert for alert in alerts if alert.level == "error"), None)
    return urgent.message if urgent is not None else _live_words(manifest, status, ranks, at_step)


def _end_words(manifest: Manifest, status: Status, at_step: str) -> str:
    words = {
        "done": "Done" + at_step.replace(" at ", " after ", 1),
        "failed": "Failed",
        "stopped": f"Stopped{at_step}",
        "lost": f"The supervisor of this run is gone{at_step}",
    }
    return words[status] if status == "done" else manifest.summary or words[status]


def _live_words(manifest: Manifest, status: Status, ranks: Sequence[RankFacts], at_step: str) -> str:
    count = manifest.job.ranks
    of_ranks = "1 rank" if count == 1 else f"{count} ranks"
    started = sum(rank.started for rank in ranks)
    if status == "stopping":
        return f"Stopping {of_ranks}{at_step}"
    if status == "created" or started < count:
        return f"Starting {of_ranks}" + (f", {started} of {count} have started" if started else "")
    if not any(rank.working for rank in ranks):
        return f"{of_ranks} {'has' if count == 1 else 'have'} started, no step yet"
    return f"{of_ranks} {'runs' if count == 1 else 'run'}{at_step}"
