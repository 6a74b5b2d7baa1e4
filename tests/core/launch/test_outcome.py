"""Exit codes come from whoever knows them; the line on a failure names its cause."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from core.launch.outcome import describe_exit, read_ends, summarize_failure
from core.runs.job import JobSpec
from core.runs.store import RunFolder, RunStore

REPORT = """
E1129 14:02:14.000000 29263 torch/distributed/elastic/multiprocessing/api.py:1000] failed (exitcode: -9)
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-29_14:02:14
  host      : vm
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 100)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 100
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_14:02:14
  host      : vm
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 101)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 101
============================================================
"""


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    job = JobSpec(title="t", target="t.py", interpreter=sys.executable, working_folder="/")
    return RunStore(tmp_path / "runs").create(job)


def write_rank(folder: RunFolder, rank: int, *events: dict[str, Any], pid: int = 100) -> None:
    start = {
        "kind": "start",
        "wire": 1,
        "rank": rank,
        "local_rank": rank,
        "world_size": 2,
        "pid": pid + rank,
        "host": "vm",
        "python": "3.11",
        "argv": [],
        "cwd": "/",
    }
    with open(folder.rank_file(rank), "a") as file:
        for number, event in enumerate([start, *events]):
            file.write(json.dumps({"seq": number + 1, "t_ns": number, **event}) + "\n")


def raised(message: str, t_ns: int, kind: str = "RuntimeError", **more: Any) -> dict[str, Any]:
    return {
        "kind": "exception",
        "type": kind,
        "message": message,
        "traceback": "",
        "step": 4,
        "t_ns": t_ns,
        **more,
    }


def ended(code: int) -> dict[str, Any]:
    return {"kind": "end", "exit_code": code, "steps": 3}


def codes(folder: RunFolder, ranks: int = 2, **known: Any) -> dict[int, int | None]:
    known = {"reaped": {}, "launcher_exit_code": 1, **known}
    return {end.rank: end.exit_code for end in read_ends(folder, ranks, **known)}


def summary(folder: RunFolder, launcher_exit_code: int = 1) -> str:
    ends = read_ends(folder, 2, reaped={}, launcher_exit_code=launcher_exit_code)
    return summarize_failure(folder, ends, folder.read(), launcher_exit_code)


def test_what_nobody_tells_stays_unknown(folder: RunFolder) -> None:
    write_rank(folder, 0)
    assert codes(folder) == {0: None, 1: None}


def test_success_of_torchrun_is_success_of_every_rank(folder: RunFolder) -> None:
    assert codes(folder, launcher_exit_code=0) == {0: 0, 1: 0}


def test_end_record_then_torchrun_then_the_process_itself(folder: RunFolder) -> None:
    write_rank(folder, 0, ended(3))
    write_rank(folder, 1, ended(0))
    assert codes(folder) == {0: 3, 1: 0}
    folder.launcher_log.write_text(REPORT)
    assert codes(folder) == {0: -15, 1: -9}
    assert codes(folder, reaped={100: -6}) == {0: -6, 1: -9}


def test_report_on_another_process_of_that_rank_does_not_count(folder: RunFolder) -> None:
    folder.launcher_log.write_text(REPORT)
    write_rank(folder, 0, pid=500)
    assert codes(folder) == {0: None, 1: -9}


def test_records_of_a_start_that_was_repeated_do_not_count(folder: RunFolder) -> None:
    write_rank(folder, 0, raised("first", 1), ended(1))
    write_rank(folder, 0, ended(0))
    (end, _) = read_ends(folder, 2, reaped={}, launcher_exit_code=1)
    assert (end.exit_code, end.exception) == (0, None)


def test_torn_and_unknown_lines_are_passed_over(folder: RunFolder) -> None:
    write_rank(folder, 0, {"kind": "from the future"}, ended(5))
    with open(folder.rank_file(0), "a") as file:
        file.write('{"kind": "end", "exit_co')
    assert codes(folder)[0] == 5


def test_long_file_is_read_at_both_ends(folder: RunFolder) -> None:
    beat = {"kind": "heartbeat", "step": 1, "phase": "idle"}
    write_rank(folder, 0, *[beat] * 10_000, ended(7))
    assert folder.rank_file(0).stat().st_size > 500_000
    assert codes(folder)[0] == 7
    assert codes(folder, reaped={100: -11})[0] == -11


def test_killed_rank_comes_before_what_it_caused(folder: RunFolder) -> None:
    """Case L07."""
    folder.launcher_log.write_text(REPORT)
    write_rank(folder, 0, raised("[../gloo] Connection closed by peer [127.0.0.1]:1", 5), ended(1))
    write_rank(folder, 1)
    assert summary(folder) == "Rank 1 killed by signal 9 (often out of memory)"


def test_earliest_error_that_is_no_lost_connection(folder: RunFolder) -> None:
    """Case L08."""
    write_rank(folder, 0, raised("Connection closed by peer", 5))
    write_rank(folder, 1, raised("batch 17: label 32001 is out of range\nmore", 6, "ValueError"))
    assert summary(folder) == "Rank 1 raised ValueError at step 4: batch 17: label 32001 is out of range"


def test_out_of_memory(folder: RunFolder) -> None:
    write_rank(folder, 1, raised("CUDA out of memory. Tried to allocate", 6, out_of_memory=True))
    assert summary(folder) == "Rank 1 ran out of memory at step 4: CUDA out of memory. Tried to allocate"


def test_exit_code_without_an_error(folder: RunFolder) -> None:
    """Case L25."""
    write_rank(folder, 0, ended(3))
    write_rank(folder, 1)
    assert summary(folder) == "Rank 0 ended with exit code 3"


def test_words_of_an_exit(folder: RunFolder) -> None:
    write_rank(folder, 0, raised("Connection closed by peer", 6), ended(1))
    write_rank(folder, 1, raised("no data found\nin /data", 5, "SystemExit"), ended(1))
    assert summary(folder) == "Rank 1 ended with exit code 1 at step 4: no data found"


def test_interrupt_that_nobody_asked_for(folder: RunFolder) -> None:
    write_rank(folder, 1, raised("", 5, "KeyboardInterrupt"), ended(-2))
    assert summary(folder) == "Rank 1 raised KeyboardInterrupt at step 4; no stop was asked for"


def test_torchrun_itself(folder: RunFolder) -> None:
    assert summary(folder, -9) == "torchrun killed by signal 9 (often out of memory)"
    folder.launcher_log.write_text("usage: run.py\nrun.py: error: unrecognized arguments: --x\n")
    said = summary(folder, 2)
    assert said.startswith("torchrun ended with exit code 2")
    assert said.endswith("run.py: error: unrecognized arguments: --x")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with exit code 0"),
        (-11, "killed by signal 11 (SIGSEGV)"),
        (-99, "killed by signal 99"),
        (None, "ended with an unknown exit code"),
    ],
)
def test_words_for_codes(code: int | None, words: str) -> None:
    assert describe_exit(code) == words
