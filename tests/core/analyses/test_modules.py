"""The tree of modules, the time of each, and which module a kernel belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.analyses.index import TraceIndex
from core.analyses.kernels import GroupBy, summarize_kernels
from core.analyses.modules import summarize_modules
from core.analyses.stacks import python_stack
from core.tables.selection import Selection
from tests.helpers.traces import call, kernel, op, python_frame, trace_of
from tests.helpers.training_trace import training_trace

if TYPE_CHECKING:
    from core.tables.result import ResultTable
    from core.tables.trace import Trace


def drawn(table: ResultTable) -> list[str]:
    """A line a module: indented name, calls, CPU total and self, launches, device total and self, in us."""
    lines = []
    for row in range(len(table)):
        values: dict[str, Any] = {column.key: column.value(row) for column in table.columns}
        times = [
            f"{values[key] / 1000:g}"
            for key in ("cpu_total_ns", "cpu_self_ns", "device_total_ns", "device_self_ns")
        ]
        indent, launches = "  " * values["depth"], values["device_calls"]
        lines.append(f"{indent}{values['name']}: {values['calls']} calls, {launches} k, {' '.join(times)}")
    return lines


def module(name: str, start: float, length: float) -> dict[str, Any]:
    return python_frame(f"nn.Module: {name}", start, length)


def test_a_module_has_the_time_of_the_modules_it_calls_and_its_own() -> None:
    trace = trace_of(
        module("Net_0", 0, 100),
        python_frame("net.py(3): forward", 1, 98),
        module("Linear_0", 10, 30),
        call("cudaLaunchKernel", 20, 5, 1),
        module("Linear_1", 50, 20),
        call("cudaLaunchKernel", 55, 5, 2),
        call("cudaLaunchKernel", 80, 5, 3),
        module("Linear_0", 200, 10),
        kernel("a", 100, 7, correlation=1),
        kernel("b", 110, 11, correlation=2),
        kernel("c", 130, 13, correlation=3),
        kernel("d", 150, 17),
    )
    index = TraceIndex(trace)
    table = summarize_modules(index)
    assert drawn(table) == [
        "Net_0: 1 calls, 3 k, 100 50 31 13",
        "  Linear_0: 1 calls, 1 k, 30 30 7 7",
        "  Linear_1: 1 calls, 1 k, 20 20 11 11",
        "Linear_0: 1 calls, 0 k, 10 10 0 0",
    ]
    assert table.notes == ("1 kernel, copy or set was launched outside any module.",)
    assert table.rows_of(0).tolist() == [0]
    by_module = summarize_kernels(index, group_by=GroupBy.MODULE)
    assert [by_module.column("name").value(row) for row in range(4)] == [
        "No module known",
        "Net_0",
        "Linear_1",
        "Linear_0",
    ]


def test_a_call_that_began_before_the_selection_has_no_time_in_it() -> None:
    trace = trace_of(module("Net_0", 0, 100), module("Linear_0", 10, 30), module("Net_0", 200, 50))
    table = summarize_modules(TraceIndex(trace), Selection(5_000, None))
    assert drawn(table) == ["Net_0: 1 calls, 0 k, 50 50 0 0", "  Linear_0: 1 calls, 0 k, 30 30 0 0"]


def test_the_backward_of_an_operator_belongs_to_the_module_of_its_forward() -> None:
    table = summarize_modules(TraceIndex(training_trace()))
    # 60 us of each step's forward and 90 us of its backward.
    assert drawn(table) == [
        "Block_0: 2 calls, 6 k, 400 200 340 0",
        "  Linear_0: 2 calls, 4 k, 120 120 300 300",
        "  ReLU_0: 2 calls, 2 k, 80 80 40 40",
    ]
    first = summarize_modules(TraceIndex(training_trace()), Selection(None, 1_000_000))
    assert drawn(first)[1] == "  Linear_0: 1 calls, 2 k, 60 60 150 150"


def test_of_forward_operators_with_one_sequence_number_the_last_before_the_backward_counts() -> None:
    number = {"Sequence number": 5}
    backward = {"Sequence number": 5, "Fwd thread id": 1}
    trace = trace_of(
        module("Wrong_0", 0, 20),
        op("aten::empty", 5, 5, **number),
        module("Right_0", 30, 20),
        op("aten::mm", 35, 5, **number),
        op("MmBackward0", 100, 20, tid=2, **backward),
        call("cudaLaunchKernel", 105, 5, 1, tid=2),
        module("Later_0", 200, 20),
        op("aten::mm", 205, 5, **number),
        kernel("k", 120, 7, correlation=1),
    )
    by_module = summarize_kernels(TraceIndex(trace), group_by=GroupBy.MODULE)
    assert by_module.column("name").value(0) == "Right_0"


def test_without_python_frames_the_module_hierarchy_of_operators_counts() -> None:
    top: dict[str, Any] = {"Module Hierarchy": "top(ResNet)::forward"}
    conv: dict[str, Any] = {"Module Hierarchy": "top(ResNet)::forward.conv1(Conv2d)::forward"}
    trace = trace_of(
        op("aten::conv2d", 0, 50, **conv),
        op("aten::convolution", 5, 40, **conv),
        call("cudaLaunchKernel", 10, 5, 1),
        op("aten::relu", 60, 20, **top),
        kernel("k", 30, 9, correlation=1),
    )
    assert drawn(summarize_modules(TraceIndex(trace))) == [
        "top (ResNet): None calls, 1 k, 70 20 9 0",
        "  conv1 (Conv2d): None calls, 1 k, 50 50 9 9",
    ]


def test_a_trace_without_modules_says_how_to_record_them() -> None:
    table = summarize_modules(TraceIndex(trace_of(op("aten::add", 0, 5))))
    assert (len(table), "with_stack" in table.empty) == (0, True)


def stack_of(trace: Trace, name: str) -> tuple[str, ...]:
    names = [trace.strings[name_id] for name_id in trace.slices.name_id.tolist()]
    return python_stack(TraceIndex(trace), names.index(name))


def test_a_slice_has_the_frames_around_it_and_a_kernel_those_of_its_launch() -> None:
    trace = training_trace()
    linear = ("train.py(30): step", "nn.Module: Block_0", "nn.Module: Linear_0")
    assert stack_of(trace, "aten::addmm") == linear
    assert stack_of(trace, next(n for n in trace.strings if n.startswith("sm90"))) == linear
    assert stack_of(trace, "nn.Module: ReLU_0") == (*linear[:2], "nn.Module: ReLU_0")
    assert stack_of(trace, "warm_up_kernel") == ()


def test_without_frames_the_call_stack_of_the_operator_is_given_as_a_traceback_reads() -> None:
    stack: dict[str, Any] = {"Call stack": "net.py(7): forward;train.py(3): main"}
    trace = trace_of(
        op("aten::mm", 0, 50, **stack),
        call("cudaLaunchKernel", 10, 5, 1),
        kernel("k", 30, 9, correlation=1),
    )
    assert stack_of(trace, "k") == ("train.py(3): main", "net.py(7): forward")
