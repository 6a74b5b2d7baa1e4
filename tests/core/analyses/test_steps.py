"""Steps: which there are, what belongs to them, and where their time went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.analyses.steps import NO_STEPS, summarize_steps
from core.tables.columns import MISSING
from core.tables.selection import Selection
from tests.helpers.handed import read_slowly
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.result import ResultTable

PARTS = (
    "compute_ns",
    "communication_exposed_ns",
    "copy_ns",
    "idle_launch_ns",
    "idle_data_ns",
    "idle_sync_ns",
    "idle_other_ns",
)
NO_GPU_WORK = "The trace holds no GPU work: no step has a busy time."
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps_of(*events: dict[str, Any]) -> ResultTable:
    table = summarize_steps(TraceIndex(trace_of(*events)))
    check_parts(table)
    return table


def check_parts(table: ResultTable) -> None:
    if NO_GPU_WORK in table.notes:
        for key in (*PARTS, "busy_ns", "communication_hidden_ns", "kernel_sum_ns"):
            assert (table.column(key).values == MISSING).all(), key
        assert not table.column("kernels").values.any()
        return
    parts = sum(table.column(key).values for key in PARTS)
    assert np.array_equal(parts, table.column("duration_ns").values)
    busy = table.column("compute_ns").values + table.column("communication_exposed_ns").values
    assert np.array_equal(table.column("busy_ns").values, busy)
    assert (table.column("communication_hidden_ns").values <= table.column("compute_ns").values).all()


def us(table: ResultTable, *keys: str, row: int = 0) -> list[float]:
    return [int(table.column(key).values[row]) / 1000 for key in keys]


def test_communication_is_hidden_beside_compute_and_exposed_alone() -> None:
    table = steps_of(
        annotation("ProfilerStep#3", 0, 100),
        kernel("gemm", 10, 30),
        kernel(NCCL, 30, 30, stream=20),
        {**kernel("Memcpy DtoH", 55, 15, stream=9), "cat": "gpu_memcpy"},
    )
    assert table.column("step").values.tolist() == [3]
    assert us(table, "compute_ns", "communication_exposed_ns", "communication_hidden_ns") == [30, 20, 10]
    assert us(table, "copy_ns", "busy_ns", "kernel_sum_ns", "idle_other_ns") == [10, 50, 60, 40]


def test_the_device_waits_for_the_launch_until_the_call_has_returned() -> None:
    table = steps_of(
        annotation("ProfilerStep#1", 0, 100),
        call("cudaLaunchKernel", 5, 15, 1),
        kernel("a", 30, 10, correlation=1),
        call("cudaLaunchKernel", 35, 2, 2),
        kernel("b", 45, 5, correlation=2),
    )
    # To 20 nothing is launched; to 30 it is on its way. b was launched before a had ended.
    assert us(table, "idle_launch_ns", "idle_other_ns") == [20, 10 + 5 + 50]


def test_the_device_waits_for_data_and_for_the_host_that_waits_for_it() -> None:
    table = steps_of(
        annotation("ProfilerStep#1", 0, 100),
        annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 30),
        call("cudaLaunchKernel", 35, 5, 1),
        kernel("a", 40, 20, correlation=1),
        call("cudaStreamSynchronize", 50, 25, 9),
        call("cudaEventSynchronize", 0, 100, 10, tid=77),
        call("cudaLaunchKernel", 80, 5, 2),
        kernel("b", 90, 10, correlation=2),
    )
    assert us(table, *PARTS) == [30, 0, 0, 10 + 10, 30, 15, 5]


def test_work_that_ends_after_the_step_fills_only_the_step() -> None:
    table = steps_of(
        annotation("ProfilerStep#1", 0, 50),
        annotation("ProfilerStep#2", 50, 50),
        call("cudaLaunchKernel", 10, 5, 1),
        kernel("long", 40, 70, correlation=1),
    )
    assert table.column("kernels").values.tolist() == [1, 0]
    assert us(table, "kernel_sum_ns", "busy_ns") == [70, 10]
    assert us(table, "kernel_sum_ns", "busy_ns", row=1) == [0, 50]
    assert table.rows_of(0).tolist() == [3]
    assert table.rows_of(1).tolist() == []


def test_a_step_beyond_the_last_time_that_can_be_told_ends_there() -> None:
    table = steps_of(kernel("first", -4e15, 1), annotation("ProfilerStep#1", 4e15, 4e15))
    assert table.column("duration_ns").values.tolist() == [2**63 - 1 - 8 * 10**18]


def test_each_thread_has_its_own_steps() -> None:
    table = steps_of(
        annotation("ProfilerStep#1", 0, 50),
        annotation("ProfilerStep#1", 20, 80, tid=2),
        call("cudaLaunchKernel", 30, 5, 1, tid=2),
        kernel("of the second", 40, 10, correlation=1),
    )
    assert table.column("kernels").values.tolist() == [0, 1]
    assert us(table, "busy_ns") == [0]


def test_shadows_and_repetitions_are_no_steps_and_unfinished_ones_are_said() -> None:
    unfinished = annotation("ProfilerStep#2", 60, 1)
    del unfinished["dur"]
    shadow = {**kernel("ProfilerStep#1", 5, 50), "cat": "gpu_user_annotation"}
    step = annotation("ProfilerStep#1", 0, 50)
    table = steps_of(step, step, shadow, unfinished, annotation("ProfilerStep#one", 0, 5), kernel("k", 6, 1))
    assert table.column("step").values.tolist() == [1]
    assert table.notes == ("1 step has no end in the trace: left out.",)


def test_a_range_shows_the_steps_that_begin_in_it_unchanged() -> None:
    events = [annotation(f"ProfilerStep#{step}", step * 100, 90) for step in range(4)]
    events += [kernel("k", step * 100 + 10 * step, 5) for step in range(4)]
    index = TraceIndex(trace_of(*events))
    whole, part = summarize_steps(index), summarize_steps(index, Selection(100_000, 300_000))
    assert part.column("step").values.tolist() == [1, 2]
    for column in part.columns:
        assert column.values.tolist() == whole.column(column.key).values[1:3].tolist()
    assert part.rows_of(1).tolist() == whole.rows_of(2).tolist()
    assert summarize_steps(index, Selection(500_000, None)).empty == "No step begins in the selected range."


def test_without_gpu_work_no_time_of_a_device_is_known_and_the_table_says_so() -> None:
    table = steps_of(annotation("ProfilerStep#1", 0, 50), op("aten::mm", 5, 10))
    assert table.notes == (NO_GPU_WORK,)
    assert us(table, "duration_ns") == [50]


def test_what_is_zero_for_want_of_such_work_is_not_shown_at_first() -> None:
    def shown(*events: dict[str, Any]) -> set[str]:
        table = steps_of(annotation("ProfilerStep#1", 0, 100), *events)
        return {column.key for column in table.columns if column.shown}

    communication = {"communication_exposed_ns", "communication_hidden_ns"}
    assert shown(op("aten::mm", 10, 20)) == {"step", "duration_ns"}
    assert shown(kernel("gemm", 10, 30)).isdisjoint(communication)
    assert shown(kernel("gemm", 10, 30), kernel(NCCL, 30, 30)) == {
        *shown(kernel("gemm", 10, 30)),
        *communication,
    }


def test_steps_without_gpu_work_are_said(shared_cases: Path) -> None:
    table = summarize_steps(TraceIndex(read_slowly(shared_cases / "T25.json")))
    check_parts(table)
    assert len(table) == 32
    work = [(3, 8, 280_000), (17, 8, 280_000)]
    columns = [table.column(key).values.tolist() for key in ("step", "kernels", "kernel_sum_ns")]
    assert [row for row in zip(*columns, strict=True) if row[1]] == work
    assert "30 of 32 steps launched no GPU work." in table.notes


def test_a_kernel_outside_of_steps_is_said(shared_cases: Path) -> None:
    table = summarize_steps(TraceIndex(read_slowly(shared_cases / "T47.json")))
    check_parts(table)
    assert table.column("kernel_sum_ns").values.sum() == 240_000
    assert "1 kernel lies outside any step." in table.notes


def test_without_steps_the_reason_is_said(shared_cases: Path) -> None:
    table = summarize_steps(TraceIndex(read_slowly(shared_cases / "T46.json")))
    assert (len(table), table.empty) == (0, NO_STEPS)


@pytest.mark.parametrize("sample", ["mi250_minitoy", "mi300_bert_small", "a100_triton", "cpu_only"])
def test_the_parts_of_a_real_step_add_up_to_it(shared_cases: Path, sample: str) -> None:
    path = shared_cases.parents[1] / "data" / "traces" / f"{sample}.json.gz"
    table = summarize_steps(TraceIndex(read_slowly(path)))
    assert len(table)
    check_parts(table)
