"""The window is killed in mid-run: the job does not notice, and the next window has all of it."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from core.runs.manifest import ENDED
from core.runs.store import RunFolder, effective_status
from core.telemetry.events import Loss, RankEvent
from core.telemetry.tail import EventTail
from tests.helpers.real_window import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.helpers.real_window import RealWindow

pytestmark = [pytest.mark.window, pytest.mark.torchrun]

RANKS = range(4)


@pytest.mark.timeout(180)
def test_the_run_goes_on_and_no_record_is_missing(
    open_window: Callable[..., RealWindow], private_folders: Path
) -> None:
    window = open_window()
    window.wait_for_title("Home")
    folder = launch_demo(window, private_folders / "data" / "ridgeline" / "runs")
    wait_for_losses_after([0] * len(RANKS), folder)
    window.process.kill()
    window.process.wait()
    at_the_kill = losses_written(folder)
    wait_for_losses_after(at_the_kill, folder)

    # A quick machine could end the demo before the next window is up: its first rank waits for it.
    first_pid = read_records(folder, 0)[0]["pid"]
    os.kill(first_pid, signal.SIGSTOP)
    again = open_window()
    again.wait_for_title(folder.id)
    os.kill(first_pid, signal.SIGCONT)
    assert effective_status(folder, folder.read()) == "running"
    wait_for_losses_after(losses_written(folder), folder)
    again.key("ctrl+period")
    wait_until(lambda: effective_status(folder, folder.read()) in ENDED, "the end of the run")
    again.key("ctrl+q")
    assert again.end() == 0
    assert again.output == ""

    assert folder.read().status == "stopped"
    for rank in RANKS:
        sequence = [record["seq"] for record in read_records(folder, rank)]
        assert sequence == list(range(1, len(sequence) + 1))
        tail: EventTail[RankEvent] = EventTail(folder.rank_file(rank), RankEvent)
        steps = [event.step for event in tail.read() if isinstance(event, Loss)]
        assert steps == list(range(len(steps)))
        assert len(steps) > at_the_kill[rank]


def launch_demo(window: RealWindow, runs: Path) -> RunFolder:
    """Presses Ctrl+R until it is heard: before the GPUs are known there is no demo to launch."""

    def launched() -> str:
        if not runs.is_dir():
            window.xdotool("key", "ctrl+r", "sleep", "0.5")
        return window.title if window.title.startswith("2") else ""

    window.wait_for(launched)
    [path] = runs.iterdir()
    assert window.title.startswith(path.name)
    return RunFolder(path)


def read_records(folder: RunFolder, rank: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.rank_file(rank).read_bytes().splitlines()]


def losses_written(folder: RunFolder) -> list[int]:
    """Losses in each rank's file so far."""
    paths = [folder.rank_file(rank) for rank in RANKS]
    return [path.read_bytes().count(b'"kind":"loss"') if path.exists() else 0 for path in paths]


def wait_for_losses_after(before: list[int], folder: RunFolder) -> None:
    """Waits until each rank has written more losses than that."""

    def have_come() -> bool:
        return all(now > then for now, then in zip(losses_written(folder), before, strict=True))

    wait_until(have_come, "more losses")


def wait_until(has_come: Callable[[], bool], what: str) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not has_come():
        assert time.monotonic() < end_s, f"never came: {what}"
        time.sleep(0.05)
