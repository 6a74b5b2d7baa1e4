"""The state of a run in the words of the top bar, the status bar and the lists. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runs.snapshot import RankStatus
from core.units import format_count, format_file_bytes

if TYPE_CHECKING:
    from core.runs.manifest import Status
    from core.runs.snapshot import Capture, RunSnapshot

ALIVE = frozenset(
    {RankStatus.STARTING, RankStatus.RUNNING, RankStatus.SLOW, RankStatus.WAITING, RankStatus.SILENT}
)

STATUS_WORDS: dict[Status, tuple[str, str, str]] = {
    "created": ("circle-dashed", "Starting", "info"),
    "starting": ("circle-dashed", "Starting", "info"),
    "running": ("activity", "Running", "ok"),
    "stopping": ("stop-fill", "Stopping", "warn"),
    "done": ("check-circle", "Done", "ok"),
    "failed": ("warning-octagon", "Failed", "error"),
    "stopped": ("stop-fill", "Stopped", "none"),
    "lost": ("warning", "Lost", "warn"),
}
"""Status -> (icon, word, level)."""


def last_step(snapshot: RunSnapshot) -> int | None:
    """The highest step that any rank has ended."""
    steps = [rank.step for rank in snapshot.ranks if rank.step is not None]
    return max(steps, default=None)


def job_state(snapshot: RunSnapshot) -> tuple[str, str, str]:
    """(icon, words, level) for the pill: "Running, step 1,248"."""
    icon, word, level = STATUS_WORDS[snapshot.status]
    step = last_step(snapshot)
    at = "" if step is None or word == "Starting" else f"{' at' if word == 'Stopped' else ','} step "
    return icon, f"{word}{at}{format_count(step)}" if at else word, level


def job_line(snapshot: RunSnapshot) -> tuple[str, str]:
    """(text, level) for the status bar: "minillm running"."""
    _, word, level = STATUS_WORDS[snapshot.status]
    return f"{snapshot.manifest.job.title} {word.lower()}", level


def ranks_line(snapshot: RunSnapshot) -> str:
    """How many ranks live: "4 of 4 ranks alive"."""
    total = snapshot.manifest.job.ranks
    alive = sum(rank.status in ALIVE for rank in snapshot.ranks)
    return f"{alive} of {total} {'rank' if total == 1 else 'ranks'} alive"


def problem_count(snapshot: RunSnapshot) -> tuple[int, str]:
    """(how many alerts, failed captures and reading problems, the worst level among them)."""
    levels = [alert.level for alert in snapshot.alerts if alert.level != "info"]
    levels += ["error" for capture in snapshot.captures if capture.state == "failed"]
    count = len(levels) + len(snapshot.problems)
    if "error" in levels:
        return count, "error"
    return count, "warn" if count else "none"


def capture_words(capture: Capture, snapshot: RunSnapshot) -> tuple[str, str]:
    """What is ready of the request that a capture belongs to, and where it lies."""
    ready = [each for each in snapshot.captures if each.request == capture.request and each.state == "ready"]
    ranks = sorted({each.rank for each in ready})
    who = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
    what = {"trace": "Trace", "snapshot": "Memory snapshot", "stacks": "Stacks"}.get(capture.what, "Capture")
    start = "" if capture.step is None else f"from step {format_count(capture.step)}, "
    size = format_file_bytes(sum(each.file_bytes or 0 for each in ready))
    folder = (capture.file or "").rpartition("/")[0]
    return f"{what} of {who} is ready:", f"{start}{size}{f' in {folder}' if folder else ''}."
