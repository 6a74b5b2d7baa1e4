"""Several ranks as one trace: clocks, tracks that stay apart, and who is late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.alignment import align
from core.analyses.categories import categorize
from core.analyses.index import TraceIndex
from core.analyses.merged import merge_traces
from core.analyses.stragglers import list_arrivals, summarize_stragglers
from core.readers.torch_trace.reader import read_trace
from core.tables.columns import NO_ROW
from core.tables.selection import WHOLE
from core.tables.trace import Problem
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from core.tables.trace import Trace

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank_trace(rank: int, arrivals: list[float], ends: list[float], **facts: Any) -> Trace:
    """A rank whose collectives begin and end at the given microseconds of its own clock."""
    events = [op("aten::mm", 0, 10, **{"External id": 1}), call("cudaLaunchKernel", 2, 3, correlation=5)]
    events.append(kernel("gemm", 5, 20, correlation=5, **{"External id": 1}))
    for start, end in zip(arrivals, ends, strict=True):
        events.append(kernel(REDUCE, start, end - start, stream=20))
    return trace_of(*events, rank=rank, **facts)


def aligned(*traces: Trace) -> Any:
    return align(traces, [categorize(trace) for trace in traces])


def test_each_files_clock_is_applied() -> None:
    """The files' times both begin at 0, eleven seconds apart."""
    traces = [rank_trace(rank, [], [], base_time_ns=10**18 + rank * 11_561_600_000) for rank in (0, 1)]
    found = aligned(*traces)
    assert found.by_clock
    assert found.shifts_ns == (0, 11_561_600_000)
    merged = merge_traces(traces, found.shifts_ns)
    assert merged.trace.slices.start_ns.tolist() == [
        0,
        2_000,
        5_000,
        11_561_600_000,
        11_561_602_000,
        11_561_605_000,
    ]


def test_the_handed_ranks_are_eleven_seconds_apart(shared_cases: Path) -> None:
    """T38."""
    traces = [read_trace(shared_cases / f"T38_rank{rank}.json") for rank in (0, 1)]
    assert aligned(*traces).shifts_ns == (0, 11_561_600_000)


def test_files_without_a_clock_are_called_so() -> None:
    found = aligned(rank_trace(0, [], []), rank_trace(1, [], []))
    assert not found.by_clock
    assert found.matched == 0
    assert "Not aligned" in found.note


def test_collectives_correct_the_clocks() -> None:
    """Rank 1's clock is 40 us fast: what all leave together seems to end later there."""
    one = rank_trace(0, [100, 300, 500], [150, 350, 550], base_time_ns=10**18)
    other = rank_trace(1, [150, 350, 550], [190, 390, 590], base_time_ns=10**18)
    found = aligned(one, other)
    assert found.matched == 3
    assert found.corrections_ns == (0, -40_000)
    assert found.shifts_ns == (0, -40_000)


def test_collectives_that_disagree_correct_nothing() -> None:
    one = rank_trace(0, [100, 300, 500], [150, 350, 550], base_time_ns=10**18)
    other = rank_trace(1, [100, 300, 500], [150, 1350, 2550], base_time_ns=10**18)
    assert aligned(one, other).corrections_ns == (0, 0)


def test_numbers_that_repeat_from_rank_to_rank_join_nothing_across() -> None:
    traces = [rank_trace(rank, [100], [150]) for rank in (0, 1)]
    merged = merge_traces(traces, (0, 0))
    trace, links = merged.trace, TraceIndex(merged.trace).links
    ranks = trace.tracks.rank[trace.slices.track]
    linked = links.op_row != NO_ROW
    assert np.count_nonzero(linked) == 2
    rows = trace.device_work.slice_row[linked]
    assert ranks[rows].tolist() == ranks[links.op_row[linked]].tolist() == [0, 1]
    processes = {trace.strings[text] for text in trace.tracks.process_id.tolist()}
    assert processes == {"100 (rank 0)", "0 (rank 0)", "100 (rank 1)", "0 (rank 1)"}
    assert merged.slice_ends.tolist() == [4, 8]


