"""Measuring ceilings: for real on this machine's CPU, and what goes wrong with interpreters and devices."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.errors import DashboardError
from core.launch.ceiling_measurement import measure_ceilings
from core.roofline.ceilings import CeilingOrigin, work_ceiling
from core.roofline.measurement import ceilings_measured, is_plausible, measurement_of
from core.roofline.points import WorkType

COPY = '{"kind": "rate", "type": "copy", "size": 8, "repeats": 5, "best_per_s": 2e9, "median_per_s": 1e9}'
DEVICE = '{"kind": "device", "title": "Made GPU", "torch": "2.9", "capability": [9, 0]}'
END = '{"kind": "end"}'


def interpreter(folder: Path, script: str) -> str:
    """Writes a program that stands in for an interpreter."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_the_processor_of_this_machine_is_measured_and_kept() -> None:
    told: list[tuple[float, float | None, str]] = []
    found = measure_ceilings(sys.executable, "cpu", budget_s=1.0, progress=lambda *state: told.append(state))
    assert {rate.type for rate in found.rates} >= {"copy", "fp32", "fp64"}
    assert all(is_plausible(rate) and rate.repeats >= 5 for rate in found.rates)
    assert {("tf32", "this device has no TF32"), ("fp8", "this device has no FP8")} <= set(found.refused)
    assert measurement_of(found.device) == found
    ceilings = ceilings_measured(found.device)
    assert ceilings is not None
    assert work_ceiling(ceilings, WorkType.FP32, CeilingOrigin.MEASURED) is not None
    assert told[0][2] == "Importing PyTorch"
    assert "Multiplying matrices in FP32" in {words for _, _, words in told}


def test_answers_are_found_among_what_libraries_print(tmp_path: Path) -> None:
    noise = "printf 'half a line'; echo; echo '{broken'; echo 'a warning' >&2"
    script = f"echo 'loading'; {noise}; echo '{DEVICE}'; {noise}; echo '{COPY}'; echo '{END}'"
    found = measure_ceilings(interpreter(tmp_path, script), "cuda:0")
    assert (found.device, found.kind, found.capability) == ("Made GPU", "cuda", (9, 0))
    ceilings = ceilings_measured("Made GPU")
    assert ceilings is not None
    assert [each.bytes_per_s for each in ceilings.traffic] == [2e9]


def test_a_rate_beyond_any_device_is_refused(tmp_path: Path) -> None:
    odd = COPY.replace("2e9", "1e30").replace('"copy"', '"fp32"')
    script = f"echo '{DEVICE}'; echo '{COPY}'; echo '{odd}'; echo '{END}'"
    found = measure_ceilings(interpreter(tmp_path, script), "cuda:0")
    assert [rate.type for rate in found.rates] == ["copy"]
    assert found.refused == (("fp32", "the rate is beyond any device"),)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            """echo '{"kind": "raised", "type": "ModuleNotFoundError", "message": "torch"}'; exit 1""",
            "PyTorch is not installed",
        ),
        (
            """echo '{"kind": "raised", "type": "RuntimeError", "message": "No CUDA GPUs"}'; exit 1""",
            "cuda:0 cannot be measured: RuntimeError: No CUDA GPUs",
        ),
        (
            f"""echo '{DEVICE}'; echo '{{"kind": "refused", "type": "copy", "why": "out of memory"}}'""",
            "Nothing could be measured on cuda:0: out of memory",
        ),
        ("exit 3", "it ended while starting, with exit code 3"),
        ("kill -9 $$", "it ended while starting, by SIGKILL"),
        ("""echo '{"kind": "device"}'""", '"device" line is not complete'),
        (
            f"""echo '{DEVICE}'; echo '{{"kind": "rate", "type": "fp32"}}'; echo '{END}'""",
            '"rate" line is not complete',
        ),
        (
            f"""echo '{DEVICE}'; echo '{{"kind": "begin", "what": "fp32", "number": "x"}}'; echo '{COPY}'""",
            '"begin" line is not complete',
        ),
    ],
)
def test_what_cannot_be_measured_says_why(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(DashboardError, match=words):
        measure_ceilings(interpreter(tmp_path, script), "cuda:0")
    assert measurement_of("Made GPU") is None


def test_a_device_that_is_absent_is_said_so() -> None:
    with pytest.raises(DashboardError, match="cannot be measured"):
        measure_ceilings(sys.executable, "cuda:63", budget_s=0.1)


def test_a_data_type_at_which_pytorch_crashes_is_left_out_and_said_so(tmp_path: Path) -> None:
    """The real script on this machine's CPU, with a PyTorch that aborts at BF16 and is killed at nothing."""
    aborting = "import os, torch; real = torch.mm\n"
    aborting += "def mm(first, *rest, **named):\n"
    aborting += "    if first.dtype in (torch.bfloat16, torch.float64): os.abort()\n"
    aborting += "    return real(first, *rest, **named)\n"
    aborting += "torch.mm = mm\n"
    (tmp_path / "start.py").write_text(
        f"{aborting}import runpy, sys\nsys.argv = sys.argv[1:]\nsys.path.insert(0, '')\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    program = interpreter(tmp_path, f'exec "{sys.executable}" "{tmp_path}/start.py" "$@"')
    found = measure_ceilings(program, "cpu", budget_s=1.0)
    assert {("bf16", "PyTorch ended by SIGABRT there"), ("fp64", "PyTorch ended by SIGABRT there")} <= set(
        found.refused
    )
    assert {rate.type for rate in found.rates} >= {"copy", "fp32"}
    assert not {"bf16", "fp64"} & {rate.type for rate in found.rates}


def test_a_measurement_can_be_cancelled(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="cancelled"):
        measure_ceilings(interpreter(tmp_path, "sleep 60 & sleep 60"), "cpu", cancelled=lambda: True)


def test_an_interpreter_that_is_none_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="cannot be started"):
        measure_ceilings(str(tmp_path / "none"), "cpu")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("kill -9 $$", "ended by SIGKILL while multiplying matrices in FP32"),
        ("exit 3", "ended with exit code 3 while multiplying matrices in FP32"),
        ("exit 0", "ended while multiplying matrices in FP32"),
        (f"echo '{END}'; exit 1", "ended with exit code 1 after its last figure"),
    ],
)
def test_a_part_of_a_measurement_names_what_is_missing_and_replaces_nothing(
    tmp_path: Path, how: str, words: str
) -> None:
    begin = '{"kind": "begin", "what": "fp32", "number": 1, "whole": 3}'
    refused = '{"kind": "refused", "type": "fp8", "why": "this device has no FP8"}'
    start = f"echo '{DEVICE}'; echo '{refused}'; echo '{COPY}'; echo '{begin}'"
    rate = COPY.replace('"copy"', '"fp32"')
    whole = measure_ceilings(interpreter(tmp_path, f"{start}; echo '{rate}'; echo '{END}'"), "cuda:0")
    with pytest.raises(DashboardError, match=words) as caught:
        measure_ceilings(interpreter(tmp_path, f"{start}; {how}"), "cuda:0")
    assert "(measured: copy; missing: FP32, TF32, FP16, BF16, FP64)" in caught.value.message
    assert measurement_of("Made GPU") == whole


@pytest.mark.parametrize("path", ["", "  "])
def test_no_interpreter_is_said_so(path: str) -> None:
    with pytest.raises(DashboardError, match="No interpreter is named"):
        measure_ceilings(path, "cpu")
