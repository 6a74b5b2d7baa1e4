"""Traces in a real window: named on the command line, chosen in a dialog, dragged from another program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.drag_source import PLACE
from tests.helpers.real_window import ROOT
from tests.helpers.traces import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.helpers.real_window import RealWindow

pytestmark = pytest.mark.window


def write_trace(path: Path) -> Path:
    path.write_text(
        json.dumps({"schemaVersion": 1, "traceEvents": [kernel("gemm", 0, 5), kernel("b", 9, 2)]})
    )
    return path


def settings_of(home: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads((home / "config" / "ridgeline" / "settings.json").read_bytes())
    return values


@pytest.fixture
def drag_source(x_display: str) -> Iterator[Callable[[Path], None]]:
    """Starts another program from whose window a file can be dragged."""
    started: list[subprocess.Popen[bytes]] = []

    def start(path: Path) -> None:
        environment = {**os.environ, "DISPLAY": x_display, "QT_QPA_PLATFORM": "xcb"}
        script = ROOT / "tests" / "helpers" / "drag_source.py"
        started.append(subprocess.Popen([sys.executable, str(script), str(path)], env=environment))

    yield start
    for process in started:
        process.terminate()
        process.wait()


def shows_error(window: RealWindow) -> bool:
    """Whether a banner in the colours of an error is there, in either theme."""
    tokens = json.loads((ROOT / "resources" / "theme" / "tokens.json").read_bytes())
    picture = window.picture()
    return any(len(picture.places_of(tokens[theme]["error-bg"])) > 1000 for theme in ("dark", "light"))


def drag_into(window: RealWindow) -> None:
    """Drags with the mouse from the other program's window into the middle of ours."""
    window.wait_for(lambda: window.xdotool("search", "--onlyvisible", "--name", "^drag source$"))
    window.xdotool("mousemove", str(PLACE[0] + 50), str(PLACE[1] + 50), "mousedown", "1")
    for x, y in ((1390, 180), (1350, 200), (1200, 300), (900, 400), (700, 420), (690, 425)):
        window.xdotool("mousemove", str(x), str(y))
        time.sleep(0.1)
    window.xdotool("mouseup", "1")
    # The other program's window has taken the keyboard.
    window.xdotool("windowfocus", "--sync", window.id)


def test_a_trace_is_opened_by_command_line_and_dialog_and_comes_back(
    open_window: Callable[..., RealWindow], private_folders: Path, tmp_path: Path
) -> None:
    first, second = write_trace(tmp_path / "per%20cent #1.json"), write_trace(tmp_path / "second.json")
    window = open_window(str(first))
    window.wait_for_title("per%20cent #1.json, 2 events")
    window.key("ctrl+o")
    dialog = window.wait_for(lambda: window.xdotool("search", "--onlyvisible", "--name", "^Open file$"))
    window.xdotool("windowfocus", "--sync", dialog)
    window.type(str(second))
    window.xdotool("windowfocus", "--sync", dialog, "key", "Return")
    window.wait_for_title("second.json, 2 events")
    window.xdotool("windowfocus", "--sync", window.id)
    window.key("ctrl+q")
    assert window.end() == 0
    assert window.output == ""
    again = open_window()
    again.wait_for_title("second.json, 2 events")
    again.key("ctrl+q")
    assert again.end() == 0
    recent = settings_of(private_folders)["recent_files"]
    assert isinstance(recent, list)
    assert [entry["path"] for entry in recent] == [str(second), str(first)]


def test_a_trace_can_be_dragged_from_another_program(
    open_window: Callable[..., RealWindow], drag_source: Callable[[Path], None], tmp_path: Path
) -> None:
    window = open_window()
    window.wait_for_title("Home")
    drag_source(write_trace(tmp_path / "dragged ä.json"))
    drag_into(window)
    window.wait_for_title("dragged ä.json, 2 events")
    window.key("ctrl+q")
    assert window.end() == 0
    assert window.output == ""


def test_a_refused_file_leaves_the_tab_before_it(
    open_window: Callable[..., RealWindow],
    drag_source: Callable[[Path], None],
    private_folders: Path,
    tmp_path: Path,
) -> None:
    """Case T17."""
    window = open_window(str(write_trace(tmp_path / "good.json")))
    window.wait_for_title("good.json, 2 events")
    empty = tmp_path / "empty.json"
    empty.write_bytes(b"")
    drag_source(empty)
    drag_into(window)
    window.wait_for(lambda: "shown" if shows_error(window) else "")
    window.wait_for_title("good.json, 2 events")
    window.key("ctrl+q")
    assert window.end() == 0
    assert window.output == ""
    pages = settings_of(private_folders)["page trace"]
    assert isinstance(pages, dict)
    assert pages["open"] == [str(tmp_path / "good.json")]
