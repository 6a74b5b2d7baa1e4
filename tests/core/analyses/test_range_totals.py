"""The figures of a part of a trace."""

from __future__ import annotations

import pytest

from core.analyses.index import TraceIndex
from core.analyses.range_totals import RangeTotals, summarize_range
from core.analyses.totals import summarize_totals
from core.tables.selection import WHOLE, Selection
from tests.helpers.traces import call, kernel, op, trace_of


def index_of(*events: dict[str, object]) -> TraceIndex:
    return TraceIndex(trace_of(*events))


def test_a_kernel_counts_where_it_starts_and_keeps_busy_what_it_reaches_into() -> None:
    index = index_of(
        op("aten::mm", 0, 5),
        op("aten::mm", 105, 5),
        call("cudaLaunchKernel", 1, 2, 1),
        kernel("before", 80, 40, correlation=1),
        kernel("inside", 110, 30, stream=20),
        kernel("over_the_end", 190, 30),
    )
    found = summarize_range(index, Selection(100_000, 200_000))
    assert (found.kernels, found.kernel_sum_ns) == (2, 60_000)
    assert found.kernel_busy_ns == 40_000 + 10_000
    assert (found.span_ns, found.ops) == (100_000, 1)
    assert found.busy_pct == pytest.approx(50.0)


def test_busy_is_added_over_devices_and_its_share_is_of_all_of_them() -> None:
    index = index_of(kernel("a", 0, 10), kernel("b", 5, 10, device=1), kernel("c", 50, 10, device=1))
    found = summarize_range(index, Selection(0, 20_000))
    assert (found.kernel_busy_ns, found.devices) == (20_000, 2)
    assert found.busy_pct == pytest.approx(50.0)


def test_the_whole_has_the_figures_of_the_totals() -> None:
    index = index_of(
        op("aten::mm", 0, 5),
        kernel("ncclDevKernel_AllReduce", 10, 20),
        kernel("gemm", 20, 20, stream=20),
    )
    whole, found = summarize_totals(index), summarize_range(index, WHOLE)
    for name in ("kernels", "kernel_sum_ns", "kernel_busy_ns", "communication_ns", "span_ns", "ops"):
        assert getattr(found, name) == getattr(whole, name), name
    assert found.communication_ns == 20_000


def test_an_empty_trace_or_range_is_all_zeros() -> None:
    zeros = RangeTotals(
        kernels=0,
        kernel_sum_ns=0,
        kernel_busy_ns=0,
        span_ns=0,
        devices=0,
        communication_ns=0,
        memcpy=0,
        memset=0,
        ops=0,
    )
    assert summarize_range(index_of(), WHOLE) == zeros
    assert summarize_range(index_of(), Selection(5, 5)).busy_pct is None
