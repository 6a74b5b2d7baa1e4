"""Instructions of launches: their order, places, lines and texts, with and without a binary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.readers.ncu_csv.reader import read_csv
from core.report_tables.source import source_instructions, source_lines
from core.tables.result import ResultTable
from tests.helpers.cubins import BASE, ROW_SUM, SAXPY, built, disassembled, source
from tests.helpers.kernel_csv import write_kernel_csv
from tests.helpers.source_reports import ALL, STALL, read, rows

EXECUTED = {BASE + 32: 4, BASE: 1, BASE + 16: 9}


def keys(table: ResultTable) -> list[str]:
    return [column.key for column in table.columns]


@pytest.mark.parametrize("name", ["made_75", "made_80", "made_90"])
def test_each_instruction_has_its_line_and_counts_in_order_of_addresses(name: str, tmp_path: Path) -> None:
    expected = {
        offset: place for (function, offset), place in disassembled(name).items() if function == SAXPY
    }
    executed = {BASE + offset: 3 + offset // 16 for offset in expected}
    stored = {
        "inst_executed": executed,
        STALL + "wait": {address: 2 * count for address, count in executed.items()},
    }
    report = read(tmp_path, stored, source(built(name), ALL))
    found = source_instructions(report, 0)
    assert rows(found, "address", "path", "line", "executed", "samples") == [
        (f"0x{offset:04x}", path, line, 3 + offset // 16, 2 * (3 + offset // 16))
        for offset, (path, line) in sorted(expected.items())
    ]
    assert "sass" not in keys(found)
    assert not found.notes
    lines = [key for key in keys(source_lines(report, 0)) if key != "instructions"]
    assert keys(found) == ["address", "function", "device_address", *lines]


def test_the_reason_of_most_samples_and_the_share_are_of_each_instruction(tmp_path: Path) -> None:
    sampled = {STALL + "barrier": {BASE: 3, BASE + 16: 1}, STALL + "wait": {BASE: 1, BASE + 16: 5}}
    found = source_instructions(read(tmp_path, sampled, source(built("made_75"), ALL)), 0)
    assert rows(found, "samples", "share_pct", "top_stall", "top_stall_samples", "executed") == [
        (4, 40.0, "Barrier", 3, None),
        (6, 60.0, "Wait", 5, None),
    ]


@pytest.mark.parametrize(
    "stored", [(source(built("plain_75"), ALL),), (source(None, ALL),), (source(b"\x7fELF cubin", ALL),), ()]
)
def test_it_needs_neither_lines_nor_a_binary_nor_a_source(stored: tuple[bytes, ...], tmp_path: Path) -> None:
    found = source_instructions(read(tmp_path, {"inst_executed": EXECUTED}, *stored), 0)
    assert rows(found, "address", "file", "line", "executed") == [
        ("0x0000", None, None, 1),
        ("0x0010", None, None, 9),
        ("0x0020", None, None, 4),
    ]
    assert rows(found, "device_address")[1] == (hex(BASE + 16),)


def test_texts_are_found_by_function_and_those_missing_are_counted(tmp_path: Path) -> None:
    stored = {"inst_executed": EXECUTED | {BASE + 0x1000: 5, BASE - 16: 7}}
    report = read(tmp_path, stored, source(built("made_75"), ALL))
    sass = {(SAXPY, 0): "MOV R1, R2", (SAXPY, 16): "EXIT", (ROW_SUM, 0): "NOP", (ROW_SUM, 16): "BRA"}
    found = source_instructions(report, 0, sass)
    assert rows(found, "address", "sass", "function") == [
        (hex(BASE - 16), None, None),
        ("0x0000", "MOV R1, R2", SAXPY),
        ("0x0010", "EXIT", SAXPY),
        ("0x0020", None, SAXPY),
        ("0x0000", "NOP", ROW_SUM),
    ]
    assert found.column("function").shown
    assert found.notes == ("2 instructions are not in the disassembly.",)
    assert source_instructions(report, 0, {}).notes == ("5 instructions are not in the disassembly.",)


def test_a_function_within_the_section_of_another_is_found_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.report_tables.source.code_places", lambda _: {"inner": (SAXPY, 0x40)})
    inner = source(built("made_75"), {SAXPY: BASE, "inner": BASE + 0x40})
    report = read(tmp_path, {"inst_executed": {BASE: 1, BASE + 0x50: 2}}, inner)
    found = source_instructions(report, 0, {(SAXPY, 0): "S2R", (SAXPY, 0x50): "RET"})
    assert rows(found, "address", "sass", "function") == [
        ("0x0000", "S2R", SAXPY),
        ("0x0010", "RET", "inner"),
    ]


def test_without_counts_it_says_how_to_collect_them(tmp_path: Path) -> None:
    found = source_instructions(read(tmp_path, {}, source(built("made_75"), ALL)), 0, {})
    assert len(found) == 0
    assert "sass" in keys(found)
    assert found.empty == "Not collected: run `ncu --set full`."
    table = read_csv(write_kernel_csv(tmp_path / "made.csv", ("gemm", 100, 50.0, 20.0)))
    assert source_instructions(table, 0).empty.startswith(
        "A table of ncu --csv holds no values by instruction"
    )


def test_counts_are_whole_numbers_unless_one_is_not(tmp_path: Path) -> None:
    for counted, kind in ((2, np.int64), (2.5, np.float64)):
        report = read(tmp_path, {"inst_executed": {BASE: 1, BASE + 0x10: counted}})
        column = source_instructions(report, 0).column("executed")
        assert column.values.dtype == kind
        assert [column.value(row) for row in range(2)] == [1, counted]
