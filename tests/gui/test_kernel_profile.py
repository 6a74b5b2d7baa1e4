"""Profiling a kernel of a trace from the menu: the command, copying it, and running it with a fake of ncu."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton

from core.runs.job import JobSpec
from gui.widgets.kernel_profile import KernelProfiling
from tests.helpers.ncu_reports import full_report
from tests.helpers.traces import call, kernel, op

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.trace import TracePage
    from gui.widgets.question import Question

LIMIT_MS = 60_000
ACTION = "trace.profile_kernel"
EVENTS = [
    op("aten::mm", 10, 20),
    call("cudaLaunchKernel", 15, 5, 1),
    kernel("gemm_a", 40, 30, correlation=1, grid=[8, 1, 1], block=[128, 1, 1]),
]


@pytest.fixture
def ask(qtbot: QtBot, window: MainWindow) -> Callable[[Path], Question]:
    """Opens a trace, selects its kernel, and asks how it is profiled."""

    def ask_it(path: Path) -> Question:
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": EVENTS}))
        window.context.open_path(path)

        def laid_out() -> bool:
            view = getattr(window.page, "view", None)
            return view is not None and view.timeline.view is not None and view.document.overview is not None

        qtbot.waitUntil(laid_out, timeout=LIMIT_MS)
        page: TracePage = window.page  # type: ignore[assignment]
        assert page.view is not None
        assert window.context.actions.reason(ACTION) is not None
        page.view.select_slice(2)
        qtbot.waitUntil(lambda: window.context.actions.reason(ACTION) is None, timeout=LIMIT_MS)
        window.context.actions.trigger(ACTION)
        profiling = page.findChild(KernelProfiling)
        assert profiling is not None
        qtbot.waitUntil(lambda: profiling.dialog is not None, timeout=LIMIT_MS)
        assert profiling.dialog is not None
        return profiling.dialog

    return ask_it


def buttons(dialog: Question) -> dict[str, QPushButton]:
    return {button.text(): button for button in dialog.findChildren(QPushButton)}


def run_folder(window: MainWindow, folder: Path) -> Path:
    """Makes a run, and returns where its first rank's trace lies."""
    job = JobSpec(
        title="t", target="train.py", interpreter=sys.executable, working_folder=str(folder), device="cuda"
    )
    run = window.context.store.create(job)
    run.traces.mkdir(exist_ok=True)
    return run.traces / "rank0.json"


def test_without_its_run_the_command_has_a_gap_and_can_be_copied(
    qtbot: QtBot, window: MainWindow, ask: Callable[[Path], Question], tmp_path: Path
) -> None:
    dialog = ask(tmp_path / "trace.json")
    assert set(buttons(dialog)) == {"Copy command", "Cancel"}
    with qtbot.waitSignal(window.page.told):
        buttons(dialog)["Copy command"].click()
    copied = QGuiApplication.clipboard().text()
    assert "--kernel-name 'regex:^gemm_a$' --launch-skip 0" in copied
    assert copied.endswith("python YOUR_SCRIPT.py")


def test_with_its_run_and_ncu_the_report_is_written_and_opened(
    qtbot: QtBot,
    window: MainWindow,
    ask: Callable[[Path], Question],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "made").write_bytes(full_report())
    fake = tmp_path / "tools" / "ncu"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\n# A fake.\nwhile [ "$1" != -o ]; do shift; done\ncp {tmp_path}/made "$2.ncu-rep"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    path = run_folder(window, tmp_path)
    dialog = ask(path)
    assert set(buttons(dialog)) == {"Run", "Copy command", "Cancel"}
    buttons(dialog)["Run"].click()
    report = path.parent.parent / "reports" / "gemm_a-1.ncu-rep"
    qtbot.waitUntil(lambda: report in window.context.reports.paths, timeout=LIMIT_MS)
    assert report.read_bytes() == full_report()


def test_what_ncu_refuses_stands_on_the_page(
    qtbot: QtBot,
    window: MainWindow,
    ask: Callable[[Path], Question],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = tmp_path / "ncu"
    fake.write_text(
        "#!/bin/sh\n# A fake of ncu.\necho '==ERROR== ERR_NVGPUCTRPERM - no permission'\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    dialog = ask(run_folder(window, tmp_path))
    buttons(dialog)["Run"].click()
    qtbot.waitUntil(lambda: window.page.banners.keys == ["error"], timeout=LIMIT_MS)
