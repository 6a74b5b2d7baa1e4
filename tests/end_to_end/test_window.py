"""The program as a user starts it: a real window under X, driven by keys, ended in every usual way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.real_window import LIMIT_S, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.helpers.real_window import RealWindow

pytestmark = pytest.mark.window


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


LONG_JOB = """
import time
for step in range(1200):
    print(f"step {step} loss: {7 / (step + 1):.4f}", flush=True)
    time.sleep(0.1)
"""


@pytest.mark.torchrun
@pytest.mark.timeout(180)
def test_a_job_goes_on_when_the_window_is_closed_and_is_found_again(
    open_window: Callable[..., RealWindow], private_folders: Path, tmp_path: Path
) -> None:
    """Case G05: closing while a job trains asks, and keeps it running by default."""
    script = tmp_path / "train it.py"
    script.write_text(LONG_JOB)

    def status() -> str:
        return str(json.loads((run / "manifest.json").read_bytes())["status"])

    window = open_window(str(script))
    window.wait_for_title("Run")
    window.key("ctrl+r")
    window.wait_for_title("2")
    [run] = (private_folders / "data" / "ridgeline" / "runs").iterdir()
    assert window.title.startswith(run.name)
    window.wait_for(lambda: "there" if len(list((run / "ranks").iterdir())) == 4 else "")
    window.key("ctrl+q")
    question = window.wait_for(
        lambda: window.xdotool("search", "--onlyvisible", "--name", "^Close Ridgeline$")
    )
    # Without a window manager the dialog gets the keyboard at a moment of its own.
    while window.process.poll() is None:
        window.xdotool("windowfocus", question, "key", "Return", "sleep", "0.5")
    assert window.end() == 0
    assert window.output == ""
    assert status() == "running"

    again = open_window()
    again.wait_for_title(run.name)
    again.key("ctrl+period")
    again.wait_for(lambda: status() if status() not in ("running", "stopping") else "")
    assert status() == "stopped"
    again.key("ctrl+q")
    assert again.end() == 0
    assert again.output == ""


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
