"""Device binaries for tests: those that nvcc made, and small ones with a line table written here."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.helpers import ncu_reports as made

FOLDER = Path(__file__).parents[1] / "data" / "cubins"
SAXPY = "_Z5saxpyifPKfPf"
ROW_SUM = "_Z7row_sumIfEvPKT_PS0_i"
BASE = 0x7F00_0000_0000


def built(name: str) -> bytes:
    """Returns one of the binaries in tests/data/cubins: "made_75"."""
    return (FOLDER / f"{name}.cubin").read_bytes()


def disassembled(name: str) -> dict[tuple[str, int], tuple[str, int]]:
    """Returns what nvdisasm 13 said of it: (function, offset) to (path, line)."""
    found = {}
    for text in (FOLDER / f"{name}.txt").read_text().splitlines():
        if not text.startswith("#"):
            function, offset, place = text.split(" ")
            path, line = place.rsplit(":", 1)
            found[function, int(offset, 16)] = (path, int(line))
    return found


def elf(line_table: bytes, texts: dict[str, bytes] | None = None, relocated: int | None = None) -> bytes:
    """Writes a binary with one function "kernel" of 64 bytes and a line table.

    Args:
        line_table: Content of .debug_line.
        texts: Further sections.
        relocated: Offset in the line table that a relocation says is the function's address.
    """
    sections: list[tuple[str, int, bytes, int, int]] = [
        ("", 0, b"", 0, 0),
        (".text.kernel", 1, bytes(64), 0, 0),
        (".strtab", 3, b"\0kernel\0", 0, 0),
        (".symtab", 2, bytes(24) + struct.pack("<IBBHQQ", 1, 2, 0, 1, 0, 64), 2, 0),
        (".debug_line", 1, line_table, 0, 0),
    ]
    if relocated is not None:
        sections.append((".rel.debug_line", 9, struct.pack("<QQ", relocated, 1 << 32 | 2), 3, 4))
    sections += [(name, 1, data, 0, 0) for name, data in (texts or {}).items()]
    names = b"\0".join(name.encode() for name, *_ in sections) + b"\0.shstrtab\0"
    sections.append((".shstrtab", 3, names, 0, 0))
    content, rows = bytearray(64), []
    for name, kind, data, link, about in sections:
        rows.append(
            struct.pack(
                "<IIQQQQIIQQ",
                names.index(name.encode() + b"\0"),
                kind,
                0,
                0,
                len(content),
                len(data),
                link,
                about,
                1,
                0,
            )
        )
        content += data
    table = len(content)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        2,
        190,
        1,
        0,
        0,
        table,
        90,
        64,
        0,
        0,
        64,
        len(rows),
        len(rows) - 1,
    )
    return head + bytes(content[64:]) + b"".join(rows)


def source(
    binary: bytes | None,
    functions: dict[str, int],
    imported: dict[str, str] | None = None,
    reference: int = 900,
) -> bytes:
    """Encodes a source of a report: its binary, where its functions lay, files with their texts."""
    table = [made.message({1: name, 2: base, 3: 1}) for name, base in functions.items()]
    files = [made.message({1: path, 2: text}) for path, text in (imported or {}).items()]
    fields = {1: reference, 5: 9, 6: 0x90000, 9: made.message({1: table})}
    if binary is not None:
        fields[4] = binary
    if files:
        fields[8] = made.message({1: files})
    return made.message(fields)
