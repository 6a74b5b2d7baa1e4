"""The sampler child: what it writes, that a hang is told, and that it ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil
import pytest

from core.telemetry.events import GpuEvent, GpuNote, GpuSample, GpusUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
FAKES = ROOT / "tests" / "helpers" / "fake_nvml"
DECODER: msgspec.json.Decoder[GpuEvent] = msgspec.json.Decoder(GpuEvent)
PATIENCE_S = 30.0


def events(folder: Path) -> list[GpuEvent]:
    file = folder / "gpus.jsonl"
    if not file.exists():
        return []
    return [DECODER.decode(line) for line in file.read_bytes().split(b"\n")[:-1] if line]


def wait_for(condition: Callable[[], bool]) -> None:
    """Polls instead of assuming a time; the limit only turns a hang into a failure."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, "what was waited for did not happen"
        time.sleep(0.05)


def environment(fault: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(FAKES), "FAKE_NVML": fault, "FAKE_NVML_GPUS": "2"}


def command(folder: Path) -> list[str]:
    return [sys.executable, str(ROOT / "main.py"), "_sample-gpus", str(folder)]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts a sampler on ``tmp_path``; ends it after the test."""
    children: list[subprocess.Popen[bytes]] = []

    def start_with(fault: str) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(command(tmp_path), env=environment(fault), stdin=subprocess.DEVNULL)
        children.append(child)
        return child

    yield start_with
    for child in children:
        child.kill()
        child.wait()


def test_samples_are_numbered_without_a_gap(
    tmp_path: Path, start: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    child = start("ok")
    wait_for(lambda: len(events(tmp_path)) >= 3)
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S) == -signal.SIGTERM
    written = events(tmp_path)
    assert [event.seq for event in written] == list(range(1, len(written) + 1))
    sample = written[0]
    assert isinstance(sample, GpuSample)
    assert [gpu.used_bytes for gpu in sample.gpus] == [10 * 2**30, 11 * 2**30]
    assert (tmp_path / "gpus.jsonl").stat().st_mode & 0o777 == 0o600


def test_no_driver_is_written_once_and_the_child_ends(
    tmp_path: Path, start: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    """Case M04: the panel can say so once."""
    assert start("nolib").wait(PATIENCE_S) == 0
    (event,) = events(tmp_path)
    assert isinstance(event, GpusUnavailable)
    assert "driver library" in event.reason


def test_lost_gpu_leaves_a_note_and_samples_go_on(tmp_path: Path) -> None:
    """Case M20, sampled faster than twice a second."""
    script = (
        "import sys; sys.path[:0] = [sys.argv[2]]\n"
        "from core.telemetry.gpu_sampler import run_sampler\n"
        "run_sampler(sys.argv[1], interval_s=0.01)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(ROOT)], env=environment("lost")
    )
    try:
        wait_for(lambda: any(isinstance(event, GpuNote) for event in events(tmp_path)))
        seen = len(events(tmp_path))
        wait_for(lambda: len(events(tmp_path)) > seen + 3)
    finally:
        child.kill()
        child.wait()
    written = events(tmp_path)
    assert [event.message for event in written if isinstance(event, GpuNote)] == [
        "GPU 1 stopped answering: GPU is lost."
    ]
    last = [event for event in written if isinstance(event, GpuSample)][-1]
    assert [gpu.lost for gpu in last.gpus] == [False, True]


def test_hanging_driver_is_told_and_sigterm_still_ends_the_child(
    tmp_path: Path, start: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    child = start("hang")
    wait_for(lambda: any(isinstance(event, GpuNote) for event in events(tmp_path)))
    (note,) = events(tmp_path)
    assert isinstance(note, GpuNote)
    assert "has not answered" in note.message
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S) == -signal.SIGTERM


@pytest.mark.parametrize("fault", ["ok", "hang"])
def test_child_ends_when_its_parent_is_killed(tmp_path: Path, fault: str) -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, *command(tmp_path)], env=environment(fault), stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    if fault == "ok":
        wait_for(lambda: len(events(tmp_path)) > 0)
    else:
        wait_for((tmp_path / "gpus.jsonl").exists)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
