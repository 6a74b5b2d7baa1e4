"""Processes and threads: which name each has, which device, stream and rank it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.readers.torch_trace.classify import device_number, stream_number
from core.readers.torch_trace.texts import encode_text
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import DEVICE_KINDS, SliceKind, TrackTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.readers.torch_trace.assemble import Assembly
    from core.readers.torch_trace.one_by_one import MetadataRow
    from core.readers.torch_trace.raw import Oddities, Sparse
    from core.tables.columns import Int32, Uint8
    from core.tables.strings import StringTable


class Tracks:
    """The tracks of a trace while it is put together.

    Attributes:
        pairs: (process, thread) of each track, raw text ids, NO_ROW if absent.
        ranks: rank of each track whose events name one.
    """

    def __init__(self, assembly: Assembly, metadata: Iterable[MetadataRow]) -> None:
        self._assembly = assembly
        self._names: dict[tuple[str, int, int], int] = {}
        for row in metadata:
            self._add(row)
        self.pairs = list(assembly.tracks)
        self.ranks: dict[int, int] = {}

    def _add(self, row: MetadataRow) -> None:
        process = self._id(row.process)
        thread = self._id(row.thread) if row.what.startswith("thread_") else NO_ROW
        if row.what in ("process_name", "thread_name", "process_labels") and isinstance(row.value, str):
            self._names[row.what, process, thread] = self._assembly.text_id(encode_text(row.value))

    def _id(self, text: str | None) -> int:
        return NO_ROW if text is None else self._assembly.text_id(encode_text(text))

    def track_of(self, process: str | None, thread: str | None) -> int:
        """Returns the track of an event that was read one by one; a new one if need be."""
        pair = (self._id(process), self._id(thread))
        known = self._assembly.tracks.setdefault(pair, len(self.pairs))
        if known == len(self.pairs):
            self.pairs.append(pair)
        return known

    def split_by_rank(self, track: Int32, rank: Sparse, oddities: Oddities) -> Int32:
        """Gives events of several ranks tracks of their own where they share one, and counts that.

        Merged files repeat the process and device numbers of every rank.

        Returns:
            (n,) int32, the track of each event.
        """
        if not len(rank.rows):
            return track
        split = track.copy()
        colliding: set[int] = set()
        order = np.lexsort((rank.values, track[rank.rows]))
        rows, values = rank.rows[order], rank.values[order]
        on = track[rows]
        begins = np.flatnonzero(np.diff(on, prepend=-1) | np.diff(values, prepend=values[0]))
        last_on = -1
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
            here, value = int(on[begin]), int(values[begin])
            if here != last_on:
                last_on = here
                self.ranks[here] = value
                continue
            colliding.update((self.ranks[here], value))
            self.ranks[len(self.pairs)] = value
            split[rows[begin:end]] = len(self.pairs)
            self.pairs.append(self.pairs[here])
        if colliding:
            oddities.add("colliding_ranks", -1, len(colliding), f"{min(colliding)} to {max(colliding)}")
        return split

    def labels(self, strings: StringTable, moved: Int32) -> list[tuple[str, str]]:
        """Returns the names of process and thread of each track; its numbers where it has no name."""
        found = []
        for process, thread in self.pairs:
            named = self._names.get(("process_name", process, NO_ROW), process)
            thread_named = self._names.get(("thread_name", process, thread), thread)
            found.append((_text(named, strings, moved), _text(thread_named, strings, moved)))
        return found

    def table(
        self, strings: StringTable, moved: Int32, kind: Uint8, track: Int32, rank: int | None
    ) -> TrackTable:
        """Makes the table once every event has its track and kind."""
        count = len(self.pairs)
        is_device = np.zeros(count, np.uint8)
        is_device[np.unique(track[np.isin(kind, [*DEVICE_KINDS, SliceKind.GPU_ANNOTATION])])] = 1
        names: list[int] = []
        thread_names: list[int] = []
        device, stream = np.full(count, MISSING, np.int64), np.full(count, MISSING, np.int64)
        for place, (process, thread) in enumerate(self.pairs):
            label = self._names.get(("process_labels", process, NO_ROW), NO_ROW)
            name = self._names.get(("process_name", process, NO_ROW), NO_ROW)
            thread_name = self._names.get(("thread_name", process, thread), NO_ROW)
            names.append(name)
            thread_names.append(thread_name)
            if is_device[place]:
                device[place] = _device(*(_text(text, strings, moved) for text in (label, name, process)))
                stream[place] = _stream(*(_text(text, strings, moved) for text in (thread_name, thread)))
        ranks = [self.ranks.get(place, MISSING if rank is None else rank) for place in range(count)]

        def texts(ids: Iterable[int]) -> Int32:
            return np.array([NO_ROW if one == NO_ROW else moved[one] for one in ids], np.int32)

        return TrackTable(
            process_id=texts(pair[0] for pair in self.pairs),
            thread_id=texts(pair[1] for pair in self.pairs),
            process_name_id=texts(names),
            thread_name_id=texts(thread_names),
            is_device=is_device,
            device=device,
            stream=stream,
            rank=np.array(ranks, np.int64),
        )


def _text(raw_id: int, strings: StringTable, moved: Int32) -> str:
    return "" if raw_id == NO_ROW else strings[int(moved[raw_id])]


def _device(label: str, name: str, process: str) -> int:
    for text in (label, name):
        number = device_number(text)
        if number is not None:
            return number
    return int(process) if process.isascii() and process.isdigit() and len(process) < 4 else MISSING


def _stream(thread_name: str, thread: str) -> int:
    for text in (thread_name, thread):
        number = stream_number(text)
        if number is not None:
            return number
    return int(thread) if thread.isascii() and thread.isdigit() and len(thread) < 19 else MISSING
