"""What is said of one slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.analyses.index import TraceIndex
from core.analyses.slice_facts import describe_slice
from core.tables.trace import SliceKind
from tests.helpers.traces import annotation, call, kernel, op, python_frame, trace_of

if TYPE_CHECKING:
    from core.analyses.slice_facts import SliceFacts

SHAPES: dict[str, Any] = {"Input Dims": [[4, 8], []], "Input type": ["float", "Scalar"]}


def facts_of(name: str, *events: dict[str, Any], last: bool = False) -> SliceFacts:
    trace = trace_of(*events)
    names = [trace.strings[int(text_id)] for text_id in trace.slices.name_id]
    row = len(names) - 1 - names[::-1].index(name) if last else names.index(name)
    return describe_slice(TraceIndex(trace), row)


EVENTS = [
    annotation("ProfilerStep#7", 0, 100),
    python_frame("train.py(3): step", 1, 90),
    op("aten::mm", 10, 20, **SHAPES),
    call("cudaLaunchKernel", 15, 5, 1),
    kernel("gemm", 40, 30, correlation=1, grid=[8, 2, 1], **{"shared memory": 2048}),
    call("cudaLaunchKernel", 60, 5, 2),
    kernel("gemm", 90, 10, correlation=2),
    kernel("gemm", 200, -5),
]


def test_a_kernel_is_told_with_its_launch_and_its_caller() -> None:
    facts = facts_of("gemm", *EVENTS)
    assert (facts.kind, facts.category, facts.device, facts.stream) == (SliceKind.KERNEL, "GEMM", 0, 7)
    assert (facts.start_ns, facts.duration_ns) == (40_000, 30_000)
    assert facts.launch is not None
    assert facts.launch.grid == (8, 2, 1)
    assert facts.launch.block is None
    assert facts.launch.shared_memory_bytes == 2048
    assert facts.launch.registers_per_thread is None
    caller = facts.caller
    assert (caller.op_name, caller.launch_name, caller.launch_delay_ns) == (
        "aten::mm",
        "cudaLaunchKernel",
        25_000,
    )
    assert caller.inputs == (("[4, 8]", "float"), ("[]", "Scalar"))
    assert caller.stack == ("train.py(3): step",)


def test_the_same_name_elsewhere_counts_impossible_times_and_sums_possible_ones() -> None:
    same = facts_of("gemm", *EVENTS, last=True).same
    assert (len(same.rows), same.position, same.sum_ns) == (3, 3, 40_000)
    assert (same.min_ns, same.mean_ns, same.max_ns, same.share_pct) == (10_000, 20_000, 30_000, 100.0)
    alone = facts_of("odd", kernel("odd", 0, -1)).same
    assert (alone.sum_ns, alone.share_pct, alone.min_ns, alone.mean_ns) == (0, None, None, None)


def test_the_step_is_the_one_that_launched_it() -> None:
    facts = facts_of(
        "late", annotation("ProfilerStep#7", 0, 100), call("l", 50, 1, 5), kernel("late", 150, 5)
    )
    assert facts.step is None
    facts = facts_of(
        "late",
        annotation("ProfilerStep#7", 0, 100),
        call("cudaLaunchKernel", 50, 1, 5),
        kernel("late", 150, 5, correlation=5),
    )
    assert facts.step is not None
    assert (facts.step.number, facts.step.offset_ns, facts.step.end_ns) == (7, 150_000, 100_000)


def test_an_operator_is_told_with_what_calls_it() -> None:
    facts = facts_of("aten::mm", op("aten::linear", 0, 50), op("aten::mm", 10, 20, **SHAPES))
    assert not facts.is_device_work
    assert facts.launch is None
    assert facts.caller.op_name == "aten::linear"
    assert facts.caller.inputs[0] == ("[4, 8]", "float")
    assert facts.category == ""


def test_a_kernel_before_its_launch_has_a_skew_and_no_delay() -> None:
    """Case T32."""
    facts = facts_of("early", call("cudaLaunchKernel", 10, 5, 1), kernel("early", 6, 3, correlation=1))
    assert facts.caller.launch_delay_ns is None
    assert facts.caller.clock_skew_ns == 4_000


def test_a_share_is_of_kernels_or_of_the_outermost_operators_and_of_nothing_else() -> None:
    trace = trace_of(
        op("aten::linear", 0, 30),
        op("aten::mm", 5, 10),
        op("aten::add", 40, 10),
        kernel("gemm", 10, 30),
        kernel("relu", 50, 10),
        annotation("user range", 0, 60),
    )
    index = TraceIndex(trace)
    facts = {
        each.name: each.same for each in (describe_slice(index, row) for row in range(len(trace.slices)))
    }
    shares = {name: same.share_pct for name, same in facts.items()}
    assert shares == {
        "aten::linear": 75.0,
        "aten::mm": None,
        "aten::add": 25.0,
        "gemm": 75.0,
        "relu": 25.0,
        "user range": None,
    }


def test_the_longest_is_the_first_of_those_that_last_so_long() -> None:
    index = TraceIndex(
        trace_of(kernel("a", 0, 5), kernel("a", 10, 9), kernel("a", 20, 9), kernel("b", 30, 5))
    )
    assert [describe_slice(index, row).same.is_longest for row in range(4)] == [False, True, False, False]
