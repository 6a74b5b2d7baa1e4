"""The Run page: a run folder is followed, shown and left; alerts, selection, charts, export."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QPushButton

from core.errors import DashboardError
from core.files import describe_path
from core.runs.snapshot import Alert, RankStatus
from core.telemetry.events import Heartbeat, Loss, RankEnded, RankStarted, Step, TorchReady
from gui.models.problems import ProblemRow
from gui.pages.run import RunPage
from gui.run_alerts import actions_of, banner_alerts
from gui.run_words import job_line, job_state
from gui.widgets.banner import Banner
from gui.widgets.inspector_words import run_pairs
from gui.widgets.run_bar import elapsed_words, facts_of
from tests.helpers.snapshots import (
    CREATED_NS,
    cpu_rank,
    cpu_snapshot,
    gpu_snapshot,
    log_lines,
    manifest,
    run_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.runs.job import JobSpec
    from core.runs.manifest import Status
    from core.runs.snapshot import RunSnapshot
    from core.runs.store import RunFolder
    from core.telemetry.events import RankEvent
    from gui.main_window import MainWindow
    from gui.theme import ThemeName


def write_rank(folder: RunFolder, rank: int, steps: int) -> None:
    """Records as the agent of a rank that has ended well writes them."""
    t_ns = folder.read().created_ns
    events: list[RankEvent] = [
        RankStarted(
            seq=1,
            t_ns=t_ns,
            wire=1,
            rank=rank,
            local_rank=rank,
            world_size=2,
            pid=100 + rank,
            host="box",
            python="3.11.7",
            argv=["train.py"],
            cwd="/",
        ),
        TorchReady(seq=2, t_ns=t_ns, torch="2.13.0"),
    ]
    for step in range(1, steps + 1):
        t_ns += 100_000_000
        seq = len(events) + 1
        events += [
            Loss(seq=seq, t_ns=t_ns, step=step, value=5.0 / step + rank),
            Step(seq=seq + 1, t_ns=t_ns, step=step, micro_steps=1, step_time_ns=100_000_000),
            Heartbeat(seq=seq + 2, t_ns=t_ns, step=step, phase="idle", resident_bytes=300 * 2**20),
        ]
    events.append(RankEnded(seq=len(events) + 1, t_ns=t_ns, exit_code=0, steps=steps))
    path = folder.rank_file(rank)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    log = folder.log_file(rank, "out")
    log.parent.mkdir(exist_ok=True)
    log.write_text("".join(f"step {step} of rank {rank}\n" for step in range(1, steps + 1)))


@pytest.fixture
def page(window: MainWindow) -> RunPage:
    window.navigate("run")
    return cast("RunPage", window.page)


@pytest.fixture
def shown_run(page: RunPage, make_run: Callable[..., RunFolder], qtbot: QtBot) -> RunFolder:
    """A run of two ranks that has ended, read by the real monitor."""
    folder = make_run("tiny", "done", summary="Done")
    for rank in (0, 1):
        write_rank(folder, rank, steps=30)
    page.context.session.attach(folder)
    qtbot.waitUntil(
        lambda: len(page.overview.cards) == 2 and page.overview.cards[0].values["Step"].text() == "30"
    )
    return folder


def feed(page: RunPage, snapshot: RunSnapshot, qtbot: QtBot) -> None:
    """Gives the page a snapshot as the session would, and waits until it is drawn."""
    page.context.session.snapshot_changed.emit(snapshot)
    qtbot.waitUntil(lambda: page.drawn_version == snapshot.version)


def test_a_run_folder_is_shown_from_its_files(page: RunPage, shown_run: RunFolder, qtbot: QtBot) -> None:
    cards = page.overview.cards
    assert [card.pill.text for card in cards] == ["Done", "Done"]
    assert cards[1].values["Loss"].text() == "1.16667"
    assert cards[0].figure.text() == "0.29"
    titles = [card.spec.id for card in page.board.cards]
    assert titles[:2] == ["memory", "loss"]
    loss = page.board.cards[1].chart
    assert loss.data is not None
    assert [len(curve.x) for curve in loss.data.curves] == [30, 30]
    qtbot.waitUntil(lambda: page.log.corner.count.text() == "60 lines")
    assert page.subtitle() == shown_run.id
    assert page.bar.elapsed == "took 00:01"


def test_leaving_a_run_shows_the_form_and_forgets_its_log(
    page: RunPage, shown_run: RunFolder, qtbot: QtBot
) -> None:
    assert not page.form.isVisible()
    page.show_form()
    assert page.form.isVisible()
    assert page.context.session.folder is not None
    page.form.run_asked.emit()
    assert not page.form.isVisible()
    page.context.session.detach()
    assert page.form.isVisible()
    assert page.log.corner.count.text() == ""
    assert page.subtitle() == ""


def test_one_selection_goes_through_the_whole_page(page: RunPage, shown_run: RunFolder) -> None:
    session = page.context.session
    QTest.mouseClick(page.overview.cards[1], Qt.MouseButton.LeftButton)
    assert session.selected_rank == 1
    assert page.overview.cards[1].property("selected") == "true"
    assert page.rank_inspector.pill.isVisibleTo(page.rank_inspector)
    assert all(card.chart.style_now.selected == 1 for card in page.board.cards)
    page.board.rank_clicked.emit(0)
    assert session.selected_rank == 0
    QTest.mouseClick(page.overview.cards[0], Qt.MouseButton.LeftButton)
    assert session.selected_rank is None
    for _ in range(2):
        page.log.rank_clicked.emit(1)
        assert session.selected_rank == 1


def test_a_finding_leads_to_its_rank_and_its_step(page: RunPage, shown_run: RunFolder) -> None:
    page.problems.place_asked.emit(ProblemRow(None, "error", "rank 1", "Loss is NaN", rank=1, step=12))
    assert page.context.session.selected_rank == 1
    by_name = {card.spec.id: card.chart for card in page.board.cards}
    low, high = by_name["loss"].view.x_range()
    assert low < 12 < high
    assert by_name["memory"].view.view.follow


def test_charts_are_added_removed_and_remembered(page: RunPage, shown_run: RunFolder, qtbot: QtBot) -> None:
    page.board.show_chart("step_time")
    assert [card.spec.id for card in page.board.cards] == ["memory", "loss", "step_time"]
    assert page.context.settings.page_value("run", "charts") == ["memory", "loss", "step_time"]
    page.board.cards[0].close_asked.emit()
    assert [card.spec.id for card in page.board.cards] == ["loss", "step_time"]


def test_values_are_saved_from_the_chart(
    page: RunPage, shown_run: RunFolder, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("csv", "json", "png", "svg"):
        path = tmp_path / f"loss.{kind}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        page.board.cards[1].export_asked.emit(kind)
        qtbot.waitUntil(path.exists)
    assert (tmp_path / "loss.csv").read_text().startswith("rank,step,loss\n0,1,5\n")
    assert set(json.loads((tmp_path / "loss.json").read_text())["ranks"]) == {"0", "1"}
    refused = tmp_path / "missing" / "loss.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(refused), ""))
    page.board.cards[1].export_asked.emit("csv")
    qtbot.waitUntil(lambda: "error" in page.banners.keys)


def alert(key: str, **changes: object) -> Alert:
    values: dict[str, object] = {
        "key": key,
        "level": "error",
        "t_ns": CREATED_NS,
        "message": f"message of {key}",
        "rank": 1,
    }
    return Alert(**{**values, **changes})  # type: ignore[arg-type]  # test data


def test_at_most_two_alerts_are_banners_and_a_closed_one_stays_closed(page: RunPage, qtbot: QtBot) -> None:
    alerts = (
        alert("log-1", level="warn"),
        alert("slow", level="warn"),
        alert("oom-1", t_ns=CREATED_NS + 1),
        alert("failure"),
    )
    snapshot = cpu_snapshot(alerts=alerts)
    feed(page, snapshot, qtbot)
    assert set(page.banners.keys) == {"failure", "oom-1"}
    page.banners.dismiss("failure")
    feed(page, replace(snapshot, version=2), qtbot)
    assert set(page.banners.keys) == {"oom-1", "slow"}
    feed(page, replace(snapshot, version=3, alerts=()), qtbot)
    assert page.banners.keys == []
    assert page.dock_tabs()[1][0] == "Problems"


def test_a_banner_acts_on_its_rank(page: RunPage, qtbot: QtBot) -> None:
    feed(page, cpu_snapshot(alerts=(alert("failure", rank=2),), alive=False), qtbot)
    banner = page.banners.findChildren(Banner)[0]
    buttons = {button.text(): button for button in banner.findChildren(QPushButton)}
    assert list(buttons) == ["Show log", "Show rank 2"]
    page.log.add(log_lines(40))
    buttons["Show log"].click()
    assert page.log.corner.count.text() == "10 of 40"
    buttons["Show rank 2"].click()
    assert page.context.session.selected_rank == 2


def test_what_can_be_done_depends_on_the_rank() -> None:
    slow = gpu_snapshot(alerts=(alert("slow", rank=2, level="warn"),))
    assert [word.text for word in actions_of(slow.alerts[0], slow)] == ["Show clocks", "Capture rank 2"]
    silent = run_snapshot([cpu_rank(0), cpu_rank(1, status=RankStatus.SILENT)], alerts=(alert("hang"),))
    assert [word.action for word in actions_of(silent.alerts[0], silent)] == ["log", "stacks"]
    assert actions_of(alert("x", rank=None), silent) == []
    assert [one.key for one in banner_alerts(silent, {"hang"})] == []


def test_the_problem_count_stands_in_its_tab(page: RunPage, window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(page.tab_text_changed) as changed:
        feed(page, cpu_snapshot(alerts=(alert("failure"), alert("slow", level="warn"))), qtbot)
    assert changed.args == [1, "Problems  2"]


def test_errors_belong_to_the_form_or_to_the_run(page: RunPage, make_run: Callable[..., RunFolder]) -> None:
    page.context.session.failed.emit(DashboardError("PyTorch is missing.", "Install it."))
    assert page.form.problems.keys == ["launch"]
    assert page.banners.keys == []


def test_a_dropped_script_fills_the_form_and_a_dropped_run_is_shown(
    page: RunPage, make_run: Callable[..., RunFolder], tmp_path: Path, qtbot: QtBot
) -> None:
    script = tmp_path / "train me.py"
    script.write_text("import torch\nprint('hi')\n")
    assert page.open_path(script, describe_path(script))
    assert page.form.draft().target == str(script)
    assert page.form.draft().kind == "script"
    folder = make_run()
    assert page.open_path(folder.path, describe_path(folder.path))
    qtbot.waitUntil(lambda: not page.form.isVisible())
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    assert not page.open_path(text, describe_path(text))


def test_launch_on_this_page_is_the_forms(page: RunPage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(page.context.session, "launch", asked.append)
    assert page.launch()
    assert len(asked) == 1
    assert page.context.settings.page_value("run", "interpreters") == [page.form.draft().interpreter]


def test_a_run_that_has_ended_is_launched_again_as_it_was(
    page: RunPage, shown_run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[JobSpec] = []
    monkeypatch.setattr(page.context.session, "launch", asked.append)
    assert page.bar.again.isVisible()
    page.bar.again.click()
    assert asked == [shown_run.read().job]


def test_the_bar_says_only_what_is_known() -> None:
    plain = manifest(4, "cpu")
    assert facts_of(plain) == ["4 ranks on CPU", "torch 2.13.0, Python 3.11.7"]
    job = replace(
        plain.job,
        device="cuda",
        gpus=("0", "1", "2", "3"),
        arguments=("--batch", "8", "--sequence=1024", "--dtype", "bf16", "--verbose"),
    )
    assert facts_of(replace(plain, job=job, versions={}))[0] == "4 ranks on GPU 0\N{EN DASH}3"
    assert "batch 8 × 1,024 tokens" in facts_of(replace(plain, job=job))
    now = CREATED_NS + 134 * 10**9
    assert elapsed_words(run_snapshot([cpu_rank(0)]), now) == "02:14 elapsed"
    ended = replace(plain, status="done", ended_ns=CREATED_NS + 5 * 10**9)
    assert elapsed_words(run_snapshot([cpu_rank(0)], manifest=ended), now) == "took 00:05"


@pytest.mark.parametrize("written", ["created", "starting", "running", "stopping"])
def test_a_run_without_end_and_supervisor_is_lost_wherever_it_is_named(written: Status) -> None:
    lost = run_snapshot([cpu_rank(0)], manifest=replace(manifest(1), status=written), alive=False)
    assert job_state(lost)[1].startswith("Lost")
    assert job_line(lost)[0].endswith(" lost")
    assert run_pairs(lost)[0][:2] == ("Status", "lost")
    assert elapsed_words(lost, CREATED_NS + 10**9) == "no longer watched over"
    assert job_state(replace(lost, alive=True))[1].split(",")[0] in ("Starting", "Running", "Stopping")


def test_many_snapshots_are_drawn_at_a_bounded_rate(
    page: RunPage, shown_run: RunFolder, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    monkeypatch.setattr(page.bar, "show_snapshot", drawn.append)
    snapshot = cpu_snapshot(2)
    for version in range(2, 202):
        page.context.session.snapshot_changed.emit(replace(snapshot, version=version))
    qtbot.waitUntil(lambda: page.drawn_version == 201)
    assert len(drawn) <= 3


def test_both_themes_draw_without_a_warning(
    page: RunPage, window: MainWindow, shown_run: RunFolder, qtbot: QtBot
) -> None:
    feed(page, gpu_snapshot(version=9), qtbot)
    names: tuple[ThemeName, ...] = ("light", "dark")
    for name in names:
        window.context.theme.set_theme(name)
        assert not window.grab().isNull()
    feed(page, cpu_snapshot(64, version=10), qtbot)
    assert not window.grab().isNull()
