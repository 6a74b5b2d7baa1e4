"""Starts Qt and the window, and catches what nothing else caught."""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from core.errors import DashboardError
from core.launch.versions import ridgeline_version
from core.runs.store import default_store
from gui.main_window import MainWindow
from gui.render import render_pages
from gui.settings import Settings
from gui.tasks import Tasks
from gui.theme import ThemeController

if TYPE_CHECKING:
    from types import TracebackType

SIGNAL_CHECK_MS = 250


def run(argv: list[str]) -> int:
    """Opens the window and stays until it is closed.

    Args:
        argv: Files to open; or ``--render-pages FOLDER [--run RUN]``, which
            writes pictures of the pages instead.

    Returns:
        The exit code: 0, or 2 where the command line asks for something impossible.
    """
    arguments = _parse(argv)
    app = QApplication([sys.argv[0]])
    app.setApplicationName("ridgeline")
    app.setApplicationDisplayName("Ridgeline")
    app.setDesktopFileName("ridgeline")
    app.setApplicationVersion(ridgeline_version())
    if arguments.render_pages is not None:
        try:
            render_pages(app, arguments.render_pages, arguments.run)
        except DashboardError as error:
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
            return 2
        return 0
    settings = Settings.load()
    window = MainWindow(ThemeController(app, settings.theme), Tasks(app), settings, default_store())
    _catch_bugs(window)
    _close_on_signals(window)
    window.show()
    # What is loaded by then stays for good: a full collection would go through it for 40 ms, amid a frame.
    QTimer.singleShot(0, window, lambda: window.start(arguments.files, gc.freeze))
    return app.exec()


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="main.py", description="Opens the window, with FILEs in it.")
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path)
    parser.add_argument("--render-pages", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--run", metavar="RUN", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _catch_bugs(window: MainWindow) -> None:
    """Shows every exception that nobody caught, and prints it as before."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        if issubclass(kind, Exception):
            window.report_bug(error)

    def report_thread(caught: threading.ExceptHookArgs) -> None:
        if caught.exc_value is not None:
            sys.__excepthook__(caught.exc_type, caught.exc_value, caught.exc_traceback)
            window.context.tasks.crashed.emit(caught.exc_value)

    sys.excepthook = report
    threading.excepthook = report_thread


def _close_on_signals(window: MainWindow) -> None:
    """Ctrl+C and SIGTERM close the window as its cross does, without a question."""

    def close(number: int, frame: object) -> None:
        # It comes between any two instructions, maybe amid painting: close when that is done.
        QTimer.singleShot(0, window, window.close_now)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, close)
    # Python handles signals between its own instructions: it needs some now and then.
    timer = QTimer(window)
    timer.timeout.connect(lambda: None)
    timer.start(SIGNAL_CHECK_MS)
