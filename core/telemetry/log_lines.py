"""Follows a log file and gives its lines as they are to be shown, with the losses in them.

Memory is bounded whatever the program writes: of a flood only the first and the
last lines of each read are shown (the file keeps all), a line without end is cut,
and a large file that is there already is shown from near its end. Losses are
looked for in every line, shown or not. What a line says is ``line_text``'s and
``loss_text``'s matter.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.telemetry.line_text import NOTABLE, is_out_of_memory, level_of, show, split_label
from core.telemetry.loss_text import find_loss, find_peak_memory
from core.telemetry.views import LogLine
from core.units import format_count, format_file_bytes

if TYPE_CHECKING:
    import re
    from pathlib import Path

    from core.telemetry.views import Level, Stream

SHOWN = (50, 200)
"""Lines at the beginning and at the end of a read that are shown of a flood."""

READ_BYTES = 1 << 20
"""Bytes that one read takes in at most."""

SHOWN_TAIL_BYTES = 1 << 18
"""How much of a file that is there already is shown."""

_OPEN_LIMIT_BYTES = 1 << 16
_NOTABLE_LIMIT = 50


class LineNumbers:
    """The one count of lines that all logs of a run share."""

    def __init__(self) -> None:
        self._next = 1

    def take(self, count: int = 1) -> int:
        """Takes ``count`` numbers in a row and returns the first."""
        first = self._next
        self._next += count
        return first


@dataclass(frozen=True, slots=True)
class LoggedLoss:
    """A loss that a line reports, and the peak memory if it names that too.

    ``rank`` is the line's label, else the file's; ``file`` is the file's rank and stream.
    """

    rank: int | None
    step: int | None
    value: float
    peak_bytes: int | None = None
    file: tuple[int | None, Stream] = (None, "out")


@dataclass(frozen=True, slots=True)
class NotableLine:
    """A warning or an error, also one that is not shown."""

    rank: int | None
    level: Level
    text: str
    out_of_memory: bool


@dataclass(slots=True)
class LogChunk:
    """What one read gave.

    Attributes:
        lines: New lines, and lines that were rewritten (same number again).
        losses: In the order of the file.
        notable: At most 50 warnings and errors.
        read_bytes: How much was read; 0 means that nothing new was there.
    """

    lines: list[LogLine] = field(default_factory=list)
    losses: list[LoggedLoss] = field(default_factory=list)
    notable: list[NotableLine] = field(default_factory=list)
    read_bytes: int = 0


class LogTail:
    """One log file, read bit by bit while it grows.

    Attributes:
        path: The file; it may not exist yet.
        rank: Global rank that writes it; None is the launcher.
        modified_ns: When the file last grew, Unix time; None while it is empty or absent.
    """

    def __init__(
        self,
        path: Path,
        rank: int | None,
        stream: Stream,
        *,
        numbers: LineNumbers | None = None,
        rule: re.Pattern[str] | None = None,
    ) -> None:
        self.path = path
        self.rank = rank
        self.modified_ns: int | None = None
        self._stream: Stream = stream
        self._numbers = numbers or LineNumbers()
        self._rule = rule
        self._labels_seen = rank is None
        self._identity: tuple[int, int] | None = None
        self._held: list[LoggedLoss] = []
        self._shown = SHOWN
        self._begin(0)

    def _begin(self, position: int) -> None:
        self._position = position
        self._open = b""
        self._open_offset = position
        self._open_lost_bytes = 0
        self._open_number: int | None = None
        self._in_traceback: set[int | None] = set()
        self._history_position = 0
        self._history_end = 0
        self._history_rest = b""

    def read(
        self,
        t_ns: int | None = None,
        *,
        limit_bytes: int = READ_BYTES,
        losses: bool = True,
        shown: tuple[int, int] = SHOWN,
    ) -> LogChunk:
        """Takes in what is new.

        Args:
            t_ns: Unix time to give the lines; None if they were there before.
            limit_bytes: Read this much at most; the rest waits for the next call.
            losses: Look for losses.
            shown: Lines at the beginning and at the end that are shown of a flood.

        Returns:
            An empty chunk if the file is absent or has not grown.
        """
        self._shown = shown
        chunk = LogChunk()
        size = self._prepare(chunk, t_ns)
        if size > self._position:
            data = self._bytes_at(self._position, min(limit_bytes, size - self._position))
            chunk.read_bytes += len(data)
            self._take(data, chunk, t_ns, losses)
        if not losses:
            self._history_position = self._history_end
            self._held.clear()
        elif self._history_position < self._history_end:
            self._read_history(chunk, max(1, limit_bytes - chunk.read_bytes))
        return chunk

    def finish(self, t_ns: int | None = None, *, losses: bool = True) -> LogChunk:
        """Takes a last line without newline for whole; nothing will follow it."""
        chunk = LogChunk()
        if self._open:
            self._close([self._open], chunk, t_ns, losses)
            self._open, self._open_number = b"", None
            self._open_offset, self._open_lost_bytes = self._position, 0
        return chunk

    def _prepare(self, chunk: LogChunk, t_ns: int | None) -> int:
        """Looks at the file; begins anew if it is another one. Returns its size."""
        try:
            status = os.stat(self.path)
        except OSError:
            return 0
        if status.st_size:
            self.modified_ns = status.st_mtime_ns
        identity = (status.st_dev, status.st_ino)
        if self._identity is None:
            self._identity = identity
            if status.st_size > 2 * SHOWN_TAIL_BYTES:
                self._begin_near_end(status.st_size, chunk, t_ns)
        elif identity != self._identity or status.st_size < self._position:
            self._identity = identity
            self._begin(0)
            self._say(chunk, t_ns, f"{self.path.name} was replaced or cut, it is read again from its start")
        return status.st_size

    def _begin_near_end(self, size: int, chunk: LogChunk, t_ns: int | None) -> None:
        start = size - SHOWN_TAIL_BYTES
        skipped = self._bytes_at(start, 8 * 1024)
        line_end = skipped.find(b"\n")
        start += line_end + 1
        self._begin(start)
        self._history_end = start
        self._say(chunk, t_ns, f"{format_file_bytes(start)} before this are not shown, {self._where()}")

    def _where(self) -> str:
        return f"the whole log is in {self.path}"

    def _say(self, chunk: LogChunk, t_ns: int | None, text: str, number: int | None = None) -> None:
        number = self._numbers.take() if number is None else number
        text = f"\N{HORIZONTAL ELLIPSIS} {text}"
        chunk.lines.append(LogLine(number=number, rank=self.rank, stream=self._stream, text=text, t_ns=t_ns))

    def _bytes_at(self, position: int, count: int) -> bytes:
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(position)
                return file.read(count) or b""
        except OSError:
            return b""

    # --- new bytes ---

    def _take(self, data: bytes, chunk: LogChunk, t_ns: int | None, losses: bool) -> None:
        begun = self._open
        *closed, rest = (begun + data).split(b"\n")
        self._position += len(data)
        if closed:
            self._close(closed, chunk, t_ns, losses)
            self._open_offset, self._open_lost_bytes = self._position - len(rest), 0
            self._open_number = None
            begun = b""
        self._keep_open(rest, chunk, losses)
        if self._open and self._open != begun:
            if self._open_number is None:
                self._open_number = self._numbers.take()
            chunk.lines.append(
                self._line(self._open_number, self._open, self._open_offset, t_ns, whole=False)
            )

    def _keep_open(self, rest: bytes, chunk: LogChunk, losses: bool) -> None:
        """Of an unfinished line only what was written after the last carriage return matters."""
        before = len(rest)
        if b"\r" in rest:
            *earlier, rest = _segments(rest)
            if losses:
                self._find_losses(earlier, chunk)
        self._open = rest[:_OPEN_LIMIT_BYTES]
        self._open_lost_bytes += before - len(self._open)

    def _close(self, raw_lines: list[bytes], chunk: LogChunk, t_ns: int | None, losses: bool) -> None:
        if losses:
            self._find_losses(raw_lines, chunk)
        count = len(raw_lines)
        first_number = self._open_number
        numbers_from = self._numbers.take(count if first_number is None else count - 1)
        if first_number is None:
            first_number, numbers_from = numbers_from, numbers_from + 1
        hidden = range(self._shown[0], count - self._shown[1])
        offset, lost_bytes = self._open_offset, self._open_lost_bytes
        for position, raw in enumerate(raw_lines):
            number = first_number if position == 0 else numbers_from + position - 1
            if position not in hidden:
                line = self._line(number, raw, offset, t_ns)
                chunk.lines.append(line)
                self._note(line, chunk)
            elif position == hidden.start:
                text = f"{format_count(len(hidden))} lines not shown, {self._where()}"
                self._say(chunk, t_ns, text, number)
                self._note_hidden(raw_lines[hidden.start : hidden.stop], chunk)
            offset += len(raw) + 1 + (lost_bytes if position == 0 else 0)

    def _line(self, number: int, raw: bytes, offset: int, t_ns: int | None, *, whole: bool = True) -> LogLine:
        if b"\r" in raw:
            raw = _segments(raw)[-1].rstrip(b"\r")
        text, spans = show(raw, whole=whole)
        rank, start = self._labelled(text)
        if start:
            text = text[start:]
            spans = tuple((max(0, a - start), b - start, colour) for a, b, colour in spans if b > start)
        return LogLine(
            number=number,
            rank=rank,
            stream=self._stream,
            text=text,
            level=self._level(text, rank, whole),
            t_ns=t_ns,
            spans=spans,
            offset_bytes=offset,
        )

    def _labelled(self, text: str) -> tuple[int | None, int]:
        """Rank of a line. A bare "2: " counts only beside labels that cannot be anything else."""
        rank, start = split_label(text, bare=self._labels_seen)
        if not start:
            return self.rank, 0
        self._labels_seen = True
        return rank, start

    def _level(self, text: str, rank: int | None, whole: bool) -> Level:
        """The lines of a traceback are as grave as its head, up to the first that is not indented."""
        level = level_of(text)
        if not whole:
            return level
        if text.startswith("Traceback (most recent call last)"):
            self._in_traceback.add(rank)
        elif rank in self._in_traceback:
            if text[:1].isspace():
                return "error"
            self._in_traceback.discard(rank)
        return level

    def _note(self, line: LogLine, chunk: LogChunk) -> None:
        if line.level != "info" and len(chunk.notable) < _NOTABLE_LIMIT:
            chunk.notable.append(NotableLine(line.rank, line.level, line.text, is_out_of_memory(line.text)))

    def _note_hidden(self, raw_lines: list[bytes], chunk: LogChunk) -> None:
        """Only lines with a word that occurs at all are looked at, so that a plain flood costs little."""
        block = b"\n".join(raw_lines)
        words = [word for word in NOTABLE if word in block]
        candidates = {position for word in words for position, raw in enumerate(raw_lines) if word in raw}
        for position in sorted(candidates):
            if len(chunk.notable) >= _NOTABLE_LIMIT:
                return
            self._note(self._line(0, raw_lines[position], 0, None), chunk)

    # --- losses ---

    def _find_losses(self, raw_lines: list[bytes], chunk: LogChunk) -> None:
        into = self._held if self._history_position < self._history_end else chunk.losses
        self._collect_losses(raw_lines, into)

    def _collect_losses(self, raw_lines: list[bytes], into: list[LoggedLoss]) -> None:
        for raw in raw_lines:
            if self._rule is None and b"oss" not in raw and b"OSS" not in raw:
                continue
            for segment in raw.split(b"\r"):
                text, _ = show(segment)
                rank, start = self._labelled(text)
                found = find_loss(text[start:], self._rule)
                if found is not None:
                    into.append(LoggedLoss(rank, *found, find_peak_memory(text), (self.rank, self._stream)))

    def _read_history(self, chunk: LogChunk, limit_bytes: int) -> None:
        """Looks for losses in what is not shown; those that came after it were held back until now."""
        count = min(limit_bytes, self._history_end - self._history_position)
        data = self._bytes_at(self._history_position, count)
        chunk.read_bytes += len(data)
        self._history_position = self._history_position + len(data) if data else self._history_end
        *raw_lines, self._history_rest = (self._history_rest + data).split(b"\n")
        self._history_rest = self._history_rest[-_OPEN_LIMIT_BYTES:]
        self._collect_losses(raw_lines, chunk.losses)
        if self._history_position >= self._history_end:
            chunk.losses += self._held
            self._held = []


def _segments(raw: bytes) -> list[bytes]:
    """Parts between carriage returns; one at the end stays with its part, as nothing has replaced it."""
    body = raw.rstrip(b"\r")
    parts = body.split(b"\r")
    if len(body) < len(raw):
        parts[-1] += b"\r"
    return parts
