"""What makes a trace doubtful: found, counted, tied to its rows, and absent where all is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from core.analyses.index import TraceIndex
from core.analyses.quality import find_overruns, judge
from tests.helpers.handed import read_slowly
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.trace import Problem


def judged(*events: dict[str, Any]) -> dict[str, Problem]:
    problems = judge(TraceIndex(trace_of(*events)))
    assert all(problem.count == len(problem.rows) for problem in problems)
    return {problem.code: problem for problem in problems}


def case(folder: Path, name: str) -> dict[str, str]:
    return {each.code: each.message for each in judge(TraceIndex(read_slowly(folder / name)))}


def without_duration(event: dict[str, Any]) -> dict[str, Any]:
    del event["dur"]
    return event


def test_a_sound_trace_has_no_doubts() -> None:
    assert not judged(
        annotation("ProfilerStep#1", 0, 100),
        op("aten::mm", 5, 20),
        call("cudaLaunchKernel", 10, 5, 1),
        kernel("a", 20, 30, correlation=1),
        kernel("b", 50, 30),
        kernel("c", 20, 60, stream=20),
    )
    assert not judged()


def test_impossible_durations_are_told_by_what_bears_them() -> None:
    found = judged(
        kernel("a", 0, -5),
        kernel("b", 10, -5),
        without_duration(kernel("c", 20, 1)),
        kernel("d", 30, 0),
        op("aten::mm", 0, -1),
        annotation("x", 0, -1),
        {**kernel("Memcpy", 40, -1), "cat": "gpu_memcpy"},
        {**kernel("Memcpy", 50, 0), "cat": "gpu_memcpy"},
    )
    assert {code: problem.message for code, problem in found.items()} == {
        "negative_duration": "2 kernels with negative duration: in no sum.",
        "missing_duration": "1 kernel without a duration: in no sum.",
        "zero_duration": "1 kernel with zero duration: in no sum.",
        "negative_duration_copy": "1 copy or set with negative duration: in no sum.",
        "negative_duration_op": "1 operator with negative duration: in no sum.",
        "negative_duration_other": "1 other slice with negative duration: in no sum.",
    }
    assert found["negative_duration"].rows == (0, 1)


def test_a_kernel_that_overruns_later_ones_is_told_with_the_sum_without_it() -> None:
    events = [
        kernel("long", 0, 1000),
        *(kernel("k", 30 * n, 20) for n in (1, 2, 3)),
        kernel("k", 1, 20, stream=20),
    ]
    found = judged(*events)
    assert list(found) == ["overruns_next"]
    assert found["overruns_next"].rows == (0,)
    assert found["overruns_next"].message == (
        "1 kernel overruns the next kernel on its stream; "
        "cut at the next start, the kernel sum would be 110.0 µs."
    )
    assert find_overruns(trace_of(*events)).clipped_kernel_sum_ns == 30_000 + 4 * 20_000


def test_work_that_begins_too_early_is_told_unless_its_launch_may_ask_for_it() -> None:
    first, second = kernel("a", 0, 10), kernel("b", 5, 10, correlation=1)
    found = judged(first, second)
    assert list(found) == ["overlapping_on_stream"]
    assert found["overlapping_on_stream"].message == (
        "1 kernel begins before the one before on the stream has ended, by 5.000 µs in all."
    )
    assert found["overlapping_on_stream"].rows == (1,)
    assert not judged(first, second, call("cudaLaunchKernelExC", 0, 1, 1))
    assert not judged(first, kernel("b", 9.5, 10)), "rounded times"


def test_launches_without_a_kernel_are_told() -> None:
    found = judged(
        call("cudaLaunchKernel", 0, 1, 1),
        call("cuLaunchKernelEx", 5, 1, 2),
        call("hipExtModuleLaunchKernel", 6, 1, 3),
        call("cudaMemcpyAsync", 7, 1, 4),
        kernel("k", 10, 5, correlation=1),
    )
    assert {code: problem.rows for code, problem in found.items()} == {"launches_without_kernels": (1, 2)}


def test_a_step_without_work_is_told_but_not_the_rest_of_a_recording() -> None:
    steps = [annotation(f"ProfilerStep#{n}", 100 * n, 90) for n in range(3)]
    rest = annotation("ProfilerStep#3", 300, 5)
    found = judged(*steps, rest, kernel("k", 10, 5), kernel("k", 210, 5))
    assert found["steps_without_gpu_work"].message == "1 of 4 steps launched no GPU work."
    assert found["steps_without_gpu_work"].rows == (1,)
    assert not judged(steps[0], op("aten::mm", 1, 5)), "a trace without a device"


def test_the_handed_cases_say_what_is_wrong(shared_cases: Path) -> None:
    assert case(shared_cases, "T10.json") == {
        "negative_duration": "1 kernel with negative duration: in no sum.",
        "negative_duration_op": "1 operator with negative duration: in no sum.",
    }
    assert "would be 605.0 µs" in case(shared_cases, "T23.json")["overruns_next"]
    assert case(shared_cases, "T25.json") == {
        "steps_without_gpu_work": "30 of 32 steps launched no GPU work."
    }
    assert list(case(shared_cases, "T32.json")) == ["clock_skew"]
    assert case(shared_cases, "T47.json") == {"outside_steps": "1 kernel (300.0 µs) outside any step."}


@pytest.mark.parametrize(
    "name", ["T00_healthy", "T11", "T22", "T26", "T28", "T31", "T34", "T37", "T46", "T49"]
)
def test_cases_whose_times_are_sound_have_no_doubts(shared_cases: Path, name: str) -> None:
    assert not case(shared_cases, f"{name}.json")


@pytest.mark.parametrize(
    "name",
    [
        *("a100_alexnet", "a100_triton", "cpu_only", "mi210_gpu_only", "mi250_minitoy", "mi300_bert_small"),
        *("mi300_sglang_graph_decode", "mi300_torch_compile_triton"),
    ],
)
def test_healthy_samples_have_no_doubts(shared_cases: Path, name: str) -> None:
    assert not case(shared_cases.parents[1] / "data" / "traces", f"{name}.json.gz")


def test_a_capture_without_the_device_says_that_its_launches_have_no_kernels(shared_cases: Path) -> None:
    found = case(shared_cases.parents[1] / "data" / "traces", "a100_cupti_counters.json.gz")
    assert found == {"launches_without_kernels": "77 launches without a kernel in the trace."}
