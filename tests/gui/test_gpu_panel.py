"""The GPU panel and the Problems tab: every figure by its name, n/a never 0, words when there is none."""

from __future__ import annotations

from dataclasses import replace
from time import localtime, strftime
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from core.runs.snapshot import Alert, Capture
from core.telemetry.events import GpuProcess
from gui.models.gpus import COLUMNS, row_of
from gui.models.problems import rows_of
from gui.widgets.gpu_panel import GpuPanel
from gui.widgets.problems_view import ProblemsView
from gui.widgets.rank_facts import memory_of
from tests.helpers.snapshots import CREATED_NS, GIB, cpu_snapshot, gpu, gpu_rank, run_snapshot

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from core.telemetry.events import GpuReading
    from gui.theme import ThemeController


def panel_of(qtbot: QtBot, theme: ThemeController, *gpus: GpuReading, ranks: int = 1) -> GpuPanel:
    panel = GpuPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(1200, 160)
    panel.show()
    panel.show_snapshot(run_snapshot([gpu_rank(rank) for rank in range(ranks)], gpus=gpus))
    return panel


def cells(panel: GpuPanel, row: int = 0) -> dict[str, str]:
    model = panel.model
    return {column.title: model.index(row, place).data() for place, column in enumerate(COLUMNS)}


def test_this_runs_memory_is_apart_from_other_peoples_and_from_the_drivers(
    qtbot: QtBot, theme: ThemeController
) -> None:
    """Case M01: 6 GiB of this run, 10 in use, so 4 of others; 0.30 held by the driver."""
    row = cells(panel_of(qtbot, theme, gpu(0, 4000)))
    assert row["GPU"] == "GPU 0  H100 80GB HBM3"
    assert row["Ranks"] == "0"
    assert row["Memory used, GiB"] == "10.0 of 80.0"
    assert row["This run, GiB"] == "6.0"
    assert row["Others, GiB"] == "4.0"
    assert row["Driver, GiB"] == "0.30"
    assert row["Power, W"] == "518 of 700"
    assert row["Throttle reasons"] == "none"


def test_what_the_driver_does_not_give_is_not_zero(qtbot: QtBot, theme: ThemeController) -> None:
    """Cases M10, M19: no memory per process, no fan, no power."""
    silent = gpu(0, None, processes=[GpuProcess(pid=4000)], power_w=None, throttle_reasons=None)
    panel = panel_of(qtbot, theme, silent)
    row = cells(panel)
    for title in (
        "This run, GiB",
        "Others, GiB",
        "Power, W",
        "Fan, %",
        "Throttle reasons",
        "NVLink in / out, GB/s",
    ):
        assert row[title] == "n/a"
    assert row["Memory used, GiB"] == "10.0 of 80.0"
    tip = panel.model.index(0, 4).data(Qt.ItemDataRole.ToolTipRole)
    assert "n/a: the driver does not give this figure here" in tip


def test_slices_are_rows_of_their_own(qtbot: QtBot, theme: ThemeController) -> None:
    """Case M07."""
    slices = [
        gpu(
            0,
            None,
            slice_index=number,
            used_bytes=(2 + number) * GIB,
            total_bytes=40 * GIB,
            utilization_pct=None,
        )
        for number in (0, 1)
    ]
    panel = panel_of(qtbot, theme, *slices)
    assert [cells(panel, row)["GPU"] for row in (0, 1)] == [
        "GPU 0 slice 0  H100 80GB HBM3",
        "GPU 0 slice 1  H100 80GB HBM3",
    ]
    assert [cells(panel, row)["Memory used, GiB"] for row in (0, 1)] == ["2.0 of 40.0", "3.0 of 40.0"]
    assert cells(panel)["Utilization, %"] == "n/a"
    whole = panel_of(qtbot, theme, gpu(0, None, mig_enabled=True))
    assert "figures are of the whole GPU" in cells(whole)["GPU"]


def test_a_rank_stands_at_its_own_slice_and_is_measured_against_it() -> None:
    """Case M07: seven slices of one GPU share its number."""
    whole = gpu(0, None, mig_enabled=True)
    slices = [
        gpu(0, None, uuid=f"MIG-{place}", slice_index=place, mig_enabled=True, total_bytes=10 * GIB)
        for place in range(2)
    ]
    state = gpu_rank(0, gpu_uuid="MIG-1")
    snapshot = run_snapshot([state], gpus=(whole, *slices))
    assert [row_of(each, snapshot).ranks for each in snapshot.gpus] == [(0,), (), (0,)]
    assert memory_of(state, snapshot).total_bytes == 10 * GIB
    assert memory_of(gpu_rank(0), snapshot).total_bytes == 80 * GIB


def test_a_gpu_that_stopped_answering_says_so(qtbot: QtBot, theme: ThemeController) -> None:
    """Case M20."""
    lost = gpu(1, None, lost=True, used_bytes=None, total_bytes=None, utilization_pct=None, processes=None)
    panel = panel_of(qtbot, theme, gpu(0, 4000), lost)
    assert cells(panel, 1)["Throttle reasons"] == "not answering"
    assert cells(panel, 1)["Memory used, GiB"] == "n/a of n/a"
    assert cells(panel, 0)["Utilization, %"] == "97"


