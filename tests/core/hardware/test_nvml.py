"""NVML readings against a faked driver: each fault of the M cases, from our fake and the handed one."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.hardware.nvml import GpusUnavailableError, NvmlReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from core.hardware.readings import GpuReading

GIB = 2**30
OUR_FAKE = Path(__file__).parents[2] / "helpers" / "fake_nvml" / "pynvml.py"
HANDED_FAKE = "M_fake_pynvml__pynvml.py"


def load_fake(path: Path) -> ModuleType:
    """A fresh copy of a fake, so that its faults start anew."""
    spec = importlib.util.spec_from_file_location("fake_pynvml", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


@pytest.fixture(params=["ours", "handed"])
def open_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NvmlReader]:
    """Opens a reader on a fake driver with the fault named."""
    path = OUR_FAKE
    if request.param == "handed":
        path = request.getfixturevalue("shared_cases") / HANDED_FAKE

    def open_with(fault: str, gpus: int = 4) -> NvmlReader:
        monkeypatch.setenv("FAKE_NVML", fault)
        monkeypatch.setenv("FAKE_NVML_GPUS", str(gpus))
        return NvmlReader.open(load_fake(path))

    return open_with


def first(readings: list[GpuReading]) -> GpuReading:
    return readings[0]


def test_memory_of_device_process_and_driver_are_apart(open_reader: Callable[..., NvmlReader]) -> None:
    """Case M01: 10 GiB of the device, 6 of the process, 308 MiB that the driver holds."""
    gpu = first(open_reader("ok").read())
    assert gpu.used_bytes == 10 * GIB
    assert gpu.driver_reserved_bytes == 308 * 2**20
    assert gpu.total_bytes == 80 * GIB
    assert gpu.processes is not None
    assert [(p.pid, p.used_bytes) for p in gpu.processes] == [(os.getpid(), 6 * GIB)]


def test_unsupported_fan_is_not_available_and_the_rest_is_there(
    open_reader: Callable[..., NvmlReader],
) -> None:
    """Case M19: the fan raises."""
    reader = open_reader("ok")
    for gpu in (first(reader.read()), first(reader.read())):
        assert gpu.fan_pct is None
        assert (gpu.utilization_pct, gpu.memory_utilization_pct) == (50.0, 20.0)
        assert (gpu.power_w, gpu.power_limit_w) == (300.0, 700.0)
        assert gpu.temperature_c == 40.0
        assert (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz, gpu.memory_clock_mhz) == (1755, 1980, 2619)
        assert gpu.throttle_reasons is not None
        assert "SW Power Cap" in gpu.throttle_reasons
        assert gpu.nvlink_rx_bytes_per_s is None
    assert reader.take_notes() == []


@pytest.mark.parametrize(
    ("fault", "words", "remedy"),
    [
        ("nolib", "No NVIDIA driver library", "install the driver"),
        ("nodriver", "not loaded", "modprobe"),
        ("mismatch", "RM has detected an NVML/RM version mismatch.", "Reboot or reload the driver"),
    ],
)
def test_unusable_driver_says_why_and_what_to_do(
    open_reader: Callable[..., NvmlReader], fault: str, words: str, remedy: str
) -> None:
    """Cases M04 and M05."""
    with pytest.raises(GpusUnavailableError) as caught:
        open_reader(fault)
    assert words.rstrip(".") in caught.value.message
    assert remedy in caught.value.hint
    assert "\n" not in caught.value.message


def test_slices_are_listed_and_utilization_is_not_available(open_reader: Callable[..., NvmlReader]) -> None:
    """Case M07: 2 slices a GPU of 40 GiB with 2 and 3 GiB used."""
    reader = open_reader("mig", gpus=1)
    parent, *slices = reader.read()
    assert parent.mig_enabled
    assert parent.utilization_pct is None
    assert [gpu.slice_index for gpu in slices] == [0, 1]
    assert [gpu.total_bytes for gpu in slices] == [40 * GIB, 40 * GIB]
    assert [gpu.used_bytes for gpu in slices] == [2 * GIB, 3 * GIB]
    assert [gpu.utilization_pct for gpu in slices] == [None, None]
    assert [gpu.power_w for gpu in slices] == [None, None], "a slice has no power figure of its own"
    infos = reader.list_gpus()
    assert [info.computes for info in infos] == [False, True, True]
    assert {info.parent_uuid for info in infos[1:]} == {infos[0].uuid}
    assert [info.instance for info in infos[1:]] == [(1, 0), (2, 0)]


def test_process_without_memory_figure_keeps_none(open_reader: Callable[..., NvmlReader]) -> None:
    """Case M10."""
    gpu = first(open_reader("nonemem").read())
    assert gpu.processes is not None
    assert [(p.pid, p.used_bytes) for p in gpu.processes] == [(os.getpid(), None)]


def test_impossible_processes_are_dropped_and_noted_once(open_reader: Callable[..., NvmlReader]) -> None:
    """Case M11: process id and memory come swapped."""
    reader = open_reader("swapped")
    for _ in range(3):
        assert [gpu.processes for gpu in reader.read()] == [[], [], [], []]
    notes = reader.take_notes()
    assert len(notes) == 1
    assert "cannot exist" in notes[0]
    reader.read()
    assert reader.take_notes() == []


def test_lost_gpu_is_a_gap_and_the_others_go_on(open_reader: Callable[..., NvmlReader]) -> None:
    """Case M20: GPU 1 falls off after about 20 readings."""
    reader = open_reader("lost")
    looks = [reader.read() for _ in range(25)]
    lost = [reading[1].lost for reading in looks]
    assert lost[0] is False
    assert lost[-1] is True
    assert lost == sorted(lost), "once lost, it stays lost"
    last = looks[-1]
    assert last[1].used_bytes is None
    assert last[1].total_bytes is None
    assert [gpu.used_bytes for gpu in last if not gpu.lost] == [10 * GIB, 12 * GIB, 13 * GIB]
    notes = reader.take_notes()
    assert notes == ["GPU 1 stopped answering: GPU is lost."]


def test_unified_memory_has_no_figures_but_is_listed(open_reader: Callable[..., NvmlReader]) -> None:
    reader = open_reader("notsupported", gpus=1)
    gpu = first(reader.read())
    assert (gpu.total_bytes, gpu.used_bytes, gpu.utilization_pct, gpu.power_w) == (None, None, None, None)
    assert gpu.temperature_c == 40.0
    assert gpu.name == "NVIDIA GB10"
    assert reader.take_notes() == ["GPU 0 does not report its memory."]


def test_old_driver_lists_no_processes_and_that_is_not_none_of_them(
    open_reader: Callable[..., NvmlReader],
) -> None:
    reader = open_reader("oldfunc")
    assert first(reader.read()).processes is None
    assert reader.take_notes() == ["This driver does not list the processes on a GPU."]


def test_idle_gpu_has_zero_used_and_no_processes(open_reader: Callable[..., NvmlReader]) -> None:
    gpu = first(open_reader("reserved").read())
    assert gpu.used_bytes == 0
    assert gpu.driver_reserved_bytes == 308 * 2**20
    assert gpu.processes == []


def test_foreign_process_is_listed_apart(open_reader: Callable[..., NvmlReader]) -> None:
    gpu = first(open_reader("otherproc").read())
    assert gpu.processes is not None
    assert {p.pid: p.used_bytes for p in gpu.processes} == {os.getpid(): 6 * GIB, 1: 4 * GIB}


def test_process_ids_of_the_host_are_noted_at_the_second_look(open_reader: Callable[..., NvmlReader]) -> None:
    reader = open_reader("containerpid")
    gpu = first(reader.read())
    assert gpu.processes is not None
    assert [p.pid for p in gpu.processes] == [4_194_000]
    assert reader.take_notes() == []
    reader.read()
    notes = reader.take_notes()
    assert len(notes) == 1
    assert "container" in notes[0]


def test_versions_of_the_driver(open_reader: Callable[..., NvmlReader]) -> None:
    reader = open_reader("ok")
    assert reader.driver_version in ("575.57.08", "580.00.00")
    assert reader.cuda_version in ("12.9", "13.0")


def test_nvlink_rate_is_the_sum_over_working_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of four links answer; a call moves each by 1 MiB out and 2 MiB in."""
    monkeypatch.setenv("FAKE_NVML", "nvlink")
    monkeypatch.setenv("FAKE_NVML_GPUS", "1")
    reader = NvmlReader.open(load_fake(OUR_FAKE))
    assert first(reader.read()).nvlink_tx_bytes_per_s is None, "one look gives no rate"
    gpu = first(reader.read())
    assert gpu.nvlink_tx_bytes_per_s is not None
    assert gpu.nvlink_tx_bytes_per_s > 0
    assert gpu.nvlink_rx_bytes_per_s == pytest.approx(2 * gpu.nvlink_tx_bytes_per_s)


