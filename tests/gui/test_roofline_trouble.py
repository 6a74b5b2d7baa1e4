"""The Roofline page when something goes wrong: peaks files, crashes, measurements and own figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from core.files import app_folders
from core.roofline.ceilings import Ceilings
from gui.plain_text import Paragraph
from gui.widgets.banner import Banner
from tests.helpers.roofline_csv import Counted, write_roofline_csv

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget
    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.nsight import NsightPage
    from gui.pages.roofline import RooflinePage

LIMIT_MS = 60_000
H100 = "NVIDIA H100 80GB HBM3"
GEMM = Counted("gemm_bf16", H100, 200_000, 134_217_728, tensor_flop=137_438_953_472)
UNNAMED = Counted("gemm", "", 200_000, 134_217_728, tensor_flop=137_438_953_472)


def show(qtbot: QtBot, window: MainWindow, path: Path) -> RooflinePage:
    """Opens a table and shows the page; the board may still be made."""
    window.context.open_path(path)
    qtbot.waitUntil(lambda: len(window.context.points.all) == 1, timeout=LIMIT_MS)
    window.navigate("roofline")
    return window.page  # type: ignore[return-value]


def shown_banners(page: RooflinePage) -> int:
    return sum(not banner.isHidden() for banner in page.banners.findChildren(Banner))


def wait_for_board(qtbot: QtBot, page: RooflinePage) -> None:
    qtbot.waitUntil(lambda: page.board is not None and page.states.shows_content, timeout=LIMIT_MS)
    qtbot.waitUntil(lambda: not page.context.tasks.shown, timeout=LIMIT_MS)


def test_a_broken_peaks_file_is_told_in_place_of_the_board_until_it_is_mended(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    own = app_folders().config / "device_peaks.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    page = show(qtbot, window, write_roofline_csv(tmp_path / "a.csv", GEMM))
    wait_for_board(qtbot, page)
    own.write_text("a=" + "[" * 20_000)
    window.context.reports.remove(tmp_path / "a.csv")
    page = show(qtbot, window, write_roofline_csv(tmp_path / "b.csv", GEMM))
    qtbot.waitUntil(page.states.failed.isVisible, timeout=LIMIT_MS)
    assert "nested too deeply" in page.states.failed.accessibleName()
    assert shown_banners(page) == 0
    own.unlink()
    page.states.failed.findChildren(QPushButton)[0].click()
    assert page.states.making.isVisible()
    wait_for_board(qtbot, page)
    assert shown_banners(page) == 0


def test_a_board_stays_when_a_later_one_fails_and_the_banner_goes_with_the_next(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    own = app_folders().config / "device_peaks.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    page = show(qtbot, window, write_roofline_csv(tmp_path / "a.csv", GEMM))
    wait_for_board(qtbot, page)
    own.write_text("a=")
    window.context.open_path(write_roofline_csv(tmp_path / "b.csv", GEMM))
    qtbot.waitUntil(lambda: len(window.context.points.all) == 2, timeout=LIMIT_MS)
    window.navigate("roofline")
    qtbot.waitUntil(lambda: shown_banners(page) == 1, timeout=LIMIT_MS)
    assert page.states.shows_content
    own.unlink()
    window.navigate("nsight")
    window.navigate("roofline")
    qtbot.waitUntil(lambda: page.board is not None and len(page.board.sources) == 2, timeout=LIMIT_MS)
    assert shown_banners(page) == 0


def test_after_a_crash_the_page_says_so_and_makes_the_board_again(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_arguments: object) -> None:
        raise RuntimeError("a bug")

    bugs: list[object] = []
    window.context.tasks.crashed.disconnect()
    window.context.tasks.crashed.connect(bugs.append)
    with monkeypatch.context() as broken:
        broken.setattr("gui.pages.roofline.build_board", crash)
        page = show(qtbot, window, write_roofline_csv(tmp_path / "a.csv", GEMM))
        qtbot.waitUntil(page.states.failed.isVisible, timeout=LIMIT_MS)
    assert len(bugs) == 1
    assert "A mistake in Ridgeline ended it" in page.states.failed.accessibleName()
    window.navigate("nsight")
    window.navigate("roofline")
    wait_for_board(qtbot, page)


def test_ceilings_can_be_measured_again_after_a_crash(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_arguments: object, **_named: object) -> None:
        raise KeyError("capability")

    monkeypatch.setattr("core.launch.ceiling_measurement.measure_ceilings", crash)
    bugs: list[object] = []
    window.context.tasks.crashed.disconnect()
    window.context.tasks.crashed.connect(bugs.append)
    page = show(qtbot, window, write_roofline_csv(tmp_path / "a.csv", GEMM))
    wait_for_board(qtbot, page)
    page.measuring.measure("cpu")
    assert not page.bar.measure.isEnabled()
    qtbot.waitUntil(lambda: len(bugs) == 1, timeout=LIMIT_MS)
    assert page.bar.measure.isEnabled()


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (("1e-300", "8"), "1e-300 TFLOP/s is no peak of a device."),
        (("2000000", "8"), "2000000 TFLOP/s is no peak of a device."),
        (("2000", "1e-300"), "1e-300 TB/s is no bandwidth of a device."),
        (("2000", "1e9"), "1e9 TB/s is no bandwidth of a device."),
    ],
)
def test_figures_of_no_device_are_refused(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, figures: tuple[str, str], words: str
) -> None:
    page = show(qtbot, window, write_roofline_csv(tmp_path / "a.csv", UNNAMED))
    wait_for_board(qtbot, page)
    # Said once: by the strip that asks for figures, not by the inspector too.
    assert page.own.words.plain == "The files do not name the device, so no figures are known."
    page.table.select_rows([0])
    assert [
        part.plain for part in page.roofline_inspector.findChildren(Paragraph) if "data sheet" in part.plain
    ] == []
    entered: list[Ceilings] = []
    failed: list[str] = []
    page.own.entered.connect(entered.append)
    page.own.failed.connect(lambda error: failed.append(error.message))
    page.own.peak.setText(figures[0])
    page.own.bandwidth.setText(figures[1])
    page.own.use.click()
    assert (failed, entered) == ([words], [])


def test_a_kernel_sent_to_the_roofline_is_opened_by_return_and_tabs_give_keys_to_what_they_show(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    # Shown while its points are still being made: the keys go to the plot afterwards.
    window.context.open_path(write_roofline_csv(tmp_path / "a.csv", GEMM))
    qtbot.waitUntil(lambda: window.page.subtitle().startswith("a.csv"), timeout=LIMIT_MS)
    nsight = cast("NsightPage", window.page)
    qtbot.waitUntil(lambda: nsight.view is not None and nsight.view.row is not None, timeout=LIMIT_MS)
    nsight.show_on_roofline()
    page = cast("RooflinePage", window.page)
    qtbot.waitUntil(lambda: page.board is not None and page.view.selected >= 0, timeout=LIMIT_MS)
    qtbot.waitUntil(lambda: window.focusWidget() is page.view, timeout=LIMIT_MS)
    QTest.keyClick(page.view, Qt.Key.Key_Return)
    assert window.page is nsight
    assert nsight.view is not None
    detail = nsight.view.detail
    qtbot.waitUntil(lambda: "metrics" in detail.keys, timeout=LIMIT_MS)
    for key in ("metrics", "light"):
        place = detail.tabs.tabRect(detail.keys.index(key)).center()
        QTest.mouseClick(detail.tabs, Qt.MouseButton.LeftButton, pos=place)
        page_of_tab = detail.metrics.view if key == "metrics" else detail.page(key)
        qtbot.waitUntil(partial(_has_keys, window, page_of_tab), timeout=LIMIT_MS)


def _has_keys(window: MainWindow, widget: QWidget) -> bool:
    return window.focusWidget() is widget
