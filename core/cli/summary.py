"""What a run came to, printed once it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.cli.figures import elapsed_s, headline
from core.cli.output import columns, write_line
from core.files import printable
from core.runs.snapshot import RankStatus
from core.units import NOT_MEASURED, format_count, format_elapsed, format_number, gib

if TYPE_CHECKING:
    from core.runs.manifest import Status
    from core.runs.snapshot import RankState, RunSnapshot
    from core.runs.store import RunFolder


def write_summary(folder: RunFolder, snapshot: RunSnapshot, status: Status) -> None:
    """Print how the run ended, each rank's losses and peak memory, and where everything lies."""
    write_line()
    write_line(f"{status} after {format_elapsed(elapsed_s(snapshot))}: {headline(snapshot)}")
    device = snapshot.manifest.job.device
    peak = "peak allocated GiB" if device == "cuda" else "peak resident GiB"
    header = ["rank", "state", "last step", "first loss", "last loss", peak]
    rows = [_cells(rank, snapshot, device) for rank in snapshot.ranks]
    for line in columns(header, rows, "rlrrrr"):
        write_line(line)
    for message in _troubles(snapshot):
        write_line(message)
    failing = _first_failing(snapshot)
    if failing is not None:
        write_line(f"rank {failing.rank}:")
        for line in (failing.traceback or "").splitlines():
            write_line(f"  {printable(line)}")
    for capture in snapshot.captures:
        if capture.file:
            write_line(f"rank {capture.rank}: {capture.what} in {printable(str(folder.path / capture.file))}")
    write_line(f"Everything is in {printable(str(folder.path))}")


def _cells(rank: RankState, snapshot: RunSnapshot, device: str) -> list[str]:
    losses = snapshot.series.get("loss", {}).get(rank.rank)
    ends = [NOT_MEASURED, NOT_MEASURED]
    if losses is not None and len(losses.y) > 0:
        ends = [format_number(float(losses.y[0])), format_number(float(losses.y[-1]))]
    peak = gib(rank.peak_bytes)
    resident = snapshot.series.get("resident", {}).get(rank.rank)
    if device != "cuda" and resident is not None and np.isfinite(resident.y).any():
        peak = f"{float(np.nanmax(resident.y)):.2f}"
    elif device != "cuda" and rank.peak_bytes is not None:
        peak += " (by its log)"
    return [str(rank.rank), rank.status.value, format_count(rank.step), *ends, peak]


def _troubles(snapshot: RunSnapshot) -> list[str]:
    """Return warnings, errors and what was skipped while reading; not again what the headline tells."""
    lines = [
        f"{alert.level}: {printable(alert.message)}"
        for alert in snapshot.alerts
        if alert.level != "info" and alert.message != snapshot.headline
    ]
    lines += [f"{count} x {code}: {printable(message)}" for code, count, message in snapshot.problems]
    return lines


def _first_failing(snapshot: RunSnapshot) -> RankState | None:
    """Return the rank that the headline is about, else the first that failed, if it left a traceback."""
    failed = [rank for rank in snapshot.ranks if rank.status == RankStatus.FAILED]
    meant = [rank for rank in failed if snapshot.headline.startswith(f"Rank {rank.rank} ")]
    return next((rank for rank in (meant or failed)[:1] if rank.traceback), None)
