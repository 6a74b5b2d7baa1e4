"""Kernels grouped and listed: sums, shares, percentiles, and what is no sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.categories import Category
from core.analyses.index import TraceIndex
from core.analyses.kernels import GroupBy, summarize_kernels
from core.analyses.launches import list_launches
from core.analyses.merged import merge_traces
from core.analyses.work import summarize_work
from core.roofline.modelled import modelled_points
from core.tables.columns import NO_ROW
from core.tables.selection import Selection
from core.tables.trace import DEVICE_KINDS
from core.units import format_shape
from tests.helpers.traces import annotation, call, kernel, op, trace_of
from tests.helpers.training_trace import GEMM, training_trace

if TYPE_CHECKING:
    from core.tables.result import ResultTable


def column(table: ResultTable, key: str) -> list[Any]:
    return [table.column(key).value(row) for row in range(len(table))]


def rows(table: ResultTable, *keys: str) -> list[tuple[Any, ...]]:
    return list(zip(*(column(table, key) for key in keys), strict=True))


def test_kernels_of_a_name_are_one_row_and_the_largest_sum_comes_first() -> None:
    trace = trace_of(
        kernel("small", 0, 1), kernel("large", 10, 50), kernel("small", 70, 3), kernel("small", 80, 2)
    )
    table = summarize_kernels(TraceIndex(trace))
    assert rows(table, "name", "calls", "sum_ns", "min_ns", "max_ns", "p50_ns", "p99_ns", "mean_ns") == [
        ("large", 1, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000.0),
        ("small", 3, 6_000, 1_000, 3_000, 2_000, 3_000, 2_000.0),
    ]
    assert column(table, "share_pct") == [pytest.approx(100 * 50 / 56), pytest.approx(100 * 6 / 56)]
    assert [table.rows_of(row).tolist() for row in range(2)] == [[1], [0, 2, 3]]


def test_a_kernel_is_called_the_same_in_every_table_of_a_trace() -> None:
    """Names that would read the same get numbers: those of the trace, not of what a table lists first."""
    inputs: dict[str, Any] = {"Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]}
    trace = trace_of(
        op("aten::mm", 0, 9, **inputs),
        call("cudaLaunchKernel", 2, 1, 1),
        kernel("f(int)", 20, 1),
        kernel("f(float)", 40, 50, correlation=1),
        kernel("f(long)", 100, 3),
    )
    index = TraceIndex(trace)
    expected = dict(rows(list_launches(index), "full_name", "name"))
    assert len(set(expected.values())) == 3
    late = Selection(start_ns=30_000)
    for table in (summarize_kernels(index), summarize_kernels(index, late), summarize_work(index)):
        for full, short in rows(table, "full_name", "name"):
            assert (full, short) == (full, expected[full])
    points = modelled_points(index)
    texts = points.strings
    for full, short in zip(points.name_id.tolist(), points.short_name_id.tolist(), strict=True):
        assert texts[short] == expected[texts[full]]


def test_an_impossible_time_is_a_call_and_in_no_figure() -> None:
    """Case T10."""
    trace = trace_of(kernel("k", 0, 10), kernel("k", 20, -40), kernel("only impossible", 30, -1))
    table = summarize_kernels(TraceIndex(trace))
    assert rows(table, "name", "calls", "impossible", "sum_ns", "mean_ns", "min_ns") == [
        ("k", 2, 1, 10_000, 10_000.0, 10_000),
        ("only impossible", 1, 1, 0, None, None),
    ]
    assert "2 kernels with an impossible time, in no sum." in table.notes


@pytest.mark.parametrize(
    ("group_by", "expected"),
    [
        (GroupBy.CATEGORY, [("GEMM", 2), ("Elementwise", 1), ("Other", 1)]),
        (GroupBy.OP, [("aten::mm", 2), ("aten::relu", 1), ("No operator known", 1)]),
        (GroupBy.STEP, [("Step 4", 2), ("Step 5", 1), ("Outside any step", 1)]),
        (GroupBy.DEVICE, [("Device 0", 3), ("Device 1", 1)]),
        (
            GroupBy.STREAM,
            [("Device 0, stream 7", 2), ("Device 0, stream 9", 1), ("Device 1, stream 7", 1)],
        ),
        (GroupBy.MODULE, [("No module known", 4)]),
        (GroupBy.SHORT_NAME, [("gemm", 2), ("relu_kernel", 1), ("lonely", 1)]),
    ],
)
def test_kernels_are_grouped_by_what_they_have_in_common(
    group_by: GroupBy, expected: list[tuple[str, int]]
) -> None:
    trace = trace_of(
        annotation("ProfilerStep#4", 0, 100),
        annotation("ProfilerStep#5", 100, 100),
        op("aten::mm", 0, 60),
        call("cudaLaunchKernel", 10, 5, 1),
        call("cudaLaunchKernel", 40, 5, 2),
        op("aten::relu", 110, 20),
        call("cudaLaunchKernel", 115, 5, 3),
        kernel("gemm", 20, 40, correlation=1),
        kernel("gemm", 70, 40, correlation=2, stream=9),
        kernel("relu_kernel", 150, 30, correlation=3),
        kernel("lonely", 900, 5, device=1),
    )
    table = summarize_kernels(TraceIndex(trace), group_by=group_by)
    assert rows(table, "name", "calls") == expected
    assert sum(column(table, "sum_ns")) == 115_000


@pytest.mark.parametrize(
    ("group_by", "end"), [(GroupBy.DEVICE, "device 0"), (GroupBy.STREAM, "device 0, stream 7")]
)
def test_devices_that_ranks_number_alike_stay_apart(group_by: GroupBy, end: str) -> None:
    one = trace_of(kernel("gemm", 0, 40), rank=0)
    two = trace_of(kernel("gemm", 0, 30), kernel("gemm", 50, 30), rank=1)
    table = summarize_kernels(TraceIndex(merge_traces((one, two), (0, 0)).trace), group_by=group_by)
    assert rows(table, "name", "calls", "sum_ns") == [
        (f"Rank 1, {end}", 2, 60_000),
        (f"Rank 0, {end}", 1, 40_000),
    ]


def test_a_row_of_kernels_of_several_kinds_says_so() -> None:
    trace = trace_of(kernel("gemm", 0, 40), kernel("ncclDevKernel_AllReduce", 50, 40))
    table = summarize_kernels(TraceIndex(trace), group_by=GroupBy.DEVICE)
    assert column(table, "category") == ["Several"]


def test_the_share_stays_of_all_kernels_when_only_some_categories_are_shown() -> None:
    index = TraceIndex(training_trace())
    everything = summarize_kernels(index)
    some = summarize_kernels(index, categories=[Category.GEMM])
    assert column(some, "full_name") == [GEMM]
    assert column(some, "share_pct") == column(everything, "share_pct")[:1]
    copies = summarize_kernels(index, categories=[Category.MEMCPY], kinds=DEVICE_KINDS)
    assert rows(copies, "name", "calls", "sum_ns") == [("Memcpy HtoD (Pinned -> Device)", 2, 24_000)]


def test_adjoining_selections_add_up_to_the_whole() -> None:
    index = TraceIndex(training_trace())
    parts = [Selection(None, 638_000), Selection(638_000, 1_700_001), Selection(1_700_001, None)]
    whole = summarize_kernels(index)
    for key in ("calls", "sum_ns", "impossible"):
        assert sum(sum(column(summarize_kernels(index, part), key)) for part in parts) == sum(
            column(whole, key)
        )
    assert sum(len(list_launches(index, part)) for part in parts) == len(list_launches(index)) == 15


def test_clock_skew_is_in_no_mean_of_launch_delays() -> None:
    """Case T32."""
    trace = trace_of(
        op("c10d::alltoall_", 100, 60),
        call("cuLaunchKernelEx", 110, 12, 31),
        call("cuLaunchKernelEx", 130, 12, 32),
        kernel("k", 106, 25, correlation=31),
        kernel("k", 150, 25, correlation=32),
    )
    index = TraceIndex(trace)
    table = summarize_kernels(index)
    assert column(table, "launch_delay_mean_ns") == [20_000.0]
    assert table.notes == ("1 kernel with a start before the launch (clock skew), in no launch delay.",)
    assert rows(list_launches(index), "launch_delay_ns", "clock_skew_ns") == [(None, 4_000), (20_000, None)]


def test_launches_come_by_start_with_what_is_known_of_each() -> None:
    inputs: dict[str, Any] = {"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}
    shape: dict[str, Any] = {
        "grid": [132, 1, 1],
        "block": [384, 1, 1],
        "registers per thread": 168,
        "shared memory": 1024,
    }
    trace = trace_of(
        op("aten::mm", 0, 60, **inputs),
        call("cudaLaunchKernel", 10, 5, 1),
        kernel("late", 90, 5, **{"est. achieved occupancy %": 19}),
        kernel("gemm", 20, 40, correlation=1, **shape),
    )
    table = list_launches(TraceIndex(trace))
    keys = (
        "full_name",
        "start_ns",
        "grid",
        "block",
        "registers",
        "shared_memory_bytes",
        "occupancy_pct",
        "op",
    )
    assert rows(table, *keys) == [
        ("gemm", 20_000, format_shape((132, 1, 1)), format_shape((384, 1, 1)), 168, 1024, None, "aten::mm"),
        ("late", 90_000, None, None, None, None, 19.0, None),
    ]
    assert rows(table, "input_dims", "input_types") == [("[[2,3],[3,4]]", '["float","float"]'), (None, None)]
    assert column(table, "slice_row") == [3, 2]
    assert table.rows_of(0).tolist() == [3]


def test_a_table_without_kernels_says_what_there_is_instead() -> None:
    """Case T35, and a trace of the CPU alone."""
    copy = {**kernel("Memcpy HtoD", 0, 10), "cat": "gpu_memcpy"}
    clear = {**kernel("Memset", 20, 2), "cat": "gpu_memset"}
    assert (
        summarize_kernels(TraceIndex(trace_of(copy, clear))).empty
        == "No kernels; 1 copy (10.00 µs) and 1 set (2.000 µs)."
    )
    assert "Operators" in summarize_kernels(TraceIndex(trace_of(op("aten::add", 0, 5)))).empty
    called = summarize_kernels(TraceIndex(trace_of(op("aten::add", 0, 5), call("cudaLaunchKernel", 1, 1, 1))))
    assert called.empty == "No kernels in this trace, though it holds 1 call into the GPU's runtime."
    selected = summarize_kernels(TraceIndex(trace_of(kernel("k", 5, 5))), Selection(100, 200))
    assert (len(selected), selected.empty) == (0, "No kernels in the selected part of this trace.")


def test_hostile_names_stay_names_apart() -> None:
    """Case T49."""
    names = ["", "a>>b", "<b>bold</b>", "=1+1", "two\nlines", "\u202ertl", "x" * 4096, "x" * 4095 + "y"]
    table = summarize_kernels(TraceIndex(trace_of(*(kernel(n, 10 * i, 1) for i, n in enumerate(names)))))
    assert sorted(column(table, "full_name")) == sorted(names)
    assert len(set(column(table, "name"))) == len(names)


def test_the_whole_of_many_kernels_is_as_plain_counting_says() -> None:
    random = np.random.default_rng(11)
    names, lengths = random.integers(0, 40, 3000).tolist(), random.integers(0, 900, 3000).tolist()
    events = [
        kernel(f"k{n}", 1000 * i, t, stream=n % 3)
        for i, (n, t) in enumerate(zip(names, lengths, strict=True))
    ]
    table = summarize_kernels(TraceIndex(trace_of(*events)))
    for name, calls, total in rows(table, "name", "calls", "sum_ns"):
        mine = [t for n, t in zip(names, lengths, strict=True) if f"k{n}" == name]
        assert (calls, total) == (len(mine), 1000 * sum(mine))
    assert column(table, "sum_ns") == sorted(column(table, "sum_ns"), reverse=True)
    assert NO_ROW not in table.column("name").values
