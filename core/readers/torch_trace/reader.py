"""The way in: from a path to a ``Trace``.

The text is cut into chunks where an event very probably begins, and chunks are
scanned side by side. A guess is checked before its result is used: the scan of
the chunk before must end exactly there. If it does not, the chunk is scanned
again from where the one before really ended.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.errors import DashboardError
from core.files import printable
from core.readers.torch_trace.assemble import Assembly
from core.readers.torch_trace.container import BLOCK_BYTES, Container
from core.readers.torch_trace.finish import finish
from core.readers.torch_trace.one_by_one import SingleEvents
from core.readers.torch_trace.outline import WHAT_TO_EXPORT, Outline, find_events, read_keys, trace_facts
from core.readers.torch_trace.problems import problems_of
from core.readers.torch_trace.raw import Oddities
from core.readers.torch_trace.scan import Reason, ScanResult, find_boundary, scan_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor
    from pathlib import Path

    from core.tables.columns import Uint8
    from core.tables.trace import Trace

_LOOK_BACK_BYTES: Final = 2**18
_MOST_HEAD_BYTES: Final = 2**30
_MOST_TAIL_BYTES: Final = 2**28
_LONGEST_BOUNDARY_BYTES: Final = 4096


def read_trace(
    path: Path, progress: Callable[[int, int], None] | None = None, threads: int | None = None
) -> Trace:
    """Reads a trace file.

    Args:
        path: The file; its name does not matter.
        progress: Called with the bytes of the file that are read and its size, some hundred times a GB.
            What it raises ends the reading.
        threads: That scan side by side; as many as there are cores if None.

    Raises:
        DashboardError: It cannot be read, or is no trace; says what it is.
    """
    oddities = Oddities()
    name = printable(path.name)
    try:
        container = Container(path, oddities)
    except OSError as error:
        raise DashboardError(
            f"{name} cannot be opened: {error.strerror or error}.", "Check the path and its permissions."
        ) from error
    try:
        count = threads or os.cpu_count() or 1
        with ThreadPoolExecutor(count) as executor:
            trace = _Reading(container, oddities, executor, count, progress).read(path.name)
        return replace(trace, problems=problems_of(oddities, path))
    except OSError as error:
        raise DashboardError(
            f"{name} cannot be read: {error.strerror or error}.",
            "Copy the file to a local disk and try again.",
        ) from error
    finally:
        container.close()


class _Chunk(NamedTuple):
    """Text between two guessed boundaries.

    Attributes:
        buffer: (n,) uint8, the text; if it is not the last, and one byte more: the brace of the next event.
        base: Place of ``buffer[0]`` in the text.
        last: Whether nothing follows.
        begin: Where in the buffer the events begin.
        memory: What ``buffer`` is a part of, to be used again.
    """

    buffer: Uint8
    base: int
    last: bool
    begin: int
    memory: Uint8

    @property
    def end(self) -> int:
        return len(self.buffer) if self.last else len(self.buffer) - 1

    def text(self, start: int, end: int) -> bytes:
        return self.buffer[start:end].tobytes()


class _Reading:
    def __init__(
        self,
        container: Container,
        oddities: Oddities,
        executor: Executor,
        threads: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._container = container
        self._oddities = oddities
        self._executor = executor
        self._threads = threads
        self._progress = progress
        self._assembly = Assembly(oddities)
        self._singles = SingleEvents(oddities)
        self._outline = Outline()
        self._event_count = 0
        self._text_bytes = 0
        # Text from the begin of an event on that does not end in it yet.
        self._carry: list[bytes] = []
        self._carry_bytes = self._tried_bytes = 0
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._closed = False
        # Memory that was used once is in the cache and costs no page faults: it goes round.
        self._free: list[Uint8] = []

    def read(self, name: str) -> Trace:
        self._read_events()
        self._read_tail()
        event_count = self._event_count + self._singles.event_count
        facts = trace_facts(self._outline, self._container.packed_bytes, self._text_bytes, event_count)
        self._refuse_what_is_no_event(event_count)
        return finish(name, self._assembly, self._singles, facts, self._oddities)

    def _read_events(self) -> None:
        memory, begin, filled = self._find_events()
        waiting: deque[tuple[_Chunk, Future[ScanResult]]] = deque()
        for chunk in self._chunks(memory, begin, filled):
            waiting.append((chunk, self._executor.submit(_scan, chunk)))
            while len(waiting) > self._threads + 1:
                self._take(*waiting.popleft())
        while waiting:
            self._take(*waiting.popleft())
        self._free.clear()

    def _fill(self, memory: Uint8, filled: int) -> int:
        """Reads more text into the memory behind what is filled; returns how much, 0 at the end."""
        count = self._container.fill(memory[filled : filled + BLOCK_BYTES].data)
        self._text_bytes += count
        if self._progress is not None:
            self._progress(self._container.read_bytes, self._container.packed_bytes)
        return count

    def _find_events(self) -> tuple[Uint8, int, int]:
        """Returns memory with the start of the text, where the ``[`` of the events is, and how full it is."""
        memory = _memory(2 * BLOCK_BYTES)
        filled = tried = 0
        while True:
            if filled == len(memory):
                memory = _larger(memory, filled)
            count = self._fill(memory, filled)
            filled += count
            # Twice as much before each new try: a huge key before the events costs no squared time.
            if count and tried and filled < 2 * tried and filled < _MOST_HEAD_BYTES:
                continue
            complete = not count or filled >= _MOST_HEAD_BYTES
            if complete and not memory[:filled].tobytes().strip() and self._oddities.counts:
                raise DashboardError(
                    "The compressed file is damaged at its start: nothing of it can be unpacked.",
                    "Copy it again from where it was written.",
                )
            at = find_events(memory[:filled].tobytes(), complete, self._outline)
            if at is not None:
                return memory, at - 1, filled
            tried = filled

    def _chunks(self, memory: Uint8, start: int, filled: int) -> Iterator[_Chunk]:
        """Cuts the text from ``memory[start]`` on, the ``[`` of the events."""
        base, begin = start, 1
        searched = start
        while True:
            cut = _boundary(memory[:filled], searched)
            if cut > start:
                rest = memory[cut:filled]
                following = self._free.pop() if self._free else _memory(2 * BLOCK_BYTES)
                if len(following) < len(rest) + BLOCK_BYTES:
                    following = _memory(len(rest) + 2 * BLOCK_BYTES)
                following[: len(rest)] = rest
                yield _Chunk(memory[start : cut + 1], base, False, begin, memory)
                base += cut - start
                memory, start, filled, begin, searched = following, 0, len(rest), 0, 0
            else:
                searched = max(filled - _LONGEST_BOUNDARY_BYTES, start)
            if filled == len(memory):
                memory = _larger(memory, filled)
            count = self._fill(memory, filled)
            if not count:
                yield _Chunk(memory[start:filled], base, True, begin, memory)
                return
            filled += count

    def _take(self, chunk: _Chunk, scanned: Future[ScanResult]) -> None:
        """Uses the scan of the next chunk, or scans it again if it began in the wrong place."""
        if self._closed:
            scanned.cancel()
            self._keep_tail(chunk.text(0, chunk.end))
        else:
            self._use(chunk, scanned)
        if scanned.cancelled() or scanned.done():
            self._free.append(chunk.memory)

    def _use(self, chunk: _Chunk, scanned: Future[ScanResult]) -> None:
        if self._carry:
            scanned.cancel()
            # Twice as much before each new try: one event without an end costs no squared time.
            if not chunk.last and self._carry_bytes + chunk.end < 2 * self._tried_bytes:
                self._carry.append(chunk.text(0, chunk.end))
                self._carry_bytes += chunk.end
                return
            whole = np.frombuffer(b"".join((*self._carry, chunk.buffer.tobytes())), np.uint8)
            chunk = _Chunk(whole, chunk.base - self._carry_bytes, chunk.last, 0, whole)
            result = _scan(chunk)
        else:
            result = scanned.result()
        self._add(chunk, result)
        if result.reason == Reason.CLOSED:
            self._closed = True
            self._carry = []
            self._keep_tail(chunk.text(result.stopped, chunk.end))
        else:
            rest = chunk.text(result.stopped, chunk.end)
            self._carry = [rest] if rest else []
            self._carry_bytes = self._tried_bytes = len(rest)
            if chunk.last and rest.strip():
                self._oddities.add("cut_event", chunk.base + result.stopped)

    def _add(self, chunk: _Chunk, result: ScanResult) -> None:
        events = result.events
        self._event_count += len(events) + events.null_count
        self._assembly.add(events)
        for begin, end in events.left.tolist():
            self._singles.add(chunk.text(begin - chunk.base, end - chunk.base), begin)
        for place in events.stray_commas.tolist():
            self._oddities.add("stray_comma", place)
        if events.null_count:
            self._oddities.add("null_event", events.null_offset, events.null_count)

    def _keep_tail(self, text: bytes) -> None:
        if self._tail_bytes < _MOST_TAIL_BYTES:
            self._tail.append(text)
            self._tail_bytes += len(text)

    def _read_tail(self) -> None:
        if self._closed:
            read_keys(b"".join(self._tail), 0, self._outline, stop_at_events=False)
        elif self._outline.is_object:
            self._oddities.add("cut_file", self._text_bytes)

    def _refuse_what_is_no_event(self, event_count: int) -> None:
        found = self._assembly.count + len(self._singles.metadata) + len(self._singles.counters)
        if event_count and not found and not self._singles.kept:
            raise DashboardError(
                f"Not a trace: none of its {event_count:,} records is an event of a trace.", WHAT_TO_EXPORT
            )


def _memory(size: int) -> Uint8:
    return np.empty(size, np.uint8)


def _larger(memory: Uint8, filled: int) -> Uint8:
    larger = _memory(2 * len(memory))
    larger[:filled] = memory[:filled]
    return larger


def _scan(chunk: _Chunk) -> ScanResult:
    return scan_chunk(chunk.buffer, chunk.begin, chunk.end, chunk.base, chunk.last)


def _boundary(text: Uint8, searched: int) -> int:
    """Returns where an event very probably begins near the end of the text, 0 if nowhere."""
    for start in (max(len(text) - _LOOK_BACK_BYTES, searched), searched):
        found = int(find_boundary(text, start))
        if found > 0:
            return found
    return 0
