"""What launched each kernel: by External id, by correlation, by a graph's launch, or nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.analyses.links import LinkKind, link_device_work
from core.analyses.nesting import CALL_KINDS, nest_slices
from core.tables.columns import MISSING, NO_ROW
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from core.analyses.links import Links
    from core.tables.trace import Trace


def linked(trace: Trace) -> Links:
    calls = nest_slices(trace.slices, trace.tracks, CALL_KINDS)
    return link_device_work(trace, calls)


def drawn(trace: Trace) -> list[str]:
    """A line for each kernel: its operator, how that was found, its launch."""
    links = linked(trace)

    def name(row: int) -> str:
        return trace.strings[int(trace.slices.name_id[row])] if row != NO_ROW else "-"

    columns = (trace.device_work.slice_row, links.op_row, links.how, links.launch_row)
    return [
        f"{name(work)}: {name(op_row)} {LinkKind(how).name} {name(launch)}"
        for work, op_row, how, launch in zip(*(column.tolist() for column in columns), strict=True)
    ]


def problems(trace: Trace) -> dict[str, int]:
    return {problem.code: problem.count for problem in linked(trace).problems}


def test_the_numbers_of_calls_and_of_operators_are_not_mixed() -> None:
    """Case T31: the correlation of each launch is the External id of the other operator."""
    trace = trace_of(
        op("aten::relu", 10, 20, **{"External id": 23}),
        call("cudaLaunchKernel", 12, 5, 40, **{"External id": 23}),
        kernel("relu_kernel", 50, 7, correlation=40, **{"External id": 23}),
        op("aten::mm", 100, 20, **{"External id": 40}),
        call("cudaLaunchKernel", 102, 5, 23, **{"External id": 40}),
        kernel("gemm_kernel", 150, 90, correlation=23, **{"External id": 40}),
    )
    assert drawn(trace) == [
        "relu_kernel: aten::relu EXTERNAL_ID cudaLaunchKernel",
        "gemm_kernel: aten::mm EXTERNAL_ID cudaLaunchKernel",
    ]
    assert linked(trace).launch_delay_ns.tolist() == [38_000, 48_000]
    assert problems(trace) == {}


def test_without_an_external_id_the_innermost_operator_around_the_call_counts() -> None:
    trace = trace_of(
        op("aten::linear", 0, 100),
        op("aten::mm", 10, 50),
        call("cudaLaunchKernel", 20, 5, 1),
        op("aten::other", 20, 5, tid=2),
        kernel("gemm", 40, 7, correlation=1),
    )
    assert drawn(trace) == ["gemm: aten::mm CORRELATION cudaLaunchKernel"]


def test_an_external_id_that_names_an_operator_of_another_time_or_thread_is_not_believed() -> None:
    """Old files number operators and calls apart: 17 of 98 numbers there meet by chance."""
    trace = trace_of(
        op("aten::early", 0, 10, **{"External id": 7}),
        op("aten::elsewhere", 20, 30, tid=2, **{"External id": 8}),
        op("aten::mm", 20, 30, **{"External id": 9}),
        call("cudaLaunchKernel", 25, 5, 1),
        call("cudaLaunchKernel", 32, 5, 2),
        kernel("first", 40, 7, correlation=1, **{"External id": 7}),
        kernel("second", 50, 7, correlation=2, **{"External id": 8}),
        kernel("no launch", 60, 7, **{"External id": 9}),
    )
    assert drawn(trace) == [
        "first: aten::mm CORRELATION cudaLaunchKernel",
        "second: aten::mm CORRELATION cudaLaunchKernel",
        "no launch: - NONE -",
    ]
    assert problems(trace) == {"launch_missing": 1, "doubtful_external_id": 2}


def test_an_external_id_alone_names_the_last_operator_of_that_number_that_has_begun() -> None:
    number = {"External id": 5}
    trace = trace_of(
        op("aten::first", 0, 10, **number),
        op("aten::second", 100, 10, tid=2, **number),
        kernel("between", 50, 5, **number),
        kernel("after", 150, 5, **number),
        op("aten::late", 300, 10, **{"External id": 6}),
        kernel("before its operator", 250, 5, **{"External id": 6}),
    )
    assert drawn(trace) == [
        "between: aten::first EXTERNAL_ID -",
        "after: aten::second EXTERNAL_ID -",
        "before its operator: - NONE -",
    ]


def test_a_number_0_that_several_bear_links_nothing() -> None:
    zero = {"External id": 0}
    trace = trace_of(
        op("aten::a", 0, 10, **zero),
        op("aten::b", 20, 10, **zero),
        kernel("no launch", 50, 5, **zero),
        call("cudaMalloc", 2, 2, 0),
        call("cudaFree", 22, 2, 0),
        kernel("two calls", 60, 5, correlation=0),
    )
    assert drawn(trace) == ["no launch: - NONE -", "two calls: - NONE -"]


def test_numbers_that_ranks_share_are_kept_apart() -> None:
    def rank(number: int, start: float) -> tuple[dict[str, Any], ...]:
        events = (
            op(f"aten::of_{number}", start, 10),
            call("cudaLaunchKernel", start + 1, 5, 1),
            kernel(f"kernel_{number}", 50, 5, correlation=1, device=number),
        )
        return tuple(
            {**event, "pid": event["pid"] + 10 * number, "args": {**event["args"], "rank": number}}
            for event in events
        )

    trace = trace_of(*rank(0, 0), *rank(1, 20))
    assert drawn(trace) == [
        "kernel_0: aten::of_0 CORRELATION cudaLaunchKernel",
        "kernel_1: aten::of_1 CORRELATION cudaLaunchKernel",
    ]
    assert linked(trace).launch_delay_ns.tolist() == [49_000, 29_000]


def test_a_number_that_calls_share_means_the_last_call_before_the_kernel() -> None:
    trace = trace_of(
        call("early", 0, 5, 1),
        call("right", 20, 5, 1),
        call("late", 60, 5, 1),
        kernel("k", 40, 5, correlation=1),
    )
    assert drawn(trace) == ["k: - CORRELATION right"]
    assert problems(trace) == {"launch_outside_ops": 1, "repeated_correlation": 1}


def test_a_graph_launch_unfolds_to_its_kernels_and_only_the_first_waited_for_it() -> None:
    trace = trace_of(
        op("CompiledGraph", 0, 50),
        call("cudaGraphLaunch", 10, 5, 9),
        call("cudaGraphLaunch", 30, 5, 10),
        kernel("b", 44, 10, correlation=9),
        kernel("a", 20, 10, correlation=9),
        kernel("c", 60, 10, correlation=10),
    )
    assert drawn(trace) == [
        "b: CompiledGraph GRAPH cudaGraphLaunch",
        "a: CompiledGraph GRAPH cudaGraphLaunch",
        "c: CompiledGraph GRAPH cudaGraphLaunch",
    ]
    links = linked(trace)
    assert links.launch_row.tolist() == [1, 1, 2]
    assert links.launch_delay_ns.tolist() == [MISSING, 10_000, 30_000]


def test_a_kernel_that_begins_before_its_launch_is_linked_and_has_no_delay() -> None:
    """Case T32."""
    trace = trace_of(
        op("c10d::alltoall_", 100, 30, **{"External id": 31}),
        call("cuLaunchKernelEx", 110, 12, 31, **{"External id": 31}),
        kernel("ncclDevKernel_SendRecv", 106, 25, correlation=31, **{"External id": 31}),
    )
    links = linked(trace)
    assert drawn(trace) == ["ncclDevKernel_SendRecv: c10d::alltoall_ EXTERNAL_ID cuLaunchKernelEx"]
    assert links.launch_delay_ns.tolist() == [MISSING]
    assert links.clock_skew_ns.tolist() == [4_000]
    assert [(problem.code, problem.message, problem.rows) for problem in links.problems] == [
        ("clock_skew", "1 kernel or copy with a start before the launch (clock skew)", (2,))
    ]


def test_where_no_operator_is_around_the_call_the_users_range_counts_but_no_step() -> None:
    trace = trace_of(
        annotation("ProfilerStep#3", 0, 100),
        annotation("my range", 10, 20),
        call("cudaLaunchKernel", 12, 5, 1),
        call("cudaLaunchKernel", 40, 5, 2),
        kernel("in", 50, 5, correlation=1),
        kernel("out", 60, 5, correlation=2),
        kernel("unnumbered", 70, 5),
    )
    assert drawn(trace) == [
        "in: my range CORRELATION cudaLaunchKernel",
        "out: - CORRELATION cudaLaunchKernel",
        "unnumbered: - NONE -",
    ]
    assert problems(trace) == {"launch_outside_ops": 1, "no_launch_number": 1}


def test_a_trace_without_device_work_has_no_links() -> None:
    assert drawn(trace_of(op("aten::add", 0, 10))) == []
    assert drawn(trace_of()) == []
