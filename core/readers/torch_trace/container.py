"""The unpacked UTF-8 text of a trace file, block by block: plain, gzip (any number of members), UTF-16.

What the file is made of is told by its first bytes, never by its name. A file
that ends early or is damaged gives what could be unpacked, and that is counted.
"""

from __future__ import annotations

import codecs
import os
import zlib
from typing import TYPE_CHECKING, Any, Final

from core.errors import DashboardError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path

    from core.readers.torch_trace.raw import Oddities

BLOCK_BYTES: Final = 4 * 2**20
_PACKED_BLOCK_BYTES: Final = 2**20
_GZIP: Final = b"\x1f\x8b"
_MOST_RATIO: Final = 400
_RATIO_MATTERS_BYTES: Final = 2**28


class Container:
    """A trace file while it is read.

    Attributes:
        packed_bytes: Size of the file.
        read_bytes: How much of the file was read so far, for progress.
    """

    def __init__(self, path: Path, oddities: Oddities) -> None:
        """Opens the file.

        Raises:
            OSError: It cannot be opened.
        """
        self._file: FileIO = path.open("rb", buffering=0)
        self._oddities = oddities
        self.packed_bytes = os.fstat(self._file.fileno()).st_size
        self.read_bytes = 0

        self._text: Iterator[bytes] | None = None
        self._rest = memoryview(b"")
        self._is_plain = False

    def fill(self, room: memoryview) -> int:
        """Puts the next bytes of the text into ``room`` and returns how many; 0 at the end.

        Text that lies in the file as it is, is read without a copy. Not to be mixed with ``blocks``.

        Raises:
            OSError, DashboardError: As ``blocks``.
        """
        if self._text is None:
            self._text = self.blocks()
            head = self._file.read(3)
            self._file.seek(0)
            marks = (_GZIP, codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            self._is_plain = not head.startswith(marks)
        if self._is_plain:
            count = self._file.readinto(room) or 0
            self.read_bytes += count
            return count
        if not self._rest:
            self._rest = memoryview(next(self._text, b""))
        count = min(len(self._rest), len(room))
        room[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def blocks(self) -> Iterator[bytes]:
        """Gives the text in blocks of at most ``BLOCK_BYTES`` or so; none of them is empty.

        Raises:
            OSError: The file cannot be read.
            DashboardError: It unpacks to more than any real trace would.
        """
        blocks = self._packed_blocks()
        first = next(blocks, b"")
        blocks = _with_first(first, blocks)
        if first.startswith(_GZIP):
            blocks = self._unpacked(blocks)
            first = next(blocks, b"")
            blocks = _with_first(first, blocks)
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            yield from _transcoded(blocks)
        else:
            yield from _without_mark(blocks)

    def _packed_blocks(self) -> Iterator[bytes]:
        head = self._file.read(2)
        self._file.seek(0)
        size = _PACKED_BLOCK_BYTES if head == _GZIP else BLOCK_BYTES
        while block := self._file.read(size):
            self.read_bytes += len(block)
            yield block

    def _unpacked(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        unpacked_bytes = 0
        for part in self._members(blocks):
            unpacked_bytes += len(part)
            ratio = unpacked_bytes // max(self.packed_bytes, 1)
            if unpacked_bytes > _RATIO_MATTERS_BYTES and ratio > _MOST_RATIO:
                raise DashboardError(
                    f"The gzip file unpacks to more than {ratio} times its size.",
                    "No trace is that repetitive. Unpack it yourself if you trust it, and open the result.",
                )
            if part:
                yield part

    def _members(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Unpacks member after member; zero bytes between and behind them are padding. Parts may be empty."""
        unpacker = zlib.decompressobj(wbits=31)
        begun = False
        unpacked_bytes = 0
        magic = b""
        for block in blocks:
            rest = block if begun else block.lstrip(b"\x00")
            while rest:
                magic = (magic + rest[:2])[:2]
                before = unpacker.copy()
                try:
                    part = unpacker.decompress(rest, BLOCK_BYTES)
                except zlib.error:
                    part = _before_damage(before, rest)
                    yield part
                    unpacked_bytes += len(part)
                    behind = unpacked_bytes and magic != _GZIP
                    self._oddities.add("bytes_behind_gzip" if behind else "gzip_damaged", unpacked_bytes)
                    return
                begun = True
                unpacked_bytes += len(part)
                yield part
                rest = unpacker.unconsumed_tail
                if unpacker.eof:
                    rest = unpacker.unused_data.lstrip(b"\x00")
                    unpacker, begun, magic = zlib.decompressobj(wbits=31), False, b""
        if begun:
            # What did not fit in the last block.
            part = unpacker.flush()
            yield part
            self._oddities.add("gzip_ends_early", unpacked_bytes + len(part))


def _before_damage(unpacker: Any, packed: bytes) -> bytes:
    """Returns what a damaged part of a gzip member holds before the damage: a failed call gives nothing."""
    parts = []
    for step in (4096, 1):
        while packed:
            trial = unpacker.copy()
            try:
                parts.append(trial.decompress(packed[:step]))
            except zlib.error:
                packed = packed[:step]
                break
            unpacker, packed = trial, packed[step:]
    return b"".join(parts)


def _with_first(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _without_mark(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for place, block in enumerate(blocks):
        text = block.removeprefix(codecs.BOM_UTF8) if place == 0 else block
        if text:
            yield text


def _transcoded(blocks: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for block in blocks:
        text = decoder.decode(block)
        if text:
            yield text.encode("utf-8", "replace")
    text = decoder.decode(b"", final=True)
    if text:
        yield text.encode("utf-8", "replace")
