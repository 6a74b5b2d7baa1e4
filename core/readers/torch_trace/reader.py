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
from core.readers.torch_trace.container import Container
from core.readers.torch_trace.finish import finish
from core.readers.torch_trace.one_by_one import SingleEvents
from core.readers.torch_trace.outline import WHAT_TO_EXPORT, Outline, find_events, read_keys, trace_facts
from core.readers.torch_trace.problems import problems_of
from core.readers.torch_trace.raw import Oddities
from core.readers.torch_trace.scan import Reason, ScanResult, find_boundary, scan_chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as executor:
            trace = _Reading(container, oddities, executor, progress).read(path.name)
        return replace(trace, problems=problems_of(oddities, path))
    except OSError as error:
        raise DashboardError(
            f"{name} cannot be read: {error.strerror or error}.",
            "Copy the file to a local disk and try again.",
        ) from error
    finally:
        container.close()


class _Chunk(NamedTuple):
    """Text between two guessed boundaries; ``text`` holds one byte more, the next event's brace."""

    text: bytes
    base: int
    last: bool
    begin: int = 0

    @property
    def end(self) -> int:
        return len(self.text) if self.last else len(self.text) - 1


class _Reading:
    def __init__(
        self,
        container: Container,
        oddities: Oddities,
        executor: ThreadPoolExecutor,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._container = container
        self._blocks = container.blocks()
        self._oddities = oddities
        self._executor = executor
        self._threads = executor._max_workers
        self._progress = progress
        self._assembly = Assembly(oddities)
        self._singles = SingleEvents(oddities)
        self._outline = Outline()
        self._event_count = 0
        self._text_bytes = 0
        self._carry = b""
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._closed = False

    def read(self, name: str) -> Trace:
        text, base = self._find_events()
        waiting: deque[tuple[_Chunk, Future[ScanResult]]] = deque()
        for chunk in self._chunks(text, base):
            waiting.append((chunk, self._executor.submit(_scan, chunk)))
            while len(waiting) > self._threads + 1:
                self._take(*waiting.popleft())
        while waiting:
            self._take(*waiting.popleft())
        self._read_tail()
        event_count = self._event_count + self._singles.event_count
        facts = trace_facts(self._outline, self._container.packed_bytes, self._text_bytes, event_count)
        self._refuse_what_is_no_event(event_count)
        return finish(name, self._assembly, self._singles, facts, self._oddities)

    def _next_block(self) -> bytes:
        block = next(self._blocks, b"")
        self._text_bytes += len(block)
        if self._progress is not None:
            self._progress(self._container.read_bytes, self._container.packed_bytes)
        return block

    def _find_events(self) -> tuple[bytes, int]:
        """Returns the text from the ``[`` of the events on as far as it is read, and its place."""
        head = b""
        wanted = 1
        while True:
            block = self._next_block()
            head += block
            # Twice as much before each new try: a huge key before the events costs no squared time.
            if block and len(head) < wanted and len(head) < _MOST_HEAD_BYTES:
                continue
            at = find_events(head, not block or len(head) >= _MOST_HEAD_BYTES, self._outline)
            if at is not None:
                return head[at - 1 :], at - 1
            wanted = 2 * len(head)

    def _chunks(self, text: bytes, base: int) -> Iterator[_Chunk]:
        searched = 0
        begin = 1
        while block := self._next_block():
            text += block
            if self._closed:
                yield _Chunk(text + b"{", base, last=False)
                base, text, searched = base + len(text), b"", 0
                continue
            cut = _boundary(text, searched)
            if cut > 0:
                yield _Chunk(text[: cut + 1], base, False, begin)
                base, text, searched, begin = base + cut, text[cut:], 0, 0
            else:
                searched = max(len(text) - _LONGEST_BOUNDARY_BYTES, 0)
        yield _Chunk(text, base, True, begin)

    def _take(self, chunk: _Chunk, scanned: Future[ScanResult]) -> None:
        """Uses the scan of the next chunk, or scans it again if it began in the wrong place."""
        if self._closed:
            scanned.cancel()
            self._keep_tail(chunk.text[: chunk.end])
            return
        if self._carry:
            chunk = _Chunk(self._carry + chunk.text, chunk.base - len(self._carry), chunk.last)
            scanned.cancel()
            result = _scan(chunk)
        else:
            result = scanned.result()
        self._add(chunk, result)
        if result.reason == Reason.CLOSED:
            self._closed = True
            self._carry = b""
            self._keep_tail(chunk.text[result.stopped : chunk.end])
        else:
            self._carry = chunk.text[result.stopped : chunk.end]
            if chunk.last and self._carry.strip():
                self._oddities.add("cut_event", chunk.base + result.stopped)

    def _add(self, chunk: _Chunk, result: ScanResult) -> None:
        events = result.events
        self._event_count += len(events) + events.null_count
        self._assembly.add(events)
        for begin, end in events.left.tolist():
            self._singles.add(chunk.text[begin - chunk.base : end - chunk.base], begin)
        for place in events.stray_commas.tolist():
            # A comma behind the last event of an array that was never closed separates from what was cut off.
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


def _scan(chunk: _Chunk) -> ScanResult:
    buffer = np.frombuffer(chunk.text, np.uint8)
    return scan_chunk(buffer, chunk.begin, chunk.end, chunk.base, chunk.last)


def _boundary(text: bytes, searched: int) -> int:
    """Returns where an event very probably begins near the end of the text, 0 if nowhere."""
    buffer = np.frombuffer(text, np.uint8)
    for start in (max(len(text) - _LOOK_BACK_BYTES, searched), searched):
        found = int(find_boundary(buffer, start))
        if found > 0:
            return found
    return 0
