"""What the window does by itself after it is up, and what it must not load before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from core.runs.identity import identity
from core.runs.manifest import ProcessIdentity, write_manifest
from gui import render
from gui.app import _catch_bugs
from gui.machine import InterpreterFacts, Machine, _stamp_ns
from gui.pages import PAGES
from gui.settings import FILE_NAME, Settings
from gui.shell import start_up
from gui.shell.start_up import StartUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

    from core.runs.store import RunFolder
    from gui.main_window import MainWindow
    from gui.tasks import Tasks

ROOT = Path(__file__).parents[2]

LEAN = """
import os, sys
sys.path.insert(0, {root!r})
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtWidgets import QApplication
app = QApplication([])
from core.runs.store import default_store
from gui.main_window import MainWindow
from gui.settings import Settings
from gui.tasks import Tasks
from gui.theme import ThemeController
import gui.app
window = MainWindow(ThemeController(app), Tasks(app), Settings.load(), default_store())
window.show()
app.processEvents()
watched = {{"torch", "numpy", "pyqtgraph", "pynvml"}}
def loaded():
    return sorted({{name.split(".")[0] for name in sys.modules}} & watched)
print(loaded())
window.navigate("run")
app.processEvents()
print("torch" in loaded(), "pyqtgraph" in loaded())
window.close_now()
"""


def test_the_window_comes_up_without_what_only_pages_need() -> None:
    """A user's own torch or numpy must not matter, and importing them takes seconds."""
    done = subprocess.run(
        [sys.executable, "-c", LEAN.format(root=str(ROOT))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == ["[]", "False True"], done.stderr
    assert done.returncode == 0


@pytest.fixture
def quiet_machine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Looks at this machine are counted, not made: they start Pythons that import torch.

    Nothing is compiled or loaded ahead either, which takes half a minute where it was not done before.
    """
    asked: list[str] = []
    monkeypatch.setattr(Machine, "detect", lambda _, shown=True: asked.append("devices"))
    monkeypatch.setattr(Machine, "check_interpreter", lambda _: asked.append("interpreter"))
    monkeypatch.setattr(start_up, "prepare_in_child", lambda check: check())
    monkeypatch.setattr(start_up, "load_ahead", lambda theme, check: check())
    return asked


def test_it_says_when_all_code_is_loaded(
    qtbot: QtBot, window: MainWindow, quiet_machine: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_up, "prepare_in_child", lambda _: quiet_machine.append("compiled"))
    monkeypatch.setattr(start_up, "load_ahead", lambda _theme, _check: quiet_machine.append("loaded"))
    window.start([], lambda: quiet_machine.append("told"))
    qtbot.waitUntil(lambda: "told" in quiet_machine)
    assert quiet_machine == ["devices", "interpreter", "compiled", "loaded", "told"]


def start(window: MainWindow, *files: Path, page_before: str = "home") -> None:
    StartUp(window.context, window.banners, window.opener.open, page_before).begin(files)


def test_the_machine_is_looked_at_once_it_is_up(window: MainWindow, quiet_machine: list[str]) -> None:
    start(window)
    assert quiet_machine == ["devices", "interpreter"]


def test_what_an_interpreter_said_is_kept_until_it_changes(
    window: MainWindow, quiet_machine: list[str], tasks: Tasks
) -> None:
    machine = window.context.machine
    stamp_ns = _stamp_ns(machine.interpreter)
    facts = InterpreterFacts(
        interpreter=machine.interpreter,
        stamp_ns=stamp_ns,
        checked_s=1.5e9,
        python="3.11.7",
        torch="2.13.0",
        cuda="",
        nccl="",
        gloo=True,
        warnings=("slow",),
    )
    machine._checked(facts)
    settings = window.context.settings
    settings.write(settings.encoded())
    assert Machine(tasks, Settings.load()).facts == facts
    machine._checked(replace(facts, stamp_ns=stamp_ns - 1))
    assert machine.facts is None
    settings.set_page_value("machine", "interpreter_facts", {"python": 3})
    assert Machine(tasks, settings).facts is None


def test_an_interpreter_of_another_version_is_noticed_to_change(tmp_path: Path) -> None:
    """Its packages lie in a folder of its own version, not of the one that runs the window."""
    python = tmp_path / "bin" / "python"
    packages = tmp_path / "lib" / "python3.99" / "site-packages"
    python.parent.mkdir()
    packages.mkdir(parents=True)
    python.touch()
    os.utime(python, ns=(10**9, 10**9))
    os.utime(packages, ns=(2 * 10**9, 2 * 10**9))
    assert _stamp_ns(str(python)) == 2 * 10**9
    os.utime(packages, ns=(3 * 10**9, 3 * 10**9))
    assert _stamp_ns(str(python)) == 3 * 10**9


def test_a_broken_settings_file_gets_a_word(
    qtbot: QtBot, window: MainWindow, quiet_machine: list[str]
) -> None:
    path = window.context.settings.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{")
    notice = Settings.load().notice
    assert path.with_name(f"{FILE_NAME}.broken-1").exists()
    window.context.settings.notice = notice
    start(window)
    assert "settings" in window.banners.keys
    assert "broken-1" in window.banners._banners["settings"].accessibleName()


def test_a_run_that_goes_on_is_found_again(
    qtbot: QtBot, window: MainWindow, quiet_machine: list[str], make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    window.context.settings.last_run = str(folder.path)
    start(window)
    qtbot.waitUntil(lambda: window.context.session.running)
    assert window.context.session.folder == folder
    assert window.page.NAME == "home"


def test_the_last_page_is_shown_with_its_run_although_it_ended(
    qtbot: QtBot, window: MainWindow, quiet_machine: list[str], make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny")
    window.context.settings.last_run = str(folder.path)
    start(window, page_before="run")
    qtbot.waitUntil(lambda: window.page.NAME == "run")
    assert window.context.session.folder == folder


@pytest.mark.parametrize("gone", [False, True])
def test_nothing_is_shown_again_that_is_gone_or_was_not_looked_at(
    qtbot: QtBot, window: MainWindow, quiet_machine: list[str], make_run: Callable[..., RunFolder], gone: bool
) -> None:
    folder = make_run("tiny")
    window.context.settings.last_run = str(folder.path)
    if gone:
        folder.manifest_path.unlink()
    start(window, page_before="run" if gone else "home")
    qtbot.waitUntil(lambda: not window.context.tasks._running)
    assert window.context.session.folder is None
    assert window.page.NAME == "home"
    assert window.banners.keys == []


def test_files_of_the_command_line_come_before_the_last_run(
    qtbot: QtBot,
    window: MainWindow,
    quiet_machine: list[str],
    make_run: Callable[..., RunFolder],
    tmp_path: Path,
) -> None:
    window.context.settings.last_run = str(make_run("old", "running").path)
    script = tmp_path / "per%20cent #.py"
    script.write_text("print(1)\n")
    start(window, script)
    qtbot.waitUntil(lambda: window.page.NAME == "run")
    qtbot.waitUntil(lambda: not window.context.tasks._running)
    assert window.context.session.folder is None
    assert [file.path for file in window.context.settings.recent_files] == [str(script)]


@pytest.fixture
def orphan(make_run: Callable[..., RunFolder]) -> Iterator[tuple[RunFolder, subprocess.Popen[bytes]]]:
    """A run whose supervisor is gone and of which one process lives."""
    folder = make_run("lost job", "running")
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={**os.environ, "RIDGELINE_RUN_DIR": str(folder.path)},
    )
    launcher = identity(process.pid)
    own = identity(os.getpid())
    assert own is not None
    gone = ProcessIdentity(pid=own.pid, create_time_s=own.create_time_s - 1000, boot_id=own.boot_id)
    manifest = folder.read()
    write_manifest(folder.path, replace(manifest, supervisor=gone, launcher=launcher))
    yield folder, process
    process.kill()
    process.wait()


@pytest.mark.parametrize("answer", ["End them", "Leave them"])
def test_what_a_run_left_behind_is_offered(
    qtbot: QtBot,
    window: MainWindow,
    quiet_machine: list[str],
    orphan: tuple[RunFolder, subprocess.Popen[bytes]],
    answer: str,
) -> None:
    """Case L02."""
    folder, process = orphan
    start(window)
    key = f"left behind {folder.id}"
    qtbot.waitUntil(lambda: key in window.banners.keys)
    banner = window.banners._banners[key]
    assert "lost job was left behind" in banner.accessibleName()
    assert "1 process of it lives" in banner.accessibleName()
    button = next(each for each in banner.findChildren(QPushButton) if each.text() == answer)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert key not in window.banners.keys
    if answer == "Leave them":
        qtbot.wait(50)
        assert process.poll() is None
    else:
        qtbot.waitUntil(lambda: process.poll() is not None, timeout=15_000)
        qtbot.waitUntil(lambda: not window.context.tasks._running, timeout=15_000)
        assert json.loads(folder.manifest_path.read_bytes())["status"] == "lost"


def test_a_bug_anywhere_is_shown_and_the_program_goes_on(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (sys, threading):
        monkeypatch.setattr(module, "excepthook", module.excepthook)
    _catch_bugs(window)
    try:
        raise ZeroDivisionError("in a slot")
    except ZeroDivisionError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    assert window._crash is not None
    assert "ZeroDivisionError: in a slot" in window._crash.text
    assert "ZeroDivisionError: in a slot" in capsys.readouterr().err
    window._crash.close()
    assert window.isVisible()


def test_pages_are_rendered_in_both_themes_and_sizes(
    qapp: QApplication,
    quiet_machine: list[str],
    make_run: Callable[..., RunFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(render, "SETTLE_S", 0.05)
    folder = make_run("tiny")
    written = render.render_pages(qapp, tmp_path / "pictures", folder.id)
    sizes = {path.name: QImage(str(path)).size().toTuple() for path in written}
    expected = {
        f"{page.name}-{theme}-{width}.png": (width, height)
        for page in PAGES
        for theme in ("dark", "light")
        for width, height in ((1280, 800), (1920, 1080))
    }
    assert sizes == expected
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == sorted(expected)
    pictures = {path.read_bytes() for path in written}
    assert len(pictures) == len(written)
