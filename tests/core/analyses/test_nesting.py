"""Which slice lies in which, and what is left of a slice when its children are taken off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.analyses.nesting import CALL_KINDS, nearest_of_kind, nest_slices, self_times_ns
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import SliceKind
from tests.helpers.traces import annotation, call, kernel, op, python_frame, trace_of

if TYPE_CHECKING:
    from core.analyses.nesting import Nesting
    from core.tables.trace import Trace


def drawn(trace: Trace, nesting: Nesting) -> list[str]:
    """Draw the tree: a line a slice, two blanks a level."""
    names = [trace.strings[name] for name in trace.slices.name_id.tolist()]
    return [f"{'  ' * nesting.depth[row]}{names[row]}" for row in nesting.order.tolist()]


def test_calls_lie_in_the_operator_that_makes_them_whatever_their_order_in_the_file() -> None:
    trace = trace_of(
        call("cudaLaunchKernel", 12, 5, 1),
        op("aten::mm", 10, 20),
        op("aten::linear", 5, 40),
        op("aten::add", 30, 10),
        op("aten::relu", 50, 5, tid=2),
        annotation("ProfilerStep#0", 0, 100),
        kernel("gemm", 20, 5, correlation=1),
    )
    nesting = nest_slices(trace.slices, trace.tracks)
    assert drawn(trace, nesting) == [
        "ProfilerStep#0",
        "  aten::linear",
        "    aten::mm",
        "      cudaLaunchKernel",
        "    aten::add",
        "aten::relu",
    ]
    assert nesting.parent_row[6] == nesting.depth[6] == NO_ROW
    assert nesting.overlapping_count == 0


def test_a_slice_that_ends_after_the_one_it_begins_in_is_its_sibling() -> None:
    trace = trace_of(
        op("outer", 0, 100),
        op("first", 10, 20),
        op("crossing", 25, 20),
        op("in both", 26, 2),
        op("late", 32, 3),
    )
    nesting = nest_slices(trace.slices, trace.tracks)
    assert drawn(trace, nesting) == ["outer", "  first", "  crossing", "    in both", "    late"]
    assert nesting.overlapping_count == 1
    # 10 to 45 of the outer one is covered, once.
    assert self_times_ns(nesting, trace.slices).tolist() == [65_000, 20_000, 15_000, 2_000, 3_000]


def test_a_slice_that_begins_where_another_ends_is_beside_it() -> None:
    trace = trace_of(op("a", 0, 10), op("b", 10, 10), op("moment", 20, 0), op("at the start", 10, 0))
    nesting = nest_slices(trace.slices, trace.tracks)
    assert drawn(trace, nesting) == ["a", "b", "  at the start", "moment"]


def test_of_equal_slices_the_call_is_the_innermost() -> None:
    trace = trace_of(call("cudaMalloc", 5, 3, 1), op("aten::empty", 5, 3), annotation("mine", 5, 3))
    nesting = nest_slices(trace.slices, trace.tracks)
    assert drawn(trace, nesting) == ["mine", "  aten::empty", "    cudaMalloc"]


def test_impossible_durations_hold_nothing_and_have_no_time_of_their_own() -> None:
    trace = trace_of(op("outer", 0, 100), op("unfinished", 10, -40), op("inner", 20, 5))
    nesting = nest_slices(trace.slices, trace.tracks)
    assert drawn(trace, nesting) == ["outer", "  unfinished", "  inner"]
    assert self_times_ns(nesting, trace.slices).tolist() == [95_000, MISSING, 5_000]


def test_a_python_frame_across_the_end_of_an_operator_does_not_cut_the_operators_apart() -> None:
    trace = trace_of(
        op("outer", 0, 100), python_frame("hook", 50, 100), op("inner", 60, 20), call("cudaMalloc", 65, 5, 1)
    )
    everything = nest_slices(trace.slices, trace.tracks)
    assert drawn(trace, everything) == ["outer", "hook", "  inner", "    cudaMalloc"]
    calls = nest_slices(trace.slices, trace.tracks, CALL_KINDS)
    assert drawn(trace, calls) == ["outer", "  inner", "    cudaMalloc"]
    assert self_times_ns(calls, trace.slices).tolist() == [80_000, MISSING, 15_000, 5_000]
    assert nearest_of_kind(calls, trace.slices, SliceKind.OP).tolist() == [0, NO_ROW, 2, 2]


def test_random_slices_nest_as_a_search_for_the_smallest_container_says() -> None:
    random = np.random.default_rng(7)
    starts = random.integers(0, 60, 60).tolist()
    lengths = random.integers(0, 25, 60).tolist()
    events = [op(str(i), s, d, tid=i % 3) for i, (s, d) in enumerate(zip(starts, lengths, strict=True))]
    trace = trace_of(*events)
    nesting = nest_slices(trace.slices, trace.tracks)
    for row, parent in enumerate(nesting.parent_row.tolist()):
        begin, end = starts[row], starts[row] + lengths[row]
        containers = [
            other
            for other in range(60)
            if other % 3 == row % 3
            and other != row
            and starts[other] <= begin < starts[other] + lengths[other]
            and end <= starts[other] + lengths[other]
            and (starts[other], -lengths[other], other) < (begin, -lengths[row], row)
        ]
        # The latest to begin is the innermost.
        expected = max(containers, key=lambda i: (starts[i], -lengths[i], i), default=NO_ROW)
        assert parent == expected


@pytest.mark.parametrize("count", [20, 300])
def test_slices_that_all_begin_together_lie_in_each_other_by_length(count: int) -> None:
    lengths = np.random.default_rng(2).permutation(count) + 1
    trace = trace_of(
        *(op(str(length), 7, length) for length in lengths.tolist()),
        call("cudaMalloc", 7, 5, 1),
        op("elsewhere", 7, 3, tid=2),
    )
    nesting = nest_slices(trace.slices, trace.tracks)
    names = [line.strip() for line in drawn(trace, nesting)]
    expected = [str(length) for length in range(count, 0, -1)]
    expected.insert(count - 4, "cudaMalloc")
    assert names == [*expected, "elsewhere"]
    assert nesting.depth[nesting.order].tolist() == [*range(count + 1), 0]


def test_a_trace_without_slices_has_an_empty_tree() -> None:
    trace = trace_of()
    nesting = nest_slices(trace.slices, trace.tracks)
    assert len(nesting.order) == len(nesting.parent_row) == 0
