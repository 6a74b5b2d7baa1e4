"""Who stands still, what failed first, which rank is slow: small facts in, findings out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.runs.diagnosis import headline, rank_status
from core.runs.failures import first_failure, is_secondary
from core.runs.hangs import find_hang, format_age, hang_alert, silent_after_ns, stacks_would_tell
from core.runs.job import JobSpec
from core.runs.loss_watch import LossWatch
from core.runs.manifest import Host, Manifest
from core.runs.rank_facts import SECOND_NS, RaisedError, RankFacts
from core.runs.rank_words import name_ranks
from core.runs.snapshot import Alert, RankStatus
from core.runs.stack_text import Place, main_place
from core.runs.stragglers import StepTable, find_straggler, own_time_rule, own_times

if TYPE_CHECKING:
    from core.runs.hangs import Hang
    from core.runs.manifest import Status

NOW_NS = 1_800_000_000 * SECOND_NS
STEP_NS = 0.5e9


def manifest(ranks: int = 4, **changes: Any) -> Manifest:
    job = JobSpec(
        title="t", target="train.py", interpreter="/venv/bin/python", working_folder="/data", ranks=ranks
    )
    host = Host(name="here", platform="Linux", cpu_count=2, memory_bytes=2**33)
    made = Manifest(schema=1, id="x", job=job, host=host, created_ns=0, status="running")
    return replace(made, **changes)


def fact(rank: int, age_s: float = 0.1, **changes: Any) -> RankFacts:
    """A rank that trains; ``age_s`` since its newest step, its agent alive."""
    made = RankFacts(
        rank=rank,
        started=True,
        working=True,
        step=6,
        phase="forward",
        progress_ns=NOW_NS - int(age_s * SECOND_NS),
        heartbeat_ns=NOW_NS - SECOND_NS // 5,
    )
    return replace(made, **changes)


def four(age_s: float, **changes: Any) -> list[RankFacts]:
    return [fact(rank, age_s, **changes) for rank in range(4)]


def said(hang: Hang | None, places: dict[int, Place] | None = None) -> tuple[str, str] | None:
    if hang is None:
        return None
    alert = hang_alert(hang, places or {}, NOW_NS)
    return alert.level, alert.message


# --- standing still ----------------------------------------------------------


def test_a_rank_behind_in_phase_is_silent() -> None:
    ranks = four(34, phase="backward")
    ranks[1] = fact(1, 34, phase="forward")
    hang = find_hang(ranks, NOW_NS, STEP_NS)
    assert said(hang) == ("error", "Rank 1 is silent since step 5 (34 s); ranks 0, 2, 3 wait in step 6")
    assert hang is not None
    states = [rank_status(rank, hang, None, "running") for rank in ranks]
    assert states == [RankStatus.WAITING, RankStatus.SILENT, RankStatus.WAITING, RankStatus.WAITING]


def test_a_rank_whose_output_is_one_step_behind_is_silent() -> None:
    """Case L09: no optimizer, only 'Step i' in the output; the waiting ranks are one ahead."""
    ranks = four(20, step=0, phase="start", log_step=5)
    ranks[1] = fact(1, 20.5, step=0, phase="start", log_step=4)
    place = Place("/x/silent.py", 6, "<module>", "time.sleep(3600)", is_waiting=False)
    assert said(find_hang(ranks, NOW_NS, STEP_NS), {1: place}) == (
        "error",
        "Rank 1 is silent since step 4 (20 s), at silent.py:6: time.sleep(3600); "
        "ranks 0, 2, 3 wait in step 5",
    )


def test_a_rank_that_others_have_left_behind_is_silent_although_they_go_on() -> None:
    ranks = [fact(0, 0.1, step=90), fact(1, 40, step=6), fact(2, 0.1, step=91)]
    assert said(find_hang(ranks, NOW_NS, STEP_NS)) == ("error", "Rank 1 is silent since step 5 (40 s)")


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param(four(0.1), id="training"),
        pytest.param([fact(0, 3), *four(3, phase="backward")[1:]], id="a slow step"),
        pytest.param(four(25), id="all equally old: an evaluation, not yet worth a word"),
        pytest.param(four(25, phase="start", step=0), id="first step compiles"),
        pytest.param(four(400, phase="start", step=0), id="first step compiles for long"),
        pytest.param([fact(0, 5), *(fact(r, 0.1, step=11) for r in range(1, 4))], id="skew without standing"),
        pytest.param([fact(0, 0.1, step=50), *four(0.1)[1:]], id="one rank far ahead"),
        pytest.param(
            [fact(0, 0.1), *(fact(r, 40, phase="backward") for r in range(1, 4))],
            id="rank 0 writes a checkpoint and says so, the others wait",
        ),
        pytest.param([fact(0, 60, step=0, phase="start"), *four(0.1)[1:]], id="a rank that never trains"),
        pytest.param([RankFacts(rank=0), RankFacts(rank=1)], id="not started"),
        pytest.param([], id="no ranks"),
        pytest.param([fact(0, -50), fact(1, -50)], id="clocks that differ"),
    ],
)
def test_no_alarm(ranks: list[RankFacts]) -> None:
    assert find_hang(ranks, NOW_NS, STEP_NS) is None


def test_all_ranks_equally_old_are_no_alarm_but_a_word() -> None:
    hang = find_hang(four(40), NOW_NS, STEP_NS)
    assert said(hang) == ("info", "No rank has finished a step for 40 s, the last was 5")
    assert rank_status(four(40)[0], hang, None, "running") is RankStatus.RUNNING
    later = said(find_hang(four(400), NOW_NS, STEP_NS))
    assert later == ("warn", "No rank has finished a step for 6 min 40 s, the last was 5")
    assert find_hang(four(40), NOW_NS, 20e9) is None, "steps of 20 s may take 40"


def test_stacks_tell_apart_ranks_at_the_same_place() -> None:
    """Ranks blocked in the forward pass of FSDP2 look like the one that loads data."""
    waits = Place("train.py", 9, "main", "loss = model(x)", is_waiting=True)
    loads = Place("data.py", 4, "load", "time.sleep(99)", is_waiting=False)
    ranks = [fact(rank, 15, place=loads if rank == 2 else waits, stands=True) for rank in range(4)]
    assert stacks_would_tell(ranks, NOW_NS, STEP_NS)
    assert said(find_hang(ranks, NOW_NS, STEP_NS), {2: loads, 0: waits}) == (
        "warn",
        "Rank 2 is silent since step 5 (15 s), at data.py:4 in load: time.sleep(99); "
        "ranks 0, 1, 3 wait in step 6",
    )
    alive = [replace(rank, heartbeat_ns=NOW_NS + 20 * SECOND_NS) for rank in ranks]
    later = find_hang(alive, NOW_NS + 20 * SECOND_NS, STEP_NS)
    assert later is not None
    assert hang_alert(later, {2: loads}, NOW_NS).level == "error"
    saves = Place("train.py", 80, "main", "torch.save(state, path)", is_waiting=False)
    evaluates = Place("train.py", 9, "main", "scores = evaluate(model, valid)", is_waiting=False)
    for place in (saves, evaluates):
        assert hang_alert(later, {2: place}, NOW_NS).level == "warn"
        endless = replace(later, age_ns=400 * SECOND_NS)
        assert hang_alert(endless, {2: place}, NOW_NS).level == "error", "it need not end"
    moving = [replace(rank, stands=False) for rank in ranks]
    assert find_hang(moving, NOW_NS, STEP_NS) is None, "an evaluation that only looks so at one moment"
    assert not stacks_would_tell(four(1), NOW_NS, STEP_NS)


def test_a_stopped_process_gives_no_sign_of_life() -> None:
    ranks = four(12)
    ranks[3] = fact(3, 12, heartbeat_ns=NOW_NS - 12 * SECOND_NS)
    hang = find_hang(ranks, NOW_NS, STEP_NS)
    assert said(hang) == ("warn", "Rank 3 gives no sign of life since step 5 (12 s)")
    assert rank_status(ranks[3], hang, None, "running") is RankStatus.SILENT
    assert rank_status(ranks[0], hang, None, "running") is RankStatus.RUNNING


def test_ranks_left_alone_by_one_that_ended() -> None:
    ended = fact(1, 40, phase="idle", ended_ns=NOW_NS - 39 * SECOND_NS)
    stuck = [ended if rank.rank == 1 else rank for rank in four(38, phase="backward")]
    hang = find_hang(stuck, NOW_NS, STEP_NS)
    assert said(hang) == ("error", "Ranks 0, 2, 3 have not moved for 38 s, after rank 1 ended")
    assert rank_status(stuck[0], hang, None, "running") is RankStatus.WAITING
    saving = [fact(0, 38), *(replace(ended, rank=rank) for rank in range(1, 4))]
    hang = find_hang(saving, NOW_NS, STEP_NS)
    assert said(hang) == ("info", "Rank 0 has not moved for 38 s, after ranks 1-3 ended")


def test_the_limit_follows_the_step_time() -> None:
    assert [silent_after_ns(median) // SECOND_NS for median in (None, 0.1e9, 2e9, 60e9)] == [25, 10, 20, 25]
    assert format_age(34_900_000_000) == "34 s"
    assert format_age(134_000_000_000) == "2 min 14 s"


# --- the first failure -------------------------------------------------------


def error(message: str, at_s: float, kind: str = "ValueError", **changes: Any) -> RaisedError:
    t_ns = NOW_NS + int(at_s * SECOND_NS)
    return replace(RaisedError(type=kind, message=message, step=4, t_ns=t_ns), **changes)


CLOSED = "[/pytorch/gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:51234"


def test_the_first_exception_wins_over_what_follows_from_it() -> None:
    """Case L08."""
    ranks = four(1)
    ranks[2] = fact(2, error=error("batch 17: label 32001 is out of range 0..31999", 0), exit_code=1)
    ranks[0] = fact(0, error=error(CLOSED, 0.2, "RuntimeError"), exit_code=1)
    ranks[1] = fact(1, exit_code=-15)
    failed = manifest(status="failed")
    failure = first_failure(ranks, failed)
    expected = "Rank 2 raised ValueError at step 4: batch 17: label 32001 is out of range 0..31999"
    assert failure is not None
    assert (failure.message, failure.rank) == (expected, 2)
    assert headline(failed, "failed", ranks, failure, []) == expected
    states = [rank_status(rank, None, None, "failed") for rank in ranks]
    assert states == [RankStatus.STOPPED, RankStatus.STOPPED, RankStatus.FAILED, RankStatus.GONE]


def test_a_rank_killed_by_a_signal_wins_over_lost_connections() -> None:
    """Case L07."""
    ranks = [fact(rank, error=error(CLOSED, 0.1, "RuntimeError"), exit_code=1) for rank in range(4)]
    ranks[1] = fact(1, step=4, exit_code=-9)
    failure = first_failure(ranks, manifest(status="failed"))
    assert failure is not None
    assert failure.message == "Rank 1 killed by signal 9 (often out of memory) after step 3"
    assert rank_status(ranks[1], None, None, "failed") is RankStatus.FAILED
    assert rank_status(ranks[0], None, None, "failed") is RankStatus.STOPPED


def test_a_process_that_has_gone_is_told_before_its_exit_code_is_known() -> None:
    ranks = [fact(rank, error=error(CLOSED, 0.1, "RuntimeError")) for rank in range(4)]
    ranks[1] = fact(1, step=4, process_gone=True)
    failure = first_failure(ranks, manifest())
    assert failure is not None
    assert failure.message == "Rank 1 ended without a word after step 3"


def test_of_several_killed_the_one_that_the_launcher_saw_first_wins() -> None:
    ranks = [fact(rank, exit_code=-9) for rank in range(4)]
    failure = first_failure(ranks, manifest(status="failed"), blamed=3)
    assert failure is not None
    assert failure.rank == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"exit_code": -11}, "Rank 0 killed by signal 11 (segmentation fault) after step 5"),
        (
            {"exit_code": -6, "ended_ns": NOW_NS},
            "Rank 0 killed by signal 6 (abort) after its script had ended",
        ),
        ({"exit_code": 3}, "Rank 0 ended with exit code 3 after step 5"),
        ({"error": error("", 0, "KeyError", step=None)}, "Rank 0 raised KeyError"),
        (
            {
                "error": error(
                    "CUDA out of memory. Tried 8 GiB", 0, "torch.OutOfMemoryError", out_of_memory=True
                )
            },
            "Rank 0 ran out of memory at step 4: CUDA out of memory. Tried 8 GiB",
        ),
        (
            {
                "error": error(
                    "The server socket has failed to listen. port: 29500, name: EADDRINUSE",
                    0,
                    "DistNetworkError",
                )
            },
            "Port 29500 is in use: rank 0 could not listen on it",
        ),
        (
            {"error": error(CLOSED, 0, "RuntimeError")},
            f"Rank 0 lost the connection to another rank at step 4: {CLOSED}",
        ),
        (
            {"error": error("", 0, "KeyboardInterrupt"), "exit_code": -2},
            "Rank 0 raised KeyboardInterrupt at step 4; no stop was asked for",
        ),
        (
            {"error": error("no data found\nin /data", 0, "SystemExit"), "exit_code": 1},
            "Rank 0 ended with exit code 1 at step 4: no data found",
        ),
        (
            {"error": error("x" * 300, 0, "SystemExit", step=None)},
            f"Rank 0 ended with exit code 1: {'x' * 240} \N{HORIZONTAL ELLIPSIS}",
        ),
        ({"error": error(" \n", 0, "SystemExit", step=None)}, "Rank 0 ended with exit code 1"),
        ({"exit_code": -15}, None),
        ({"exit_code": -9, "signalled": True}, None),
        ({"exit_code": 0}, None),
        ({}, None),
    ],
)
def test_one_failure(changes: dict[str, Any], expected: str | None) -> None:
    ranks = [fact(0, **changes), fact(1)]
    failure = first_failure(ranks, manifest(2))
    assert (failure.message if failure else None) == expected


def test_a_timeout_names_the_rank_that_was_waited_for() -> None:
    """The one that raised is not the one at fault."""
    timeout = "[/gloo/unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete"
    waited = fact(0, step=0, log_step=5, error=error(timeout, 0, "RuntimeError", step=5), exit_code=1)
    late = fact(1, step=0, log_step=4, exit_code=-15)
    failure = first_failure([waited, late], manifest(2, status="failed"))
    assert failure is not None
    assert failure.message == f"Rank 0 raised RuntimeError at step 5; rank 1 stood at step 4: {timeout}"
    aborted = fact(0, step=6, exit_code=-6)
    failure = first_failure([aborted, fact(1, step=0, exit_code=-15)], manifest(2, status="failed"))
    assert failure is not None
    assert failure.message == "Rank 0 killed by signal 6 (abort) after step 5; rank 1 had finished no step"


def test_an_error_that_all_ranks_share_is_said_once() -> None:
    missing = [
        fact(r, error=error("No module named 'nope'", r, "ModuleNotFoundError", step=None)) for r in range(4)
    ]
    failure = first_failure(missing, manifest())
    assert failure is not None
    assert failure.message == "All 4 ranks raised ModuleNotFoundError: No module named 'nope'"
    assert "/venv/bin/python" in failure.hint


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (
            {"error": error("no data found", 0, "SystemExit"), "exit_code": 1},
            "Rank 1 ended with exit code 1 at step 4: no data found",
        ),
        ({"exit_code": 3, "ended_ns": NOW_NS}, "Rank 1 ended with exit code 3 after step 5"),
        ({"exit_code": 7, "heartbeat_ns": NOW_NS}, "Rank 1 ended with exit code 7 after step 5"),
        (
            {"error": error("", 0, "KeyboardInterrupt"), "exit_code": -2},
            "Rank 1 raised KeyboardInterrupt at step 4; no stop was asked for",
        ),
        (
            {"exit_code": 1, "ended_ns": NOW_NS + SECOND_NS},
            f"Ranks 0, 2, 3 lost the connection to another rank at step 4: {CLOSED}",
        ),
    ],
)
def test_an_exit_wins_over_the_connections_it_closed(cause: dict[str, Any], expected: str) -> None:
    ranks = [fact(rank, error=error(CLOSED, 0.1, "RuntimeError"), exit_code=1) for rank in range(4)]
    ranks[1] = fact(1, **cause)
    failure = first_failure(ranks, manifest(status="failed"))
    assert failure is not None
    assert failure.message == expected


@pytest.mark.parametrize(
    ("status", "stop_asked_ns", "is_told"),
    [
        ("failed", None, True),
        ("running", None, True),
        ("stopped", NOW_NS - SECOND_NS, False),
        ("stopping", NOW_NS - SECOND_NS, False),
        ("stopped", None, False),
        ("stopped", NOW_NS + SECOND_NS, True),
    ],
)
def test_an_interrupt_is_told_unless_a_stop_brought_it(
    status: Status, stop_asked_ns: int | None, is_told: bool
) -> None:
    """A stop whose request could not be written is known from the status alone."""
    rank = fact(0, error=error("", 0, "KeyboardInterrupt"), exit_code=-2)
    failure = first_failure([rank], manifest(1, status=status), stop_asked_ns=stop_asked_ns)
    assert (failure is not None) is is_told
    if failure is not None:
        assert "SIGINT" in failure.hint


def test_a_rank_that_interrupted_itself_has_failed() -> None:
    interrupted = fact(0, error=error("", 0, "KeyboardInterrupt"), exit_code=-2)
    assert rank_status(interrupted, None, None, "failed") is RankStatus.FAILED
    assert rank_status(interrupted, None, None, "stopped") is RankStatus.STOPPED
    assert rank_status(fact(0, exit_code=-2), None, None, "failed") is RankStatus.STOPPED


def test_what_follows_a_stop_is_no_failure() -> None:
    ranks = [fact(0, error=error("interrupted sleep", 5), exit_code=1), fact(1, exit_code=-9)]
    asked = first_failure(ranks, manifest(2, status="stopped"), stop_asked_ns=NOW_NS)
    assert asked is None
    assert first_failure(ranks, manifest(2)) is not None


def test_the_launcher_fails_before_any_rank_starts() -> None:
    nothing = [RankFacts(rank=0)]
    ended = manifest(1, status="failed", launcher_exit_code=1)
    failure = first_failure(nothing, ended, launcher_error="ImportError: libc10.so: cannot open")
    assert failure is not None
    expected = "torchrun ended with exit code 1 before any rank started: ImportError: libc10.so: cannot open"
    assert failure.message == expected
    failure = first_failure(nothing, ended, launcher_error="errno 98: Address already in use, port: 29400")
    assert failure is not None
    assert failure.message == "Port 29400 is in use"


def test_secondary_errors() -> None:
    assert is_secondary("NCCL error: remote process exited or there was a network error")
    assert is_secondary("[Errno 104] Connection reset by peer")
    assert not is_secondary("batch 17: label 32001 is out of range 0..31999")


def test_the_state_follows_the_exit_code() -> None:
    """Case L25: a warning does not make exit 0 a failure, nor success in the log exit 3 a success."""
    assert rank_status(fact(0, exit_code=0), None, None, "done") is RankStatus.DONE
    assert rank_status(fact(0, exit_code=3), None, None, "failed") is RankStatus.FAILED
    assert rank_status(fact(0, exit_code=-9, signalled=True), None, None, "stopped") is RankStatus.STOPPED
    assert rank_status(fact(0, process_gone=True), None, None, "running") is RankStatus.GONE
    assert rank_status(fact(0, working=False), None, None, "running") is RankStatus.STARTING
    assert rank_status(RankFacts(rank=0), None, None, "running") is RankStatus.NOT_STARTED
    assert rank_status(fact(2), None, 2, "running") is RankStatus.SLOW


def test_headlines_of_a_run_that_goes_well() -> None:
    ranks = four(0.1)
    fresh = [RankFacts(rank=rank) for rank in range(4)]
    alert = Alert(key="a", level="error", t_ns=0, message="Loss is NaN on rank 0 at step 2")
    assert headline(manifest(), "created", fresh, None, []) == "Starting 4 ranks"
    assert headline(manifest(), "running", [*ranks[:2], *fresh[2:]], None, []) == (
        "Starting 4 ranks, 2 of 4 have started"
    )
    idle = [replace(rank, working=False) for rank in ranks]
    assert headline(manifest(), "running", idle, None, []) == "4 ranks have started, no step yet"
    assert headline(manifest(), "running", ranks, None, []) == "4 ranks run at step 5"
    assert headline(manifest(), "running", ranks, None, [alert]) == alert.message
    assert headline(manifest(), "done", ranks, None, []) == "Done after step 5"
    assert headline(manifest(), "stopped", ranks, None, []) == "Stopped at step 5"


# --- slow ranks --------------------------------------------------------------


def times(*rows: list[float]) -> np.ndarray:
    return np.array(rows) * 1e6


def test_equal_steps_tell_nothing_by_themselves() -> None:
    """Collectives equalise: neither a long nor a short backward pass makes a straggler."""
    rng = np.random.default_rng(0)
    step = times(*([100.0] * 4 for _ in range(8))) + rng.normal(0, 1e5, (8, 4))
    equal_backward = times(*([60.0] * 4 for _ in range(8))) + rng.normal(0, 1e5, (8, 4))
    assert own_time_rule(step, equal_backward, host_times_are_work=True) is None
    differing = times(*([60.0, 60.0, 20.0, 60.0] for _ in range(8)))
    assert own_time_rule(step, differing, host_times_are_work=False) is None, "host times of a GPU job"
    assert own_time_rule(step, differing * math.nan, host_times_are_work=True) is None


def test_a_rank_that_the_others_wait_for_in_backward_is_slow() -> None:
    step = times(*([100.0] * 4 for _ in range(8)))
    backward = times(*([60.0, 60.0, 20.0, 60.0] for _ in range(8)))
    rule = own_time_rule(step, backward, host_times_are_work=True)
    assert rule == "without waiting"
    own = own_times(step, backward, rule)
    assert (own[-1] / 1e6).tolist() == [60, 60, 100, 60]
    found = find_straggler(np.median(own, axis=0))
    assert found is not None
    assert (found.rank, found.own_ns, found.others_ns) == (2, 100e6, 60e6)


def test_a_rank_with_longer_steps_of_its_own_is_slow() -> None:
    step = times(*([100.0, 102.0, 101.0, 170.0] for _ in range(8)))
    rule = own_time_rule(step, step * math.nan, host_times_are_work=False)
    assert rule == "whole step"
    found = find_straggler(np.median(own_times(step, step, rule), axis=0))
    assert found is not None
    assert found.rank == 3


@pytest.mark.parametrize(
    "own_ms", [[100, 101, 99, 110], [100, 100, 170, 172], [50, 100, 100, 100], [0.0, 0.0, 0.0, 0.0]]
)
def test_no_single_rank_is_slow(own_ms: list[float]) -> None:
    assert find_straggler(np.array(own_ms) * 1e6) is None


def test_only_steps_that_all_ranks_took_are_compared() -> None:
    table = StepTable(2)
    table.add(0, 0, None, 5)
    for step in range(1, 40):
        table.add(0, step, 100 + step, 50)
        if step != 37:
            table.add(1, step, 200 + step, None)
    numbers, step_ns, backward_ns = table.times()
    assert numbers.tolist() == [*range(23, 37), 38, 39]
    assert table.newest == 39
    assert step_ns[-1].tolist() == [139, 239]
    assert backward_ns[-1][0] == 50
    assert math.isnan(backward_ns[-1][1])
    assert own_time_rule(*StepTable(1).times()[1:], host_times_are_work=True) is None
    assert StepTable(2).newest is None


# --- losses ------------------------------------------------------------------


def watch(values: dict[int, list[float]]) -> dict[str, Alert]:
    watched = LossWatch(len(values))
    for rank, losses in values.items():
        for step, value in enumerate(losses):
            watched.add(rank, step, value, step)
    return {alert.key: alert for alert in watched.alerts()}


def test_the_first_loss_that_is_not_finite_is_told() -> None:
    """Case M14."""
    alerts = watch({0: [4.0, 3.5, math.nan, math.nan, 2.9, math.nan, math.inf, -math.inf, 1e-05, math.nan]})
    assert alerts["loss-not-finite"].message == "Loss is NaN on rank 0 at step 2"
    assert alerts["loss-not-finite"].step == 2
    both = watch({0: [1.0, math.inf], 1: [1.0, math.inf]})
    assert both["loss-not-finite"].message == "Loss is inf on all 2 ranks at step 1"


def test_a_spike_is_told_once() -> None:
    """Case M16."""
    losses = [2.0 + (step % 7) * 0.001 for step in range(2000)]
    losses[1234] = 50.0
    alerts = watch({0: losses})
    assert list(alerts) == ["loss-spike"]
    assert alerts["loss-spike"].message == "Loss jumped to 50.000 on rank 0 at step 1,234, from about 2.0029"


@pytest.mark.parametrize(
    "losses",
    [
        pytest.param([10.0 * 0.9**step for step in range(200)], id="falling"),
        pytest.param(list(np.random.default_rng(3).normal(5, 1.0, 5000)), id="noise"),
        pytest.param([0.0] * 100, id="zeros"),
        pytest.param([-3.0 + 0.1 * math.sin(step) for step in range(300)], id="negative"),
        pytest.param([5.0, 900.0, 5.0], id="too short to judge"),
        pytest.param([2.0 + 0.01 * step for step in range(1000)], id="rising slowly"),
    ],
)
def test_usual_losses_raise_nothing(losses: list[float]) -> None:
    assert watch({0: losses}) == {}


# --- words and stacks --------------------------------------------------------


def test_names_of_ranks() -> None:
    assert name_ranks([1]) == "rank 1"
    assert name_ranks([0, 2, 3]) == "ranks 0, 2, 3"
    assert name_ranks([0, 1, 2, 3, 5]) == "ranks 0-3, 5"
    assert name_ranks(range(4), 4) == "all 4 ranks"
    assert name_ranks(range(0, 64, 2)) == "32 ranks"


STACKS = """\
Thread 'Thread-1' (daemon)
  File "/usr/lib/python3.11/threading.py", line 995, in _bootstrap
    self._bootstrap_inner()

Thread 'MainThread'
  File "/home/u/train.py", line 12, in <module>
    main()
  File "/home/u/train.py", line 9, in main
    dist.all_reduce(loss)
  File "/venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py", line 81, in wrapper
    return func(*args, **kwargs)
  File "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2810, in all_reduce
    work.wait()

"""


def test_the_place_of_a_waiting_rank() -> None:
    place = main_place(STACKS)
    assert place == Place("/home/u/train.py", 9, "main", "dist.all_reduce(loss)", is_waiting=True)
    assert str(place) == "train.py:9 in main: dist.all_reduce(loss)"


def test_the_place_of_a_sleeping_rank() -> None:
    text = "Thread 'MainThread'\n  File \"/x/a.py\", line 6, in <module>\n    time.sleep(3600)\n\n"
    place = main_place(text)
    assert place is not None
    assert (str(place), place.is_waiting) == ("a.py:6: time.sleep(3600)", False)
    assert main_place("") is None
    assert main_place("Thread 'MainThread'\n\n") is None
