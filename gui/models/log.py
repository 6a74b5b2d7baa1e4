"""The lines of a run's log as they are shown: a bounded store and a filter over it.

The whole log is on disk; here the newest lines are kept so that memory stays
flat however much a job prints. A line that a program rewrites in place (a
progress bar) keeps its number and so its place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.telemetry.views import LogLine

CAPACITY = 50_000
_COMPACT_AT = 8_192


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are shown.

    Attributes:
        rank: Only this rank's; None is all, with the launcher's own.
        text: Only those that hold it, in whatever case; "" is all.
    """

    rank: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class LogChange:
    """How the rows have changed.

    Attributes:
        removed: Rows that are gone from the front.
        reset: Rows may be others altogether.
    """

    removed: int = 0
    reset: bool = False


class LogModel(QObject):
    """Lines by number, and the rows that the filter lets through.

    Signals:
        changed: A ``LogChange``.
    """

    changed = Signal(object)

    def __init__(self, capacity: int = CAPACITY, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._capacity = capacity
        # The order stands apart: the first key of a dict that lost its first ones takes long to find.
        self._lines: dict[int, LogLine] = {}
        # Made once a line, not once a line and keystroke of the filter: that held the window up for 60 ms.
        self._folded: dict[int, str] = {}
        self._order: deque[int] = deque()
        self._rows: list[int] = []
        self._first_row = 0
        self._filter = LogFilter()
        self._needle = ""
        self._dropped = 0
        self._ranks: set[int] = set()

    def __len__(self) -> int:
        """Number of rows that are shown."""
        return len(self._rows) - self._first_row

    @property
    def kept(self) -> int:
        """Lines in memory, shown or not."""
        return len(self._lines)

    @property
    def dropped(self) -> int:
        """Older lines that are only on disk now."""
        return self._dropped

    @property
    def filter(self) -> LogFilter:
        """Which lines are shown."""
        return self._filter

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks that have printed something."""
        return tuple(sorted(self._ranks))

    def line(self, row: int) -> LogLine:
        """The line of a row, 0 <= row < len."""
        return self._lines[self._rows[self._first_row + row]]

    def lines(self) -> Iterator[LogLine]:
        """All shown lines, the oldest first."""
        return (self._lines[number] for number in self._rows[self._first_row :])

    def row_of(self, number: int) -> int:
        """Row of a line's number; of the next shown line if that one is not shown."""
        return bisect_left(self._rows, number, self._first_row) - self._first_row

    def add(self, lines: Iterable[LogLine]) -> None:
        """Takes new lines, and new texts of lines that are here."""
        before = self._first_row
        rewritten = False
        for line in lines:
            if line.number in self._lines:
                rewritten |= self._rewrite(line)
            elif not self._order or line.number > self._order[-1]:
                self._append(line)
        removed = self._first_row - before
        if self._first_row > _COMPACT_AT:
            del self._rows[: self._first_row]
            self._first_row = 0
        self.changed.emit(LogChange(removed=removed, reset=rewritten))

    def clear(self) -> None:
        """Forgets everything, for another run."""
        self._lines.clear()
        self._folded.clear()
        self._order.clear()
        self._rows.clear()
        self._ranks.clear()
        self._first_row = 0
        self._dropped = 0
        self.changed.emit(LogChange(reset=True))

    def set_filter(self, new: LogFilter) -> None:
        """Shows other lines."""
        if new == self._filter:
            return
        self._filter = new
        self._needle = new.text.casefold()
        self._rows = self._matching()
        self._first_row = 0
        self.changed.emit(LogChange(reset=True))

    def _matching(self) -> list[int]:
        """As ``_matches`` of every line, without a call a line: it happens at each keystroke."""
        rank, needle = self._filter.rank, self._needle
        if rank is None:
            return [number for number, text in self._folded.items() if needle in text]
        lines = self._lines
        return [
            number for number, text in self._folded.items() if lines[number].rank == rank and needle in text
        ]

    def _matches(self, line: LogLine) -> bool:
        if self._filter.rank is not None and line.rank != self._filter.rank:
            return False
        return not self._needle or self._needle in self._folded[line.number]

    def _keep(self, line: LogLine) -> None:
        self._lines[line.number] = line
        self._folded[line.number] = line.text.casefold()

    def _append(self, line: LogLine) -> None:
        self._keep(line)
        self._order.append(line.number)
        if line.rank is not None:
            self._ranks.add(line.rank)
        if self._matches(line):
            self._rows.append(line.number)
        if len(self._order) > self._capacity:
            oldest = self._order.popleft()
            del self._lines[oldest], self._folded[oldest]
            self._dropped += 1
            if self._first_row < len(self._rows) and self._rows[self._first_row] == oldest:
                self._first_row += 1

    def _rewrite(self, line: LogLine) -> bool:
        """Replaces a line's text. True if rows came or went by it."""
        was = self._matches(self._lines[line.number])
        self._keep(line)
        now = self._matches(line)
        if was == now:
            return False
        place = bisect_left(self._rows, line.number, self._first_row)
        if now:
            self._rows.insert(place, line.number)
        else:
            del self._rows[place]
        return True
