"""Made-up tables of ``ncu --csv`` in every layout: what is read of them, what is noted, what is refused."""

from __future__ import annotations

import gzip
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.cli import main
from core.errors import DashboardError
from core.files import describe_path
from core.readers import reader_of
from core.readers.ncu_csv import rows, text
from core.readers.ncu_csv.reader import read_csv
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu_terms import DRAM_BYTES, DRAM_BYTES_PER_S, DURATION, MEMORY_PCT, SM_PCT
from core.tables.ncu_units import base_unit

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.ncu import Report

START = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name"]
KNOWN = [*START, "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
LONG = [*KNOWN, "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
RULES = ["Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"]
LAUNCH = ["0", "42", "python", "host-7", "void norm<float, 4>(int)", "1", "7", "(384, 1, 1)", "(132, 2, 1)"]
ON = ["0", "9.0"]
SOL = "GPU Speed Of Light Throughput"
RAW = [*KNOWN, DURATION, DRAM_BYTES, SM_PCT]
UNITS = [*[""] * 11, "ns", "byte", "%"]


def line(cells: list[str], delimiter: str = ",", quote: str = '"') -> str:
    return delimiter.join(f"{quote}{cell}{quote}" for cell in cells) + "\n"


def launch(number: int = 0, name: str = LAUNCH[4], device: list[str] = ON) -> list[str]:
    return [str(number), *LAUNCH[1:4], name, *LAUNCH[5:], *device]


def raw(*values: list[str], units: list[str] = UNITS) -> str:
    """A raw page with a launch for each three values."""
    lines = [line(launch(number) + each) for number, each in enumerate(values)]
    return "".join([line(RAW), line(units), *lines])


def long(*metrics: tuple[str, str, str, str]) -> str:
    """A details page of one launch."""
    return line(LONG) + "".join(line(launch() + list(each)) for each in metrics)


def read(folder: Path, content: str | bytes, name: str = "made.csv") -> Report:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert describe_path(path).kind == "ncu_csv"
    return read_csv(path)


def refusal(folder: Path, content: str | bytes) -> DashboardError:
    path = folder / "made.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reader = reader_of(describe_path(path).kind)
    assert reader is not None
    assert reader.name == "ncu_csv"
    with pytest.raises(DashboardError) as caught:
        reader.load()(path)
    return caught.value


def codes(report: Report) -> dict[str, int]:
    return {problem.code: problem.count for problem in report.problems}


def values(report: Report, row: int = 0) -> list[object]:
    return [report.metric(row, name) for name in (DURATION, DRAM_BYTES, SM_PCT)]


def test_a_raw_page_has_its_columns(tmp_path: Path) -> None:
    report = read(tmp_path, raw(["200000", "134217728", "92.1"]))
    launches = report.launches
    assert (report.kind, report.name, report.problems) == ("ncu_csv", "made.csv", ())
    assert [report.strings[row] for row in launches.name_id.tolist()] == ["void norm<float, 4>(int)"]
    assert launches.duration_ns.tolist() == [200_000]
    assert (launches.block.tolist(), launches.grid.tolist()) == ([[384, 1, 1]], [[132, 2, 1]])
    assert (launches.context[0], launches.stream[0]) == (1, 7)
    # Its "ID" counts results: it is no number of a call.
    assert (launches.api_call_id[0], launches.created_ns[0], launches.mangled_name_id[0]) == (
        MISSING,
        MISSING,
        NO_ROW,
    )
    assert [(each.id, each.name, each.host) for each in report.processes] == [(42, "python", "host-7")]
    assert [(each.id, each.compute_capability) for each in report.devices] == [(0, 90)]
    assert values(report) == [200_000, 134_217_728, 92.1]
    assert report.metric_names.units == ("ns", "byte", "%")


def test_integers_are_exact(tmp_path: Path) -> None:
    report = read(tmp_path, raw([str(2**53 + 1), "18446744073709551615", "5"]))
    assert values(report) == [2**53 + 1, 2**64 - 1, 5]


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["200,000", "134,217,728", "92.10"], "point"),
        (["200.000", "134.217.728", "92,10"], "comma"),
        (["200000", "134217728", "92,1"], "comma"),
        (["200 000", "134\u202f217\u202f728", "92,1"], "comma"),
        (["200'000", "134'217'728", "92.1"], "apostrophe"),
        (["2e5", "1.34217728E+08", "92.1"], "exponent"),
        (["200000 (1; 2; 3)", "134217728", "(!) 92.1"], "instances, and a doubted value"),
    ],
)
def test_numbers_are_read_as_the_whole_file_writes_them(
    cells: list[str], decimal: str, tmp_path: Path
) -> None:
    report = read(tmp_path, raw(cells))
    assert (values(report), decimal) == ([200_000, 134_217_728, 92.1], decimal)
    assert report.launches.duration_ns.tolist() == [200_000]
    assert report.devices[0].compute_capability == 90
    assert report.problems == ()


