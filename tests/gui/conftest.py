"""Parts of the window for tests: real ones, in private folders, shut down at the end."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.runs.identity import identity
from core.runs.job import JobSpec
from core.runs.manifest import write_manifest
from core.runs.store import RunFolder, RunStore, default_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

    from core.runs.manifest import Status
    from gui.main_window import MainWindow
    from gui.tasks import Tasks
    from gui.theme import ThemeController


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lets the offscreen platform say what it cannot do; any other Qt warning fails a test."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.qt_log_ignore(r"^This plugin does not support \w+\(\)"))


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[ThemeController]:
    """The dark theme, applied."""
    from gui.theme import ThemeController

    controller = ThemeController(qapp, "dark")
    yield controller
    controller.deleteLater()


@pytest.fixture
def tasks(qapp: QApplication) -> Iterator[Tasks]:
    """Tasks that are shut down."""
    from gui.tasks import Tasks

    tasks = Tasks(qapp)
    yield tasks
    tasks.shutdown()
    tasks.deleteLater()


@pytest.fixture
def store() -> RunStore:
    """The store of this test's private data folder."""
    return default_store()


@pytest.fixture
def make_run(store: RunStore, tmp_path: Path) -> Callable[..., RunFolder]:
    """Makes a run folder as a launch leaves it; with status "running" this process looks after it."""

    def make(title: str = "tiny", status: Status = "done", summary: str = "") -> RunFolder:
        job = JobSpec(
            title=title,
            target="train.py",
            interpreter="/usr/bin/python3",
            working_folder=str(tmp_path),
            ranks=2,
        )
        folder = store.create(job)
        alive = identity(os.getpid())
        manifest = folder.read()
        ended = None if status == "running" else manifest.created_ns + 10**9
        write_manifest(
            folder.path,
            replace(
                manifest,
                status=status,
                supervisor=alive,
                started_ns=manifest.created_ns,
                ended_ns=ended,
                summary=summary,
            ),
        )
        return folder

    return make


@pytest.fixture
def window(qtbot: QtBot, theme: ThemeController, tasks: Tasks, store: RunStore) -> Iterator[MainWindow]:
    """The main window, 1280 x 800, shown; it has not looked around yet."""
    from gui.main_window import MainWindow
    from gui.settings import Settings

    window = MainWindow(theme, tasks, Settings.load(), store)
    window.resize(1280, 800)
    with qtbot.waitExposed(window):
        window.show()
    yield window
    window.close_now()
    window.deleteLater()
