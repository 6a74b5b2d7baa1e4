"""The live view of a run, read from real files that grow under it."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from core.errors import DashboardError
from core.runs.host import this_host
from core.runs.identity import identity
from core.runs.job import JobSpec
from core.runs.manifest import Manifest, write_manifest
from core.runs.monitor import RunMonitor
from core.runs.snapshot import ALL_RANKS, RankStatus, RunSnapshot
from core.runs.store import RunFolder, RunStore
from core.telemetry import events as wire

if TYPE_CHECKING:
    from pathlib import Path

SECOND_NS = 1_000_000_000
GIB = 2**30


class Run:
    """A run folder that the test writes into, and a clock."""

    def __init__(self, root: Path, ranks: int = 4, **job: Any) -> None:
        spec = JobSpec(
            title="t", target="train.py", interpreter="python", working_folder=str(root), ranks=ranks, **job
        )
        self.folder = RunStore(root).create(spec)
        self.now_ns = self.folder.read().created_ns
        self.sequences: dict[Path, int] = {}
        self.update(status="running", started_ns=self.now_ns, supervisor=identity(os.getpid()))
        self.asked: list[wire.CaptureRequest] = []

    def update(self, **changes: Any) -> Manifest:
        manifest = replace(self.folder.read(), **changes)
        write_manifest(self.folder.path, manifest)
        return manifest

    def end(self, status: str, exit_codes: dict[int, int]) -> None:
        code = 0 if status == "done" else 1
        self.update(status=status, ended_ns=self.now_ns, launcher_exit_code=code, exit_codes=exit_codes)

    def monitor(self, **options: Any) -> RunMonitor:
        return RunMonitor(self.folder, now_ns=lambda: self.now_ns, **options)

    def later(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND_NS)

    def write(self, path: Path, kind: type[wire.Event], **fields: Any) -> None:
        sequence = self.sequences[path] = self.sequences.get(path, 0) + 1
        event = kind(seq=sequence, t_ns=self.now_ns, **fields)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(event) + b"\n")

    def record(self, number: int, kind: type[wire.Event], **fields: Any) -> None:
        self.write(self.folder.rank_file(number), kind, **fields)

    def start(self, rank: int, **fields: Any) -> None:
        given = {"restart": 0, "pid": os.getpid()} | fields
        self.record(
            rank,
            wire.RankStarted,
            wire=wire.WIRE_VERSION,
            rank=rank,
            local_rank=rank,
            world_size=4,
            host="here",
            python="3.11",
            argv=[],
            cwd="/",
            **given,
        )

    def step(self, rank: int, step: int, loss: float | str, **fields: Any) -> None:
        self.record(rank, wire.Loss, step=step, value=loss)
        self.record(rank, wire.Step, step=step, micro_steps=1, **fields)

    def beat(self, rank: int, step: int, phase: str = "forward", **fields: Any) -> None:
        self.record(rank, wire.Heartbeat, step=step, phase=phase, **fields)

    def log(self, rank: int, text: str, stream: Any = "out") -> None:
        with self.folder.log_file(rank, stream).open("a") as file:
            file.write(text)
        os.utime(self.folder.log_file(rank, stream), ns=(self.now_ns, self.now_ns))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def curve(snapshot: RunSnapshot, name: str, rank: int) -> list[tuple[float, float]]:
    series = snapshot.series[name][rank]
    return list(zip(series.x.tolist(), series.y.tolist(), strict=True))


def statuses(snapshot: RunSnapshot) -> list[RankStatus]:
    return [rank.status for rank in snapshot.ranks]


def train(run: Run, steps: range, ranks: int = 4) -> None:
    for step in steps:
        run.later(0.1)
        for rank in range(ranks):
            run.step(
                rank, step, 10.0 - step, step_time_ns=100_000_000 if step else None, backward_ns=60_000_000
            )
            run.beat(rank, step + 1, resident_bytes=GIB)


def test_figures_and_curves_of_a_run_that_trains(run: Run) -> None:
    monitor = run.monitor()
    assert statuses(monitor.poll()) == [RankStatus.NOT_STARTED] * 4
    for rank in range(4):
        run.start(rank)
        run.record(rank, wire.TorchReady, torch="2.13.0", missing_hooks=["torch.amp.GradScaler"][:rank])
    snapshot = monitor.poll()
    assert statuses(snapshot) == [RankStatus.STARTING] * 4
    assert [rank.missing_hooks for rank in snapshot.ranks] == [(), *[("torch.amp.GradScaler",)] * 3]
    assert snapshot.alive
    train(run, range(3))
    run.record(1, wire.GradNorm, step=2, value=1.5, partial=True)
    run.later(1)
    run.step(1, 3, 6.5, learning_rate=3e-4, step_time_ns=500_000_000, allocated_bytes=GIB)
    snapshot = monitor.poll()
    assert statuses(snapshot) == [RankStatus.RUNNING] * 4
    assert snapshot.headline == "4 ranks run at step 3"
    state = snapshot.ranks[1]
    assert (state.step, state.loss, state.loss_step, state.loss_source) == (3, 6.5, 3, "autograd")
    assert (state.grad_norm, state.grad_norm_partial, state.learning_rate) == (1.5, True, 3e-4)
    assert (state.resident_bytes, state.allocated_bytes, state.reserved_bytes) == (GIB, GIB, None)
    assert (state.first_sequence, state.last_sequence, state.lost_records) == (1, 14, 0)
    assert curve(snapshot, "loss", 1) == [(0, 10), (1, 9), (2, 8), (3, 6.5)]
    assert curve(snapshot, "step_time", 1) == [(1, 100), (2, 100), (3, 500)]
    assert snapshot.series["allocated"][1].x == pytest.approx([1.3])
    assert set(snapshot.series["resident"]) == {0, 1, 2, 3}
    assert "reserved" not in snapshot.series
    assert snapshot.problems == ()


def test_nothing_new_gives_the_same_snapshot(run: Run) -> None:
    monitor = run.monitor()
    run.start(0)
    first = monitor.poll()
    assert monitor.poll() is first
    run.later(0.6)
    assert monitor.poll() is first
    run.step(0, 0, 1.0)
    second = monitor.poll()
    assert second is not first
    assert second.version > first.version
    assert second.series["loss"] is not first.series.get("loss")


def test_losses_come_from_output_until_autograd_shows_them(run: Run) -> None:
    monitor = run.monitor()
    run.start(0)
    run.log(0, "Step 0 | Loss: 3.0000 | Peak VRAM/GPU: 12.34 GB\nStep 1 | Loss: 1.5000\n")
    rank = monitor.poll().ranks[0]
    assert (rank.step, rank.loss, rank.loss_step, rank.loss_source) == (1, 1.5, 1, "log")
    assert rank.peak_bytes == 12_340_000_000
    run.step(0, 0, 2.75)
    run.log(0, "Step 2 | Loss: 9.0\n")
    snapshot = monitor.poll()
    assert curve(snapshot, "loss", 0) == [(0, 2.75)]
    assert snapshot.ranks[0].loss_source == "autograd"


def test_a_rule_of_the_user_wins_over_autograd(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, loss_pattern=r"\bce (\S+),")
    monitor = run.monitor()
    run.step(0, 0, 8.0)
    assert monitor.poll().ranks[0].loss_source == "autograd"
    run.log(0, "ep 55 train, step 7, ce 0.324, ctc 1.0\nStep 8 | Loss: 5.0\n")
    run.step(0, 1, 7.0)
    snapshot = monitor.poll()
    assert curve(snapshot, "loss", 0) == [(7, 0.324)]
    assert snapshot.ranks[0].loss_source == "rule"


def test_a_rule_that_cannot_work_is_said_once(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, loss_pattern="ce (")
    run.log(0, "Step 3 | Loss: 2.0\n")
    snapshot = run.monitor().poll()
    assert [code for code, _, _ in snapshot.problems] == ["loss_rule"]
    assert snapshot.ranks[0].loss == 2.0


def test_steps_that_begin_again_with_each_epoch_go_on(run: Run) -> None:
    for epoch in range(2):
        run.log(0, "".join(f"epoch {epoch} step {step} loss={9 - step - epoch}\n" for step in range(3)))
    run.log(0, "loss=1.0\nloss=0.5\n")
    assert [x for x, _ in curve(run.monitor().poll(), "loss", 0)] == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_spike_among_many_losses_is_in_the_curve_and_an_alert(run: Run) -> None:
    """Case M16: 100,000 losses at once."""
    spike = 61_803
    lines = (
        f"Step {i} | Loss: {50.0 if i == spike else 2.0 + (i % 7) * 0.001:.4f}\n" for i in range(100_000)
    )
    run.log(0, "".join(lines))
    monitor = run.monitor()
    snapshot = monitor.read_all()
    series = snapshot.series["loss"][0]
    assert len(series.x) == 100_000
    assert series.y[spike] == 50.0
    assert [alert.step for alert in snapshot.alerts] == [spike]
    assert len(monitor.read_log(10_000)) < 1_000


def test_losses_that_are_not_finite_are_marked_and_told(run: Run) -> None:
    """Case M14."""
    run.start(0)
    losses: list[float | str] = [4.0, 3.5, "nan", "nan", 2.9, "nan", "inf", "-inf", 1e-05, "nan"]
    for step, value in enumerate(losses):
        run.step(0, step, value)
    snapshot = run.monitor().poll()
    values = snapshot.series["loss"][0].y
    assert [step for step, value in enumerate(values) if not math.isfinite(value)] == [2, 3, 5, 6, 7, 9]
    assert snapshot.headline.startswith("Starting 4 ranks") is False
    assert snapshot.headline == "Loss is NaN on rank 0 at step 2"
    assert snapshot.alerts[0].level == "error"


def test_a_silent_rank_is_found_with_its_stack(run: Run) -> None:
    """Case L09: no optimizer, heartbeats go on, rank 1 stops one step before the others."""
    for rank in range(4):
        run.start(rank)
    for step in range(6):
        run.later(0.5)
        for rank in range(4):
            if rank != 1 or step < 5:
                run.log(rank, f"Step {step} | Loss: {2 - 0.01 * step:.4f}\n")
    monitor = run.monitor()
    control = run.folder.control_path
    for _ in range(9):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 0, "start")
        assert "silent" not in monitor.poll().headline
    assert control.read_bytes() == b""
    for _ in range(3):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 0, "start")
        snapshot = monitor.poll()
    assert snapshot.headline == "Rank 1 is silent since step 4 (12 s); ranks 0, 2, 3 wait in step 5"
    assert statuses(snapshot)[:2] == [RankStatus.WAITING, RankStatus.SILENT]
    requests = [json.loads(line) for line in control.read_bytes().split()]
    assert [(request["what"], request["ranks"]) for request in requests] == [("stacks", [1])]
    stack = "Thread 'MainThread'\n  File \"/x/silent.py\", line 6, in <module>\n    time.sleep(3600)\n"
    (run.folder.stacks / "step0_rank1.txt").write_text(stack)
    run.record(
        1,
        wire.CaptureReady,
        request=requests[0]["request"],
        what="stacks",
        file="stacks/step0_rank1.txt",
        step=0,
        file_bytes=len(stack),
    )
    snapshot = monitor.poll()
    assert "silent.py:6: time.sleep(3600)" in snapshot.headline
    assert snapshot.ranks[1].traceback == stack.strip()
    assert [(capture.rank, capture.what, capture.state) for capture in snapshot.captures] == [
        (1, "stacks", "ready")
    ]
    run.log(1, "Step 5 | Loss: 1.9\n")
    assert "silent" not in monitor.poll().headline


WAITS = """\
Thread 'MainThread'
  File "/x/train.py", line 9, in <module>
    loss = model(batch)
  File "/v/lib/python3.11/site-packages/torch/distributed/fsdp/_fsdp_state.py", line 260, in forward
    handle.wait()
