"""Asking a run for something, and being told when nobody is there who could do it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from core import files
from core.errors import DashboardError
from core.launch import client
from core.launch.client import (
    LeftBehind,
    end_left_behind,
    launch,
    left_behind,
    request_capture,
    request_stop,
)
from core.launch.preflight import Preflight
from core.launch.versions import ridgeline_version
from core.runs import identity
from core.runs.job import JobSpec
from core.runs.manifest import ProcessIdentity, Revision, Status, write_manifest
from core.runs.store import RunFolder, RunStore

PREFLIGHT = Preflight(python="3.11.7", torch="2.13.0", cuda=None, nccl=None, gloo=True, gpu_count=0)
JOB = JobSpec(title="t", target="t.py", interpreter=sys.executable, working_folder="/", ranks=2)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def supervised_by(folder: RunFolder, supervisor: ProcessIdentity | None, status: Status) -> RunFolder:
    write_manifest(folder.path, replace(folder.read(), supervisor=supervisor, status=status))
    return folder


@pytest.fixture
def running(store: RunStore) -> RunFolder:
    """A run that this process looks after."""
    return supervised_by(store.create(JOB), identity.identity(os.getpid()), "running")


@pytest.fixture
def lost(store: RunStore) -> RunFolder:
    gone = ProcessIdentity(pid=2**22 + 1, create_time_s=1.0, boot_id=identity.boot_id())
    return supervised_by(store.create(JOB), gone, "running")


def control(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.control_path.read_bytes().splitlines() if line]


def test_stop_is_written_down(running: RunFolder) -> None:
    assert request_stop(running)
    assert request_stop(running, now=True)
    assert [(record["kind"], record["now"]) for record in control(running)] == [
        ("stop", False),
        ("stop", True),
    ]


def test_request_after_a_torn_line_stands_on_a_line_of_its_own(running: RunFolder) -> None:
    running.control_path.write_bytes(b'{"kind": "capture_req')
    request_stop(running)
    assert json.loads(running.control_path.read_bytes().splitlines()[-1])["kind"] == "stop"


def test_ended_run_needs_no_stop(store: RunStore) -> None:
    folder = supervised_by(store.create(JOB), None, "done")
    assert not request_stop(folder)
    assert control(folder) == []
    with pytest.raises(DashboardError, match="has ended: there is nothing to capture"):
        request_capture(folder)


def test_run_without_a_supervisor_cannot_be_stopped(lost: RunFolder) -> None:
    with pytest.raises(DashboardError, match=r"supervisor of .* is gone"):
        request_stop(lost)


def test_copy_of_a_run_that_goes_on_leads_to_the_original(running: RunFolder, tmp_path: Path) -> None:
    """Nobody reads the requests in a copy; a run that another machine sees elsewhere is none."""
    environment = {"RIDGELINE_RUN_DIR": str(running.path)}
    write_manifest(running.path, replace(running.read(), environment=environment))
    copy = RunFolder(Path(shutil.copytree(running.path, tmp_path / "copy")))
    for ask in (request_stop, request_capture):
        with pytest.raises(DashboardError, match="is a copy; the run goes on in"):
            ask(copy)
    assert control(copy) == []
    assert request_stop(running)
    running.path.rename(tmp_path / "moved")
    assert request_stop(RunFolder(tmp_path / "moved"))


def test_capture_request_holds_what_was_asked(running: RunFolder) -> None:
    first = request_capture(running, steps=3, ranks=[1, 0, 1], with_stack=True)
    second = request_capture(running, what="stacks")
    assert first != second
    records = control(running)
    assert [record["request"] for record in records] == [first, second]
    assert (records[0]["what"], records[0]["steps"], records[0]["ranks"]) == ("trace", 3, [0, 1])
    assert (records[1]["what"], records[1]["ranks"]) == ("stacks", None)


def test_capture_that_makes_no_sense(running: RunFolder) -> None:
    with pytest.raises(DashboardError, match="There is no rank 2: the run has 2 ranks"):
        request_capture(running, ranks=[0, 2])
    with pytest.raises(DashboardError, match="0 steps"):
        request_capture(running, steps=0)
    assert control(running) == []


def test_nothing_is_left_behind_by_what_is_gone(store: RunStore, lost: RunFolder, running: RunFolder) -> None:
    """A recorded pid that another process has now, this one for instance, is not taken for a rank."""
    record = {"kind": "processes", "seq": 1, "t_ns": 1, "started": [[os.getpid(), 1.0], [os.getppid(), 2.0]]}
    lost.supervisor_path.write_text(json.dumps(record) + "\n")
    assert left_behind(store) == []


@pytest.fixture
def sleeper(lost: RunFolder) -> Iterator[ProcessIdentity]:
    """A process that the run without a supervisor has left."""
    child = subprocess.Popen(["sleep", "600"], env=os.environ | {client.RUN_VARIABLE: str(lost.path)})
    process = identity.identity(child.pid)
    assert process is not None
    # A new program's environment can be read a moment after the program has begun.
    while client.RUN_VARIABLE not in psutil.Process(child.pid).environ():
        time.sleep(0.01)
    yield process
    child.kill()
    child.wait()


@pytest.mark.parametrize("ended", [True, False])
def test_an_end_that_only_the_records_hold_is_not_overwritten(
    store: RunStore, lost: RunFolder, sleeper: ProcessIdentity, ended: bool
) -> None:
    """The disk was full when the supervisor replaced the manifest."""
    if ended:
        records = [
            {"kind": "launcher_exited", "seq": 1, "t_ns": 5, "exit_code": 0},
            {"kind": "supervisor_ended", "seq": 2, "t_ns": 6, "status": "done"},
        ]
        lost.supervisor_path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = left_behind(store)
    assert [item.processes for item in found] == ([] if ended else [(sleeper,)])
    item = LeftBehind(folder=lost, manifest=lost.read(), processes=(sleeper,))
    assert end_left_behind(item) == ()
    manifest = lost.read()
    expected = ("done", 0) if ended else ("lost", None)
    assert (manifest.status, manifest.launcher_exit_code) == expected
    assert (manifest.ended_ns == 6) is ended


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no module named x')", "ended at once: no module named x"),
        ("", "ended at once"),
        ("print('hello')", "ended at once"),
    ],
)
def test_supervisor_that_does_not_start(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    (tmp_path / "main.py").write_text(code)
    monkeypatch.setattr(files, "MAIN", tmp_path / "main.py")
    with pytest.raises(DashboardError) as error:
        launch(JOB, store)
    assert error.value.message == f"The supervisor of the run {said}."
    assert error.value.hint.endswith("supervisor.log.")
    (run,) = store.list()
    assert (run.status, run.summary) == ("failed", error.value.message)


def test_launch_that_is_given_up_is_stopped_before_its_supervisor_has_taken_over(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window that gave it up may be closed before the supervisor is there."""
    (tmp_path / "main.py").write_text(
        "import pathlib, sys, time\n"
        "control = pathlib.Path(sys.argv[2], 'control.jsonl')\n"
        "for _ in range(200):\n"
        "    if b'stop' in control.read_bytes():\n"
        "        print('ready')\n"
        "        break\n"
        "    time.sleep(0.05)\n"
    )
    monkeypatch.setattr(files, "MAIN", tmp_path / "main.py")
    folder = launch(JOB, store, cancelled=lambda: True)
    assert [record["kind"] for record in control(folder)] == ["stop"]


