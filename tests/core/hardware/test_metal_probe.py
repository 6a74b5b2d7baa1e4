"""The Metal probe: where there is none, answers as the documentation describes them, a child that fails.

No Mac was at hand. The answers are written after the documentation of the calls
that ``resources/edge/metal_facts.py`` names; the script itself is run here, where
both libraries have nothing to tell.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.cli.devices import metal_lines
from core.hardware import metal_probe
from core.hardware.metal import MetalDevice
from core.hardware.metal_probe import SCRIPT, detect_metal, read_answer

GIB = 2**30
M3_MAX: dict[str, Any] = {
    "machine": "arm64",
    "macos": "15.5",
    "torch": {
        "version": "2.13.0",
        "built": True,
        "available": True,
        "name": "Apple M3 Max",
        "cores": 40,
        "recommended_max_memory": 96 * GIB,
    },
    "mlx": {
        "version": "0.32.4",
        "available": True,
        "info": {
            "device_name": "Apple M3 Max",
            "architecture": "applegpu_g15s",
            "max_buffer_length": 72 * GIB,
            "max_recommended_working_set_size": 96 * GIB,
            "memory_size": 128 * GIB,
            "resource_limit": 499_000,
        },
    },
}


def line(**changes: Any) -> bytes:
    return json.dumps(M3_MAX | changes).encode()


def test_elsewhere_it_is_said_in_plain_words_and_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case E14."""

    def start(*_arguments: object) -> bytes:
        raise AssertionError("a child was started")

    monkeypatch.setattr(metal_probe, "ask_program", start)
    for platform in ("linux", "win32"):
        found = detect_metal(platform)
        assert found.devices == ()
        assert [problem.message for problem in found.problems] == ["Metal needs macOS."]


def test_both_answers_make_one_device() -> None:
    found = read_answer(line())
    assert found.devices == (
        MetalDevice(
            index=0,
            name="Apple M3 Max",
            unified_memory=True,
            memory_bytes=128 * GIB,
            recommended_working_set_bytes=96 * GIB,
            max_buffer_bytes=72 * GIB,
            architecture="applegpu_g15s",
            sources=("torch.backends.mps", "mlx"),
        ),
    )
    assert found.problems == ()
    assert found.macos == "15.5"
    text = "\n".join(metal_lines(found))
    assert "Apple M3 Max" in text
    assert "applegpu_g15s" in text
    assert "unified" in text


def test_without_mlx_what_it_would_tell_is_not_known() -> None:
    found = read_answer(line(mlx={"missing": "No module named 'mlx'"}))
    (device,) = found.devices
    assert device.recommended_working_set_bytes == 96 * GIB
    assert (device.memory_bytes, device.max_buffer_bytes, device.architecture) == (None, None, None)
    assert [problem.code for problem in found.problems] == ["mlx_missing"]


def test_a_torch_without_mps_leaves_it_to_mlx() -> None:
    found = read_answer(line(torch={"version": "2.13.0", "built": False, "available": False}))
    (device,) = found.devices
    assert (device.name, device.sources) == ("Apple M3 Max", ("mlx",))
    assert device.recommended_working_set_bytes == 96 * GIB


def test_nobody_reaches_a_gpu() -> None:
    found = read_answer(line(torch={"built": True, "available": False}, mlx={"available": False}))
    assert found.devices == ()
    assert [problem.code for problem in found.problems] == ["no_metal_device"]


def test_a_library_that_raises_is_named() -> None:
    found = read_answer(line(mlx={"raised": "RuntimeError: [metal] no device"}))
    assert "MLX cannot be asked about Metal: RuntimeError: [metal] no device" in found.problems[0].message


def test_an_intel_mac_does_not_claim_unified_memory() -> None:
    (device,) = read_answer(line(machine="x86_64")).devices
    assert device.unified_memory is None


@pytest.mark.parametrize("answer", [b"", b"{", b"[]", b'{"machine": 1}', b"\xff"])
def test_nonsense_is_a_problem(answer: bytes) -> None:
    found = read_answer(answer)
    assert found.devices == ()
    assert [problem.code for problem in found.problems] == ["metal_probe_failed"]


def test_a_child_that_crashes_is_named_with_its_signal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "crash.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)\n")
    monkeypatch.setattr(metal_probe, "SCRIPT", script)
    found = detect_metal("darwin")
    assert "The probe of Metal failed (signal 6)." in found.problems[0].message


def test_the_script_answers_here_too() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["torch"]["available"] is False
    assert set(answer["mlx"]) & {"missing", "available", "raised"}
    assert read_answer(done.stdout.splitlines()[-1]).devices == ()
