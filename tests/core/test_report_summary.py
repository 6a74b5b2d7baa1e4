"""``summary`` of made-up reports on the command line: text, JSON, and refusals in two lines."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import zstandard

from core.cli import main
from core.report_tables.registry import REPORT_ANALYSES
from tests.helpers import ncu_reports as made

CASES = Path(__file__).parents[3] / "shared" / "cases" / "inputs"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(made.full_report())
    return path


def test_the_object_holds_a_result_for_each_launch(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["problems"]) == ("ncu_report", [])
    assert (found["device"], found["tool_version"]) == ("NVIDIA H100 PCIe", "2025.1.0.0 (build 1)")
    nothing = {"peak_flop_per_s": None, "peak_bytes_per_s": None, "flop_per_s": None, "intensity": None}
    assert found["results"][0] == {
        "kernel": "gemm(float *)",
        "device": "NVIDIA H100 PCIe",
        "grid": [64, 64, 1],
        "block": [256, 1, 1],
        "duration_ns": 25_792,
        "sm_pct": 31.5,
        "memory_pct": 26.25,
        "dram_bytes_per_s": None,
        "metrics": 10,
        "sections": 1,
        "rules": 2,
        "rules_said_something": 1,
        "verdict": "latency-bound",
        "rooflines": {"fp32": nothing},
    }
    ranged = found["results"][1]
    assert (ranged["kernel"], ranged["grid"], ranged["block"]) == ("range", None, None)


def test_the_text_has_a_line_for_each_launch(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(path.read_bytes()[:-10])
    assert main(["summary", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "made.ncu-rep: 1 kernel"
    assert lines[1].split(maxsplit=1) == ["device", "NVIDIA H100 PCIe"]
    cells = [cell.strip() for cell in lines[5].split("  ") if cell]
    assert cells == ["gemm(float *)", "25.79 \N{MICRO SIGN}s", "31.5 %", "26.2 %", "n/a", "n/a"]
    assert lines[-1].startswith(
        "problem: The file ends early: what is whole before that place is read. (byte "
    )


def test_a_tool_without_a_version_is_told_by_its_cuda(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made.ncu-rep"
    cuda = made.message({8: [made.message({1: "CUDA Version", 2: "11.2"})]})
    for session, said in ((cuda, "version unknown (CUDA 11.2)"), (b"", "version unknown")):
        path.write_bytes(made.report(made.block(session=session)))
        assert main(["summary", str(path)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[2].split(maxsplit=1) == ["tool", said]
        assert lines[-1] == "problem: No kernels in this file."


def test_names_are_text_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.ncu-rep"
    name = "evil\x1b[31m\n" + "x" * 200
    path.write_bytes(made.report(made.block(results=[made.result(f7=name)], texts=made.NAMES)))
    assert main(["summary", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "evil\\x1b[31m\\nxxx" in printed


def test_a_packed_report_is_summed_up_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(zstandard.compress(made.full_report()))
    assert main(["summary", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--table", "ops"], "There is no table ops of a report."),
        (["--csv"], "--csv writes one table."),
        (["--table", "metrics", "--launch", "2"], "There is no launch 2 in made.ncu-rep."),
        (["--table", "metrics", "--launch", "x"], "Argument --launch: 'x' is not a number from 0 on."),
        (["{path}"], "Reports are summed up one at a time."),
    ],
)
def test_what_does_not_go_is_refused(
    path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["summary", str(path), *[option.format(path=path) for option in options]]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[0] == f"error: {message}"
    assert len(printed.err.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        # Cases N13: a length of 50 million at byte 4, and nothing at all.
        (
            "N13_fake.ncu-rep",
            b"NVR\x00" + bytes(range(256)) * 4,
            "The report is damaged: block length 50,462,976 at byte 4 of 1,028.",
        ),
        ("N13_empty.ncu-rep", b"", "The report is empty (0 bytes)."),
    ],
)
def test_a_damaged_and_an_empty_report_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, said: str
) -> None:
    handed = CASES / name
    (tmp_path / name).write_bytes(content)
    for path in [tmp_path / name] + [handed] * handed.is_file():
        assert main(["summary", str(path), "--json"]) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.splitlines()[0]) == ("", f"error: {name} was not opened. {said}")
        assert printed.err.splitlines()[1].startswith("hint: ")


def test_a_table_is_printed_for_people(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(path), "--table", "rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "Number"
    assert "See Scheduler Statistics at 0x14a9, the guide." in lines[1]
    assert lines[-1] == "note: 1 rule had nothing to say."


@pytest.mark.parametrize("name", [analysis.name for analysis in REPORT_ANALYSES])
def test_every_table_is_written_as_csv_and_as_json(
    name: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(path), "--table", name, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(["summary", str(path), "--table", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], len(found["rows"])) == (name, len(rows))
    # The binary in this report is none, so that no line is known.
    assert (len(rows) > 0) == (name != "source")
    assert not rows or list(found["columns"]) == list(rows[0])


def test_a_table_can_be_of_one_launch(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, launches in ((["--launch", "1"], {1}), (["--launch", "0"], {0}), ([], {0, 1})):
        assert main(["summary", str(path), "--table", "metrics", "--json", *words]) == 0
        assert {row["launch"] for row in json.loads(capsys.readouterr().out)["rows"]} == launches


def test_a_table_without_rows_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(made.report(made.block(session=made.session())))
    assert main(["summary", str(path), "--table", "groups"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "No kernels in this file."


def test_people_count_launches_from_1_as_in_the_window_and_programs_from_0(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["summary", str(path), "--table", "kernels"]
    assert main(words) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["Number", "Kernel"]
    assert [line.split()[0] for line in lines[:2]] == ["1", "2"]
    assert "note: Number 1 is launch 0 of --launch, --csv and --json." in lines
    assert main([*words, "--launch", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["2", "range"]
    assert main([*words, "--csv"]) == 0
    assert [row["launch"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["0", "1"]
    assert main([*words, "--json"]) == 0
    assert [row["launch"] for row in json.loads(capsys.readouterr().out)["rows"]] == [0, 1]
    assert main([*words[:3], "groups"]) == 0
    assert "Number 1" not in capsys.readouterr().out


def test_own_peaks_that_are_broken_cost_only_themselves_and_are_told(
    path: Path, private_folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*more: str) -> str:
        assert main(["summary", str(path), *more]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    whole = {each.name: printed("--table", each.name) for each in REPORT_ANALYSES}
    sound = json.loads(printed("--json"))
    own = private_folders / "config" / "ridgeline"
    own.mkdir(exist_ok=True)
    (own / "device_peaks.toml").write_text("[[device]\n")
    found = json.loads(printed("--json"))
    (problem,) = found.pop("problems")
    assert problem["code"] == "own_peaks"
    assert "device_peaks.toml" in problem["message"]
    assert sound.pop("problems") == []
    assert found == sound
    assert f"problem: {problem['message']}" in printed().splitlines()
    for name, before in whole.items():
        assert printed("--table", name) == f"{before}note: {problem['message']}\n"
    (own / "device_peaks.toml").unlink()
    assert json.loads(printed("--json"))["problems"] == []


def test_handed_files_open_as_every_table_or_are_refused(
    shared_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((shared_cases.parent / "expected.json").read_text())
    for name in [each for each in expected if each[0] in "NR"]:
        for analysis in REPORT_ANALYSES:
            code = main(["summary", str(shared_cases / name), "--table", analysis.name, "--json"])
            printed = capsys.readouterr()
            assert code == expected[name]["exit"], name
            assert len(printed.err.splitlines()) == (2 if code else 0)
            if not code:
                json.loads(printed.out)
