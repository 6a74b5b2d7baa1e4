"""Home: what one click launches and why, recent runs and files, and this machine."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QTableView

from core.hardware.probe import DeviceProblem, Devices
from core.hardware.readings import GpuInfo
from core.runs.host import this_host
from core.runs.store import RunSummary
from gui.machine import InterpreterFacts, _stamp_ns
from gui.machine_words import checks_of, devices_line, machine_pairs
from gui.models.recent import KIND, NAME, SIZE
from gui.pages.home import HomePage
from gui.plain_text import Paragraph
from gui.recent_work import RecentRow, row_of_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytestqt.qtbot import QtBot

    from core.runs.store import RunFolder
    from gui.main_window import MainWindow


def h100(index: int) -> GpuInfo:
    return GpuInfo(index=index, uuid=f"GPU-{index}", name="NVIDIA H100 80GB HBM3", total_bytes=80 * 2**30)


def found(window: MainWindow, *gpus: GpuInfo, problems: tuple[DeviceProblem, ...] = ()) -> None:
    window.context.machine._detected(Devices(gpus=gpus, problems=problems, driver="580.65", cuda="13.0"))


@pytest.fixture
def home(window: MainWindow) -> HomePage:
    assert isinstance(window.page, HomePage)
    return window.page


def button(home: HomePage, text: str) -> QPushButton:
    return next(each for each in home.findChildren(QPushButton) if each.text().strip() == text)


def text_of(home: HomePage, start: str) -> str:
    return next(each.plain for each in home.findChildren(Paragraph) if each.plain.startswith(start))


@pytest.fixture(autouse=True)
def without_visible_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_one_click_names_what_it_launches_and_why(window: MainWindow, home: HomePage) -> None:
    found(window)
    assert button(home, "Launch on 4 CPU ranks").isEnabled()
    assert "No NVIDIA GPU was found" in text_of(home, "MiniLLM")
    found(window, *(h100(index) for index in range(4)))
    assert button(home, "Launch on 4 GPUs").isEnabled()
    found(window, h100(0), h100(1))
    assert button(home, "Launch on 2 GPUs").isEnabled()
    assert "2 GPUs are there, not 4" in text_of(home, "MiniLLM")


def told(window: MainWindow, *, torch: str, cuda: str) -> None:
    machine = window.context.machine
    facts = InterpreterFacts(
        interpreter=machine.interpreter,
        stamp_ns=_stamp_ns(machine.interpreter),
        checked_s=1.0,
        python="3.11.2",
        torch=torch,
        cuda=cuda,
        nccl="",
        gloo=True,
    )
    machine._checked(facts)


def test_gpus_that_this_torch_cannot_use_are_not_what_one_click_launches_on(
    window: MainWindow, home: HomePage
) -> None:
    found(window, h100(0), h100(1))
    told(window, torch="2.13.0+cpu", cuda="")
    assert button(home, "Launch on 4 CPU ranks").isEnabled()
    assert "2 GPUs found, but torch 2.13.0+cpu is built without CUDA" in text_of(home, "MiniLLM")
    told(window, torch="2.13.0+cu130", cuda="13.0")
    assert button(home, "Launch on 2 GPUs").isEnabled()


def test_slices_are_not_counted_as_gpus(window: MainWindow, home: HomePage) -> None:
    whole = replace(h100(0), mig_enabled=True)
    found(window, whole, *(replace(h100(0), uuid=f"MIG-{i}", slice_index=i) for i in range(7)))
    assert ("ok", "7 MIG slices found", "") in checks_of(window.context.machine, ())
    assert button(home, "Launch on 1 MIG slice").isEnabled()
    assert "not 4" not in text_of(home, "MiniLLM")


def test_nothing_is_launched_before_the_gpus_are_known(window: MainWindow, home: HomePage) -> None:
    machine = window.context.machine
    machine.detecting = True
    machine.changed.emit()
    assert not button(home, "Launch").isEnabled()
    assert window.context.actions.reason("run.launch_demo") == "GPUs are being looked for"
    found(window, h100(0))
    assert button(home, "Launch on 1 GPU").isEnabled()


def test_the_machine_in_words(window: MainWindow, home: HomePage) -> None:
    machine, host = window.context.machine, replace(this_host(), cpu_count=1, memory_bytes=8 * 2**30)
    assert devices_line(machine) == "GPUs not known"
    assert ("GPUs", "n/a", "Detect devices finds them.") in machine_pairs(machine, host)
    assert ("CPU, memory", "1 core, 8.0 GiB", "") in machine_pairs(machine, host)
    found(window, *(h100(index) for index in range(4)))
    assert devices_line(machine) == "4 × H100 80GB HBM3"
    assert ("Driver, CUDA", "580.65, 13.0", "") in machine_pairs(machine, host)
    assert ("ok", "4 GPUs found", "") in checks_of(machine, ())
    trouble = DeviceProblem(code="mismatch", message="The driver and its library differ.", hint="Reboot.")
    found(window, problems=(trouble,))
    assert devices_line(machine) == "No GPU, CPU only"
    assert ("info", "The driver and its library differ.", "Reboot.") in checks_of(machine, ())
    assert any("2 run folders" in words for _, words, _ in checks_of(machine, (("a", "torn"), ("b", "torn"))))


def test_what_was_never_used_says_what_to_do(qtbot: QtBot, home: HomePage) -> None:
    table = home.findChild(QTableView)
    assert table is not None
    qtbot.waitUntil(lambda: not home.context.tasks._running)
    assert not table.isVisible()
    assert text_of(home, "Launch the demo, or open")


def test_runs_and_files_are_listed_newest_first(
    qtbot: QtBot, home: HomePage, window: MainWindow, make_run: Callable[..., RunFolder], tmp_path: Path
) -> None:
    make_run("first")
    make_run("<b>second</b>", "failed", "Rank 1 ran out of memory at step 37.\nmore")
    script = tmp_path / os.fsdecode(b"caf\xe9 #%.py")
    script.write_text("print(1)")
    window.context.settings.remember_file(script, "Python script")
    window.context.settings.remember_file(tmp_path / "gone.py", "Python script")
    home.context.recent.refresh()
    model = home.recent
    qtbot.waitUntil(lambda: model.rowCount() == 4)
    rows = [[model.data(model.index(row, column)) for column in range(5)] for row in range(4)]
    assert [row[0] for row in rows] == [
        "gone.py",
        "caf\N{REPLACEMENT CHARACTER} #%.py",
        "<b>second</b>",
        "first",
    ]
    assert rows[0][2] == "Not there any more"
    assert rows[1][4] == "8 bytes"
    assert rows[2][1:3] == ["Run, 2 ranks, CPU", "Rank 1 ran out of memory at step 37."]
    assert rows[3][2] == "Done after 1.000 s"


def test_the_filter_leaves_runs_or_files(
    qtbot: QtBot, home: HomePage, make_run: Callable[..., RunFolder]
) -> None:
    make_run("only")
    home.context.recent.refresh()
    qtbot.waitUntil(lambda: home.recent.rowCount() == 1)
    table = home.findChild(QTableView)
    assert table is not None
    assert table.isVisible()
    QTest.mouseClick(button(home, "Files"), Qt.MouseButton.LeftButton)
    assert not table.isVisible()
    assert text_of(home, "1 other entries are hidden.")
    QTest.mouseClick(button(home, "Show all"), Qt.MouseButton.LeftButton)
    assert table.isVisible()


def test_a_run_that_grows_moves_nothing(home: HomePage) -> None:
    """Its size changes with every look, while the user is further down in the list."""
    rows = tuple(
        RecentRow(
            path=Path(f"/runs/{number}"),
            is_run=True,
            name=f"run {number}",
            icon="activity",
            kind="Run",
            result="Running" if number == 0 else "Done",
            result_icon="",
            level="",
            t_ns=10**18 - number * 10**12,
            size_bytes=1_000,
        )
        for number in range(60)
    )
    recent = home.context.recent
    recent._take((rows, ()))
    table = home.findChild(QTableView)
    assert table is not None
    table.selectRow(2)
    bar = table.verticalScrollBar()
    bar.setValue(bar.maximum())
    seen = bar.value()
    assert seen > 0
    recent._take(((replace(rows[0], size_bytes=2_000), *rows[1:]), ()))
    assert home.recent.data(home.recent.index(0, SIZE)) == "2.0 kB"
    assert (bar.value(), table.currentIndex().row()) == (seen, 2)
    recent._take(((replace(rows[0], path=Path("/runs/new"), t_ns=2 * 10**18), *rows), ()))
    assert (home.recent.rows[0].path.name, table.currentIndex().row()) == ("new", 3)


def test_columns_sort_and_unknown_sizes_come_last(
    qtbot: QtBot, home: HomePage, make_run: Callable[..., RunFolder], window: MainWindow, tmp_path: Path
) -> None:
    for title in ("b", "c", "a"):
        make_run(title)
    window.context.settings.remember_file(tmp_path / "gone.py", "Python script")
    home.context.recent.refresh()
    model = home.recent
    qtbot.waitUntil(lambda: model.rowCount() == 4)
    model.sort(0, Qt.SortOrder.AscendingOrder)
    assert [row.name for row in model.rows] == ["a", "b", "c", "gone.py"]
    for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
        model.sort(4, order)
        assert model.rows[-1].name == "gone.py"


def test_enter_opens_and_ctrl_c_copies_the_selected_row(
    qtbot: QtBot, home: HomePage, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny")
    home.context.recent.refresh()
    qtbot.waitUntil(lambda: home.recent.rowCount() == 1)
    table = home.findChild(QTableView)
    assert table is not None
    table.setFocus()
    home._copy_row()
    assert QGuiApplication.clipboard().text().startswith("tiny\tRun, 2 ranks, CPU\tDone after 1.000 s\t")
    QTest.keyClick(table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.context.session.folder is not None)
    assert window.context.session.folder == folder
    assert window.page.NAME == "run"


def test_the_selection_survives_a_refresh(
    qtbot: QtBot, home: HomePage, make_run: Callable[..., RunFolder]
) -> None:
    make_run("old")
    home.context.recent.refresh()
    qtbot.waitUntil(lambda: home.recent.rowCount() == 1)
    table = home.findChild(QTableView)
    assert table is not None
    assert table.currentIndex().row() == 0
    make_run("new")
    home.context.recent.refresh()
    qtbot.waitUntil(lambda: home.recent.rowCount() == 2)
    assert home.recent.rows[table.currentIndex().row()].name == "old"


def test_runs_of_one_title_are_told_apart(tmp_path: Path) -> None:
    run = RunSummary(
        id="a",
        path=tmp_path,
        title="train.py",
        script="train.py",
        status="stopped",
        ranks=4,
        device="cuda",
        started_ns=10**9,
        ended_ns=135 * 10**9,
        summary="",
        size_bytes=1,
    )
    assert (row_of_run(run).kind, row_of_run(run).result) == ("Run, 4 ranks, GPU", "Stopped after 2 min 14 s")
    done = replace(run, status="done", summary="All 4 ranks ended with exit code 0.")
    assert row_of_run(done).result == "Done after 2 min 14 s"
    going_on = row_of_run(replace(run, ranks=1, device="cpu", status="running", ended_ns=None))
    assert (going_on.kind, going_on.result) == ("Run, 1 rank, CPU", "Running")


def fits(table: QTableView, *, sizes: bool) -> bool:
    whole = table.horizontalHeader().length() == table.viewport().width()
    return whole and table.columnWidth(NAME) >= 150 and table.isColumnHidden(SIZE) != sizes


def test_no_column_is_cut_at_the_smallest_size(
    qtbot: QtBot, home: HomePage, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    make_run("train.py")
    window.context.recent.refresh()
    table = home.findChild(QTableView)
    assert table is not None
    qtbot.waitUntil(table.isVisible)
    for width, height, sizes in ((960, 600, False), (1280, 800, True)):
        window.resize(width, height)
        qtbot.waitUntil(partial(fits, table, sizes=sizes))


def test_headers_stand_over_the_text_of_their_cells(
    qtbot: QtBot, home: HomePage, window: MainWindow, make_run: Callable[..., RunFolder]
) -> None:
    make_run("train.py")
    window.context.recent.refresh()
    table = home.findChild(QTableView)
    assert table is not None
    qtbot.waitUntil(table.isVisible)
    table.clearSelection()
    left = table.columnViewportPosition(KIND)
    words = [
        _first_inked_column(widget.grab(QRect(left, 4, 40, 16)).toImage())
        for widget in (table.horizontalHeader().viewport(), table.viewport())
    ]
    # "Kind" and "Run" begin with an upright stroke, whose place in its letter differs by a pixel at most.
    assert abs(words[0] - words[1]) <= 1


def _first_inked_column(picture: QImage) -> int:
    ground = picture.pixelColor(0, 8)
    return next(
        x
        for x in range(picture.width())
        if any(
            picture.pixelColor(x, y).lightness() > ground.lightness() + 60 for y in range(picture.height())
        )
    )
