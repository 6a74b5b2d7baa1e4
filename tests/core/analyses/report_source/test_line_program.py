"""Line tables of device binaries, held against nvdisasm, written by hand for newer versions, and damaged."""

from __future__ import annotations

import struct
from random import Random

import numpy as np
import pytest

from core.analyses.report_source.elf import BinaryDamageError, DeviceBinary
from core.analyses.report_source.line_program import read_lines
from tests.helpers.cubins import built, disassembled, elf

OPERANDS = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
SET_ADDRESS = b"\x00\x09\x02" + bytes(8)
END = b"\x00\x01\x01"


def place(binary: bytes, function: str, offset: int) -> tuple[str | None, int]:
    """Returns file and line of one instruction."""
    stored = DeviceBinary(binary)
    table = read_lines(stored)
    assert table is not None
    where = stored.functions[function]
    files, lines = table.sections[where.section].find(np.array([where.offset + offset], np.int64))
    return (table.files[files[0]] if files[0] >= 0 else None, int(lines[0]))


@pytest.mark.parametrize("name", ["made_75", "made_80", "made_90"])
def test_every_instruction_has_the_line_that_nvdisasm_gives(name: str) -> None:
    said = disassembled(name)
    assert {function for function, _ in said} == {"_Z5saxpyifPKfPf", "_Z7row_sumIfEvPKT_PS0_i"}
    assert {path for path, _ in said.values()} == {"/kernels/made.cu", "/kernels/scale.cuh"}
    binary = built(name)
    assert {key: place(binary, *key) for key in said} == said


def test_a_binary_without_line_numbers_has_no_table() -> None:
    assert read_lines(DeviceBinary(built("plain_75"))) is None


def unit(version: int, names: bytes, program: bytes) -> bytes:
    """Writes the line table of one unit: lines are spanned from -5 over 14, instructions of 1 byte."""
    head = struct.pack("<BB", 1, 1) if version >= 4 else struct.pack("<B", 1)
    head += struct.pack("<BbBB", 1, -5, 14, len(OPERANDS) + 1) + OPERANDS + names
    before = struct.pack("<BB", 8, 0) if version >= 5 else b""
    body = struct.pack("<H", version) + before + struct.pack("<I", len(head)) + head + program
    return struct.pack("<I", len(body)) + body


NAMES_2 = b"/src\0\0a.cu\0\x01\x00\x00b.cu\0\x00\x00\x00\0"
# Two folders by texts elsewhere; two files by a text in place, the number of a folder, and a checksum.
NAMES_5 = (
    b"\x01\x01\x1f\x02"
    + struct.pack("<II", 0, 5)
    + b"\x03\x01\x08\x02\x0b\x05\x1e\x02"
    + b"a.cu\0\x01"
    + bytes(16)
    + b"b.cu\0\x00"
    + bytes(16)
)
# Line 1 + 9, a row; 16 bytes and 1 line on by a special opcode; constant addition (17), other file, a row.
PROGRAM = b"\x03\x09\x01" + bytes([13 + 14 * 16 + 6]) + b"\x08\x04\x02\x01\x02\x05" + END


@pytest.mark.parametrize("version", [2, 3, 4])
def test_older_versions_count_files_from_one(version: int) -> None:
    table = unit(version, NAMES_2, SET_ADDRESS + PROGRAM)
    binary = elf(table, relocated=table.index(SET_ADDRESS) + 3)
    assert [place(binary, "kernel", offset) for offset in (0, 15, 16, 32, 33, 37, 38, 60)] == [
        ("/src/a.cu", 10),
        ("/src/a.cu", 10),
        ("/src/a.cu", 11),
        ("/src/a.cu", 11),
        ("b.cu", 11),
        ("b.cu", 11),
        (None, 0),
        (None, 0),
    ]


def test_version_5_counts_files_from_zero_and_keeps_texts_elsewhere() -> None:
    table = unit(5, NAMES_5, SET_ADDRESS + PROGRAM)
    binary = elf(table, {".debug_line_str": b"/one\0/two\0"}, relocated=table.index(SET_ADDRESS) + 3)
    # The program begins with file 1, and names file 2, which is none.
    assert place(binary, "kernel", 0) == ("/one/b.cu", 10)
    assert place(binary, "kernel", 40) == (None, 0)
    program = SET_ADDRESS + b"\x04\x00" + PROGRAM
    table = unit(5, NAMES_5, program)
    binary = elf(table, {".debug_line_str": b"/one\0/two\0"}, relocated=table.index(SET_ADDRESS) + 3)
    assert place(binary, "kernel", 0) == ("/two/a.cu", 10)


def test_texts_elsewhere_are_taken_out_of_the_binary_once(monkeypatch: pytest.MonkeyPatch) -> None:
    content = DeviceBinary.content
    asked: list[str] = []

    def counted(self: DeviceBinary, name: str) -> bytes | None:
        asked.append(name)
        return content(self, name)

    monkeypatch.setattr(DeviceBinary, "content", counted)
    table = unit(5, NAMES_5, SET_ADDRESS + PROGRAM)
    read_lines(DeviceBinary(elf(table, {".debug_line_str": b"/one\0/two\0"})))
    assert asked.count(".debug_line_str") == 1


def test_without_relocations_the_only_function_is_meant() -> None:
    assert place(elf(unit(2, NAMES_2, SET_ADDRESS + PROGRAM)), "kernel", 20) == ("/src/a.cu", 11)


def test_opcodes_that_are_unknown_are_passed_over() -> None:
    program = SET_ADDRESS + b"\x00\x03\x90\x23\x0a" + b"\x0c\x07" + PROGRAM
    assert place(elf(unit(2, NAMES_2, program)), "kernel", 0) == ("/src/a.cu", 10)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (unit(2, NAMES_2, SET_ADDRESS + PROGRAM)[:40], "a line table of 7[0-9] bytes at 4 of 40"),
        (unit(9, NAMES_2, b""), "version 9"),
        (unit(2, NAMES_2, b"\x00\x7f\x02"), "breaks off"),
        (unit(2, NAMES_2, b"\x02" + b"\xff" * 12), "does not end"),
        (unit(5, b"\x00\xff\xff\xff\xff\x07" + bytes(40), b""), "counts 2,147,483,647 files"),
        (unit(2, b"/src", b""), "does not end"),
    ],
)
def test_a_broken_table_says_what_is_broken(table: bytes, words: str) -> None:
    with pytest.raises(BinaryDamageError, match=words):
        read_lines(DeviceBinary(elf(table)))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(90), built("made_75")[:4000]])
def test_what_is_no_binary_is_said_so(data: bytes) -> None:
    with pytest.raises(BinaryDamageError):
        DeviceBinary(data)


def test_damaged_binaries_are_read_or_refused() -> None:
    """1,500 mutations: nothing but the one error, and no more rows than the file has bytes."""
    random = Random(4)
    seeds = [built("made_75"), built("made_90")]
    refused = 0
    for _ in range(1_500):
        data = bytearray(random.choice(seeds))
        for _ in range(random.choice((1, 4, 40))):
            data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        if random.random() < 0.2:
            del data[random.randrange(len(data)) :]
        try:
            stored = DeviceBinary(bytes(data))
            table = read_lines(stored)
            assert len(stored.functions) <= len(data)
        except BinaryDamageError:
            refused += 1
            continue
        rows = 0 if table is None else sum(len(each.offset) for each in table.sections.values())
        assert rows <= len(data)
    assert 0 < refused < 1_500
