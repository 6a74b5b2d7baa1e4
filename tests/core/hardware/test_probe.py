"""The probe child: what the driver says, and what happens when it hangs or crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.hardware.probe import detect_devices

OUR_FAKE = Path(__file__).parents[2] / "helpers" / "fake_nvml"
GIB = 2**30


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PYTHONPATH", str(OUR_FAKE))
    return monkeypatch


def test_gpus_and_versions_come_back(fake: pytest.MonkeyPatch) -> None:
    fake.setenv("FAKE_NVML", "ok")
    devices = detect_devices()
    assert [gpu.index for gpu in devices.gpus] == [0, 1, 2, 3]
    assert [reading.used_bytes for reading in devices.readings] == [g * GIB for g in (10, 11, 12, 13)]
    assert (devices.driver, devices.cuda) == ("575.57.08", "12.9")
    assert devices.problems == ()


def test_missing_driver_is_one_problem_with_a_remedy(fake: pytest.MonkeyPatch) -> None:
    """Case M04."""
    fake.setenv("FAKE_NVML", "nodriver")
    devices = detect_devices()
    assert devices.gpus == ()
    (problem,) = devices.problems
    assert problem.code == "gpus_unavailable"
    assert "not loaded" in problem.message
    assert problem.hint


def test_hanging_driver_costs_only_the_time_limit(fake: pytest.MonkeyPatch) -> None:
    fake.setenv("FAKE_NVML", "hang")
    devices = detect_devices(timeout_s=1.5)
    assert devices.gpus == ()
    assert [problem.code for problem in devices.problems] == ["driver_hangs"]


def test_crashing_driver_library_ends_the_child_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pynvml.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    devices = detect_devices()
    (problem,) = devices.problems
    assert problem.code == "probe_failed"
    assert "signal 11" in problem.message
