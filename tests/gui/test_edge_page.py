"""The Edge page: from a click to an answer that agrees, and how each kind of result is told.

Results of made_results are made up, to show all kinds beside each other; the run
on lavapipe, a Vulkan driver that computes on the CPU, is a real one.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from core.edge.history import keep_result, kept_results
from core.edge.targets import EdgeTargets
from core.hardware.probe import DeviceProblem
from core.units import NOT_MEASURED
from gui.edge.runs import EdgeRuns
from gui.pages.edge import HISTORY, RESULTS, ROOFLINE, EdgePage, newest
from gui.pages.home import HomePage
from gui.widgets.edge_devices import DeviceCards
from gui.widgets.edge_latency import latency_rows
from gui.widgets.edge_words import state_icon
from gui.widgets.result_table import RowChosen
from tests.helpers.edge_results import CPU, GPU, SOFTWARE, made_result, made_results, made_target

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.edge.result import EdgeResult
    from gui.main_window import MainWindow
    from gui.tasks import Tasks
    from gui.theme import ThemeController

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
LIMIT_MS = 240_000


def edge_page(window: MainWindow) -> EdgePage:
    assert isinstance(window.page, EdgePage)
    return window.page


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow) -> EdgePage:
    """The page, its devices known, with one result of each kind."""
    window.navigate("edge")
    page = edge_page(window)
    qtbot.waitUntil(lambda: page.runs.targets is not None, timeout=30_000)
    page.runs.results = made_results()
    page.runs.changed.emit()
    page._show_results()
    return page


def cell(page: EdgePage, row: int, key: str) -> str:
    table = page.results.model.table
    assert table is not None
    keys = [column.key for column in table.columns]
    return page.results.model.cell(page.results.model.place_of(row), keys.index(key))


def row_of(page: EdgePage, state: str) -> int:
    table = page.results.model.table
    assert table is not None
    states = [table.column("state").value(row) for row in range(len(table))]
    return states.index(state)


def at_result(page: EdgePage, state: str) -> EdgeResult:
    """Selects a result by its state, as a click on its row does."""
    page.results.select_rows([row_of(page, state)])
    assert page.result is not None
    return page.result


# --- how results are told


@pytest.mark.parametrize("state", ["disagrees", "ran on the CPU", "failed"])
def test_what_does_not_agree_shows_no_speed(page: EdgePage, state: str) -> None:
    row = row_of(page, state)
    for key in ("p50_ns", "p05_ns", "p95_ns", "prefill_tokens_per_s"):
        assert cell(page, row, key) == NOT_MEASURED, key
    result = at_result(page, state)
    latency = next(each for each in page.latency.plot.rows if each.id == result.id)
    assert latency.spans_ms is None
    assert latency.text.endswith(f"{state}, no time")
    pairs = dict(page.edge_inspector.stages.pairs)
    assert pairs["First call"] == pairs["Warm call"] == NOT_MEASURED
    assert not page.edge_inspector._sections["speeds"].isVisibleTo(page.edge_inspector)
    page.tabs.setCurrentIndex(ROOFLINE)
    assert page.roofline.currentWidget() is page.roofline.nothing


def test_a_result_that_agrees_has_its_speed(page: EdgePage) -> None:
    row = row_of(page, "agrees")
    assert cell(page, row, "p50_ns") != NOT_MEASURED
    result = at_result(page, "agrees")
    assert page.edge_inspector.pill.text == "Agrees"
    latency = next(each for each in page.latency.plot.rows if each.id == result.id)
    assert latency.spans_ms is not None
    low, middle, high = latency.spans_ms
    assert low < middle < high


def test_states_have_an_icon_and_its_colour() -> None:
    assert state_icon("agrees") == ("check-circle", "ok")
    assert state_icon("agrees, software") == ("warning", "warn")
    assert state_icon("disagrees")[1] == state_icon("ran on the CPU")[1] == state_icon("failed")[1] == "error"
    assert state_icon("cancelled") == ("x", "text2")


def test_the_reference_stands_in_the_same_table_without_a_spread_that_nobody_measured(page: EdgePage) -> None:
    row = row_of(page, "reference")
    assert [cell(page, row, key) for key in ("backend", "device")] == ["torch 2.13.0", "CPU"]
    assert cell(page, row, "p50_ns") == "18.7"
    assert cell(page, row, "p05_ns") == cell(page, row, "p95_ns") == NOT_MEASURED
    assert cell(page, row, "max_abs_error") == "0"
    page.results.select_rows([row])
    assert page.edge_inspector.pill.text == "Reference"


def test_columns_of_times_share_a_unit(page: EdgePage) -> None:
    headers = [display.header for display in page.results.model.displays]
    assert {"p50, ms", "p5, ms", "p95, ms"} <= set(headers)


def test_what_has_just_ended_is_selected_whatever_was_before(page: EdgePage) -> None:
    at_result(page, "disagrees")
    new = made_result(30, backend="ort-webgpu", device="Another made-up GPU", device_key="vulkan:3")
    page.runs.results = (new, *page.runs.results)
    page.runs.ended.emit(new)
    assert page.result == new
    assert page.results.current_row() == 0
    assert page.edge_inspector.head.text.endswith("Another made-up GPU")


@pytest.mark.parametrize("tab", [RESULTS, ROOFLINE])
def test_the_shown_plot_is_written_as_a_picture(page: EdgePage, tmp_path: Path, tab: int) -> None:
    page._select(made_result(1).id)
    page.tabs.setCurrentIndex(tab)
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        page.export_picture(tmp_path / f"plot.{kind}")
        assert (tmp_path / f"plot.{kind}").read_bytes().startswith(start)


def test_hollow_is_what_ran_on_no_gpu() -> None:
    rows = latency_rows(made_results())
    assert {row.label.partition(",")[0] for row in rows if row.hollow} == {"CPU", "llvmpipe"}
    assert {row.label.rpartition(", ")[2] for row in rows} == {"fp16", "fp32"}
    assert latency_rows([made_result(1)])[0].label == f"{GPU}, iree"


def test_who_ran_the_nodes_stands_in_the_inspector(page: EdgePage) -> None:
    at_result(page, "ran on the CPU")
    inspector = page.edge_inspector
    assert inspector.pill.text == "Ran on the CPU"
    (row,) = inspector.providers.rows
    assert (row.what, row.value, row.against, row.level) == ("CPU", "188", "of 188", "warn")
    assert inspector.why.plain == "188 of 188 nodes ran on the CPU, none on WebGPU."
    inspector.copy()
    copied = QGuiApplication.clipboard().text()
    assert "188" in copied
    assert "ran on the CPU" in copied


def test_dispatches_of_the_selected_result_are_listed_with_shares(page: EdgePage) -> None:
    at_result(page, "agrees")
    page._select(made_result(1).id)
    table = page.dispatches.model.table
    assert table is not None
    assert table.column("name").value(0) == "matmul 128×1024×256"
    assert table.column("calls").value(0) == 4
    shares = [table.column("share_pct").value(row) for row in range(len(table))]
    assert math.isclose(sum(float(each) for each in shares if each is not None), 100.0)
    page._select(made_result(5).id)
    assert page.dispatches.model.table is not None
    assert len(page.dispatches.model.table) == 0


def test_the_roofline_holds_dispatches_below_measured_ceilings(page: EdgePage) -> None:
    page._select(made_result(1).id)
    page.tabs.setCurrentIndex(ROOFLINE)
    content = page.roofline.view.content
    assert page.roofline.currentWidget() is page.roofline.view
    assert [roof.flop_per_s for roof in content.works] == [1.9e12]
    assert [roof.bytes_per_s for roof in content.traffics] == [2.4e11]
    assert all(roof.dashed and "measured" in roof.label for roof in content.works)
    first = content.name_of(0)
    assert first == "matmul 128×1024×256"
    # 4 calls of 2 * 128 * 1024 * 256 FLOP in 4 * 103 µs.
    assert math.isclose(float(content.points.flop_per_s[0]), 2 * 128 * 1024 * 256 / 103e-6)
    least_bytes = 4 * (128 * 256 + 256 * 1024 + 128 * 1024)
    assert math.isclose(float(content.points.intensity[0]), 2 * 128 * 1024 * 256 / least_bytes)
    page.roofline.view.point_selected.emit(0)
    assert page.dispatches.current_row() == 0


def test_only_the_newest_of_a_kind_stands_in_results_and_all_in_history(page: EdgePage) -> None:
    again = made_result(20, warm_s=2e-3)
    page.runs.results = (again, *made_results())
    page._show_results()
    assert page.tabs.tabText(HISTORY) == "History 9"
    assert page.results.model.table is not None
    # The reference's own run stands behind the eight.
    assert len(page.results.model.table) == 9
    assert again in newest(page.runs.results)
    assert made_result(1) not in newest(page.runs.results)
    page.tabs.setCurrentIndex(HISTORY)
    assert len(page.results.model.table) == 9
    page.tabs.setCurrentIndex(RESULTS)


def test_a_result_is_removed_from_the_page_and_the_disk(qtbot: QtBot, window: MainWindow) -> None:
    kept = keep_result(made_result(1))
    window.navigate("edge")
    page = edge_page(window)
    qtbot.waitUntil(lambda: page.runs.results == (kept,), timeout=30_000)
    page._show_results()
    table = page.results.model.table
    assert table is not None
    (words, remove), *_ = page.results.row_actions
    assert words == "Remove result"
    remove(RowChosen(table, 0))
    assert page.runs.results == ()
    assert page._content.currentWidget() is page._nothing
    qtbot.waitUntil(lambda: kept_results() == ((), 0), timeout=5_000)


# --- devices


def test_a_device_is_chosen_by_the_keyboard(qtbot: QtBot, theme: ThemeController) -> None:
    cards = DeviceCards(theme)
    qtbot.addWidget(cards)
    cards.show_targets(
        (
            made_target(GPU, "vulkan:0", default=True),
            made_target(SOFTWARE, "vulkan:1", software=True),
            made_target(CPU, "cpu"),
        ),
        (DeviceProblem(code="metal_needs_macos", message="Metal needs macOS."),),
    )
    assert [each.key for each in cards.chosen] == ["vulkan:0"]
    assert [card._warning.isVisibleTo(card) for card in cards.cards] == [False, True, False]
    QTest.keyClick(cards.cards[1].box, Qt.Key.Key_Space)
    assert [each.key for each in cards.chosen] == ["vulkan:0", "vulkan:1"]
    cards.show_reachable(frozenset(("vulkan:1",)), "Some backend")
    assert [each.key for each in cards.chosen] == ["vulkan:1"]
    assert "Some backend does not reach" in cards.cards[0].toolTip()
    (missing,) = cards._missing
    assert missing.accessibleName() == "Metal needs macOS."


def test_tab_goes_from_the_bar_to_the_devices(page: EdgePage) -> None:
    page.bar.run.setFocus()
    for card in page.devices.cards:
        if card.isEnabled():
            QTest.keyClick(page.window().focusWidget(), Qt.Key.Key_Tab)
            assert page.window().focusWidget() is card.box


def test_markup_in_the_name_of_a_device_is_text(page: EdgePage, qtbot: QtBot, theme: ThemeController) -> None:
    name = "<b>GPU</b> & <img src=x>"
    page.runs.targets = EdgeTargets(
        targets=(made_target(name, "cpu", default=True),),
        problems=(DeviceProblem(code="vulkan_driver_crashed", message="The driver <b>x</b> crashed."),),
    )
    page._show_devices()
    (card,) = page.devices.cards
    assert card.box.text() == name.replace("&", "&&")
    page.runs.results = (made_result(1, device=name),)
    page._show_results()
    assert "&lt;b&gt;x&lt;/b&gt;" in page.edge_inspector.missing.text()
    assert cell(page, 0, "device") == name


def test_home_names_the_devices_and_leads_to_the_page(qtbot: QtBot, window: MainWindow) -> None:
    home = window.page
    assert isinstance(home, HomePage)
    window.context.edge.targets = EdgeTargets(
        targets=(
            made_target(SOFTWARE, "vulkan:0", api="Vulkan", software=True, default=True),
            made_target(CPU, "cpu"),
        ),
        problems=(),
    )
    window.context.edge.looked.emit()
    assert f"Edge runs on {SOFTWARE} (Vulkan, software); {CPU}." in home._detect_text.plain
    assert "1 Vulkan device, software" in window.status._devices.full_text
    window.context.actions.trigger("view.edge")
    page = edge_page(window)
    page._show_devices()
    assert [card.target.name for card in page.devices.cards] == [SOFTWARE, CPU]


# --- what is run


def test_a_dropped_model_is_the_one_to_run(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"\x08\x0a\x12\x07pytorch")
    window.context.open_path(path)
    qtbot.waitUntil(lambda: window.page.NAME == "edge", timeout=5_000)
    page = edge_page(window)
    qtbot.waitUntil(lambda: page.bar.file == str(path), timeout=5_000)
    assert page.subtitle() == "net.onnx on this machine"
    assert not page.bar.tokens.isEnabled()
    assert window.context.settings.page_value("edge", "file") == str(path)
    qtbot.waitUntil(lambda: page.runs.targets is not None, timeout=30_000)


def test_a_script_without_its_function_offers_those_that_it_has(page: EdgePage, tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text("def build_model():\n    pass\n", encoding="utf-8")
    page.choose_file(str(script))
    assert page.bar.preset == "tiny"
    assert page.banners.keys == ["error"]
    page.choose_file(f"{script}:build_model")
    assert page.banners.keys == []
    assert page.bar.file == f"{script}:build_model"


def test_a_length_that_is_none_is_refused_in_words(page: EdgePage) -> None:
    page.bar.tokens.setText("twelve")
    page.run()
    assert page.banners.keys == ["error"]
    assert page.runs.running is None


@pytest.fixture
def on_lavapipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader finds this driver, whatever else is installed."""
    if not os.path.exists(LAVAPIPE):
        pytest.skip("lavapipe is not installed here")
    monkeypatch.setenv("VK_DRIVER_FILES", LAVAPIPE)
    monkeypatch.setenv("VK_ICD_FILENAMES", LAVAPIPE)


