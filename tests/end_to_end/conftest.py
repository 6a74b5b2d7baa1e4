"""Fixtures of tests that start the program as a user does."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from tests.helpers.real_window import RealWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def open_window(x_display: str, tmp_path: Path) -> Iterator[Callable[..., RealWindow]]:
    """Opens windows; what is still there at the end is ended."""
    if shutil.which("xdotool") is None:
        pytest.skip("xdotool is not installed")
    opened: list[RealWindow] = []

    def open_one(*arguments: str) -> RealWindow:
        window = RealWindow(x_display, arguments, tmp_path / f"window-{len(opened)}.txt")
        opened.append(window)
        return window

    yield open_one
    for window in opened:
        if window.process.poll() is None:
            window.process.send_signal(signal.SIGTERM)
            window.end()
