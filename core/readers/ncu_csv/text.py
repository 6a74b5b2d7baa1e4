"""From a path to lines of text: any encoding that ncu's output meets, packed or not, of bounded size."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.errors import DashboardError
from core.files import printable, read_bytes_limited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES: Final = 256 * 2**20
"""Largest file, unpacked: some ten thousand launches with all metrics."""

_GZIP: Final = b"\x1f\x8b"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_BOM: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class CsvText:
    """The content of a file, decoded line by line when it is asked for.

    Attributes:
        data: Unpacked.
        is_cut: Whether it was packed and ends early.
    """

    data: bytes
    is_cut: bool

    def lines(self) -> Iterator[str]:
        """Yields the lines without their ends; bytes that are no text become U+FFFD."""
        encoding = "utf-16" if self.data[:2] in _UTF_16 else "utf-8"
        # Only line feeds and carriage returns end a line: names may hold other separators.
        for line in io.TextIOWrapper(io.BytesIO(self.data), encoding, errors="replace"):
            # A byte order mark stands at the head of each file that was appended.
            yield line.removesuffix("\n").removeprefix(_BOM)


def read_text(path: Path) -> CsvText:
    """Reads a whole file, gzip or plain.

    Raises:
        DashboardError: It is larger than ``MOST_BYTES``, packed or unpacked, or not a regular file.
        OSError: It cannot be read.
    """
    data = read_bytes_limited(path, MOST_BYTES)
    if not data.startswith(_GZIP):
        return CsvText(data, is_cut=False)
    unpacked, is_cut = _unpack(data)
    if len(unpacked) > MOST_BYTES:
        raise DashboardError(
            f"{printable(path.name)} unpacks to more than {MOST_BYTES:,} bytes.",
            "Export fewer metrics (--metrics) or fewer launches.",
        )
    return CsvText(unpacked, is_cut)


def _unpack(data: bytes) -> tuple[bytes, bool]:
    """Returns at most one byte more than is allowed, and whether the end is missing or damaged."""
    parts: list[bytes] = []
    left = MOST_BYTES + 1
    while data.startswith(_GZIP) and left > 0:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            part = unpacker.decompress(data, left)
        except zlib.error:
            return b"".join(parts), True
        parts.append(part)
        left -= len(part)
        if not unpacker.eof:
            return b"".join(parts), left > 0
        data = unpacker.unused_data
    return b"".join(parts), False
