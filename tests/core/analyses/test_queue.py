"""Launches that wait: how long, and how many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.analyses.index import TraceIndex
from core.analyses.queue import NO_LAUNCHES, depth_over_time, summarize_queue
from core.tables.selection import Selection
from tests.helpers.handed import read_slowly
from tests.helpers.traces import call, kernel, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.result import ResultTable


def row(table: ResultTable, place: int = 0) -> dict[str, Any]:
    return {column.key: column.value(place) for column in table.columns}


def launched(number: int, called: float, begins: float, stream: int = 7) -> list[dict[str, Any]]:
    return [
        call("cudaLaunchKernel", called, 1, number),
        kernel("k", begins, 5, stream=stream, correlation=number),
    ]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10)), min_size=1, max_size=8))
def test_the_depth_at_any_moment_is_the_number_that_wait(waits: list[tuple[int, int]]) -> None:
    columns = np.array(waits, np.int64)
    moments, depth = depth_over_time(columns[:, 0].copy(), columns[:, 1].copy())
    assert (np.diff(moments) > 0).all()
    for moment in range(-11, 22):
        place = int(np.searchsorted(moments, moment, side="right")) - 1
        expected = sum(start - delay <= moment < start for start, delay in waits)
        assert (int(depth[place]) if place >= 0 else 0) == expected


def test_streams_are_apart_with_their_delays_and_depths() -> None:
    events = [*launched(1, 0, 10), *launched(2, 2, 20), *launched(3, 4, 40), *launched(4, 50, 51, stream=9)]
    table = summarize_queue(TraceIndex(trace_of(*events)))
    first, second = row(table), row(table, 1)
    assert (first["stream"], first["launches"], first["depth_max"]) == (7, 3, 3)
    assert (first["delay_min_ns"], first["delay_p50_ns"], first["delay_max_ns"]) == (10_000, 18_000, 36_000)
    # From 0 to 40: one waits for 2, two for 2, three for 6, two for 10, one for 20.
    assert first["depth_mean"] == (1 * 2 + 2 * 2 + 3 * 6 + 2 * 10 + 1 * 20) / 40
    assert (second["stream"], second["delay_mean_ns"], second["depth_max"]) == (9, 1_000, 1)
    assert table.rows_of(1).tolist() == [7]


def test_a_range_and_what_is_left_out_are_said() -> None:
    index = TraceIndex(
        trace_of(
            *launched(1, 0, 10),
            *launched(2, 30, 26),
            *launched(3, 50, 60),
            call("cudaLaunchKernel", 90, 1, 4),
        )
    )
    table = summarize_queue(index, Selection(20_000, None))
    assert row(table)["launches"] == 1
    assert table.notes == (
        "1 launch has no kernel in the trace.",
        "1 launch left out: the work begins before the call (clock skew).",
    )


def test_clock_skew_is_no_negative_delay(shared_cases: Path) -> None:
    table = summarize_queue(TraceIndex(read_slowly(shared_cases / "T32.json")))
    assert (len(table), table.empty) == (0, NO_LAUNCHES)
    assert table.notes == ("1 launch left out: the work begins before the call (clock skew).",)