def test_supervisor_that_comes_after_the_limit_finds_a_stop(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process has long gone by then: killing it reaches nobody."""
    (tmp_path / "main.py").write_text(
        "import os, pathlib, sys, time\n"
        "if os.fork():\n"
        "    os._exit(0)\n"
        "folder = pathlib.Path(sys.argv[2])\n"
        "for _ in range(600):\n"
        "    if b'stop' in (folder / 'control.jsonl').read_bytes():\n"
        "        (folder / 'heard').touch()\n"
        "        break\n"
        "    time.sleep(0.05)\n"
    )
    monkeypatch.setattr(files, "MAIN", tmp_path / "main.py")
    monkeypatch.setattr(client, "_START_LIMIT_S", 0.5)
    with pytest.raises(DashboardError, match=r"did not start within 0\.5 s"):
        launch(JOB, store)
    (run,) = store.list()
    assert run.status == "failed"
    folder = RunFolder(run.path)
    assert [record["kind"] for record in control(folder)] == ["stop"]
    deadline_s = time.monotonic() + 30
    while not (folder.path / "heard").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file is in the way")
    with pytest.raises(DashboardError, match="cannot be used"):
        launch(JOB, RunStore(tmp_path / "runs"))


def test_launch_records_versions_and_revision(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text("print('ready')")
    monkeypatch.setattr(files, "MAIN", tmp_path / "main.py")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("0123456789" * 4)
    job = replace(JOB, target="src/train.py", working_folder=str(project))
    manifest = launch(job, store, preflight=PREFLIGHT).read()
    assert manifest.revision == Revision(commit="0123456789" * 4, changed_files=None)
    assert manifest.versions == {"ridgeline": ridgeline_version(), "python": "3.11.7", "torch": "2.13.0"}
