"""The probe child: what the driver says, and what happens when it hangs or crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.hardware.probe import DRIVER_NOTE, DeviceProblem, Devices, detect_devices
from core.hardware.readings import GpuInfo

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


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (Devices(gpus=(GpuInfo(index=0, uuid="GPU-0", name="H100"),)), 1),
        (
            Devices(
                gpus=(GpuInfo(index=0, uuid="GPU-0", name="H100"),),
                problems=(DeviceProblem(code=DRIVER_NOTE, message="odd"),),
            ),
            1,
        ),
        (Devices(), 0),
        (Devices(problems=(DeviceProblem(code="driver_hangs", message="no answer"),)), None),
    ],
)
def test_a_driver_that_could_not_be_asked_is_not_a_machine_without_gpus(
    answer: Devices, known: int | None
) -> None:
    """A launch that names GPU 0 is refused where there is none, and tried where nobody could look."""
    assert (None if answer.known_gpus is None else len(answer.known_gpus)) == known


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


LOUD = """
import atexit, ctypes, os, sys
print("loading the library")
os.write(1, b"straight to the descriptor, without a newline")
ctypes.CDLL(None).puts(b"from C")
atexit.register(print, "good bye")
sys.path.insert(0, {fake!r})
del sys.modules["pynvml"]
import pynvml
"""


def test_library_that_prints_does_not_spoil_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into Python's stdout, into descriptor 1, through C, and once more when the child ends."""
    (tmp_path / "pynvml.py").write_text(LOUD.format(fake=str(OUR_FAKE)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("FAKE_NVML", "ok")
    devices = detect_devices()
    assert devices.problems == ()
    assert [gpu.index for gpu in devices.gpus] == [0, 1, 2, 3]


def test_what_was_printed_before_the_child_began_does_not_spoil_it_either(
    tmp_path: Path, fake: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.write(1, b'Welcome to this cluster')\n")
    fake.setenv("PYTHONPATH", f"{tmp_path}:{OUR_FAKE}")
    fake.setenv("FAKE_NVML", "ok")
    assert len(detect_devices().gpus) == 4


@pytest.mark.parametrize("said", ["", "done", '{"gpus": 3}', "[]"])
def test_answer_that_cannot_be_read_is_a_problem(tmp_path: Path, fake: pytest.MonkeyPatch, said: str) -> None:
    """The child ends with exit code 0 before it comes to its answer."""
    (tmp_path / "sitecustomize.py").write_text(f"import os\nos.write(1, {said.encode()!r})\nos._exit(0)\n")
    fake.setenv("PYTHONPATH", str(tmp_path))
    devices = detect_devices()
    assert devices.gpus == ()
    (problem,) = devices.problems
    assert problem.code == "probe_failed"
    assert (said or "it said nothing") in problem.message
    assert problem.hint