"""
LOADS = "Thread 'MainThread'\n  File \"/x/data.py\", line 4, in load\n    time.sleep(3600)\n"


@pytest.mark.parametrize("moves", [False, True], ids=["a hang", "an evaluation"])
def test_stacks_tell_ranks_at_one_place_apart(run: Run, moves: bool) -> None:
    """A hang in FSDP2's forward pass: every rank is in the same step and the same phase."""
    for rank in range(4):
        run.start(rank)
    train(run, range(5))
    monitor = run.monitor()
    answered: set[str] = set()
    for second in range(28):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 5)
        snapshot = monitor.poll()
        for line in run.folder.control_path.read_bytes().split():
            request = json.loads(line)
            if request["request"] in answered:
                continue
            answered.add(request["request"])
            for rank in request["ranks"]:
                text = (LOADS if rank == 2 else WAITS).replace("line 4", f"line {second if moves else 4}")
                name = f"stacks/{second}_{rank}.txt"
                (run.folder.path / name).write_text(
                    text.replace("line 4", f"line {second}") if moves else text
                )
                fields = {"what": "stacks", "file": name, "step": 5, "file_bytes": 9}
                run.record(rank, wire.CaptureReady, request=request["request"], **fields)
    assert 2 <= len(answered) <= 3, "asked again, but not for ever"
    if moves:
        assert snapshot.headline == "4 ranks run at step 4"
        assert snapshot.captures == ()
    else:
        assert [alert.message for alert in snapshot.alerts] == [
            "Rank 2 is silent since step 4 (28 s), at data.py:4 in load: time.sleep(3600); "
            "ranks 0, 1, 3 wait in step 5"
        ]
        assert {capture.rank for capture in snapshot.captures} == {0, 1, 2, 3}


