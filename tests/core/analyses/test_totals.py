"""The figures of a trace: of small made ones, and of every handed file."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from core.analyses.index import TraceIndex
from core.analyses.totals import TopKernel, Totals, summarize_totals
from tests.helpers.handed import read_slowly
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.trace import Trace

FIGURES = (
    "kernels",
    "kernel_sum_ns",
    "kernel_busy_ns",
    "communication_ns",
    "memcpy",
    "memset",
    "ops",
    "steps",
    "kernels_outside_steps",
)
"""Of the handed cases; a figure that a case does not name is not checked."""
CASES = (
    *(
        "T00_healthy",
        "T10",
        "T11",
        "T14",
        "T22",
        "T23",
        "T25",
        "T26",
        "T28",
        "T29",
        "T31",
        "T32",
        "T34",
        "T35",
    ),
    *("T37", "T38_rank0", "T38_rank1", "T40", "T41", "T43", "T44", "T46", "T47", "T49", "T50"),
)
COUNTS = ("events", "kernels", "kernel_sum_ns", "kernel_busy_ns", "memcpy", "memset", "ops", "streams")
"""Of the public samples."""
SLOW_BYTES = 100_000
"""Larger files take seconds to read event by event; they are checked through the reader."""


def totals_of(trace: Trace) -> Totals:
    return summarize_totals(TraceIndex(trace))


def test_an_empty_trace_is_all_zeros() -> None:
    found = totals_of(trace_of())
    assert (found.kernels, found.kernel_sum_ns, found.kernel_busy_ns, found.span_ns) == (0, 0, 0, 0)
    assert (found.steps, found.streams, found.top_kernels) == (0, 0, ())


def test_busy_is_the_union_on_a_device_added_over_devices() -> None:
    found = totals_of(
        trace_of(
            kernel("a", 0, 10),
            kernel("b", 5, 10, stream=20),
            kernel("a", 5, 10, device=1),
        )
    )
    assert found.kernel_sum_ns == 30_000
    assert found.kernel_busy_ns == 15_000 + 10_000
    assert found.streams == 3


def test_impossible_times_are_counted_and_never_added() -> None:
    broken = kernel("broken", 40, 1)
    del broken["dur"]
    found = totals_of(trace_of(kernel("a", 0, 10), kernel("a", 20, -5), broken, kernel("a", 30, 0)))
    assert (found.kernels, found.kernel_sum_ns, found.kernel_busy_ns) == (4, 10_000, 10_000)
    assert found.top_kernels[0] == TopKernel(name="a", calls=3, sum_ns=10_000)
    assert found.span_ns == 10_000


def test_sums_beyond_int64_are_exact() -> None:
    found = totals_of(trace_of(*(kernel("long", 0, 4e15, stream=stream) for stream in range(3))))
    assert found.kernel_sum_ns == 12 * 10**18
    assert found.top_kernels[0].sum_ns == 12 * 10**18
    assert found.kernel_busy_ns == 4 * 10**18


def test_the_top_is_by_sum_and_ties_are_by_name() -> None:
    names = [f"k{place:02}" for place in range(15)]
    found = totals_of(trace_of(*(kernel(name, 0, 5) for name in reversed(names)), kernel("z", 0, 6)))
    assert [each.name for each in found.top_kernels] == ["z", *names[:9]]


def test_a_kernel_belongs_to_the_step_that_launched_it() -> None:
    found = totals_of(
        trace_of(
            annotation("ProfilerStep#4", 10, 20),
            call("cudaLaunchKernel", 2, 1, 1),
            call("cudaLaunchKernel", 25, 1, 2),
            kernel("warm-up", 12, 2, correlation=1),
            kernel("late", 90, 5, correlation=2),
            kernel("launch unknown, in the step", 29, 5),
            kernel("launch unknown, behind it", 30, 5),
        )
    )
    assert (found.steps, found.kernels_outside_steps) == (1, 2)


def test_without_steps_nothing_lies_outside_one() -> None:
    found = totals_of(trace_of(op("aten::mm", 0, 5), kernel("k", 6, 2)))
    assert (found.steps, found.kernels_outside_steps, found.ops) == (0, 0, 1)


def test_moments_do_not_stretch_the_span(shared_cases: Path) -> None:
    assert totals_of(read_slowly(shared_cases / "T11.json")).span_ns == 2_000_000


@pytest.mark.parametrize("case", CASES)
def test_a_handed_case_gives_its_figures(shared_cases: Path, case: str) -> None:
    expected: dict[str, Any] = json.loads((shared_cases.parent / "expected.json").read_text())[f"{case}.json"]
    found = totals_of(read_slowly(shared_cases / f"{case}.json"))
    named = {key: expected[key] for key in FIGURES if key in expected}
    assert named
    assert {key: getattr(found, key) for key in named} == named


def test_the_smaller_public_samples_give_their_truth(shared_cases: Path) -> None:
    folder = shared_cases.parents[1] / "data" / "traces"
    with (folder / "truth.tsv").open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter="\t")
            if (folder / row["file"]).stat().st_size < SLOW_BYTES
        ]
    assert len(rows) == 9
    for row in rows:
        found = totals_of(read_slowly(folder / row["file"]))
        for key in COUNTS:
            assert getattr(found, key) == int(row[key]), (row["file"], key)
        top = found.top_kernels[0] if found.top_kernels else TopKernel(name="-", calls=0, sum_ns=0)
        shown = (top.name[:100], top.calls, top.sum_ns)
        assert shown == (row["top_kernel"], int(row["top_count"]), int(row["top_sum_ns"]))
