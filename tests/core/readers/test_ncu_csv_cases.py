"""Every handed table of Nsight Compute against its known figures, through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from core.cli import main
from core.readers.ncu_csv.reader import read_csv
from core.tables.columns import MISSING

if TYPE_CHECKING:
    from pathlib import Path

EXACT = 1e-9
PRINTED = {"N07_details_autoscale.csv": 2e-3, "N08_raw_scaled.csv": 1e-4, "N08_raw_scaled_old.csv": 1e-4}
"""How far figures may be off where the tool printed them with so few digits, as a share."""

CASES = (
    *("N00_healthy_raw.csv", "N01.csv", "N02.csv", "N04.csv", "N05.csv", *PRINTED, "N10_na.csv"),
    *("N11_perm.csv", "N14_csv_inside.ncu-rep", "N16_repeat.csv", "N17_range.csv", "N19_split_bytes.csv"),
    *("N20_bom_crlf.csv", "N20_utf16.csv", "N22_nsys.csv", "N23_only_units.csv", "R01_tensor_only.csv"),
    *("R02_no_tensor_metric.csv", "R05_devices.csv", "R06_above_roof.csv", "R08_integer.csv"),
    "R10_zero_time.csv",
)


@pytest.fixture
def expected(shared_cases: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((shared_cases.parent / "expected.json").read_text())
    return found


def summary(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["summary", str(path), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_no_case_is_missing(expected: dict[str, dict[str, Any]]) -> None:
    tables = {name for name in expected if name[0] in "NR" and not name.startswith("N13")}
    assert tables == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_handed_table_holds_the_known_figures(
    name: str,
    shared_cases: Path,
    expected: dict[str, dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted = expected[name]
    if wanted["exit"]:
        assert main(["summary", str(shared_cases / name), "--json"]) == wanted["exit"]
        assert capsys.readouterr().out == ""
        return
    found = summary(shared_cases / name, capsys)
    assert (found["kind"], len(found["results"])) == ("ncu_csv", wanted["results"])
    for result, row in zip(found["results"], wanted.get("rows", found["results"]), strict=True):
        assert isinstance(result["duration_ns"], int)
        for key, value in row.items():
            near = (
                pytest.approx(value, rel=PRINTED.get(name, EXACT))
                if isinstance(value, float | int)
                else value
            )
            assert result[key] == near, key


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "N11_perm.csv",
            "no permission for the GPU's performance counters",
            "NVreg_RestrictProfilingToAdmin",
        ),
        ("N22_nsys.csv", "no table of Nsight Compute: Nsight Systems statistics", "ncu --import"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(
    name: str, message: str, hint: str, shared_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(shared_cases / name)]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert hint in printed


def test_split_bytes_make_the_rate_and_an_unknown_metric_is_listed(
    shared_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_cases / "N19_split_bytes.csv"
    (result,) = summary(path, capsys)["results"]
    assert result["rooflines"]["fp32"]["intensity"] == 0.375
    report = read_csv(path)
    units = dict(zip(report.metric_names.texts, report.metric_names.units, strict=True))
    assert (units["brand__new_metric.avg"], report.metric(0, "brand__new_metric.avg")) == ("widget", 5)
    assert report.devices[0].compute_capability == 100


def test_a_range_and_a_zero_duration_are_kept(shared_cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (span,) = summary(shared_cases / "N17_range.csv", capsys)["results"]
    assert (span["kernel"], span["grid"], span["block"]) == ("range", None, None)
    assert span["rooflines"]["fp32"]["intensity"] == pytest.approx(0.125)
    (result,) = summary(shared_cases / "R10_zero_time.csv", capsys)["results"]
    assert (result["duration_ns"], result["dram_bytes_per_s"]) == (0, None)
    fp32 = result["rooflines"]["fp32"]
    assert (fp32["intensity"], fp32["flop_per_s"]) == (0.375, None)


def test_devices_problems_and_repeats(shared_cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        len({each["device"] for each in summary(shared_cases / "R05_devices.csv", capsys)["results"]}) == 14
    )
    empty = summary(shared_cases / "N23_only_units.csv", capsys)
    assert [each["message"] for each in empty["problems"]] == ["No kernels in this file."]
    durations_ns = read_csv(shared_cases / "N16_repeat.csv").launches.duration_ns
    assert (durations_ns.min(), durations_ns.mean(), durations_ns.max()) == (50_000, 50_495, 50_990)
    assert MISSING not in durations_ns


def test_tensor_work_has_a_roofline_of_its_own(
    shared_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R01, N17; and R02, whose tensor work nobody counted: it is no FP32 kernel of 0.0026 TFLOP/s."""
    (gemm,) = summary(shared_cases / "R01_tensor_only.csv", capsys)["results"]
    tensor = gemm["rooflines"]["bf16_tensor"]
    assert (tensor["flop_per_s"], tensor["intensity"]) == (pytest.approx(687.19476736e12), 1024)
    assert tensor["peak_bytes_per_s"] == pytest.approx(3.35232e12)
    (span,) = summary(shared_cases / "N17_range.csv", capsys)["results"]
    assert span["rooflines"]["bf16_tensor"]["intensity"] == pytest.approx(341.333, rel=1e-5)
    (unknown,) = summary(shared_cases / "R02_no_tensor_metric.csv", capsys)["results"]
    assert list(unknown["rooflines"]) == ["fp32"]
    fp32 = unknown["rooflines"]["fp32"]
    assert (fp32["flop_per_s"], fp32["intensity"]) == (None, None)
    assert fp32["peak_flop_per_s"] == pytest.approx(19.49184e12)


def test_the_text_says_what_was_achieved_and_of_which_type(
    shared_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = {
        "R01_tensor_only.csv": "687.2 TFLOP/s  BF16 tensor",
        "R02_no_tensor_metric.csv": "671.1 GB/s       n/a",
        "R10_zero_time.csv": "n/a       n/a  FP32",
    }
    for name, end in ends.items():
        assert main(["summary", str(shared_cases / name)]) == 0
        assert capsys.readouterr().out.splitlines()[-1].rstrip().endswith(end)