def test_a_late_rank_is_told_apart_from_a_slow_transfer() -> None:
    """Rank 1 arrives 50 us late at the first; both take 20 us once all are there."""
    one = rank_trace(0, [100, 300, 500], [170, 320, 520], base_time_ns=10**18)
    other = rank_trace(1, [150, 300, 500], [170, 320, 520], base_time_ns=10**18)
    index = TraceIndex(merge_traces([one, other], aligned(one, other).shifts_ns).trace)
    arrivals = list_arrivals(index, WHOLE)
    assert arrivals.column("skew_ns").values.tolist() == [50_000, 0, 0]
    assert arrivals.column("transfer_ns").values.tolist() == [20_000, 20_000, 20_000]
    assert arrivals.column("last_rank").value(0) == 1
    assert len(arrivals.rows_of(0)) == 2
    ranks = summarize_stragglers(index, WHOLE)
    assert ranks.column("rank").values.tolist() == [0, 1]
    assert ranks.column("waiting_ns").values.tolist() == [50_000, 0]
    assert ranks.column("caused_ns").values.tolist() == [0, 50_000]
    assert ranks.column("mean_lateness_ns").values.tolist() == [0, 16_666]


def test_collectives_of_one_number_are_told_apart_by_their_turn() -> None:
    """A coalesced call ran as two kernels: rank 1 is 10 us late at the first and 30 at the second."""
    traces = []
    for rank, arrivals in enumerate(((100, 200), (110, 230))):
        said: dict[str, Any] = {"Collective name": "allreduce", "Process Group Name": "0", "Seq": 7}
        events = [
            kernel(REDUCE, start, end - start, **said)
            for start, end in zip(arrivals, (150, 250), strict=True)
        ]
        traces.append(trace_of(*events, rank=rank, base_time_ns=10**18))
    table = list_arrivals(TraceIndex(merge_traces(traces, aligned(*traces).shifts_ns).trace), WHOLE)
    assert table.column("skew_ns").values.tolist() == [10_000, 30_000]
    assert [table.rows_of(place).tolist() for place in (0, 1)] == [[0, 2], [1, 3]]


def numbered_index(numbers: list[list[int]], members: list[str]) -> TraceIndex:
    """Ranks whose collectives bear numbers; number n begins 1000 n us in, 10 us later a rank."""
    traces = []
    for rank, (own, ranks) in enumerate(zip(numbers, members, strict=True)):
        said: dict[str, Any] = {"Collective name": "allreduce", "Process Group Name": "1"}
        events = [op("aten::mm", 0, 10)]
        for number in own:
            start = 1000 * number + 10 * rank
            named = said | {"Process Group Ranks": ranks, "Seq": number}
            events.append(kernel(REDUCE, start, 1000 * number + 100 - start, **named))
        traces.append(trace_of(*events, rank=rank, base_time_ns=10**18))
    return TraceIndex(merge_traces(traces, aligned(*traces).shifts_ns).trace)


def test_numbered_collectives_are_matched_where_a_recording_holds_one_more() -> None:
    index = numbered_index([[1, 2, 3, 4], [2, 3, 4]], ["[0, 1]", "[0, 1]"])
    assert list_arrivals(index, WHOLE).column("start_ns").values.tolist() == [2_000_000, 3_000_000, 4_000_000]
    assert summarize_stragglers(index, WHOLE).column("waiting_ns").values.tolist() == [30_000, 0]


def test_groups_of_one_name_and_other_members_share_no_collective() -> None:
    index = numbered_index([[1, 2, 3], [1, 2, 3]], ["[0, 2]", "[1, 3]"])
    assert len(list_arrivals(index, WHOLE)) == 0


def test_collectives_that_ranks_are_not_in_together_are_counted_and_left_out() -> None:
    """Rank 0 has left the second 100 us before rank 1 begins it; the first is one collective."""
    one = rank_trace(0, [100, 300], [170, 320], base_time_ns=10**18)
    other = rank_trace(1, [150, 420], [170, 440], base_time_ns=10**18)
    merged = merge_traces([one, other], (0, 0)).trace
    said = "1 of 2 collectives does not overlap in time on all ranks"
    note = Problem(code="not_aligned", count=1, message="Not aligned.")
    index = TraceIndex(replace(merged, problems=(note,)))
    arrivals = list_arrivals(index, WHOLE)
    assert arrivals.column("skew_ns").values.tolist() == [50_000]
    assert (arrivals.notes[0].startswith(said), arrivals.notes[1]) == (True, "Not aligned.")
    ranks = summarize_stragglers(index, WHOLE)
    assert ranks.notes == arrivals.notes
    assert ranks.column("waiting_ns").values.tolist() == [50_000, 0]
    assert ranks.column("collectives").values.tolist() == [1, 1]


