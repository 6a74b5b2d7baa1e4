"""FSDP2 jobs on real ranks: the example, captures while it runs, and a rank that hangs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.telemetry.events import (
    AgentProblem,
    CaptureFailed,
    CaptureReady,
    CaptureStarted,
    GradNorm,
    Heartbeat,
    Loss,
    RankEnded,
    RankEvent,
    RankStarted,
    Step,
)
from core.telemetry.tail import EventTail
from tests.helpers.interpreters import Interpreter, training_interpreters
from tests.helpers.torchrun import (
    EXAMPLE,
    ROOT,
    TINY,
    agent_environment,
    job_command,
    printed_losses,
    run_alone,
    run_job,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

pytestmark = pytest.mark.torchrun

PROJECT = ROOT / "tests" / "data" / "agent_project"
# torch 2.4 shards on CUDA alone; 2.8 is the oldest that was seen to shard on CPUs.
OTHERS = [
    pytest.param(python, id=python.name)
    for python in training_interpreters()[1:]
    if tuple(map(int, python.torch.split(".")[:2])) >= (2, 8)
]


def events_of(run_dir: Path, rank: int) -> list[RankEvent]:
    tail: EventTail[RankEvent] = EventTail(run_dir / "ranks" / f"{rank}.jsonl", RankEvent)
    events = tail.read()
    assert tail.problems == {}
    return events


def ask(run_dir: Path, **fields: object) -> None:
    record = {"kind": "capture_request", "seq": 0, "t_ns": time.time_ns(), **fields}
    with open(run_dir / "control.jsonl", "a") as file:
        file.write(json.dumps(record) + "\n")


def wait_until(seen: Callable[[], object], job: subprocess.Popen[bytes], limit_s: float = 90) -> None:
    end_s = time.monotonic() + limit_s
    while not seen():
        assert job.poll() is None, "the job ended too early"
        assert time.monotonic() < end_s, "nothing came"
        time.sleep(0.05)


def steps_of(run_dir: Path, rank: int) -> int:
    path = run_dir / "ranks" / f"{rank}.jsonl"
    return path.read_bytes().count(b'"kind":"step"') if path.exists() else 0


@contextlib.contextmanager
def job(target: Sequence[str], run_dir: Path, ranks: int, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    with open(run_dir / "launcher.log", "wb") as log:
        process = subprocess.Popen(
            job_command(target, ranks), env=agent_environment(run_dir, env), stdout=log, stderr=log
        )
    try:
        yield process
    finally:
        pids = [json.loads(path.read_text().splitlines()[0])["pid"] for path in run_dir.glob("ranks/*")]
        if process.poll() is None:
            process.kill()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        process.wait()


@dataclass(frozen=True)
class Finished:
    """A job that has ended: where it wrote, and with which status."""

    run_dir: Path
    exit_code: int
    steps: int


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The example on four ranks, with captures asked for while it runs."""
    run_dir, steps = tmp_path_factory.mktemp("example"), 40
    target = [str(EXAMPLE), *TINY, f"--steps={steps}", "--sleep=0.03"]
    ask(run_dir, request="early", what="trace", steps=1, ranks=[1], with_memory=False)
    with job(target, run_dir, 4) as process:
        wait_until(lambda: steps_of(run_dir, 0) >= 4, process)
        ask(run_dir, request="chosen", what="trace", steps=2, ranks=[0, 2], with_stack=True)
        ask(run_dir, request="memory", what="snapshot", steps=1, ranks=[3])
        ask(run_dir, request="late", what="trace", first_step=10_000, ranks=[3])
        with open(run_dir / "control.jsonl", "a") as file:
            file.write("not a record\n[]\n")
        exit_code = process.wait(timeout=120)
    return Finished(run_dir, exit_code, steps)


def test_the_example_ends_well_with_every_loss_in_four_files(example: Finished) -> None:
    said = [(example.run_dir / f"logs/{rank}.err").read_text()[-2000:] for rank in range(4)]
    assert example.exit_code == 0, said
    curves = []
    for rank in range(4):
        losses = [event for event in events_of(example.run_dir, rank) if isinstance(event, Loss)]
        assert [loss.step for loss in losses] == list(range(example.steps))
        values = [float(loss.value) for loss in losses]
        assert values == pytest.approx(printed_losses(example.run_dir, rank), abs=1e-4)
        assert sum(values[-5:]) < 0.85 * sum(values[:5])
        curves.append(values)
    assert len({tuple(curve) for curve in curves}) == 4


