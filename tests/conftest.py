"""Fixtures and rules that all tests share.

Private folders, an X display, the handed cases; and what no test may leave
behind: a WARNING in the log, a thread, a process.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

ROOT = Path(__file__).parents[1]
# Every test has a cache folder of its own; what takes a dozen seconds to compile is compiled once for all.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "compiled"))

GRACE_S = 3.0
"""How long threads and processes that were told to end may take to do so."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what the tests found as what they expect"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the file of that name in tests/data/golden, or writes it anew."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "data" / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run with --update-golden, then look at it"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps every test away from the user's own runs and settings."""
    home = tmp_path / "home"
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        folder = home / name.lower()
        folder.mkdir(parents=True)
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder))
        monkeypatch.delenv(f"RIDGELINE_{name}_DIR", raising=False)
    return home


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """Folder of the handed case inputs, where it is present."""
    folder = ROOT.parent / "shared" / "cases" / "inputs"
    if not folder.is_dir():
        pytest.skip("the handed case inputs are not on this machine")
    return folder


@pytest.fixture(scope="session")
def x_display() -> Iterator[str]:
    """Name of an X display of its own, 1920x1080."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        [
            "Xvfb",
            "-displayfd",
            str(write_end),
            "-screen",
            "0",
            "1920x1080x24",
            "-nolisten",
            "tcp",
            "-noreset",
        ],
        pass_fds=(write_end,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        number = pipe.readline().strip()
    assert number, "Xvfb did not come up"
    yield f":{number}"
    server.terminate()
    server.wait()


class WarningsSeen(logging.Handler):
    """Collects what was logged as a warning or worse."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@pytest.fixture(autouse=True)
def no_warnings_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test if it logged a warning without saying that it would."""
    seen = WarningsSeen()
    logging.getLogger().addHandler(seen)
    yield
    logging.getLogger().removeHandler(seen)
    if request.node.get_closest_marker("allow_warnings") is None:
        assert not seen.lines, "warnings were logged:\n" + "\n".join(seen.lines)


@pytest.fixture(autouse=True)
def widgets_end_with_their_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Frees the widgets of a test before the next one, instead of whenever the collector runs."""
    yield
    if "qapp" in request.fixturenames:
        from PySide6.QtCore import QCoreApplication, QEvent

        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()


def living_threads() -> set[threading.Thread]:
    """Return the threads that Python started; those that Qt owns come and go with its pools."""
    # The class of Qt's own threads has no public name.
    return {thread for thread in threading.enumerate() if type(thread).__name__ != "_DummyThread"}


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fails the test if a thread that it started is still alive."""
    before = living_threads()
    yield
    deadline = time.monotonic() + GRACE_S
    for thread in living_threads() - before:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = living_threads() - before
    assert not left, f"threads left alive: {sorted(thread.name for thread in left)}"


def is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_bystander(process: psutil.Process) -> bool:
    """Whether it is Python's own helper, which lives as long as the test session."""
    try:
        return "multiprocessing.resource_tracker" in " ".join(process.cmdline())
    except psutil.Error:
        return True


def children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def processes_naming(text: str) -> set[psutil.Process]:
    """Return detached processes too: whoever has this text among its arguments."""
    found = set()
    for process in psutil.process_iter(["cmdline"]):
        if any(text in argument for argument in process.info["cmdline"] or ()):
            found.add(process)
    found.discard(psutil.Process())
    return found


def end_left_processes(find: Callable[[], set[psutil.Process]]) -> list[str]:
    """Return the command lines of processes that do not end by themselves, after ending them."""
    deadline = time.monotonic() + GRACE_S
    while True:
        left = {process for process in find() if is_running(process) and not is_bystander(process)}
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    words = []
    for process in left:
        try:
            words.append(f"{process.pid}: {' '.join(process.cmdline())[:300]}")
            for each in [*process.children(recursive=True), process]:
                each.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(list(left), timeout=GRACE_S)
    return words


@pytest.fixture(autouse=True)
def no_process_left(tmp_path: Path) -> Iterator[None]:
    """Fails the test if a process that it started is still alive, detached or not."""
    before = children()
    yield
    left = end_left_processes(lambda: (children() - before) | processes_naming(str(tmp_path)))
    assert not left, "processes left alive:\n" + "\n".join(left)


@pytest.fixture(scope="session", autouse=True)
def no_process_left_by_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for what fixtures of a module or of the whole session have started."""
    before = children()
    yield
    base = f"{tmp_path_factory.getbasetemp()}{os.sep}"
    left = end_left_processes(lambda: (children() - before) | processes_naming(base))
    assert not left, "processes left alive:\n" + "\n".join(left)
