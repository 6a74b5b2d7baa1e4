"""Sections of made reports: what is drawn of a layout and values, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analyses.report_view.parts import (
    BarPart,
    LinePart,
    NotePart,
    Part,
    RooflinePart,
    RowPart,
    SectionView,
    SourcePart,
    TablePart,
    TimelinePart,
    TimelineRow,
)
from core.analyses.report_view.sections import has_values, section_views
from core.analyses.report_view.words import cell_text
from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.reader import read_report
from core.units import NO_BREAK_SPACE
from tests.helpers import ncu_reports as made
from tests.helpers.ncu_reports import Launch, item, launch_report, message, place, section_of

AXIS = message({1: "Pipe", 2: message({1: 0, 2: 100}), 3: 11})


def views(folder: Path, launch: Launch) -> tuple[SectionView, ...]:
    path = folder / "a.ncu-rep"
    path.write_bytes(launch_report(launch))
    report = read_report(path)
    assert report.problems == ()
    return section_views(report, 0, LaunchInstances(report, 0))


def view(folder: Path, *items: bytes, **launch: object) -> SectionView:
    (found,) = views(folder, Launch(sections=[section_of(*items)], **launch))  # type: ignore[arg-type]
    return found


def table(part: Part) -> list[list[str]]:
    assert isinstance(part, TablePart)
    return [[cell_text(cell).replace(NO_BREAK_SPACE, " ") for cell in row] for row in part.rows]


def test_a_table_is_folded_as_the_section_says(tmp_path: Path) -> None:
    metrics = [place(f"a__{n}.sum", f"Row {n}") for n in range(5)]
    values = {f"a__{n}.sum": n for n in range(5)}
    by_column = item(1, {1: "Down", 3: 2, 4: 1, 5: metrics})
    by_row = item(1, {1: "Across", 3: 2, 5: metrics})
    down, across = view(tmp_path, by_column, by_row, values=values).items
    assert table(down) == [["Row 0", "0", "Row 3", "3"], ["Row 1", "1", "Row 4", "4"], ["Row 2", "2", "", ""]]
    assert table(across) == [
        ["Row 0", "0", "Row 1", "1"],
        ["Row 2", "2", "Row 3", "3"],
        ["Row 4", "4", "", ""],
    ]
    assert isinstance(down, TablePart)
    assert [column.is_label for column in down.columns] == [True, False, True, False]


def test_what_was_not_measured_is_none_and_says_why(tmp_path: Path) -> None:
    metrics = [place("a__never.sum", "Never"), place("a__empty.sum", "Empty"), place("a__zero.sum", "Zero")]
    (part,) = view(tmp_path, item(1, {5: metrics}), values={"a__empty.sum": None, "a__zero.sum": 0}).items
    assert isinstance(part, TablePart)
    cells = [row[1] for row in part.rows]
    assert [cell and cell.value for cell in cells] == [None, None, 0]
    assert [cell and cell.help.split(".")[0] for cell in cells[:2]] == [
        "Not collected",
        "It was asked for and has no value for this launch",
    ]
    assert [row[1] for row in table(part)] == ["n/a", "n/a", "0"]


def test_a_place_shows_the_metric_of_the_device(tmp_path: Path) -> None:
    old = message({1: "a__old.sum", 3: message({2: 86})})
    new = message({1: "a__new.sum", 2: "New", 3: message({1: 90})})
    only_old = place("a__old.sum", "Gone", f6=message({2: 86}))
    metrics = [place("", "Place", f7=[old, new]), only_old]
    (part,) = view(tmp_path, item(1, {5: metrics}), values={"a__old.sum": 1, "a__new.sum": 2}).items
    assert table(part) == [["New", "2"]]


def test_items_for_other_devices_are_left_out_in_rows_too(tmp_path: Path) -> None:
    here = item(1, {1: "Here", 5: [place("a__x.sum")]}, only={1: 90})
    there = item(1, {1: "There", 5: [place("a__x.sum")]}, only={2: 89})
    (row,) = view(tmp_path, there, item(5, {1: [here, there]}), values={"a__x.sum": 1}).items
    assert isinstance(row, RowPart)
    assert [part.label for part in row.parts if isinstance(part, TablePart)] == ["Here"]


def test_a_value_is_multiplied_and_takes_the_unit_of_its_place(tmp_path: Path) -> None:
    metric = place("a__bytes.sum", "Half", f13=0.5, f5="thing")
    (part,) = view(tmp_path, item(1, {5: [metric]}), values={"a__bytes.sum": 8}).items
    assert table(part) == [["Half", "4 thing"]]


@pytest.mark.parametrize("multiplier", [float("inf"), float("nan")])
def test_a_multiplier_that_is_none_makes_no_value(tmp_path: Path, multiplier: float) -> None:
    metric = place("a__x.sum", "X", f13=multiplier)
    (part,) = view(tmp_path, item(1, {5: [metric]}), values={"a__x.sum": 8}).items
    assert table(part) == [["X", "n/a"]]


def test_a_breakdown_lists_what_was_collected_largest_first(tmp_path: Path) -> None:
    names = "sm__issue_active.avg.pct, lts__t_sectors.avg.pct,l1tex__f.avg.pct"
    metric = place("breakdown:m", "{UNIT}: {COMPOUND_NAME}")
    values = {
        "breakdown:m": names,
        "sm__issue_active.avg.pct": 10.0,
        "lts__t_sectors.avg.pct": 40.0,
    }
    (part,) = view(tmp_path, item(1, {5: [metric], 6: 1}), values=values).items
    assert table(part) == [["L2: Tag sectors", "40.0 %"], ["SM: Issue active", "10.0 %"]]
    assert isinstance(part, TablePart)
    assert part.note == "1 metric was not collected."


def test_a_pattern_finds_metrics_by_name(tmp_path: Path) -> None:
    pattern = r"regex:^(?=.*l1tex)(?=.*m_)(?!.*mem).*.sum$"
    values = {"l1tex__m_a.sum": 1, "l1tex__m_mem.sum": 2, "l1tex__m_b.avg": 3, "lts__m_c.sum": 4}
    (part,) = view(tmp_path, item(1, {5: [place(pattern)]}), values=values).items
    assert [row[1] for row in table(part)] == ["1"]


@pytest.mark.parametrize("pattern", ["(a+)+$", "((((", ".*.*.*.*.*a", "[", "a{9}", "(?=.*(a*)*)b", "**"])
def test_a_pattern_that_could_take_for_ever_finds_nothing(tmp_path: Path, pattern: str) -> None:
    (part,) = view(tmp_path, item(1, {5: [place(f"regex:{pattern}")]}), values={"a" * 200: 1}).items
    assert isinstance(part, TablePart)
    assert (part.rows, part.note) == ((), "Not collected.")


def test_a_table_by_source_line_leads_to_the_source(tmp_path: Path) -> None:
    values = {"group:g": "inst_executed", "inst_executed": 3}
    (part,) = view(tmp_path, item(7, {1: "Hot", 3: [place("group:g")]}), values=values).items
    assert isinstance(part, SourcePart)
    assert [(each.label, each.cell.metric, each.cell.value) for each in part.metrics] == [
        ("Instructions executed", "inst_executed", 3)
    ]


def test_bars_are_ordered_and_name_their_unit(tmp_path: Path) -> None:
    metrics = [place("a__1.avg.pct", "Low [%]"), place("a__2.avg.pct", "None"), place("a__3.avg.pct", "High")]
    chart = item(2, {1: "Bars", 3: message({1: "Pipes"}), 4: AXIS, 5: metrics, 6: 1})
    (part,) = view(tmp_path, chart, values={"a__1.avg.pct": 1.0, "a__3.avg.pct": 3.0}).items
    assert isinstance(part, BarPart)
    assert [(bar.label, bar.cell.value) for bar in part.bars] == [("High", 3.0), ("Low", 1.0), ("None", None)]
    assert (part.category.label, part.value.unit, part.value.low, part.value.high, part.value.ticks) == (
        "Pipes",
        "%",
        0.0,
        100.0,
        11,
    )


def test_bars_of_which_nothing_was_collected_are_none(tmp_path: Path) -> None:
    (part,) = view(tmp_path, item(2, {5: [place("a__x.sum"), place("a__y.sum")]})).items
    assert isinstance(part, BarPart)
    assert (part.bars, part.note) == ((), "Not collected.")


def test_bars_of_instances_are_named_by_their_keys(tmp_path: Path) -> None:
    opcodes = {"MOV": 2, "HMMA": 40, "NOP": None}
    chart = item(2, {5: [place("sass__opcodes", f4=1)]})
    (part,) = view(tmp_path, chart, instances={"sass__opcodes": opcodes}).items
    assert isinstance(part, BarPart)
    assert [(bar.label, bar.cell.value) for bar in part.bars] == [("HMMA", 40.0), ("MOV", 2.0)]


def test_very_many_bars_are_cut_and_it_is_said(tmp_path: Path) -> None:
    chart = item(2, {5: [place("inst", f4=1)]})
    (part,) = view(tmp_path, chart, instances={"inst": {n: n for n in range(300)}}).items
    assert isinstance(part, BarPart)
    assert (len(part.bars), part.bars[0].label, part.note) == (200, "299", "The largest 200 of 300.")


def test_a_histogram_counts_values(tmp_path: Path) -> None:
    chart = item(3, {1: "Spread", 5: [place("inst", f4=1)]})
    values = {n: 1.0 for n in range(30)} | {n: 21.0 for n in range(30, 40)}
    (part,) = view(tmp_path, chart, instances={"inst": values}).items
    assert isinstance(part, BarPart)
    assert [bar.cell.value for bar in part.bars] == [30, *[0] * 18, 10]
    assert part.bars[0].label == "1 to 2"
    (same,) = view(tmp_path, chart, instances={"inst": {1: 5.0, 2: 5.0}}).items
    assert isinstance(same, BarPart)
    assert [bar.cell.value for bar in same.bars] == [2]


def test_a_line_is_ordered_by_key_and_marks_the_launch(tmp_path: Path) -> None:
    curve = {3: 8.0, 1: 64.0, 2: 32.0}
    mark = message({1: [place("launch__registers_per_thread", "Registers")]})
    chart = item(4, {1: "Line", 2: AXIS, 3: AXIS, 4: [place("curve", "Warps", f4=1, f13=2.0)], 5: mark})
    (part,) = view(
        tmp_path, chart, values={"launch__registers_per_thread": 2}, instances={"curve": curve}
    ).items
    assert isinstance(part, LinePart)
    (series,) = part.series
    assert (series.label, series.xs.tolist(), series.ys.tolist()) == ("Warps", [1, 2, 3], [128, 64, 16])
    assert [(mark.label, mark.x) for mark in part.highlighted] == [("Registers", 2.0)]


def test_a_line_without_values_says_which_kind_of_nothing_it_is(tmp_path: Path) -> None:
    asked = item(4, {4: [place("asked", f4=1)]})
    never = item(4, {4: [place("never", f4=1)]})
    notes = [
        part.note
        for part in view(tmp_path, asked, never, values={"asked": 0}).items
        if isinstance(part, LinePart)
    ]
    assert notes == ["This launch has no values for it.", "Not collected."]


def test_a_suffix_table_names_its_cells_by_row_and_column(tmp_path: Path) -> None:
    suffixes = message({1: [message({1: ".avg", 2: "Average"}), message({1: ".sum", 2: "Sum"})]})
    bases = [
        place("sm__cycles_active", "SM"),
        place("lts__cycles_active", "L2"),
        place("x__y", "Other", f6=message({2: 80})),
    ]
    values = {"sm__cycles_active.avg": 10, "sm__cycles_active.sum": 40}
    (part,) = view(tmp_path, item(8, {1: "T", 2: suffixes, 3: message({1: bases})}), values=values).items
    assert isinstance(part, TablePart)
    assert [column.title for column in part.columns] == ["", "Average", "Sum"]
    assert table(part) == [["SM", "10 cycles", "40 cycles"]]
    assert part.note == "1 row was not collected."


def rate(metrics: list[bytes], clock: str) -> bytes:
    return message({3: message({1: metrics, 2: place(clock)})})


def roofline(shown_if: str = "") -> bytes:
    options = {1: "Roof"} | ({5: message({2: place(shown_if)})} if shown_if else {})
    roof = message(
        {1: rate([place("peak")], "clock"), 2: message({2: place("bytes_peak")}), 3: message(options)}
    )
    work = rate([place("add"), place("fma"), place("fma")], "clock")
    point = message({1: work, 2: message({2: place("bytes")}), 3: message({1: "Point"})})
    return item(6, {1: "Chart", 2: message({1: "AI"}), 3: message({1: "Work"}), 4: [roof], 5: [point]})


RATES = {"peak": 100.0, "clock": 2.0, "bytes_peak": 50.0, "add": 1.0, "fma": 3.0, "bytes": 7.0}


def test_a_roofline_sums_its_operands(tmp_path: Path) -> None:
    (part,) = view(tmp_path, roofline(), values=RATES).items
    assert isinstance(part, RooflinePart)
    (roof,) = part.roofs
    assert (roof.label, roof.peak_flop_per_s, roof.peak_bytes_per_s, roof.ridge_flop_per_byte) == (
        "Roof",
        200.0,
        50.0,
        4.0,
    )
    assert [(point.intensity, point.flop_per_s) for point in part.points] == [(2.0, 14.0)]
    assert (part.intensity_label, part.work_label, part.hidden, part.note) == ("AI", "Work", (), "")


@pytest.mark.parametrize("value", [0, None])
def test_a_roof_is_hidden_where_its_metric_is_0(tmp_path: Path, value: int | None) -> None:
    (part,) = view(tmp_path, roofline("tensor"), values=RATES | {"tensor": value}).items
    assert isinstance(part, RooflinePart)
    assert (part.roofs, part.points, part.hidden) == ((), (), ("Roof",))
    assert part.note == "The launch has no operations of these types."
    (shown,) = view(tmp_path, roofline("tensor"), values=RATES | {"tensor": 5}).items
    assert isinstance(shown, RooflinePart)
    assert len(shown.roofs) == len(shown.points) == 1


def test_a_roofline_tells_no_work_from_no_counters(tmp_path: Path) -> None:
    notes = []
    for values in (RATES | {"add": 0.0, "fma": 0.0}, {"peak": 1.0, "clock": 1.0}, {}):
        (part,) = view(tmp_path, roofline(), values=values).items
        assert isinstance(part, RooflinePart)
        assert part.points == ()
        notes.append(part.note)
    assert notes == [
        "The launch has no operations of these types.",
        "The counters of its work or traffic were not collected.",
        "Not collected.",
    ]


def test_an_operand_that_a_section_defines_is_computed(tmp_path: Path) -> None:
    definitions = message({1: [message({1: "fma", 2: "fma_count * 2"}), message({1: "loop", 2: "loop + 1"})]})
    values = {name: value for name, value in RATES.items() if name != "fma"} | {"fma_count": 1.5}
    section = section_of(roofline(), item(1, {5: [place("fma"), place("loop")]}), f10=definitions)
    (found,) = views(tmp_path, Launch(values=values, sections=[section]))
    chart, cells = found.items
    assert isinstance(chart, RooflinePart)
    assert [point.flop_per_s for point in chart.points] == [14.0]
    assert [row[1] for row in table(cells)] == ["3", "n/a"]


START = 1_700_000_000_000_000_000


def timeline(*names: str) -> bytes:
    metrics = [message({4: [place(name, name.upper(), f13=2.0)]}) for name in names]
    return item(113, {1: "Time", 2: [message({1: "Row", 4: metrics})]})


def test_series_of_two_replays_share_the_start_of_the_launch(tmp_path: Path) -> None:
    later = START + 10**9
    samples = {
        "a": {START + 10: 1.0, START: 0.0, START + 20: 2.0},
        "b": {later + n: float(n) for n in (0, 7, 14)},
        "profiler__timestamp_workload_start_0": {later + 7: 0.0},
        "profiler__timestamp_workload_end_0": {later + 12: 0.0},
        "profiler__timestamp_workload_start_1": {START + 10: 0.0},
    }
    (part,) = view(tmp_path, timeline("a", "b", "c"), samples=samples).items
    assert isinstance(part, TimelinePart)
    (row,) = part.rows
    assert [(each.label, each.times_ns.tolist(), each.values.tolist()) for each in row.series] == [
        ("A", [-10, 0, 10], [0.0, 2.0, 4.0]),
        ("B", [-7, 0, 7], [0.0, 14.0, 28.0]),
    ]
    assert (part.first_ns, part.last_ns, part.launch_end_ns) == (-10, 10, 5)


def test_without_the_start_of_the_launch_a_series_begins_at_its_first_sample(tmp_path: Path) -> None:
    (part,) = view(tmp_path, timeline("a"), samples={"a": {START: 1.0, START + 5: 1.0}}).items
    assert isinstance(part, TimelinePart)
    assert (part.rows[0].series[0].times_ns.tolist(), part.launch_end_ns) == ([0, 5], None)


def test_series_of_several_units_have_rows_and_scales_of_their_own(tmp_path: Path) -> None:
    names = ("l1__hit_rate.pct", "l1__wavefronts.avg", "l1__miss_rate.pct")
    tops = dict(zip(names, (20.0, 600.0, 30.0), strict=True))
    samples = {name: {START: 0.0, START + 5: top} for name, top in tops.items()}
    (part,) = view(tmp_path, timeline(*names, "absent"), samples=samples).items
    assert isinstance(part, TimelinePart)
    assert [(row.label, row.unit, row.largest, len(row.series)) for row in part.rows] == [
        ("Row: L1__HIT_RATE.PCT, L1__MISS_RATE.PCT", "%", 60.0, 2),
        ("Row: L1__WAVEFRONTS.AVG", "", 1200.0, 1),
    ]
    series = tuple(series for row in part.rows for series in row.series)
    with pytest.raises(ValueError, match="share no scale"):
        TimelineRow(label="Row", series=series)


def test_a_row_that_was_not_sampled_says_so(tmp_path: Path) -> None:
    (part,) = view(tmp_path, timeline("a")).items
    assert isinstance(part, TimelinePart)
    assert (part.rows[0].series, part.rows[0].note, part.note) == ((), "Not collected.", "Not collected.")


MEMORY = {
    "smsp__sass_inst_executed_op_shared_ld.sum": 10,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 12,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 2,
    "lts__t_sectors_srcunit_tex_op_read.sum": 100,
    "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum": 25,
    "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum": 75,
    "dram__bytes_read.sum": 3_000,
    "dram__bytes_write.sum": 1_000,
}


def test_memory_tables_show_their_rows_and_name_those_that_are_missing(tmp_path: Path) -> None:
    label = {1: "Memory"}
    shared, l2, device = view(tmp_path, *[item(n, label) for n in (101, 107, 104)], values=MEMORY).items
    assert table(shared) == [["Shared load", "10", "12", "n/a", "2"]]
    assert isinstance(shared, TablePart)
    first = shared.rows[0][1]
    assert first is not None
    # The title of the column tells it; exports have it all the same.
    assert first.unit == "inst"
    assert shared.note.startswith("Not collected: Shared load matrix, Shared store,")
    assert table(l2)[0][:7] == [
        "L1/TEX load",
        "n/a",
        "100",
        "n/a",
        "25",
        "75",
        "25.0 %",
    ]
    assert [(row[0], row[3]) for row in table(device)] == [
        ("Load", "3.000 kB"),
        ("Store", "1.000 kB"),
        ("Total", "4.000 kB"),
    ]


def test_an_older_name_fills_a_cell_of_memory(tmp_path: Path) -> None:
    values = {"sass__inst_executed_shared_loads": 7}
    (part,) = view(tmp_path, item(101, {1: "Shared"}), values=values).items
    assert table(part)[0][:2] == ["Shared load", "7"]


def test_links_are_rows_and_none_is_said(tmp_path: Path) -> None:
    values = {"nvlink__count_logical": 2.0}
    instances = {
        "nvlink__bandwidth": {0: 6e11, 1: 3e11},
        "nvlink__peer_access": {0: 1.0, 1: 0.0},
        "nvlink__dev1Id": {0: 1, 1: 3},
        "nvlink__source_ports": {0: "0,1", 1: "2,3"},
    }
    items = [item(109, {1: "Links"}), item(108, {1: "Topology"})]
    links, topology = view(tmp_path, *items, values=values, instances=instances).items
    assert [[row[0], row[2], row[4]] for row in table(links)] == [
        ["Link 0", "600.0 GB/s", "yes"],
        ["Link 1", "300.0 GB/s", "no"],
    ]
    assert [[row[2], row[4]] for row in table(topology)] == [["1", "0,1"], ["3", "2,3"]]
    found = view(tmp_path, *items, values={"nvlink__count_logical": 0.0})
    assert found.missing == "The device has no NVLink in use."
    assert view(tmp_path, *items).missing == "Not collected: run `ncu --section Made`."


def test_numa_texts_are_shown(tmp_path: Path) -> None:
    instances = {
        "numa__dev_display_name_all": {0: "NVIDIA H100"},
        "numa__cpu_affinity": {0: "0-25"},
        "numa__id_cpu": {0: "0"},
        "numa__id_memory": {0: "1"},
    }
    (part,) = view(tmp_path, item(112, {1: "NUMA"}), instances=instances).items
    assert table(part) == [["NVIDIA H100", "0-25", "0", "1"]]


def test_the_header_flows_into_columns_and_leaves_out_what_the_device_lacks(tmp_path: Path) -> None:
    places = [place(f"a__{n}.sum", f"H{n}") for n in range(3)]
    places.insert(1, place("a__old.sum", f6=message({2: 80})))
    section = section_of(f4=message({2: places}))
    (found,) = views(tmp_path, Launch(values={"a__0.sum": 5}, sections=[section]))
    assert [[(each.label, each.cell.value) for each in row] for row in found.header] == [
        [("H0", 5), ("H1", None)],
        [("H2", None)],
    ]
    (one_row,) = views(tmp_path, Launch(sections=[section_of(f4=message({1: 1, 2: places}))]))
    assert [len(row) for row in one_row.header] == [3]


@pytest.mark.parametrize(
    ("identifier", "sets", "option"),
    [
        ("SpeedOfLight", ["full"], "--set basic"),
        ("WorkloadDistribution", ["full"], "--set basic"),
        ("Occupancy", ["full"], "--section Occupancy"),
        ("SpeedOfLight_RooflineChart", ["full"], "--set roofline"),
        ("MemoryWorkloadAnalysis", ["detailed", "full"], "--set full"),
        ("MemoryWorkloadAnalysis_Tables", [], "--set full"),
        ("Nvlink", ["nvlink"], "--set nvlink"),
        ("Mine", [], "--section Mine"),
    ],
)
def test_an_empty_section_says_how_to_collect_it(
    tmp_path: Path, identifier: str, sets: list[str], option: str
) -> None:
    of_sets = [message({1: name}) for name in sets]
    section = section_of(item(1, {5: [place("a__x.sum")]}), f1=identifier, f8=of_sets)
    (found,) = views(tmp_path, Launch(sections=[section], values={name: 50.0 for name in made.NAMES[2:4]}))
    assert found.missing == f"Not collected: run `ncu {option}`."
    # Without these values the verdict asks for rooflines: one command is to collect both.
    with_roofline = {
        "SpeedOfLight": "--set roofline",
        "WorkloadDistribution": "--set roofline",
        "Occupancy": "--set roofline --section Occupancy",
    }
    (found,) = views(tmp_path, Launch(sections=[section]))
    assert found.missing == f"Not collected: run `ncu {with_roofline.get(identifier, option)}`."


def test_a_section_keeps_what_it_says_of_itself(tmp_path: Path) -> None:
    section = section_of(f3=7, f7="What it is.", f9="Parent")
    (found,) = views(tmp_path, Launch(sections=[section]))
    assert (found.identifier, found.title, found.order) == ("Made", "Made section", 7)
    assert (found.description, found.parent) == ("What it is.", "Parent")
    assert [(body.label, body.is_default) for body in found.bodies] == [("Body", True)]


def test_every_kind_of_item_becomes_a_part(tmp_path: Path) -> None:
    path = tmp_path / "full.ncu-rep"
    path.write_bytes(made.full_report())
    report = read_report(path)
    (found,) = section_views(report, 0, LaunchInstances(report, 0))
    kinds = [type(part) for part in found.items]
    assert kinds == [
        TablePart,
        BarPart,
        LinePart,
        RowPart,
        RooflinePart,
        SourcePart,
        TablePart,
        *[TablePart] * 10,
        TimelinePart,
        NotePart,
    ]
    assert [has_values(part) for part in found.items].count(True) == 1
    assert section_views(report, 1, LaunchInstances(report, 1)) == ()
    (rare,) = views(tmp_path, Launch(sections=[made.histogram()], instances={"inst_executed": {1: 2, 2: 4}}))
    assert [type(part) for part in rare.items] == [BarPart, TablePart, TablePart]


def test_rows_in_rows_end_somewhere(tmp_path: Path) -> None:
    nested = item(1, {5: [place("a__x.sum")]})
    for _ in range(40):
        nested = item(5, {1: [nested]})
    found = view(tmp_path, nested, values={"a__x.sum": 1})
    assert found.missing
