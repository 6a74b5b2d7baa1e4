"""Kernels of the Trace page: verdicts in table and inspector, and the counters of a report that is open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtGui import QGuiApplication

from tests.helpers.kernel_csv import write_kernel_csv
from tests.helpers.roofline_csv import Counted, write_roofline_csv
from tests.helpers.traces import call, kernel, op

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.tables.result import ResultTable
    from gui.main_window import MainWindow
    from gui.pages.nsight import NsightPage
    from gui.pages.roofline import RooflinePage
    from gui.pages.trace import TracePage
    from gui.widgets.trace_view import TraceView

LIMIT_MS = 60_000
H100 = "NVIDIA H100 80GB HBM3"
GEMM, RELU, ODD = "ampere_bf16_s16816gemm_bf16_128x64_tn", "relu_kernel", "odd_kernel"
SIZE: dict[str, Any] = {"grid": [64, 1, 1], "block": [256, 1, 1]}
COUNTERS = {"launches", "profiled_ns", "sm_pct", "memory_pct", "dram_bytes_per_s", "flop_per_s"}


def placed(
    name: str, ts: float, dur: float, number: int, operator: str, **inputs: Any
) -> list[dict[str, Any]]:
    return [
        op(operator, ts - 8, 6, **inputs),
        call("cudaLaunchKernel", ts - 6, 1, number),
        kernel(name, ts, dur, correlation=number, **(SIZE if inputs else {})),
    ]


SHAPES: dict[str, Any] = {
    "Input Dims": [[4096, 4096], [4096, 4096]],
    "Input type": ["c10::BFloat16", "c10::BFloat16"],
}
EVENTS = [
    *placed(GEMM, 100, 210, 1, "aten::mm", **SHAPES),
    *placed(RELU, 400, 50, 2, "aten::relu", **{"Input Dims": [[4096, 4096]], "Input type": ["float"]}),
    *placed(ODD, 500, 10, 3, "mine::odd"),
]


def training(tmp_path: Path) -> Path:
    path = tmp_path / "train.json"
    device = {"id": 0, "name": H100, "numSms": 132, "totalGlobalMem": 85_000_000_000}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": EVENTS}))
    return path


@pytest.fixture
def open_trace(qtbot: QtBot, window: MainWindow) -> Callable[[Path], TraceView]:
    """Opens a trace as every way in does, and waits for its verdicts."""

    def open_it(path: Path) -> TraceView:
        window.context.open_path(path)
        qtbot.waitUntil(lambda: window.page.NAME == "trace", timeout=LIMIT_MS)
        view = trace_page(window).view
        assert view is not None
        qtbot.waitUntil(lambda: "verdict" in keys(view), timeout=LIMIT_MS)
        return view

    return open_it


@pytest.fixture
def open_report(qtbot: QtBot, window: MainWindow) -> Callable[[Path], Path]:
    """Opens a report, and waits until it has been read."""

    def open_it(path: Path) -> Path:
        window.context.open_path(path)
        qtbot.waitUntil(
            lambda: ("nsight", path) in {(each.page, each.path) for each in window.context.points.all},
            timeout=LIMIT_MS,
        )
        return path

    return open_it


def table_of(view: TraceView) -> ResultTable | None:
    return view.tables.table.model.table


def keys(view: TraceView) -> list[str]:
    table = table_of(view)
    return [] if table is None else [column.key for column in table.columns]


def shown(view: TraceView) -> set[str]:
    return set(view.tables.table.columns.visible_keys())


def column(view: TraceView, key: str) -> dict[object, object]:
    """Values of a column by the kernel's name."""
    table = table_of(view)
    assert table is not None
    names, values = table.column("full_name"), table.column(key)
    return {names.value(row): values.value(row) for row in range(len(table))}


def trace_page(window: MainWindow) -> TracePage:
    page: TracePage = window.page  # type: ignore[assignment]
    assert page.NAME == "trace"
    return page


def select(qtbot: QtBot, window: MainWindow, view: TraceView, name: str) -> None:
    view.tables.table.select_rows([list(column(view, "calls")).index(name)])
    inspector = trace_page(window).trace_inspector
    qtbot.waitUntil(lambda: inspector.facts is not None and inspector.facts.name == name, timeout=LIMIT_MS)


def wait_for_counters(qtbot: QtBot, view: TraceView, report: str) -> None:
    def known() -> bool:
        table = table_of(view)
        return table is not None and any(f"Counters from {report}," in note for note in table.notes)

    qtbot.waitUntil(known, timeout=LIMIT_MS)