def test_numbers_that_fit_both_ways_are_doubted_and_odd_ones_out_are_na(tmp_path: Path) -> None:
    report = read(tmp_path, raw(["200.000", "50.000", "12"]))
    assert (values(report), codes(report)) == ([200.0, 50.0, 12], {"doubtful_numbers": 1})
    report = read(tmp_path, raw(["200.5", "1,234.5", "12,5"], ["0.123", "5", "6.25"]))
    assert values(report) == [200.5, 1234.5, None]
    assert codes(report) == {"mixed_numbers": 1}


@pytest.mark.parametrize("absent", ["n/a", "nan", "(!) n/a", "inf", "-inf", "", " N/A ", "-nan(ind)"])
def test_what_was_not_measured_is_none_and_never_zero(absent: str, tmp_path: Path) -> None:
    report = read(tmp_path, raw([absent, absent, "5"], ["0", "0", "5"]))
    assert (values(report, 0), values(report, 1)) == ([None, None, 5], [0, 0, 5])
    assert report.launches.duration_ns.tolist() == [MISSING, 0]
    assert np.isnan(report.column(DRAM_BYTES)[0])
    assert codes(report) == {"no_duration": 1}


def test_numbers_that_cannot_be_are_na_and_counted_with_their_lines(tmp_path: Path) -> None:
    report = read(tmp_path, raw(["-5", "1e400", "5"], ["7", "1e400", "-3"], ["-5", "8", "-1e999"]))
    assert [values(report, row) for row in range(3)] == [[None, None, 5], [7, None, -3], [None, 8, None]]
    assert report.launches.duration_ns.tolist() == [MISSING, 7, MISSING]
    assert codes(report) == {"too_large": 3, "negative_duration": 2}
    assert [each.places for each in report.problems] == [("line 3", "line 4", "line 5"), ("line 3", "line 5")]
    assert report.problems[1].message == "2 results with a duration below 0: read as n/a."
    page = long((SOL, "Duration", "us", "-2.5"), (SOL, "Memory Throughput", "%", "1e400"))
    report = read(tmp_path, page)
    assert report.launches.duration_ns.tolist() == [MISSING]
    assert [(each.code, each.places) for each in report.problems] == [
        ("too_large", ("line 3",)),
        ("negative_duration", ("line 2",)),
    ]


def test_units_are_scaled_by_column(tmp_path: Path) -> None:
    for units in (["us", "Mbyte", "%"], ["usecond", "Mbyte", ""], ["msecond", "Gbyte", "%"]):
        factor = 1 if units[0] != "msecond" else 1_000
        cells = [f"{200 / factor:.4f}", f"{134.22 / factor:.5f}", "92.1"]
        report = read(tmp_path, raw(cells, units=[*[""] * 11, *units]))
        assert values(report) == [200_000, 134_220_000, 92.1]
        assert report.metric_names.units == ("ns", "byte", "%")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("nsecond", ("ns", 0)),
        ("s", ("ns", 9)),
        ("Kbyte/block", ("byte/block", 3)),
        ("Gbyte/second", ("byte/s", 9)),
        ("byte/ns", ("byte/s", 9)),
        ("cycle/usecond", ("Hz", 6)),
        ("Ghz", ("Hz", 9)),
        ("register/thread", ("register/thread", 0)),
        ("inst/cycle", ("inst/cycle", 0)),
        ("widget", ("widget", 0)),
        ("", ("", 0)),
    ],
)
def test_printed_units_have_a_base_unit(printed: str, expected: tuple[str, int]) -> None:
    assert base_unit(printed) == expected