def test_each_rank_says_who_it_is_and_how_it_is(example: Finished) -> None:
    pids = set()
    for rank in range(4):
        events = events_of(example.run_dir, rank)
        start, end = events[0], events[-1]
        assert isinstance(start, RankStarted)
        assert (start.rank, start.world_size, start.argv[0]) == (rank, 4, str(EXAMPLE))
        assert isinstance(end, RankEnded)
        assert (end.exit_code, end.steps, end.lost_records) == (0, example.steps, 0)
        pids.add(start.pid)
        beats = [event for event in events if isinstance(event, Heartbeat)]
        assert {beat.phase for beat in beats} >= {"start"}
        assert all(beat.resident_bytes and beat.resident_bytes > 1 << 20 for beat in beats)
        assert all(step.allocated_bytes is None for step in events if isinstance(step, Step))
    assert len(pids) == 4


def test_a_trace_comes_from_the_chosen_ranks_alone(example: Finished) -> None:
    for rank in range(4):
        events = events_of(example.run_dir, rank)
        ready = [event for event in events if isinstance(event, CaptureReady)]
        wanted = {0: ["chosen"], 1: ["early"], 2: ["chosen"], 3: []}[rank]
        assert [event.request for event in ready] == wanted
        assert [event.request for event in events if isinstance(event, CaptureStarted)] == wanted
        for event in ready:
            path = example.run_dir / event.file
            assert path.stat().st_size == event.file_bytes
            assert path.stat().st_mode & 0o777 == 0o600
            check_trace(json.loads(path.read_text()), event)
    assert not list(example.run_dir.glob("traces/*.tmp"))


def check_trace(trace: dict[str, list[dict[str, object]]], ready: CaptureReady) -> None:
    ranges = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    names = [str(event["name"]) for event in ranges]
    steps = 2 if ready.request == "chosen" else 1
    marks = [name for name in names if name.startswith("ProfilerStep#")]
    assert marks == [f"ProfilerStep#{ready.step + number}" for number in range(steps)]
    assert sum(name == "Optimizer.step#AdamW.step" for name in names) == steps
    assert any("Input Dims" in event.get("args", {}) for event in ranges)  # type: ignore[operator]  # JSON
    assert any("train_fsdp.py" in name for name in names) == (ready.request == "chosen")


def test_what_cannot_be_captured_is_refused_with_a_reason(example: Finished) -> None:
    failed = {
        event.request: event for event in events_of(example.run_dir, 3) if isinstance(event, CaptureFailed)
    }
    assert failed.keys() == {"memory", "late"}
    assert "no CUDA device" in failed["memory"].message
    assert "ended before" in failed["late"].message
    assert steps_of(example.run_dir, 3) == example.steps


