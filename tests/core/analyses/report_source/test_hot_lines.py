"""Source lines of launches: sums by line, texts of lines, and reasons where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.analyses.report_source import code_lines
from core.analyses.report_source.elf import DeviceBinary
from core.analyses.report_source.line_program import LineTable, read_lines
from core.readers.ncu_report.reader import read_report
from core.report_tables.index import ReportIndex
from core.report_tables.source import list_source, source_lines
from tests.helpers.cubins import BASE, ROW_SUM, SAXPY, built, disassembled, source
from tests.helpers.ncu_reports import Launch, Value, launch_report, message
from tests.helpers.source_reports import ALL, STALL, read, rows


def by_line(name: str, function: str) -> dict[tuple[str, int], list[int]]:
    """Returns the offsets of a function's instructions by line, as nvdisasm gives them."""
    found: dict[tuple[str, int], list[int]] = {}
    for (named, offset), (path, line) in disassembled(name).items():
        if named == function:
            found.setdefault((path.removeprefix("/kernels/"), line), []).append(offset)
    return found


@pytest.mark.parametrize("name", ["made_75", "made_80", "made_90"])
def test_values_of_instructions_are_summed_by_line(name: str, tmp_path: Path) -> None:
    offsets = by_line(name, SAXPY)
    executed = {BASE + offset: 3 + offset // 16 for all_of in offsets.values() for offset in all_of}
    samples = {address: 2 * count for address, count in executed.items()}
    report = read(tmp_path, {"inst_executed": executed, STALL + "wait": samples}, source(built(name), ALL))
    expected = {place: sum(3 + offset // 16 for offset in all_of) for place, all_of in offsets.items()}
    found = source_lines(report, 0)
    assert {(file, line): count for file, line, count in rows(found, "file", "line", "executed")} == expected
    whole = sum(expected.values())
    assert rows(found, "file", "line", "samples", "share_pct") == [
        (*place, 2 * count, pytest.approx(100 * count / whole))
        for place, count in sorted(expected.items(), key=lambda each: -each[1])
    ]


def test_the_reason_of_most_samples_is_named_and_an_issue_is_none(tmp_path: Path) -> None:
    first, other = BASE, BASE + 16
    sampled = {
        STALL + "long_scoreboard": {first: 5, other: 1},
        STALL + "selected": {first: 9, other: 2},
        STALL + "barrier": {first: 4, other: 0},
        STALL + "long_scoreboard_not_issued": {first: 3, other: 1},
        STALL + "barrier_not_issued": {first: 2, other: 0},
    }
    found = source_lines(read(tmp_path, sampled, source(built("made_75"), ALL)), 0)
    whole = rows(found, "samples", "top_stall", "top_stall_samples", "not_issued_samples", "executed")
    assert [sum(column) for column in list(zip(*whole, strict=True))[0:1]] == [21]
    assert whole[0][1:] == ("Long scoreboard", whole[0][2], whole[0][3], None)
    assert sum(row[2] for row in whole) == 6
    assert sum(row[3] for row in whole) == 6


def test_the_count_of_samples_counts_before_the_sum_of_reasons(tmp_path: Path) -> None:
    stored = {"smsp__pcsamp_sample_count": {BASE: 10}, STALL + "wait": {BASE: 7}}
    found = source_lines(read(tmp_path, stored, source(built("made_75"), ALL)), 0)
    assert rows(found, "samples", "top_stall_samples") == [(10, 7)]


def test_older_names_of_sectors_count_too(tmp_path: Path) -> None:
    stored = {"memory_l2_sectors_global": {BASE: 64}, "memory_l1_sectors_shared": {BASE: 3}}
    found = source_lines(read(tmp_path, stored, source(built("made_75"), ALL)), 0)
    assert rows(found, "l2_sectors", "shared_wavefronts") == [(64, 3)]


def test_texts_come_from_imported_files_by_the_end_of_their_paths(tmp_path: Path) -> None:
    code = "\n".join(f"line {number}" for number in range(1, 30))
    imported = {
        "C:\\work\\kernels\\made.cu": code.replace("\n", "\r\n"),
        "/other/made.cu": "wrong",
        "/x/scale.cuh": "1",
    }
    stored = {
        "inst_executed": {
            BASE + offset: 1 for all_of in by_line("made_75", SAXPY).values() for offset in all_of
        }
    }
    found = source_lines(read(tmp_path, stored, source(built("made_75"), ALL, imported)), 0)
    texts = {(file, line): text for file, line, text in rows(found, "file", "line", "text")}
    assert {
        text for (file, line), text in texts.items() if file == "made.cu" and text != f"line {line}"
    } == set()
    assert texts["scale.cuh", 5] is None
    assert not found.notes


def test_files_of_one_name_that_cannot_be_told_apart_have_no_text(tmp_path: Path) -> None:
    imported = {"/a/made.cu": "x\n" * 30, "/b/made.cu": "y\n" * 30}
    found = source_lines(
        read(tmp_path, {"inst_executed": {BASE: 1}}, source(built("made_75"), ALL, imported)), 0
    )
    assert rows(found, "file", "text", "path") == [("made.cu", None, "/kernels/made.cu")]
    assert found.notes == ("The report holds no source files: collect it with `ncu --import-source yes`.",)


def test_a_launch_belongs_to_the_source_that_holds_its_kernel(tmp_path: Path) -> None:
    """A reference may stand for two binaries, and for one without the kernel."""
    wrong = source(built("plain_75"), {ROW_SUM: BASE})
    report = read(tmp_path, {"inst_executed": {BASE: 1}}, wrong, source(built("made_75"), {SAXPY: BASE}))
    assert len(source_lines(report, 0)) == 1


def test_functions_that_a_kernel_calls_have_their_own_lines(tmp_path: Path) -> None:
    stored = {"inst_executed": {BASE: 1, BASE + 0x1000: 5, BASE - 16: 7}}
    found = source_lines(read(tmp_path, stored, source(built("made_75"), ALL)), 0)
    expected = disassembled("made_75")
    assert rows(found, "line", "executed", "path") == [
        (None, 7, None),
        (expected[ROW_SUM, 0][1], 5, "/kernels/made.cu"),
        (expected[SAXPY, 0][1], 1, "/kernels/made.cu"),
    ]


def test_without_a_list_of_functions_the_first_address_is_the_begin(tmp_path: Path) -> None:
    stored = {"inst_executed": {BASE: 1, BASE + 16: 1}}
    found = source_lines(read(tmp_path, stored, source(built("made_75"), {})), 0)
    expected = disassembled("made_75")
    assert {line for (line,) in rows(found, "line")} == {expected[SAXPY, 0][1], expected[SAXPY, 16][1]}


COUNTED = {"inst_executed": {BASE: 1}}


@pytest.mark.parametrize(
    ("stored", "binary", "words"),
    [
        (COUNTED, None, "The report holds no binary of this kernel"),
        ({}, built("made_75"), "Not collected: run `ncu --set full`."),
        (COUNTED, built("plain_75"), "built without line numbers"),
        (COUNTED, b"\x7fELF cubin", "The binary of this kernel is damaged: it is no ELF file of 64 bits."),
        (COUNTED, built("made_75")[:5000], "is damaged: its list of"),
    ],
)
def test_where_there_are_no_lines_it_says_why(
    stored: dict[str, dict[int, Value]], binary: bytes | None, words: str, tmp_path: Path
) -> None:
    found = source_lines(read(tmp_path, stored, source(binary, ALL)), 0)
    assert len(found) == 0
    assert words in found.empty


def test_a_kernel_that_the_binary_does_not_hold_has_no_lines(tmp_path: Path) -> None:
    report = read(tmp_path, COUNTED, source(built("made_75"), {"other": BASE}), kernel="other")
    assert source_lines(report, 0).empty == "The binary in the report has no lines of this kernel."


def test_a_launch_of_an_unknown_source_has_no_binary(tmp_path: Path) -> None:
    report = read(tmp_path, COUNTED, source(built("made_75"), ALL), reference=7)
    assert source_lines(report, 0).empty.startswith("The report holds no binary")


def test_a_binary_is_read_once_for_all_its_launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[DeviceBinary] = []

    def counted(binary: DeviceBinary) -> LineTable | None:
        calls.append(binary)
        return read_lines(binary)

    monkeypatch.setattr(code_lines, "read_lines", counted)
    launches = [Launch(instances={"inst_executed": {BASE: 2 + n}}, more={"f5": SAXPY}) for n in range(3)]
    path = tmp_path / "three.ncu-rep"
    for binary, lines in ((built("made_75"), 3), (built("plain_75"), 0)):
        calls.clear()
        path.write_bytes(launch_report(*launches, sources=[source(binary, ALL)]))
        found = list_source(ReportIndex(read_report(path)))
        assert rows(found, "launch", "executed") == [(n, 2 + n) for n in range(lines)]
        assert len(calls) == 1


def test_the_table_of_all_launches_counts_those_without_lines(tmp_path: Path) -> None:
    launches = [
        Launch(instances={"inst_executed": {BASE: 2}}, more={"f5": SAXPY}),
        Launch(instances={"inst_executed": {BASE: 2}}, more={"f15": message({1: 7})}),
    ]
    path = tmp_path / "two.ncu-rep"
    path.write_bytes(launch_report(*launches, sources=[source(built("made_75"), ALL)]))
    found = list_source(ReportIndex(read_report(path)))
    assert rows(found, "launch", "file", "executed") == [(0, "made.cu", 2)]
    assert found.notes[0].startswith("1 kernel has no lines: The report holds no binary")
    alone = list_source(ReportIndex(read_report(path)), np.array([1], np.int32))
    assert alone.empty.startswith("The report holds no binary")