def test_kernels_have_a_verdict_and_the_inspector_its_evidence(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(training(tmp_path))
    # 2 * 4096**3 FLOP in 210 us are 654 of 989 TFLOP/s; 128 MiB in 50 us are 2.7 of 3.35 TB/s.
    assert column(view, "verdict") == {GEMM: "Compute-bound", RELU: "Memory-bound", ODD: None}
    assert "verdict" in shown(view)
    assert not COUNTERS & set(keys(view))
    select(qtbot, window, view, RELU)
    sections = trace_page(window).trace_inspector.kernel
    assert (sections.verdict.pill.text, sections.verdict.how.text()) == ("Memory-bound", "modelled")
    assert sections.verdict.evidence.rows
    assert sections.verdict.remedies.lines
    assert " of the trace's kernel time, estimate." in sections.verdict.remedies.lines[0]
    assert sections.isVisibleTo(trace_page(window).trace_inspector)
    trace_page(window).trace_inspector.head.copy_asked.emit()
    assert "Memory-bound, modelled\n" in QGuiApplication.clipboard().text()


def test_what_is_no_kernel_has_no_verdict(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(training(tmp_path))
    select(qtbot, window, view, GEMM)
    inspector = trace_page(window).trace_inspector
    assert not inspector.kernel.isHidden()
    facts = inspector.facts
    assert facts is not None
    assert facts.caller.op_row is not None
    inspector.slice_asked.emit(facts.caller.op_row)
    qtbot.waitUntil(lambda: inspector.facts is not facts, timeout=LIMIT_MS)
    assert inspector.kernel.isHidden()


def test_verdicts_stand_only_where_a_row_is_a_name(
    qtbot: QtBot, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(training(tmp_path))
    view.group_kernels("category")
    qtbot.waitUntil(lambda: "full_name" not in keys(view), timeout=LIMIT_MS)
    assert "verdict" not in keys(view)
    view.group_kernels("name")
    qtbot.waitUntil(lambda: "verdict" in keys(view), timeout=LIMIT_MS)


def test_a_row_stays_selected_when_its_verdict_comes(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    tmp_path: Path,
) -> None:
    view = open_trace(training(tmp_path))
    select(qtbot, window, view, RELU)
    document = view.document
    measured = write_kernel_csv(tmp_path / "k.csv", (RELU, 40_000, 20.0, 85.0))
    window.context.open_path(measured)
    wait_for_counters(qtbot, view, "k.csv")
    row = view.tables.table.current_row()
    assert row is not None
    assert list(column(view, "calls"))[row] == RELU
    assert document.extras.measured is not None


def test_counters_of_an_open_report_stand_beside_the_kernels(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    open_report: Callable[[Path], Path],
    tmp_path: Path,
) -> None:
    view = open_trace(training(tmp_path))
    counted = Counted(GEMM, H100, 200_000, 134_217_728, tensor_flop=137_438_953_472)
    report = open_report(write_roofline_csv(tmp_path / "gemm.csv", counted))
    wait_for_counters(qtbot, view, "gemm.csv")
    assert column(view, "sm_pct") == {GEMM: 50.0, RELU: None, ODD: None}
    assert column(view, "flop_per_s")[GEMM] == pytest.approx(137_438_953_472 / 200e-6)
    window.navigate("trace")
    assert {"sm_pct", "memory_pct", "flop_per_s"} <= shown(view)
    select(qtbot, window, view, GEMM)
    sections = trace_page(window).trace_inspector.kernel
    assert sections.measured_in.plain == "Measured in gemm.csv:"
    assert dict(sections.counters.pairs)["SM"] == "50.0\N{NO-BREAK SPACE}%"
    # What was not measured has nothing to say.
    select(qtbot, window, view, RELU)
    assert sections.call is None
    select(qtbot, window, view, GEMM)
    sections.report_asked.emit()
    assert window.page.NAME == "nsight"
    page: NsightPage = window.page  # type: ignore[assignment]
    assert page.view is not None
    assert (page.view.document.path, page.view.row) == (report, 0)
    page.close_shown()
    qtbot.waitUntil(lambda: not COUNTERS & set(keys(view)), timeout=LIMIT_MS)


def test_the_report_that_was_shown_last_and_matches_is_the_one(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    open_report: Callable[[Path], Path],
    tmp_path: Path,
) -> None:
    first = open_report(write_kernel_csv(tmp_path / "first.csv", (GEMM, 200_000, 70.0, 30.0)))
    open_report(write_kernel_csv(tmp_path / "second.csv", (GEMM, 200_000, 80.0, 40.0)))
    open_report(write_kernel_csv(tmp_path / "other.csv", ("unheard", 1_000, 1.0, 1.0)))
    view = open_trace(training(tmp_path))
    wait_for_counters(qtbot, view, "second.csv")
    assert column(view, "sm_pct")[GEMM] == 80.0
    window.context.reports.show(first)
    wait_for_counters(qtbot, view, "first.csv")
    assert column(view, "sm_pct")[GEMM] == 70.0


def test_a_kernel_that_was_profiled_in_another_size_says_so(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    open_report: Callable[[Path], Path],
    tmp_path: Path,
) -> None:
    path = tmp_path / "sizes.json"
    small = kernel(GEMM, 900, 5, correlation=9, grid=[64, 1, 1], block=[256, 1, 1])
    large = kernel(GEMM, 1000, 90, correlation=10, grid=[512, 1, 1], block=[256, 1, 1])
    calls = [call("cudaLaunchKernel", 890, 1, 9), call("cudaLaunchKernel", 892, 1, 10)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*EVENTS[3:], *calls, small, large]}))
    open_report(write_kernel_csv(tmp_path / "k.csv", (GEMM, 5_000, 70.0, 30.0)))
    view = open_trace(path)
    wait_for_counters(qtbot, view, "k.csv")
    # The table has the mean of what was profiled, the inspector is of the longest call.
    assert column(view, "sm_pct")[GEMM] == 70.0
    select(qtbot, window, view, GEMM)
    sections = trace_page(window).trace_inspector.kernel
    assert sections.measured_in.plain == "k.csv has this kernel with another grid or block only."
    assert sections.counters.isHidden()


