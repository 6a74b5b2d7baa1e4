"""Compiles everything that is compiled at first use, so that the first trace need not wait for it.

The hidden command that ``core.prepare`` starts in a child: offscreen, it opens the
bundled sample as a user would, and what that compiles is kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEventLoop, QSize
from PySide6.QtWidgets import QApplication

from core.files import SAMPLE_TRACE, app_folders, ensure_private_folder
from core.prepare import note_prepared, prepare_core
from core.runs.store import RunStore
from gui.main_window import MainWindow
from gui.settings import Settings
from gui.tasks import Tasks
from gui.theme import ThemeController

_LIMIT_S: Final = 120.0


def run_prepare() -> int:
    """The work of the hidden command: stands back behind whatever else the machine does."""
    os.nice(10)
    prepare_core()
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    app = QApplication([sys.argv[0]])
    app.setApplicationName("ridgeline")
    with tempfile.TemporaryDirectory(dir=ensure_private_folder(app_folders().cache)) as private:
        folder = Path(private)
        window = MainWindow(ThemeController(app, "dark"), Tasks(app), Settings.load(folder), RunStore(folder))
        _draw_sample(app, window)
        window.close_now(save=False)
    note_prepared()
    return 0


def _draw_sample(app: QApplication, window: MainWindow) -> None:
    from gui.plots.timeline_view import TimelineView  # noqa: PLC0415  (it is compiled when it is first used)

    window.resize(QSize(1280, 800))
    window.show()
    window.opener.open([SAMPLE_TRACE])
    end = time.monotonic() + _LIMIT_S
    while window.findChild(TimelineView) is None and time.monotonic() < end:
        app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        time.sleep(0.005)
    window.grab()