def test_a_stacks_file_elsewhere_is_not_read(run: Run) -> None:
    outside = run.folder.path.parent / "x.txt"
    outside.write_text(LOADS)
    run.start(0)
    monitor = run.monitor()
    for name in ("../x.txt", "stacks/../../x.txt", str(outside), "stacks/absent.txt"):
        run.record(0, wire.CaptureReady, request="r", what="stacks", file=name, step=0, file_bytes=1)
    assert monitor.poll().ranks[0].traceback is None


def test_a_run_that_may_not_be_asked_is_left_alone(run: Run) -> None:
    for rank in range(4):
        run.start(rank)
        run.log(rank, f"step {5 - (rank == 1)} loss=1.0\n")
    monitor = run.monitor(may_ask=False)
    for _ in range(40):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 0, "start")
        snapshot = monitor.poll()
    assert "Rank 1 is silent" in snapshot.headline
    assert run.folder.control_path.read_bytes() == b""


def test_the_first_failure_is_the_headline(run: Run) -> None:
    """Case L08: rank 2 raises, the others lose their connections or are ended."""
    for rank in range(4):
        run.start(rank)
        run.log(rank, "Step 4 | Loss: 1.6000\n")
    text = "batch 17: label 32001 is out of range 0..31999"
    fields = {"traceback": f"ValueError: {text}", "step": 0}
    run.record(2, wire.RankException, type="ValueError", message=text, **fields)
    run.later(0.1)
    closed = "Connection closed by peer [127.0.0.1]:4242"
    run.record(0, wire.RankException, type="RuntimeError", message=closed, traceback="", step=0)
    monitor = run.monitor()
    expected = f"Rank 2 raised ValueError at step 4: {text}"
    assert monitor.poll().headline == expected
    run.update(
        status="failed", ended_ns=run.now_ns, launcher_exit_code=1, exit_codes={0: 1, 1: -15, 2: 1, 3: -15}
    )
    snapshot = monitor.poll()
    assert snapshot.headline == expected
    assert statuses(snapshot) == [
        RankStatus.STOPPED,
        RankStatus.STOPPED,
        RankStatus.FAILED,
        RankStatus.STOPPED,
    ]
    assert snapshot.ranks[2].exception == f"ValueError: {text}"
    assert not snapshot.alive


