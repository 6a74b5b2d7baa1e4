"""Shows a run as plain lines, for pipes, files and logs: what is new, and the figures now and then."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from core.cli.figures import elapsed_s, headline, planned_steps, span
from core.cli.output import write_line
from core.files import printable
from core.units import NOT_MEASURED, format_count, format_duration_ns, format_elapsed, gib

if TYPE_CHECKING:
    from core.runs.snapshot import RankState, RunSnapshot

INTERVAL_S = 5.0
DIGITS = re.compile(r"[\d,.]+")
"""Taken out before two headlines are compared: a step that grows is no news."""


class PlainDisplay:
    """Prints a line when something has happened, and one with figures every few seconds."""

    def __init__(self) -> None:
        self._headline = ""
        self._note = ""
        self._alerts: set[str] = set()
        self._figures = ""
        self._next_s = 0.0

    def show(self, snapshot: RunSnapshot, note: str) -> None:
        """Print what is new."""
        clock = format_elapsed(elapsed_s(snapshot))
        if note != self._note:
            if self._note:
                write_line(f"{clock}  {note}")
            self._note = note
        for alert in snapshot.alerts:
            if alert.key not in self._alerts:
                self._alerts.add(alert.key)
                if alert.message == snapshot.headline:
                    continue  # the line below tells it
                write_line(f"{clock}  {alert.level}: {printable(alert.message)}")
        figures = figures_line(snapshot)
        words = DIGITS.sub("", headline(snapshot))
        is_due = time.monotonic() >= self._next_s and figures != self._figures
        if is_due or words != self._headline:
            self._headline, self._figures = words, figures
            self._next_s = time.monotonic() + INTERVAL_S
            write_line(f"{clock}  {headline(snapshot)}" + (f"  {figures}" if figures else ""))

    def close(self) -> None:
        """Nothing is left open."""


def figures_line(snapshot: RunSnapshot) -> str:
    """Return steps, loss, step time and memory over all ranks; "" before the first step."""
    ranks = snapshot.ranks
    steps = [rank.step for rank in ranks if rank.step is not None]
    if not steps:
        return ""
    planned = planned_steps(snapshot.manifest.job)
    slowest_ns = max((rank.step_time_ns for rank in ranks if rank.step_time_ns is not None), default=None)
    kind, memory = _memory(ranks, snapshot.manifest.job.device)
    parts = [
        f"step {format_count(min(steps))}" + (f" ({min(steps) + 1} of {planned})" if planned else ""),
        f"loss {span([rank.loss for rank in ranks])}",
        f"step time {format_duration_ns(slowest_ns)}",
        f"{kind} {gib(min(memory))} to {gib(max(memory))} GiB" if memory else f"{kind} {NOT_MEASURED}",
    ]
    return "  ".join(parts)


def _memory(ranks: tuple[RankState, ...], device: str) -> tuple[str, list[int]]:
    if device == "cuda":
        return "allocated", [rank.allocated_bytes for rank in ranks if rank.allocated_bytes is not None]
    return "resident", [rank.resident_bytes for rank in ranks if rank.resident_bytes is not None]
