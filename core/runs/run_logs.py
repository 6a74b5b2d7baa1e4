"""All logs of a run together: lines to show, losses, and what the lines warn of.

Follows one file a rank and stream, and the launcher's, within a time limit a
round, so that a flood on one rank neither blocks the others nor the reader.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.runs.run_alerts import warning_alert
from core.telemetry.line_text import message_of
from core.telemetry.log_lines import SHOWN, LineNumbers, LoggedLoss, LogTail, NotableLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.runs.snapshot import Alert
    from core.runs.store import RunFolder
    from core.telemetry.log_lines import LogChunk
    from core.telemetry.views import LogLine

QUEUE_LINES = 20_000
"""Lines that wait for ``take_lines``; the oldest are dropped beyond it."""

_ROUND_BYTES = 1 << 18
_SHOWN_LATER = (10, 40)
_WARNING_LIMIT = 30
_PREFIX = re.compile(r"^(?:\S+:\d+: )?(?:\w*Warning: )?(?:WARNING:? ?)?")
_NUMBER = re.compile(r"\d+")
_LAUNCHER_SAW = re.compile(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: \d+\)")


@dataclass(slots=True)
class _Warning:
    """A warning in the words of its first occurrence."""

    message: str
    ranks: set[int | None]
    t_ns: int
    count: int


class RunLogs:
    """The logs of a run.

    Attributes:
        out_of_memory: Rank -> (time, text) of the first line that says so.
        blamed: Local rank that the launcher saw fail first.
        launcher_error: Last error in the launcher's own words.
    """

    def __init__(self, folder: RunFolder, ranks: int, rule: re.Pattern[str] | None) -> None:
        numbers = LineNumbers()
        self._tails = [LogTail(folder.launcher_log, None, "out", numbers=numbers, rule=rule)]
        for rank in range(ranks):
            for stream in ("out", "err"):
                path = folder.log_file(rank, stream)
                self._tails.append(LogTail(path, rank, stream, numbers=numbers, rule=rule))
        self._next = 0
        self._queue: dict[int, LogLine] = {}
        self._warnings: dict[str, _Warning] = {}
        self.out_of_memory: dict[int | None, tuple[int, str]] = {}
        self.blamed: int | None = None
        self.launcher_error = ""

    def read(
        self, t_ns: int, *, limit_ns: int, is_new: bool, wants_losses: Callable[[int | None], bool]
    ) -> tuple[list[LoggedLoss], bool]:
        """Takes in what is new, every file once at least, then on until the limit.

        Args:
            t_ns: Unix time now.
            limit_ns: CPU time of this thread to spend at most beyond the first round.
            is_new: The lines are written now; False for what was there before.
            wants_losses: Whether losses in a rank's log are of use.

        Returns:
            The losses, in the order of each file; and whether nothing is left to read.
        """
        losses: list[LoggedLoss] = []
        end_ns = time.thread_time_ns() + limit_ns
        active = self._tails[self._next :] + self._tails[: self._next]
        self._next = (self._next + 1) % len(self._tails)
        first_round = True
        while active and (first_round or time.thread_time_ns() < end_ns):
            still = []
            for tail in active:
                if not first_round and time.thread_time_ns() >= end_ns:
                    still.append(tail)
                    continue
                chunk = tail.read(
                    t_ns if is_new else None,
                    limit_bytes=_ROUND_BYTES,
                    losses=wants_losses(tail.rank),
                    shown=SHOWN if first_round else _SHOWN_LATER,
                )
                if chunk.read_bytes or chunk.lines:
                    losses += chunk.losses
                    self._take(tail, chunk, t_ns if is_new else tail.modified_ns or t_ns)
                    still.append(tail)
            active = still
            first_round = False
        return losses, not active

    def finish(self, t_ns: int, *, is_new: bool) -> list[LoggedLoss]:
        """Takes last lines without newline for whole: their programs have ended."""
        losses: list[LoggedLoss] = []
        for tail in self._tails:
            chunk = tail.finish(t_ns if is_new else None)
            losses += chunk.losses
            self._take(tail, chunk, t_ns if is_new else tail.modified_ns or t_ns)
        return losses

    def modified_ns(self, rank: int) -> int | None:
        """When the output of a rank last grew."""
        times = [tail.modified_ns for tail in self._tails[1 + 2 * rank : 3 + 2 * rank]]
        return max((t_ns for t_ns in times if t_ns is not None), default=None)

    def take_lines(self, limit: int) -> list[LogLine]:
        """The first ``limit`` lines, by number, that are new or rewritten; the others go on waiting."""
        return [self._queue.pop(number) for number in sorted(self._queue)[:limit]]

    def alerts(self) -> list[Alert]:
        """The warnings in the output, each in the words of its first occurrence."""
        return [
            warning_alert(key, warning.ranks, warning.message, warning.count, warning.t_ns)
            for key, warning in self._warnings.items()
        ]

    def _take(self, tail: LogTail, chunk: LogChunk, t_ns: int) -> None:
        # Lines of before have no time of their own: their file's last change is the latest it can be.
        for line in chunk.lines:
            self._queue.pop(line.number, None)
            self._queue[line.number] = line
        if len(self._queue) > QUEUE_LINES:
            for number in sorted(self._queue)[: len(self._queue) - QUEUE_LINES]:
                del self._queue[number]
        for notable in chunk.notable:
            self._note(tail, notable, t_ns)

    def _note(self, tail: LogTail, notable: NotableLine, t_ns: int) -> None:
        text = message_of(notable.text)
        if notable.out_of_memory:
            self.out_of_memory.setdefault(notable.rank, (t_ns, text))
        if tail.rank is None:
            self._note_launcher(text, notable)
        if notable.level != "warn":
            return
        message = _PREFIX.sub("", text).strip() or text
        key = _NUMBER.sub("#", message)[:80]
        known = self._warnings.get(key)
        if known is not None:
            known.count += 1
            known.ranks.add(notable.rank)
        elif len(self._warnings) < _WARNING_LIMIT:
            self._warnings[key] = _Warning(message, {notable.rank}, t_ns, 1)

    def _note_launcher(self, text: str, notable: NotableLine) -> None:
        seen = _LAUNCHER_SAW.search(text)
        if seen is not None and self.blamed is None:
            self.blamed = int(seen.group(2))
        if notable.level == "error" and not text.startswith("Traceback") and not notable.text[:1].isspace():
            self.launcher_error = text
