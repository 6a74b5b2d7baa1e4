"""Vulkan drivers that crash or hang as they are loaded: tiny shared libraries, written byte by byte.

No compiler is needed, and the loader treats them as any driver: it loads the
library that the manifest names, and the library's own start code does the rest.

Source: System V ABI, chapters Object Files and Program Loading; elf(5); Linux
system call numbers of x86-64.
"""

from __future__ import annotations

import json
import os
import platform
import struct
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

START_CODE = {
    "aborts": "b827000000 0f05 89c7 be06000000 b83e000000 0f05",  # kill itself with SIGABRT, as abort does
    "crashes": "31c0 8b00",  # read address 0
    "hangs": "b822000000 0f05 ebf7",  # pause, and again
    "exits": "bf03000000 b8e7000000 0f05",  # exit_group with code 3
}
"""What a driver does at its start, as machine code of x86-64."""

_HEADER_BYTES, _SEGMENT_BYTES = 64, 56
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_INIT = 5, 6, 10, 11, 12


def needs_machine_code() -> pytest.MarkDecorator:
    able = sys.platform.startswith("linux") and platform.machine() == "x86_64"
    return pytest.mark.skipif(not able, reason="the made drivers are machine code for Linux on x86-64")


def write_driver(folder: Path, behaviour: str) -> Path:
    """Write a library and its manifest; return the manifest."""
    library = folder / f"lib{behaviour}.so"
    library.write_bytes(_shared_library(bytes.fromhex(START_CODE[behaviour])))
    return write_manifest(folder / f"{behaviour}_icd.json", os.fspath(library))


def write_manifest(path: Path, library: str) -> Path:
    """Write the manifest of a driver.

    Source: Vulkan-Loader, LoaderDriverInterface.md, Driver Manifest File Format.
    """
    icd = {"library_path": library, "api_version": "1.3.0"}
    path.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))
    return path


def _shared_library(code: bytes) -> bytes:
    """A library of one segment that exports nothing and whose DT_INIT is the code."""
    strings_at = _HEADER_BYTES + 3 * _SEGMENT_BYTES
    symbols_at = strings_at + 8
    code_at = symbols_at + 24
    dynamic_at = code_at + (len(code) + 15) // 16 * 16
    entries = (
        (_DT_STRTAB, strings_at),
        (_DT_SYMTAB, symbols_at),
        (_DT_STRSZ, 1),
        (_DT_SYMENT, 24),
        (_DT_INIT, code_at),
        (0, 0),
    )
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    size = dynamic_at + len(dynamic)

    def segment(kind: int, flags: int, at: int, length: int, alignment: int) -> bytes:
        return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, length, length, alignment)

    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = identity + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, _HEADER_BYTES, 0, 0, _HEADER_BYTES, _SEGMENT_BYTES, 3, 64, 0, 0
    )
    segments = (
        segment(_LOAD, 7, 0, size, 0x1000)
        + segment(_DYNAMIC, 6, dynamic_at, len(dynamic), 8)
        + segment(_STACK, 6, 0, 0, 16)
    )
    body = (header + segments).ljust(code_at, b"\0") + code
    return body.ljust(dynamic_at, b"\0") + dynamic
