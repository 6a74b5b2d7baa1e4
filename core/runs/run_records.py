"""All record files of a run together: agents, supervisor, GPU sampler, requests.

Reads them in turns within a time limit and hands the records on; what they mean
is the monitor's matter.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.telemetry.events import ControlEvent, Event, GpuEvent, RankEvent, SupervisorEvent
from core.telemetry.tail import EventTail

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.runs.store import RunFolder

READ_BYTES = 1 << 18
"""Bytes that are read of one file in one turn."""


class RunRecords:
    """The record files of a run.

    Attributes:
        ranks: One tail a global rank.
    """

    def __init__(self, folder: RunFolder, ranks: int) -> None:
        self.ranks: list[EventTail[Event]] = [
            EventTail(folder.rank_file(rank), RankEvent, read_limit_bytes=READ_BYTES) for rank in range(ranks)
        ]
        self._others: list[EventTail[Event]] = [
            EventTail(folder.control_path, ControlEvent, read_limit_bytes=READ_BYTES),
            EventTail(folder.supervisor_path, SupervisorEvent, read_limit_bytes=READ_BYTES),
            EventTail(folder.gpus_path, GpuEvent, read_limit_bytes=READ_BYTES),
        ]
        self._unreadable: dict[str, str] = {}
        self._next = 0

    def read(
        self, limit_ns: int, take_rank: Callable[[int, Event], None], take_other: Callable[[Event], None]
    ) -> tuple[bool, bool]:
        """Hands on what is new, from every file once at least, then on until the limit.

        Args:
            limit_ns: CPU time of this thread to spend beyond the first round.
            take_rank: Called with the rank and each of its records.
            take_other: Called with each record of the other files.

        Returns:
            Whether anything was new, and whether nothing is left to read.
        """
        end_ns = time.thread_time_ns() + limit_ns
        count = len(self.ranks)
        any_new = False
        order = [(self._next + turn) % count for turn in range(count)] if count else []
        self._next = (self._next + 1) % max(1, count)
        first_round = True
        while first_round or (self._behind() and time.thread_time_ns() < end_ns):
            for rank in order:
                if not first_round and time.thread_time_ns() >= end_ns:
                    break
                for event in self._read(self.ranks[rank]):
                    any_new = True
                    take_rank(rank, event)
            for tail in self._others:
                for event in self._read(tail):
                    any_new = True
                    take_other(event)
            first_round = False
        return any_new, not self._behind()

    def _behind(self) -> bool:
        return any(tail.lines.behind_bytes for tail in (*self.ranks, *self._others))

    def _read(self, tail: EventTail[Event]) -> list[Event]:
        name = tail.lines.path.name
        try:
            events = tail.read()
        except OSError as error:
            self._unreadable[name] = error.strerror or str(error)
            return []
        self._unreadable.pop(name, None)
        return events

    def problems(self) -> list[tuple[str, int, str]]:
        """What was skipped or is missing: (code, count, what it means)."""
        found = [("unreadable", 1, f"{name} cannot be read: {why}") for name, why in self._unreadable.items()]
        for tail in (*self.ranks, *self._others):
            found += [(code, count, message) for code, (count, message) in tail.problems.items()]
        return found
