"""A full disk costs records, never the script: what was lost is counted and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core.telemetry.events import RankEnded, RankEvent
from core.telemetry.tail import EventTail
from tests.helpers.torchrun import run_alone

if TYPE_CHECKING:
    from pathlib import Path

# The limit on a file's size gives the same short write as a full disk, then an error.
SCRIPT = """
import os, resource, time
ranks = os.path.join(os.environ["RIDGELINE_RUN_DIR"], "ranks", "0.jsonl")
time.sleep(0.3)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(ranks) + 40, limits[1]))
time.sleep(0.4)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
time.sleep(0.3)
print("trained")
"""


def test_a_full_disk_in_the_middle_of_a_run(tmp_path: Path) -> None:
    script = tmp_path / "full.py"
    script.write_text(SCRIPT)
    run_dir = tmp_path / "run"
    result = run_alone([str(script)], run_dir, env={"RIDGELINE_HEARTBEAT_S": "0.05"})
    assert result.returncode == 0
    assert (run_dir / "logs/0.out").read_text() == "trained\n"
    tail: EventTail[RankEvent] = EventTail(run_dir / "ranks/0.jsonl", RankEvent)
    events = tail.read()
    end = events[-1]
    assert isinstance(end, RankEnded)
    assert end.lost_records >= 3
    assert tail.lost_records == end.lost_records
    assert tail.problems["broken_line"][0] == 1
    assert len(events) + tail.lost_records == tail.last_sequence


PRINTING = """
import os, resource, sys
logs = os.path.join(os.environ["RIDGELINE_RUN_DIR"], "logs", "0.out")
print("before")
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(logs) + 3, resource.RLIM_INFINITY))
for step in range(1000):
    print("lost", step)
    print("lost", step, file=sys.stderr)
open("trained", "w").close()
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_finds_no_room_does_not_end_the_script(tmp_path: Path, unbuffered: str) -> None:
    script = tmp_path / "full.py"
    script.write_text(PRINTING)
    run_dir = tmp_path / "run"
    result = run_alone([str(script)], run_dir, cwd=tmp_path, env={"PYTHONUNBUFFERED": unbuffered})
    assert result.returncode == 0
    assert (tmp_path / "trained").exists()
    assert (run_dir / "logs/0.out").read_text() == "before\nlos"
