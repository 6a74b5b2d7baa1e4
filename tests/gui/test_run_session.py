"""The run that is shown: attach, follow, stop, capture; errors are said once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from core.launch import client, preflight
from core.runs.job import JobSpec
from core.runs.manifest import write_manifest
from core.runs.snapshot import Capture
from core.telemetry.events import Loss, RankStarted, Step
from gui.models.problems import rows_of
from gui.run_session import RunSession
from gui.run_words import job_line, job_state, problem_count, ranks_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.errors import DashboardError
    from core.runs.store import RunFolder, RunStore
    from gui.tasks import Tasks


@pytest.fixture
def session(tasks: Tasks, store: RunStore) -> RunSession:
    return RunSession(tasks, store)


def write_steps(folder: RunFolder, rank: int, first: int, last: int) -> None:
    created_ns = folder.read().created_ns
    events: list[Any] = []
    if first == 0:
        events.append(
            RankStarted(
                seq=1,
                t_ns=created_ns,
                wire=1,
                rank=rank,
                local_rank=rank,
                world_size=2,
                pid=1,
                host="h",
                python="3.11",
                argv=["train.py"],
                cwd="/",
            )
        )
    for step in range(first, last):
        t_ns = created_ns + step * 10**8
        events.append(Step(seq=2 * step + 2, t_ns=t_ns, step=step, micro_steps=1, step_time_ns=10**8))
        events.append(Loss(seq=2 * step + 3, t_ns=t_ns, step=step, value=7.0 - 0.1 * step))
    with folder.rank_file(rank).open("ab") as file:
        file.writelines(msgspec.json.encode(event) + b"\n" for event in events)


def control_of(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.control_path.read_bytes().splitlines() if line]


def test_a_run_is_followed_while_it_grows(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    lines: list[str] = []
    session.lines_changed.connect(lambda new: lines.extend(line.text for line in new))
    for rank in (0, 1):
        write_steps(folder, rank, 0, 3)
    with qtbot.waitSignal(session.snapshot_changed):
        session.attach(folder)
    assert session.running
    assert (session.why_not_launch(), session.why_not_stop(), session.why_not_capture()) == (
        None,
        None,
        None,
    )
    for rank in (0, 1):
        write_steps(folder, rank, 3, 8)
    folder.log_file(0, "out").write_text("hello from rank 0\n")
    qtbot.waitUntil(lambda: session.snapshot is not None and session.snapshot.ranks[0].step == 7)
    qtbot.waitUntil(lambda: "hello from rank 0" in lines)
    snapshot = session.snapshot
    assert snapshot is not None
    assert snapshot.ranks[1].loss == pytest.approx(6.3)
    assert job_state(snapshot) == ("activity", "Running, step 7", "ok")
    assert job_line(snapshot) == ("tiny running", "ok")
    assert ranks_line(snapshot) == "2 of 2 ranks alive"
    assert problem_count(snapshot) == (0, "none")
    failed = Capture(request="r", what="trace", rank=0, state="failed", message="no step came")
    with_failure = replace(snapshot, captures=(failed, replace(failed, rank=1, state="ready", file="f")))
    shown = [row for row in rows_of(with_failure) if row.level in ("warn", "error")]
    assert problem_count(with_failure) == (len(shown), "error"), "status bar and tab name one count"
    session.detach()
    assert (session.folder, session.snapshot, session.running) == (None, None, False)


def test_lines_wait_until_somebody_shows_them(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    """The Run page is built when it is first shown, maybe long after the run was attached."""
    folder = make_run("tiny", "running")
    folder.log_file(0, "out").write_text("first\nsecond\n")
    with qtbot.waitSignal(session.snapshot_changed):
        session.attach(folder)
    qtbot.wait(150)
    lines: list[str] = []
    session.lines_changed.connect(lambda new: lines.extend(line.text for line in new))
    qtbot.waitUntil(lambda: lines == ["first", "second"])


def test_more_lines_than_a_poll_takes_all_come_in_order(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.run_session.LINES_A_POLL", 3)
    folder = make_run("tiny", "done")
    said = [f"line {number}" for number in range(10)]
    folder.log_file(0, "out").write_text("".join(f"{line}\n" for line in said))
    taken: list[list[str]] = []
    session.lines_changed.connect(lambda new: taken.append([line.text for line in new]))
    session.attach(folder)
    qtbot.waitUntil(lambda: sum(map(len, taken)) >= len(said))
    assert [line for some in taken for line in some] == said
    assert max(map(len, taken)) == 3


def test_stop_and_kill_reach_the_supervisor(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    with qtbot.waitSignal(session.snapshot_changed):
        session.attach(folder)
    asked: list[str] = []
    session.stop(then=lambda: asked.append("stop"))
    qtbot.waitUntil(lambda: asked == ["stop"])
    session.kill()
    qtbot.waitUntil(lambda: len(control_of(folder)) == 2)
    assert [(record["kind"], record["now"]) for record in control_of(folder)] == [
        ("stop", False),
        ("stop", True),
    ]


def test_a_capture_is_asked_for_on_the_ranks_that_were_chosen(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    session.capture("trace", ranks=[1])
    with qtbot.waitSignal(session.snapshot_changed):
        session.attach(folder)
    session.capture("trace", steps=3, ranks=[1])
    qtbot.waitUntil(lambda: bool(control_of(folder)))
    [record] = control_of(folder)
    assert (record["what"], record["steps"], record["ranks"]) == ("trace", 3, [1])


def test_an_ended_run_can_be_looked_at_but_not_stopped(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "failed", "Rank 1 raised ValueError.")
    with qtbot.waitSignal(session.snapshot_changed):
        session.attach(folder)
    assert not session.running
    assert session.why_not_launch() is None
    assert session.why_not_stop() == "no run is going on"
    session.stop()
    session.kill()
    qtbot.wait(20)
    assert control_of(folder) == []
    assert session.snapshot is not None
    assert job_state(session.snapshot)[1:] == ("Failed", "error")


def test_another_run_makes_everything_of_the_first_void(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    first, second = make_run("first"), make_run("second")
    session.attach(first)
    session.select_rank(1)
    selected: list[int | None] = []
    session.selection_changed.connect(selected.append)
    session.attach(second)
    assert selected == [None]
    shown: list[str] = []
    session.snapshot_changed.connect(lambda snapshot: shown.append(snapshot.manifest.id))
    qtbot.waitUntil(lambda: bool(shown))
    qtbot.wait(120)
    assert set(shown) == {second.id}


def test_an_error_that_comes_back_is_said_once(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny")
    errors: list[DashboardError] = []
    session.failed.connect(errors.append)
    folder.manifest_path.write_text("{")
    session.attach(folder)
    qtbot.waitUntil(lambda: bool(errors))
    qtbot.wait(200)
    assert len(errors) == 1
    session.detach()


def test_a_job_that_cannot_run_is_refused_before_anything_starts(
    qtbot: QtBot, session: RunSession, store: RunStore, tmp_path: Path
) -> None:
    spec = JobSpec(
        title="mine", target="gone.py", interpreter="/usr/bin/python3", working_folder=str(tmp_path), ranks=2
    )
    launching: list[bool] = []
    session.launching_changed.connect(launching.append)
    with qtbot.waitSignal(session.failed) as failure:
        session.launch(spec)
    assert "gone.py" in failure.args[0].message
    assert launching == [True, False]
    assert store.list() == []


def test_pressing_launch_and_stop_twice_quickly_leaves_nothing(
    qtbot: QtBot, session: RunSession, store: RunStore, tmp_path: Path
) -> None:
    """Case L23: the launch is given up while it is prepared."""
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    (tmp_path / "train.py").write_text("print(1)\n")
    spec = JobSpec(
        title="mine", target="train.py", interpreter=str(slow), working_folder=str(tmp_path), ranks=1
    )
    failures: list[DashboardError] = []
    session.failed.connect(failures.append)
    session.launch(spec)
    session.launch(spec)
    assert session.launching
    assert session.why_not_launch() == "a launch is being prepared"
    session.stop()
    session.stop()
    assert not session.launching
    qtbot.waitUntil(lambda: not session._tasks._running, timeout=10_000)
    assert (store.list(), failures) == ([], [])


@pytest.mark.parametrize("how", ["stopped", "closed"])
def test_a_launch_given_up_at_the_last_moment_is_stopped(
    qtbot: QtBot,
    session: RunSession,
    make_run: Callable[..., RunFolder],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    """The run has started and its answer is on its way when the user stops it or closes the window."""
    folder = make_run("tiny", "running")
    monkeypatch.setattr(preflight, "run_preflight", lambda *_, **__: None)
    monkeypatch.setattr(client, "launch", lambda *_, **__: folder)
    session.launch(folder.read().job)
    tasks = session._tasks
    thread = tasks.shown[0].thread
    assert thread is not None
    thread.join(30)
    assert control_of(folder) == []
    if how == "stopped":
        session.stop()
    else:
        tasks.shutdown()
    qtbot.waitUntil(lambda: [record["kind"] for record in control_of(folder)] == ["stop"])
    assert session.folder is None


def test_the_end_of_a_run_is_seen(
    qtbot: QtBot, session: RunSession, make_run: Callable[..., RunFolder]
) -> None:
    folder = make_run("tiny", "running")
    with qtbot.waitSignal(session.snapshot_changed):
        session.attach(folder)
    manifest = folder.read()
    write_manifest(folder.path, replace(manifest, status="done", ended_ns=manifest.created_ns + 5 * 10**9))
    qtbot.waitUntil(lambda: not session.running)
    assert session.why_not_launch() is None
