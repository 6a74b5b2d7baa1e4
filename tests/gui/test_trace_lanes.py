"""Which lanes a trace has on the timeline, in which order and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.analyses.categories import Category, categorize
from core.analyses.merged import merge_traces
from gui.traces.lanes import HOST_COLOUR, timeline_parts
from tests.helpers.traces import annotation, call, kernel, op, python_frame, trace_of

if TYPE_CHECKING:
    from gui.traces.lanes import TimelineParts


def parts_of(*events: dict[str, Any], **facts: Any) -> TimelineParts:
    trace = trace_of(*events, **facts)
    return timeline_parts(trace, categorize(trace), lambda number: Category(number).title)


def test_main_thread_streams_other_threads_and_python_frames_follow_each_other() -> None:
    parts = parts_of(
        python_frame("train.py(1): main", 0, 100),
        op("aten::a", 1, 2, tid=2),
        op("aten::b", 1, 2, tid=2),
        annotation("ProfilerStep#1", 0, 90),
        op("aten::mm", 10, 5),
        call("cudaLaunchKernel", 11, 2, 1),
        kernel("gemm", 20, 5, stream=7, correlation=1),
        kernel("ncclDevKernel_AllGather_RING_LL", 30, 5, stream=22),
    )
    assert [(lane.name, lane.note) for lane in parts.lanes] == [
        ("Thread 1", "CPU"),
        ("Stream 7", "gemm"),
        ("Stream 22", "all-gather"),
        ("Thread 2", "CPU"),
        ("Thread 1", "Python"),
    ]
    assert [lane.host for lane in parts.lanes] == [True, False, False, True, True]
    assert [lane.in_overview for lane in parts.lanes] == [False, True, True, False, False]
    assert [group.note for group in parts.groups] == ["GPU 0"]


def test_device_work_has_the_colour_of_its_category() -> None:
    parts = parts_of(op("aten::mm", 0, 5), kernel("cutlass_gemm", 10, 5), kernel("void softmax_x", 20, 5))
    assert parts.slices.colour.tolist() == [HOST_COLOUR, Category.GEMM, Category.REDUCTION]
    assert parts.slices.lane.tolist() == [0, 1, 1]


def test_a_range_on_a_stream_covers_no_kernel() -> None:
    shadow = {**kernel("ProfilerStep#1", 0, 100), "cat": "gpu_user_annotation"}
    parts = parts_of(shadow, kernel("gemm", 10, 5))
    assert [(lane.name, lane.note, lane.host) for lane in parts.lanes] == [
        ("Stream 7", "ranges", True),
        ("Stream 7", "gemm", False),
    ]
    assert parts.slices.lane.tolist() == [0, 1]


def test_ranks_that_are_known_are_the_groups() -> None:
    parts = parts_of(*(kernel("gemm", 10, 5, device=rank, rank=rank) for rank in (1, 0)))
    assert [(group.name, group.rank) for group in parts.groups] == [("Rank 0", 0), ("Rank 1", 1)]


def test_a_trace_of_the_cpu_shows_the_threads_in_the_overview() -> None:
    parts = parts_of(op("aten::mm", 0, 5))
    assert [(lane.name, lane.in_overview) for lane in parts.lanes] == [("Thread 1", True)]
    assert parts.groups[0].note == "CPU"


def memory_event(ts: float, size: int, *, kind: int, device: int) -> dict[str, Any]:
    arguments = {"Addr": 1, "Bytes": size, "Device Type": kind, "Device Id": device, "Total Allocated": size}
    event = {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "ts": ts,
        "pid": 1,
        "tid": 1,
    }
    return {**event, "args": arguments}


def test_each_rank_has_its_own_curve_of_memory_in_its_group() -> None:
    mib = 2**20
    traces = [
        trace_of(
            op("aten::mm", 0, 50),
            memory_event(1, mib << rank, kind=0, device=-1),
            memory_event(2, 4 * mib << rank, kind=1, device=0),
            memory_event(3, 9 * mib << rank, kind=1, device=1),
            rank=rank,
        )
        for rank in (0, 1)
    ]
    trace = merge_traces(traces, (0, 0)).trace
    parts = timeline_parts(trace, categorize(trace), lambda number: Category(number).title)
    assert [(each.name, each.note, each.group, each.value.tolist()) for each in parts.counters] == [
        ("CPU memory", "1.0 MiB", 0, [mib]),
        ("Memory", "4.0 MiB", 0, [4 * mib]),
        ("Memory, GPU 1", "9.0 MiB", 0, [9 * mib]),
        ("CPU memory", "2.0 MiB", 1, [2 * mib]),
        ("Memory", "8.0 MiB", 1, [8 * mib]),
        ("Memory, GPU 1", "18.0 MiB", 1, [18 * mib]),
    ]
