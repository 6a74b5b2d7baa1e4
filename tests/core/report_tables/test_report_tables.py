"""Tables of reports: their golden cases, and what the handed reports and tables say in them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.export import write_csv
from core.readers.ncu_csv.reader import read_csv
from core.readers.ncu_report.reader import read_report
from core.report_tables.index import ReportIndex, shape_texts
from core.report_tables.registry import REPORT_ANALYSES, find_report_analysis
from core.tables.columns import MISSING, NO_ROW
from core.units import format_shape
from tests.fuzz.seed_reports import counted_report, seeds
from tests.helpers import ncu_reports as made
from tests.helpers.counted_launches import DRAM, counted, fp32

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.report_tables.registry import ReportAnalysis
    from core.tables.ncu import Report
    from core.tables.result import ResultTable

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def table(report: Report, name: str, launches: list[int] | None = None) -> ResultTable:
    chosen = None if launches is None else np.array(launches, np.int32)
    return find_report_analysis(name).summarize(ReportIndex(report), chosen)


def rows(found: ResultTable, *keys: str) -> list[tuple[Any, ...]]:
    columns = [found.column(key) for key in keys]
    return [tuple(column.value(row) for column in columns) for row in range(len(found))]


@pytest.fixture
def report(tmp_path: Path) -> Report:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(counted_report())
    return read_report(path)


@pytest.mark.parametrize("analysis", REPORT_ANALYSES, ids=lambda analysis: analysis.name)
def test_every_table_answers_as_before(
    analysis: ReportAnalysis, report: Report, golden: Callable[[str, str], None]
) -> None:
    found = analysis.summarize(ReportIndex(report), None)
    assert (found.name, found.title) == (analysis.name, analysis.title)
    text = io.StringIO()
    write_csv(found, None, [column.key for column in found.columns], text)
    notes = "".join(f"# {note}\n" for note in found.notes)
    golden(f"report_tables/{analysis.name}.csv", notes + text.getvalue().replace("\r\n", "\n"))


@pytest.mark.parametrize("analysis", REPORT_ANALYSES, ids=lambda analysis: analysis.name)
def test_every_table_answers_about_nothing(analysis: ReportAnalysis, tmp_path: Path) -> None:
    found = analysis.summarize(ReportIndex(counted(tmp_path)), None)
    assert (len(found), found.empty) == (0, "No kernels in this file.")
    of_one = counted(tmp_path, {})
    assert len(analysis.summarize(ReportIndex(of_one), np.empty(0, np.int32))) == 0


@pytest.mark.parametrize("name", ["kernels", "rules", "roofline", "sections", "metrics"])
def test_a_table_of_one_launch_holds_the_rows_of_that_launch(name: str, report: Report) -> None:
    found = table(report, name, [1])
    of_all = [row for row in rows(table(report, name), "launch", "full_name") if row[0] == 1]
    assert rows(found, "launch", "full_name") == of_all


def test_a_table_is_found_by_its_name() -> None:
    assert [find_report_analysis(each.name) for each in REPORT_ANALYSES] == list(REPORT_ANALYSES)
    with pytest.raises(KeyError):
        find_report_analysis("nothing")


def test_shapes_are_texts_and_missing_ones_none() -> None:
    ids, texts = shape_texts(np.array([[4, 1, 1], [MISSING] * 3, [4, 1, 1], [0, 2, 3]], np.int64))
    assert [None if each == NO_ROW else texts[each] for each in ids] == [
        format_shape((4, 1, 1)),
        None,
        format_shape((4, 1, 1)),
        format_shape((0, 2, 3)),
    ]


def test_a_kernel_says_where_it_ran(tmp_path: Path) -> None:
    path = tmp_path / "full.ncu-rep"
    path.write_bytes(made.full_report())
    found = table(read_report(path), "kernels")
    assert rows(found, "launch", "name", "grid", "block", "process", "stream", "nvtx") == [
        (
            0,
            "gemm",
            format_shape((64, 64, 1)),
            format_shape((256, 1, 1)),
            "/app/train (4242)",
            7,
            "step 3 / forward / epoch",
        ),
        (1, "range", None, None, "/app/train (4242)", 7, None),
    ]
    assert rows(found, "device") == [("NVIDIA H100 PCIe",)] * 2
    assert rows(found, "duration_ns", "sm_pct", "memory_pct", "dram_bytes_per_s") == [
        (25_792, 31.5, 26.25, None),
        (25_792, 31.5, 26.25, None),
    ]


def test_launches_of_one_shape_on_one_device_are_a_group(tmp_path: Path) -> None:
    """Durations that are missing count as launches and in nothing else."""
    times = [(5_000, 1), (7_000, 1), (None, 1), (20_000, 2), (None, 3)]
    launches = [{"gpu__time_duration.sum": time, "grid": grid, SM: 10.0 * grid} for time, grid in times]
    found = table(counted(tmp_path, *launches), "groups")
    assert rows(
        found, "grid", "launches", "sum_ns", "mean_ns", "min_ns", "max_ns", "share_pct", "sm_pct"
    ) == [
        (format_shape((2, 1, 1)), 1, 20_000, 20_000.0, 20_000, 20_000, 62.5, 20.0),
        (format_shape((1, 1, 1)), 3, 12_000, 6_000.0, 5_000, 7_000, 37.5, 10.0),
        (format_shape((3, 1, 1)), 1, None, None, None, None, 0.0, 30.0),
    ]
    assert [found.rows_of(row).tolist() for row in range(3)] == [[3], [0, 1, 2], [4]]


def test_a_hundred_launches_are_one_group(shared_cases: Path) -> None:
    """N16."""
    report = read_csv(shared_cases / "N16_repeat.csv")
    found = table(report, "groups")
    assert rows(found, "launches", "min_ns", "mean_ns", "max_ns") == [(100, 50_000, 50_495.0, 50_990)]
    assert found.rows_of(0).tolist() == list(range(100))
    assert len(table(report, "kernels")) == 100


def test_kernels_of_several_devices_stay_apart(shared_cases: Path) -> None:
    report = read_csv(shared_cases / "R05_devices.csv")
    assert len(table(report, "groups")) == 14
    found = table(report, "roofline")
    shares = {device: pct and round(pct, 1) for device, pct in rows(found, "device", "roof_pct")}
    assert shares["NVIDIA H100 80GB HBM3"] == 69.5
    assert shares["NVIDIA A100-SXM4-80GB"] == 220.3
    assert shares["Tesla V100-SXM2-16GB"] is shares["Some Future GPU 9000"] is shares["NVIDIA GB10"] is None
    above = dict(rows(found, "device", "above_roof"))
    assert {device for device, text in above.items() if text} == {
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA L4",
        "NVIDIA GB10",
    }
    assert any(note.startswith("Some Future GPU 9000: No data sheet is known for it") for note in found.notes)


def test_a_range_stands_with_all_its_types(shared_cases: Path) -> None:
    """N17."""
    found = table(read_csv(shared_cases / "N17_range.csv"), "roofline")
    assert rows(found, "name", "work_type", "fp32_intensity", "tensor_flop") == [
        ("range", "BF16 tensor", 0.125, 137_438_953_472)
    ]
    assert found.column("tensor_intensity").value(0) == pytest.approx(341.333, rel=1e-5)
    assert rows(table(read_csv(shared_cases / "N17_range.csv"), "kernels"), "grid", "block") == [(None, None)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("R01_tensor_only.csv", ("BF16 tensor", 687.19476736e12, 1024.0, "")),
        (
            "R02_no_tensor_metric.csv",
            (None, None, None, "tensor FLOP unknown: the tensor pipe ran 4,194,304 instructions"),
        ),
        ("R08_integer.csv", (None, 0.0, 0.0, "no floating-point work, DRAM 2.684 TB/s")),
        ("R10_zero_time.csv", ("FP32", None, 0.375, "duration 0")),
    ],
)
def test_handed_kernels_read_as_they_are_known(
    name: str, expected: tuple[Any, ...], shared_cases: Path
) -> None:
    found = table(read_csv(shared_cases / name), "roofline")
    assert rows(found, "work_type", "flop_per_s", "dram_intensity", "reason") == [expected]


def test_estimated_points_are_told_of(tmp_path: Path) -> None:
    opcodes = {"opcodes": {"HMMA.16816.F32": 10}}
    found = table(counted(tmp_path, fp32(5) | DRAM | opcodes), "roofline")
    assert rows(found, "origin", "flop") == [("estimated", 40_960.0)]
    assert found.notes[0] == "Tensor work of 1 kernel is estimated from counted instructions."


def test_a_point_stands_below_the_roof_of_its_profiled_clock_too(tmp_path: Path) -> None:
    """1,000 FLOP in 10 us at 0.001 FLOP a byte: the DRAM's 200 GB/s allow 200 MFLOP/s."""
    clocks = {
        "sm__cycles_elapsed.avg.per_second": 1e9,
        "dram__cycles_elapsed.avg.per_second": 1e9,
        "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 1000,
        "dram__bytes.sum.peak_sustained": 200,
    }
    found = table(counted(tmp_path, fp32(500) | DRAM | clocks, fp32(500) | DRAM), "roofline")
    assert rows(found, "profiled_roof_flop_per_s", "profiled_roof_pct") == [
        (pytest.approx(2e8), pytest.approx(50.0)),
        (None, None),
    ]


