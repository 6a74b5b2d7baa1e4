"""A full disk costs the supervisor records, and it says so; it never raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.launch.record import Recorder
from core.runs.job import JobSpec
from core.runs.manifest import read_manifest
from core.runs.store import RunFolder, RunStore
from core.telemetry.events import LauncherExited

JOB = JobSpec(title="t", target="t.py", interpreter=sys.executable, working_folder="/")


def events(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.supervisor_path.read_bytes().splitlines() if line]


def test_records_count_up_without_gaps(tmp_path: Path) -> None:
    folder = RunStore(tmp_path).create(JOB)
    recorder = Recorder(folder, folder.read())
    for code in range(3):
        recorder.write(LauncherExited, exit_code=code)
    assert [(event["seq"], event["exit_code"]) for event in events(folder)] == [(1, 0), (2, 1), (3, 2)]
    assert folder.supervisor_path.stat().st_mode & 0o777 == 0o600


def test_lost_records_leave_a_gap_and_a_word(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    folder = RunStore(tmp_path).create(JOB)
    recorder = Recorder(folder, folder.read())
    recorder.write(LauncherExited, exit_code=0)
    kept = folder.path / "kept"
    folder.supervisor_path.rename(kept)
    folder.supervisor_path.symlink_to("/dev/full")
    recorder.write(LauncherExited, exit_code=1)
    recorder.write(LauncherExited, exit_code=2)
    assert recorder.lost_records == 2
    folder.supervisor_path.unlink()
    kept.rename(folder.supervisor_path)
    recorder.write(LauncherExited, exit_code=3)
    found = events(folder)
    assert [event["seq"] for event in found] == [1, 5, 6]
    assert found[1]["message"] == "2 records of the supervisor could not be written."
    assert found[2]["exit_code"] == 3
    assert recorder.lost_records == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> Path:
    path = folder / "full"
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    return path


def test_manifest_is_written_as_soon_as_there_is_room_again(small_disk: Path) -> None:
    folder = RunStore(small_disk / "runs").create(JOB)
    recorder = Recorder(folder, folder.read())
    recorder.update(status="running")
    filler = fill(small_disk)
    recorder.update(status="done", summary="x")
    assert not recorder.saved
    assert read_manifest(folder.path)[0].status == "running"
    recorder.retry()
    assert not recorder.saved
    filler.unlink()
    recorder.retry()
    assert recorder.saved
    assert (folder.read().status, folder.read().summary) == ("done", "x")
    assert not list(folder.path.glob(".*tmp"))
    messages = [event["message"] for event in events(folder) if "message" in event]
    assert messages[-1] == "The manifest could be written again."
