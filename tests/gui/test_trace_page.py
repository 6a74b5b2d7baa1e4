"""The Trace page: what opens there, what tables, timeline and inspector say, how they follow each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from core.analyses.index import TraceIndex
from core.analyses.registry import ANALYSES
from core.analyses.steps import summarize_steps
from core.cli import main
from core.files import SAMPLE_TRACE
from core.runs.snapshot import Capture
from core.tables.selection import WHOLE, Selection
from gui.widgets.step_words import PARTS, shares_pct, step_of_row
from gui.widgets.trace_tables import tabs_of
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.runs.store import RunFolder
    from gui.main_window import MainWindow
    from gui.pages.trace import TracePage
    from gui.widgets.trace_view import TraceView

LIMIT_MS = 60_000

SHAPES: dict[str, Any] = {
    "Input Dims": [[4, 8], [8, 2], []],
    "Input type": ["float", "float", "Scalar"],
}
STEPS = [
    annotation("ProfilerStep#3", 0, 100),
    annotation("ProfilerStep#4", 100, 100),
    op("aten::mm", 10, 20, **SHAPES),
    call("cudaLaunchKernel", 15, 5, 1),
    kernel("gemm_a", 40, 30, correlation=1, grid=[8, 1, 1], block=[128, 1, 1], custom="kept in the file"),
    op("aten::relu", 110, 20),
    call("cudaLaunchKernel", 115, 5, 2),
    kernel("relu_b", 140, 10, correlation=2),
    call("cudaLaunchKernel", 125, 4, 3),
    kernel("gemm_a", 155, 20, correlation=3),
]


def write_trace(path: Path, *events: dict[str, Any], **more: Any) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **more, "traceEvents": list(events)}))
    return path


@pytest.fixture
def steps_file(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "steps.json", *STEPS)


@pytest.fixture
def open_trace(qtbot: QtBot, window: MainWindow) -> Callable[[Path], TraceView]:
    """Opens a file as every way in does, and waits until everything about it is known."""

    def open_it(path: Path) -> TraceView:
        window.context.open_path(path)

        def known() -> bool:
            view = getattr(window.page, "view", None)
            return view is not None and view.document.path == path and view.document.overview is not None

        qtbot.waitUntil(known, timeout=LIMIT_MS)
        view: TraceView = window.page.view  # type: ignore[attr-defined]
        wait_for_table(qtbot, view)
        return view

    return open_it


def wait_for_table(qtbot: QtBot, view: TraceView, name: str | None = None) -> None:
    def shown() -> bool:
        table = view.tables.table.model.table
        return table is not None and table.name == (name or view.tables.ask.table)

    qtbot.waitUntil(shown, timeout=LIMIT_MS)


def page_of(window: MainWindow) -> TracePage:
    page: TracePage = window.page  # type: ignore[assignment]
    assert page.NAME == "trace"
    return page


def column(view: TraceView, key: str) -> list[object]:
    table = view.tables.table.model.table
    assert table is not None
    return [table.column(key).value(row) for row in range(len(table))]


def select(qtbot: QtBot, window: MainWindow, view: TraceView, name: str) -> None:
    """Selects the row of a kernel and waits for the inspector."""
    view.tables.table.select_rows([column(view, "name").index(name)])
    inspector = page_of(window).trace_inspector
    qtbot.waitUntil(lambda: inspector.facts is not None and inspector.facts.name == name, timeout=LIMIT_MS)


def pairs(window: MainWindow, section: str) -> dict[str, str]:
    return dict(page_of(window).trace_inspector.pairs[section].pairs)


def messages(window: MainWindow) -> str:
    return " ".join(banner.accessibleName() for banner in window.page.banners._banners.values())


def test_without_a_trace_the_page_says_what_to_do(window: MainWindow) -> None:
    window.navigate("trace")
    page = page_of(window)
    assert page.view is None
    assert page.empty.accessibleName().startswith("No trace is open.")
    assert window.docks.inspector.isHidden()


def test_a_file_shows_kernels_timeline_and_figures(
    window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    assert window.page.subtitle() == "steps.json, steps 3\N{EN DASH}4, 10 events"
    assert column(view, "name") == ["gemm_a", "relu_b"]
    assert column(view, "sum_ns") == [50_000, 10_000]
    assert view.strip.text == "3 kernels   Summed 60.00 µs   Busy 60.00 µs   Wall time 200.0 µs"
    assert view.timeline.view is not None
    assert pairs(window, "figures")["Kernel time, busy"] == "60.00 µs"
    assert [view.bar.steps.itemText(place) for place in (2, 3)] == ["Step 3", "Step 4"]
    assert window.context.settings.recent_files[0].path == str(steps_file)


def test_a_step_limits_every_table_and_escape_takes_it_away(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    view.bar.part_chosen.emit(view.bar.steps.itemData(2))
    qtbot.waitUntil(lambda: column(view, "name") == ["gemm_a"], timeout=LIMIT_MS)
    assert column(view, "sum_ns") == [30_000]
    assert window.status.selection == "Selection 100.0 µs"
    assert view.bar.steps.currentText() == "Step 3"
    view.tables.show_table("launches")
    wait_for_table(qtbot, view, "launches")
    assert column(view, "duration_ns") == [30_000]
    with qtbot.waitActive(window):
        window.activateWindow()
    QTest.keyClick(view, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: column(view, "duration_ns") == [30_000, 10_000, 20_000], timeout=LIMIT_MS)
    assert window.status.selection == ""
    assert view.selection == WHOLE


def test_a_range_in_the_timeline_is_the_selection(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    assert view.timeline.view is not None
    view.timeline.view.drag_range(150_000, 180_000, True)
    assert view.selection == Selection(150_000, 180_000)
    qtbot.waitUntil(lambda: column(view, "sum_ns") == [20_000], timeout=LIMIT_MS)
    assert window.status.selection == "Selection 30.00 µs"
    assert view.bar.steps.currentText() == ""


def test_the_figures_are_those_of_the_selected_part_and_say_of_which(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    inspector = page_of(window).trace_inspector
    assert inspector.figures_title == "Whole trace"
    view.set_range(Selection(0, 100_000))
    words = "Step 3   1 kernel   Summed 30.00 µs   Busy 30.00 µs   Wall time 100.0 µs   GPU busy 30.0\xa0%"
    qtbot.waitUntil(lambda: view.strip.text == words, timeout=LIMIT_MS)
    assert inspector.figures_title == "Step 3"
    assert pairs(window, "figures")["Kernel time, summed"] == "30.00 µs"
    assert pairs(window, "figures")["GPU busy"] == "30.0\N{NO-BREAK SPACE}%"
    view.set_range(Selection(145_000, 165_000))
    words = "Selected range   1 kernel   Summed 20.00 µs   Busy 15.00 µs   Wall time 20.00 µs"
    qtbot.waitUntil(lambda: view.strip.text == f"{words}   GPU busy 75.0\xa0%", timeout=LIMIT_MS)
    assert inspector.figures_title == "Selected range"
    view.set_range(Selection(0, 200_000))
    qtbot.waitUntil(lambda: view.strip.text.startswith("All steps   3 kernels"), timeout=LIMIT_MS)
    view.clear_range()
    assert view.strip.text == "3 kernels   Summed 60.00 µs   Busy 60.00 µs   Wall time 200.0 µs"
    assert inspector.figures_title == "Whole trace"


def test_a_step_without_work_of_a_device_shows_no_time_of_one() -> None:
    table = summarize_steps(
        TraceIndex(trace_of(annotation("ProfilerStep#7", 10, 50), op("aten::mm", 15, 10)))
    )
    step = step_of_row(table, 0)
    assert step is not None
    assert [(label, value) for label, value, _ in step.figures] == [("Duration", "50.00 µs")]


def test_a_row_of_the_steps_shows_what_the_step_went_to_and_leads_to_it(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    view.tables.show_table("steps")
    wait_for_table(qtbot, view, "steps")
    view.tables.table.select_rows([column(view, "step").index(4)])
    inspector = page_of(window).trace_inspector
    assert inspector.head.text == "Step 4"
    assert inspector.facts is None
    assert view.has_selected_slice
    shown = pairs(window, "parts")
    assert shown["Duration"] == "100.0 µs"
    assert shown["Compute"] == "30.00 µs, 30.0\N{NO-BREAK SPACE}%"
    assert (shown["Kernels"], shown["Busy"]) == ("2", "30.00 µs, 30.0\N{NO-BREAK SPACE}%")
    parts = [words for _, words in PARTS]
    assert sum(float(shown[each].split(", ")[1].rstrip("%")) for each in parts) == pytest.approx(100)
    assert view.timeline.view is not None
    assert view.timeline.view.selection is None
    inspector.step_asked.emit()
    assert view.selection == Selection(100_000, 200_000)
    assert inspector.head.text == "Step 4"
    view.clear_range()
    view.clear_one()
    assert inspector.head.text.startswith("Trace")


def test_shares_of_a_step_add_up_whatever_they_are_rounded_from() -> None:
    assert shares_pct([1, 1, 1]) == [33.4, 33.3, 33.3]
    assert shares_pct([0, 0]) == [0.0, 0.0]
    assert sum(shares_pct([7, 11, 13, 17, 19, 23, 29])) == pytest.approx(100)


def test_the_search_comes_to_device_work_first_and_to_python_last(
    qtbot: QtBot, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    frame = {"ph": "X", "cat": "python_function", "name": "softmax", "pid": 1, "tid": 1, "ts": 0, "dur": 90}
    view = open_trace(
        write_trace(
            tmp_path / "search.json",
            frame,
            call("softmax_call", 5, 1, 9),
            op("aten::softmax", 10, 20),
            kernel("softmax_b", 50, 5),
            kernel("softmax_a", 40, 5),
        )
    )
    view.bar.field.setText("softmax")
    qtbot.waitUntil(lambda: view.hits == 5, timeout=LIMIT_MS)
    trace = view.document.trace
    assert trace is not None
    names = [trace.strings[int(trace.slices.name_id[row])] for row in view._hits.tolist()]
    assert names == ["softmax_a", "softmax_b", "aten::softmax", "softmax_call", "softmax"]


def test_the_number_of_kernels_goes_when_they_are_grouped_otherwise(
    qtbot: QtBot, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    assert view.tables.tabs.tabText(0) == "Kernels  2"
    view.tables.grouping.setCurrentIndex(view.tables.grouping.findData("device"))
    qtbot.waitUntil(lambda: view.tables.tabs.tabText(0) == "Kernels", timeout=LIMIT_MS)
    view.tables.grouping.setCurrentIndex(view.tables.grouping.findData("name"))
    qtbot.waitUntil(lambda: view.tables.tabs.tabText(0) == "Kernels  2", timeout=LIMIT_MS)


def test_selecting_a_row_selects_its_slices_and_describes_the_longest(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    select(qtbot, window, view, "gemm_a")
    timeline = view.timeline.view
    assert timeline is not None
    assert timeline.selection is not None
    assert timeline.selection.start_ns == 40_000
    inspector = page_of(window).trace_inspector
    assert inspector.head.text == "Kernel device 0, stream 7"
    assert inspector.name.text == "gemm_a"
    this = pairs(window, "this")
    assert this["Duration"] == "30.00 µs"
    assert this["Grid"] == "8 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 1"
    assert this["Launch delay"] == "25.00 µs"
    assert this["Registers a thread"] == "n/a"
    assert pairs(window, "caller") == {
        "Operator": "aten::mm",
        "Call": "cudaLaunchKernel",
        "Input 1": "[4, 8] float",
        "Input 2": "[8, 2] float",
    }
    assert pairs(window, "same")["This one"] == "longest of 2"
    assert pairs(window, "same")["Share of kernel time"] == "83.3\N{NO-BREAK SPACE}%"
    assert pairs(window, "same")["Sum"] == "50.00 µs"
    assert pairs(window, "step") == {"Step": "3", "Offset in it": "40.00 µs", "Step takes": "100.0 µs"}


def test_arguments_are_read_from_the_file_and_can_be_copied(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    select(qtbot, window, view, "gemm_a")
    qtbot.waitUntil(lambda: "custom" in pairs(window, "arguments"), timeout=LIMIT_MS)
    assert pairs(window, "arguments")["custom"] == "kept in the file"
    assert pairs(window, "arguments")["grid"] == "[8, 1, 1]"
    page_of(window).trace_inspector.head.copy_asked.emit()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("Kernel device 0, stream 7\ngemm_a\n")
    assert "custom\tkept in the file" in copied


def test_a_file_that_has_changed_is_said_in_the_place_of_its_arguments(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    steps_file.write_text("gone")
    select(qtbot, window, view, "gemm_a")
    inspector = page_of(window).trace_inspector
    qtbot.waitUntil(lambda: "any more" in inspector._arguments_note.text(), timeout=LIMIT_MS)


def test_a_click_in_the_timeline_selects_the_row(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    document = view.document
    assert document.trace is not None
    names = [document.trace.strings[int(each)] for each in document.trace.slices.name_id]
    view.timeline.slice_selected.emit(names.index("relu_b"))
    assert view.tables.table.selected_rows().tolist() == [1]
    inspector = page_of(window).trace_inspector
    qtbot.waitUntil(
        lambda: inspector.facts is not None and inspector.facts.name == "relu_b", timeout=LIMIT_MS
    )
    # An operator is no row of the kernels: then none is selected.
    view.timeline.slice_selected.emit(names.index("aten::mm"))
    assert view.tables.table.selected_rows().tolist() == []
    qtbot.waitUntil(lambda: inspector.head.text == "Operator 1", timeout=LIMIT_MS)


def test_actions_of_the_inspector_lead_to_slices(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    select(qtbot, window, view, "gemm_a")
    inspector = page_of(window).trace_inspector
    inspector.step_asked.emit()
    assert view.selection == Selection(0, 100_000)
    assert inspector.facts is not None
    assert inspector.facts.caller.op_row is not None
    inspector.slice_asked.emit(inspector.facts.caller.op_row)
    qtbot.waitUntil(
        lambda: inspector.facts is not None and inspector.facts.name == "aten::mm", timeout=LIMIT_MS
    )
    assert view.timeline.view is not None
    assert view.timeline.view.selection is not None
    assert view.timeline.view.selection.start_ns == 10_000


def test_the_filter_searches_the_whole_trace_and_f3_goes_through_the_hits(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    view.bar.field.setText("GEMM")
    qtbot.waitUntil(lambda: view.hits == 2, timeout=LIMIT_MS)
    assert view.bar.hits.text() == "Timeline: 2 slices"
    assert view.tables.table.bar.count.text() == "1 of 2 rows"
    starts = []
    for step in (1, 1, 1, -1):
        view.go_to_hit(step)
        assert view.timeline.view is not None
        assert view.timeline.view.selection is not None
        starts.append(view.timeline.view.selection.start_ns)
    assert starts == [40_000, 155_000, 40_000, 155_000]
    assert view.bar.hits.text() == "Timeline: 2 of 2 slices"
    view.bar.field.setText("nothing of that name")
    qtbot.waitUntil(lambda: view.bar.hits.text() == "Timeline: 0 slices", timeout=LIMIT_MS)
    view.bar.field.clear()
    qtbot.waitUntil(view.bar.hits.isHidden, timeout=LIMIT_MS)


def test_several_traces_are_tabs(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    first = write_trace(tmp_path / "first.json", *STEPS)
    second = write_trace(tmp_path / "second.json", kernel("other", 0, 5))
    open_trace(first)
    page = page_of(window)
    assert page._tab_bar.isHidden()
    view = open_trace(second)
    assert not page._tab_bar.isHidden()
    assert [page.tabs.tabText(place) for place in range(page.tabs.count())] == ["first", "second"]
    assert column(view, "name") == ["other"]
    page.tabs.setCurrentIndex(0)
    assert page.view is not None
    assert page.view.document.path == first
    page.tabs.moveTab(0, 1)
    assert window.context.traces.paths == (second, first)
    assert page.view.document.path == first
    page.close_shown()
    assert page.view is not None
    assert page.view.document.path == second
    assert page._tab_bar.isHidden()
    page.close_shown()
    assert page.view is None


def test_a_refused_file_leaves_the_tab_before_it(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    tmp_path: Path,
    steps_file: Path,
) -> None:
    """Case T17."""
    view = open_trace(steps_file)
    empty = tmp_path / "empty.json"
    empty.write_bytes(b"")
    window.context.open_path(empty)
    qtbot.waitUntil(lambda: "The file is empty." in messages(window), timeout=LIMIT_MS)
    assert "empty.json was not opened." in messages(window)
    assert page_of(window).view is view
    assert window.context.traces.paths == (steps_file,)
    text = tmp_path / "text.json"
    text.write_text('{"traceEvents": "text"}')
    window.context.open_path(text)
    qtbot.waitUntil(lambda: "traceEvents is text" in messages(window), timeout=LIMIT_MS)
    assert page_of(window).view is view
    assert column(view, "name") == ["gemm_a", "relu_b"]


def test_notes_on_the_data_lead_to_the_rows_they_are_about(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(write_trace(tmp_path / "t.json", *STEPS, kernel("warm_up", 300, 9)))
    assert view.strip.notes.text() == "1 note on data"
    view.strip.problem_chosen.emit(0)
    wait_for_table(qtbot, view, "quality")
    assert column(view, "name") == ["1 kernel (9.000 µs) outside any step."]
    qtbot.waitUntil(lambda: view.tables.table.selected_rows().tolist() == [0], timeout=LIMIT_MS)
    timeline = view.timeline.view
    assert timeline is not None
    assert timeline.selection is not None
    assert timeline.selection.start_ns == 300_000
    # The same figures without what lies outside of steps.
    view.set_range(view.bar.steps.itemData(1))
    view.tables.show_table("kernels")
    qtbot.waitUntil(lambda: column(view, "name") == ["gemm_a", "relu_b"], timeout=LIMIT_MS)


def test_the_overview_of_a_trace_of_the_cpu_shows_operators_and_not_steps(
    open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    view = open_trace(
        write_trace(
            tmp_path / "cpu.json",
            annotation("ProfilerStep#3", 0, 100),
            op("aten::mm", 10, 20),
            op("aten::relu", 20, 5),
            annotation("gloo:all_reduce", 60, 40, tid=2),
        )
    )
    laid = view.document.laid
    assert laid is not None
    (busy_ns,) = laid.index.overview_busy_ns
    edges = np.linspace(laid.index.start_of_all_ns, laid.index.end_of_all_ns, len(busy_ns) + 1)
    assert busy_ns.sum() == 60_000
    assert edges[:-1][busy_ns > 0].min() == pytest.approx(10_000, abs=100)
    assert not busy_ns[(edges[:-1] > 30_000) & (edges[1:] < 60_000)].any()


def test_two_numbers_of_one_device_are_told_apart(
    window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    """On AMD the profiler counts CPUs before the GPUs; PyTorch does not."""
    properties = [{"id": 0, "name": "AMD Instinct MI300X"}]
    open_trace(
        write_trace(tmp_path / "mi300.json", kernel("gemm", 0, 5, device=2), deviceProperties=properties)
    )
    pairs = page_of(window).trace_inspector.pairs["file"].pairs
    assert ("Device 0", "AMD Instinct MI300X") in pairs
    assert ("Device 0 in the timeline", "GPU 2") in pairs


def test_a_trace_of_the_cpu_shows_operators(
    window: MainWindow, open_trace: Callable[[Path], TraceView]
) -> None:
    view = open_trace(SAMPLE_TRACE)
    assert view.tables.shown == "ops"
    assert view.strip.text.startswith(
        "This trace was recorded on the CPU only: it holds operators, no kernels."
    )
    assert pairs(window, "figures")["Kernels"] == "none"
    table = view.tables.table.model.table
    assert table is not None
    assert len(table) > 50


def test_open_traces_come_back_and_are_read_when_they_are_shown(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    steps_file: Path,
    tmp_path: Path,
) -> None:
    from gui.traces.open_traces import OpenTraces

    other = write_trace(tmp_path / "other.json", kernel("other", 0, 5))
    open_trace(other)
    open_trace(steps_file)
    again = OpenTraces(window.context.settings)
    assert again.paths == (other, steps_file)
    assert again.shown == steps_file
    third = write_trace(tmp_path / "third.json", kernel("third", 0, 5))
    window.context.traces.add(third, show=False)
    page = page_of(window)
    assert third not in page._files
    page.tabs.setCurrentIndex(2)
    assert page.document is page._files[third]
    qtbot.waitUntil(lambda: page._files[third].state == "open", timeout=LIMIT_MS)


def write_rank(folder: Path, rank: int, late_us: int, name: str = "") -> Path:
    """One collective of a rank, which begins late and ends with the others, and what only this rank did."""
    folder.mkdir(exist_ok=True)
    return write_trace(
        folder / f"{name or f'rank{rank}'}.json",
        kernel("ncclDevKernel_AllReduce", 100 + late_us, 50 - late_us),
        kernel(f"own_{rank}", 10, 20, custom=f"of rank {rank}"),
        distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2},
        baseTimeNanoseconds=10**18,
    )


def tab_texts(page: TracePage) -> list[str]:
    return [page.tabs.tabText(place) for place in range(page.tabs.count())]


def test_the_tab_of_ranks_that_are_not_read_yet_says_how_many(
    window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path, tmp_path: Path
) -> None:
    open_trace(steps_file)
    ranks = tuple(write_rank(tmp_path / "ranks", rank, late_us=30 * rank) for rank in range(2))
    window.context.traces.add(ranks[0], show=False, files=ranks)
    page = page_of(window)
    assert ranks[0] not in page._files
    assert tab_texts(page) == ["steps", "rank0, 2 ranks"]


def test_a_folder_of_ranks_is_one_trace(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    folder = tmp_path / "ranks"
    for rank in range(2):
        write_rank(folder, rank, late_us=30 * rank)
    view = open_trace(folder)
    assert tab_texts(page_of(window)) == ["ranks, 2 ranks"]
    assert window.page.subtitle() == "ranks, 2 ranks, 4 events"
    laid = view.document.laid
    assert laid is not None
    assert [group.name.split(",")[0] for group in laid.index.groups] == ["Rank 0", "Rank 1"]
    assert window.context.settings.recent_files[0].path == str(folder)
    # Each rank has a device 0 of its own.
    assert view.document.overview is not None
    assert view.document.overview.devices == 2
    view.tables.show_table("arrivals")
    wait_for_table(qtbot, view, "arrivals")
    assert column(view, "last_rank") == [1]
    view.tables.show_table("quality")
    wait_for_table(qtbot, view, "quality")
    assert any("Aligned by the files' clocks" in str(text) for text in column(view, "name"))
    # Arguments come from the file of the rank, not from the first.
    view.tables.show_table("kernels")
    wait_for_table(qtbot, view, "kernels")
    for name in ("own_1", "own_0"):
        select(qtbot, window, view, name)
        words = f"of rank {name[-1]}"
        qtbot.waitUntil(lambda: pairs(window, "arguments").get("custom") == words, timeout=LIMIT_MS)  # noqa: B023


def test_a_refusal_reads_the_same_in_the_window_and_in_the_terminal(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.json"
    text.write_text('{"traceEvents": "text"}')
    assert main(["summary", str(text)]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: text.json was not opened. Not a trace: traceEvents is text."
    window.context.open_path(text)
    qtbot.waitUntil(lambda: "traceEvents is text" in messages(window), timeout=LIMIT_MS)
    assert messages(window) == f"{error} {hint.removeprefix('hint: ')}"


def test_a_folder_with_two_captures_of_a_rank_is_refused_in_one_line(
    qtbot: QtBot,
    window: MainWindow,
    open_trace: Callable[[Path], TraceView],
    tmp_path: Path,
    steps_file: Path,
) -> None:
    view = open_trace(steps_file)
    folder = tmp_path / "ranks"
    write_rank(folder, 0, 0)
    write_rank(folder, 0, 0, name="again")
    window.context.open_path(folder)
    qtbot.waitUntil(lambda: "are both of rank 0" in messages(window), timeout=LIMIT_MS)
    assert "ranks was not opened." in messages(window)
    assert window.context.traces.paths == (steps_file,)
    assert page_of(window).view is view


def test_a_damaged_rank_is_named(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    write_rank(folder, 0, 0)
    (folder / "rank1.json").write_text('{"traceEvents": "text", "schemaVersion": 1}')
    window.context.open_path(folder)
    qtbot.waitUntil(lambda: "rank1.json: " in messages(window), timeout=LIMIT_MS)
    assert window.context.traces.paths == ()


def test_a_chosen_rank_limits_the_tables_and_stays_chosen(
    qtbot: QtBot, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    for rank in range(2):
        write_rank(tmp_path / "ranks", rank, late_us=30 * rank)
    view = open_trace(tmp_path / "ranks")
    assert [view.bar.ranks.itemText(place) for place in range(3)] == ["Ranks  all", "Rank 0", "Rank 1"]

    def names() -> list[Any]:
        return sorted(column(view, "name"))

    view.bar.ranks.activated.emit(2)
    qtbot.waitUntil(lambda: names() == ["ncclDevKernel_AllReduce", "own_1"], timeout=LIMIT_MS)
    qtbot.waitUntil(lambda: view.strip.text.startswith("Rank 1   2 kernels"), timeout=LIMIT_MS)
    assert view.timeline.view is not None
    assert view.timeline.view.closed_groups == {0}
    view.set_range(Selection(0, 50_000))
    qtbot.waitUntil(lambda: names() == ["own_1"], timeout=LIMIT_MS)
    qtbot.waitUntil(lambda: view.strip.text.startswith("Rank 1, selected range   1 kernel"), timeout=LIMIT_MS)
    view.clear_one()
    qtbot.waitUntil(lambda: names() == ["ncclDevKernel_AllReduce", "own_1"], timeout=LIMIT_MS)
    view.bar.ranks.activated.emit(0)
    qtbot.waitUntil(lambda: names() == ["ncclDevKernel_AllReduce", "own_0", "own_1"], timeout=LIMIT_MS)
    assert view.strip.text.startswith("4 kernels")
    assert not view.timeline.view.closed_groups


def test_files_of_different_ranks_that_are_chosen_together_are_one_trace(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    from gui.traces.open_traces import OpenTraces

    folder = tmp_path / "ranks"
    files = [write_rank(folder, rank, 0) for rank in (1, 0)]
    other = write_rank(folder, 0, 0, name="other")
    window.opener.open(files)
    qtbot.waitUntil(lambda: len(window.context.traces.paths) == 1, timeout=LIMIT_MS)
    page = page_of(window)
    qtbot.waitUntil(lambda: page.view is not None and page.view.document.state == "open", timeout=LIMIT_MS)
    assert tab_texts(page) == ["rank0, 2 ranks"]
    again = OpenTraces(window.context.settings)
    assert again.files_of(files[1]) == (files[1], files[0])
    # As one recent entry, whose files all open again.
    recent = window.context.settings.recent_files[0]
    assert (recent.title, recent.paths) == ("Trace of 2 ranks", (str(files[1]), str(files[0])))
    page.close_shown()
    qtbot.waitUntil(lambda: len(window.context.recent.rows) == 1, timeout=LIMIT_MS)
    row = window.context.recent.rows[0]
    assert (row.name, row.result) == ("rank0.json and 1 more", "")
    window.context.open_paths(row.paths)
    qtbot.waitUntil(lambda: len(window.context.traces.paths) == 1, timeout=LIMIT_MS)
    assert window.context.traces.files_of(files[1]) == (files[1], files[0])
    # Two of one rank are two traces; the first of them is no longer one of two ranks.
    window.opener.open([files[1], other])
    qtbot.waitUntil(lambda: window.context.traces.paths == (files[1], other), timeout=LIMIT_MS)
    assert window.context.traces.files_of(files[1]) == ()


def test_all_files_of_a_folder_chosen_together_are_the_folder(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    files = [write_rank(tmp_path / "ranks", rank, 0) for rank in range(2)]
    window.opener.open(files)
    qtbot.waitUntil(lambda: window.context.traces.paths == (tmp_path / "ranks",), timeout=LIMIT_MS)
    assert window.context.settings.recent_files[0].title == "Folder with 2 traces"


def test_a_capture_is_a_tab_by_itself_and_one_asked_for_here_is_shown(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    session = window.context.session
    folder = make_run()
    session.attach(folder)
    qtbot.waitUntil(lambda: session.snapshot is not None, timeout=LIMIT_MS)
    (folder.path / "traces").mkdir(exist_ok=True)
    for rank in range(3):
        write_trace(folder.path / f"traces/r{rank}.json", kernel(f"rank_{rank}", 0, 5))

    def ready(request: str, rank: int) -> None:
        file = f"traces/r{rank}.json"
        session.capture_ready.emit(
            Capture(request=request, what="trace", rank=rank, state="ready", file=file)
        )

    ready("theirs", 0)
    assert window.page.NAME == "home"
    assert window.context.traces.paths == (folder.path / "traces/r0.json",)
    assert window.banners.keys == ["capture theirs"]
    session._asked.add("mine")
    ready("mine", 1)
    assert window.page.NAME == "trace"
    assert window.context.traces.shown == folder.path / "traces/r1.json"
    ready("mine", 2)
    assert window.context.traces.shown == folder.path / "traces/r1.json"
    assert len(window.context.traces.paths) == 2
    document = page_of(window).document
    assert document is not None
    qtbot.waitUntil(lambda: document.state == "open", timeout=LIMIT_MS)
    assert tab_texts(page_of(window)) == ["r0", "r1, 2 ranks"]


def test_the_timeline_is_exported_as_a_picture(
    window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path, tmp_path: Path
) -> None:
    view = open_trace(steps_file)
    view.export_picture(tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").read_bytes().startswith(b"\x89PNG")
    view.export_picture(tmp_path / "missing" / "timeline.png")
    assert "The picture could not be written" in messages(window)


def test_names_are_text_and_never_markup(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], tmp_path: Path
) -> None:
    """Case T49."""
    name = "<b>bold</b><img src=x>&amp;"
    view = open_trace(write_trace(tmp_path / "<i>t.json", kernel(name, 0, 5)))
    assert column(view, "full_name") == [name]
    view.tables.table.select_rows([0])
    inspector = page_of(window).trace_inspector
    qtbot.waitUntil(lambda: inspector.facts is not None, timeout=LIMIT_MS)
    assert inspector.name.text == name


def test_closing_while_it_is_read_leaves_nothing_behind(
    qtbot: QtBot, window: MainWindow, steps_file: Path
) -> None:
    window.context.traces.add(steps_file)
    window.navigate("trace")
    document = page_of(window).document
    assert document is not None
    assert document.state == "reading"
    page_of(window).close_shown()
    assert window.context.traces.paths == ()
    qtbot.waitUntil(lambda: not window.context.tasks.shown, timeout=LIMIT_MS)


def test_cancelling_takes_the_tab_away(qtbot: QtBot, window: MainWindow, steps_file: Path) -> None:
    window.context.traces.add(steps_file)
    window.navigate("trace")
    view = page_of(window)._view_of(steps_file)
    assert view.reading.text.startswith("Reading steps.json")
    view.reading.cancel_asked.emit()
    assert window.context.traces.paths == ()
    assert page_of(window).view is None


def test_tabs_hold_what_the_list_of_analyses_has() -> None:
    tabs = tabs_of((("kernels", "Kernels"), ("launches", "Launches"), ("new", "New one")))
    assert [tab.title for tab in tabs] == ["Kernels", "New one", "Data quality"]
    assert tabs[0].tables == (("kernels", "Grouped"), ("launches", "Per launch"))


def test_every_analysis_has_its_place_in_few_tabs() -> None:
    tabs = tabs_of(tuple((each.name, each.title) for each in ANALYSES))
    titles = ["Kernels", "Operators", "Modules", "Steps", "Communication", "Memory", "Data quality"]
    assert [tab.title for tab in tabs] == titles


def test_every_table_of_every_tab_can_be_shown(
    qtbot: QtBot, window: MainWindow, open_trace: Callable[[Path], TraceView], steps_file: Path
) -> None:
    view = open_trace(steps_file)
    assert view.tables.names[0] == "kernels"
    assert view.tables.names[-1] == "quality"
    for name in view.tables.names:
        view.tables.show_table(name)
        wait_for_table(qtbot, view, name)
    for place in range(view.tables.grouping.count()):
        view.tables.show_table("kernels")
        view.tables.grouping.setCurrentIndex(place)
        wait_for_table(qtbot, view, "kernels")
    assert np.array_equal(view.tables.table.model.rows, np.sort(view.tables.table.model.rows))
