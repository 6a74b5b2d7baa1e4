"""Processes of a job are found and ended; a stranger with the same pid is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.launch import processes
from core.runs.manifest import ProcessIdentity

STUBBORN = (
    "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "time.sleep(600)\n"
)
FAMILY = (
    "import os, subprocess, sys, time\n"
    f"code = {STUBBORN!r}\n"
    "child = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, start_new_session=True)\n"
    "child.stdout.readline()\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


def known(pid: int) -> ProcessIdentity:
    found = processes.identity(pid)
    assert found is not None
    return found


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[str], ProcessIdentity]]:
    """A process, and a child of it in a session of its own that ignores SIGTERM."""
    parent = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = known(int(parent.stdout.readline()))
    yield parent, child
    parent.kill()
    parent.wait()
    parent.stdout.close()
    processes.send_signal(child, signal.SIGKILL)
    while processes.is_alive(child):
        time.sleep(0.01)


def test_descendants_are_found_across_sessions(family: tuple[subprocess.Popen[str], ProcessIdentity]) -> None:
    parent, child = family
    assert processes.descendants(parent.pid) == [child]
    below_us = [process.pid for process in processes.descendants(os.getpid())]
    assert below_us.index(parent.pid) < below_us.index(child.pid)
    assert processes.descendants(os.getpid(), without=[parent.pid]) == []


def test_whole_family_is_ended_although_it_ignores_sigterm(
    family: tuple[subprocess.Popen[str], ProcessIdentity],
) -> None:
    parent, child = family
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert processes.end_processes([known(parent.pid)], grace_seconds=0.2) == []
    assert not processes.is_alive(child)
    assert stranger.poll() is None
    stranger.communicate()


def test_pid_that_is_used_again_is_not_signalled() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = replace(known(child.pid), create_time_s=known(child.pid).create_time_s - 10)
    assert not processes.is_alive(other)
    assert not processes.send_signal(other, signal.SIGKILL)
    assert processes.end_processes([other], grace_seconds=0.1) == []
    assert child.poll() is None
    child.communicate(b"\n")
    assert child.returncode == 0


def test_gone_process_is_no_error() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    before = processes.identity(child.pid)
    child.wait()
    assert processes.identity(child.pid) is None
    if before is not None:
        assert not processes.send_signal(before, signal.SIGTERM)
    assert processes.descendants(child.pid) == []


def test_carriers_are_told_by_the_environment_at_their_start(tmp_path: Path) -> None:
    mark = str(tmp_path / "run")
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os; os.environ['RIDGELINE_TEST_MARK'] = 'changed'; print(1, flush=True); input()",
        ],
        env={**os.environ, "RIDGELINE_TEST_MARK": mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert processes.carriers("RIDGELINE_TEST_MARK") == {mark: [known(child.pid)]}
    child.communicate()
    assert processes.carriers("RIDGELINE_TEST_MARK") == {}


def test_grace_time_is_configurable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIDGELINE_GRACE_S", raising=False)
    assert processes.grace_s() == processes.DEFAULT_GRACE_S
    for text, expected in [("0.5", 0.5), ("-1", 0.0), ("soon", processes.DEFAULT_GRACE_S)]:
        monkeypatch.setenv("RIDGELINE_GRACE_S", text)
        assert processes.grace_s() == expected


def test_two_graces_and_the_kill_stay_under_ten_seconds() -> None:
    assert 2 * processes.DEFAULT_GRACE_S < 9.5
