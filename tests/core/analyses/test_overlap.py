"""Communication beside compute, for each device and step."""

from __future__ import annotations

import math
from typing import Any

from core.analyses.index import TraceIndex
from core.analyses.overlap import summarize_overlap
from core.tables.selection import WHOLE, Selection
from tests.helpers.traces import annotation, call, kernel, trace_of

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rows_of(*events: dict[str, Any], selection: Selection = WHOLE) -> list[tuple[Any, ...]]:
    table = summarize_overlap(TraceIndex(trace_of(*events)), selection)
    return [tuple(column.value(row) for column in table.columns) for row in range(len(table))]


def test_devices_are_apart_and_time_is_counted_once() -> None:
    assert rows_of(
        kernel(NCCL, 0, 20, stream=20),
        kernel(NCCL, 10, 20, stream=21),
        kernel("gemm", 25, 15),
        kernel("gemm", 25, 10, stream=8),
        kernel("gemm", 0, 50, device=1),
        kernel(NCCL, 100, 10, device=1),
    ) == [
        ("0", "all", 30_000, 15_000, 5_000, 25_000, 100 / 6),
        ("1", "all", 10_000, 50_000, 0, 10_000, 0.0),
    ]


def test_steps_hold_what_ran_during_them() -> None:
    found = rows_of(
        annotation("ProfilerStep#7", 0, 50),
        annotation("ProfilerStep#8", 50, 50),
        annotation("ProfilerStep#9", 100, 50),
        call("cudaLaunchKernel", 5, 1, 1),
        kernel(NCCL, 40, 20, correlation=1),
        kernel("gemm", 55, 20),
    )
    assert [row[1:6] for row in found] == [
        ("all", 20_000, 20_000, 5_000, 15_000),
        ("step 7", 10_000, 0, 0, 10_000),
        ("step 8", 10_000, 20_000, 5_000, 5_000),
        ("step 9", 0, 0, 0, 0),
    ]
    assert found[3][6] is None, "nothing to hide"
    assert math.isclose(found[0][6], 25.0)


def test_a_range_picks_kernels_and_steps_by_their_start() -> None:
    events = [annotation("ProfilerStep#1", 0, 50), annotation("ProfilerStep#2", 50, 50)]
    events += [kernel(NCCL, 10, 5), kernel(NCCL, 60, 5), kernel(NCCL, 120, 5)]
    found = rows_of(*events, selection=Selection(50_000, 100_000))
    assert [row[1:3] for row in found] == [("all", 5_000), ("step 2", 5_000)]


def test_without_communication_the_reason_is_said() -> None:
    table = summarize_overlap(TraceIndex(trace_of(kernel("gemm", 0, 5))))
    assert (len(table), table.empty) == (0, "No kernel of this part of the trace communicates.")
