"""Compiles everything that is compiled at first use, so that the first trace need not wait for it.

The hidden command that ``core.prepare`` starts in a child: offscreen, it opens the
bundled sample as a user would, and what that compiles is kept.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEventLoop, QSize
from PySide6.QtWidgets import QApplication

from core.files import SAMPLE_TRACE
from core.prepare import note_prepared, prepare_core, scratch_folder
from core.runs.store import RunStore
from gui.main_window import MainWindow
from gui.settings import Settings
from gui.tasks import Tasks
from gui.theme import ThemeController

_LIMIT_S: Final = 120.0


def run_prepare(folder: str | None = None) -> int:
    """The work of the hidden command: stands back behind whatever else the machine does.

    Args:
        folder: For files that it needs meanwhile; None makes one.
    """
    with scratch_folder() if folder is None else nullcontext(Path(folder)) as scratch:
        _prepare(scratch)
    note_prepared()
    return 0


def _prepare(folder: Path) -> None:
    os.nice(10)
    prepare_core(folder)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    app = QApplication([sys.argv[0]])
    app.setApplicationName("ridgeline")
    window = MainWindow(ThemeController(app, "dark"), Tasks(app), Settings.load(folder), RunStore(folder))
    _draw_sample(app, window)
    window.close_now(save=False)


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
