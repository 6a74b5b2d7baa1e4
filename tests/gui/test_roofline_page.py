"""The Roofline page: points of what is open, ceilings, own figures, table, inspector, ways to other pages."""

from __future__ import annotations

import csv
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.roofline.measurement import MeasuredRate, Measurement, keep_measurement
from core.roofline.points import WorkType
from core.roofline.verdict import VerdictKind
from gui.widgets.roofline_inspector import place_pairs
from tests.helpers.roofline_csv import Counted, write_roofline_csv

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.roofline import RooflinePage
    from gui.rooflines.board import Board

LIMIT_MS = 60_000
H100, V100, FUTURE = "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB", "Some Future GPU 9000"
GEMM = Counted("gemm_bf16", H100, 200_000, 134_217_728, tensor_flop=137_438_953_472)
NORM = Counted("void layer_norm_kernel<float>()", H100, 50_000, 134_217_728, ffma=25_165_824)
COPY = Counted("copy_int_kernel", H100, 50_000, 134_217_728)


@pytest.fixture
def show(qtbot: QtBot, window: MainWindow) -> Callable[..., RooflinePage]:
    """Opens tables as every way in does, then the Roofline page, and waits for points and verdicts."""

    def show_it(*paths: Path) -> RooflinePage:
        for count, path in enumerate(paths, 1):
            window.context.open_path(path)
            wait_for_sources(qtbot, window, count)
        window.navigate("roofline")
        page: RooflinePage = window.page  # type: ignore[assignment]
        wait_for_verdicts(qtbot, page)
        return page

    return show_it


def wait_for_sources(qtbot: QtBot, window: MainWindow, count: int) -> None:
    qtbot.waitUntil(lambda: len(window.context.points.all) == count, timeout=LIMIT_MS)


def wait_for_verdicts(qtbot: QtBot, page: RooflinePage) -> None:
    qtbot.waitUntil(
        lambda: page.board is not None and len(page.board.verdicts) == len(page.board.table), timeout=LIMIT_MS
    )


def choose(qtbot: QtBot, page: RooflinePage, act: Callable[[], object]) -> Board:
    """Does something and waits for the board that answers."""
    before = page.board
    act()
    qtbot.waitUntil(
        lambda: (
            page.board is not None
            and page.board is not before
            and len(page.board.verdicts) == len(page.board.table)
        ),
        timeout=LIMIT_MS,
    )
    assert page.board is not None
    return page.board


def choose_in(page: RooflinePage, box: str, data: object) -> Callable[[], None]:
    def act() -> None:
        selector = getattr(page.bar, box)
        place = selector.findData(data)
        assert place >= 0
        selector.setCurrentIndex(place)
        selector.activated.emit(place)

    return act


def work_labels(page: RooflinePage) -> list[str]:
    return [roof.label for roof in page.view.content.works]


def shown_table(board: Board, key: str) -> list[object]:
    column = board.table.column(key)
    return [column.value(row) for row in range(len(column))]


def test_an_empty_page_says_what_to_open(window: MainWindow) -> None:
    window.navigate("roofline")
    page: RooflinePage = window.page  # type: ignore[assignment]
    assert page.states.empty.isVisible()
    assert page.bar.isHidden()
    assert not page.wants_docks()
    assert window.context.actions.reason("roofline.zoom_in") == "nothing is open that has kernels"


def test_kernels_of_a_table_stand_where_their_counters_say(
    show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, NORM, COPY))
    board = page.board
    assert board is not None
    assert shown_table(board, "intensity_flop_per_byte")[:2] == pytest.approx([1024, 0.375])
    assert shown_table(board, "of_roof_pct")[0] == pytest.approx(69.46, abs=0.01)
    assert shown_table(board, "source") == ["Measured"] * 3
    assert shown_table(board, "reason") == [None, None, "no floating-point work, DRAM 2.684 TB/s"]
    assert page.bar.measured.text() == "Measured 3"
    assert page.bar.modelled.text() == "Modelled 0"
    assert page.strip.counted.full_text.startswith("2 kernels, 83.3\u00a0% of kernel time")
    assert len(page.view.content.points) == 2
    assert page.subtitle() == "a.csv"
    # 50 us of 250 us with a roof are below half of it: the norm reaches 30 % of 3.35 TB/s.
    assert page.strip.below.text() == "0.0\u00a0% of the time below"


