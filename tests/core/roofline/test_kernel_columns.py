"""What verdicts and a report add to the table of kernels of a trace, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from core.analyses.index import TraceIndex
from core.analyses.kernels import summarize_kernels
from core.roofline.kernel_columns import measure_kernels, with_kernel_columns
from core.roofline.matching import MatchKind
from core.roofline.verdict import Verdict, VerdictKind
from tests.helpers.made_launches import DURATION, report_of, throughputs
from tests.helpers.traces import call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.result import ResultTable

GEMM = "void gemm<128>(float*)"
SMALL, LARGE = (4, 1, 1), (8, 2, 1)


def placed(name: str, ts: float, dur: float, correlation: int, grid: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        op("aten::mm", ts - 5, 4),
        call("cudaLaunchKernel", ts - 4, 1, correlation),
        kernel(name, ts, dur, correlation=correlation, grid=list(grid), block=[256, 1, 1]),
    ]


EVENTS = [
    *placed(GEMM, 10, 30, 1, LARGE),
    *placed(GEMM, 50, 10, 2, SMALL),
    *placed("relu", 200, 5, 3, SMALL),
]


def launch(grid: tuple[int, ...], sm_pct: float, **more: Any) -> dict[str, Any]:
    same = {"kernel": "void gemm<(int)128>(float *)", "grid": grid, "block": (256, 1, 1)}
    return throughputs(sm_pct, 40.0, **{DURATION: 20_000, **same, **more})


def rows_of(table: ResultTable) -> dict[object, dict[str, Any]]:
    keys = [column.key for column in table.columns]
    rows = [{key: table.column(key).value(row) for key in keys} for row in range(len(table))]
    return {row["full_name"]: row for row in rows}


def test_counters_of_several_sizes_are_weighted_by_their_time_in_the_trace(tmp_path: Path) -> None:
    index = TraceIndex(trace_of(*EVENTS))
    measured = measure_kernels(index, report_of(tmp_path, launch(LARGE, 90.0), launch(SMALL, 10.0)))
    table = with_kernel_columns(summarize_kernels(index), {}, measured, "made.ncu-rep")
    gemm, relu = rows_of(table)[GEMM], rows_of(table)["relu"]
    assert gemm["launches"] == 2
    # 30 and 10 microseconds of the trace.
    assert gemm["sm_pct"] == pytest.approx((30 * 90.0 + 10 * 10.0) / 40)
    assert (relu["launches"], relu["sm_pct"], relu["memory_pct"]) == (0, None, None)
    assert table.notes[-1] == "Counters from made.ncu-rep, which has 1 of the trace's 2 kernel names."


def test_counters_of_the_sizes_that_were_profiled_stand_alone(tmp_path: Path) -> None:
    index = TraceIndex(trace_of(*EVENTS))
    measured = measure_kernels(index, report_of(tmp_path, launch(SMALL, 10.0)))
    assert measured is not None
    row = rows_of(with_kernel_columns(summarize_kernels(index), {}, measured, "made"))[GEMM]
    assert (row["launches"], row["sm_pct"]) == (1, 10.0)
    slices = index.trace.device_work.slice_row.tolist()
    how = [MatchKind(measured.matches.how[measured.kernel_of(each) or 0]) for each in slices]
    assert how == [MatchKind.OTHER_SIZE, MatchKind.NAME_AND_SIZE, MatchKind.ABSENT]
    # An operator.
    assert measured.kernel_of(0) is None


def test_a_report_of_other_kernels_measures_nothing(tmp_path: Path) -> None:
    index = TraceIndex(trace_of(*EVENTS))
    assert measure_kernels(index, report_of(tmp_path, throughputs(1.0, 1.0, kernel="unheard"))) is None
    other_size = launch((99, 1, 1), 10.0)
    assert measure_kernels(index, report_of(tmp_path, other_size)) is None


def test_a_verdict_stands_before_the_times_and_an_unknown_one_is_missing() -> None:
    index = TraceIndex(trace_of(*EVENTS))
    made = {
        GEMM: Verdict(kind=VerdictKind.COMPUTE_BOUND, words="It is.", confidence="modelled", evidence=()),
        "relu": Verdict(kind=VerdictKind.UNKNOWN, words="It is not.", confidence="modelled", evidence=()),
    }
    table = with_kernel_columns(summarize_kernels(index), made)
    assert [(name, row["verdict"]) for name, row in rows_of(table).items()] == [
        (GEMM, "Compute-bound"),
        ("relu", None),
    ]
    keys = [column.key for column in table.columns]
    assert keys.index("verdict") == keys.index("sum_ns") - 2
    assert "sm_pct" not in keys


def test_without_either_the_table_is_as_it_was() -> None:
    index = TraceIndex(trace_of(*EVENTS))
    table = summarize_kernels(index)
    again = with_kernel_columns(table, {})
    assert [each.key for each in again.columns] == [each.key for each in table.columns]
    assert again.notes == table.notes
