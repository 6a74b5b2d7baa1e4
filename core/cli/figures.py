"""The figures of a run as texts that the live table, the plain lines and the summary share."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from core.files import printable
from core.runs.job import flag_values
from core.runs.manifest import ENDED
from core.runs.snapshot import RankStatus
from core.units import format_count, format_ms, format_number, gib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runs.job import JobSpec
    from core.runs.snapshot import RankState, RunSnapshot

MEMORY_COLUMNS = {
    "cuda": ("allocated GiB", "reserved GiB", "driver GiB"),
    "cpu": ("resident GiB",),
}
"""By device: what the memory columns hold. ``driver`` is its figure for the process."""

IN_ORDER = frozenset({RankStatus.RUNNING, RankStatus.STARTING, RankStatus.DONE, RankStatus.NOT_STARTED})


def memory_cells(rank: RankState, device: str) -> list[str]:
    """Return the memory of a rank, one cell a column of ``MEMORY_COLUMNS``."""
    if device == "cuda":
        return [gib(value) for value in (rank.allocated_bytes, rank.reserved_bytes, rank.driver_bytes)]
    return [gib(rank.resident_bytes)]


def rank_cells(rank: RankState, device: str) -> list[str]:
    """Return rank, state, step, loss, step time in ms and memory."""
    return [
        str(rank.rank),
        rank.status.value,
        format_count(rank.step),
        format_number(rank.loss),
        format_ms(rank.step_time_ns),
        *memory_cells(rank, device),
    ]


def rank_header(device: str) -> list[str]:
    """Name the columns of ``rank_cells``."""
    return ["rank", "state", "step", "loss", "step ms", *MEMORY_COLUMNS[device]]


def elapsed_s(snapshot: RunSnapshot) -> float:
    """Return how long the run has gone on, or took; one that was lost, as far as it is known."""
    manifest = snapshot.manifest
    started_ns = manifest.started_ns or manifest.created_ns
    end_ns = manifest.ended_ns
    if end_ns is None and snapshot.status in ENDED:
        end_ns = max((rank.last_sign_ns or 0 for rank in snapshot.ranks), default=0)
        end_ns = max(end_ns, started_ns)
    return ((end_ns or time.time_ns()) - started_ns) / 1e9


def planned_steps(job: JobSpec) -> int | None:
    """Return how many steps a preset was asked for; None for anybody's own script."""
    steps = flag_values(job.arguments).get("steps", "") if job.preset is not None else ""
    return int(steps) if steps.isdecimal() else None


def steps_done(ranks: Sequence[RankState]) -> int:
    """Return how many steps every rank has ended; they are counted from 0."""
    return min((-1 if rank.step is None else rank.step for rank in ranks), default=-1) + 1


def span(values: Sequence[float | None]) -> str:
    """Show several figures as one, or as their least and greatest."""
    known = [value for value in values if value is not None]
    if not known:
        return format_number(None)
    odd = [value for value in known if not math.isfinite(value)]
    if odd:
        return format_number(odd[0])
    least, greatest = format_number(min(known), 4), format_number(max(known), 4)
    return least if least == greatest else f"{least} to {greatest}"


def headline(snapshot: RunSnapshot) -> str:
    """Return the one line on the state, safe to print."""
    return printable(snapshot.headline)