def test_point_row_and_inspector_select_together(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, NORM, COPY))
    inspector = page.roofline_inspector
    QTest.mouseClick(page.view, Qt.MouseButton.LeftButton, pos=page.view.place_of(0).toPoint())
    assert page.selected_row == 0
    assert page.table.current_row() == 0
    assert inspector.name.text == "gemm_bf16"
    # SM and memory are at 50 % each in these tables.
    assert inspector.verdict.pill.text == "Latency-bound"
    assert dict((pair[0], pair[1]) for pair in inspector.facts.pairs)["Intensity, DRAM"] == "1,024 FLOP/B"
    assert "Of its roof, data sheet" in [pair[0] for pair in inspector.facts.pairs]
    assert inspector.bar.accessibleName() == "69.5\u00a0% of its roof"
    # Operations were counted, and there were none: that is 0, here as in the table.
    assert page.board is not None
    page.table.select_rows([shown_table(page.board, "name").index(COPY.name)])
    facts = dict((pair[0], pair[1]) for pair in inspector.facts.pairs)
    assert (facts["Intensity, DRAM"], facts["Rate"]) == ("0 FLOP/B", "0 FLOP/s")
    page.table.select_rows([1])
    assert page.view.selected == 1
    assert inspector.name.text == NORM.name
    # A kernel that is not plotted can be looked at all the same.
    page.table.select_rows([2])
    assert page.view.selected == -1
    assert ("Not plotted", "no floating-point work, DRAM 2.684 TB/s") in inspector.facts.pairs
    page.clear_selection()
    assert page.selected_row is None
    assert page.table.current_row() is None


def test_each_device_has_its_own_kernels_and_ceilings(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    on_v100 = Counted("gemm_on_v100", V100, 300_000, 134_217_728, tensor_flop=137_438_953_472)
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, on_v100))
    assert page.board is not None
    assert page.board.devices == (V100, H100)
    # The V100 has no BF16 on its tensor cores: the plot draws with what there is.
    assert shown_table(page.board, "name") == ["gemm_on_v100"]
    assert shown_table(page.board, "of_roof_pct") == [None]
    assert work_labels(page) == []
    assert [roof.label for roof in page.view.content.traffics] == ["DRAM 900.0 GB/s"]
    assert not page.view.grab().isNull()
    board = choose(qtbot, page, choose_in(page, "device", H100))
    assert shown_table(board, "name") == ["gemm_bf16"]
    assert work_labels(page) == ["BF16 tensor 989.4 TFLOP/s"]


def test_the_device_is_that_of_the_document_that_was_looked_at_last(
    qtbot: QtBot, window: MainWindow, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    on_v100 = Counted("gemm_on_v100", V100, 900_000, 134_217_728, tensor_flop=137_438_953_472)
    first = write_roofline_csv(tmp_path / "a.csv", GEMM)
    second = write_roofline_csv(tmp_path / "b.csv", on_v100)
    # The V100 has more time, but what was opened last is not of it.
    page = show(second, first)
    assert page.board is not None
    assert page.board.ask.device == H100
    assert page.subtitle() == "a.csv"

    def look_at(path: Path) -> None:
        window.navigate("nsight")
        window.context.reports.show(path)
        window.navigate("roofline")

    board = choose(qtbot, page, lambda: look_at(second))
    assert board.ask.device == V100
    assert page.subtitle() == "b.csv"
    # The user's own choice stays until another document is looked at.
    board = choose(qtbot, page, choose_in(page, "device", H100))
    look_at(second)
    assert page.board is board


def test_a_kernel_of_another_device_is_shown_on_its_own_roofline(
    qtbot: QtBot, window: MainWindow, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    on_v100 = Counted("gemm_on_v100", V100, 10_000, 134_217_728, tensor_flop=137_438_953_472)
    path = write_roofline_csv(tmp_path / "a.csv", GEMM, on_v100)
    page = show(path)
    assert page.board is not None
    assert page.board.ask.device == H100

    def ask() -> None:
        window.context.points.want("nsight", path, 1)
        window.navigate("roofline")

    board = choose(qtbot, page, ask)
    assert board.ask.device == V100
    assert page.roofline_inspector.name.text == "gemm_on_v100"
    assert page.selected_row == 0


def test_the_roof_follows_the_type_of_work(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, NORM))
    board = choose(qtbot, page, choose_in(page, "work_type", WorkType.FP32))
    assert shown_table(board, "name") == ["layer_norm_kernel<float>"]
    assert work_labels(page) == ["FP32 66.90 TFLOP/s"]
    board = choose(qtbot, page, choose_in(page, "work_type", WorkType.BF16_TENSOR))
    assert shown_table(board, "work_type") == ["BF16 tensor"]
    page.bar.density.set_current(1)
    sparse = choose(qtbot, page, partial(page.bar.density.chosen.emit, 1))
    assert sparse.ask.sparse
    assert "BF16 tensor 1.979 PFLOP/s, sparse" in work_labels(page)
    # Sparse ceilings are no roof.
    assert shown_table(sparse, "of_roof_pct")[0] == pytest.approx(69.46, abs=0.01)


def test_another_level_of_memory_without_counters_says_so(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM))
    board = choose(qtbot, page, choose_in(page, "level", "l2"))
    assert shown_table(board, "reason") == ["its L2 traffic is not known"]
    assert len(page.view.content.points) == 0
    assert page.view.notice.startswith("No kernel could be plotted: its L2 traffic is not known.")
    assert ("Not plotted", "its L2 traffic is not known") in [
        (label, value) for label, value, _ in place_pairs(board, 0)
    ]


