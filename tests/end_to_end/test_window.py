"""The program as a user starts it: a real window under X, driven by keys, ended in every usual way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.window

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0


class RealWindow:
    """One process of main.py and the window it shows."""

    def __init__(self, display: str, arguments: tuple[str, ...], errors: Path) -> None:
        self._environment = {**os.environ, "DISPLAY": display}
        self._environment.pop("QT_QPA_PLATFORM", None)
        self._errors = errors
        with errors.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "main.py"), *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self.id = self.wait_for(self._find)
        # There is no window manager that would give it the keyboard.
        self.xdotool("windowfocus", "--sync", self.id)

    def wait_for(self, look: Callable[[], str]) -> str:
        """Looks again and again until something is there."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if found := look():
                return found
            assert self.process.poll() is None, self.output
            time.sleep(0.05)
        raise AssertionError(f"nothing came within {LIMIT_S} s: {self.output}")

    def xdotool(self, *words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout.strip()

    def key(self, *keys: str) -> None:
        self.xdotool("key", *keys)

    def type(self, text: str) -> None:
        self.xdotool("type", "--delay", "20", text)

    @property
    def title(self) -> str:
        return self.xdotool("getwindowname", self.id)

    @property
    def output(self) -> str:
        return self._errors.read_text(errors="replace")

    def _find(self) -> str:
        shown = self.xdotool("search", "--onlyvisible", "--pid", str(self.process.pid), "--name", "Ridgeline")
        return shown.splitlines()[-1] if shown else ""

    def wait_for_title(self, start: str) -> None:
        self.wait_for(lambda: self.title if self.title.startswith(start) else "")

    def end(self) -> int:
        return self.process.wait(LIMIT_S)


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


def settings_of(home: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads((home / "config" / "ridgeline" / "settings.json").read_bytes())
    return values


def test_keys_drive_it_and_it_ends_well(
    open_window: Callable[..., RealWindow], private_folders: Path
) -> None:
    window = open_window()
    window.wait_for_title("Home")
    # The palette takes what is typed, and does it.
    window.key("ctrl+k")
    window.type("show run")
    window.key("Return")
    window.wait_for_title("Run")
    window.key("ctrl+1")
    window.wait_for_title("Home")
    window.key("ctrl+shift+l")
    window.key("ctrl+q")
    assert window.end() == 0
    assert window.output == ""
    first = settings_of(private_folders)
    assert first["theme"] == "light"
    assert first["page"] == "home"

    again = open_window()
    again.wait_for_title("Home")
    again.key("ctrl+shift+l")
    again.key("ctrl+2")
    again.wait_for_title("Run")
    again.process.send_signal(signal.SIGINT)
    assert again.end() == 0
    assert again.output == ""
    second = settings_of(private_folders)
    assert (second["theme"], second["page"]) == ("dark", "run")


def test_closing_at_once_and_by_signal_is_no_crash(
    open_window: Callable[..., RealWindow], private_folders: Path, tmp_path: Path
) -> None:
    """Case G05: the first looks at the machine are still under way. Case G13: a file on the command line."""
    script = tmp_path / "per%20cent #+.py"
    script.write_text("print(1)\n")
    window = open_window(str(script))
    window.wait_for_title("Run")
    window.process.send_signal(signal.SIGTERM)
    assert window.end() == 0
    assert window.output == ""
    recent = settings_of(private_folders)["recent_files"]
    assert isinstance(recent, list)
    assert [entry["path"] for entry in recent] == [str(script)]


def test_without_a_run_the_pages_can_be_rendered(tmp_path: Path, private_folders: Path) -> None:
    folder = tmp_path / "pictures"
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), "--render-pages", str(folder), "--run", "no-such-run"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: There is no run no-such-run."
    assert done.stderr.splitlines()[1].startswith("hint: ")
    assert not folder.exists()
