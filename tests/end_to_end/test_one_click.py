"""The main way: one click on Home, and four live ranks are on the screen."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pytest

from core.launch import client
from core.runs.monitor import RunMonitor
from core.runs.store import RunStore
from tests.helpers.real_window import LIMIT_S, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from core.runs.snapshot import RunSnapshot
    from core.runs.store import RunFolder
    from tests.helpers.real_window import Picture, RealWindow

pytestmark = [pytest.mark.window, pytest.mark.torchrun]

T = TypeVar("T")

TOKENS = json.loads((ROOT / "resources" / "theme" / "tokens.json").read_bytes())
RANK_COLORS = TOKENS["ranks"]["dark"][:4]
PRIMARY = TOKENS["dark"]["accent-fill"]

# Shares of a window of 1280 x 800: cards above, memory at the left, loss at the right.
CARDS = (0.06, 0.10, 0.76, 0.29)
MEMORY = (0.06, 0.33, 0.40, 0.73)
LOSS = (0.41, 0.33, 0.75, 0.73)


@pytest.fixture
def store(private_folders: Path) -> RunStore:
    return RunStore(private_folders / "data" / "ridgeline" / "runs")


@pytest.fixture
def end_runs(store: RunStore) -> Iterator[None]:
    """Ends what the test launched, however the test ended."""
    yield
    for summary in store.list():
        folder = store.find(summary.id)
        client.request_stop(folder, now=True)
        monitor = RunMonitor(folder)
        _wait_for(partial(_has_ended, monitor))


@pytest.mark.usefixtures("end_runs")
@pytest.mark.usefixtures("end_runs")
def test_one_click_to_four_live_ranks(open_window: Callable[..., RealWindow], store: RunStore) -> None:
    window = open_window()
    window.resize(1280, 800)
    window.wait_for_title("Home")
    _click_primary(window)
    folder = _wait_for(lambda: _only_run(store))
    window.wait_for_title(folder.path.name)
    monitor = RunMonitor(folder)
    _wait_for(lambda: _least_step(monitor.poll()) >= 3)
    _assert_everything_moves(window)

    window.key("ctrl+period")
    _wait_for(partial(_has_ended, monitor))
    ended = monitor.poll()
    window.key("ctrl+q")
    assert window.end() == 0
    assert window.output == ""

    assert ended.manifest.status == "stopped"
    assert len(store.list()) == 1
    for rank in ended.ranks:
        assert (rank.first_sequence, rank.lost_records) == (1, 0)
        steps = ended.series["loss"][rank.rank].x
        assert steps.tolist() == list(range(len(steps)))
        assert len(steps) >= 4


def _has_ended(monitor: RunMonitor) -> bool:
    return not monitor.poll().alive


def _only_run(store: RunStore) -> RunFolder | None:
    runs = store.list()
    return store.find(runs[0].id) if runs else None


def _least_step(snapshot: RunSnapshot) -> int:
    """The last step that all four ranks have ended; -1 before."""
    steps = [-1 if rank.step is None else rank.step for rank in snapshot.ranks]
    return min(steps) if len(steps) == 4 else -1


def _click_primary(window: RealWindow) -> None:
    """Clicks the one filled button of the page, found by its colour."""

    def middle() -> tuple[int, int] | None:
        places = window.picture().places_of(PRIMARY)
        if len(places) < 500:
            return None
        row, column = np.median(places, axis=0)
        return int(column), int(row)

    window.click(*_wait_for(middle))


def _assert_everything_moves(window: RealWindow) -> None:
    """Four cards and both charts show all ranks, and change while one looks."""
    first = _wait_for(lambda: _with_all_ranks(window.picture()))
    for place in (CARDS, MEMORY, LOSS):
        _wait_for(partial(_has_changed, window, first, place))


def _with_all_ranks(picture: Picture) -> Picture | None:
    for place in (CARDS, MEMORY, LOSS):
        part = picture.part(*place)
        if not all(len(part.places_of(color)) > 10 for color in RANK_COLORS):
            return None
    return picture


def _has_changed(window: RealWindow, first: Picture, place: tuple[float, float, float, float]) -> bool:
    return not np.array_equal(window.picture().part(*place).pixels, first.part(*place).pixels)


def _wait_for(look: Callable[[], T | None]) -> T:
    end = time.monotonic() + 2 * LIMIT_S
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come")
