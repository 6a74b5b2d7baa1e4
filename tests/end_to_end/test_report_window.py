"""Nsight Compute reports in a real window: by command line and dialog, walked through by keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.helpers.ncu_reports import NAMES, block, report, result, rule, section, session, usual_metrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.helpers.real_window import RealWindow

pytestmark = pytest.mark.window


def write_report(path: Path, *durations_ns: int) -> Path:
    results = [result(usual_metrics(each), [section()], [rule()]) for each in durations_ns]
    path.write_bytes(report(block(results=results, texts=NAMES, session=session())))
    return path


def test_a_report_is_opened_walked_through_and_comes_back(
    open_window: Callable[..., RealWindow], private_folders: Path, tmp_path: Path
) -> None:
    first = write_report(tmp_path / "erster ä.ncu-rep", 1_000, 2_000)
    second = write_report(tmp_path / "second one.ncu-rep", 3_000)
    window = open_window(str(first))
    window.wait_for_title("erster ä.ncu-rep, 2 kernels")
    window.key("ctrl+o")
    dialog = window.wait_for(lambda: window.xdotool("search", "--onlyvisible", "--name", "^Open file$"))
    window.xdotool("windowfocus", "--sync", dialog)
    window.type(str(second))
    window.xdotool("windowfocus", "--sync", dialog, "key", "Return")
    window.wait_for_title("second one.ncu-rep, 1 kernel")
    window.xdotool("windowfocus", "--sync", window.id)
    # The kernel as baseline; the other report, its kernels, and every tab of one.
    window.key("ctrl+b", "ctrl+Tab")
    window.wait_for_title("erster ä.ncu-rep, 2 kernels")
    window.key("Right", "Down", "F3", *["alt+Right"] * 9)
    window.key("ctrl+Tab")
    window.wait_for_title("second one.ncu-rep, 1 kernel")
    window.key("ctrl+q")
    assert window.end() == 0
    assert window.output == ""
    again = open_window()
    again.wait_for_title("second one.ncu-rep, 1 kernel")
    again.key("ctrl+w")
    again.wait_for_title("erster ä.ncu-rep, 2 kernels")
    again.key("ctrl+q")
    assert again.end() == 0
    assert again.output == ""
    settings = json.loads((private_folders / "config" / "ridgeline" / "settings.json").read_bytes())
    assert settings["page nsight"]["open"] == [str(first)]
