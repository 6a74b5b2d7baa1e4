"""The parts of a device binary (cubin, ELF of 64 bits) that line tables need: sections, symbols, relocations.

Nothing in it is trusted: every place is checked against the size of the file,
and what does not fit raises ``BinaryDamageError``.

Source: System V ABI, "Object Files" (ELF-64); as nvcc 13.0 writes it for sm_75 to sm_120.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

_MAGIC: Final = b"\x7fELF\x02\x01"
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOLS, _WITH_ADDEND, _NO_BITS, _WITHOUT_ADDEND = 2, 4, 8, 9
_SYMBOL_TYPE: Final = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_PLAIN: Final = np.dtype([("offset", "<u8"), ("info", "<u8")])
_ADDED: Final = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])


class BinaryDamageError(ValueError):
    """The binary is not as its format wants it; the text says where."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its place in the file, and what it points to."""

    name: str
    kind: int
    begin: int
    length: int
    link: int
    about: int


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a section of code."""

    section: int
    offset: int


class DeviceBinary:
    """A cubin.

    Attributes:
        sections: All of them, by their number.
    """

    def __init__(self, data: bytes) -> None:
        """Reads the list of sections.

        Raises:
            BinaryDamageError: It is no such file, or its list of sections does not fit into it.
        """
        self._data = data
        if not data.startswith(_MAGIC):
            raise BinaryDamageError("it is no ELF file of 64 bits")
        if len(data) < _HEADER.size:
            raise BinaryDamageError(f"its header ends at byte {len(data):,}")
        header = _HEADER.unpack_from(data)
        table, entry, count, names = header[6], header[11], header[12], header[13]
        if entry != _SECTION.size or table + entry * count > len(data) or names >= max(count, 1):
            raise BinaryDamageError(f"its list of {count:,} sections does not fit into {len(data):,} bytes")
        rows = [_SECTION.unpack_from(data, table + entry * row) for row in range(count)]
        texts = self._bytes(rows[names][4], rows[names][5]) if count else b""
        self.sections = tuple(
            Section(
                name=_text(texts, row[0]),
                kind=row[1],
                begin=row[4],
                length=0 if row[1] == _NO_BITS else row[5],
                link=row[6],
                about=row[7],
            )
            for row in rows
        )

    def _bytes(self, begin: int, length: int) -> bytes:
        if begin + length > len(self._data):
            raise BinaryDamageError(f"{length:,} bytes at {begin:,} lie outside of its {len(self._data):,}")
        return self._data[begin : begin + length]

    def content(self, name: str) -> bytes | None:
        """Returns the bytes of a section, None if there is none of that name.

        Raises:
            BinaryDamageError: It lies outside of the file.
        """
        found = self._find(name)
        return None if found is None else self._bytes(self.sections[found].begin, self.sections[found].length)

    def _find(self, name: str) -> int | None:
        return next((row for row, section in enumerate(self.sections) if section.name == name), None)

    def _records(self, section: Section, kind: np.dtype[Any]) -> NDArray[Any]:
        whole = section.length // kind.itemsize
        return np.frombuffer(self._bytes(section.begin, whole * kind.itemsize), kind)

    @cached_property
    def _symbols(self) -> NDArray[Any]:
        table = next((section for section in self.sections if section.kind == _SYMBOLS), None)
        return np.empty(0, _SYMBOL_TYPE) if table is None else self._records(table, _SYMBOL_TYPE)

    @cached_property
    def functions(self) -> Mapping[str, Place]:
        """Where each named symbol lies in its section.

        Raises:
            BinaryDamageError: The table of symbols or its texts lie outside of the file.
        """
        table = next((section for section in self.sections if section.kind == _SYMBOLS), None)
        if table is None or table.link >= len(self.sections):
            return {}
        link = self.sections[table.link]
        texts = self._bytes(link.begin, link.length)
        found: dict[str, Place] = {}
        symbols = self._symbols
        # Of the kinds, 3 stands for a section, which is not called.
        for row in np.flatnonzero((symbols["section"] > 0) & (symbols["info"] & 15 != 3)).tolist():
            name = _text(texts, int(symbols["name"][row]))
            found.setdefault(name, Place(int(symbols["section"][row]), int(symbols["value"][row])))
        return found

    @cached_property
    def code_sections(self) -> tuple[int, ...]:
        """Numbers of the sections that hold code."""
        return tuple(row for row, each in enumerate(self.sections) if each.name.startswith(".text."))

    def relocations(self, name: str) -> dict[int, Place]:
        """Returns what stands in a section for places of code: offset in the section to the place.

        Raises:
            BinaryDamageError: The relocations lie outside of the file.
        """
        return dict(self._relocations(self._find(name)))

    def _relocations(self, about: int | None) -> Iterator[tuple[int, Place]]:
        for section in self.sections:
            if about is None or section.about != about or section.kind not in (_WITH_ADDEND, _WITHOUT_ADDEND):
                continue
            rows = self._records(section, _ADDED if section.kind == _WITH_ADDEND else _PLAIN)
            addends = rows["addend"].tolist() if section.kind == _WITH_ADDEND else [0] * len(rows)
            symbols = (rows["info"] >> np.uint64(32)).tolist()
            for offset, symbol, addend in zip(rows["offset"].tolist(), symbols, addends, strict=True):
                if symbol < len(self._symbols):
                    stored = self._symbols[symbol]
                    yield offset, Place(int(stored["section"]), int(stored["value"]) + addend)


def _text(texts: bytes, begin: int) -> str:
    """Returns the text that begins there, "" if nothing does."""
    end = texts.find(b"\0", begin)
    return texts[begin : end if end >= 0 else len(texts)].decode("utf-8", "replace")