def test_a_killed_rank_is_the_headline(run: Run) -> None:
    """Case L07, before and after the exit codes are known."""
    for rank in range(4):
        run.start(rank, pid=2**22 + 1 if rank == 1 else os.getpid())
        run.log(rank, "Step 3 | Loss: 1.6000\n")
    monitor = run.monitor()
    run.later(4)
    for rank in (0, 2, 3):
        run.beat(rank, 0, "start")
    assert statuses(monitor.poll())[1] is RankStatus.GONE
    run.end("failed", {0: -15, 1: -9, 3: -15})
    assert monitor.poll().headline == "Rank 1 killed by signal 9 (often out of memory) after step 3"


def test_a_pid_that_another_process_has_now_is_no_rank(run: Run) -> None:
    """This process stands for the other one. Records of older agents name the pid alone."""
    created_s = identity(os.getpid()).create_time_s  # type: ignore[union-attr]  # this process lives
    for rank, created in enumerate((created_s, created_s - 100, None, created_s)):
        run.start(rank, create_time_s=created)
    run.record(3, wire.RankEnded, exit_code=0, steps=0)
    run.later(4)
    states = statuses(run.monitor().poll())
    assert states[1] is RankStatus.GONE
    assert states.count(RankStatus.GONE) == 1


def test_out_of_memory_in_the_output_is_an_alert(run: Run) -> None:
    """Case L16."""
    run.log(0, "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.06 GiB.\n")
    run.log(0, "[trainer1]:Step 12 | Loss: 0.0000\n2: step=13 loss=1.75\n")
    snapshot = run.monitor().poll()
    alert = snapshot.alerts[0]
    assert (alert.level, alert.rank, alert.step) == ("error", 2, 13)
    assert alert.message.startswith("Rank 2 ran out of memory at step 13: torch.OutOfMemoryError")
    assert [(rank.rank, rank.loss) for rank in snapshot.ranks if rank.loss is not None] == [
        (1, 0.0),
        (2, 1.75),
    ]


def test_warnings_are_listed_apart(run: Run) -> None:
    """Cases L20, L22 and L25: a warning, many times; the banner of stars is none."""
    run.log(1, "/x/y.py:12: UserWarning: grad 1 differs\n/x/y.py:12: UserWarning: grad 2 differs\n", "err")
    run.log(3, "/x/y.py:12: UserWarning: grad 1 differs\n", "err")
    banner = "W1129 12:00:00.1 9 run.py:803] Setting OMP_NUM_THREADS environment variable\n"
    run.folder.launcher_log.write_text(banner)
    run.update(
        status="done", ended_ns=run.now_ns, launcher_exit_code=0, exit_codes=dict.fromkeys(range(4), 0)
    )
    snapshot = run.monitor().poll()
    assert [(alert.level, alert.message) for alert in snapshot.alerts] == [
        ("warn", "Ranks 1, 3 warn: grad 1 differs (3 times)")
    ]
    assert snapshot.headline == "Done"
    assert statuses(snapshot) == [RankStatus.DONE] * 4


def test_a_warning_of_before_is_as_old_as_its_file_and_not_new(run: Run) -> None:
    run.log(1, "/x/y.py:12: UserWarning: the grad differs\n", "err")
    written_ns = run.now_ns
    os.utime(run.folder.log_file(1, "err"), ns=(written_ns, written_ns))
    run.later(3600)
    run.end("done", dict.fromkeys(range(4), 0))
    [alert] = run.monitor().poll().alerts
    assert alert.t_ns == written_ns


def test_an_exit_code_after_success_is_a_failure(run: Run) -> None:
    """Case L25."""
    for rank in range(4):
        run.start(rank)
        run.log(rank, "Step 29 | Loss: 0.1\nfinished successfully\n")
        run.record(rank, wire.RankEnded, exit_code=3, steps=0)
    run.update(
        status="failed", ended_ns=run.now_ns, launcher_exit_code=1, exit_codes=dict.fromkeys(range(4), 3)
    )
    snapshot = run.monitor().poll()
    assert snapshot.headline == "All 4 ranks ended with exit code 3 after step 29"