def test_an_empty_plot_names_the_reason_of_most_kernels(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    half = Counted("half_copy", H100, 50_000, 67_108_864)
    page = show(write_roofline_csv(tmp_path / "a.csv", COPY, half))
    assert page.board is not None
    assert len(set(shown_table(page.board, "reason"))) == 2
    assert page.view.notice == (
        'No kernel could be plotted: no floating-point work. See "Not plotted" in the table below'
    )
    choose(qtbot, page, page.bar.measured.click)
    assert page.view.notice == "Measured, Modelled and the type of work above hide all kernels"


@pytest.mark.parametrize(("peak", "bandwidth"), [("2000", "8"), ("2.000,0", "8,0")])
def test_an_unknown_device_gets_no_guess_but_a_field(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path, peak: str, bandwidth: str
) -> None:
    unknown = Counted("gemm", FUTURE, 200_000, 134_217_728, tensor_flop=137_438_953_472)
    page = show(write_roofline_csv(tmp_path / "a.csv", unknown))
    assert page.board is not None
    assert not any(page.view.content.works)
    assert not any(page.view.content.traffics)
    assert page.own.isVisible()
    assert page.own.words.plain.startswith(f"No figures for {FUTURE}.")
    assert page.strip.below.text() == "No roof is known"
    page.own.peak.setText("much")
    page.own.use.click()
    assert page.banners.isVisible()
    page.own.peak.setText(peak)
    page.own.bandwidth.setText(bandwidth)
    board = choose(qtbot, page, page.own.use.click)
    assert shown_table(board, "of_roof_pct")[0] == pytest.approx(687.19 / 2000 * 100, abs=0.01)
    assert work_labels(page) == ["BF16 tensor 2.000 PFLOP/s, own entry"]
    kept = page.context.settings.page_value("roofline", "own")
    assert kept[FUTURE]["work"] == {"BF16_TENSOR": 2e15}


def test_the_peak_that_most_of_the_time_needs_is_asked_for_first(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    gemm = Counted("gemm", FUTURE, 200_000, 134_217_728, tensor_flop=137_438_953_472)
    norm = Counted("norm", FUTURE, 50_000, 134_217_728, ffma=25_165_824)
    page = show(write_roofline_csv(tmp_path / "a.csv", gemm, norm))
    assert page.own.work_type.currentData() == WorkType.BF16_TENSOR
    page.own.peak.setText("1000")
    page.own.bandwidth.setText("4")
    choose(qtbot, page, page.own.use.click)
    assert page.own.words.plain == f"Your figures for {FUTURE}. No peak yet: FP32."
    assert page.own.work_type.currentData() == WorkType.FP32
    page.own.peak.setText("80")
    choose(qtbot, page, page.own.use.click)
    assert page.own.words.plain == f"Your figures for {FUTURE}."


def test_measured_ceilings_stand_beside_the_data_sheet(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM))
    rates = (
        MeasuredRate(type="bf16", size=8192, repeats=5, best_per_s=8e14, median_per_s=7e14),
        MeasuredRate(type="copy", size=2**30, repeats=5, best_per_s=3e12, median_per_s=2.9e12),
    )
    keep_measurement(
        Measurement(
            device=H100,
            kind="cuda",
            capability=(9, 0),
            torch="2.8",
            measured_ns=1_790_000_000_000_000_000,
            rates=rates,
        )
    )
    board = choose(qtbot, page, partial(page.bar.changed.emit))
    assert "BF16 tensor 800.0 TFLOP/s, measured" in work_labels(page)
    assert [roof.dashed for roof in page.view.content.works] == [False, True]
    pairs = page.roofline_inspector.ceilings.pairs
    assert ("DRAM, measured here", "3.000 TB/s") in pairs
    # The roof is still that of the data sheet.
    assert shown_table(board, "of_roof_pct")[0] == pytest.approx(69.46, abs=0.01)


def test_the_cpu_can_be_measured_and_is_a_device_then(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_arguments: object, **_named: object) -> Measurement:
        rate = MeasuredRate(type="fp32", size=1024, repeats=3, best_per_s=1e11, median_per_s=9e10)
        found = Measurement(
            device="My CPU",
            kind="cpu",
            capability=(0, 0),
            torch="2.8",
            measured_ns=1_790_000_000_000_000_000,
            rates=(rate,),
        )
        keep_measurement(found)
        return found

    monkeypatch.setattr("core.launch.ceiling_measurement.measure_ceilings", measured)
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM))
    page.measure_menu.aboutToShow.emit()
    assert page.measure_menu.actions()[-1].text() == "The CPU of this machine"
    board = choose(qtbot, page, page.measure_menu.actions()[-1].trigger)
    assert board.ask.device == "My CPU"
    assert board.devices == (H100, "My CPU")
    assert work_labels(page) == ["FP32 100.0 GFLOP/s, measured"]
    assert page.bar.measure.isEnabled()
    assert not page.view.grab().isNull()


