"""Kernels of a trace and launches of a report: the same ones are found, however they are spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.readers.ncu_report.reader import read_report
from core.readers.torch_trace.reader import read_trace
from core.roofline.kernel_spelling import same_kernels, spell
from core.roofline.matching import MatchKind, match_kernels, summarize_matches
from core.tables.trace import DeviceFacts
from core.units import format_shape
from tests.helpers.made_launches import DURATION, report_of, throughputs
from tests.helpers.traces import call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

SAME = [
    ("void gemm<128, 8>(float*, int)", "void gemm<(int)128, (int)8>(float *, int)"),
    ("f(float const*, unsigned int)", "f(const float *, unsigned int)"),
    ("void at::native::(anonymous namespace)::k<4>(int)", "void at::native::<unnamed>::k<(int)4>(int)"),
    ("void k<true, 4ul>(int)", "void k<(bool)1, (unsigned long)4>(int)"),
    ("void k<(a::B::Kind)1>(int)", "void k<(a::B::Kind)1>(int)"),
    (
        "void k<a::f(int)::{lambda(float)#1}>(int)",
        "void k<void a::f(int)::[lambda(float) (instance 1)]>(int)",
    ),
    (
        "void k<X::{lambda()#2}::operator()() const>(int)",
        "void k<X::[lambda() (instance 2)]::operator ()() const>(int)",
    ),
    ("void k<at::Array<char*, 2> >(int, at::Array<char*, 2>)", "void k<at::Array<char *, (int)2>>(int, T1)"),
    ("triton_poi_fused_0", "triton_poi_fused_0"),
    ("void silu_kernel<float>(float*)", "silu_kernel"),
]
OTHER = [
    ("void gemm<128, 8>(float*)", "void gemm<(int)128, (int)16>(float *)"),
    ("void k<a::{lambda(float)#1}>(int)", "void k<a::[lambda(float) (instance 2)]>(int)"),
    ("void k<true>(int)", "void k<(bool)0>(int)"),
    ("void k<float>(int)", "void k<double>(int)"),
    ("k1", "k2"),
    ("void ns::silu<float>(float*)", "void silu<float>(float *)"),
]


@pytest.mark.parametrize(("mine", "theirs"), SAME)
def test_two_spellings_of_one_kernel_match(mine: str, theirs: str) -> None:
    assert same_kernels([mine], [theirs]) == [(theirs,)]
    assert same_kernels([mine, "unlike"], ["unheard", theirs]) == [(theirs,), ()]


@pytest.mark.parametrize(("mine", "theirs"), OTHER)
def test_two_kernels_do_not(mine: str, theirs: str) -> None:
    assert same_kernels([mine], [theirs]) == [()]


def test_what_a_form_cannot_tell_apart_is_not_matched_by_it() -> None:
    short, long = "void k<4>(int, float*)", "void k<4>(long, float*)"
    # Their parameters alone tell them apart, and the report does not spell those out.
    assert same_kernels([short, long], ["void k<(int)4>(T1, float *)"]) == [(), ()]
    assert same_kernels([short], ["void k<(int)4>(T1, float *)", "void k<(int)4>(T2, float *)"]) == [()]
    assert same_kernels([short, long], ["void k<(int)4>(long, float *)"]) == [
        (),
        ("void k<(int)4>(long, float *)",),
    ]
    assert same_kernels(["void k<4>(int)", "void k<8>(int)"], ["k"]) == [(), ()]


@pytest.mark.parametrize("text", ["", "((((", "))))", "<<<<>", "a" * 100_000, "(" * 70_000, "\x00\ud800"])
def test_any_text_is_a_name(text: str) -> None:
    assert spell(text).bare is not None
    assert same_kernels([text], ["k"]) == [()]


def placed(name: str, ts: float, dur: float, correlation: int, **more: Any) -> list[dict[str, Any]]:
    return [
        op("aten::mm", ts - 5, 4),
        call("cudaLaunchKernel", ts - 4, 1, correlation),
        kernel(name, ts, dur, correlation=correlation, **more),
    ]


SIZE: dict[str, Any] = {"grid": [8, 2, 1], "block": [256, 1, 1]}
EVENTS = [
    *placed("void gemm<128>(float*)", 10, 30, 1, **SIZE),
    *placed("void gemm<128>(float*)", 50, 10, 2, **SIZE),
    *placed("void gemm<128>(float*)", 100, 20, 3, grid=[4, 1, 1], block=[256, 1, 1]),
    *placed("relu", 200, 5, 4, **SIZE),
    *placed("old_tool", 300, 5, 5),
]
GEMM = {"kernel": "void gemm<(int)128>(float *)", "grid": (8, 2, 1), "block": (256, 1, 1)}


def matched(tmp_path: Path, *launches: dict[str, Any]) -> dict[tuple[Any, Any], dict[str, Any]]:
    table = summarize_matches(TraceIndex(trace_of(*EVENTS)), report_of(tmp_path, *launches))
    keys = [column.key for column in table.columns]
    rows = [{key: table.column(key).value(row) for key in keys} for row in range(len(table))]
    return {(row["name"], row["grid"]): row for row in rows}


def test_counters_of_the_report_stand_beside_the_times_of_the_trace(tmp_path: Path) -> None:
    first = throughputs(90.0, 40.0, **GEMM, **{DURATION: 20_000, "dram__bytes.sum.per_second": 1e12})
    second = throughputs(80.0, None, **GEMM, **{DURATION: 30_000})
    rows = matched(tmp_path, first, second, throughputs(1.0, 1.0, kernel="unheard"))
    gemm = rows["gemm<128>", format_shape((8, 2, 1))]
    assert (gemm["calls"], gemm["sum_ns"], gemm["mean_ns"]) == (2, 40_000, 20_000)
    assert (gemm["launches"], gemm["profiled_ns"]) == (2, 25_000)
    # The mean of what was measured: nothing stands for a missing value.
    assert (gemm["sm_pct"], gemm["memory_pct"], gemm["dram_bytes_per_s"]) == (85.0, 40.0, 1e12)
    assert (gemm["flop_per_s"], gemm["match"]) == (None, "by name, grid and block")


def test_what_the_shapes_say_stands_beside_what_was_counted(tmp_path: Path) -> None:
    kind, name = "c10::BFloat16", "ampere_bf16_s16816gemm_bf16_128x64_tn"
    shapes: dict[str, Any] = {"Input Dims": [[64, 32], [32, 128]], "Input type": [kind, kind]}
    events = [
        op("aten::mm", 0, 4, **shapes),
        call("cudaLaunchKernel", 1, 1, 1),
        kernel(name, 10, 2, correlation=1, **SIZE),
        op("aten::mm", 20, 4, **shapes),
        call("cudaLaunchKernel", 21, 1, 2),
        kernel(name, 30, 6, correlation=2, **SIZE),
        op("aten::odd", 40, 4),
        call("cudaLaunchKernel", 41, 1, 3),
        kernel("odd", 50, 6, correlation=3, **SIZE),
    ]
    launch = throughputs(90.0, 40.0, kernel=name, grid=(8, 2, 1), block=(256, 1, 1), **{DURATION: 4_000})
    launch["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 2.0 * 64 * 32 * 128
    table = summarize_matches(TraceIndex(trace_of(*events)), report_of(tmp_path, launch))
    rows = {table.column("full_name").value(row): row for row in range(len(table))}
    product, odd = rows[name], rows["odd"]
    flop, moved = 2 * 64 * 32 * 128, 2 * (64 * 32 + 32 * 128 + 64 * 128)
    assert table.column("modelled_flop_per_s").value(product) == pytest.approx(2 * flop / 8e-6)
    assert table.column("modelled_bytes_per_s").value(product) == pytest.approx(2 * moved / 8e-6)
    assert table.column("flop_per_s").value(product) == pytest.approx(flop / 4e-6)
    assert table.column("modelled_flop_per_s").value(odd) is None
    assert table.column("modelled_bytes_per_s").value(odd) is None


def test_another_size_is_another_kernel_and_what_is_absent_has_no_counters(tmp_path: Path) -> None:
    rows = matched(tmp_path, throughputs(90.0, 40.0, **GEMM))
    small = rows["gemm<128>", format_shape((4, 1, 1))]
    assert small["match"] == "in the report with another grid or block only"
    assert (small["launches"], small["sm_pct"], small["profiled_ns"]) == (0, None, None)
    assert rows["relu", format_shape((8, 2, 1))]["match"] == "not in the report"


def test_without_a_recorded_size_the_name_decides_and_the_table_says_so(tmp_path: Path) -> None:
    rows = matched(tmp_path, throughputs(90.0, 40.0, kernel="old_tool"))
    assert rows["old_tool", None]["match"] == "by name; a grid or block is not recorded"
    assert rows["old_tool", None]["sm_pct"] == 90.0


def test_notes_count_what_was_found_and_what_was_not(tmp_path: Path) -> None:
    report = report_of(tmp_path, throughputs(90.0, 40.0, **GEMM), throughputs(1.0, 1.0, kernel="unheard"))
    index = TraceIndex(trace_of(*EVENTS, devices=(DeviceFacts(id=0, name="Tesla T4"),)))
    table = summarize_matches(index, report)
    notes = [note.replace("\N{NO-BREAK SPACE}", " ") for note in table.notes]
    assert notes == [
        "In the report: 1 of 4 kernels (57.1 % of kernel time).",
        "With another grid or block only: 1 kernel.",
        "Launches of the report that are not in the trace: 1 of 2.",
        "Other devices: Tesla T4 in the trace, NVIDIA H100 PCIe in the report.",
    ]
    assert table.column("name").value(0) == "gemm<128>"
    assert [len(table.rows_of(row)) for row in range(len(table))] == [2, 1, 1, 1]
    assert sum(index.trace.slices.duration_ns[table.rows_of(0)]) == 40_000


def test_each_piece_of_work_leads_to_its_launches(tmp_path: Path) -> None:
    report = report_of(tmp_path, throughputs(1.0, 1.0), throughputs(90.0, 40.0, **GEMM))
    matches = match_kernels(TraceIndex(trace_of(*EVENTS)), report)
    assert [matches.launches_of_work(place).tolist() for place in range(5)] == [[1], [1], [], [], []]
    assert matches.launches_of_work(99).tolist() == []
    assert sorted(matches.how.tolist()) == [
        MatchKind.ABSENT,
        MatchKind.ABSENT,
        MatchKind.OTHER_SIZE,
        MatchKind.NAME_AND_SIZE,
    ]
    assert matches.unmatched_launches == 1


def test_nothing_meets_nothing(tmp_path: Path) -> None:
    nobody = report_of(tmp_path)
    assert len(summarize_matches(TraceIndex(trace_of()), nobody)) == 0
    table = summarize_matches(TraceIndex(trace_of(*EVENTS)), nobody)
    assert np.isnan(table.column("sm_pct").values).all()
    assert "0 of 4 kernels (0.0" in table.notes[0]


def test_a_handed_trace_and_a_handed_report_name_the_same_kernel(shared_cases: Path) -> None:
    data = shared_cases.parents[1] / "data"
    report = read_report(data / "ncu" / "ncu2023.1_rtx-4090_2k.ncu-rep")
    index = TraceIndex(read_trace(data / "traces" / "a100_alexnet.json.gz"))
    table = summarize_matches(index, report)
    (row,) = [each for each in range(len(table)) if table.column("match").value(each) != "not in the report"]
    assert str(table.column("full_name").value(row)).startswith(
        "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, "
    )
    assert table.column("match").value(row) == "in the report with another grid or block only"