@pytest.fixture(scope="module")
def hang(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three ranks with uneven shards; rank 1 stands still, stacks are asked for."""
    run_dir = tmp_path_factory.mktemp("hang")
    with job([str(PROJECT / "jobs/hang.py")], run_dir, 3, RIDGELINE_HEARTBEAT_S="0.1") as process:
        wait_until(lambda: all(steps_of(run_dir, rank) >= 3 for rank in range(3)), process)
        ask(run_dir, request="why", what="stacks")
        wait_until(lambda: len(list(run_dir.glob("stacks/*.txt"))) == 3, process)
        beats = (run_dir / "ranks/1.jsonl").read_bytes().count(b"heartbeat")
        wait_until(lambda: (run_dir / "ranks/1.jsonl").read_bytes().count(b"heartbeat") > beats + 2, process)
    return run_dir


def test_a_hanging_rank_shows_where_it_stands(hang: Path) -> None:
    stuck = (hang / "stacks/step3_rank1.txt").read_text()
    assert "wait_for_a_lock_that_never_opens" in stuck
    assert "Thread 'MainThread'" in stuck
    waiting = (hang / "stacks/step3_rank0.txt").read_text()
    assert "wait_for_a_lock_that_never_opens" not in waiting
    assert "hang.py" in waiting
    assert "rank_agent" not in stuck + waiting
    for rank in range(3):
        ready = [event for event in events_of(hang, rank) if isinstance(event, CaptureReady)]
        assert [(event.request, event.what) for event in ready] == [("why", "stacks")]


def test_a_killed_rank_leaves_whole_lines(hang: Path) -> None:
    for rank in range(3):
        events = events_of(hang, rank)
        assert [event.step for event in events if isinstance(event, Loss)] == [0, 1, 2]
        assert not any(isinstance(event, RankEnded) for event in events)


def test_the_norm_of_sharded_gradients_is_the_same_on_all_ranks_or_called_local(hang: Path) -> None:
    norms = [[event for event in events_of(hang, rank) if isinstance(event, GradNorm)] for rank in range(3)]
    for of_step in zip(*norms, strict=True):
        assert len({norm.step for norm in of_step}) == 1
        assert len({norm.value for norm in of_step}) == 1 or all(norm.partial for norm in of_step)
    assert [norm.step for norm in norms[0]] == [0, 1, 2]


def test_figures_spread_over_ranks_are_never_taken_for_the_whole(tmp_path: Path) -> None:
    script = tmp_path / "spread.py"
    script.write_text(
        "import torch, torch.distributed as dist\n"
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "from torch.distributed.tensor import DTensor, Partial, Replicate\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "mesh = init_device_mesh('cpu', (1,))\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([x], lr=0.1)\n"
        "for placement in (Replicate(), Partial()):\n"
        "    DTensor.from_local((x * x).sum(), mesh, [placement]).backward()\n"
        "    norm = DTensor.from_local(torch.tensor(3.0), mesh, [placement])\n"
        "    torch.nn.utils.clip_grads_with_norm_([], 1.0, norm)\n"
        "    optimizer.step()\n"
        "dist.destroy_process_group()\n"
    )
    result = run_alone([str(script)], tmp_path / "run")
    assert result.returncode == 0, (tmp_path / "run/logs/0.err").read_text()
    events = events_of(tmp_path / "run", 0)
    assert [(event.step, event.value) for event in events if isinstance(event, Loss)] == [(0, 3.0)]
    norms = [event for event in events if isinstance(event, GradNorm)]
    assert [(norm.step, norm.value, norm.partial) for norm in norms] == [(0, 3.0, False), (1, 3.0, True)]
    [problem] = [event for event in events if isinstance(event, AgentProblem)]
    assert "spread over ranks" in problem.message


def test_the_older_import_path_of_fsdp2(tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    line = "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard"
    assert text.count(line) == 1
    script = tmp_path / "train_composable.py"
    script.write_text(text.replace(line, line.replace("distributed.fsdp", "distributed._composable.fsdp")))
    run_dir = tmp_path / "run"
    result = run_job([str(script), *TINY, "--steps=3", "--dtype=bf16"], run_dir, ranks=2)
    assert result.returncode == 0, (run_dir / "logs/0.err").read_text()
    for rank in range(2):
        losses = [event for event in events_of(run_dir, rank) if isinstance(event, Loss)]
        assert [float(loss.value) for loss in losses] == pytest.approx(
            printed_losses(run_dir, rank), abs=1e-4
        )
        assert len(losses) == 3


@pytest.mark.parametrize("python", OTHERS)
def test_the_example_runs_on_other_versions_of_torch(python: Interpreter, tmp_path: Path) -> None:
    result = run_job([str(EXAMPLE), *TINY, "--steps=5"], tmp_path, ranks=2, python=python.path)
    assert result.returncode == 0, (tmp_path / "logs/0.err").read_text()
    assert len(printed_losses(tmp_path)) == 5
    assert sum(isinstance(event, Loss) for event in events_of(tmp_path, 1)) == 5


def test_an_error_in_the_backward_pass_shows_no_frame_of_ours(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\nloss = (x * x).sum()\n"
        "def train():\n    loss.backward()\n    loss.backward()\ntrain()\n"
    )
    plan = json.dumps({"first_step": None, "steps": 2, "ranks": None})
    result = run_alone([str(script)], tmp_path / "run", env={"RIDGELINE_PROFILE": plan})
    assert result.returncode == 1
    said = (tmp_path / "run/logs/0.err").read_text()
    assert "in train" in said
    assert "backward through the graph a second time" in said
    assert "rank_agent" not in said
    events = events_of(tmp_path / "run", 0)
    [failed] = [event for event in events if isinstance(event, CaptureFailed)]
    assert failed.request == "profile"