def test_a_point_above_its_roof_is_told_everywhere(show: Callable[..., RooflinePage], tmp_path: Path) -> None:
    fast = Counted("gemm", "NVIDIA A100-SXM4-80GB", 100_000, 134_217_728, tensor_flop=137_438_953_472)
    page = show(write_roofline_csv(tmp_path / "a.csv", fast))
    assert page.strip.above.text() == "1 point above the roof"
    page.table.select_rows([0])
    assert "4.41 times the BF16 tensor ceiling" in page.roofline_inspector.above.plain
    page.view.grab()
    assert page.view.content.points.above().tolist() == [0]


def test_the_filter_hides_rows_and_points(show: Callable[..., RooflinePage], tmp_path: Path) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, NORM))
    page.table.bar.field.setText("norm")
    assert page.table.model.rowCount() == 1
    assert page.view.point_at(page.view.place_of(0)) == -1
    assert page.view.point_at(page.view.place_of(1)) == 1
    page.table.bar.field.clear()
    assert page.view.point_at(page.view.place_of(0)) == 0


def test_time_below_another_share_of_the_roof(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, NORM))
    page.strip.field.setText("75,5")
    choose(qtbot, page, page.strip.field.editingFinished.emit)
    # The GEMM reaches 69 % in 200 of 250 us, the norm 80 %.
    assert page.strip.below.text() == "80.0\u00a0% of the time below"
    page.strip.field.setText("none")
    page.strip.field.editingFinished.emit()
    assert page.strip.field.text() == "75.5"


def test_measured_points_can_be_hidden(
    qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM))
    board = choose(qtbot, page, page.bar.measured.click)
    assert len(board.table) == 0
    assert page.bar.measured.text() == "Measured 1"