def test_unknown_clock_reason_is_shown_as_a_number() -> None:
    from core.hardware.readings import clock_reason_words

    assert clock_reason_words(0) == []
    assert clock_reason_words(0x4 | 0x8000) == ["SW Power Cap", "bits 0x8000"]


def test_missing_bindings_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(GpusUnavailableError, match="nvidia-ml-py"):
        NvmlReader.open()


def test_every_call_exists_in_the_real_bindings() -> None:
    """A fake proves nothing about names; the real module does."""
    import inspect

    import pynvml

    from core.hardware import gpu_processes, nvlink, nvml

    ours = load_fake(OUR_FAKE)
    for name in [name for name in vars(ours) if name.startswith("nvml")]:
        fake = inspect.signature(getattr(ours, name)).parameters
        assert len(fake) == len(inspect.signature(getattr(pynvml, name)).parameters), name
    for call in [call for _, call, _, _ in nvml.FIGURES] + list(nvml.REASON_CALLS):
        assert hasattr(pynvml, call)
    for calls in gpu_processes.CALLS.values():
        assert all(hasattr(pynvml, call) for call in calls)
    assert pynvml.nvmlMemory_v2 == nvml.MEMORY_V2
    assert (pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_MEM) == (nvml.CLOCK_SM, nvml.CLOCK_MEMORY)
    assert pynvml.NVML_ERROR_GPU_IS_LOST == nvml.GPU_IS_LOST
    assert pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH == nvml.VERSION_MISMATCH
    assert pynvml.NVML_ERROR_RESET_REQUIRED == nvml.RESET_REQUIRED
    assert pynvml.NVML_FI_DEV_NVLINK_LINK_COUNT == nvlink.LINK_COUNT
    assert pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX == nvlink.DATA_TX
    assert pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX == nvlink.DATA_RX


