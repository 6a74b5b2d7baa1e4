"""Files that are opened together: all are read, and only the one that is seen gets a view."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gui.rooflines.sources import PointAsked
from tests.helpers.ncu_reports import NAMES, block, report, result, rule, section, session, usual_metrics
from tests.helpers.traces import annotation, kernel

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.nsight import NsightPage
    from gui.pages.trace import TracePage
    from gui.widgets.nsight_view import NsightView

LIMIT_MS = 60_000


def write_report(path: Path, *durations_ns: int) -> Path:
    """A report of launches of gemm that differ in how long they took."""
    results = [result(usual_metrics(duration_ns), [section()], [rule()]) for duration_ns in durations_ns]
    path.write_bytes(report(block(results=results, texts=NAMES, session=session())))
    return path


def write_trace(path: Path, *events: dict[str, Any]) -> Path:
    """A trace of torch.profiler."""
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(events)}))
    return path


def nsight_page(window: MainWindow) -> NsightPage:
    page = window.nsight_page()
    assert page is not None
    return page


def trace_page(window: MainWindow) -> TracePage:
    page = window.trace_page()
    assert page is not None
    return page


def wait_for_row(qtbot: QtBot, view: NsightView, row: int) -> None:
    qtbot.waitUntil(
        lambda: view.detail.answer is not None and view.detail.answer.ask.row == row, timeout=LIMIT_MS
    )


def open_at_once(qtbot: QtBot, window: MainWindow, *paths: Path) -> NsightPage:
    """Opens reports as a drop of all of them does, and waits until each is read and the last is seen."""
    window.opener.open(paths)

    def known() -> bool:
        read = {source.path for source in window.context.points.all}
        view = getattr(window.page, "view", None)
        return set(paths) <= read and view is not None and view.document.path == paths[-1]

    qtbot.waitUntil(known, timeout=LIMIT_MS)
    return nsight_page(window)


def test_of_reports_opened_at_once_only_the_one_that_is_seen_gets_a_view(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    paths = [write_report(tmp_path / f"{name}.ncu-rep", 1_000, 2_000) for name in ("a", "b", "c")]
    page = open_at_once(qtbot, window, *paths)
    assert set(page._views) == {paths[2]}
    assert [page.tabs.tabText(place) for place in range(3)] == ["a", "b", "c"]
    assert not window.docks.inspector.isHidden()
    # All have been read: each can be a baseline, and its kernels stand on the roofline.
    assert {offer.path for offer in page.baselines.all} == set(paths)
    first = page._files[paths[0]]
    qtbot.waitUntil(lambda: first.verdicts is not None, timeout=LIMIT_MS)
    page.tabs.setCurrentIndex(0)
    assert window.page.subtitle() == "a.ncu-rep, 2 kernels"
    qtbot.waitUntil(lambda: page.view is not None, timeout=LIMIT_MS)
    view = page.view
    assert view is not None
    assert view.document is first
    assert (view.bar.count.text(), view.row) == ("2 of 2", 0)
    assert first.verdicts is not None
    assert view.list.kernels.verdicts == first.verdicts.kinds.words
    wait_for_row(qtbot, view, 0)
    assert page._stack.currentWidget() is view
    assert page.nsight_inspector.head.text == "Kernel 1 of 2"
    assert window.focusWidget() is view.list
    # One that was never seen closes as any other.
    window.context.reports.remove(paths[1])
    assert list(page._files) == [paths[0], paths[2]]
    assert paths[1] not in {source.path for source in window.context.points.all}
    assert page.view is view


def test_a_refused_report_behind_others_leads_back_to_the_one_before_all(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    earlier = write_report(tmp_path / "before.ncu-rep", 1_000)
    before = open_at_once(qtbot, window, earlier).view
    good = write_report(tmp_path / "good.ncu-rep", 1_000)
    fake = tmp_path / "fake.ncu-rep"
    fake.write_bytes(b"NVR\x00\x02\x02\x02\x03" + bytes(64))
    window.opener.open([good, fake])
    page = nsight_page(window)
    qtbot.waitUntil(lambda: page.banners.keys == ["error"], timeout=LIMIT_MS)
    assert window.context.reports.paths == (earlier, good)
    assert page.view is before
    assert page._stack.currentWidget() is before
    assert good not in page._views


def test_a_point_leads_to_a_kernel_of_a_report_that_was_never_seen(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    paths = [write_report(tmp_path / f"{name}.ncu-rep", 2_000, 1_000) for name in ("a", "b")]
    page = open_at_once(qtbot, window, *paths)
    window.navigate("roofline")
    window.navigate("nsight")
    window.context.points.asked.emit(PointAsked(page="nsight", path=paths[0], row=1, name="gemm(float *)"))
    view = page.view
    assert view is not None
    assert (view.document.path, view.row) == (paths[0], 1)
    qtbot.waitUntil(lambda: page._stack.currentWidget() is view, timeout=LIMIT_MS)
    wait_for_row(qtbot, view, 1)


def test_a_report_that_comes_while_another_page_is_shown_waits_until_it_is_seen(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    page = open_at_once(qtbot, window, write_report(tmp_path / "first.ncu-rep", 1_000))
    window.navigate("home")
    second = write_report(tmp_path / "second.ncu-rep", 2_000)
    window.context.reports.add(second)
    qtbot.waitUntil(lambda: not page._build_timer.isActive(), timeout=LIMIT_MS)
    assert second not in page._views
    assert page._files[second].state == "waiting"
    window.navigate("nsight")
    qtbot.waitUntil(lambda: page._files[second].state == "open" and page.view is not None, timeout=LIMIT_MS)


def test_of_traces_opened_at_once_only_the_one_that_is_seen_gets_a_view(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    steps = write_trace(
        tmp_path / "steps.json",
        annotation("ProfilerStep#3", 0, 100),
        annotation("ProfilerStep#4", 100, 100),
        kernel("gemm_a", 40, 30),
        kernel("relu_b", 140, 10),
    )
    other = write_trace(tmp_path / "other.json", kernel("other", 0, 5))
    last = write_trace(tmp_path / "last.json", kernel("last", 0, 5))
    window.opener.open([steps, other, last])

    def known() -> bool:
        page = window.page if window.page.NAME == "trace" else None
        files = getattr(page, "_files", {})
        return len(files) == 3 and all(each.overview is not None for each in files.values())

    qtbot.waitUntil(known, timeout=LIMIT_MS)
    page = trace_page(window)
    assert set(page._views) == {last}
    assert [page.tabs.tabText(place) for place in range(3)] == ["steps", "other", "last"]
    read = {source.path for source in window.context.points.all}
    assert read == {steps, other, last}
    page.tabs.setCurrentIndex(0)
    assert window.page.subtitle() == "steps.json, steps 3\N{EN DASH}4, 4 events"
    assert dict(page.trace_inspector.pairs["figures"].pairs)["Kernel time, busy"] == "40.00 µs"
    qtbot.waitUntil(lambda: page.view is not None, timeout=LIMIT_MS)
    view = page.view
    assert view is not None
    qtbot.waitUntil(lambda: view.tables.table.model.table is not None, timeout=LIMIT_MS)
    # All that was known of it is shown at once.
    assert view.timeline.view is not None
    assert window.focusWidget() is view.timeline.view
    assert view.strip.text == "2 kernels   Summed 40.00 µs   Busy 40.00 µs   Wall time 200.0 µs"
    assert [view.bar.steps.itemText(place) for place in (2, 3)] == ["Step 3", "Step 4"]
    table = view.tables.table.model.table
    assert table is not None
    assert [table.column("name").value(row) for row in range(len(table))] == ["gemm_a", "relu_b"]
    assert other not in page._views
    window.context.points.asked.emit(PointAsked(page="trace", path=other, row=0, name="other"))
    assert page.view is page._views[other]
    inspector = page.trace_inspector
    qtbot.waitUntil(lambda: inspector.facts is not None and inspector.facts.name == "other", timeout=LIMIT_MS)
    window.context.traces.remove(other)
    assert set(page._files) == {steps, last}
