"""The command line on real jobs: a launch on four ranks to its end, a failing one, one that is stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import psutil
import pytest

from core.runs.job import JobSpec
from core.runs.manifest import write_manifest
from core.runs.store import RunStore
from core.telemetry.events import Loss, RankEnded, RankEvent

MAIN = Path(__file__).parents[2] / "main.py"
RANKS = 4
STEPS = 6
DECODER: msgspec.json.Decoder[RankEvent] = msgspec.json.Decoder(RankEvent)
PRINTED_LOSS = re.compile(r"^Step \d+ \| Loss: (\S+)$", re.MULTILINE)
LIMIT_S = 180.0


def main(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(MAIN), *arguments],
        env=os.environ | {"RIDGELINE_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def runs(data: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(main("runs", "--json", data=data).stdout)
    return found


@dataclass(frozen=True)
class Launched:
    """A launch that came to its end."""

    data: Path
    result: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Launched:
    data = tmp_path_factory.mktemp("data")
    words = ["launch", "--preset", "tiny", "--nproc", str(RANKS), "--device", "cpu", "--steps", str(STEPS)]
    return Launched(data, main(*words, data=data))


@pytest.mark.torchrun
def test_launch_ends_well_and_sums_up(launched: Launched) -> None:
    assert launched.result.stderr == ""
    assert launched.result.returncode == 0
    lines = launched.result.stdout.splitlines()
    assert "4 CPU ranks" in lines[0]
    header = next(number for number, line in enumerate(lines) if line.startswith("rank  state"))
    rows = [line.split() for line in lines[header + 1 : header + 1 + RANKS]]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert all(float(row[-3]) > 0 and float(row[-2]) > 0 for row in rows), "first and last loss"
    assert all(float(row[-1]) > 0 for row in rows), "peak memory"
    assert any(line.startswith("done after ") for line in lines)


@pytest.mark.torchrun
def test_every_loss_of_every_step_is_in_the_rank_files(launched: Launched) -> None:
    (run,) = runs(launched.data)
    folder = Path(str(run["path"]))
    assert sorted(path.name for path in (folder / "ranks").iterdir()) == [f"{r}.jsonl" for r in range(RANKS)]
    for rank in range(RANKS):
        lines = (folder / "ranks" / f"{rank}.jsonl").read_bytes().splitlines()
        events = [DECODER.decode(line) for line in lines if line]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        written = [event.value for event in events if isinstance(event, Loss)]
        printed = PRINTED_LOSS.findall((folder / "logs" / f"{rank}.out").read_text())
        assert len(printed) == STEPS
        assert written == pytest.approx([float(value) for value in printed], abs=1e-4)
        end = events[-1]
        assert isinstance(end, RankEnded)
        assert (end.exit_code, end.steps, end.lost_records) == (0, STEPS, 0)


@pytest.mark.torchrun
def test_the_run_is_listed_and_can_be_looked_at_again(launched: Launched) -> None:
    (run,) = runs(launched.data)
    assert (run["status"], run["ranks"]) == ("done", RANKS)
    assert str(run["script"]).endswith("train_fsdp.py")
    again = main("attach", str(run["id"])[:20], data=launched.data)
    assert again.returncode == 0
    assert "done after " in again.stdout
    for command, word in (("stop", "has ended already"), ("capture", "has ended")):
        result = main(command, str(run["id"]), data=launched.data)
        assert word in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["launch", "no such script.py"], "no such script.py"),
        (["launch", "--preset", "huge"], "There is no preset huge."),
        (["launch", "--nproc", "many", "train.py"], "'many' is not a number from 1 on"),
        (["launch", "--python", "/nowhere/python", str(MAIN)], "/nowhere/python"),
        (["stop", "nothing"], "nothing"),
        (["capture"], "RUN"),
    ],
)
def test_refusal_is_two_lines_and_exit_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    result = main(*arguments, data=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert hint.startswith("hint: ")
    assert runs(tmp_path) == []


def test_folder_that_is_gone_and_output_that_finds_no_room_are_refused(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = [sys.executable, str(MAIN)]
    words = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    launch = ["sh", "-c", words, "sh", str(gone), *command, "launch", "train.py"]
    full = ["sh", "-c", 'exec "$@" > /dev/full', "sh", *command, "runs"]
    for refused, said in ((launch, "this command was started is gone"), (full, "cannot be written")):
        result = subprocess.run(
            refused,
            env=os.environ | {"RIDGELINE_DATA_DIR": str(tmp_path / "data")},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert result.returncode == 2
        error, hint = result.stderr.splitlines()
        assert error.startswith("error: ")
        assert said in error
        assert hint.startswith("hint: ")


def test_closed_output_is_no_bug(tmp_path: Path) -> None:
    data = tmp_path / "data"
    folder = RunStore(data / "runs").create(
        JobSpec(title="t", target="t", interpreter="/p", working_folder="/")
    )
    write_manifest(folder.path, replace(folder.read(), status="done"))
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, str(MAIN), "attach", folder.id],
        env=os.environ | {"RIDGELINE_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_telling_launch_to_end_while_it_checks_leaves_nothing(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """An interpreter that does not answer; ``no_process_left`` sees to it that it is ended too."""
    python, pid_file = tmp_path / "python", tmp_path / "pid"
    python.write_text(f"#!/bin/sh\necho $$ > {pid_file}\nexec sleep 600\n")
    python.chmod(0o755)
    child = subprocess.Popen(
        [sys.executable, str(MAIN), "launch", "--device", "cpu", "--python", str(python), str(MAIN)],
        env=os.environ | {"RIDGELINE_DATA_DIR": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_file(pid_file, child)
    child.send_signal(number)
    assert child.communicate(timeout=LIMIT_S) == ("", "")
    assert child.returncode == code
    assert runs(tmp_path / "data") == []


@pytest.mark.torchrun
def test_failing_job_is_exit_code_3_with_the_users_frames(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        "import sys\nassert sys.argv[1:] == ['--nproc', '9', '$HOME;']\nraise ValueError('label 7')\n"
    )
    result = main(
        "launch",
        "--device",
        "cpu",
        "--nproc",
        "1",
        str(script),
        "--nproc",
        "9",
        "$HOME;",
        data=tmp_path / "data",
    )
    assert result.returncode == 3, result.stderr
    assert "ValueError: label 7" in result.stdout
    assert f'File "{script}", line 3' in result.stdout
    assert "rank_agent" not in result.stdout
    (run,) = runs(tmp_path / "data")
    assert run["status"] == "failed"


def wait_for_file(path: Path, child: subprocess.Popen[str]) -> None:
    limit_s = time.monotonic() + LIMIT_S
    while not path.exists():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < limit_s
        time.sleep(0.1)


@pytest.mark.torchrun
@pytest.mark.parametrize(
    ("ignored", "sent", "code"),
    [
        pytest.param([], [signal.SIGTERM], 143, id="SIGTERM stops gracefully"),
        pytest.param([signal.SIGINT, signal.SIGTERM], [signal.SIGINT] * 2, 130, id="two Ctrl+C kill"),
    ],
)
def test_telling_launch_to_end_ends_the_job(
    tmp_path: Path, ignored: list[signal.Signals], sent: list[signal.Signals], code: int
) -> None:
    script, pid_file = tmp_path / "sleeps.py", tmp_path / "pid"
    script.write_text(
        "import os, pathlib, signal, sys, time\n"
        f"for number in {[int(number) for number in ignored]}:\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.with_suffix('.new').write_text(str(os.getpid()))\n"
        "path.with_suffix('.new').rename(path)\n"
        "time.sleep(600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, str(MAIN), "launch", "--device", "cpu", str(script), str(pid_file)],
        env=os.environ | {"RIDGELINE_DATA_DIR": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_file(pid_file, child)
    control = next((tmp_path / "data" / "runs").iterdir()) / "control.jsonl"
    for number in sent:
        before = control.stat().st_size
        child.send_signal(number)
        while child.poll() is None and control.stat().st_size == before:
            time.sleep(0.05)
    output, errors = child.communicate(timeout=LIMIT_S)
    assert (child.returncode, errors) == (code, "")
    assert "stopped after " in output
    assert not psutil.pid_exists(int(pid_file.read_text()))
    (run,) = runs(tmp_path / "data")
    assert run["status"] == "stopped"
