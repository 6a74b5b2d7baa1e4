"""The line table of a device binary: which source line each instruction comes from.

A table is a program whose run gives rows of offset, file and line. Its
sequences begin at address 0 each; a relocation says which function is meant.
nvcc adds an opcode of its own for inlined calls (0x90), which is passed over by
its length: an inlined instruction belongs to the line that it was written in.

Source: DWARF 2 to 5, section 6.2 "Line Number Information"; as nvcc 13.0 writes it (version 2).
"""

from __future__ import annotations

import posixpath
import struct
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from core.analyses.report_source.elf import BinaryDamageError, DeviceBinary, Place
from core.tables.columns import NO_ROW, Int32, Int64

SECTION: Final = ".debug_line"
_TEXTS: Final = {0x0E: ".debug_str", 0x1F: ".debug_line_str"}
"""Forms of texts that lie in another section, as DWARF 5 names files."""
_LONG: Final = 0xFFFF_FFFF
_PATH, _FOLDER = 1, 2
_ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD, _FIXED_ADVANCE, _COPY = 2, 3, 4, 8, 9, 1
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE = 1, 2, 3
_LONGEST_VARINT: Final = 10
_MOST: Final = 2**62


class SectionLines(NamedTuple):
    """The rows of one section of code, ordered by offset. Columns (n,).

    Attributes:
        offset: int64, of the first instruction that a row is about.
        file_id: int32, place in ``LineTable.files``; NO_ROW where nothing is said from there on.
        line: int64, from 1; 0 where nothing is said.
    """

    offset: Int64
    file_id: Int32
    line: Int64

    def find(self, offsets: Int64) -> tuple[Int32, Int64]:
        """Returns file and line of each offset: (n,) with NO_ROW and 0 where nothing is said."""
        rows = np.searchsorted(self.offset, offsets, side="right") - 1
        known = rows >= 0
        files = np.where(known, self.file_id[rows], NO_ROW).astype(np.int32)
        lines = np.where(known, self.line[rows], 0)
        files[lines <= 0] = NO_ROW
        return files, np.where(files == NO_ROW, 0, lines)


@dataclass(frozen=True, slots=True)
class LineTable:
    """Lines of a binary.

    Attributes:
        files: Their paths, each once.
        sections: Number of a section of code to its rows.
    """

    files: tuple[str, ...]
    sections: dict[int, SectionLines]


def read_lines(binary: DeviceBinary) -> LineTable | None:
    """Reads the line table; None if the binary has none.

    Raises:
        BinaryDamageError: It breaks off, or counts more than it holds.
    """
    data = binary.content(SECTION)
    if not data:
        return None
    reading = _Reading(binary, data)
    cursor = _Cursor(data, 0, len(data))
    while cursor.at < len(data):
        size, wide = cursor.fixed(4), False
        if size == _LONG:
            size, wide = cursor.fixed(8), True
        if size > len(data) - cursor.at:
            raise BinaryDamageError(f"a line table of {size:,} bytes at {cursor.at:,} of {len(data):,}")
        reading.add_unit(_Cursor(data, cursor.at, cursor.at + size), wide)
        cursor.at += size
    return reading.table()