def test_clock_reasons_have_the_bits_of_the_real_bindings() -> None:
    import pynvml

    from core.hardware.readings import CLOCK_REASONS

    names = {word.replace(" ", "").upper(): bit for bit, word in CLOCK_REASONS}
    for constant in ("SwPowerCap", "HwSlowdown", "SyncBoost", "SwThermalSlowdown", "HwThermalSlowdown"):
        assert names[constant.upper()] == getattr(pynvml, f"nvmlClocksEventReason{constant}")
    assert names["HWPOWERBRAKESLOWDOWN"] == pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown
    assert names["IDLE"] == pynvml.nvmlClocksEventReasonGpuIdle
    assert names["BOARDLIMIT"] == pynvml.nvmlClocksThrottleReasonBoardLimit
    assert names["RELIABILITY"] == pynvml.nvmlClocksThrottleReasonReliability


def test_bindings_are_the_maintained_package_and_import_without_a_warning() -> None:
    """Case M13: the deprecated package of the name pynvml is no dependency of ours."""
    import subprocess
    from importlib import metadata

    needed = {line.split(";")[0].split(">")[0].split("=")[0].strip() for line in _dependencies()}
    assert "nvidia-ml-py" in needed
    assert "pynvml" not in needed
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("pynvml")
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import pynvml"], capture_output=True, text=True, check=False
    )
    assert (child.returncode, child.stderr) == (0, "")


def _dependencies() -> list[str]:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    dependencies: list[str] = project["dependencies"]
    return dependencies
