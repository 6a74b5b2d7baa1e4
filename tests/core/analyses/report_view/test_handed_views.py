"""Views of the handed reports against their raw metrics and known figures (needs the handed samples)."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from core.analyses.report_view.occupancy import occupancy_view
from core.analyses.report_view.parts import BarPart, RooflinePart, SectionView, TablePart, TimelinePart
from core.analyses.report_view.rules import rule_views
from core.analyses.report_view.sections import section_views
from core.analyses.report_view.speed_of_light import speed_of_light
from core.analyses.report_view.stalls import stall_view
from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Instances, Report
from tests.fuzz.view_checks import check_launch, check_views

REPORTS = Path(__file__).parents[5] / "shared" / "data" / "ncu"
FILES = sorted(path.name for path in REPORTS.glob("*.ncu-rep"))
H100 = "ncu2025.1_h100-pcie_3k.ncu-rep"

pytestmark = pytest.mark.skipif(not FILES, reason="the handed reports are not on this machine")


@cache
def read(name: str) -> Report:
    return read_report(REPORTS / name)


def sections_of(name: str, row: int = 0) -> dict[str, SectionView]:
    report = read(name)
    return {view.identifier: view for view in section_views(report, row, LaunchInstances(report, row))}


@cache
def expected() -> dict[tuple[str, int], dict[str, str]]:
    text = (REPORTS / "expected.tsv").read_text()
    return {
        (row["file"], int(row["index"])): row for row in csv.DictReader(text.splitlines(), delimiter="\t")
    }


@pytest.mark.parametrize("name", FILES)
def test_everything_is_drawn(name: str) -> None:
    check_views(read(name))
    check_launch(read(name), len(read(name).launches) - 1)


@pytest.mark.parametrize("name", FILES)
def test_speed_of_light_and_rules_are_as_known(name: str) -> None:
    report = read(name)
    for row in range(len(report.launches)):
        known = expected()[name, row]
        light = speed_of_light(report, row, LaunchInstances(report, row))
        for bar, column in zip(light.bars, ("sm_pct", "memory_pct"), strict=False):
            if known[column] == "n/a":
                assert bar.pct is None
            else:
                assert bar.pct == pytest.approx(float(known[column]), rel=0.002, abs=1e-9)
        said = [rule for rule in report.rules[row] if rule.messages]
        views = rule_views(report, row, LaunchInstances(report, row))
        assert len(views) == len(said)
        estimates = [
            (view.speedup_scope == "local", -view.speedup_pct)
            for view in views
            if view.speedup_pct is not None
        ]
        # Those of the launch, then local ones, each kind with the largest first.
        assert estimates == sorted(estimates)


def test_rules_table_the_instructions_they_speak_of() -> None:
    report = read("ncu2023.2_rtx-3080_2k.ncu-rep")
    views = {view.identifier: view for view in rule_views(report, 0, LaunchInstances(report, 0))}
    table, remarks = views["UncoalescedGlobalAccess"].tables
    # 64 instructions of 14,336 sectors are the 917,504 of the launch.
    assert (table.label, table.note) == ("L2 Theoretical Sectors Global Excessive", "54 more instructions.")
    assert {row[1].value for row in table.rows if row[1] is not None} == {917_504 / 64}
    assert [row[1].value for row in remarks.rows if row[1] is not None] == ["0x7fb34fa5bff0 and 64 more"]


@pytest.mark.parametrize("name", FILES)
def test_the_largest_of_a_breakdown_is_the_bar_above_it(name: str) -> None:
    report = read(name)
    light = speed_of_light(report, 0, LaunchInstances(report, 0))
    for bar, breakdown in zip(light.bars[:2], (light.compute, light.memory), strict=True):
        if breakdown.rows:
            largest = breakdown.rows[0].cell.value
            assert bar.pct is not None
            assert largest == pytest.approx(bar.pct, rel=0.02)


@pytest.mark.parametrize("name", FILES)
def test_the_fp32_roofline_of_the_report_is_the_known_one(name: str) -> None:
    report = read(name)
    for row in range(min(3, len(report.launches))):
        known = expected()[name, row]
        view = sections_of(name, row).get("SpeedOfLight_RooflineChart")
        if view is None:
            continue
        (chart,) = [part for part in view.items if isinstance(part, RooflinePart)]
        roof = next(roof for roof in chart.roofs if roof.label.startswith("Single"))
        assert roof.peak_flop_per_s == pytest.approx(float(known["fp32_peak_flop_per_s"]), rel=0.002)
        assert roof.peak_bytes_per_s == pytest.approx(float(known["dram_peak_bytes_per_s"]), rel=0.002)
        points = {point.label.split()[0]: point for point in chart.points}
        if known["fp32_ai_dram"] == "n/a":
            assert "Single" not in points
        else:
            assert points["Single"].intensity == pytest.approx(float(known["fp32_ai_dram"]), rel=0.002)
            assert points["Single"].flop_per_s == pytest.approx(float(known["fp32_flop_per_s"]), rel=0.002)


@pytest.mark.parametrize("name", FILES)
def test_cells_are_the_raw_metrics(name: str) -> None:
    report = read(name)
    checked = 0
    for view in sections_of(name).values():
        cells = [each.cell for line in view.header for each in line]
        cells += [
            cell
            for part in view.items
            if isinstance(part, TablePart)
            for row in part.rows
            for cell in row
            if cell
        ]
        for cell in cells:
            if cell.metric and not cell.metric.startswith(("nvlink__", "numa__")):
                stored = report.metric(0, cell.metric)
                assert cell.value == stored or stored is None
                checked += 1
    assert checked >= 8


@pytest.mark.parametrize("name", FILES)
def test_computed_curves_of_occupancy_are_the_stored_ones(name: str) -> None:
    report = read(name)

    def none(metric_row: int) -> Instances:
        empty = np.empty(0, np.uint64)
        return Instances(empty, (), np.empty(0), empty.copy(), is_time_series=False)

    for row in range(len(report.launches)):
        stored = {
            part.label: part for part in occupancy_view(report, row, LaunchInstances(report, row)).curves
        }
        computed = occupancy_view(report, row, none)
        assert (computed.origin, len(computed.curves)) == ("computed", 2)
        for part in computed.curves:
            of_key = dict(zip(part.series[0].xs.tolist(), part.series[0].ys.tolist(), strict=True))
            series = stored[part.label].series[0]
            known = [
                (key, warps)
                for key, warps in zip(series.xs.tolist(), series.ys.tolist(), strict=True)
                if key in of_key
            ]
            assert len(known) >= 64
            assert [of_key[key] for key, _ in known] == [warps for _, warps in known]


def test_stalls_add_up_to_the_cycles_an_instruction_took() -> None:
    report = read(H100)
    found = stall_view(report, 0, LaunchInstances(report, 0))
    assert found.cycles_per_issue == pytest.approx(
        report.metric(0, "smsp__average_warp_latency_per_inst_issued.ratio"), rel=1e-3
    )
    assert (found.bars[0].key, round(found.bars[0].cycles, 2)) == ("long_scoreboard", 48.75)
    assert sum(bar.share_pct for bar in found.bars) == pytest.approx(100.0)


def test_samples_of_both_replays_lie_around_the_launch() -> None:
    report = read(H100)
    (part,) = [part for part in sections_of(H100)["PmSampling"].items if isinstance(part, TimelinePart)]
    assert [(row.label, row.unit) for row in part.rows] == [
        ("Overview: Blocks Launched", "block"),
        ("Overview: SM Active Cycles", "cycle"),
        ("Overview: Executed Ipc Active", "inst/cycle"),
        ("SM", "%"),
        ("DRAM", "%"),
        ("L1 Cache: Hit Rate", "%"),
        ("L1 Cache: Wavefronts (Data)", ""),
    ]
    duration_ns = int(report.launches.duration_ns[0])
    assert part.launch_end_ns == pytest.approx(duration_ns, rel=0.01)
    for series in (series for row in part.rows[:4] for series in row.series):
        busy = series.times_ns[np.flatnonzero(series.values > 0)]
        if len(busy):
            assert -5_000 < busy[0] < busy[-1] < duration_ns + 5_000
    hits = part.rows[5].series[0]
    assert hits.metric == "pmsampling:l1tex__t_sector_hit_rate.pct"
    assert part.rows[5].largest == pytest.approx(38.5293, abs=1e-4)
    assert part.rows[6].largest == pytest.approx(1180.6579, abs=1e-4)
    assert np.flatnonzero((hits.values > 0) & (hits.times_ns > 0) & (hits.times_ns < duration_ns)).size > 100


def test_memory_tables_agree_with_each_other() -> None:
    tables = {
        part.label: part
        for part in sections_of(H100)["MemoryWorkloadAnalysis_Tables"].items
        if isinstance(part, TablePart)
    }
    device = {row[0].value: row for row in tables["Device Memory"].rows if row[0] is not None}
    moved = [cell.value for name in ("Load", "Store", "Total") if (cell := device[name][3]) is not None]
    assert moved == [467_704_320, 252_374_272, 467_704_320 + 252_374_272]
    rate = device["Total"][4]
    assert rate is not None
    assert rate.value == read(H100).metric(0, "dram__bytes.sum.per_second")
    l2 = {row[0].value: row for row in tables["L2 Cache"].rows if row[0] is not None}
    hit_rate = l2["Total"][6]
    assert hit_rate is not None
    assert hit_rate.value == pytest.approx(read(H100).metric(0, "lts__t_sector_hit_rate.pct"), abs=0.2)


@pytest.mark.parametrize("name", ["ncu2020.3_a100-pcie-40gb_1k.ncu-rep", H100])
def test_instructions_of_memory_are_shown_by_the_names_of_each_version(name: str) -> None:
    tables = {
        part.label: part
        for part in sections_of(name)["MemoryWorkloadAnalysis_Tables"].items
        if isinstance(part, TablePart)
    }
    loads = next(row[1] for row in tables["L1/TEX Cache"].rows if row[0] and row[0].value == "Global load")
    assert loads is not None
    assert loads.value == read(name).metric(0, "sass__inst_executed_global_loads")
    assert loads.value


def test_roofs_of_tensor_cores_are_hidden_where_they_were_not_used() -> None:
    view = sections_of(H100)["SpeedOfLight_HierarchicalTensorRooflineChart"]
    (chart,) = [part for part in view.items if isinstance(part, RooflinePart)]
    assert (len(chart.hidden), chart.roofs, chart.points) == (84, (), ())


def test_opcodes_add_up_to_all_instructions() -> None:
    view = sections_of(H100)["InstructionStats"]
    (bars,) = [part for row in view.items for part in getattr(row, "parts", ()) if isinstance(part, BarPart)]
    counts = [bar.cell.value for bar in bars.bars]
    assert counts == sorted(counts, key=lambda count: -float(count or 0))
    assert sum(float(count or 0) for count in counts) == read(H100).metric(0, "smsp__inst_executed.sum")