def test_modelled_and_measured_points_stand_on_one_roofline(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    open_report: Callable[[Path], Path],
    tmp_path: Path,
) -> None:
    open_trace(training(tmp_path))
    counted = Counted(GEMM, H100, 200_000, 134_217_728, tensor_flop=137_438_953_472)
    open_report(write_roofline_csv(tmp_path / "gemm.csv", counted))
    window.navigate("roofline")
    page: RooflinePage = window.page  # type: ignore[assignment]
    qtbot.waitUntil(lambda: page.board is not None and len(page.board.sources) == 2, timeout=LIMIT_MS)
    assert page.board is not None
    points = page.board.points
    names = [points.strings[text_id] for text_id in points.name_id.tolist()]
    assert sorted(points.origin[[at for at, name in enumerate(names) if name == GEMM]].tolist()) == [0, 2]


def test_a_trace_without_kernels_is_as_before(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [op("aten::mm", 0, 10, **SHAPES)]}))
    window.context.open_path(path)
    qtbot.waitUntil(lambda: window.page.NAME == "trace", timeout=LIMIT_MS)
    view = trace_page(window).view
    assert view is not None
    qtbot.waitUntil(lambda: view.document.overview is not None, timeout=LIMIT_MS)
    qtbot.waitUntil(lambda: table_of(view) is not None, timeout=LIMIT_MS)
    assert not view.document.extras.has_any
    assert not window.context.tasks.shown


def test_a_kernel_is_shown_on_the_roofline_by_key_menu_and_button(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(training(tmp_path))
    page = trace_page(window)

    def by_key() -> None:
        window.context.actions.trigger("trace.roofline")

    def by_menu() -> None:
        table = view.tables.table
        row = list(column(view, "calls")).index(RELU)
        menu = table.menu(table.model.place_of(row), 0)
        next(each for each in menu.actions() if each.text() == "Show on roofline").trigger()
        menu.close()

    select(qtbot, window, view, RELU)
    for ask in (by_key, page.trace_inspector.roofline.click, by_menu):
        ask()
        qtbot.waitUntil(lambda: window.page.NAME == "roofline", timeout=LIMIT_MS)
        assert selected_on(qtbot, window) == RELU
        roofline: RooflinePage = window.page  # type: ignore[assignment]
        roofline.clear_selection()
        window.navigate("trace")


def test_a_kernel_without_a_point_says_why_where_it_is(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(training(tmp_path))
    select(qtbot, window, view, ODD)
    page = trace_page(window)
    with qtbot.waitSignal(page.told) as told:
        page.trace_inspector.roofline.click()
    assert told.args is not None
    assert told.args[0].startswith("No point on the roofline: ")
    assert window.page is page


def test_what_is_asked_for_is_not_hidden_on_the_roofline(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(training(tmp_path))
    select(qtbot, window, view, RELU)
    window.context.actions.trigger("trace.roofline")
    assert selected_on(qtbot, window) == RELU
    roofline: RooflinePage = window.page  # type: ignore[assignment]
    point = roofline.view.selected
    roofline.view.toggle_category(int(roofline.view.content.points.category[point]))
    roofline.table.bar.field.setText(GEMM)
    roofline.bar.modelled.click()
    qtbot.waitUntil(lambda: not len(roofline.view.content.points), timeout=LIMIT_MS)
    window.navigate("trace")
    window.context.actions.trigger("trace.roofline")
    assert selected_on(qtbot, window) == RELU
    assert roofline.bar.modelled.isChecked()
    assert roofline.view.hidden_categories == frozenset()
    assert roofline.view.notice == ""
    qtbot.waitUntil(lambda: len(roofline.table.model.rows) == 3, timeout=LIMIT_MS)


def selected_on(qtbot: QtBot, window: MainWindow) -> str:
    """Waits until a point is selected on the Roofline page, and returns the full name of its kernel."""
    page: RooflinePage = window.page  # type: ignore[assignment]
    assert page.NAME == "roofline"
    qtbot.waitUntil(lambda: page.selected_row is not None and page.view.selected >= 0, timeout=LIMIT_MS)
    board = page.board
    assert board is not None
    return board.points.strings[int(board.points.name_id[page.selected_row])]