def test_a_last_line_without_newline_counts_when_the_run_has_ended(run: Run) -> None:
    """Case L13."""
    monitor = run.monitor()
    run.log(0, "Step 1 | Loss: 1.25\nStep 2 | Loss: 1.125")
    assert monitor.poll().ranks[0].loss == 1.25
    run.update(status="done", ended_ns=run.now_ns, exit_codes={0: 0})
    ended = monitor.poll()
    assert ended.ranks[0].loss == 1.125
    assert ended.headline == "Done after step 2, loss from 1.2500 to 1.1250"
    assert [line.text for line in monitor.read_log()][-1] == "Step 2 | Loss: 1.125"


def test_a_restarted_rank_begins_its_curves_again(run: Run) -> None:
    monitor = run.monitor()
    run.start(0)
    for step in range(5):
        run.step(0, step, 5.0 - step)
    run.record(0, wire.RankException, type="ValueError", message="x", traceback="", step=5)
    before = monitor.poll()
    run.start(0, restart=1)
    run.step(0, 0, 9.0)
    snapshot = monitor.poll()
    assert curve(snapshot, "loss", 0) == [(0, 9.0)]
    assert len(curve(before, "loss", 0)) == 5
    rank = snapshot.ranks[0]
    assert (rank.restarts, rank.exception, rank.status) == (1, None, RankStatus.RUNNING)


def step_times(run: Run, rank: int, times_ms: dict[int, int]) -> None:
    for step, ms in times_ms.items():
        run.record(rank, wire.Step, step=step, micro_steps=1, step_time_ns=ms * 1_000_000)


def test_skew_is_of_the_steps_that_all_ranks_have(tmp_path: Path) -> None:
    run = Run(tmp_path, ranks=2)
    monitor = run.monitor()
    step_times(run, 0, {1: 10, 2: 10, 3: 10})
    assert "skew" not in monitor.poll().series
    step_times(run, 1, {1: 11, 2: 12})
    first = monitor.poll()
    assert curve(first, "skew", ALL_RANKS) == [(1, 1), (2, 2)]
    # Each has lost another step, and both end alike.
    step_times(run, 1, {3: 15, 5: 20, 6: 30})
    step_times(run, 0, {4: 90, 6: 10})
    second = monitor.poll()
    assert curve(second, "skew", ALL_RANKS) == [(1, 1), (2, 2), (3, 5), (6, 20)]
    assert second.series["skew"][ALL_RANKS].generation == first.series["skew"][ALL_RANKS].generation
    # Ranks that begin again take their earlier steps' skew with them.
    for rank in range(2):
        run.start(rank, restart=1)
        step_times(run, rank, {2: 10 + 3 * rank})
    third = monitor.poll()
    assert curve(third, "skew", ALL_RANKS) == [(1, 1), (2, 3)]
    assert third.series["skew"][ALL_RANKS].generation != second.series["skew"][ALL_RANKS].generation


def test_skew_is_the_same_for_who_reads_a_long_run_late(tmp_path: Path) -> None:
    run = Run(tmp_path, ranks=2)
    step_times(run, 0, {step: 10 for step in range(1, 4_000)})
    # The other file holds more a step: it is read later and later.
    for step in range(1, 4_000):
        run.step(1, step, 1.0, step_time_ns=12_000_000)
    skew = run.monitor().read_all().series["skew"][ALL_RANKS]
    assert skew.x.tolist() == list(range(1, 4_000))
    assert set(skew.y.tolist()) == {2.0}


def test_what_cannot_be_read_is_counted(run: Run) -> None:
    monitor = run.monitor()
    run.start(0)
    path = run.folder.rank_file(0)
    with path.open("ab") as file:
        file.write(b'{"kind":"loss","seq":2,"t_ns"\n{"kind":"from_the_future","seq":3,"t_ns":1}\n')
    run.sequences[path] = 5
    run.step(0, 0, 4.0)
    with path.open("ab") as file:
        file.write(b'{"kind":"step","seq":')
    snapshot = monitor.poll()
    assert {code: count for code, count, _ in snapshot.problems} == {
        "broken_line": 1,
        "unknown_event": 1,
        "lost_records": 3,
    }
    assert snapshot.ranks[0].loss == 4.0
    assert snapshot.ranks[0].lost_records == 3


def test_a_monitor_that_starts_late_sees_everything(run: Run) -> None:
    early = run.monitor()
    for rank in range(4):
        run.start(rank)
    for start in range(0, 200, 20):
        train(run, range(start, start + 20))
        early.poll()
    late = run.monitor().read_all()
    for rank in range(4):
        seen = early.poll().ranks[rank]
        assert (late.ranks[rank].first_sequence, late.ranks[rank].last_sequence) == (1, seen.last_sequence)
        assert curve(late, "loss", rank) == curve(early.poll(), "loss", rank)


def test_a_supervisor_that_is_gone_makes_the_run_lost(run: Run) -> None:
    run.start(0)
    us = identity(os.getpid())
    assert us is not None
    run.update(supervisor=replace(us, create_time_s=us.create_time_s + 100))
    snapshot = run.monitor().poll()
    assert not snapshot.alive
    assert snapshot.headline == "The supervisor of this run is gone"


