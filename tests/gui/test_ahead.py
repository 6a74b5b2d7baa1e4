"""Tests for what is loaded before a trace is opened."""

from __future__ import annotations

import sys
import threading

import pytest

from gui.shell.ahead import load_ahead
from gui.theme import ThemeController


def test_the_trace_page_and_what_draws_its_lanes_are_loaded_in_a_worker(theme: ThemeController) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            load_ahead(theme.theme, lambda: None)
        except BaseException as error:  # noqa: BLE001  (it is looked at below)
            failed.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert failed == []
    from gui.plots.timeline_image import _paint_bars
    from gui.plots.timeline_labels import _mix

    assert {"gui.pages.trace", "gui.plots.timeline_view"} <= set(sys.modules)
    for compiled in (_paint_bars, _mix):
        assert compiled.signatures  # type: ignore[union-attr]  # a compiled function knows what it was loaded for


def test_it_ends_when_the_window_goes(theme: ThemeController) -> None:
    def gone() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        load_ahead(theme.theme, gone)