@pytest.mark.usefixtures("on_lavapipe")
def test_one_click_runs_the_model_on_a_vulkan_device_and_it_agrees(
    qtbot: QtBot, window: MainWindow, tasks: Tasks
) -> None:
    window.navigate("edge")
    page = edge_page(window)
    qtbot.waitUntil(lambda: page.runs.targets is not None, timeout=30_000)
    assert page._content.currentWidget() is page._nothing
    page.bar.tokens.setText("16")
    assert [each.key for each in page.devices.chosen] == ["vulkan:0"]
    stages: list[str] = []
    page.runs.changed.connect(lambda: stages.append(page.runs.stage))
    with qtbot.waitSignal(page.runs.ended, timeout=LIMIT_MS):
        QTest.mouseClick(page.bar.run, Qt.MouseButton.LeftButton)
        assert page.bar.cancel.isVisible()
    result = page.result
    assert result is not None
    assert (result.state, result.software, result.agrees) == ("agrees", True, True)
    assert cell(page, 0, "state") == "agrees, software"
    assert cell(page, 0, "p50_ns") != NOT_MEASURED
    assert page.edge_inspector.pill.text == "Agrees"
    assert page.dispatches.model.table is not None
    assert len(page.dispatches.model.table) > 0
    qtbot.waitUntil(lambda: page.runs.running is None, timeout=5_000)
    assert not page.bar.cancel.isVisible()
    assert any("compil" in stage for stage in stages), stages
    # Another start finds it again.
    later = EdgeRuns(tasks)
    later.look()
    qtbot.waitUntil(lambda: later.results == (result,), timeout=30_000)
    later.deleteLater()


@pytest.mark.usefixtures("on_lavapipe")
def test_a_run_is_cancelled_and_those_behind_it_are_forgotten(qtbot: QtBot, window: MainWindow) -> None:
    window.navigate("edge")
    page = edge_page(window)
    qtbot.waitUntil(lambda: page.runs.targets is not None, timeout=30_000)
    page.bar.tokens.setText("16")
    for card in page.devices.cards:
        card.box.setChecked(True)
    QTest.keyClick(page.bar.run, Qt.Key.Key_Space)
    assert page.runs.waiting == 1
    window.context.actions.trigger("edge.cancel")
    qtbot.waitUntil(lambda: page.runs.running is None, timeout=LIMIT_MS)
    assert page.runs.waiting == 0
    assert page.runs.results == ()
    assert page.bar.run.text() == "Run on selected"
