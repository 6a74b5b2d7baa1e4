"""One rank of several: its tables and figures are those of its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.analyses.merged import merge_traces
from core.analyses.range_totals import summarize_range
from core.analyses.registry import ANALYSES, summarize
from core.tables.selection import WHOLE, Selection
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from core.tables.trace import Trace

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
COMPARE_RANKS = ("arrivals", "stragglers")


def memory(ts: float, change: int, total: int, address: int) -> dict[str, Any]:
    arguments = {
        "Device Type": 0,
        "Device Id": -1,
        "Addr": address,
        "Bytes": change,
        "Total Allocated": total,
    }
    return {
        "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]",
        "pid": 100, "tid": 1, "ts": ts, "args": arguments,
    }  # fmt: skip


def rank_trace(rank: int) -> Trace:
    """What the ranks do differs in everything: names, times, bytes, steps."""
    late = 7 * rank
    return trace_of(
        annotation(f"ProfilerStep#{3 + rank}", 0, 200 + late),
        op("aten::mm", 10, 20 + rank),
        memory(12, 1000 + rank, 1000 + rank, 64 + rank),
        memory(13, 500, 1500 + rank, 640 + rank),
        call("cudaLaunchKernel", 15, 5, 1),
        kernel(f"gemm_{rank}", 40, 30 + rank, correlation=1),
        op(f"aten::own_{rank}", 60, 5),
        call("cudaLaunchKernel", 61, 2, 2),
        kernel(f"relu_{rank}", 80 + late, 9, correlation=2),
        kernel(REDUCE, 100 + late, 50 - late, stream=20),
        rank=rank,
    )


@pytest.fixture(scope="module")
def both() -> TraceIndex:
    return TraceIndex(merge_traces([rank_trace(0), rank_trace(1)], (0, 0)).trace)


def tracks_of(trace: Trace, rank: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(trace.tracks.rank == rank).tolist())


def cells(index: TraceIndex, name: str, selection: Selection) -> list[dict[str, Any]]:
    """The rows without what names devices and slices, which a merged trace calls otherwise."""
    table = summarize(index, name, selection)
    columns = [
        column for column in table.columns if column.key not in ("device", "rank", "thread", "slice_row")
    ]
    return [{column.key: column.value(row) for column in columns} for row in range(len(table))]


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", [each.name for each in ANALYSES if each.name not in COMPARE_RANKS])
def test_the_table_of_a_rank_is_that_of_its_file(both: TraceIndex, name: str, rank: int) -> None:
    alone = cells(TraceIndex(rank_trace(rank)), name, WHOLE)
    assert cells(both, name, Selection(tracks=tracks_of(both.trace, rank))) == alone


@pytest.mark.parametrize("rank", [0, 1])
def test_the_figures_of_a_rank_are_those_of_its_file(both: TraceIndex, rank: int) -> None:
    tracks = tracks_of(both.trace, rank)
    alone = TraceIndex(rank_trace(rank))
    assert summarize_range(both, Selection(tracks=tracks)) == summarize_range(alone, WHOLE)
    part = Selection(50_000, 90_000)
    assert summarize_range(both, Selection(50_000, 90_000, tracks)) == summarize_range(alone, part)


@pytest.mark.parametrize("name", COMPARE_RANKS)
def test_what_compares_ranks_stays_about_all(both: TraceIndex, name: str) -> None:
    chosen = cells(both, name, Selection(tracks=tracks_of(both.trace, 1)))
    assert chosen
    assert chosen == cells(both, name, WHOLE)


def test_the_times_of_a_selection_are_on_all_tracks() -> None:
    assert Selection(1, 2, (3,)).times == Selection(1, 2)
    assert Selection(tracks=(3,)).times == WHOLE
