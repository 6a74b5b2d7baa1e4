"""What the agent writes of training loops of every kind, the scripts unchanged.

One torchrun job runs one kind of loop per rank, as a module of a project that has a
top-level ``core`` of its own; the tests compare what each rank printed with its file.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from core.telemetry.events import GradNorm, Loss, RankEnded, RankEvent, Step, TorchReady
from core.telemetry.tail import EventTail
from tests.helpers.interpreters import Interpreter, training_interpreters
from tests.helpers.torchrun import ROOT, printed_losses, run_job

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torchrun

PROJECT = ROOT / "tests" / "data" / "agent_project"
STEPS = 5
LOOPS = (
    "plain",
    "accumulate",
    "foreach_total_norm",
    "compiled",
    "adversarial",
    "scaled",
    "closures",
    "odd_engine",
    "spawned_workers",
)
PYTHONS = [pytest.param(python, id=python.name) for python in training_interpreters()]


@pytest.fixture(scope="module", params=PYTHONS)
def run_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    python: Interpreter = request.param
    run_dir = tmp_path_factory.mktemp("loops")
    target = ["-m", "jobs.loops", "--flag", "two words; $HOME"]
    result = run_job(target, run_dir, ranks=len(LOOPS), python=python.path, cwd=PROJECT)
    said = {rank: (run_dir / f"logs/{rank}.err").read_text()[-2000:] for rank in range(len(LOOPS))}
    assert result.returncode == 0, (result.stderr[-3000:], said)
    return run_dir


def events_of(run_dir: Path, name: str) -> list[RankEvent]:
    tail: EventTail[RankEvent] = EventTail(run_dir / "ranks" / f"{LOOPS.index(name)}.jsonl", RankEvent)
    events = tail.read()
    assert tail.problems == {}
    assert tail.first_sequence == 1
    return events


def printed_norms(run_dir: Path, name: str) -> list[float]:
    text = (run_dir / "logs" / f"{LOOPS.index(name)}.out").read_text()
    return [float(line.split("Norm:")[1]) for line in text.splitlines() if "Norm:" in line]


@pytest.mark.parametrize("name", LOOPS)
def test_every_loss_of_every_step_is_written(run_dir: Path, name: str) -> None:
    events = events_of(run_dir, name)
    losses = [event for event in events if isinstance(event, Loss)]
    assert [loss.step for loss in losses] == list(range(STEPS))
    printed = printed_losses(run_dir, LOOPS.index(name))
    assert [float(loss.value) for loss in losses] == pytest.approx(printed, rel=1e-5)
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.step for step in steps] == list(range(STEPS))
    assert steps[0].step_time_ns is None
    assert all(step.step_time_ns for step in steps[1:])
    [end] = [event for event in events if isinstance(event, RankEnded)]
    assert (end.exit_code, end.steps, end.lost_records) == (0, STEPS, 0)
    assert isinstance(events[-1], RankEnded)


@pytest.mark.parametrize("name", LOOPS)
def test_nothing_went_wrong_inside_the_agent(run_dir: Path, name: str) -> None:
    assert [event for event in events_of(run_dir, name) if event.__struct_config__.tag == "problem"] == []


def test_micro_steps_are_counted(run_dir: Path) -> None:
    counts = {
        name: {step.micro_steps for step in events_of(run_dir, name) if isinstance(step, Step)}
        for name in ("plain", "accumulate", "adversarial")
    }
    assert counts == {"plain": {1}, "accumulate": {4}, "adversarial": {2}}


def test_the_learning_rate_follows_the_schedule(run_dir: Path) -> None:
    rates = [event.learning_rate for event in events_of(run_dir, "plain") if isinstance(event, Step)]
    assert rates == [0.1 * 0.5**step for step in range(STEPS)]


@pytest.mark.parametrize("name", ["accumulate", "foreach_total_norm"])
def test_the_gradient_norm_is_the_one_the_script_computed(run_dir: Path, name: str) -> None:
    norms = [event for event in events_of(run_dir, name) if isinstance(event, GradNorm)]
    assert [float(norm.value) for norm in norms] == pytest.approx(printed_norms(run_dir, name), rel=1e-5)
    assert [norm.step for norm in norms] == list(range(STEPS))
    assert not any(norm.partial for norm in norms)


def test_a_left_out_step_is_a_step_with_an_infinite_loss(run_dir: Path) -> None:
    values = [event.value for event in events_of(run_dir, "scaled") if isinstance(event, Loss)]
    assert values[2] == "inf"
    assert [math.isfinite(float(value)) for value in values] == [True, True, False, True, True]


def test_torch_is_described_once_it_is_there(run_dir: Path) -> None:
    [ready] = [event for event in events_of(run_dir, "plain") if isinstance(event, TorchReady)]
    assert ready.torch.startswith("2.")
    assert ready.device == "cpu"
    assert set(ready.missing_hooks) <= {"torch.nn.utils.get_total_norm"}


def test_there_are_no_other_files(run_dir: Path) -> None:
    ranks = {f"{rank}.jsonl" for rank in range(len(LOOPS))}
    assert {path.name for path in (run_dir / "ranks").iterdir()} == ranks
    assert len(list((run_dir / "logs").iterdir())) == 2 * len(LOOPS)
