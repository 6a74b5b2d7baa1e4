"""Memory over time, its peak, and who held it then."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from core.analyses.index import TraceIndex
from core.analyses.memory import BEFORE, NO_MEMORY, NO_OPERATOR, memory_curves, summarize_memory
from core.analyses.merged import merge_traces
from core.tables.columns import MISSING
from core.tables.selection import WHOLE, Selection
from tests.helpers.handed import read_slowly
from tests.helpers.traces import kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30


def change(
    ts: float, address: int, size: int, total: int | None, *, device: int = 0, tid: int = 1, kind: int = 1
) -> dict[str, Any]:
    arguments = {"Addr": address, "Bytes": size, "Device Type": kind, "Device Id": device}
    if total is not None:
        arguments |= {"Total Allocated": total, "Total Reserved": 4 * GIB}
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "ts": ts,
        "pid": 100,
        "tid": tid,
        "args": arguments,
    }


def rows_of(*events: dict[str, Any], selection: Selection = WHOLE) -> list[tuple[Any, ...]]:
    table = summarize_memory(TraceIndex(trace_of(*events)), selection)
    return [tuple(column.value(row) for column in table.columns) for row in range(len(table))]


def test_the_peak_is_held_by_what_is_live_then() -> None:
    events = [
        op("aten::linear", 0, 10),
        op("aten::empty", 2, 3),
        change(3, 100, 3 * GIB, 4 * GIB),
        op("aten::relu", 20, 10),
        change(22, 200, GIB, 5 * GIB),
        change(25, 300, GIB, 6 * GIB),
        change(40, 200, -GIB, 5 * GIB),
        op("aten::add", 50, 10),
        change(52, 200, GIB, 6 * GIB),
        change(55, 400, GIB // 2, 6 * GIB + GIB // 2),
        change(90, 100, -3 * GIB, 3 * GIB),
    ]
    index = TraceIndex(trace_of(*events))
    table = summarize_memory(index)
    total = 6.5
    assert rows_of(*events) == [
        ("CUDA 0", "aten::linear", 3 * GIB, 100 * 3 / total, 1),
        ("CUDA 0", "aten::add", GIB + GIB // 2, 100 * 1.5 / total, 2),
        ("CUDA 0", "aten::relu", GIB, 100 * 1 / total, 1),
        ("CUDA 0", BEFORE, GIB, 100 * 1 / total, None),
    ]
    assert table.notes == ("CUDA 0: peak of 6.50 GiB allocated, 4.00 GiB reserved, at 55.00 µs.",)
    assert [table.rows_of(row).tolist() for row in range(4)] == [[0], [3], [2], []]


def test_devices_and_threads_are_apart() -> None:
    found = rows_of(
        op("aten::mm", 0, 100),
        op("aten::sum", 0, 100, tid=2),
        change(10, 1, GIB, GIB, device=0),
        change(10, 1, GIB, GIB, device=1, tid=2),
        change(10, 1, GIB, GIB, kind=0, device=-1, tid=3),
    )
    assert [row[:3] for row in found] == [
        ("CPU", NO_OPERATOR, GIB),
        ("CUDA 0", "aten::mm", GIB),
        ("CUDA 1", "aten::sum", GIB),
    ]


def test_ranks_have_memory_of_their_own_also_on_devices_of_one_number() -> None:
    one, two = (
        trace_of(
            op("aten::mm", 0, 100),
            change(10, 1, size, size),
            change(20, 1, -size, 0),
            change(10, 7, size // 2, size // 2, kind=0, device=-1),
            rank=rank,
        )
        for rank, size in ((0, GIB), (1, 3 * GIB))
    )
    index = TraceIndex(merge_traces((one, two), (0, 5_000)).trace)
    table = summarize_memory(index)
    found = [tuple(table.column(key).value(row) for key in ("device", "held_bytes")) for row in range(4)]
    assert found == [
        ("Rank 0, CPU", GIB // 2),
        ("Rank 0, CUDA 0", GIB),
        ("Rank 1, CPU", 3 * GIB // 2),
        ("Rank 1, CUDA 0", 3 * GIB),
    ]
    assert [curve.allocated_bytes.tolist() for curve in memory_curves(index.trace)] == [
        [GIB // 2],
        [GIB, 0],
        [3 * GIB // 2],
        [3 * GIB, 0],
    ]
    second = index.trace.tracks.rank == 1
    chosen = Selection(tracks=tuple(second.nonzero()[0].tolist()))
    assert [curve.device for curve in memory_curves(index.trace, chosen)] == ["CPU", "CUDA 0"]


def test_processes_without_ranks_have_memory_of_their_own() -> None:
    other = {**change(11, 1, GIB, GIB), "pid": 200}
    assert [row[:3] for row in rows_of(change(10, 1, 2 * GIB, 2 * GIB), other)] == [
        ("Process 100, CUDA 0", NO_OPERATOR, 2 * GIB),
        ("Process 200, CUDA 0", NO_OPERATOR, GIB),
    ]


def test_without_totals_memory_counts_from_the_first_event() -> None:
    trace = trace_of(change(0, 1, 10, None), change(1, 2, 20, None), change(2, 1, -10, None))
    curve = memory_curves(trace)[0]
    assert curve.allocated_bytes.tolist() == [10, 30, 20]
    assert curve.reserved_bytes.tolist() == [MISSING] * 3
    assert [row[2] for row in rows_of(change(0, 1, 10, None), change(1, 2, 20, None))] == [30]


def test_a_small_peak_is_told_in_bytes() -> None:
    table = summarize_memory(TraceIndex(trace_of(change(5, 1, 1500, 1500, kind=0, device=-1), op("a", 0, 9))))
    assert table.notes == ("CPU: peak of 1,500 bytes allocated, 4.00 GiB reserved, at 5.000 µs.",)


def test_a_range_looks_for_its_own_peak() -> None:
    events = [change(0, 1, 50, 50), change(10, 1, -50, 0), change(20, 2, 30, 30), change(30, 2, -30, 0)]
    assert [row[2] for row in rows_of(*events)] == [50]
    assert [row[2] for row in rows_of(*events, selection=Selection(5_000, 25_000))] == [30]
    index = TraceIndex(trace_of(*events, kernel("k", 0, 1)))
    assert (
        summarize_memory(index, Selection(40_000, None)).empty
        == "No memory event lies in the selected range."
    )


def test_without_memory_events_the_remedy_is_said() -> None:
    assert summarize_memory(TraceIndex(trace_of(kernel("k", 0, 1)))).empty == NO_MEMORY


def test_holders_add_up_to_the_peak_however_events_come() -> None:
    chance = random.Random(3)
    for _ in range(30):
        live: dict[int, int] = {}
        events, most = [], 0
        for moment in range(60):
            address = chance.randrange(1, 12)
            size = -live.pop(address) if address in live else chance.randrange(1, 9)
            if size > 0:
                live[address] = size
            most = max(most, sum(live.values()))
            events.append(change(moment, address, size, sum(live.values())))
        chance.shuffle(events)
        assert sum(row[2] for row in rows_of(*events)) == most


def test_a_real_recording_has_holders_for_its_peak(shared_cases: Path) -> None:
    path = shared_cases.parents[1] / "data" / "traces" / "mi300_bert_small.json.gz"
    index = TraceIndex(read_slowly(path))
    table = summarize_memory(index)
    for curve in memory_curves(index.trace):
        of_device = [table.column("device").value(row) == curve.device for row in range(len(table))]
        assert table.column("held_bytes").values[of_device].sum() == curve.allocated_bytes.max()
