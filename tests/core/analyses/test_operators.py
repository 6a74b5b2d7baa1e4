"""Operators: made-up calls, and a capture of torch itself against its own key_averages()."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from core.analyses.index import TraceIndex
from core.analyses.operators import summarize_operators, summarize_operators_by_shape
from core.readers.torch_trace.reader import read_trace
from core.tables.selection import Selection
from tests.helpers.torchrun import agent_environment
from tests.helpers.traces import annotation, call, kernel, op, python_frame, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.result import ResultTable

CAPTURE = """
import json, sys, threading
import torch
from torch.profiler import ProfilerActivity, profile, record_function

folder, stacks = sys.argv[1], sys.argv[2] == "stacks"
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.LayerNorm(32))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=stacks) as profiler:
    for _ in range(3):
        with record_function("my range"):
            loss = model(torch.randn(8, 32)).sum()
        loss.backward()
        optimizer.step()
    thread = threading.Thread(target=lambda: torch.ones(4).add(1))
    thread.start()
    thread.join()
profiler.export_chrome_trace(folder + "/trace.json")
for name, averages in (
    ("plain", profiler.key_averages()),
    ("shapes", profiler.key_averages(group_by_input_shape=True)),
):
    rows = [
        (each.key, json.dumps(each.input_shapes), each.count, each.self_cpu_time_total, each.cpu_time_total)
        for each in averages
    ]
    with open(f"{folder}/{name}.json", "w") as file:
        json.dump(rows, file)
"""


def capture(folder: Path, stacks: str) -> None:
    """Write a trace of torch and its averages into a folder."""
    # torch 2.13 with stacks sometimes keeps the name of a built-in that is gone, and then cannot
    # decode it itself.
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", CAPTURE, str(folder), stacks],
            env=agent_environment(folder),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        if "UnicodeDecodeError" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[-2000:]


def by_name(table: ResultTable, *keys: str) -> dict[Any, tuple[Any, ...]]:
    """The columns asked for, by the first of them."""
    rows = [tuple(table.column(key).value(row) for key in keys) for row in range(len(table))]
    return {row[0]: row[1:] for row in rows}


def test_total_and_own_time_on_host_and_device() -> None:
    trace = trace_of(
        op("aten::linear", 0, 100),
        python_frame("between", 5, 80),
        op("aten::addmm", 10, 60),
        call("cudaLaunchKernel", 20, 10, 1),
        op("aten::linear", 200, 50),
        call("cudaLaunchKernel", 210, 10, 2),
        kernel("a", 40, 7, correlation=1),
        kernel("b", 230, 11, correlation=2),
        kernel("c", 300, -5, correlation=2),
    )
    table = summarize_operators(TraceIndex(trace))
    keys = (
        "name",
        "calls",
        "cpu_total_ns",
        "cpu_self_ns",
        "device_calls",
        "device_total_ns",
        "device_self_ns",
    )
    assert by_name(table, *keys) == {
        "aten::linear": (2, 150_000, 80_000, 3, 18_000, 11_000),
        "aten::addmm": (1, 60_000, 50_000, 1, 7_000, 7_000),
    }
    assert [table.rows_of(row).tolist() for row in range(2)] == [[0, 4], [2]]


def test_calls_with_other_shapes_are_other_rows_if_asked() -> None:
    def mm(start: float, size: int) -> dict[str, Any]:
        inputs: dict[str, Any] = {"Input Dims": [[size, size]]}
        return op("aten::mm", start, 10, **inputs)

    index = TraceIndex(trace_of(mm(0, 2), mm(20, 4), mm(40, 2), op("aten::mm", 60, 10)))
    table = summarize_operators_by_shape(index)
    assert by_name(table, "input_dims", "name", "calls") == {
        "[[2,2]]": ("aten::mm", 2),
        "[[4,4]]": ("aten::mm", 1),
        None: ("aten::mm", 1),
    }
    assert by_name(summarize_operators(index), "name", "calls") == {"aten::mm": (4,)}


def test_an_operator_that_only_passes_on_to_its_own_name_counts_once() -> None:
    trace = trace_of(
        op("aten::sum", 0, 100),
        op("aten::sum", 10, 80),
        call("cudaLaunchKernel", 20, 5, 1),
        op("aten::cat", 200, 100),
        op("aten::cat", 210, 30),
        op("aten::narrow", 250, 20),
        kernel("k", 40, 7, correlation=1),
    )
    table = summarize_operators(TraceIndex(trace))
    keys = ("name", "calls", "cpu_total_ns", "cpu_self_ns", "device_total_ns", "device_self_ns")
    assert by_name(table, *keys) == {
        "aten::sum": (1, 100_000, 95_000, 7_000, 7_000),
        "aten::cat": (2, 130_000, 80_000, 0, 0),
        "aten::narrow": (1, 20_000, 20_000, 0, 0),
    }


def test_impossible_times_are_calls_in_no_sum_and_a_selection_takes_what_starts_in_it() -> None:
    trace = trace_of(annotation("mine", 0, 500), op("a", 10, 20), op("a", 40, -1), op("a", 100, 20))
    index = TraceIndex(trace)
    keys = ("name", "calls", "impossible", "cpu_total_ns", "cpu_self_ns")
    table = summarize_operators(index)
    assert by_name(table, *keys) == {"a": (3, 1, 40_000, 40_000)}
    assert table.notes == ("1 operator with an impossible time, in no sum.",)
    part = summarize_operators(index, Selection(10_000, 100_000))
    assert by_name(part, *keys) == {"a": (2, 1, 20_000, 20_000)}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("stacks", ["stacks", "no stacks"])
def test_a_capture_agrees_with_its_own_key_averages(tmp_path: Path, stacks: str) -> None:
    capture(tmp_path, stacks)
    index = TraceIndex(read_trace(tmp_path / "trace.json"))
    keys = ("name", "calls", "cpu_self_ns", "cpu_total_ns")
    found = by_name(summarize_operators(index), *keys)
    # What torch has besides: ranges of the user, frames of Python, and the profiler's own.
    expected = {
        name: (count, round(self_us * 1000), round(total_us * 1000))
        for name, _, count, self_us, total_us in json.loads((tmp_path / "plain.json").read_text())
    }
    assert len(found) > 30
    assert found == {name: expected[name] for name in found}
    missed = {name for name in expected if name.startswith("aten::")} - set(found)
    assert not missed

    # An operator whose inputs are all tensors: torch writes the shapes of others in another way.
    shapes = summarize_operators_by_shape(index)
    by_shape = {
        (name, dims.replace(" ", "")): count
        for name, dims, count, *_ in json.loads((tmp_path / "shapes.json").read_text())
    }
    linear = next(row for row in range(len(shapes)) if shapes.column("name").value(row) == "aten::linear")
    dims = str(shapes.column("input_dims").value(linear)).replace(" ", "")
    assert by_shape["aten::linear", dims] == shapes.column("calls").value(linear) == 3
