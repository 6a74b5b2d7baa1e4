"""Every handed report against its known figures, through the command line (needs the handed samples)."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from core.analyses.ncu_roofline import evaluate_rate, measured_roofline
from core.cli import main
from core.errors import DashboardError
from core.readers.ncu_report.details import read_instances
from core.readers.ncu_report.reader import read_report
from core.roofline.ceilings import above_roof, ceilings_of_device, ceilings_of_report
from core.roofline.measured import WORK_TYPES, measured_points, measured_work
from core.roofline.points import WorkType
from core.tables.columns import NO_ROW
from core.tables.ncu import Report
from core.tables.ncu_sections import RooflineChart, RooflineLine

REPORTS = Path(__file__).parents[4] / "shared" / "data" / "ncu"


def expected() -> dict[str, list[dict[str, str]]]:
    path = REPORTS / "expected.tsv"
    text = path.read_text() if path.is_file() else ""
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    by_file: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_file.setdefault(row["file"], []).append(row)
    return by_file


def summary(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["summary", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found: dict[str, Any] = json.loads(printed.out)
    return found


def number(text: str) -> float | None:
    return None if text == "n/a" else float(text)


def shape(text: str) -> list[int]:
    return [int(side) for side in text.split("x")]


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_a_report_holds_the_known_figures(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(REPORTS / name, capsys)
    rows = expected()[name]
    assert (found["kind"], found["problems"], len(found["results"])) == ("ncu_report", [], len(rows))
    for result, row in zip(found["results"], rows, strict=True):
        assert result["kernel"][:160] == row["kernel"]
        grid, block = result["grid"], result["block"]
        assert block == shape(row["block"])
        # Reports up to 2020.2 store, and the table quotes, threads where later ones have blocks.
        threads = [blocks * side for blocks, side in zip(grid, block, strict=True)]
        assert (threads if found["tool_version"] is None else grid) == shape(row["grid"])
        counts = [result["metrics"], result["sections"], result["rules"]]
        assert counts == [int(row["n_metrics"]), int(row["n_sections"]), int(row["n_rules"])]
        duration = number(row["duration_ns"])
        assert duration is not None
        # The figures there are rounded to six digits.
        assert float(f"{result['duration_ns']:.6g}") == duration
        roofline = result["rooflines"]["fp32"]
        rates = {
            "sm_pct": result["sm_pct"],
            "memory_pct": result["memory_pct"],
            "dram_bytes_per_s": result["dram_bytes_per_s"],
            "fp32_peak_flop_per_s": roofline["peak_flop_per_s"],
            "dram_peak_bytes_per_s": roofline["peak_bytes_per_s"],
            "fp32_flop_per_s": roofline["flop_per_s"],
            "fp32_ai_dram": roofline["intensity"],
        }
        for key, value in rates.items():
            wanted = number(row[key])
            assert value == (None if wanted is None else pytest.approx(wanted, rel=1e-5)), key


CUT = (
    "ncu2020.1_v100-sxm2-32gb_1k.ncu-rep",
    "ncu2022.4_gtx-1660-ti_4k.ncu-rep",
    "ncu2025.1_rtx-2060-super_10k.ncu-rep",
)


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", CUT)
def test_a_report_cut_at_every_percent_keeps_what_is_whole(name: str, tmp_path: Path) -> None:
    data = (REPORTS / name).read_bytes()
    whole = read_report(REPORTS / name)
    path = tmp_path / "cut.ncu-rep"
    counts = []
    for percent in range(100):
        path.write_bytes(data[: len(data) * percent // 100])
        try:
            found = read_report(path)
        except DashboardError:
            counts.append(0)
            continue
        assert found.problems
        counts.append(len(found.launches))
        kept = [whole.strings[row] for row in whole.launches.name_id.tolist()[: counts[-1]]]
        assert [found.strings[row] for row in found.launches.name_id.tolist()] == kept
    assert counts == sorted(counts)
    assert counts[-1] in (len(whole.launches), len(whole.launches) - 1)


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_stored_rooflines_say_what_the_counters_say(name: str) -> None:
    """The report's own chart of single precision, evaluated, against our formulas."""
    report = read_report(REPORTS / name)
    for row in range(len(report.launches)):
        by_formula = measured_roofline(report, row, "fp32")
        for line, is_roof in single_precision_lines(report, row):
            found = (evaluate_rate(report, row, line.work), evaluate_rate(report, row, line.traffic))
            peaks = (by_formula.peak_flop_per_s, by_formula.peak_bytes_per_s)
            achieved = (by_formula.flop_per_s, by_formula.bytes_per_s)
            assert found == pytest.approx(peaks if is_roof else achieved, rel=1e-9)


def single_precision_lines(report: Report, row: int) -> list[tuple[RooflineLine, bool]]:
    sections = [report.sections[each] for each in report.launch_sections[row]]
    charts = [
        placed.item
        for section in sections
        if section.identifier == "SpeedOfLight_RooflineChart"
        for body in section.bodies
        for placed in body.items
        if isinstance(placed.item, RooflineChart)
    ]
    lines = [(line, True) for chart in charts for line in chart.roofs]
    lines += [(line, False) for chart in charts for line in chart.points]
    return [(line, is_roof) for line, is_roof in lines if line.label.startswith("Single Precision")]


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_values_by_instruction_add_up_to_their_metric(name: str) -> None:
    report = read_report(REPORTS / name)
    for row in range(min(len(report.launches), 2)):
        metric_row = report.metric_row(row, "inst_executed")
        if metric_row == NO_ROW:
            continue
        instances = read_instances(report, metric_row)
        assert len(instances) == report.metrics.instances[metric_row]
        assert int(instances.integer.sum()) == report.metric(row, "inst_executed")


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_points_stand_where_the_known_figures_say(name: str) -> None:
    """From counts and durations, where the known figures come from rates."""
    work = measured_work(read_report(REPORTS / name))
    for row, known in enumerate(expected()[name]):
        rate, intensity = number(known["fp32_flop_per_s"]), number(known["fp32_ai_dram"])
        flop = float(work.flop[row, WORK_TYPES.index(WorkType.FP32)])
        if rate is not None:
            assert flop / work.duration_ns[row] * 1e9 == pytest.approx(rate, rel=2e-5)
        if intensity is not None:
            assert work.intensity(row, WorkType.FP32) == pytest.approx(intensity, rel=2e-5)


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_no_point_lies_above_its_ceilings(name: str) -> None:
    report = read_report(REPORTS / name)
    points = measured_points(report)
    for row in range(len(points)):
        device = report.device_of(row)
        assert device is not None
        assert device.name is not None
        assert above_roof(points, row, ceilings_of_report(report, row)) is None
        assert above_roof(points, row, ceilings_of_device(device.name)) is None
