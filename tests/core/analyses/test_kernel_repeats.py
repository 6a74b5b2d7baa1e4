"""Kernels without an operator: fewer of them than a window are no reason to stumble."""

from __future__ import annotations

import pytest

from core.analyses.index import TraceIndex
from core.analyses.kernel_repeats import IN_A_ROW
from core.tables.columns import NO_ROW
from tests.helpers.traces import kernel, trace_of


@pytest.mark.parametrize("count", [0, 1, IN_A_ROW // 2, IN_A_ROW - 2, IN_A_ROW - 1, IN_A_ROW, IN_A_ROW + 1])
def test_any_number_of_kernels_without_an_operator_is_looked_at(count: int) -> None:
    work = TraceIndex(trace_of(*(kernel(f"k{place}", place, 1) for place in range(count)))).kernel_work
    assert work.work_row.tolist() == [NO_ROW] * count
