"""Two launches and two reports side by side: signed differences, and where there can be none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from core.analyses.report_view.compare import compare, compare_reports
from core.analyses.report_view.facts import Comparison, MetricDifference
from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Report
from tests.helpers import ncu_reports as made
from tests.helpers.ncu_reports import Launch, Value, launch_report, message

COUNT, TIME, SHARE, RATE = (
    "inst_executed",
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum.per_second",
)
BASE: dict[str, Value] = {COUNT: 100, TIME: 1_000, SHARE: 50.0, RATE: 8e9}


def read(folder: Path, name: str, *launches: Launch, command_line: str = "") -> Report:
    path = folder / name
    session = {"session": message({11: command_line})} if command_line else {}
    path.write_bytes(launch_report(*launches, **session))
    return read_report(path)


def both(folder: Path, first: Launch, second: Launch, *command_lines: str) -> Comparison:
    lines = command_lines or ("", "")
    one, other = (
        read(folder, f"{n}.ncu-rep", launch, command_line=line)
        for n, (launch, line) in enumerate(zip((first, second), lines, strict=True))
    )
    return compare(one, 0, other, 0)


def rows(comparison: Comparison) -> dict[str, MetricDifference]:
    return {row.name: row for row in comparison.rows}


def test_differences_are_signed_and_of_the_first(tmp_path: Path) -> None:
    second: dict[str, Value] = {COUNT: 150, TIME: 750, SHARE: 50.0, RATE: 0.0}
    found = both(tmp_path, Launch(values=BASE), Launch(values=second))
    figures = {name: (row.difference, row.difference_pct, row.reason) for name, row in rows(found).items()}
    assert figures[COUNT] == (50.0, 50.0, "")
    assert figures[TIME] == (-250.0, -25.0, "")
    assert figures[SHARE] == (0.0, 0.0, "")
    assert figures[RATE] == (-8e9, -100.0, "")
    assert (found.doubts, found.first_name, found.second_name) == ((), "gemm(float *)", "gemm(float *)")


def test_integers_are_subtracted_to_the_last_digit_and_0_has_no_percentage(tmp_path: Path) -> None:
    found = both(tmp_path, Launch(values={"a": 2**63, "b": 0}), Launch(values={"a": 2**63 + 1, "b": 3}))
    assert (rows(found)["a"].difference, rows(found)["b"].difference) == (1.0, 3.0)
    assert rows(found)["b"].difference_pct is None


def test_what_one_side_lacks_does_not_compare(tmp_path: Path) -> None:
    one: dict[str, Value] = {"a": 1, "c": None, "d": "text", "e": "same"}
    other: dict[str, Value] = {"b": 1, "c": None, "d": 5, "e": "other"}
    found = rows(both(tmp_path, Launch(values=one), Launch(values=other)))
    assert {name: found[name].reason for name in "abcde"} == {
        "a": "Not measured in the second.",
        "b": "Not measured in the first.",
        "c": "Not measured.",
        "d": "A number and a text.",
        "e": "",
    }
    assert {found[name].difference for name in "abcde"} == {None}


def test_lists_of_names_are_no_measurements(tmp_path: Path) -> None:
    lists: dict[str, Value] = {"breakdown:x": "a,b", "group:y": "c"}
    assert not {"breakdown:x", "group:y"} & set(
        rows(both(tmp_path, Launch(values=lists), Launch(values=lists)))
    )


def shaped(
    x: int, threads: int = 256, name: str = "gemm(float *)", values: Mapping[str, Value] | None = None
) -> Launch:
    more = {"f10": message({1: x, 2: 1, 3: 1}), "f11": message({1: threads, 2: 1, 3: 1}), "f7": name}
    return Launch(values={**BASE, **(values or {})}, more=more)


def test_counts_of_more_threads_do_not_compare_shares_and_rates_do(tmp_path: Path) -> None:
    found = both(tmp_path, shaped(4096), shaped(8192))
    reasons = {name: row.reason for name, row in rows(found).items()}
    assert reasons[COUNT] == reasons[TIME] == "Other number of threads: 1,048,576 and 2,097,152."
    assert reasons[SHARE] == reasons[RATE] == ""
    assert found.doubts == (
        "Other grid: 4096 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 1 and "
        "8192 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 1.",
    )


@pytest.mark.parametrize("second", [shaped(8192, 128), shaped(9, 32, "other(float *)")])
def test_the_same_threads_in_other_blocks_and_other_kernels_compare(tmp_path: Path, second: Launch) -> None:
    found = both(tmp_path, shaped(4096), second)
    assert rows(found)[TIME].reason == ""
    assert any(doubt.startswith("Other block: 256") for doubt in found.doubts)


def test_counters_of_another_architecture_do_not_compare(tmp_path: Path) -> None:
    ampere: dict[str, Value] = {
        made.NAMES[4]: "NVIDIA A100",
        made.NAMES[5]: 8,
        "launch__registers_per_thread": 40,
    }
    hopper: dict[str, Value] = {"launch__registers_per_thread": 38}
    found = both(tmp_path, Launch(values=BASE | hopper), Launch(values=BASE | ampere))
    reasons = {name: row.reason for name, row in rows(found).items()}
    assert reasons[COUNT] == "Other architecture: 9.0 and 8.0."
    assert [reasons[name] for name in (TIME, SHARE, RATE, "launch__registers_per_thread")] == [""] * 4
    assert found.doubts == (
        "Other device: NVIDIA H100 PCIe and NVIDIA A100.",
        "Other architecture: 9.0 and 8.0.",
    )


def test_times_at_other_clocks_do_not_compare(tmp_path: Path) -> None:
    clock = {"sm__cycles_elapsed.avg.per_second": 1.0e9}
    boosted = {"sm__cycles_elapsed.avg.per_second": 1.8e9}
    lines = "ncu app", "ncu --clock-control none app"
    found = both(tmp_path, Launch(values=BASE | clock), Launch(values=BASE | boosted), *lines)
    reasons = {name: row.reason for name, row in rows(found).items()}
    assert reasons[TIME] == reasons[RATE] == "Other clock control: base and none."
    assert reasons[COUNT] == reasons[SHARE] == ""
    assert found.doubts == (
        "Other clock control: base and none.",
        "Other SM clock: 1.000 GHz and 1.800 GHz. Compare percentages, not durations.",
    )
    # A report that does not say how it was made is not held against one that does.
    assert both(tmp_path, Launch(values=BASE), Launch(values=BASE), "", lines[1]).doubts == ()


def test_launches_of_reports_are_paired_by_name_shape_and_order(tmp_path: Path) -> None:
    first = read(tmp_path, "1", shaped(1), shaped(2), shaped(1), shaped(1, name="gone"), shaped(1))
    second = read(tmp_path, "2", shaped(1), shaped(1), shaped(3), shaped(2), shaped(1, name="new"))
    pairs = compare_reports(first, second).pairs
    assert [(pair.first_row, pair.second_row) for pair in pairs] == [
        (0, 0),
        (1, 3),
        (2, 1),
        (3, None),
        (4, None),
        (None, 2),
        (None, 4),
    ]
    assert [pair.reason for pair in pairs[3:]] == [
        "The second report does not have it.",
        "The second report has it with another grid or block, or less often.",
        "The first report has it with another grid or block, or less often.",
        "The first report does not have it.",
    ]


def test_reports_without_launches_have_no_pairs(tmp_path: Path) -> None:
    some, none = read(tmp_path, "1", shaped(1)), read(tmp_path, "2")
    assert compare_reports(none, none).pairs == ()
    assert [pair.second_row for pair in compare_reports(some, none).pairs] == [None]