def test_a_details_page_is_scaled_by_row_and_known_by_labels(tmp_path: Path) -> None:
    report = read(
        tmp_path,
        long(
            (SOL, "Duration", "ms", "0.05"),
            (SOL, "Compute (SM) Throughput", "%", "12.00"),
            (SOL, "Memory Throughput", "%", "80.10"),
            (SOL, "DRAM Frequency", "Mhz", "2,610.00"),
            ("Memory Workload Analysis", "Memory Throughput", "Tbyte/s", "2.68"),
            ("Launch Statistics", "Grid Size", "", "264"),
            ("Launch Statistics", "Function Cache Configuration", "", "CachePreferNone"),
            ("Load Metrics", "sector/req", "", "4"),
        ),
    )
    assert (len(report.launches), report.launches.duration_ns.tolist()) == (1, [50_000])
    assert [report.metric(0, name) for name in (SM_PCT, MEMORY_PCT, DRAM_BYTES_PER_S)] == [12, 80.1, 2.68e12]
    assert report.metric(0, "dram__cycles_elapsed.avg.per_second") == 2.61e9
    assert report.metric(0, "launch__grid_size") == 264
    assert report.metric(0, "launch__func_cache_config") == "CachePreferNone"
    assert report.metric(0, "Load Metrics: sector/req") == 4
    assert [each.identifier for each in report.sections] == [
        "SpeedOfLight",
        "MemoryWorkloadAnalysis",
        "LaunchStats",
        "Load Metrics",
    ]
    assert report.launch_sections == ((0, 1, 2, 3),)
    assert [each.options[0].label for each in report.sections[0].header][:2] == [
        "Duration",
        "Compute (SM) Throughput",
    ]


def test_two_metrics_of_one_name_are_kept_apart_by_unit_or_section(tmp_path: Path) -> None:
    mine = ("Mine", "Throughput", "%", "40"), ("Mine", "Throughput", "Kbyte/s", "3")
    absent = (
        (SOL, "Memory Throughput", "", "n/a"),
        ("Memory Workload Analysis", "Memory Throughput", "", "n/a"),
    )
    report = read(tmp_path, long(*mine, *absent, (SOL, "Duration", "", "n/a"), (SOL, "Duration", "us", "2")))
    assert report.metric_names.texts == (
        "Mine: Throughput",
        "Mine: Throughput [byte/s]",
        MEMORY_PCT,
        DRAM_BYTES_PER_S,
        DURATION,
    )
    assert report.metric_names.units == ("%", "byte/s", "%", "byte/s", "ns")
    assert [report.metric(0, name) for name in report.metric_names.texts] == [40, 3_000, None, None, 2_000]
    assert report.problems == ()


def test_of_two_values_the_first_is_kept_and_a_contradiction_noted(tmp_path: Path) -> None:
    twice = (
        (SOL, "Duration", "us", "50.00"),
        ("Mine", "Duration", "ms", "0.05"),
        ("Other", "Duration", "us", "9"),
    )
    report = read(tmp_path, long(*twice))
    assert report.launches.duration_ns.tolist() == [50_000]
    assert codes(report) == {"repeated_metric": 1}


def test_older_details_have_other_labels_and_no_device(tmp_path: Path) -> None:
    head = [
        "ID",
        "Process ID",
        "Process Name",
        "Host Name",
        "Kernel Name",
        "Kernel Time",
        "Context",
        "Stream",
    ]
    start = ["0", "42", "cfd", "127.0.0.1", "step(int,float*)", "2020-May-29 12:02:46", "1", "7"]
    metrics = [
        ["GPU Speed Of Light", "Memory Frequency", "cycle/usecond", "877.5"],
        ["GPU Speed Of Light", "SM [%]", "%", "22.48"],
        ["GPU Speed Of Light", "Memory [%]", "%", "39.60"],
        ["GPU Speed Of Light", "Duration", "nsecond", "8992"],
    ]
    content = line([*head, *LONG[11:]]) + "\n" + "".join(line(start + each) for each in metrics)
    report = read(tmp_path, content)
    assert (report.launches.duration_ns.tolist(), report.devices) == ([8992], ())
    assert report.launches.device_row.tolist() == [NO_ROW]
    assert [report.metric(0, name) for name in (SM_PCT, MEMORY_PCT)] == [22.48, 39.6]
    assert report.metric(0, "dram__cycles_elapsed.avg.per_second") == 877.5e6


