"""``summary`` on the command line: exact figures of handed and made-up traces, and refusals in two lines."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.analyses.registry import ANALYSES
from core.cli import main
from core.cli.arguments import REPORT_TABLES, TRACE_TABLES
from core.report_tables.registry import REPORT_ANALYSES
from tests.helpers.traces import call, kernel, op

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
TRACES = SHARED / "data" / "traces"
CASES = SHARED / "cases"


def truth() -> list[dict[str, str]]:
    path = TRACES / "truth.tsv"
    text = path.read_text() if path.is_file() else ""
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def expected() -> dict[str, dict[str, Any]]:
    path = CASES / "expected.json"
    cases = json.loads(path.read_text()) if path.is_file() else {}
    return {name: case for name, case in cases.items() if name.startswith("T")}


def summary(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["summary", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found: dict[str, Any] = json.loads(printed.out)
    return found


@pytest.mark.skipif(not truth(), reason="the public samples are not on this machine")
@pytest.mark.parametrize("row", truth(), ids=lambda row: row["file"])
def test_every_public_sample_gives_its_exact_figures(
    row: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = summary(TRACES / row["file"], capsys)
    exact = ("events", "kernels", "kernel_sum_ns", "kernel_busy_ns", "memcpy", "memset", "ops", "streams")
    assert {key: found[key] for key in exact} == {key: int(row[key]) for key in exact}
    none = [{"name": "-", "calls": 0, "sum_ns": 0}]
    top: dict[str, Any] = (found["top_kernels"] or none)[0]
    # The list holds the first 100 characters of a name.
    assert (top["name"][:100], top["calls"], top["sum_ns"]) == (
        row["top_kernel"],
        int(row["top_count"]),
        int(row["top_sum_ns"]),
    )


@pytest.mark.skipif(not expected(), reason="the handed case inputs are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_every_handed_case_gives_its_right_answer(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = dict(expected()[name])
    path = CASES / "inputs" / name
    code = case.pop("exit")
    if code == 2:
        assert main(["summary", str(path), "--json"]) == 2
        assert_refusal(capsys.readouterr())
        return
    found = summary(path, capsys)
    assert sum(problem["count"] for problem in found["problems"]) >= case.pop("problems_at_least", 0)
    assert {key: found[key] for key in case} == case
    if "problems_at_least" not in expected()[name] and name in HEALTHY:
        assert found["problems"] == []


HEALTHY = (
    "T00_healthy.json",
    "T11.json",
    "T14.json",
    "T16.json.gz",
    "T22.json",
    "T50.json",
    "T52_bom.json",
    "T52_utf16.json",
)
"""Cases in which nothing is wrong: a warning would be a false alarm."""


def assert_refusal(printed: Any) -> None:
    """One line says what, one what to do, and nothing else."""
    error, hint = printed.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert printed.out == ""


EVENTS = [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, "ts": 0, "dur": 100},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 10, "dur": 20,
     "args": {"External id": 4}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 12, "dur": 5,
     "args": {"correlation": 1, "External id": 4}},
    {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_64x64_nn", "pid": 0, "tid": 7, "ts": 20.5,
     "dur": 30.25, "args": {"correlation": 1, "External id": 4, "device": 0, "stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "=cmd()", "pid": 0, "tid": 8, "ts": 40, "dur": 30,
     "args": {"device": 0, "stream": 8}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 60, "dur": 1,
     "args": {"bytes": 12}},
]  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": EVENTS}))
    return path


def test_a_made_up_trace(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(made, capsys)
    assert found["kind"] == "torch_trace"
    assert found["cpu_only"] is False
    assert "top_ops" not in found
    figures = ("events", "kernels", "kernel_sum_ns", "kernel_busy_ns", "memcpy", "memset", "ops", "steps")
    assert [found[key] for key in figures] == [6, 2, 60_250, 49_500, 1, 0, 1, 1]
    assert (found["streams"], found["span_ns"], found["kernels_outside_steps"]) == (2, 100_000, 0)
    assert found["top_kernels"][0] == {"name": "ampere_sgemm_64x64_nn", "calls": 1, "sum_ns": 30_250}


@pytest.mark.parametrize("name", [analysis.name for analysis in ANALYSES])
def test_every_table_is_written_as_text_csv_and_json(
    name: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(made), "--table", name]) == 0
    assert capsys.readouterr().out.strip()
    assert main(["summary", str(made), "--table", name, "--csv"]) == 0
    header, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert all(len(row) == len(header) for row in rows)
    assert main(["summary", str(made), "--table", name, "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["name"] == name
    assert len(table["rows"]) == len(rows)


def test_a_name_that_looks_like_a_formula_is_text_in_csv(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["summary", str(made), "--table", "kernels", "--csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert "'=cmd()" in {row["name"] for row in rows}


def test_kernels_have_the_verdicts_of_the_window(
    tmp_path: Path, private_folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A product near the FP16 peak, an operator without shapes: as the Trace page judges them."""
    shapes: dict[str, Any] = {"Input Dims": [[4096, 4096]] * 2, "Input type": ["c10::BFloat16"] * 2}
    events = [
        op("aten::mm", 92, 6, **shapes),
        call("cudaLaunchKernel", 94, 1, 1),
        kernel("ampere_bf16_s16816gemm_bf16_128x64_tn", 100, 210, correlation=1),
        kernel("odd_kernel", 400, 10),
    ]
    path = tmp_path / "train.json"
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}))

    def table() -> dict[str, Any]:
        assert main(["summary", str(path), "--table", "kernels", "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    sound = table()
    assert [row["verdict"] for row in sound["rows"]] == ["Compute-bound", None]
    own = private_folders / "config" / "ridgeline"
    own.mkdir(parents=True, exist_ok=True)
    (own / "device_peaks.toml").write_text("[[device]\n")
    found = table()
    assert found["rows"] == sound["rows"]
    assert "device_peaks.toml" in found["notes"][-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.json"], "cannot be opened"),
        ([str(ROOT / "main.py")], "no trace: Python script"),
        ([str(ROOT / "main.py"), "--table", "nonsense"], "no table nonsense"),
        ([str(ROOT / "main.py"), "--csv"], "--csv writes one table"),
        ([str(ROOT / "docs")], "no trace in docs"),
    ],
)
def test_refusals(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", *words]) == 2
    printed = capsys.readouterr()
    assert_refusal(printed)
    assert said in printed.err


def test_a_folder_is_one_trace_of_all_its_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (0, 1):
        document = {
            "traceEvents": EVENTS,
            "distributedInfo": {"rank": rank, "world_size": 2},
            "baseTimeNanoseconds": 10**18,
        }
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    found = summary(tmp_path, capsys)
    assert (found["kernels"], found["kernel_busy_ns"], found["steps"]) == (4, 2 * 49_500, 2)
    assert found["problems"][-1]["code"] == "aligned"


def test_files_of_several_ranks_are_one_trace_and_two_captures_of_one_rank_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / f"step{step}_rank{rank}.json" for step in (3, 8) for rank in (0, 1)]
    for path in paths:
        info = {"rank": int(path.stem[-1]), "world_size": 2}
        document = {"traceEvents": EVENTS, "distributedInfo": info, "baseTimeNanoseconds": 10**18}
        path.write_text(json.dumps(document))
    assert main(["summary", *map(str, paths[2:])]) == 0
    assert "step8_rank0.json and 1 more: 12 events" in capsys.readouterr().out
    assert main(["summary", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert_refusal(printed)
    assert "step3_rank0.json and step8_rank0.json are both of rank 0" in printed.err


def test_a_trace_of_the_cpu_alone_shows_operators_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps({"traceEvents": EVENTS[:2]}))
    found = summary(path, capsys)
    assert found["cpu_only"] is True
    assert found["top_ops"] == [
        {"name": "aten::mm", "calls": 1, "cpu_self_ns": 20_000, "cpu_total_ns": 20_000}
    ]
    assert main(["summary", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "recorded on the CPU only" in printed
    assert "aten::mm" in printed
    assert "kernel time" not in printed


def test_no_window_part_is_loaded(made: Path) -> None:
    """Neither Qt nor torch, in the process that a user starts."""
    program = (
        "import sys; sys.argv = ['main.py', 'summary', sys.argv[1]]; import runpy\n"
        "try: runpy.run_path('main.py', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('PySide6', 'torch', 'pyqtgraph')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(made)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "kernels" in done.stdout


def test_the_help_names_every_table() -> None:
    assert ", ".join(analysis.name for analysis in ANALYSES) == TRACE_TABLES
    assert ", ".join(analysis.name for analysis in REPORT_ANALYSES) == REPORT_TABLES


@pytest.mark.parametrize(("streams", "said"), [((7, 7), "2 on 1 stream"), ((7, 8), "2 on 2 streams")])
def test_streams_are_counted_in_words_that_fit(
    streams: tuple[int, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "k",
            "pid": 0,
            "tid": stream,
            "ts": 10 * place,
            "dur": 5,
            "args": {"device": 0, "stream": stream},
        }
        for place, stream in enumerate(streams)
    ]
    path = tmp_path / "made.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert main(["summary", str(path)]) == 0
    printed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["kernels", said] in printed