def test_a_table_without_a_collective_that_overlaps_says_so() -> None:
    one = rank_trace(0, [100], [150], base_time_ns=10**18)
    other = rank_trace(1, [300], [350], base_time_ns=10**18)
    table = list_arrivals(TraceIndex(merge_traces([one, other], (0, 0)).trace), WHOLE)
    assert (len(table), table.notes) == (0, ())
    assert table.empty.startswith("1 of 1 collective does not overlap in time")


@pytest.mark.parametrize("summarize", [list_arrivals, summarize_stragglers])
def test_one_rank_alone_says_what_to_open(summarize: Any) -> None:
    table = summarize(TraceIndex(rank_trace(0, [100], [150])), WHOLE)
    assert len(table) == 0
    assert "the files of all ranks" in table.empty


@pytest.mark.parametrize("summarize", [list_arrivals, summarize_stragglers])
def test_ranks_that_share_nothing_say_so(summarize: Any) -> None:
    merged = merge_traces([rank_trace(0, [100], [150]), rank_trace(1, [], [])], (0, 0))
    table = summarize(TraceIndex(merged.trace), WHOLE)
    assert len(table) == 0
    assert "equally often" in table.empty


ONE_GROUP = '{"world_size": 2, "pg_count": 1, "pg_config": [{"pg_size": 2}]}'


def cpu_index(arrivals: list[list[float]], ends: list[list[float]], told: str = ONE_GROUP) -> TraceIndex:
    """Ranks whose collectives run on the CPU, on one clock; each sends something besides."""
    traces = []
    for rank, (own_arrivals, own_ends) in enumerate(zip(arrivals, ends, strict=True)):
        events = [annotation("gloo:send", 0, 5)]
        events += [op("c10d::allreduce_", start - 1, 1) for start in own_arrivals]
        for place, (start, end) in enumerate(zip(own_arrivals, own_ends, strict=True)):
            events.append(annotation("gloo:all_reduce", start, end - start, tid=5 + place % 2))
        facts = {"base_time_ns": 10**18, "metadata": (("distributedInfo", told),)}
        traces.append(trace_of(*reversed(events), rank=rank, **facts))
    return TraceIndex(merge_traces(traces, aligned(*traces).shifts_ns).trace)


def test_collectives_of_the_cpu_are_compared_too() -> None:
    """Threads of gloo take turns; rank 1 is late at the first and leaves the last 9 ms after rank 0."""
    index = cpu_index([[100, 200], [130, 200]], [[150, 220], [151, 9_220]])
    arrivals = list_arrivals(index, WHOLE)
    names = [arrivals.column("name").value(row) for row in range(len(arrivals))]
    assert names == ["gloo:all_reduce", "gloo:all_reduce"]
    assert arrivals.column("skew_ns").values.tolist() == [30_000, 0]
    assert arrivals.column("transfer_ns").values.tolist() == [20_000, 20_000]
    assert "on the CPU" in arrivals.notes[0]
    ranks = summarize_stragglers(index, WHOLE)
    assert ranks.column("caused_ns").values.tolist() == [0, 30_000]


@pytest.mark.parametrize(
    "told",
    [
        "",
        "[1]",
        '{"world_size": 2}',
        '{"world_size": 2, "pg_count": 2, "pg_config": [{"pg_size": 2}]}',
        '{"world_size": 4, "pg_count": 1, "pg_config": [{"pg_size": 2}]}',
    ],
)
def test_collectives_of_the_cpu_that_may_be_of_several_groups_are_not_compared(told: str) -> None:
    table = list_arrivals(cpu_index([[100], [130]], [[150], [151]], told), WHOLE)
    assert len(table) == 0
    assert "name no process group" in table.empty
    assert not table.notes


def test_collectives_of_the_cpu_move_no_clock() -> None:
    """They agree on 40 us, as collectives of a GPU would have to."""
    traces = [
        trace_of(
            annotation("begin", 0, 1),
            *(annotation("gloo:all_reduce", 100 * turn + late, 20) for turn in range(1, 5)),
            base_time_ns=10**18,
            rank=rank,
        )
        for rank, late in enumerate((0, 40))
    ]
    found = aligned(*traces)
    assert found.shifts_ns == (0, 0)
    assert found.note == "Aligned by the files' clocks alone: no rank ran a collective on a GPU."