def test_a_point_without_figures_of_dram_has_its_roof_by_l2(tmp_path: Path) -> None:
    """1,000 FLOP in 10 us at 0.001 FLOP a byte of L2: its 32 * 10 bytes a ns allow 320 MFLOP/s."""
    clocks = {
        "sm__cycles_elapsed.avg.per_second": 1e9,
        "lts__cycles_elapsed.avg.per_second": 1e9,
        "dram__cycles_elapsed.avg.per_second": 1e9,
        "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 1000,
        "lts__lts2xbar_cycles_active.sum.peak_sustained": 10,
        "dram__bytes.sum.peak_sustained": 200,
    }
    cache = {"lts__lts2xbar_cycles_active.sum": 1_000_000 // 32}
    report = counted(
        tmp_path, fp32(500) | cache | clocks, fp32(500) | cache | DRAM | clocks, fp32(500) | clocks
    )
    found = table(report, "roofline")
    assert rows(found, "roof_level", "profiled_roof_flop_per_s", "profiled_roof_pct") == [
        ("L2", pytest.approx(3.2e8), pytest.approx(31.25)),
        ("DRAM", pytest.approx(2e8), pytest.approx(50.0)),
        (None, None, None),
    ]
    assert next(column for column in found.columns if column.key == "roof_level").shown
    shown = table(counted(tmp_path, fp32(500) | DRAM), "roofline")
    assert not next(column for column in shown.columns if column.key == "roof_level").shown


def test_the_roof_by_l2_is_that_of_the_data_sheet_where_it_states_one(tmp_path: Path) -> None:
    """For the H100 PCIe 6,950 GB/s of L2 are known."""
    cache = {"lts__lts2xbar_cycles_active.sum": 1_000_000 // 32}
    found = table(counted(tmp_path, fp32(500) | cache), "roofline")
    assert rows(found, "roof_flop_per_s") == [(pytest.approx(6950e9 * 0.001),)]


def test_rules_are_listed_without_markup_and_silent_ones_counted(tmp_path: Path) -> None:
    two = made.message(
        {
            1: "Two",
            2: "Two remarks",
            3: made.message(
                {1: [made.message({1: made.message({1: text, 2: 2})}) for text in ("One.", "Two.")]}
            ),
        }
    )
    silent = made.message({1: "Silent", 4: "SpeedOfLight"})
    found = table(counted(tmp_path, {"rules": [made.rule(), silent]}, {}, {"rules": [two]}), "rules")
    said = "See Scheduler Statistics at 0x14a9, the guide."
    assert rows(found, "launch", "rule", "kind", "title", "text", "links") == [
        (0, "Latency", "optimization", "Latency", said, "https://x.y/z"),
        (2, "Two", "warning", "Two remarks", "One.", None),
        (2, "Two", "warning", "Two remarks", "Two.", None),
    ]
    assert rows(found, "speedup_pct", "speedup_scope") == [(12.5, "global"), (None, None), (None, None)]
    assert found.notes == (
        "2 rules said something; a row a message, 3 in all.",
        "1 rule had nothing to say.",
    )


def test_metrics_are_exact_and_have_their_units(tmp_path: Path) -> None:
    values = {"a__bytes.sum": 2**63 + 1, "b__time_duration.sum": 50000.1, "c__text": "=1+1", "d__none": None}
    values["launch__shared_mem_config_size"] = 32_768
    found = table(counted(tmp_path, values), "metrics")
    said = {row[0]: row[1:] for row in rows(found, "metric", "shown", "exact", "value", "unit")}
    assert said["a__bytes.sum"][1:] == ("9223372036854775809", 2.0**63, "byte")
    assert said["b__time_duration.sum"] == (
        "50.00 \N{MICRO SIGN}s",
        "50000.1",
        50000.1,
        "ns",
    )
    assert said["launch__shared_mem_config_size"] == ("32.00 KiB", "32768", 32768.0, "byte")
    assert said["c__text"] == ("=1+1", "=1+1", None, None)
    assert said["d__none"] == (None, None, None, None)


def test_an_unknown_metric_keeps_the_unit_of_the_file(shared_cases: Path) -> None:
    """N19."""
    found = table(read_csv(shared_cases / "N19_split_bytes.csv"), "metrics")
    said = {row[0]: row[1:] for row in rows(found, "metric", "exact", "unit")}
    assert said["brand__new_metric.avg"] == ("5", "widget")


def test_sections_show_the_places_of_their_device(tmp_path: Path) -> None:
    """On 9.0 the place with options shows the newer metric, halved; what was not collected has no value."""
    path = tmp_path / "made.ncu-rep"
    texts = (*made.NAMES, "a__new.sum", "sm__cycles_active.avg")
    metrics = [*made.usual_metrics(), made.metric(10, made.integer(7)), made.metric(11, made.double(3.5))]
    path.write_bytes(made.report(made.block(results=[made.result(metrics, [made.section()])], texts=texts)))
    found = table(read_report(path), "sections")
    assert rows(found, "section", "table", "label", "exact", "unit", "metric") == [
        ("GPU Speed Of Light Throughput", "Table", "New", "3.5", "thing", "a__new.sum"),
        ("GPU Speed Of Light Throughput", "Suffixes", "SM Average", "3.5", "cycle", "sm__cycles_active.avg"),
    ]


@pytest.mark.parametrize("name", seeds())
def test_every_layout_of_a_file_fills_every_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(seeds()[name])
    report = read_csv(path) if name.endswith(".csv") else read_report(path)
    index = ReportIndex(report)
    for analysis in REPORT_ANALYSES:
        found = analysis.summarize(index, None)
        assert len(found) or found.empty
    assert len(table(report, "kernels")) == len(report.launches) > 0
