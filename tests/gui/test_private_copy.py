"""Saving a report without private data, from the menu of the Nsight page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from core.readers.ncu_report.reader import read_report
from tests.helpers.ncu_reports import full_report

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow

LIMIT_MS = 60_000


def open_it(qtbot: QtBot, window: MainWindow, path: Path) -> QFileDialog:
    """Opens a report and asks for its copy."""
    path.write_bytes(full_report())
    window.context.open_path(path)
    qtbot.waitUntil(lambda: window.context.actions.reason("nsight.private_copy") is None, timeout=LIMIT_MS)
    window.context.actions.trigger("nsight.private_copy")
    (dialog,) = window.page.findChildren(QFileDialog)
    return dialog


def test_a_copy_is_written_where_the_user_says(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    dialog = open_it(qtbot, window, tmp_path / "made.ncu-rep")
    assert dialog.selectedFiles()[0].endswith("made-shared.ncu-rep")
    target = tmp_path / "given away.ncu-rep"
    with qtbot.waitSignal(window.page.told, timeout=LIMIT_MS) as told:
        dialog.fileSelected.emit(str(target))
        dialog.close()
    assert told.args is not None
    assert told.args[0].startswith("given away.ncu-rep written. Taken out: ")
    assert "host names (" in told.args[0]
    copy = read_report(target)
    assert b"host-7" not in copy.raw
    assert len(copy.launches) == 2


def test_a_copy_that_cannot_be_written_is_said_so(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "made.ncu-rep"
    dialog = open_it(qtbot, window, path)
    dialog.fileSelected.emit(str(path))
    dialog.close()
    qtbot.waitUntil(lambda: window.page.banners.keys == ["error"], timeout=LIMIT_MS)
    assert path.read_bytes() == full_report()


def test_without_a_report_there_is_nothing_to_save(window: MainWindow) -> None:
    window.navigate("nsight")
    assert window.context.actions.reason("nsight.private_copy") == "no report is open"
