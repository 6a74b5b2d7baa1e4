"""The Nsight page: what opens there, what list, tabs and inspector say, baselines, tables, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from gui.reports.answers import LaunchAsk
from gui.rooflines.sources import PointAsked
from gui.widgets.nsight_sections import MissingNote
from gui.widgets.nsight_source import SourceTab
from gui.widgets.nsight_tabs import LaunchTab
from tests.helpers.kernel_csv import write_kernel_csv
from tests.helpers.ncu_reports import (
    NAMES,
    block,
    full_report,
    report,
    result,
    rule,
    section,
    session,
    usual_metrics,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.nsight import NsightPage
    from gui.widgets.nsight_view import NsightView

LIMIT_MS = 60_000
KERNELS = (
    ("gemm", 400_000, 80.0, 20.0),
    ("layer_norm", 100_000, 20.0, 90.0),
    ("gemm", 500_000, 82.0, 22.0),
)


def write_report(path: Path, *durations_ns: int) -> Path:
    """A report of launches of gemm that differ in how long they took."""
    results = [result(usual_metrics(duration_ns), [section()], [rule()]) for duration_ns in durations_ns]
    path.write_bytes(report(block(results=results, texts=NAMES, session=session())))
    return path


@pytest.fixture
def open_report(qtbot: QtBot, window: MainWindow) -> Callable[[Path], NsightView]:
    """Opens a file as every way in does, and waits until its first kernel is shown."""

    def open_it(path: Path) -> NsightView:
        window.context.open_path(path)

        def known() -> bool:
            view = getattr(window.page, "view", None)
            return (
                view is not None
                and view.document.path == path
                and view.document.state == "open"
                and (view.detail.answer is not None or not len(view.document.kernels))
            )

        qtbot.waitUntil(known, timeout=LIMIT_MS)
        view: NsightView = window.page.view  # type: ignore[attr-defined]
        return view

    return open_it


def page_of(window: MainWindow) -> NsightPage:
    page: NsightPage = window.page  # type: ignore[assignment]
    assert page.NAME == "nsight"
    return page


def wait_for_row(qtbot: QtBot, view: NsightView, row: int) -> None:
    qtbot.waitUntil(
        lambda: view.detail.answer is not None and view.detail.answer.ask.row == row, timeout=LIMIT_MS
    )


def messages(window: MainWindow) -> str:
    return " ".join(banner.accessibleName() for banner in window.page.banners._banners.values())


def test_without_a_report_the_page_says_what_to_do(window: MainWindow) -> None:
    window.navigate("nsight")
    page = page_of(window)
    assert page.view is None
    assert page.empty.accessibleName().startswith("No report is open.")
    assert window.docks.inspector.isHidden()
    assert window.context.actions.reason("nsight.filter") == "no report is open"


def test_a_report_shows_kernels_tabs_and_facts(
    window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    path = tmp_path / "full.ncu-rep"
    path.write_bytes(full_report())
    view = open_report(path)
    assert window.page.subtitle() == "full.ncu-rep, 2 kernels"
    assert view.bar.count.text() == "2 of 2"
    assert view.strip.text.startswith("2 kernels   Summed 51.58 µs   NVIDIA H100 PCIe")
    assert view.detail.keys[0] == "light"
    assert {"rules", "metrics", "session"} <= set(view.detail.keys)
    inspector = page_of(window).nsight_inspector
    assert inspector.head.text == "Kernel 1 of 2"
    assert inspector.name.text == "gemm(float *)"
    launch = dict(inspector.launch.pairs)
    assert launch["Duration"] == "25.79 µs"
    assert launch["Grid"] == "64 x 64 x 1".replace("x", "\N{MULTIPLICATION SIGN}")
    assert launch["Registers"] == "n/a"
    facts = dict(inspector.report.pairs)
    assert (facts["Device"], facts["Nsight Compute"]) == ("NVIDIA H100 PCIe", "2025.1.0.0")
    assert window.context.settings.recent_files[0].path == str(path)


def test_each_tab_shows_something_of_every_launch(
    qtbot: QtBot, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    path = tmp_path / "full.ncu-rep"
    path.write_bytes(full_report())
    view = open_report(path)
    for row in (0, 1):
        view.choose_row(row)
        wait_for_row(qtbot, view, row)
        for key in view.detail.keys:
            view.detail.show_tab(key)
            page = view.detail.page(key)
            if isinstance(page, SourceTab):
                continue
            if isinstance(page, LaunchTab):
                page.finish()
            shown = page.shown if isinstance(page, LaunchTab) else view.detail.metrics.model.rows
            assert len(shown), (row, key)


def test_a_table_of_ncu_csv_opens_too(
    window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    kernels = view.document.kernels
    assert kernels is not None
    assert kernels.shown == ("gemm", "layer_norm", "gemm")
    assert [entry.rows for entry in view.list.kernels.entries] == [(0, 2), (1,)]
    view.detail.show_tab("rules")
    page = view.detail.page("rules")
    assert isinstance(page, LaunchTab)
    note = page.shown[0]
    assert isinstance(note, MissingNote)
    assert note.command.startswith("ncu --set full")


def test_a_file_without_kernels_says_so(open_report: Callable[[Path], NsightView], tmp_path: Path) -> None:
    """Case N23."""
    view = open_report(write_kernel_csv(tmp_path / "none.csv"))
    assert view._forms.currentWidget() is view._no_kernels
    assert view._no_kernels.accessibleName().startswith("No kernels in this file")


def test_a_refused_file_leaves_the_report_before_it(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    """Case N13."""
    view = open_report(write_report(tmp_path / "good.ncu-rep", 1_000))
    fake = tmp_path / "fake.ncu-rep"
    fake.write_bytes(b"NVR\x00\x02\x02\x02\x03" + bytes(64))
    empty = tmp_path / "empty.ncu-rep"
    empty.write_bytes(b"")
    for path in (fake, empty):
        window.context.open_path(path)
        qtbot.waitUntil(lambda: path.name in messages(window), timeout=LIMIT_MS)  # noqa: B023
        assert page_of(window).view is view
        assert window.context.reports.paths == (tmp_path / "good.ncu-rep",)
    assert "empty" in messages(window)


def test_the_filter_hides_kernels_and_gives_them_back(
    qtbot: QtBot, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    QTest.keyClicks(view.list, "/")
    assert view.window().focusWidget() is view.bar.field
    view.bar.field.setText("NORM")
    assert view.bar.count.text() == "1 of 3"
    assert view.strip.text.startswith("1 kernel   Summed 100.0 µs")
    wait_for_row(qtbot, view, 1)
    view.bar.field.setText("nothing")
    assert view._lists.currentWidget() is view._no_match
    view.clear_filter()
    assert view.bar.count.text() == "3 of 3"
    # What was looked at last is still chosen.
    assert view.row == 1


def test_arrows_go_through_kernels_and_open_groups(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    assert view.window().focusWidget() is view.list
    QTest.keyClick(view.list, Qt.Key.Key_Right)
    assert [entry.rows for entry in view.list.kernels.entries] == [(0, 2), (0,), (2,), (1,)]
    for _ in range(2):
        QTest.keyClick(view.list, Qt.Key.Key_Down)
    wait_for_row(qtbot, view, 2)
    assert page_of(window).nsight_inspector.head.text == "Kernel 3 of 3"
    QTest.keyClick(view.list, Qt.Key.Key_Left)
    QTest.keyClick(view.list, Qt.Key.Key_Left)
    assert [entry.rows for entry in view.list.kernels.entries] == [(0, 2), (1,)]
    window.context.actions.trigger("nsight.next_kernel")
    wait_for_row(qtbot, view, 1)
    window.context.actions.trigger("nsight.next_kernel")
    wait_for_row(qtbot, view, 0)


def test_order_and_grouping_are_kept_for_the_next_report(
    open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    view.strip.group.setChecked(False)
    view.strip.sort.setCurrentIndex(1)
    view.strip.sort.activated.emit(1)
    assert [entry.rows for entry in view.list.kernels.entries] == [(2,), (0,), (1,)]
    other = open_report(write_kernel_csv(tmp_path / "other.csv", *KERNELS))
    assert [entry.rows for entry in other.list.kernels.entries] == [(2,), (0,), (1,)]


def test_processes_can_be_chosen_where_there_are_several(
    open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS, processes=(1, 2)))
    box = view.strip.filters["process"]
    assert not box.isHidden()
    assert view.strip.filters["device"].isHidden()
    box.setCurrentIndex(2)
    box.activated.emit(2)
    assert view.rows == (1,)


def test_a_kernel_of_another_report_is_a_baseline(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    first = open_report(write_report(tmp_path / "before.ncu-rep", 20_000))
    window.context.actions.trigger("nsight.add_baseline")
    second = open_report(write_report(tmp_path / "after.ncu-rep", 10_000))
    page = page_of(window)
    assert page.baselines.chosen is not None
    assert second.bar.baseline.currentText() == "Baseline  gemm, before"
    qtbot.waitUntil(
        lambda: second.detail.answer is not None and second.detail.answer.comparison is not None,
        timeout=LIMIT_MS,
    )
    assert second.detail.doubts.text.startswith("Against gemm, before")
    table = second.detail.answer.metrics if second.detail.answer is not None else None
    assert table is not None
    row = [table.column("name").value(place) for place in range(len(table))].index("gpu__time_duration.sum")
    assert table.column("baseline").value(row) == 20_000
    assert table.column("difference").value(row) == -10_000
    assert table.column("change").value(row) == "\N{MINUS SIGN}50.0\N{NO-BREAK SPACE}%"
    # A kernel is not held against itself.
    page.tabs.setCurrentIndex(0)
    qtbot.waitUntil(lambda: first.detail.answer is not None, timeout=LIMIT_MS)
    assert first.detail.answer is not None
    assert first.detail.answer.ask.baseline is None
    page.close_shown()
    assert [each.title for each in page.baselines.all] == ["same kernels of after"]
    assert page.view is second
    qtbot.waitUntil(
        lambda: second.detail.answer is not None and second.detail.answer.comparison is None, timeout=LIMIT_MS
    )
    assert second.detail.doubts.isHidden()


def test_all_kernels_stand_in_a_table_that_leads_back(
    qtbot: QtBot, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    view.show_form(1)
    table = view.tables.table
    qtbot.waitUntil(lambda: table.model.table is not None, timeout=LIMIT_MS)
    assert table.model.table is not None
    assert [table.model.table.column("duration_ns").value(row) for row in range(3)] == [
        400_000,
        100_000,
        500_000,
    ]
    # What tells most of a kernel is seen without scrolling.
    shown = list(table.columns.visible_keys())
    most = ["number", "name", "duration_ns", "sm_pct", "memory_pct", "verdict"]
    assert [key for key in most if key in shown] == shown[: len(set(most) & set(shown))]
    assert {"name", "duration_ns", "verdict"} <= set(shown)
    view.bar.field.setText("norm")
    assert len(table.model.rows) == 1
    table.select_rows([1])
    assert view.row == 1
    QTest.keyClick(table.view, Qt.Key.Key_Return)
    assert not view.is_table
    for name, _ in view.document.tables:
        view.show_form(1)
        view.tables.show_table(name)
        qtbot.waitUntil(
            lambda: (
                view.tables.table.model.table is not None
                and view.tables.table.model.table.name == view.tables.shown
            ),
            timeout=LIMIT_MS,
        )


def test_kernels_are_exported_as_they_are_listed(
    qtbot: QtBot, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    from gui.reports.document import TableAsk

    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    view.bar.export_menu.aboutToShow.emit()
    assert [action.text() for action in view.bar.export_menu.actions()] == [
        "Kernels as CSV",
        "Kernels as JSON",
        "",
        "Report without private data",
    ]
    make = view.document.table_maker(TableAsk("kernels", (1,)))
    assert make is not None
    with qtbot.waitSignal(view.export.told, timeout=LIMIT_MS):
        view.export.write_made(tmp_path / "out.csv", "csv", make)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 2
    assert "layer_norm" in lines[1]


def test_open_reports_come_back_and_are_read_when_they_are_shown(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    from gui.reports.open_reports import OpenReports

    first = write_report(tmp_path / "first.ncu-rep", 1_000)
    second = write_report(tmp_path / "second.ncu-rep", 2_000)
    open_report(first)
    open_report(second)
    again = OpenReports(window.context.settings)
    assert again.paths == (first, second)
    assert again.shown == second
    third = write_report(tmp_path / "third.ncu-rep", 3_000)
    window.context.reports.add(third, show=False)
    page = page_of(window)
    assert third not in page._files
    assert [page.tabs.tabText(place) for place in range(3)] == ["first", "second", "third"]
    window.context.actions.trigger("nsight.next_tab")
    assert page.document is page._files[third]
    qtbot.waitUntil(lambda: page._files[third].state == "open", timeout=LIMIT_MS)
    window.context.actions.trigger("nsight.close")
    assert window.context.reports.paths == (first, second)


def test_pages_share_keys_and_each_says_why_its_own_are_off(window: MainWindow) -> None:
    actions = window.context.actions
    window.navigate("nsight")
    assert actions.reason("trace.filter") == "the Trace page is not shown"
    shortcuts = {
        spec.id: spec.shortcut for spec in actions.specs if spec.id in ("trace.close", "nsight.close")
    }
    assert shortcuts == {"trace.close": "Ctrl+W", "nsight.close": "Ctrl+W"}
    enabled = [
        spec.shortcut for spec in actions.specs if spec.shortcut and actions.action(spec.id).isEnabled()
    ]
    assert len(enabled) == len(set(enabled))


def test_everything_in_the_inspector_can_be_copied(
    window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    open_report(write_report(tmp_path / "r.ncu-rep", 1_000))
    page_of(window).nsight_inspector.head.copy_asked.emit()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("Kernel 1 of 1\ngemm(float *)\n")
    assert "Device\tNVIDIA H100 PCIe" in copied


def test_the_inspector_judges_with_evidence(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    view = open_report(write_kernel_csv(tmp_path / "k.csv", *KERNELS))
    qtbot.waitUntil(lambda: bool(view.document.verdicts), timeout=LIMIT_MS)
    inspector = page_of(window).nsight_inspector
    assert inspector.verdict.pill.text == "Compute-bound"
    assert [row.what for row in inspector.verdict.evidence.rows][:2] == ["SM throughput", "Memory throughput"]
    view.choose_row(1)
    assert inspector.verdict.pill.text == "Memory-bound"
    assert view.list.kernels.verdicts == ("Compute-bound", "Memory-bound", "Compute-bound")


def test_a_kernel_is_shown_on_the_roofline_and_leads_back(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    path = write_kernel_csv(tmp_path / "k.csv", *KERNELS)
    view = open_report(path)
    assert [(source.page, source.path) for source in window.context.points.all] == [("nsight", path)]
    view.choose_row(1)
    window.context.actions.trigger("nsight.roofline")
    assert window.page.NAME == "roofline"
    qtbot.waitUntil(lambda: getattr(window.page, "selected_row", None) == 1, timeout=LIMIT_MS)
    view.bar.field.setText("gemm")
    window.navigate("nsight")
    window.context.points.asked.emit(PointAsked("nsight", path, 1, "layer_norm"))
    assert view.row == 1
    assert view.bar.field.text() == ""
    page_of(window).close_shown()
    assert window.context.points.all == ()


def test_source_lines_are_looked_for_when_their_tab_is_shown(
    qtbot: QtBot, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    path = tmp_path / "full.ncu-rep"
    path.write_bytes(full_report())
    view = open_report(path)
    assert "source" in view.detail.keys
    lines = view.detail.source.lines.model
    assert lines.table is None
    view.detail.show_tab("source")
    qtbot.waitUntil(lambda: lines.table is not None, timeout=LIMIT_MS)
    assert lines.table is not None
    # What lies in the report as a binary is none.
    assert len(lines.table) == 0
    assert lines.table.empty


def test_a_whole_report_is_a_baseline_kernel_by_kernel(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    open_report(write_kernel_csv(tmp_path / "before.csv", ("gemm", 100, 50.0, 20.0), ("relu", 30, 9.0, 90.0)))
    view = open_report(
        write_kernel_csv(tmp_path / "after.csv", ("relu", 20, 9.0, 95.0), ("new", 5, 1.0, 1.0))
    )
    page = page_of(window)
    places = [view.bar.baseline.itemText(place) for place in range(view.bar.baseline.count())]
    assert places == ["Baseline  none", "Baseline  same kernels of before", "Baseline  same kernels of after"]
    page.baselines.choose(page.baselines.all[0])
    qtbot.waitUntil(
        lambda: view.detail.answer is not None and view.detail.answer.comparison is not None, timeout=LIMIT_MS
    )
    assert view.detail.answer is not None
    comparison = view.detail.answer.comparison
    assert comparison is not None
    rows = {row.name: row for row in comparison.rows}
    assert (rows["gpu__time_duration.sum"].first, rows["gpu__time_duration.sum"].second) == (30, 20)
    view.choose_row(1)
    wait_for_row(qtbot, view, 1)
    assert view.detail.answer.comparison is None
    assert "The baseline does not have it" in view.detail.doubts.text
    # Of a report that is its own baseline nothing differs.
    page.baselines.choose(page.baselines.all[1])
    qtbot.waitUntil(view.detail.doubts.isHidden, timeout=LIMIT_MS)


def test_notes_on_the_data_are_counted_and_can_be_copied(
    qtbot: QtBot, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(full_report()[:-40])
    view = open_report(path)
    assert view.strip.notes.text() == "1 note on data"
    with qtbot.waitSignal(view.told):
        view.strip._menu.actions()[0].trigger()
    report = view.document.report
    assert report is not None
    assert QGuiApplication.clipboard().text().startswith(report.problems[0].message)


def test_a_closed_report_begins_nothing_any_more(
    qtbot: QtBot, window: MainWindow, open_report: Callable[[Path], NsightView], tmp_path: Path
) -> None:
    document = open_report(write_report(tmp_path / "one.ncu-rep", 1_000, 2_000)).document
    tasks = window.context.tasks
    running: list[object] = []
    page_of(window).close_shown()
    running.extend(tasks._running)
    # Its view is there until the event loop turns, and may ask.
    document.ask_launch(LaunchAsk(1, None))
    document.ask_source(0)
    document.open()
    assert tasks._running == running
    assert document.state != "reading"