def test_rules_stand_beside_the_metrics_and_short_rows_are_whole(tmp_path: Path) -> None:
    metric = line([*launch(), SOL, "Duration", "us", "5"])
    rule = [
        *launch(),
        "SpeedOfLight",
        "",
        "",
        "",
        "SOLBottleneck",
        "OPT",
        "Memory is used more.",
        "global",
        "34.6",
    ]
    again = [*launch(), "SpeedOfLight", "", "", "", "SOLBottleneck", "INF", "Look, at L2.", "", ""]
    content = line(LONG + RULES) + metric + line(rule) + line(again) + metric.replace("\n", ",\n")
    report = read(tmp_path, content)
    assert (len(report.launches), report.problems) == (1, ())
    (found,) = report.rules[0]
    assert (found.identifier, found.section) == ("SOLBottleneck", report.sections[0].identifier)
    assert [(each.kind, each.text) for each in found.messages] == [
        ("optimization", "Memory is used more."),
        ("info", "Look, at L2."),
    ]
    assert (found.speedup_pct, found.speedup_scope) == (34.6, "global")


def test_nvtx_ranges_are_read(tmp_path: Path) -> None:
    stack = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    spans = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    tail = ":none" * 6
    opened = (
        f'77  ""<default domain>:train:a{tail}""  ""<default domain>:layer 3{tail}""  ""nccl:reduce{tail}"" '
    )
    cells = ["0", "42", opened, f"3:<default domain>:epoch{tail}", "k", "5"]
    content = line(["ID", "Process ID", stack, spans, "Kernel Name", DURATION]) + line(
        ["", "", "", "", "", "ns"]
    )
    report = read(tmp_path, content + line(cells))
    nvtx = report.nvtx
    assert [report.strings[row] for row in nvtx.name_id.tolist()] == ["train:a", "layer 3", "reduce", "epoch"]
    assert [report.strings[row] for row in nvtx.domain_id.tolist()] == ["", "", "nccl", ""]
    assert nvtx.depth.tolist() == [0, 1, 0, NO_ROW]
    assert nvtx.thread_id.tolist() == [77, 77, 77, MISSING]
    assert report.metric_names.texts == (DURATION,)


def test_output_of_the_program_and_false_headers_are_passed_over(tmp_path: Path) -> None:
    table = raw(["200000", "1", "92.1"], ["50000", "2", "12"]).splitlines(keepends=True)
    content = (
        "[rank 0] warm\n==PROF== Connected to process 42 (/usr/bin/python)\n"
        'step 0, loss 3.21, "warm"\n"an open quote\nID of run: 7\nepoch,loss,lr\n'
        '"ID","Kernel Name","Process ID"\nnothing below it\n'
        '==PROF== Profiling "norm" - 0: 0%....50%....100% - 41 passes\n'
        "==WARNING== Clocks are not locked, figures vary.\n"
        + "".join(table[:3])
        + "step 1, loss 3.1\n\n==PROF== Profiling\n"
        + table[3]
        + '"bye"\n==PROF== Disconnected from process 42\n1,2,3,4,5\n'
    )
    report = read(tmp_path, content)
    assert report.launches.duration_ns.tolist() == [200_000, 50_000]
    (problem,) = report.problems
    assert (problem.code, problem.places) == ("tool_warning", ("line 10",))
    assert problem.message == "The tool reported 1 warning: Clocks are not locked, figures vary."


def test_of_a_long_message_the_start_is_quoted(tmp_path: Path) -> None:
    (problem,) = read(tmp_path, "==ERROR== " + "x" * 10_000 + "\n" + raw(["5", "1", "2"])).problems
    assert problem.message == "The tool reported 1 error: " + "x" * 400 + "."


def test_rows_that_do_not_fit_are_refused_by_their_line(tmp_path: Path) -> None:
    table = raw(*[["200000", "1", "92.1"]] * 6).splitlines(keepends=True)
    table[2] = table[2].replace('"42",', "")
    table[3] = table[3].replace('"92.1"', '"92.1","7"')
    table[4] = 'loss 3"' + table[4][1:]
    table[6] = table[6].replace('"1",', '"1,', 1)
    table[7] = table[7][:-3]
    report = read(tmp_path, "".join(table))
    assert report.launches.duration_ns.tolist() == [200_000]
    (problem,) = report.problems
    assert (problem.code, problem.count) == ("misaligned_row", 5)
    assert problem.places == ("line 3", "line 4", "line 5", "line 7", "line 8")
    assert problem.message == "5 rows with cells that do not fit the header: left out."


