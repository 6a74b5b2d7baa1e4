"""Pictures of the pages without a screen: both themes, two sizes. For ``make demo`` and the README."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEventLoop, QSize

from core.errors import DashboardError
from core.runs.store import default_store
from gui.main_window import MainWindow
from gui.pages import PAGES
from gui.settings import Settings
from gui.tasks import Tasks
from gui.theme import ThemeController, ThemeName

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from core.runs.store import RunFolder

SIZES = (QSize(1280, 800), QSize(1920, 1080))
THEMES: tuple[ThemeName, ...] = ("dark", "light")
SETTLE_S = 1.0
READ_LIMIT_S = 60.0


def render_pages(app: QApplication, folder: Path, run: str | None) -> list[Path]:
    """Writes ``<page>-<theme>-<width>.png`` for every page.

    Args:
        app: The application, usually on the offscreen platform.
        folder: Where the pictures go; made if need be.
        run: Id, start of an id or path of the run to show; None shows none.

    Returns:
        The files that were written.

    Raises:
        DashboardError: There is no such run, or a picture cannot be written.
    """
    store = default_store()
    shown = store.find(run) if run is not None else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DashboardError(
            f"The folder {folder} cannot be made: {error.strerror or error}.", "Choose another folder."
        ) from error
    theme = ThemeController(app, "dark")
    tasks = Tasks(app)
    # The user's own layout and window size stay out of the pictures.
    with tempfile.TemporaryDirectory(prefix="ridgeline-") as private:
        window = MainWindow(theme, tasks, Settings.load(Path(private)), store)
        return _render(app, window, folder, shown)


def _render(app: QApplication, window: MainWindow, folder: Path, shown: RunFolder | None) -> list[Path]:
    try:
        window.resize(SIZES[0])
        window.show()
        window.context.machine.detect(shown=False)
        window.context.machine.check_interpreter()
        if shown is not None:
            window.context.session.attach(shown)
            # Its log is read once there is a page that shows it.
            window.navigate("run")
        _wait_until_read(app, window, has_run=shown is not None)
        return [path for name in THEMES for path in _render_theme(app, window, folder, name)]
    finally:
        window.close_now(save=False)


def _render_theme(app: QApplication, window: MainWindow, folder: Path, name: ThemeName) -> list[Path]:
    window.context.theme.set_theme(name)
    written = []
    for entry in PAGES:
        window.navigate(entry.name)
        for size in SIZES:
            window.resize(size)
            _turn(app, SETTLE_S)
            path = folder / f"{entry.name}-{name}-{size.width()}.png"
            if not window.grab().save(str(path)):
                raise DashboardError(f"{path} cannot be written.", "Check the folder and the free space.")
            written.append(path)
    return written


def _wait_until_read(app: QApplication, window: MainWindow, *, has_run: bool) -> None:
    """Turns the event loop until machine and run have been read, or the time is up."""
    context = window.context
    end = time.monotonic() + READ_LIMIT_S
    while time.monotonic() < end:
        _turn(app, 0.1)
        machine_read = not (context.machine.detecting or context.machine.checking)
        snapshot = context.session.snapshot
        if machine_read and (snapshot is not None or not has_run):
            return


def _turn(app: QApplication, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        time.sleep(0.005)