def test_an_end_that_only_the_supervisor_s_records_hold_is_the_run_s_end(run: Run) -> None:
    """The disk was full for longer than the supervisor tried to replace the manifest."""
    for rank in range(4):
        run.start(rank)
    run.record(2, wire.RankException, type="ValueError", message="no data", traceback="", step=0)
    monitor = run.monitor()
    assert monitor.poll().alive
    run.write(run.folder.supervisor_path, wire.LauncherExited, exit_code=1)
    run.write(run.folder.supervisor_path, wire.SupervisorEnded, status="failed")
    us = run.folder.read().supervisor
    assert us is not None
    run.update(supervisor=replace(us, create_time_s=us.create_time_s + 100))
    snapshot = monitor.poll()
    assert not snapshot.alive
    assert (snapshot.manifest.status, snapshot.manifest.launcher_exit_code) == ("failed", 1)
    assert snapshot.headline == "Rank 2 raised ValueError: no data"
    assert statuses(snapshot)[2] is RankStatus.FAILED
    assert run.folder.read().status == "running"
    assert run.monitor().read_all().headline == snapshot.headline


def test_a_slow_rank_is_marked(run: Run) -> None:
    monitor = run.monitor()
    for rank in range(4):
        run.start(rank)
        run.record(rank, wire.TorchReady, torch="2.13.0")
    for step in range(30):
        run.later(0.1)
        for rank in range(4):
            waits = 20_000_000 if rank == 2 else 60_000_000
            run.step(rank, step, 1.0, step_time_ns=100_000_000, backward_ns=waits)
        snapshot = monitor.poll()
    assert statuses(snapshot)[2] is RankStatus.SLOW
    assert [alert.message for alert in snapshot.alerts] == [
        "Rank 2 is slow: 100.0 ms of its own a step, the others 60.00 ms"
    ]
    assert [rank.own_ns for rank in snapshot.ranks] == [60_000_000, 60_000_000, 100_000_000, 60_000_000]
    assert curve(snapshot, "own_time", 2)[-1] == (29, 100.0)


def gpu(index: int, **fields: Any) -> wire.GpuReading:
    return wire.GpuReading(index=index, uuid=f"GPU-{index:08d}", name="NVIDIA H100", **fields)


def sample(run: Run, *gpus: wire.GpuReading) -> None:
    run.write(run.folder.gpus_path, wire.GpuSample, gpus=list(gpus))


def test_ranks_get_the_figures_of_their_own_gpus(tmp_path: Path) -> None:
    """Cases M01, M08 and M20: the driver's figures, CUDA_VISIBLE_DEVICES=2,0, a GPU that goes."""
    run = Run(tmp_path, 2, device="cuda")
    run.update(environment={"CUDA_VISIBLE_DEVICES": "2,0"})
    for rank in range(2):
        run.start(rank, pid=1000 + rank)
        run.record(rank, wire.TorchReady, torch="2.13.0", device="cuda")
        run.step(rank, 0, 1.0, allocated_bytes=4 * GIB, reserved_bytes=6 * GIB)
    used = {0: 10, 1: 8, 2: 12, 3: 0}
    processes = {0: [wire.GpuProcess(pid=1001, used_bytes=6 * GIB), wire.GpuProcess(pid=5, used_bytes=GIB)]}
    run.later(1)
    sample(run, *(gpu(i, used_bytes=used[i] * GIB, processes=processes.get(i, [])) for i in range(4)))
    monitor = run.monitor()
    snapshot = monitor.poll()
    assert [rank.gpu_index for rank in snapshot.ranks] == [2, 0]
    assert [curve(snapshot, "gpu_used", rank) for rank in range(2)] == [[(1, 12)], [(1, 10)]]
    state = snapshot.ranks[1]
    assert (state.allocated_bytes, state.reserved_bytes, state.driver_bytes) == (4 * GIB, 6 * GIB, 6 * GIB)
    assert snapshot.ranks[0].driver_bytes is None
    assert snapshot.gpus[0].used_bytes == 10 * GIB
    run.later(1)
    sample(run, gpu(0, used_bytes=10 * GIB), gpu(1), gpu(2, lost=True), gpu(3))
    run.later(1)
    sample(run, gpu(0, used_bytes=10 * GIB), gpu(1), gpu(2, lost=True), gpu(3))
    snapshot = monitor.poll()
    x, y = (getattr(snapshot.series["gpu_used"][0], axis).tolist() for axis in "xy")
    assert x == [1, 2]
    assert math.isnan(y[1])
    assert [alert.message for alert in snapshot.alerts] == ["GPU 2 has stopped answering"]
    assert len(snapshot.series["gpu_used"][1].x) == 3


