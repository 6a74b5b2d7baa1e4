"""Shows a run on a terminal as one table that is redrawn in place: a row a rank, GPUs, alerts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from core.cli.figures import (
    IN_ORDER,
    elapsed_s,
    headline,
    planned_steps,
    rank_cells,
    rank_header,
    steps_done,
)
from core.files import printable
from core.hardware.readings import CALM_REASONS
from core.runs.snapshot import RankStatus
from core.units import NOT_MEASURED, format_count, format_elapsed, gib

if TYPE_CHECKING:
    from rich.console import RenderableType

    from core.hardware.readings import GpuReading
    from core.runs.snapshot import RankState, RunSnapshot

REDRAW_S = 0.25
OTHER_LINES = 12
"""Lines of the display that are no rows of ranks."""
ALERTS = 3
LEVEL_STYLES = {"info": "blue", "warn": "yellow", "error": "red"}


class LiveDisplay:
    """A table that stays in place."""

    def __init__(self, console: Console | None = None) -> None:
        # No markup: names and messages of a script are shown as they are.
        self._console = console or Console(markup=False, highlight=False, emoji=False)
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False)
        self._live.start()
        self._latest: RunSnapshot | None = None
        self._drawn_s = 0.0

    def show(self, snapshot: RunSnapshot, note: str) -> None:
        """Redraw, at most four times a second."""
        self._latest = snapshot
        if time.monotonic() - self._drawn_s >= REDRAW_S:
            self._drawn_s = time.monotonic()
            self._draw(snapshot, note)

    def close(self) -> None:
        """Leave the newest figures standing and give the cursor back."""
        if self._latest is not None:
            self._draw(self._latest, "")
        self._live.stop()

    def _draw(self, snapshot: RunSnapshot, note: str) -> None:
        self._live.update(render(snapshot, note, self._console.height - OTHER_LINES), refresh=True)


def render(snapshot: RunSnapshot, note: str, most_rows: int) -> RenderableType:
    """Build the display of one moment.

    Args:
        snapshot: The run.
        note: What the keyboard does now.
        most_rows: Rows for ranks; those that are not in order come first.
    """
    parts: list[RenderableType] = [_title(snapshot), _progress(snapshot), _ranks(snapshot, max(4, most_rows))]
    if snapshot.gpus:
        parts.append(_gpus(snapshot.gpus))
    elif snapshot.gpus_unavailable and snapshot.manifest.job.device == "cuda":
        parts.append(Text(printable(snapshot.gpus_unavailable), style="yellow"))
    for alert in snapshot.alerts[:ALERTS]:  # the gravest come first
        parts.append(Text(f"{alert.level}: {printable(alert.message)}", style=LEVEL_STYLES[alert.level]))
    parts.append(Text(note, style="dim"))
    return Group(*parts)


def _title(snapshot: RunSnapshot) -> Text:
    text = Text(format_elapsed(elapsed_s(snapshot)), style="bold")
    text.append(f"  {headline(snapshot)}")
    return text


def _progress(snapshot: RunSnapshot) -> RenderableType:
    planned = planned_steps(snapshot.manifest.job)
    done = steps_done(snapshot.ranks)
    if planned is None:
        return Text("")
    row = Table.grid(padding=(0, 1))
    row.add_row(
        ProgressBar(total=planned, completed=min(done, planned), width=40),
        f"{format_count(done)} of {format_count(planned)} steps",
    )
    return row


def _ranks(snapshot: RunSnapshot, most_rows: int) -> Table:
    device = snapshot.manifest.job.device
    table = Table(box=None, pad_edge=False, header_style="dim")
    for position, name in enumerate(rank_header(device)):
        table.add_column(name, justify="left" if position == 1 else "right", no_wrap=True)
    ranks = list(snapshot.ranks)
    if len(ranks) > most_rows:
        ranks.sort(key=lambda rank: (rank.status in IN_ORDER, rank.rank))
    for rank in ranks[:most_rows]:
        cells = rank_cells(rank, device)
        table.add_row(*(Text(cell, style=_style(rank) if at == 1 else "") for at, cell in enumerate(cells)))
    if len(ranks) > most_rows:
        table.add_row("", Text(f"and {len(ranks) - most_rows} more ranks", style="dim"))
    return table


def _style(rank: RankState) -> str:
    if rank.status in (RankStatus.RUNNING, RankStatus.DONE):
        return "green"
    if rank.status in (RankStatus.FAILED, RankStatus.SILENT, RankStatus.GONE):
        return "red"
    return "dim" if rank.status in IN_ORDER else "yellow"


def _gpus(gpus: tuple[GpuReading, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for position, name in enumerate(
        ("GPU", "used GiB", "of GiB", "busy %", "W", "\N{DEGREE SIGN}C", "limits")
    ):
        table.add_column(name, justify="left" if position in (0, 6) else "right", no_wrap=True)
    for gpu in gpus:
        title = str(gpu.index) if gpu.slice_index is None else f"{gpu.index} slice {gpu.slice_index}"
        limits = [reason for reason in gpu.throttle_reasons or [] if reason not in CALM_REASONS]
        table.add_row(
            title,
            gib(gpu.used_bytes),
            gib(gpu.total_bytes),
            *(_whole(value) for value in (gpu.utilization_pct, gpu.power_w, gpu.temperature_c)),
            Text("lost", style="red") if gpu.lost else Text(", ".join(limits), style="yellow"),
        )
    return table


def _whole(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.0f}"
