"""A trace captured from a running job: right against torch's own sums of the same capture, rank by rank.

The job is the tiny preset's, two ranks on the CPU, under a script that also writes
``key_averages()`` of each capture as the rank that took it sees it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.analyses.operators import summarize_operators, summarize_operators_by_shape
from core.analyses.quality import judge
from core.cli import main
from core.launch.client import request_capture
from core.launch.presets import tiny
from core.readers.torch_trace.reader import read_trace
from core.runs.capture_start import common_first_step
from core.runs.monitor import RunMonitor
from core.runs.store import RunFolder, RunStore
from core.tables.trace import SliceKind
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.result import ResultTable

pytestmark = pytest.mark.torchrun

MAIN = Path(__file__).parents[2] / "main.py"
LIMIT_S = 180.0
RANKS = 2
STEPS = {"plain": 2, "stack": 2, "no memory": 3}
"""The captures by name, and the steps asked for."""
WRITTEN = re.compile(r"^rank (\d): (/.*\.json) \(", re.MULTILINE)
SCRIPT = """
import json, os, runpy, sys
import torch

export = torch.profiler.profile.export_chrome_trace


def inner_us(event):
    # Operators and ranges inside, as if there were no frames of Python in between.
    return sum(
        inner_us(child) if child.is_python_function else child.cpu_time_total for child in event.cpu_children
    )


def export_with_sums(profile, path):
    export(profile, path)
    operators = [e for e in profile.events() if not (e.is_python_function or e.is_user_annotation)]
    own_us = {}
    for event in operators:
        own_us[event.name] = own_us.get(event.name, 0) + event.cpu_time_total - inner_us(event)
    sums = {
        "own": own_us,
        "names": {
            each.key: (each.count, each.self_cpu_time_total, each.cpu_time_total)
            for each in profile.key_averages()
        },
        "shapes": [
            (each.key, str(each.input_shapes), each.count, each.self_cpu_time_total, each.cpu_time_total)
            for each in profile.key_averages(group_by_input_shape=True)
        ],
    }
    os.makedirs("sums", exist_ok=True)
    with open(os.path.join("sums", os.path.basename(path).split(".")[0] + ".json"), "w") as file:
        json.dump(sums, file)


torch.profiler.profile.export_chrome_trace = export_with_sums
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Captured:
    """A run that was captured several times while it went on, then stopped."""

    folder: RunFolder
    sums: Path
    files: dict[str, list[Path]]

    def of(self, capture: str, rank: int) -> tuple[TraceIndex, dict[str, Any]]:
        """Returns a rank's trace, and what torch made of the same capture."""
        path = self.files[capture][rank]
        sums: dict[str, Any] = json.loads((self.sums / path.name).read_text())
        return TraceIndex(read_trace(path)), sums