@pytest.mark.parametrize(
    ("uuid", "pids", "expected"),
    [
        pytest.param("GPU-00000003", {}, 3, id="the agent names it"),
        pytest.param(None, {1: 1000}, 1, id="the driver sees its process"),
        pytest.param(None, {}, None, id="hidden from it"),
    ],
)
def test_where_a_rank_computes(
    tmp_path: Path, uuid: str | None, pids: dict[int, int], expected: int | None
) -> None:
    run = Run(tmp_path, 1, device="cuda", environment={"CUDA_VISIBLE_DEVICES": ""})
    run.start(0, pid=1000)
    run.record(0, wire.TorchReady, torch="2.13.0", device="cuda", device_uuid=uuid)
    found = {index: [wire.GpuProcess(pid=pid, used_bytes=GIB)] for index, pid in pids.items()}
    sample(run, *(gpu(index, processes=found.get(index, [])) for index in range(4)))
    assert run.monitor().poll().ranks[0].gpu_index == expected


def test_a_rank_on_a_slice_names_the_slice(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, device="cuda", environment={"CUDA_VISIBLE_DEVICES": "MIG-1"})
    run.start(0, pid=1000)
    run.record(0, wire.TorchReady, torch="2.13.0", device="cuda", device_uuid="GPU-1")
    slices = [
        wire.GpuReading(
            uuid=f"MIG-{place}", slice_index=place, index=0, name="H100 1g.10gb", mig_enabled=True
        )
        for place in range(2)
    ]
    sample(run, gpu(0, mig_enabled=True), *slices)
    rank = run.monitor().poll().ranks[0]
    assert (rank.gpu_index, rank.gpu_uuid) == (0, "MIG-1")


def test_why_there_are_no_gpu_figures(run: Run) -> None:
    """Cases M04 and M05."""
    run.write(run.folder.gpus_path, wire.GpusUnavailable, reason="No driver.", hint="Install it.")
    snapshot = run.monitor().poll()
    assert snapshot.gpus == ()
    assert snapshot.gpus_unavailable == "No driver. Install it."


def test_lines_of_all_ranks_are_numbered_in_one_count(run: Run) -> None:
    monitor = run.monitor()
    run.log(0, "a\nb\n")
    run.log(3, "c\n", "err")
    monitor.poll()
    lines = monitor.read_log()
    assert [line.number for line in lines] == [1, 2, 3]
    assert [(line.rank, line.stream, line.t_ns) for line in lines] == [
        (0, "out", None),
        (0, "out", None),
        (3, "err", None),
    ]
    assert monitor.read_log() == []
    run.log(3, "\r10%")
    monitor.poll()
    run.log(3, "\r20%")
    monitor.poll()
    bar = monitor.read_log()
    assert [line.text for line in bar] == ["20%"]
    assert bar[0].t_ns == run.now_ns


def test_lines_beyond_the_limit_come_with_the_next_call(run: Run) -> None:
    monitor = run.monitor()
    run.log(0, "".join(f"line {number}\n" for number in range(7)) + "  0%")
    monitor.poll()
    taken = [monitor.read_log(3), monitor.read_log(3)]
    run.log(0, "\r100%\nlast\n")
    monitor.poll()
    taken += [monitor.read_log(3), monitor.read_log(3)]
    assert [len(lines) for lines in taken] == [3, 3, 3, 0]
    lines = [line for some in taken for line in some]
    assert [line.text for line in lines] == [f"line {number}" for number in range(7)] + ["100%", "last"]
    assert [line.number for line in lines] == sorted(line.number for line in lines)


def test_a_flood_on_one_rank_does_not_block_the_others(run: Run) -> None:
    """Case L12."""
    monitor = run.monitor()
    run.log(0, "start\n")
    monitor.poll()
    run.log(0, "[debug] autotune candidate took 0.1 ms xxxxxxxxxxxxxxxxxxxxx\n" * 200_000)
    run.log(1, "Step 0 | Loss: 9.0\n")
    snapshot = monitor.poll()
    assert monitor.behind
    assert snapshot.ranks[1].loss == 9.0
    monitor.read_all()
    lines = monitor.read_log(100_000)
    assert len(lines) < 30_000
    assert sum("lines not shown" in line.text for line in lines) > 0
    assert lines[-1].number >= 200_000


def test_another_machine_with_another_clock_is_no_hang(run: Run) -> None:
    run.update(host=replace(run.folder.read().host, name="elsewhere"))
    ahead_ns = 3600 * SECOND_NS
    for rank in range(4):
        run.start(rank)
    monitor = run.monitor()
    for _ in range(20):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 3, resident_bytes=GIB)
        run.now_ns += ahead_ns
        snapshot = monitor.poll()
        run.now_ns -= ahead_ns
    assert statuses(snapshot) == [RankStatus.RUNNING] * 4
    assert snapshot.alerts == ()


def test_no_manifest_is_said_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="no run"):
        RunMonitor(RunFolder(tmp_path))


def test_a_manifest_that_breaks_later_keeps_what_was_read(run: Run) -> None:
    monitor = run.monitor()
    monitor.poll()
    run.folder.manifest_path.write_text("{")
    snapshot = monitor.poll()
    assert snapshot.manifest.job.ranks == 4
    assert "damaged" in snapshot.problems[0][2]