class _Cursor:
    """A place in the bytes, with an end that it never passes."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def take(self, count: int) -> bytes:
        begin = self.at
        if count > self.end - begin:
            raise BinaryDamageError(f"its line table breaks off at byte {begin:,}")
        self.at += count
        return self.data[begin : self.at]

    def fixed(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def unsigned(self) -> int:
        return self._varint()[0]

    def signed(self) -> int:
        value, bits, last = self._varint()
        return value - (1 << bits) if last & 0x40 else value

    def _varint(self) -> tuple[int, int, int]:
        value = bits = 0
        for _ in range(_LONGEST_VARINT):
            byte = self.fixed(1)
            value |= (byte & 0x7F) << bits
            bits += 7
            if byte < 0x80:
                return value, bits, byte
        raise BinaryDamageError(f"a number of its line table does not end at byte {self.at:,}")

    def text(self) -> str:
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise BinaryDamageError(f"a text of its line table does not end at byte {self.at:,}")
        found = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return found


@dataclass(slots=True)
class _Header:
    """What a program is written with.

    Attributes:
        step: Smallest length of an instruction.
        base, span: Of the lines that special opcodes advance by.
        operands: How many each standard opcode has, from opcode 1.
        file_ids: The program's number of a file to its place in the table.
        folders: By the program's numbers.
    """

    step: int = 1
    base: int = 0
    span: int = 1
    operands: bytes = b""
    file_ids: dict[int, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


class _Reading:
    """One section of line tables while it is read."""

    def __init__(self, binary: DeviceBinary, data: bytes) -> None:
        self._binary = binary
        self._data = data
        self._places = binary.relocations(SECTION)
        self._texts: dict[str, bytes] = {}
        self._file_ids: dict[str, int] = {}
        self._sequences: dict[int, list[list[tuple[int, int, int]]]] = {}

    def table(self) -> LineTable:
        sections = {section: _ordered(parts) for section, parts in self._sequences.items()}
        return LineTable(tuple(self._file_ids), sections)

    def add_unit(self, cursor: _Cursor, wide: bool) -> None:
        version = cursor.fixed(2)
        if not 2 <= version <= 5:
            raise BinaryDamageError(f"its line table is of version {version}")
        if version >= 5:
            cursor.take(2)
        length = cursor.fixed(8 if wide else 4)
        begin = cursor.at + length
        if begin > cursor.end:
            raise BinaryDamageError(f"the head of its line table ends at {begin:,} of {cursor.end:,}")
        header = _Header(step=cursor.fixed(1))
        if version >= 4:
            cursor.take(1)
        cursor.take(1)
        header.base, header.span = struct.unpack("<b", cursor.take(1))[0], cursor.fixed(1)
        header.operands = cursor.take(max(cursor.fixed(1) - 1, 0))
        if not header.span:
            raise BinaryDamageError("its line table spans no lines")
        if version >= 5:
            self._add_new_files(cursor, header, 8 if wide else 4)
        else:
            self._add_files(cursor, header)
        cursor.at = begin
        self._run(cursor, header)

    def _add_files(self, cursor: _Cursor, header: _Header) -> None:
        header.folders = [""]
        while folder := cursor.text():
            header.folders.append(folder)
        number = 1
        while name := cursor.text():
            self._add_file(header, number, name, cursor.unsigned())
            cursor.unsigned()
            cursor.unsigned()
            number += 1

    def _add_new_files(self, cursor: _Cursor, header: _Header, offset_bytes: int) -> None:
        header.folders = [path for path, _ in self._entries(cursor, offset_bytes)]
        for number, (name, folder) in enumerate(self._entries(cursor, offset_bytes)):
            self._add_file(header, number, name, folder)

    def _entries(self, cursor: _Cursor, offset_bytes: int) -> list[tuple[str, int]]:
        """Reads a list of files or folders of DWARF 5: name and number of the folder of each."""
        forms = [(cursor.unsigned(), cursor.unsigned()) for _ in range(cursor.fixed(1))]
        count = cursor.unsigned()
        if count > cursor.end - cursor.at or (count and not forms):
            raise BinaryDamageError(f"its line table counts {count:,} files")
        found = []
        for _ in range(count):
            values: dict[int, Any] = {kind: self._value(cursor, form, offset_bytes) for kind, form in forms}
            path, folder = values.get(_PATH, ""), values.get(_FOLDER, 0)
            found.append((path if isinstance(path, str) else "", folder if isinstance(folder, int) else 0))
        return found

    def _value(self, cursor: _Cursor, form: int, offset_bytes: int) -> int | str:
        sizes = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
        if form == 0x08:
            return cursor.text()
        if form == 0x0F:
            return cursor.unsigned()
        if form in _TEXTS:
            texts = self._texts_of(_TEXTS[form])
            begin = cursor.fixed(offset_bytes)
            return _Cursor(texts, begin, len(texts)).text() if begin < len(texts) else ""
        if form == 0x09:
            cursor.take(cursor.unsigned())
            return 0
        if form not in sizes:
            raise BinaryDamageError(f"its line table names files by form {form:#x}")
        return cursor.fixed(sizes[form])

    def _texts_of(self, section: str) -> bytes:
        """Returns the content of a section of texts, which is copied out of the binary once."""
        if section not in self._texts:
            self._texts[section] = self._binary.content(section) or b""
        return self._texts[section]

    def _add_file(self, header: _Header, number: int, name: str, folder: int) -> None:
        inside = header.folders[folder] if 0 <= folder < len(header.folders) else ""
        path = posixpath.normpath(posixpath.join(inside, name)) if name else ""
        header.file_ids[number] = self._file_ids.setdefault(path, len(self._file_ids))

    def _run(self, cursor: _Cursor, header: _Header) -> None:
        """Runs the program of one unit."""
        first_special = len(header.operands) + 1
        state = _State()
        while cursor.at < cursor.end:
            opcode = cursor.fixed(1)
            if opcode >= first_special:
                advance, lines = divmod(opcode - first_special, header.span)
                state.address += advance * header.step
                state.line += header.base + lines
                state.add(header)
            elif opcode:
                self._standard(opcode, cursor, header, state)
            elif self._extended(cursor, header, state):
                state = _State()

    def _standard(self, opcode: int, cursor: _Cursor, header: _Header, state: _State) -> None:
        if opcode == _COPY:
            state.add(header)
        elif opcode == _ADVANCE_PC:
            state.address += cursor.unsigned() * header.step
        elif opcode == _ADVANCE_LINE:
            state.line += cursor.signed()
        elif opcode == _SET_FILE:
            state.file = cursor.unsigned()
        elif opcode == _CONST_ADD:
            state.address += (255 - len(header.operands) - 1) // header.span * header.step
        elif opcode == _FIXED_ADVANCE:
            state.address += cursor.fixed(2)
        else:
            for _ in range(header.operands[opcode - 1]):
                cursor.unsigned()

    def _extended(self, cursor: _Cursor, header: _Header, state: _State) -> bool:
        """Does an extended opcode; returns whether it ended a sequence."""
        length = cursor.unsigned()
        begin = cursor.at
        inner = _Cursor(self._data, begin, begin + len(cursor.take(length)))
        if not length:
            return False
        opcode = inner.fixed(1)
        if opcode == _END_SEQUENCE:
            self._end(state)
            return True
        if opcode == _SET_ADDRESS:
            self._set_address(state, inner)
        elif opcode == _DEFINE_FILE:
            self._add_file(header, len(header.file_ids) + 1, inner.text(), inner.unsigned())
        return False

    def _set_address(self, state: _State, inner: _Cursor) -> None:
        offset, stored = inner.at, inner.fixed(inner.end - inner.at)
        place = self._places.get(offset)
        if place is None and len(self._binary.code_sections) == 1:
            place = Place(self._binary.code_sections[0], 0)
        state.section = None if place is None else place.section
        state.address = stored if place is None else stored + place.offset

    def _end(self, state: _State) -> None:
        if state.section is not None and state.rows:
            state.rows.append((min(state.address, _MOST), NO_ROW, 0))
            self._sequences.setdefault(state.section, []).append(state.rows)


@dataclass(slots=True)
class _State:
    """The registers of a program, and the rows of the sequence that it is in."""

    address: int = 0
    file: int = 1
    line: int = 1
    section: int | None = None
    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, header: _Header) -> None:
        file_id = header.file_ids.get(self.file, NO_ROW)
        line = self.line if 0 < self.line < _MOST else 0
        self.rows.append((min(self.address, _MOST), file_id, line))


def _ordered(sequences: list[list[tuple[int, int, int]]]) -> SectionLines:
    """Puts sequences one after the other; of rows at one offset the last counts."""
    rows = [row for sequence in sorted(sequences, key=lambda each: each[0][0]) for row in sequence]
    table = np.array(rows, np.int64).reshape(len(rows), 3)
    order = np.argsort(table[:, 0], kind="stable")
    table = table[order]
    return SectionLines(table[:, 0].copy(), table[:, 1].astype(np.int32), table[:, 2].copy())