def test_a_kernel_opens_where_it_came_from(
    window: MainWindow, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    first = write_roofline_csv(tmp_path / "a.csv", GEMM)
    second = write_roofline_csv(tmp_path / "b.csv", NORM, COPY)
    page = show(first, second)
    assert page.board is not None
    assert shown_table(page.board, "file") == ["a.csv", "b.csv", "b.csv"]
    page.table.select_rows([0])
    assert page.roofline_inspector.open.text() == "Open in Nsight"
    page.roofline_inspector.open.click()
    assert window.page.NAME == "nsight"
    assert window.context.reports.shown == first


def test_a_known_roof_that_no_kernel_stands_below_is_not_called_unknown(
    show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", COPY))
    assert page.strip.below.text() == "No kernel has a place below the roof"
    assert page.strip.field.isHidden()


def test_closing_a_report_takes_its_points_away(
    qtbot: QtBot, window: MainWindow, show: Callable[..., RooflinePage], tmp_path: Path
) -> None:
    first, second = (
        write_roofline_csv(tmp_path / "a.csv", GEMM),
        write_roofline_csv(tmp_path / "b.csv", NORM),
    )
    page = show(first, second)
    choose(qtbot, page, lambda: window.context.reports.remove(first))
    assert page.subtitle() == "b.csv"
    window.context.reports.remove(second)
    assert page.states.empty.isVisible()
    assert page.board is None


def test_a_trace_gives_modelled_points(
    qtbot: QtBot, window: MainWindow, show: Callable[..., RooflinePage], shared_cases: Path
) -> None:
    trace = shared_cases.parents[1] / "data" / "traces" / "h100_owlv2_large.json.gz"
    page = show(trace)
    board = page.board
    assert board is not None
    assert board.devices == (H100,)
    assert set(shown_table(board, "source")) == {"Modelled"}
    assert page.strip.counted.full_text.startswith("29 kernels, modelled: 98.4\u00a0% of kernel time")
    assert all(roof > 0 for roof in page.view.content.points.roof_flop_per_s)
    assert any(each is not None and each.kind is VerdictKind.MEMORY_BOUND for each in board.verdicts)
    page.table.select_rows([1])
    assert page.table.model.cell(1, 6).startswith("\N{LESS-THAN OR EQUAL TO} ")
    name = page.roofline_inspector.name.text
    page.roofline_inspector.open.click()
    assert window.page.NAME == "trace"
    view = window.page.view  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: view.has_selected_slice, timeout=LIMIT_MS)
    selected = view.document.longest_kernel(name)
    assert selected is not None


def test_handed_devices_have_the_figures_of_their_data_sheets(
    qtbot: QtBot, show: Callable[..., RooflinePage], shared_cases: Path
) -> None:
    page = show(shared_cases / "R05_devices.csv")
    wanted = {
        "NVIDIA H100 80GB HBM3": (989.4e12, 3.35e12),
        "NVIDIA L4": (121e12, 0.3e12),
        "AMD Instinct MI300X": (1307e12, 5.3e12),
    }
    for device, (peak, bandwidth) in wanted.items():
        if page.bar.device.currentData() != device:
            choose(qtbot, page, choose_in(page, "device", device))
        content = page.view.content
        assert content.works[0].flop_per_s == pytest.approx(peak, rel=0.005)
        assert content.traffics[0].bytes_per_s == pytest.approx(bandwidth, rel=0.005)


def test_handed_kernels_without_a_device_have_places_and_no_roof(
    show: Callable[..., RooflinePage], shared_cases: Path
) -> None:
    page = show(shared_cases / "N00_healthy_raw.csv")
    assert page.view.content.points.intensity.tolist() == pytest.approx([1024, 0.375])
    assert np.isnan(page.view.content.points.roof_flop_per_s).all()
    assert page.own.isVisible()
    assert page.bar.device.currentText() == "Device not named"
    assert not page.view.grab().isNull()


def test_a_kernel_of_no_duration_is_kept(show: Callable[..., RooflinePage], shared_cases: Path) -> None:
    page = show(shared_cases / "R10_zero_time.csv")
    assert page.board is not None
    assert shown_table(page.board, "intensity_flop_per_byte") == pytest.approx([0.375])
    assert shown_table(page.board, "flop_per_s") == [None]
    assert shown_table(page.board, "reason") == ["duration 0"]


def test_plot_and_table_are_written(qtbot: QtBot, show: Callable[..., RooflinePage], tmp_path: Path) -> None:
    page = show(write_roofline_csv(tmp_path / "a.csv", GEMM, NORM))
    page.export_picture(tmp_path / "plot.png")
    page.export_picture(tmp_path / "plot.svg")
    assert (tmp_path / "plot.png").stat().st_size > 1000
    assert "gemm_bf16" in (tmp_path / "plot.svg").read_text()
    with qtbot.waitSignal(page.table.told, timeout=LIMIT_MS):
        page.table.export(tmp_path / "table.csv", "csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["intensity_flop_per_byte"]) for row in rows] == pytest.approx([1024, 0.375])
    assert [row["source"] for row in rows] == ["Measured", "Measured"]