def test_captures_are_followed(run: Run) -> None:
    monitor = run.monitor()
    run.write(run.folder.control_path, wire.CaptureRequest, request="r1", what="snapshot")
    run.record(0, wire.CaptureStarted, request="r1", step=3)
    assert [(c.what, c.state, c.step) for c in monitor.poll().captures] == [("snapshot", "running", 3)]
    run.record(0, wire.CaptureReady, request="r1", what="snapshot", file="snapshots/x", step=3, file_bytes=9)
    run.record(1, wire.CaptureFailed, request="r1", what="snapshot", message="no CUDA")
    states = [(c.rank, c.state, c.file, c.message) for c in monitor.poll().captures]
    assert states == [(0, "ready", "snapshots/x", ""), (1, "failed", None, "no CUDA")]
    first, second = (capture.t_ns for capture in monitor.poll().captures)
    assert first is not None
    assert second is not None
    assert run.folder.read().created_ns <= first <= second


def test_this_machine_is_recognised(run: Run) -> None:
    assert run.folder.read().host.name == this_host().name


def test_a_run_that_is_long_is_no_hang_while_it_is_still_being_read(run: Run) -> None:
    """Its records of an hour ago are not the newest ones."""
    for rank in range(4):
        run.start(rank)
    # More than one poll takes in, however quick the machine is.
    line = b'{"kind":"heartbeat","seq":0,"t_ns":%d,"step":0,"phase":"forward"}\n' % run.now_ns
    for rank in range(4):
        with run.folder.rank_file(rank).open("ab") as file:
            file.write(line * 300_000)
    run.later(3600)
    for rank in range(4):
        run.record(rank, wire.Step, step=0, micro_steps=1)
        run.beat(rank, 1)
    monitor = run.monitor()
    snapshot = monitor.poll()
    assert monitor.behind
    assert snapshot.alerts == ()
    assert run.folder.control_path.read_bytes() == b""
    snapshot = monitor.read_all()
    assert statuses(snapshot) == [RankStatus.RUNNING] * 4
    assert snapshot.alerts == ()


def test_two_streams_that_name_steps_are_no_new_epochs(run: Run) -> None:
    """A bar on stderr beside prints on stdout: what comes late is left out."""
    monitor = run.monitor()
    for begin in range(0, 40, 10):
        run.log(0, f"step {begin + 9} loss=1.5\n")
        run.log(0, "".join(f"step {step} loss=1.25\n" for step in range(begin, begin + 10)), "err")
        monitor.poll()
    assert max(x for x, _ in curve(monitor.read_all(), "loss", 0)) == 39


def test_losses_of_ranks_that_only_labels_name_are_curves(tmp_path: Path) -> None:
    """Case L16, printed by a single rank."""
    run = Run(tmp_path, 1)
    run.start(0)
    run.log(
        0,
        "[default3]:epoch 5, step 1347, ce 0.355\n"
        "[trainer1]:Step 12 | Loss: 0.0000 | Grad norm: 1.2\n"
        "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.06 GiB.\n"
        "2: step=13 loss=1.75\n",
    )
    monitor = run.monitor()
    snapshot = monitor.poll()
    assert curve(snapshot, "loss", 1) == [(12, 0.0)]
    assert curve(snapshot, "loss", 2) == [(13, 1.75)]
    assert [line.rank for line in monitor.read_log()] == [3, 1, 2, 2]
    assert [alert.rank for alert in snapshot.alerts if alert.key.startswith("oom")] == [2]
    assert len(snapshot.ranks) == 1
    run.end("done", {0: 0})
    assert monitor.read_all().headline == "Done, loss 0"


def test_the_first_rank_after_an_evaluation_of_all_makes_no_alarm(run: Run) -> None:
    """It waits in its backward pass for a moment; minutes later it is another matter."""
    for rank in range(4):
        run.start(rank)
    train(run, range(12))
    monitor = run.monitor(may_ask=False)
    for _ in range(60):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 12)
    monitor.poll()
    for second in range(14):
        run.later(1)
        for rank in range(4):
            run.beat(rank, 12, "backward" if rank == 0 else "forward")
        keys = [alert.key for alert in monitor.poll().alerts if alert.level == "error"]
        assert keys == ([] if second < 10 else ["silent-1"]), second


def test_what_the_launcher_repeats_of_a_rank_out_of_memory_is_said_once(run: Run) -> None:
    message = "CUDA out of memory. Tried to allocate 8.06 GiB."
    for rank in range(4):
        run.start(rank)
    run.log(0, "Step 7 | Loss: 1.0\n")
    monitor = run.monitor()
    run.folder.launcher_log.write_text(f"  torch.OutOfMemoryError: {message}\n")
    [alert] = monitor.poll().alerts
    assert (alert.rank, alert.step) == (None, None)
    error = {"type": "torch.OutOfMemoryError", "message": message, "out_of_memory": True, "traceback": ""}
    run.record(2, wire.RankException, step=4, **error)
    run.later(1)
    [alert] = monitor.poll().alerts
    assert (alert.rank, alert.step) == (2, 4)
