"""``edge`` as a user types it: a real driver, a real compiler, a real answer.

lavapipe is a Vulkan driver that computes on the CPU. What was exported and
compiled once is found again by every test of this file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from core.files import MAIN
from tests.helpers.broken_drivers import needs_machine_code, write_driver

if TYPE_CHECKING:
    from pathlib import Path

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
SMALL = ("--preset", "tiny", "--tokens", "16")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache folder of this file's tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def only_lavapipe(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """The loader finds this driver, whatever else is installed."""
    if not os.path.exists(LAVAPIPE):
        pytest.skip("lavapipe is not installed here")
    monkeypatch.setenv("VK_DRIVER_FILES", LAVAPIPE)
    monkeypatch.setenv("VK_ICD_FILENAMES", LAVAPIPE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(MAIN), *words], capture_output=True, text=True, check=False, timeout=200
    )


def edge(*words: str, code: int = 0) -> dict[str, Any]:
    done = run("edge", *words, "--json")
    assert done.returncode == code, done.stderr + done.stdout
    assert done.stderr == ""
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_lavapipe_is_listed_as_software() -> None:
    found = json.loads(run("devices", "--json").stdout)
    (device,) = found["vulkan"]
    assert device["name"].startswith("llvmpipe")
    assert device["software"] is True
    assert device["kind"] == "CPU"
    assert "vulkan_software_only" in {problem["code"] for problem in found["problems"]}


def test_the_tiny_model_runs_on_lavapipe_and_agrees() -> None:
    result = edge(*SMALL)
    assert (result["backend"], result["device_key"], result["software"]) == ("iree", "vulkan:0", True)
    assert result["state"] == "agrees"
    assert result["agrees"] is True
    assert result["max_abs_error"] < 1e-4
    assert result["nan_count"] == 0
    assert result["argmax_agreement"] == 1.0
    for stage in ("export_s", "compile_s", "load_s", "first_call_s", "warm_call_s"):
        assert result[stage] > 0, stage
    assert result["prefill_tokens_per_s"] == pytest.approx(16 / result["warm_call_s"])
    # Each dispatch by the device's own clock; together they fit into what was measured around them.
    assert len(result["dispatches"]) > 20
    assert all(each["duration_ns"] > 0 for each in result["dispatches"])
    assert any("matmul" in each["name"] for each in result["dispatches"])
    assert {each["what"] for each in result["ceilings"]} == {"gemm", "copy"}
    assert result["copied_bytes"] is not None or result["mapped_bytes"] is not None
    # The second time nothing is exported or compiled.
    again = edge(*SMALL)
    assert "compile" in again["cached"]
    assert again["max_abs_error"] == result["max_abs_error"]


def test_the_reference_target_on_the_cpu_agrees_too() -> None:
    result = edge(*SMALL, "--device", "cpu")
    assert (result["state"], result["software"]) == ("agrees", False)
    assert result["max_abs_error"] < 1e-4


def test_pytorch_itself_is_a_backend() -> None:
    result = edge(*SMALL, "--backend", "cpu")
    assert (result["state"], result["device_key"]) == ("agrees", "cpu")
    assert result["max_abs_error"] == 0.0


def test_webgpu_on_this_driver_is_called_what_it_is() -> None:
    """It refuses llvmpipe 22 and goes on with the CPU without an error; a newer Mesa really runs it."""
    pytest.importorskip("onnxruntime")
    done = run("edge", *SMALL, "--backend", "ort-webgpu", "--json")
    result = json.loads(done.stdout)
    here = sum(each["nodes"] for each in result["providers"] if each["provider"] == result["asked_provider"])
    assert result["asked_provider"] == "WebGpuExecutionProvider"
    assert sum(each["nodes"] for each in result["providers"]) > 0
    if here:
        assert (done.returncode, result["state"]) == (0, "agrees")
    else:
        assert (done.returncode, result["state"]) == (3, "ran_elsewhere")
        assert result["prefill_tokens_per_s"] is None
        assert any("none ran on WebGpuExecutionProvider" in each["message"] for each in result["problems"])


def test_without_a_driver_the_cpu_is_used_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Case E02."""
    monkeypatch.setenv("VK_DRIVER_FILES", "/nonexistent")
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nonexistent")
    result = edge(*SMALL)
    assert (result["device_key"], result["state"]) == ("cpu", "agrees")
    assert any("No Vulkan driver" in each["message"] for each in result["problems"])


@needs_machine_code()
@pytest.mark.parametrize("behaviour", ["aborts", "crashes"])
def test_a_broken_driver_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, behaviour: str
) -> None:
    """Cases E03 and E13: it is named with its signal, and the good one beside it runs the model."""
    broken = write_driver(tmp_path, behaviour)
    monkeypatch.setenv("VK_DRIVER_FILES", f"{broken}:{LAVAPIPE}")
    monkeypatch.setenv("VK_ICD_FILENAMES", f"{broken}:{LAVAPIPE}")
    result = edge(*SMALL)
    assert result["device"].startswith("llvmpipe")
    assert result["state"] == "agrees"
    signal_number = {"aborts": 6, "crashes": 11}[behaviour]
    assert any(
        str(broken) in each["message"] and f"signal {signal_number}" in each["message"]
        for each in result["problems"]
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--backend", "mlx"), "macOS"),
        (("--backend", "nosuch"), "There is no backend nosuch."),
        (("--device", "RTX 9090"), "There is no device RTX 9090."),
        (("--model", "nosuch.py:build"), "nosuch.py"),
        (("--preset", "huge"), "invalid choice"),
    ],
)
def test_what_cannot_be_is_refused_in_two_lines(words: tuple[str, ...], error: str) -> None:
    done = run("edge", *words)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "hint"]
    assert error in lines[0]
