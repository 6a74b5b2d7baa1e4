"""The last step of reading: from what an ``Assembly`` gathered to the frozen tables of a trace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.readers.torch_trace.assemble import dense
from core.readers.torch_trace.classify import kind_of_category, kind_without_category
from core.readers.torch_trace.pairs import EventColumns, pair_begins
from core.readers.torch_trace.raw import Slot, Sparse
from core.readers.torch_trace.texts import decode_text, encode_text
from core.readers.torch_trace.tracks import Tracks
from core.tables.columns import MISSING, NO_ROW
from core.tables.strings import string_table
from core.tables.trace import (
    DEVICE_KINDS,
    CollectiveTable,
    CounterTable,
    DeviceTable,
    FlowPhase,
    FlowTable,
    InstantTable,
    MemoryTable,
    OpTable,
    SliceKind,
    SliceTable,
    Trace,
    TraceFacts,
)

if TYPE_CHECKING:
    from core.readers.torch_trace.assemble import Assembly, Gathered
    from core.readers.torch_trace.one_by_one import SingleEvents
    from core.readers.torch_trace.raw import Oddities
    from core.tables.columns import Bool, Float64, Int32, Int64, Uint8
    from core.tables.strings import StringTable
    from core.tables.trace import TrackTable

_DAY_NS: Final = 86_400 * 10**9
_FLOW_CODES: Final = {ord("s"): FlowPhase.START, ord("t"): FlowPhase.STEP, ord("f"): FlowPhase.END}


def finish(
    name: str, assembly: Assembly, singles: SingleEvents, facts: TraceFacts, oddities: Oddities
) -> Trace:
    """Makes the trace. ``assembly`` is used up; the origin of ``facts`` is set here.

    The trace has no problems yet: what was repaired stands in ``oddities``.
    """
    assembly.add(singles.raw_events())
    slices = _Slices(assembly.slices)
    slices.sort_by_offset()
    slices.pair_begins(oddities)
    tracks = Tracks(assembly, singles.metadata)
    slices.track = tracks.split_by_rank(slices.track, slices.sparse(Slot.RANK), oddities)
    counters = _CounterIds(singles, assembly, tracks)
    strings, moved = _decode_texts(assembly, slices, oddities)
    slices.rename(moved)
    kind = _kinds(slices, tracks.labels(strings, moved), strings, oddities)
    origin_ns = _set_origin(slices, oddities)
    table = tracks.table(strings, moved, kind, slices.track, facts.rank)
    collectives = _collectives(slices)
    return Trace(
        name=name,
        strings=strings,
        flows=_flows(assembly.flows, moved, origin_ns),
        memory=_memory(assembly.memory, origin_ns),
        device_work=_device_work(slices, kind, table, collectives),
        ops=_ops(slices, kind, collectives),
        collectives=collectives,
        slices=slices.table(kind),
        counters=counters.table(moved, origin_ns),
        instants=_instants(assembly.instants, moved, origin_ns),
        tracks=table,
        facts=replace(facts, origin_ns=origin_ns),
        problems=(),
    )


class _Slices:
    """All slices, still changing: columns and the arguments that belong to them."""

    def __init__(self, gathered: Gathered) -> None:
        self.phase: Uint8 = gathered.take("phase", np.uint8)
        self.start_ns: Int64 = gathered.take("time_ns", np.int64)
        self.duration_ns: Int64 = gathered.take("duration_ns", np.int64)
        self.name: Int32 = gathered.take("name", np.int32)
        self.category: Int32 = gathered.take("category", np.int32)
        self.track: Int32 = gathered.take("track", np.int32)
        self.offset: Int64 = gathered.take("offset", np.int64)
        self._sparse = {slot: gathered.take_sparse(slot) for slot in Slot}
        self._moved: Int32 | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    def sparse(self, slot: Slot) -> Sparse:
        """Returns the values of a slot, rows ascending."""
        return self._sparse[slot]

    def dense(self, slot: Slot, rows: Int32 | None) -> Int64:
        """Returns a slot for some rows, or all, MISSING where there is no value; the slot is used up."""
        return dense(self._sparse.pop(slot), rows, len(self))

    def numbers(self, slot: Slot, rows: Int32) -> Float64:
        """Returns the numbers of a slot for some rows, NaN where there are none; the slot is used up."""
        has = self.has(slot)[rows]
        values: Float64 = self.dense(slot, rows).view(np.float64)
        values[~has] = np.nan
        return values

    def texts(self, slot: Slot, rows: Int32) -> Int32:
        """Returns the text ids of a slot for some rows, NO_ROW where there are none; the slot is used up."""
        raw = dense(self._sparse.pop(slot), rows, len(self), NO_ROW)
        assert self._moved is not None
        return np.where(raw == NO_ROW, NO_ROW, self._moved[raw] if len(self._moved) else NO_ROW).astype(
            np.int32
        )

    def has(self, slot: Slot) -> Bool:
        """Returns (n,) bool: the rows that have the slot."""
        found = np.zeros(len(self), np.bool_)
        found[self._sparse[slot].rows] = True
        return found

    def _reorder(self, order: Int64 | Bool, place: Int64) -> None:
        """Takes the rows ``order``; ``place`` says where each old row goes, NO_ROW if it goes nowhere."""
        for key in ("phase", "start_ns", "duration_ns", "name", "category", "track", "offset"):
            setattr(self, key, getattr(self, key)[order])
        for slot, sparse in self._sparse.items():
            rows = place[sparse.rows]
            kept = np.flatnonzero(rows != NO_ROW)
            sequence = kept[np.argsort(rows[kept], kind="stable")]
            self._sparse[slot] = Sparse(rows[sequence].astype(np.int32), sparse.values[sequence])

    def sort_by_offset(self) -> None:
        """Brings rows into the order of the file: those read one by one came last."""
        if np.all(self.offset[1:] >= self.offset[:-1]):
            return
        order = np.argsort(self.offset, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self._reorder(order, place)

    def pair_begins(self, oddities: Oddities) -> None:
        """Makes one slice of each begin and its end."""
        columns = EventColumns(self.phase, self.start_ns, self.duration_ns, self.track, self.offset)
        kept = pair_begins(columns, oddities)
        if kept is not None:
            place = np.where(kept, np.cumsum(kept, dtype=np.int64) - 1, NO_ROW)
            self._reorder(kept, place)

    def rename(self, moved: Int32) -> None:
        """Replaces raw text ids by those of the final table."""
        self._moved = moved
        self.name = _moved(self.name, moved)
        self.category = _moved(self.category, moved)

    def table(self, kind: Uint8) -> SliceTable:
        """Freezes the columns."""
        return SliceTable(
            start_ns=self.start_ns,
            duration_ns=self.duration_ns,
            name_id=self.name,
            category_id=self.category,
            kind=kind,
            track=self.track,
            correlation=self.dense(Slot.CORRELATION, None),
            external_id=self.dense(Slot.EXTERNAL_ID, None),
            source_offset=self.offset,
        )


def _moved(ids: Int32, moved: Int32) -> Int32:
    if not len(moved):
        return ids
    found: Int32 = np.where(ids == NO_ROW, np.int32(NO_ROW), moved[ids])
    return found


def _decode_texts(assembly: Assembly, slices: _Slices, oddities: Oddities) -> tuple[StringTable, Int32]:
    """Returns the texts and, for each raw text, its id there: two ways to write one text become one."""
    ids: dict[str, int] = {}
    moved = np.empty(len(assembly.texts), np.int32)
    place_of = _first_offsets(slices.name, slices.offset, len(assembly.texts))
    for raw, raw_id in assembly.texts.items():
        text, codes = decode_text(raw)
        moved[raw_id] = ids.setdefault(text, len(ids))
        for code in codes:
            oddities.add(code, int(place_of[raw_id]), detail=text)
    return string_table(ids), moved


def _first_offsets(text: Int32, offset: Int64, count: int) -> Int64:
    """Returns (count,) int64: where each text stands first, -1 where it is of no slice."""
    # The entry behind the last is that of NO_ROW, -1; of several writes to one entry the last stays.
    found = np.full(count + 1, -1, np.int64)
    found[text[::-1]] = offset[::-1]
    return found[:count]


def _kinds(slices: _Slices, labels: list[tuple[str, str]], strings: StringTable, oddities: Oddities) -> Uint8:
    """Returns the kind of each slice, decided once for each category and, without one, for each name."""
    counts = np.bincount(slices.category + 1, minlength=len(strings) + 1)
    place_of = _first_offsets(slices.category, slices.offset, len(strings))
    # The entry behind the last text is that of NO_ROW, -1.
    of_text = np.zeros(len(strings) + 1, np.uint8)
    undecided = np.zeros(len(strings) + 1, np.bool_)
    for category in (np.flatnonzero(counts) - 1).tolist():
        text = strings[category]
        known = kind_of_category(text)
        if known is not None:
            of_text[category] = known
            continue
        undecided[category] = True
        if text:
            oddities.add("unknown_category", int(place_of[category]), int(counts[category + 1]), text)
    kind = of_text[slices.category]
    rows = np.flatnonzero(undecided[slices.category]).astype(np.int32)
    if len(rows):
        kind[rows] = _kinds_without_category(slices, rows, labels, strings)
    return kind


def _kinds_without_category(
    slices: _Slices, rows: Int32, labels: list[tuple[str, str]], strings: StringTable
) -> Uint8:
    found = np.zeros(len(rows), np.uint8)
    tasks = slices.texts(Slot.TASK_TYPE, rows)
    keys = np.stack((slices.track[rows], slices.name[rows], tasks), axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    decided = [
        kind_without_category(labels[track][0], labels[track][1], strings[name], strings[task])
        for track, name, task in distinct.tolist()
    ]
    found[:] = np.array(decided, np.uint8)[inverse.reshape(-1)]
    return found


def _set_origin(slices: _Slices, oddities: Oddities) -> int:
    """Makes starts relative to the first slice and returns the origin.

    A record with time 0 among records of a clock that is days away was never
    filled in. It and one without a time keep their rows, without a duration, at
    the origin.
    """
    untimed = slices.start_ns == MISSING
    zero = slices.start_ns == 0
    timed = slices.start_ns[~(untimed | zero)]
    rest_ns = int(timed.min()) if len(timed) else 0
    if zero.any():
        if rest_ns > _DAY_NS:
            oddities.add("zero_time", int(slices.offset[int(np.argmax(zero))]), int(np.count_nonzero(zero)))
            untimed |= zero
        else:
            rest_ns = min(rest_ns, 0)
    slices.duration_ns[untimed] = MISSING
    slices.start_ns[untimed] = rest_ns
    slices.start_ns -= rest_ns
    return rest_ns


def _collectives(slices: _Slices) -> CollectiveTable:
    named = slices.has(Slot.COLLECTIVE_NAME) | slices.has(Slot.GROUP_NAME) | slices.has(Slot.IN_ELEMENTS)
    rows = np.flatnonzero(named).astype(np.int32)
    return CollectiveTable(
        slice_row=rows,
        name_id=slices.texts(Slot.COLLECTIVE_NAME, rows),
        dtype_id=slices.texts(Slot.COLLECTIVE_DTYPE, rows),
        group_name_id=slices.texts(Slot.GROUP_NAME, rows),
        group_description_id=slices.texts(Slot.GROUP_DESCRIPTION, rows),
        group_ranks_id=slices.texts(Slot.GROUP_RANKS, rows),
        in_elements=slices.dense(Slot.IN_ELEMENTS, rows),
        out_elements=slices.dense(Slot.OUT_ELEMENTS, rows),
        group_size=slices.dense(Slot.GROUP_SIZE, rows),
        sequence=slices.dense(Slot.COLLECTIVE_SEQUENCE, rows),
    )


def _collective_rows(rows: Int32, collectives: CollectiveTable, total: int) -> Int32:
    place = np.full(total, NO_ROW, np.int32)
    place[collectives.slice_row] = np.arange(len(collectives), dtype=np.int32)
    return place[rows]


def _device_work(
    slices: _Slices, kind: Uint8, tracks: TrackTable, collectives: CollectiveTable
) -> DeviceTable:
    rows = np.flatnonzero(np.isin(kind, DEVICE_KINDS)).astype(np.int32)
    device, stream = slices.dense(Slot.DEVICE, rows), slices.dense(Slot.STREAM, rows)
    on = slices.track[rows]

    def triple(first: Slot) -> Int64:
        return np.stack([slices.dense(Slot(first + place), rows) for place in range(3)], axis=1)

    return DeviceTable(
        slice_row=rows,
        device=np.where(device == MISSING, tracks.device[on], device),
        stream=np.where(stream == MISSING, tracks.stream[on], stream),
        grid=triple(Slot.GRID),
        block=triple(Slot.BLOCK),
        registers_per_thread=slices.dense(Slot.REGISTERS, rows),
        shared_memory_bytes=slices.dense(Slot.SHARED_MEMORY, rows),
        occupancy_pct=slices.numbers(Slot.OCCUPANCY, rows),
        copy_bytes=slices.dense(Slot.COPY_BYTES, rows),
        collective_row=_collective_rows(rows, collectives, len(slices)),
    )


def _ops(slices: _Slices, kind: Uint8, collectives: CollectiveTable) -> OpTable:
    rows = np.flatnonzero((kind == SliceKind.OP) | (kind == SliceKind.ANNOTATION)).astype(np.int32)
    return OpTable(
        slice_row=rows,
        input_dims_id=slices.texts(Slot.INPUT_DIMS, rows),
        input_types_id=slices.texts(Slot.INPUT_TYPES, rows),
        concrete_inputs_id=slices.texts(Slot.CONCRETE_INPUTS, rows),
        call_stack_id=slices.texts(Slot.CALL_STACK, rows),
        module_hierarchy_id=slices.texts(Slot.MODULE_HIERARCHY, rows),
        sequence_number=slices.dense(Slot.SEQUENCE_NUMBER, rows),
        forward_thread_id=slices.dense(Slot.FORWARD_THREAD, rows),
        collective_row=_collective_rows(rows, collectives, len(slices)),
    )


def _memory(gathered: Gathered, origin_ns: int) -> MemoryTable:
    count = len(gathered)

    def column(slot: Slot) -> Int64:
        return dense(gathered.take_sparse(slot), None, count)

    return MemoryTable(
        time_ns=gathered.take("time_ns", np.int64) - origin_ns,
        track=gathered.take("track", np.int32),
        address=column(Slot.ADDRESS),
        change_bytes=column(Slot.CHANGE_BYTES),
        allocated_bytes=column(Slot.ALLOCATED_BYTES),
        reserved_bytes=column(Slot.RESERVED_BYTES),
        device_type=column(Slot.DEVICE_TYPE),
        device=column(Slot.DEVICE_ID),
    )


def _flows(gathered: Gathered, moved: Int32, origin_ns: int) -> FlowTable:
    codes = np.zeros(256, np.uint8)
    for code, phase in _FLOW_CODES.items():
        codes[code] = phase
    return FlowTable(
        time_ns=gathered.take("time_ns", np.int64) - origin_ns,
        track=gathered.take("track", np.int32),
        phase=codes[gathered.take("phase", np.uint8)],
        flow_id=dense(gathered.take_sparse(Slot.FLOW_ID), None, len(gathered)),
        category_id=_moved(gathered.take("category", np.int32), moved),
    )


def _instants(gathered: Gathered, moved: Int32, origin_ns: int) -> InstantTable:
    return InstantTable(
        time_ns=gathered.take("time_ns", np.int64) - origin_ns,
        track=gathered.take("track", np.int32),
        name_id=_moved(gathered.take("name", np.int32), moved),
    )


class _CounterIds:
    """Counters, their names joined to the texts and their tracks to the tracks."""

    def __init__(self, singles: SingleEvents, assembly: Assembly, tracks: Tracks) -> None:
        rows = singles.counters
        self._times = [row.time_ns for row in rows]
        self._values = [row.value for row in rows]
        self._names = [assembly.text_id(encode_text(row.name)) for row in rows]
        self._series = [assembly.text_id(encode_text(row.series)) for row in rows]
        self._tracks = [tracks.track_of(row.process, row.thread) for row in rows]

    def table(self, moved: Int32, origin_ns: int) -> CounterTable:
        """Freezes the columns."""
        return CounterTable(
            time_ns=np.array(self._times, np.int64) - origin_ns,
            name_id=_moved(np.array(self._names, np.int32), moved),
            series_id=_moved(np.array(self._series, np.int32), moved),
            track=np.array(self._tracks, np.int32),
            value=np.array(self._values, np.float64),
        )
