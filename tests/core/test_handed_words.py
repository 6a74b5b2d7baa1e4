"""What the handed cases say beyond figures: which text is repaired to what, what is said of it, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analyses.index import TraceIndex
from core.analyses.quality import judge
from core.analyses.registry import summarize
from core.errors import DashboardError
from core.readers.torch_trace.reader import read_trace
from core.tables.columns import NO_ROW
from core.tables.trace import Problem, SliceKind

REPAIRED = {
    "T01.json": r"torch\cuda\__init__.py(219): _lazy_init",
    "T02.json": r"d:\users\xdev\new\table.py(3): run",
    "T04.json": 'thread 5 ("main" loop)',
}

SAID = {
    "T04.json": ("unescaped_quote", 1, "", "line 28 "),
    "T05.json": ("control_character", 1, r"\x01", "line 28 "),
    "T07.json": ("not_a_number", 1, "inf", "line 28 "),
    "T08.json": ("not_a_number", 4, "not available", "line 28 "),
    "T10.json": ("negative_duration", 1, "1 kernel with negative duration", ""),
    "T13.json.gz": ("gzip_ends_early", 1, "compressed file ends early", ""),
    "T20.json": ("stray_comma", 1, "", "line 1 column 2"),
    "T23.json": ("overruns_next", 1, "605.0", ""),
    "T25.json": ("steps_without_gpu_work", 30, "30 of 32 steps", ""),
    "T32.json": ("clock_skew", 1, "clock skew", ""),
    "T37.json": ("colliding_ranks", 4, "4 ranks (0 to 3) collide", ""),
    "T44.json": ("unfinished", 1, "not finished", ""),
    "T47.json": ("outside_steps", 1, "1 kernel (300.0 µs) outside any step", ""),
}

REFUSED = {
    "T17.json": "The file is empty.",
    "T55.json": "Not a trace: traceEvents is text.",
    "T56.json": "execution trace",
}


def problems(path: Path) -> tuple[Problem, ...]:
    trace = read_trace(path)
    return (*trace.problems, *judge(TraceIndex(trace)))


@pytest.mark.parametrize("name", REPAIRED)
def test_a_text_is_repaired_to_what_was_meant(name: str, shared_cases: Path) -> None:
    assert REPAIRED[name] in list(read_trace(shared_cases / name).strings)


@pytest.mark.parametrize("name", SAID)
def test_what_is_doubtful_is_said_with_its_count_and_place(name: str, shared_cases: Path) -> None:
    code, count, words, place = SAID[name]
    found = [problem for problem in problems(shared_cases / name) if problem.code == code]
    assert found
    assert found[0].count == count
    assert words in found[0].message
    assert not place or found[0].places[0].startswith(place)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_trace_is_named(name: str, shared_cases: Path) -> None:
    with pytest.raises(DashboardError) as refused:
        read_trace(shared_cases / name)
    assert REFUSED[name] in refused.value.message


def test_a_kernel_belongs_to_the_operator_that_launched_it(shared_cases: Path) -> None:
    """T31: numbers of launches and of operators overlap."""
    trace = read_trace(shared_cases / "T31.json")
    index = TraceIndex(trace)
    owners = {
        trace.strings[int(trace.slices.name_id[row])]: trace.strings[int(trace.slices.name_id[op])]
        for row, op in zip(trace.device_work.slice_row.tolist(), index.links.op_row.tolist(), strict=True)
        if op != NO_ROW
    }
    assert {kernel.split("<")[0].split("(")[0]: op for kernel, op in owners.items()} == {
        "relu_kernel": "aten::relu",
        "gemm_kernel": "aten::mm",
    }


def test_the_time_range_comes_from_slices(shared_cases: Path) -> None:
    """T11: a moment two days later stretches nothing."""
    trace = read_trace(shared_cases / "T11.json")
    ends = trace.slices.start_ns + trace.slices.duration_ns
    assert int(ends.max()) == 2_000_000
    assert int(ends[trace.slices.kind != SliceKind.PROFILER].max()) <= 2_000_000


def test_steps_say_why_there_are_none(shared_cases: Path) -> None:
    """T46."""
    table = summarize(TraceIndex(read_trace(shared_cases / "T46.json")), "steps")
    assert len(table) == 0
    assert "ProfilerStep" in table.empty or "step" in table.empty


def test_npu_kernels_stand_on_their_stream(shared_cases: Path) -> None:
    """T40."""
    trace = read_trace(shared_cases / "T40.json")
    assert trace.device_work.stream.tolist() == [2, 2, 2]
    track = int(trace.slices.track[trace.device_work.slice_row[0]])
    assert trace.strings[int(trace.tracks.process_name_id[track])] == "Ascend Hardware"
    names = [trace.strings[int(trace.slices.name_id[row])] for row in trace.device_work.slice_row.tolist()]
    assert names == ["MatMulV2", "Add", "SoftmaxV2"]