def test_a_details_row_without_one_cell_is_not_taken_for_a_short_one(tmp_path: Path) -> None:
    whole = [*launch(), SOL, "Duration", "us", "5", "", "", "", "", ""]
    content = line(LONG + RULES) + line(whole) + line(whole[:3] + whole[4:]) + line(whole[:13] + whole[14:])
    report = read(tmp_path, content)
    assert (len(report.launches), codes(report)) == (1, {"misaligned_row": 2})


def test_a_row_with_a_line_break_in_quotes_is_one_row(tmp_path: Path) -> None:
    table = raw(["200000", "1", "92.1"], ["5", "1", "2"]).replace("norm<float, 4>", "norm<\nfloat>", 1)
    report = read(tmp_path, table)
    assert report.launches.duration_ns.tolist() == [200_000, 5]
    assert report.strings[0] == "void norm<\nfloat>(int)"


def test_every_launch_device_and_process_is_kept(tmp_path: Path) -> None:
    name = "device__attribute_display_name"
    content = line([*RAW, name]) + line([*UNITS, ""])
    for number in range(100):
        cells = launch(number, device=[str(number % 2), ["9.0", "10.0"][number % 2]])
        cells[1] = str(42 + number // 50)
        content += line(
            [*cells, str(50_000 + number), "1", "2", ["NVIDIA H100 PCIe", "NVIDIA B200"][number % 2]]
        )
    report = read(tmp_path, content)
    assert report.launches.duration_ns.tolist() == list(range(50_000, 50_100))
    assert [(each.id, each.name, each.compute_capability) for each in report.devices] == [
        (0, "NVIDIA H100 PCIe", 90),
        (1, "NVIDIA B200", 100),
    ]
    assert report.launches.device_row.tolist() == [0, 1] * 50
    assert [each.id for each in report.processes] == [42, 43]
    assert report.launches.process_row.tolist() == [0] * 50 + [1] * 50
    assert len(set(report.launches.name_id.tolist())) == 1


def test_launches_of_two_tables_stay_apart(tmp_path: Path) -> None:
    one = long((SOL, "Duration", "ns", "5"))
    report = read(tmp_path, one + one.replace('"5"', '"6"') + raw(["7", "1", "2"]))
    assert report.launches.duration_ns.tolist() == [5, 6, 7]


@pytest.mark.parametrize("cell", ["", "n/a", "384", "(1, 2)", "(a, b, c)"])
def test_a_range_has_no_grid_or_block(cell: str, tmp_path: Path) -> None:
    row = [*launch(name="range"), "900000", "1", "50"]
    row[7] = row[8] = cell
    report = read(tmp_path, line(RAW) + line(UNITS) + line(row))
    assert report.launches.duration_ns.tolist() == [900_000]
    assert report.launches.grid.tolist() == report.launches.block.tolist() == [[MISSING] * 3]


@pytest.mark.parametrize("cell", ["(1,024, 2, 1)", "(1024,2,1)", "1024; 2; 1", "(1.024, 2, 1)"])
def test_sides_of_a_grid_may_be_written_in_any_way(cell: str, tmp_path: Path) -> None:
    row = [*launch(), "5", "1", "50"]
    row[8] = cell
    report = read(tmp_path, line(RAW) + line(UNITS) + line(row))
    assert report.launches.grid.tolist() == [[1024, 2, 1]]


def test_metrics_of_any_name_keep_it_and_their_unit(tmp_path: Path) -> None:
    content = line([*KNOWN, DURATION, "brand__new_metric.avg", "sm__cycles_active.avg"])
    content += line([*[""] * 11, "ns", "widget", ""]) + line([*launch(), "0", "5", "7.5"])
    report = read(tmp_path, content)
    assert report.metric_names.units == ("ns", "widget", "cycle")
    assert [report.metric(0, name) for name in report.metric_names.texts] == [0, 5, 7.5]


def test_a_duration_in_another_unit_than_time_is_none(tmp_path: Path) -> None:
    report = read(tmp_path, raw(["5", "1", "2"], units=[*[""] * 11, "%", "byte", "%"]))
    assert report.launches.duration_ns.tolist() == [MISSING]


def test_a_table_without_units_is_taken_in_base_units_and_says_so(tmp_path: Path) -> None:
    report = read(tmp_path, line(RAW) + line([*launch(), "5", "1", "2"]))
    assert (report.launches.duration_ns.tolist(), codes(report)) == ([5], {"no_units": 1})
    assert report.metric_names.units == ("ns", "byte", "%")


def test_a_table_that_a_spreadsheet_wrote_opens(tmp_path: Path) -> None:
    cells = [*launch(name="norm"), "200.000", "134.217.728", "92,10"]
    for delimiter in (";", "\t"):
        content = "".join(line(each, delimiter, quote="") for each in (RAW, UNITS, cells, cells[1:]))
        report = read(tmp_path, content)
        assert values(report) == [200_000, 134_217_728, 92.1]
        assert [(each.code, each.places) for each in report.problems] == [("misaligned_row", ("line 4",))]


def test_encodings_line_ends_and_packing_do_not_matter(tmp_path: Path) -> None:
    content = raw(["200000", "134217728", "92.1"])
    ways = {
        "bom": b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode(),
        "utf16": content.encode("utf-16"),
        "big endian": b"\xfe\xff" + content.encode("utf-16-be"),
        "gzip": gzip.compress(content.encode()),
        "two gzip members": gzip.compress(content[:100].encode()) + gzip.compress(content[100:].encode()),
        "no last line end": content.rstrip().encode(),
    }
    for way, data in ways.items():
        report = read(tmp_path, data, name="made.ncu-rep")
        assert (values(report), report.problems, way) == ([200_000, 134_217_728, 92.1], (), way)


def test_bytes_that_are_no_text_and_a_cut_packing_are_noted(tmp_path: Path) -> None:
    content = raw(["200000", "1", "92.1"]).encode().replace(b"norm", b"n\xffrm")
    report = read(tmp_path, content)
    assert (report.launches.duration_ns.tolist(), codes(report)) == ([200_000], {"bad_text": 1})
    packed = gzip.compress(raw(*[[str(number), "1", "2.5"] for number in range(5_000)]).encode())
    report = read(tmp_path, packed[: len(packed) // 2])
    assert 0 < len(report.launches) < 5_000
    assert codes(report)["cut_file"] == 1


def test_a_table_without_launches_opens_and_says_so(tmp_path: Path) -> None:
    report = read(tmp_path, line(RAW) + line(UNITS))
    assert (len(report.launches), report.problems[0].message) == (0, "No kernels in this file.")


REFUSED = {
    "no permission": (
        "==PROF== Connected to process 42\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
        "no permission for the GPU's performance counters",
        "NVreg_RestrictProfilingToAdminUsers=0",
    ),
    "no permission, and an empty table": (
        line(RAW) + line(UNITS) + "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
        "no permission for the GPU's performance counters",
        "administrator rights",
    ),
    "nothing profiled": (
        "==PROF== Connected to process 42\n==WARNING== No kernels were profiled.\n",
        "ncu profiled none",
        "--kernel-name",
    ),
    "another error": (
        "==PROF== Connected to process 42\n==ERROR== An error was reported by the driver\n",
        "ncu reported: An error was reported by the driver.",
        "profile again",
    ),
    "messages only": ("==PROF== Connected to process 42\n", "output of ncu but no table", "--page raw"),
    "summary": (
        line([*KNOWN[1:], "Invocations", *LONG[11:14], "Minimum", "Maximum", "Average"])
        + line([*launch()[1:], "3", SOL, "Duration", "us", "1", "3", "2"]),
        "statistics over launches",
        "without --print-summary",
    ),
    "nsys": ("Time (%),Total Time (ns),Name\n90.0,1000,gemm\n", "Nsight Systems", "ncu"),
    "nvprof": ('"Type","Time(%)","Time","Calls","Name"\n"GPU","90","1","2","k"\n', "nvprof", "ncu"),
    "source page": ('"#","Address","Source","Sampling Data"\n"1","0x7f","MOV","5"\n', "source page", "ncu"),
    "rocprof": ("Kind,Kernel_Name,Start_Timestamp,End_Timestamp\nK,gemm,1,2\n", "rocprof", "ncu"),
    "nvidia-smi": ("timestamp, name, utilization.gpu [%]\n2026, H100, 5 %\n", "nvidia-smi log", "ncu"),
    "any table": ("a,b\n1,2\n", "CSV table", "ncu --import"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused_with_what_they_are_and_what_to_do(name: str, tmp_path: Path) -> None:
    content, message, hint = REFUSED[name]
    error = refusal(tmp_path, content)
    assert message in error.message
    assert hint in error.hint


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = raw(*[["5", "1", "2"]] * 100)
    monkeypatch.setattr(rows, "MOST_VALUES", 200)
    assert "more than 200 values" in refusal(tmp_path, content).message
    monkeypatch.setattr(text, "MOST_BYTES", 1_000)
    assert "larger than 1,000 bytes" in refusal(tmp_path, content).message
    assert "unpacks to more than 1,000 bytes" in refusal(tmp_path, gzip.compress(content.encode())).message


def test_progress_is_told_and_can_end_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "made.csv"
    path.write_text(raw(*[["5", "1", "2"]] * 3_000))
    told: list[tuple[int, int]] = []
    read_csv(path, lambda done, of: told.append((done, of)))
    assert len(told) == 6
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert all(0 < done <= of == 2 * path.stat().st_size for done, of in told)

    def stop(done: int, of: int) -> None:
        raise InterruptedError(f"{done} of {of}")

    with pytest.raises(InterruptedError):
        read_csv(path, stop)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="No such file"):
        read_csv(tmp_path / "absent.csv")


def test_summary_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.csv"
    path.write_text(raw(["200000", "134217728", "92.1"], ["n/a", "n/a", "n/a"]))
    assert main(["summary", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "made.csv: 2 kernels" in printed
    assert "200.0 µs  92.1 %" in printed
    assert "problem: 1 result without a duration: its rates are n/a." in printed


SEEDS = [
    raw(["200,000", "134,217,728", "92.10"], ["n/a", "", "inf"]).encode(),
    (line(LONG + RULES) + line([*launch(), SOL, "Duration", "us", "5"])).encode()
    + line([*launch(), "SpeedOfLight", "", "", "", "Rule", "OPT", "Text", "local", "5.5"]).encode(),
    raw(["200.000", "1.5", "92,10"]).encode("utf-16"),
    "".join(line(each, ";", quote="") for each in (RAW, UNITS, [*launch(), "5,5", "1", "2"])).encode(),
    gzip.compress(raw(["5", "1", "2"]).encode()),
    REFUSED["no permission"][0].encode(),
]
PIECES = [
    *(bytes([each]) for each in b'",;\n\r\x00\t(-[/'),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b'""', b'","', b"nan", b"(!)", b"Mbyte", b'"0","k",'),
    *(b"1e999", b"1e-9999", b"9" * 400, b"x" * 140_000, "\u0663\u00b2".encode(), b"==ERROR== ", b"==PROF== "),
    b'"ID","Kernel Name","Metric Name","Metric Value"\n',
]


def damaged(random: Random) -> bytes:
    data = random.choice(SEEDS)
    for _ in range(random.randint(1, 6)):
        at, piece = random.randrange(len(data) + 1), random.choice(PIECES)
        end = min(len(data), at + random.choice((0, 1, 5, 40)))
        data = data[:at] + (piece if random.random() < 0.7 else b"") + data[end:]
        if random.random() < 0.1:
            data = data[: random.randrange(len(data) + 1)]
        if random.random() < 0.1:
            data += random.choice(SEEDS)
    return data


def read_or_refuse(path: Path) -> Report | None:
    try:
        return read_csv(path)
    except DashboardError as error:
        if not (error.message and error.hint):
            raise AssertionError("a refusal without words") from error
        return None


@settings(
    max_examples=600,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_table_opens_or_is_refused_in_words(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "case.csv"
    path.write_bytes(damaged(Random(seed)))
    assert describe_path(path).title
    report = read_or_refuse(path)
    if report is None:
        return
    count = len(report.launches)
    assert count == len(report.rules) == len(report.launch_sections)
    assert all(report.strings[row] for row in report.launches.name_id.tolist())
    for row in range(len(report.metrics)):
        assert report.value_at(row) != float("inf")
    assert all(problem.message and problem.count > 0 for problem in report.problems)