def run_main(*arguments: str, data: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(MAIN), *arguments],
        cwd=data,
        env=os.environ | {"RIDGELINE_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    return done.stdout


def until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition to become true."""
    end_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end_s, f"never came: {what}"
        time.sleep(0.05)


def capture_without_memory(folder: RunFolder, steps: int) -> list[Path]:
    """No word of the command line asks for this."""
    monitor = RunMonitor(folder)
    first_step = common_first_step(monitor.read_all())
    request = request_capture(folder, steps=steps, first_step=first_step, with_memory=False)

    def ready() -> list[Path]:
        found = {c.rank: c.file for c in monitor.poll().captures if c.request == request and c.file}
        return [folder.path / found[rank] for rank in sorted(found)]

    until(lambda: len(ready()) == RANKS, "the capture without memory")
    return ready()


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    data = tmp_path_factory.mktemp("data")
    script = data / "script.py"
    script.write_text(SCRIPT)
    example = tiny(arguments=("--steps", "100000", "--sleep", "0.05"))
    launch = ["launch", "--device", "cpu", "--nproc", str(RANKS), "--detach", str(script)]
    run_main(*launch, example.target, *example.arguments, data=data)
    (run,) = (data / "runs").iterdir()
    folder = RunStore(data / "runs").find(run.name)
    try:
        monitor = RunMonitor(folder)
        until(lambda: all((rank.step or 0) >= 2 for rank in monitor.poll().ranks), "the first steps")
        files = {}
        for name, words in (("plain", []), ("stack", ["--stack"])):
            said = run_main("capture", folder.id, "--steps", str(STEPS[name]), *words, data=data)
            files[name] = [Path(path) for _, path in sorted(WRITTEN.findall(said))]
        files["no memory"] = capture_without_memory(folder, STEPS["no memory"])
    finally:
        run_main("stop", folder.id, data=data)
    assert all(len(paths) == RANKS for paths in files.values())
    return Captured(folder, data / "sums", files)


def rows(table: ResultTable, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(table.column(key).value(row) for key in keys) for row in range(len(table))]


def nanoseconds(microseconds: float) -> int:
    """Exact: torch adds up whole nanoseconds, as floats of microseconds.

    Each is off by less than 1e-9 us for captures of up to hours, so that the half
    nanosecond at which rounding would go wrong is a billion calls away.
    """
    return round(microseconds * 1000)


@pytest.mark.parametrize("rank", range(RANKS))
@pytest.mark.parametrize("capture", STEPS)
def test_every_operator_agrees_with_key_averages(captured: Captured, capture: str, rank: int) -> None:
    """Calls, own time, total. Frames of Python are no calls of ours: for torch they take from own times."""
    index, sums = captured.of(capture, rank)
    found = {
        name: figures
        for name, *figures in rows(summarize_operators(index), "name", "calls", "cpu_self_ns", "cpu_total_ns")
    }
    assert len(found) > 100
    assert found.keys() == sums["own"].keys()
    expected = {
        name: [count, nanoseconds(sums["own"][name] if capture == "stack" else own_us), nanoseconds(total_us)]
        for name, (count, own_us, total_us) in sums["names"].items()
        if name in found
    }
    assert found == expected


def test_without_frames_own_times_are_those_of_torch_by_either_way(captured: Captured) -> None:
    """So that the test above stands on torch's own figures where no frames were recorded."""
    _, sums = captured.of("plain", 0)
    assert {name: nanoseconds(own_us) for name, own_us in sums["own"].items()} == {
        name: nanoseconds(sums["names"][name][1]) for name in sums["own"]
    }


def test_operators_by_shape_agree_with_key_averages(captured: Captured) -> None:
    """Torch sums lists of tensors up whatever their shapes, and here they are put together likewise."""
    index, sums = captured.of("plain", 0)
    found: dict[tuple[str, str], np.ndarray[Any, Any]] = defaultdict(lambda: np.zeros(3, np.int64))
    keys = ("name", "input_dims", "calls", "cpu_self_ns", "cpu_total_ns")
    for name, dims, *figures in rows(summarize_operators_by_shape(index), *keys):
        shapes = [
            [] if any(isinstance(size, list) for size in shape) else shape
            for shape in json.loads(dims or "[]")
        ]
        found[name, json.dumps(shapes)] += figures
    expected = {
        (name, shapes): [count, nanoseconds(own_us), nanoseconds(total_us)]
        for name, shapes, count, own_us, total_us in sums["shapes"]
        if name in sums["own"]
    }
    assert {key: figures.tolist() for key, figures in found.items()} == expected


@pytest.mark.parametrize("rank", range(RANKS))
@pytest.mark.parametrize("capture", STEPS)
def test_a_trace_holds_what_was_asked_for_and_says_whose_it_is(
    captured: Captured, capture: str, rank: int
) -> None:
    index, _ = captured.of(capture, rank)
    trace = index.trace
    first = int(re.fullmatch(rf"step(\d+)_rank{rank}\.json", trace.name)[1])  # type: ignore[index]
    assert index.steps.number.tolist() == list(range(first, first + STEPS[capture]))
    assert (trace.facts.rank, trace.facts.world_size, trace.facts.backend) == (rank, RANKS, "gloo")
    assert captured.folder.id in dict(trace.facts.metadata)["traceName"]
    assert (len(trace.memory) > 0) == (capture != "no memory")
    frames = {trace.strings[name] for name in trace.slices.name_id[trace.slices.kind == SliceKind.PYTHON]}
    assert any("train_fsdp.py" in name and name.endswith(": main") for name in frames) == (capture == "stack")
    assert bool(frames) == (capture == "stack")
    assert len(trace.device_work) == 0
    assert (*trace.problems, *judge(index)) == ()


def test_the_ranks_of_a_capture_open_as_one_and_its_collectives_are_compared(
    captured: Captured, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(path) for path in captured.files["plain"]]
    assert main(["summary", *files]) == 0
    printed = capsys.readouterr().out
    assert "recorded on the CPU only" in printed
    assert "note: Aligned by the files' clocks" in printed
    assert "problem" not in printed
    recorded = [captured.of("plain", rank)[0].trace for rank in range(RANKS)]
    counts = [
        sum(trace.strings[name].startswith("gloo:") for name in trace.slices.name_id.tolist())
        for trace in recorded
    ]
    # A step gathers the root and both blocks forward, both blocks again backward, and reduces all three.
    assert counts == [8 * STEPS["plain"]] * RANKS
    assert main(["summary", *files, "--table", "arrivals", "--json"]) == 0
    arrivals = json.loads(capsys.readouterr().out)["rows"]
    assert len(arrivals) == counts[0]
    assert main(["summary", *files, "--table", "stragglers", "--json"]) == 0
    stragglers = json.loads(capsys.readouterr().out)["rows"]
    assert [row["rank"] for row in stragglers] == list(range(RANKS))
    assert sum(row["last"] for row in stragglers) == len(arrivals)
    assert main(["summary", *files, "--table", "kernels"]) == 0
    assert "The Operators table shows what ran." in capsys.readouterr().out


def test_several_captures_of_a_run_are_kept_apart(
    captured: Captured, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path for paths in captured.files.values() for path in paths}
    assert len(files) == len(STEPS) * RANKS
    assert set((captured.folder.path / "traces").iterdir()) == files
    assert main(["summary", str(captured.folder.path / "traces")]) == 2
    assert "both of rank 0: these are several captures" in capsys.readouterr().err


def test_a_rank_alone_is_summed_up_by_its_operators(
    captured: Captured, capsys: pytest.CaptureFixture[str]
) -> None:
    path = captured.files["plain"][1]
    index, sums = captured.of("plain", 1)
    assert main(["summary", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cpu_only"], found["kernels"], found["problems"]) == (True, 0, [])
    assert (found["rank"], found["world_size"], found["steps"]) == (1, RANKS, STEPS["plain"])
    own_ns = {name: nanoseconds(figures[1]) for name, figures in sums["names"].items() if name in sums["own"]}
    assert found["top_ops"][0]["cpu_self_ns"] == max(own_ns.values())
    assert main(["summary", str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"rank 1 of {RANKS}" in printed
    operators = int(np.count_nonzero(index.trace.slices.kind == SliceKind.OP))
    assert re.search(rf"operators +{format_count(operators)}$", printed, re.MULTILINE)
    assert "This trace was recorded on the CPU only" in printed
