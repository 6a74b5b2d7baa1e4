"""The unpacked bytes of a report and the blocks they are made of; holds no meaning of the messages in them.

Layout: magic, file header, then blocks until the end: length and header, then
a payload of entries, each with its length. A file that ends early, or is
damaged somewhere, gives the whole entries before that place.

Source: Nsight Compute Customization Guide, "Report File Format".
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import zstandard

from core.errors import DashboardError
from core.readers.ncu_report.schema import decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC: Final = b"NVR\x00"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"

_MOST_BYTES: Final = 2**32
# As large as a block of zstd: what a piece with damage holds before it is lost.
_PIECE_BYTES: Final = 2**17
_MOST_RATIO: Final = 200
_RATIO_MATTERS_BYTES: Final = 2**26
_LENGTH: Final = struct.Struct("<I")


class Entry(NamedTuple):
    """One entry of a payload: where its message lies in the unpacked bytes."""

    begin: int
    end: int


class Block(NamedTuple):
    """One block.

    Attributes:
        begin, end: Where it lies.
        header: Its decoded ``BlockHeader``.
        sources, results: Its entries of the two kinds that are known; others are passed over.
    """

    begin: int
    end: int
    header: Any
    sources: list[Entry]
    results: list[Entry]


class Damage(NamedTuple):
    """Where reading stopped: the byte, and whether the file just ends there."""

    place: int
    cut: bool


class Blocks:
    """The blocks of a report, read one after the other.

    Attributes:
        damage: After the iteration: why it ended before the end of the file, None if it did not.
        whole: How many blocks were whole.
        version: Of the format, as the file header says.
    """

    def __init__(self, raw: bytes) -> None:
        """Reads the file header.

        Raises:
            DashboardError: This is no report, or it is damaged before its first block.
        """
        self._raw = raw
        self.damage: Damage | None = None
        self.whole = 0
        if not raw:
            raise DashboardError("The report is empty (0 bytes).", "Profile again: ncu wrote nothing to it.")
        if not raw.startswith(MAGIC):
            raise DashboardError(
                "This is not an Nsight Compute report: it starts with other bytes.",
                "Open a file that ncu wrote with -o.",
            )
        length = self._length(len(MAGIC))
        self._begin = 2 * len(MAGIC) + (length or 0)
        if length is None or self._begin > len(raw):
            found = "no block length" if length is None else f"block length {length:,}"
            raise _damaged(f"{found} at byte {len(MAGIC)} of {len(raw):,}")
        header = decode("FileHeader", raw[2 * len(MAGIC) : self._begin])
        if header is None:
            raise _damaged(f"the file header of {length:,} bytes cannot be decoded")
        self.version: int = header.version

    def __iter__(self) -> Iterator[Block]:
        """Gives the blocks.

        Raises:
            DashboardError: Not even the first one is whole.
        """
        at = self._begin
        while at < len(self._raw) and self.damage is None:
            length = self._length(at)
            begin = at + _LENGTH.size
            if length is None or begin + length > len(self._raw):
                self._stop(at, cut=True)
                break
            header = decode("BlockHeader", self._raw[begin : begin + length])
            if header is None:
                self._stop(at, cut=False)
                break
            end = begin + length + header.payload_bytes
            block = self._entries(header, begin + length, end)
            if self.damage is None:
                self.whole += 1
            yield block
            at = end
        if not self.whole and self.damage is not None:
            raise _damaged(f"its first block, at byte {self._begin:,} of {len(self._raw):,}, is not whole")

    def _entries(self, header: Any, begin: int, end: int) -> Block:
        entries: list[Entry] = []
        known = header.sources + header.results
        at = begin
        while at < end and len(entries) < known:
            length = self._length(at)
            if length is None or at + _LENGTH.size + length > end:
                self._stop(at, cut=end > len(self._raw))
                break
            if at + _LENGTH.size + length > len(self._raw):
                self._stop(at, cut=True)
                break
            entries.append(Entry(at + _LENGTH.size, at + _LENGTH.size + length))
            at = entries[-1].end
        if end > len(self._raw):
            self._stop(at, cut=True)
        return Block(begin, end, header, entries[: header.sources], entries[header.sources :])

    def _length(self, at: int) -> int | None:
        if at + _LENGTH.size > len(self._raw):
            return None
        return int(_LENGTH.unpack_from(self._raw, at)[0])

    def _stop(self, place: int, cut: bool) -> None:
        if self.damage is None:
            self.damage = Damage(place, cut)


def read_unpacked(path: Path) -> bytes:
    """Reads a report whole, unpacked if it is packed with zstd; what is cut off or damaged is missing.

    Raises:
        OSError: It cannot be read.
        DashboardError: It is larger than any report, or unpacks to more than any would, or to nothing.
    """
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise DashboardError(
            f"The report has {size:,} bytes; at most {_MOST_BYTES:,} can be read.",
            "Profile fewer kernels into one report: --kernel-name, --launch-count.",
        )
    data = path.read_bytes()
    return _unpack(data) if data.startswith(ZSTD_MAGIC) else data


def _unpack(packed: bytes) -> bytes:
    parts: list[bytes] = []
    unpacked_bytes = 0
    # A reader, because it bounds what one call unpacks: 4 kB of a bomb are 100 MB.
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
        while True:
            try:
                part = reader.read(_PIECE_BYTES)
            except zstandard.ZstdError as error:
                if parts:
                    break
                raise _damaged(f"its zstd data cannot be unpacked ({error})") from error
            if not part:
                break
            parts.append(part)
            unpacked_bytes += len(part)
            _refuse_bomb(unpacked_bytes, len(packed))
    if not parts:
        raise _damaged("its zstd data ends before anything is unpacked")
    return b"".join(parts)


def _refuse_bomb(unpacked_bytes: int, packed_bytes: int) -> None:
    ratio = unpacked_bytes // max(packed_bytes, 1)
    if unpacked_bytes > _MOST_BYTES or (unpacked_bytes > _RATIO_MATTERS_BYTES and ratio > _MOST_RATIO):
        raise DashboardError(
            f"The packed report unpacks to more than {ratio:,} times its size.",
            "No report is that repetitive. Unpack it with zstd if you trust it, and open the result.",
        )


def _damaged(what: str) -> DashboardError:
    return DashboardError(
        f"The report is damaged: {what}.",
        "Copy it again, or profile again; nothing in it can be read.",
    )