def test_without_a_gpu_the_reason_is_said(qtbot: QtBot, theme: ThemeController) -> None:
    """Cases M04 and M05."""
    panel = GpuPanel(theme)
    qtbot.addWidget(panel)
    words = "NVML: driver/library version mismatch. Reboot, or reload the driver."
    panel.show_snapshot(cpu_snapshot(gpus_unavailable=words))
    panel.show()
    assert panel.words.text() == words
    assert panel.words.isVisible()
    assert not panel.table.isVisible()


def test_a_run_on_the_cpu_promises_no_reading(qtbot: QtBot, theme: ThemeController) -> None:
    panel = GpuPanel(theme)
    qtbot.addWidget(panel)
    panel.show_snapshot(cpu_snapshot(gpus_unavailable=""))
    assert panel.words.text() == "No GPU readings: this run computes on the CPU."
    panel.show_snapshot(run_snapshot([gpu_rank(0)], gpus=()))
    assert panel.words.text() == "No GPU reading yet."


def test_the_panel_can_be_drawn(qtbot: QtBot, theme: ThemeController) -> None:
    panel = panel_of(qtbot, theme, gpu(0, 4000), gpu(1, None), ranks=2)
    panel.table.selectRow(0)
    image = panel.grab().toImage()
    bar = theme.theme.rank_color(0)
    colors = {image.pixelColor(x, y).name() for x in range(300, 700, 2) for y in range(26, 80, 2)}
    assert bar.name() in colors
    panel.show_snapshot(run_snapshot([gpu_rank(0)], gpus=(gpu(0, 4000, used_bytes=20 * GIB),)))
    assert cells(panel)["Others, GiB"] == "14.0"


def problems() -> tuple[Alert, ...]:
    return (
        Alert(key="a", level="warn", t_ns=CREATED_NS, message="Rank 2 slow since step 962", rank=2, step=962),
        Alert(
            key="b",
            level="error",
            t_ns=CREATED_NS + 10**9,
            message="Loss is NaN on rank 0 at step 88",
            hint="Look at the learning rate.",
            rank=0,
            step=88,
        ),
        Alert(key="c", level="info", t_ns=CREATED_NS - 1, message="OMP_NUM_THREADS was set"),
    )


def test_problems_are_listed_newest_first_and_counted(qtbot: QtBot, theme: ThemeController) -> None:
    view = ProblemsView(theme)
    qtbot.addWidget(view)
    captures = (
        Capture(
            request="x",
            what="trace",
            rank=1,
            state="ready",
            file="traces/1.json.gz",
            step=12,
            file_bytes=4_700_000,
            t_ns=CREATED_NS + 3_600 * 10**9,
        ),
        Capture(request="x", what="trace", rank=0, state="failed", message="out of disk"),
    )
    snapshot = cpu_snapshot(
        alerts=problems(), captures=captures, problems=(("torn", 3, "a record was cut short"),)
    )
    with qtbot.waitSignal(view.count_changed) as changed:
        view.show_snapshot(snapshot)
    assert changed.args == [4]
    texts = [row.text for row in view.model.rows]
    assert texts[:4] == [
        "Trace ready at step 12, 4.7 MB: traces/1.json.gz",
        "Loss is NaN on rank 0 at step 88",
        "Rank 2 slow since step 962",
        "OMP_NUM_THREADS was set",
    ]
    assert "Trace failed: out of disk" in texts
    assert view.model.index(0, 0).data() == strftime("%H:%M:%S", localtime(CREATED_NS / 1e9 + 3_600))
    assert texts[-1] == "a record was cut short (3 times)"
    view.show_snapshot(replace(snapshot, version=2))
    assert view.count == 4


def test_a_row_leads_to_its_rank_or_its_file(qtbot: QtBot, theme: ThemeController) -> None:
    view = ProblemsView(theme)
    qtbot.addWidget(view)
    view.show()
    capture = Capture(request="x", what="stacks", rank=3, state="ready", file="stacks/3.txt")
    view.show_snapshot(cpu_snapshot(alerts=problems(), captures=(capture,)))
    view.table.selectRow(0)
    assert view.hint.text() == "Look at the learning rate."
    with qtbot.waitSignal(view.place_asked) as asked:
        view.table.activated.emit(view.model.index(0, 0))
    assert (asked.args[0].rank, asked.args[0].step) == (0, 88)
    view.table.selectRow(3)
    with qtbot.waitSignal(view.folder_asked) as folder:
        view.table.activated.emit(view.model.index(3, 0))
    assert folder.args == ["stacks/3.txt"]
    view.copy()
    assert "Stacks ready: stacks/3.txt" in QGuiApplication.clipboard().text()
    assert rows_of(cpu_snapshot()) == ()
