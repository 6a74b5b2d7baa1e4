"""Follows a run in the terminal until it ends: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from core.cli.live import LiveDisplay
from core.cli.output import write_line
from core.cli.plain import PlainDisplay
from core.cli.summary import write_summary
from core.errors import DashboardError
from core.launch.client import request_stop
from core.runs.manifest import ENDED
from core.runs.monitor import RunMonitor
from core.runs.store import default_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from core.runs.manifest import Status
    from core.runs.snapshot import RunSnapshot
    from core.runs.store import RunFolder

FAILED = 3
POLL_S = 0.1
LOST_AFTER_S = 3.0
"""How long a supervisor may be gone before a run without an end counts as lost."""


class Display(Protocol):
    """What shows a run while it goes on."""

    def show(self, snapshot: RunSnapshot, note: str) -> None:
        """Show the run as it is now; ``note`` is what this command is about to do."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Interrupts:
    """Counts SIGINT and SIGTERM instead of dying of them."""

    def __init__(self) -> None:
        self.count = 0
        self.first: signal.Signals | None = None

    def _take(self, number: int, _: FrameType | None) -> None:
        self.count += 1
        self.first = self.first or signal.Signals(number)

    @contextmanager
    def caught(self) -> Iterator[Interrupts]:
        """Catch the signals inside a ``with`` block."""
        before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def follow(folder: RunFolder, *, owner: bool, interrupts: Interrupts | None = None) -> int:
    """Show a run until it has ended and everything is read, then its summary.

    Args:
        folder: The run.
        owner: This command started the run: Ctrl+C stops it, a second one kills
            it. Otherwise Ctrl+C only leaves it alone.
        interrupts: Those that came while the run was started count too.

    Returns:
        0 for a run that is done, 3 for another end, 128 plus the signal's
        number where this command was told to stop.
    """
    monitor = RunMonitor(folder)
    display: Display = LiveDisplay() if _can_redraw() else PlainDisplay()
    with (interrupts or Interrupts()).caught() as caught:
        try:
            snapshot = _watch(monitor, folder, display, caught, owner=owner)
        finally:
            display.close()
    status = end_status(snapshot)
    if status is None:
        write_line(f"The run goes on. Follow it again with `attach {name_of(folder)}`.")
        return 0
    write_summary(folder, snapshot, status)
    if snapshot.manifest.status not in ENDED:
        write_line(f"Processes of it may live: `stop {name_of(folder)}` ends them.")
    if owner and caught.first is not None and status != "done":
        return 128 + caught.first
    return 0 if status == "done" else FAILED


def _can_redraw() -> bool:
    """Tell whether a table can be redrawn in place; on a dumb terminal it would only show at the end."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def name_of(folder: RunFolder) -> str:
    """Return what a user types to name this run: its id, or its path if it lies elsewhere."""
    return folder.id if folder.path.parent == default_store().root else shlex.quote(str(folder.path))


def end_status(snapshot: RunSnapshot) -> Status | None:
    """Return how a run has ended; None while it goes on."""
    return snapshot.status if snapshot.status in ENDED else None


def _watch(
    monitor: RunMonitor, folder: RunFolder, display: Display, interrupts: Interrupts, *, owner: bool
) -> RunSnapshot:
    """Show the run until it has ended and all is read, or until Ctrl+C leaves it alone."""
    asked = 0
    alive_s = time.monotonic()
    while True:
        snapshot = monitor.poll()
        if interrupts.count > asked:
            if not owner:
                return snapshot
            asked = interrupts.count
            _ask_to_stop(folder, now=asked > 1)
        display.show(snapshot, _note(asked, owner=owner))
        if snapshot.alive:
            alive_s = time.monotonic()
        # The supervisor may have written its end between the look at the manifest and at its process.
        may_be_lost = time.monotonic() - alive_s > LOST_AFTER_S
        if not monitor.behind and (snapshot.manifest.status in ENDED or may_be_lost):
            return snapshot
        time.sleep(POLL_S)


def _ask_to_stop(folder: RunFolder, *, now: bool) -> None:
    try:
        request_stop(folder, now=now)
    except DashboardError as error:
        # The run may end between two looks; its end then says more than this.
        write_line(f"{error.message} {error.hint}")


def _note(asked: int, *, owner: bool) -> str:
    if not owner:
        return "Ctrl+C leaves the run alone"
    return ("Ctrl+C stops the job", "stopping; Ctrl+C again kills it", "killing")[min(asked, 2)]
