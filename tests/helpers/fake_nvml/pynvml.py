# ruff: noqa: N802 - the names are NVML's
"""A FAKE of NVIDIA's NVML bindings: no driver, no GPU. For tests only.

Stands for the module ``pynvml`` of nvidia-ml-py 13 where its folder comes first
on the path. Written from the NVML API reference and the bindings' signatures.
It simulates a machine with H100s, or, with ``FAKE_NVML``, one with a fault:

ok            4 GPUs; GPU g has 10 + g GiB used, 308 MiB held by the driver
nolib         the driver's library is absent            nodriver   the driver is not loaded
mismatch      library and driver differ in version      notsupported  unified memory: few figures
mig           every GPU is cut into 2 slices of 40 GiB  reserved   used memory is 0, no process
swapped       process id and memory come exchanged      nonemem    memory per process is not available
oldfunc       the calls for processes do not exist      otherproc  a second process uses the GPU too
containerpid  process ids of the host, unknown here     lost       GPU 1 falls off after 20 looks
hang          a look at the memory does not return      nvlink     4 links with growing counters

``FAKE_NVML_GPUS``: number of GPUs. ``FAKE_NVML_PIDS``: a file with the job's
process ids, one per GPU, read at every call; the calling process without it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FAULT = os.environ.get("FAKE_NVML", "ok")
GPUS = int(os.environ.get("FAKE_NVML_GPUS", "4"))
GIB = 2**30
LOOKS_BEFORE_LOSS = 20

MEANINGS = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    6: "Not Found",
    9: "Driver Not Loaded",
    12: "NVML Shared Library Not Found",
    13: "Function Not Found",
    15: "GPU is lost",
    18: "RM has detected an NVML/RM version mismatch.",
}
NOT_INITIALISED, BAD_ARGUMENT, UNSUPPORTED, ABSENT, NOT_LOADED, NO_LIBRARY, NO_FUNCTION, LOST, MISMATCH = (
    MEANINGS
)


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        return MEANINGS.get(self.value, f"NVML Error with code {self.value}")


@dataclass(eq=False)
class Handle:
    gpu: int
    slice: int | None = None
    looks: int = 0


_handles = [Handle(gpu) for gpu in range(GPUS)]
_slices = [[Handle(gpu, number) for number in range(2)] for gpu in range(GPUS)]
_state = {"connected": False, "link_reads": 0}


def _require(handle: Handle) -> None:
    if not _state["connected"]:
        raise NVMLError(NOT_INITIALISED)
    if FAULT == "lost" and handle.gpu == 1 and _handles[1].looks > LOOKS_BEFORE_LOSS:
        raise NVMLError(LOST)


def _require_not_on(fault: str) -> None:
    if fault == FAULT:
        raise NVMLError(UNSUPPORTED)


def nvmlInit() -> None:
    failures = {"nolib": NO_LIBRARY, "nodriver": NOT_LOADED, "mismatch": MISMATCH}
    if FAULT in failures:
        raise NVMLError(failures[FAULT])
    _state["connected"] = True


def nvmlShutdown() -> None:
    _state["connected"] = False


def nvmlSystemGetDriverVersion() -> str:
    return "575.57.08"


def nvmlSystemGetCudaDriverVersion_v2() -> int:
    return 12090


def nvmlDeviceGetCount() -> int:
    if not _state["connected"]:
        raise NVMLError(NOT_INITIALISED)
    return GPUS


def nvmlDeviceGetHandleByIndex(index: int) -> Handle:
    if not 0 <= index < nvmlDeviceGetCount():
        raise NVMLError(BAD_ARGUMENT)
    return _handles[index]


def nvmlDeviceGetUUID(handle: Handle) -> str:
    _require(handle)
    if handle.slice is None:
        return f"GPU-{handle.gpu:08x}-1111-2222-3333-444455556666"
    return f"MIG-{handle.gpu:04x}{handle.slice:04x}-7777-8888-9999-aaaabbbbcccc"


def nvmlDeviceGetName(handle: Handle) -> bytes:
    _require(handle)
    if FAULT == "notsupported":
        return b"NVIDIA GB10"
    return b"NVIDIA H100 80GB HBM3" if handle.slice is None else b"NVIDIA H100 80GB HBM3 MIG 3g.40gb"


def nvmlDeviceGetPciInfo_v3(handle: Handle) -> SimpleNamespace:
    _require(handle)
    return SimpleNamespace(busId=f"00000000:{0x18 + 8 * handle.gpu:02X}:00.0".encode())


def nvmlDeviceGetCudaComputeCapability(handle: Handle) -> tuple[int, int]:
    _require(handle)
    return (9, 0)


def nvmlDeviceGetMemoryInfo(handle: Handle, version: int | None = None) -> SimpleNamespace:
    _require(handle)
    handle.looks += 1
    _require(handle)
    if FAULT == "hang":
        time.sleep(600)
    _require_not_on("notsupported")
    if handle.slice is not None:
        total, reserved, used = 40 * GIB, 0, (2 + handle.slice) * GIB
    else:
        total, reserved = 80 * GIB, 308 * 2**20
        used = 0 if FAULT == "reserved" else (10 + handle.gpu) * GIB
    if version is None:
        return SimpleNamespace(total=total, used=used + reserved, free=total - used - reserved)
    return SimpleNamespace(total=total, used=used, reserved=reserved, free=total - used - reserved)


def nvmlDeviceGetUtilizationRates(handle: Handle) -> SimpleNamespace:
    _require(handle)
    _require_not_on("mig")
    _require_not_on("notsupported")
    return SimpleNamespace(gpu=50, memory=20)


def nvmlDeviceGetPowerUsage(handle: Handle) -> int:
    _require(handle)
    _require_not_on("notsupported")
    return 300_000


def nvmlDeviceGetEnforcedPowerLimit(handle: Handle) -> int:
    _require(handle)
    _require_not_on("notsupported")
    return 700_000


def nvmlDeviceGetTemperature(handle: Handle, sensor: int) -> int:
    _require(handle)
    return 40


def nvmlDeviceGetFanSpeed(handle: Handle) -> int:
    _require(handle)
    raise NVMLError(UNSUPPORTED)


def nvmlDeviceGetClockInfo(handle: Handle, clock: int) -> int:
    _require(handle)
    return {0: 1755, 1: 1755, 2: 2619}[clock]


def nvmlDeviceGetMaxClockInfo(handle: Handle, clock: int) -> int:
    _require(handle)
    return {0: 1980, 1: 1980, 2: 2619}[clock]


def nvmlDeviceGetCurrentClocksThrottleReasons(handle: Handle) -> int:
    """The only call for it, as with drivers before R535."""
    _require(handle)
    return 0x4 | 0x40


def nvmlDeviceGetCurrentClocksEventReasons(handle: Handle) -> int:
    _require(handle)
    raise NVMLError(NO_FUNCTION)


def nvmlDeviceGetMigMode(handle: Handle) -> list[int]:
    _require(handle)
    if FAULT != "mig":
        raise NVMLError(UNSUPPORTED)
    return [1, 1]


def nvmlDeviceGetMaxMigDeviceCount(handle: Handle) -> int:
    _require(handle)
    return 7


def nvmlDeviceGetMigDeviceHandleByIndex(handle: Handle, index: int) -> Handle:
    _require(handle)
    if index >= len(_slices[handle.gpu]):
        raise NVMLError(ABSENT)
    return _slices[handle.gpu][index]


def nvmlDeviceGetGpuInstanceId(handle: Handle) -> int:
    _require(handle)
    if handle.slice is None:
        raise NVMLError(UNSUPPORTED)
    return 1 + handle.slice


def nvmlDeviceGetComputeInstanceId(handle: Handle) -> int:
    nvmlDeviceGetGpuInstanceId(handle)
    return 0


def nvmlDeviceGetFieldValues(handle: Handle, fields: list[Any]) -> list[SimpleNamespace]:
    """Links count up by 1 MiB (sent) and 2 MiB (received) a call."""
    _require(handle)
    if FAULT != "nvlink":
        raise NVMLError(UNSUPPORTED)
    _state["link_reads"] += 1
    answers = []
    for field in fields:
        number, link = field if isinstance(field, tuple) else (field, None)
        kib = {91: 4, 138: 1024 * _state["link_reads"], 139: 2048 * _state["link_reads"]}[number]
        value = SimpleNamespace(uiVal=kib, ullVal=kib)
        answers.append(
            SimpleNamespace(fieldId=number, nvmlReturn=UNSUPPORTED if link == 3 else 0, value=value)
        )
    return answers


def _job_pid(gpu: int) -> int:
    listed = os.environ.get("FAKE_NVML_PIDS")
    if listed is None:
        return os.getpid()
    try:
        pids = Path(listed).read_text().split()
    except OSError:
        return os.getpid()
    return int(pids[gpu]) if gpu < len(pids) else os.getpid()


def _process(pid: int, used: int | None) -> SimpleNamespace:
    return SimpleNamespace(
        pid=pid, usedGpuMemory=used, gpuInstanceId=0xFFFFFFFF, computeInstanceId=0xFFFFFFFF
    )


def nvmlDeviceGetComputeRunningProcesses_v3(handle: Handle) -> list[SimpleNamespace]:
    _require(handle)
    job = _job_pid(handle.gpu)
    if FAULT == "oldfunc":
        raise NVMLError(NO_FUNCTION)
    answers: dict[str, list[SimpleNamespace]] = {
        "reserved": [],
        "swapped": [_process(11 * GIB % 2**32, job)],
        "nonemem": [_process(job, None)],
        "containerpid": [_process(4_194_000 + handle.gpu, 9 * GIB)],
        "otherproc": [_process(job, 6 * GIB), _process(1, 4 * GIB)],
    }
    return answers.get(FAULT, [_process(job, (6 if handle.slice is None else 1) * GIB)])


def nvmlDeviceGetComputeRunningProcesses_v2(handle: Handle) -> list[SimpleNamespace]:
    return nvmlDeviceGetComputeRunningProcesses_v3(handle)


def nvmlDeviceGetGraphicsRunningProcesses_v3(handle: Handle) -> list[SimpleNamespace]:
    """A process that computes and draws is in both lists."""
    _require(handle)
    return nvmlDeviceGetComputeRunningProcesses_v3(handle)[:1]
