"""Follows files that other processes append to: whole lines, and the events in them.

A reader polls; nothing here waits, locks or writes. A reader that starts late or
again reads from the beginning and misses nothing. What a line means beyond its
event type is the business of ``core.runs.monitor``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

READ_LIMIT_BYTES = 4 << 20
LINE_LIMIT_BYTES = 1 << 20

E = TypeVar("E")


class LineTail:
    """Gives the whole lines that a file has gained since the last look.

    A last line without its newline is kept back until it is whole. The file may be
    absent, may be replaced (another inode) and may be truncated: the tail then starts
    again at its beginning.

    Attributes:
        restarts: How often the file was found replaced or truncated.
        long_lines: Lines over ``line_limit_bytes``, which are left out.
        behind_bytes: What the file held beyond the last read; 0 when it cannot be read.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_limit_bytes: int = READ_LIMIT_BYTES,
        line_limit_bytes: int = LINE_LIMIT_BYTES,
    ) -> None:
        self.path = path
        self.restarts = 0
        self.long_lines = 0
        self.behind_bytes = 0
        self._read_limit_bytes = read_limit_bytes
        self._line_limit_bytes = line_limit_bytes
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._torn = b""
        self._skipping = False

    def read(self) -> list[bytes]:
        """Lines that are whole now, without their newline, in order.

        Reads ``read_limit_bytes`` at most; ``behind_bytes`` tells whether to call again.

        Raises:
            OSError: The file is there and cannot be read.
        """
        try:
            status = os.stat(self.path)
            if (status.st_dev, status.st_ino) == self._identity and status.st_size == self._offset:
                return []
            data = self._read_new()
        except OSError as error:
            # What cannot be read now is nothing to wait for: who reads to the end would never get there.
            self.behind_bytes = 0
            if isinstance(error, FileNotFoundError):
                return []
            raise
        return self._lines(data)

    def _read_new(self) -> bytes:
        with open(self.path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            identity = (status.st_dev, status.st_ino)
            if identity != self._identity or status.st_size < self._offset:
                self._restart(identity)
            file.seek(self._offset)
            data = file.read(self._read_limit_bytes) or b""
        self._offset += len(data)
        self.behind_bytes = max(0, status.st_size - self._offset)
        return data

    def _restart(self, identity: tuple[int, int]) -> None:
        if self._identity is not None:
            self.restarts += 1
        self._identity = identity
        self._offset, self._torn, self._skipping = 0, b"", False

    def _lines(self, data: bytes) -> list[bytes]:
        *lines, self._torn = (self._torn + data).split(b"\n")
        if self._skipping and lines:
            del lines[0]
            self._skipping = False
        short = [line for line in lines if len(line) <= self._line_limit_bytes]
        self.long_lines += len(lines) - len(short)
        if self._skipping:
            self._torn = b""
        elif len(self._torn) > self._line_limit_bytes:
            self.long_lines += 1
            self._skipping, self._torn = True, b""
        return short


class _AnyRecord(msgspec.Struct):
    """What can be told of a record that this version does not know."""

    kind: str
    seq: int = 0


class EventTail(Generic[E]):
    """Gives the events that a file of records has gained since the last look.

    What cannot be read is left out and counted, never raised: a line cut short by a
    full disk, a kind from a newer writer, a gap in the sequence.

    Attributes:
        first_sequence: Of the first numbered record; None before there is one.
        last_sequence: Of the newest one.
        lost_records: Numbers that are missing between the two.
    """

    def __init__(self, path: Path, event_type: object, *, read_limit_bytes: int = READ_LIMIT_BYTES) -> None:
        """Follows ``path``, whose records are of ``event_type`` (a union of event structs)."""
        self.lines = LineTail(path, read_limit_bytes=read_limit_bytes)
        self.first_sequence: int | None = None
        self.last_sequence: int | None = None
        self.lost_records = 0
        self._decoder: msgspec.json.Decoder[E] = msgspec.json.Decoder(event_type)
        self._any_decoder = msgspec.json.Decoder(_AnyRecord)
        self._broken = 0
        self._unfit: dict[str, int] = {}
        self._unknown: dict[str, int] = {}
        self._repeated = 0
        self._restarts = 0

    def read(self) -> list[E]:
        """Events that are whole now, in the order of the file.

        Raises:
            OSError: The file is there and cannot be read.
        """
        lines = self.lines.read()
        if self.lines.restarts != self._restarts:
            self._restarts = self.lines.restarts
            self.last_sequence = None
        events = []
        for line in lines:
            if line and not line.isspace():
                event = self._decode(line)
                if event is not None:
                    events.append(event)
        return events

    @property
    def problems(self) -> dict[str, tuple[int, str]]:
        """All that was skipped or is missing: code -> (count, what it means)."""
        name = self.lines.path.name
        found = {
            "broken_line": (self._broken, f"lines of {name} are not whole records and were skipped"),
            "unknown_event": (
                sum(self._unknown.values()),
                f"records of {name} are of a kind that this version does not know ({_names(self._unknown)})",
            ),
            "unfit_event": (
                sum(self._unfit.values()),
                f"records of {name} do not have the fields of their kind ({_names(self._unfit)})",
            ),
            "lost_records": (self.lost_records, f"records are missing in {name}: their numbers leave gaps"),
            "repeated_records": (self._repeated, f"records of {name} have a number that was there before"),
            "long_line": (
                self.lines.long_lines,
                f"lines of {name} are longer than 1 MiB and were skipped",
            ),
            "restarted_file": (self.lines.restarts, f"times {name} was replaced or cut while it was read"),
        }
        return {code: entry for code, entry in found.items() if entry[0]}

    def _decode(self, line: bytes) -> E | None:
        try:
            event = self._decoder.decode(line)
        except msgspec.ValidationError as error:
            self._count_unfit(line, error)
            return None
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._broken += 1
            return None
        self._note_sequence(getattr(event, "seq", 0))
        return event

    def _count_unfit(self, line: bytes, error: msgspec.ValidationError) -> None:
        try:
            record = self._any_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._broken += 1
            return
        counts = self._unknown if str(error).endswith("`$.kind`") else self._unfit
        counts[record.kind] = counts.get(record.kind, 0) + 1
        self._note_sequence(record.seq)

    def _note_sequence(self, sequence: int) -> None:
        """Counts gaps; records of several writers are not numbered and have 0."""
        if sequence <= 0:
            return
        last = self.last_sequence
        if self.first_sequence is None:
            self.first_sequence = sequence
            self.lost_records += sequence - 1
        elif last is not None and sequence > last:
            self.lost_records += sequence - last - 1
        elif last is not None:
            self._repeated += 1
        self.last_sequence = sequence if last is None else max(last, sequence)


def _names(counts: dict[str, int]) -> str:
    shown = sorted(counts)[:3]
    return ", ".join(repr(name[:40]) for name in shown) + (", ..." if len(counts) > len(shown) else "")
