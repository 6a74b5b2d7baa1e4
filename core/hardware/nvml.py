"""Reads GPUs through NVML: what there is, and what each does at this moment.

``pynvml`` (from the nvidia-ml-py package) is imported only when a reader is
opened. A field that a GPU does not support is None and reading goes on; a GPU
that is lost is marked and the others go on; whatever is odd in the driver's
answers becomes a note, once a kind. A driver call can hang: open a reader in a
child process only (``core.telemetry.gpu_sampler``, ``core.hardware.probe``).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

from core.errors import DashboardError
from core.hardware.gpu_processes import list_processes
from core.hardware.nvlink import NvlinkMeter
from core.hardware.readings import GpuInfo, GpuReading, clock_reason_words

if TYPE_CHECKING:
    from types import ModuleType

    from core.hardware.readings import GpuProcess

# Source: nvml.h, nvmlReturn_t (nvidia-ml-py 13.615, NVML_ERROR_*).
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
VERSION_MISMATCH = 18

QUIET = frozenset({NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND})
"""Answers that say that this GPU, user or driver has no such figure: no news."""

MEMORY_V2 = 0x02000028
"""Version word of nvmlMemory_v2_t. Source: nvml.h, NVML_STRUCT_VERSION(Memory, 2) on 64 bits."""

CLOCK_SM, CLOCK_MEMORY = 1, 2
TEMPERATURE_GPU = 0
MIG_ENABLED = 1

FIGURES: tuple[tuple[str, str, tuple[int, ...], float], ...] = (
    ("power_w", "nvmlDeviceGetPowerUsage", (), 1e-3),
    ("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", (), 1e-3),
    ("temperature_c", "nvmlDeviceGetTemperature", (TEMPERATURE_GPU,), 1.0),
    ("fan_pct", "nvmlDeviceGetFanSpeed", (), 1.0),
    ("sm_clock_mhz", "nvmlDeviceGetClockInfo", (CLOCK_SM,), 1),
    ("sm_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", (CLOCK_SM,), 1),
    ("memory_clock_mhz", "nvmlDeviceGetClockInfo", (CLOCK_MEMORY,), 1),
)
"""Plain figures of a reading: (field, NVML call, further arguments, factor into our unit).

Source: the named NVML calls (NVML API reference, Device Queries); they are what
``nvidia-smi --query-gpu=`` shows as power.draw (NVML: mW), enforced.power.limit
(mW), temperature.gpu, fan.speed (percent of the maximum), clocks.sm,
clocks.max.sm, clocks.mem (MHz).
"""

REASON_CALLS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
"""Newest first; the second is what drivers before R535 have.

Source: the named NVML calls; ``nvidia-smi --query-gpu=clocks_event_reasons.active``.
"""

REASONS_UNAVAILABLE: dict[int, tuple[str, str]] = {
    LIBRARY_NOT_FOUND: (
        "No NVIDIA driver library was found on this machine",
        "For NVIDIA GPUs install the driver; everything else works without it.",
    ),
    DRIVER_NOT_LOADED: (
        "The NVIDIA driver is installed but not loaded",
        "Load it (`sudo modprobe nvidia`) or reboot; everything else works without it.",
    ),
    VERSION_MISMATCH: (
        "The loaded NVIDIA driver and its library have different versions",
        "Reboot or reload the driver; GPU figures come back after that.",
    ),
    NO_PERMISSION: (
        "This user may not talk to the NVIDIA driver",
        "Check the permissions of /dev/nvidiactl and /dev/nvidia*.",
    ),
}
"""Error of nvmlInit -> (what it means, what to do)."""


class GpusUnavailableError(DashboardError):
    """NVML cannot be used at all; the program works on without GPU figures."""


class _GpuLostError(Exception):
    """A GPU does not answer any more."""


@dataclass(slots=True, eq=False)
class _Device:
    """A handle of the driver with what does not change about it."""

    handle: Any
    info: GpuInfo
    nvlink: NvlinkMeter


class NvmlReader:
    """An open connection to the driver. Use from one thread.

    Attributes:
        driver_version: As the driver names itself; None if it does not.
        cuda_version: Newest CUDA that the driver supports, "13.0".
    """

    def __init__(self, library: ModuleType) -> None:
        self._library = library
        self._notes: list[str] = []
        self._noted: set[str] = set()
        self._strangers: dict[str, set[int]] = {}
        self.driver_version: str | None = self._ask_system("nvmlSystemGetDriverVersion")
        self.cuda_version = self._read_cuda_version()
        self._devices = self._find_devices()

    @classmethod
    def open(cls, library: ModuleType | None = None) -> NvmlReader:
        """Connect to the driver.

        Args:
            library: A module that stands for pynvml.

        Raises:
            GpusUnavailableError: No pynvml, no driver, a driver that does not
                fit its library, or no GPU.
        """
        library = library or _import_pynvml()
        try:
            library.nvmlInit()
        except library.NVMLError as error:
            raise _explain(error) from error
        reader = cls(library)
        if not reader._devices:
            reader.close()
            raise GpusUnavailableError(
                "The NVIDIA driver lists no GPU.", "Check the output of `nvidia-smi -L` on this machine."
            )
        return reader

    def close(self) -> None:
        """Disconnect from the driver."""
        try:
            self._library.nvmlShutdown()
        except self._library.NVMLError as error:
            self._note("shutdown", f"The driver could not be disconnected: {_sentence(error)}")

    def list_gpus(self) -> list[GpuInfo]:
        """Return the GPUs in NVML's order, each followed by its MIG slices."""
        return [device.info for device in self._devices]

    def read(self) -> list[GpuReading]:
        """Ask every GPU and slice for its figures, in the order of ``list_gpus``."""
        return [self._read_device(device) for device in self._devices]

    def take_notes(self) -> list[str]:
        """Return what was odd since the last call; each kind comes once in a reader's life."""
        notes, self._notes = self._notes, []
        return notes

    # --- one device ----------------------------------------------------------

    def _read_device(self, device: _Device) -> GpuReading:
        info = device.info
        identity: dict[str, Any] = {
            "index": info.index,
            "uuid": info.uuid,
            "name": info.name,
            "slice_index": info.slice_index,
            "mig_enabled": info.mig_enabled,
        }
        try:
            figures = self._read_memory(device) | {"processes": self._read_processes(device)}
            if info.slice_index is None:
                figures |= self._read_whole_gpu(device)
        except _GpuLostError as error:
            self._note(f"lost {info.uuid}", f"{_title(info)} stopped answering: {_sentence(error)}")
            return GpuReading(**identity, lost=True)
        return GpuReading(**identity, **figures)

    def _read_memory(self, device: _Device) -> dict[str, Any]:
        """Device memory, with what the driver holds for itself apart.

        Source: nvmlDeviceGetMemoryInfo_v2 (total, reserved, used in bytes);
        ``nvidia-smi --query-gpu=memory.total,memory.reserved,memory.used``. The
        first version of the call counts the reserved part as used.
        """
        memory = self._ask(device, "nvmlDeviceGetMemoryInfo", MEMORY_V2)
        if memory is not None:
            return {
                "total_bytes": int(memory.total),
                "used_bytes": int(memory.used),
                "driver_reserved_bytes": int(memory.reserved),
            }
        memory = self._ask(device, "nvmlDeviceGetMemoryInfo")
        if memory is None:
            self._note(f"memory {device.info.uuid}", f"{_title(device.info)} does not report its memory.")
            return {"total_bytes": device.info.total_bytes}
        self._note("memory v1", "This driver counts what it holds for itself as used memory.")
        return {"total_bytes": int(memory.total), "used_bytes": int(memory.used)}

    def _read_whole_gpu(self, device: _Device) -> dict[str, Any]:
        """Figures that belong to a GPU as a whole; a slice has none of its own.

        Source: nvmlDeviceGetUtilizationRates (percent of the last sample period
        in which a kernel ran, or memory was read or written);
        ``nvidia-smi --query-gpu=utilization.gpu,utilization.memory``. For the
        rest see ``FIGURES`` and ``REASON_CALLS``.
        """
        figures: dict[str, Any] = {}
        rates = self._ask(device, "nvmlDeviceGetUtilizationRates")
        if rates is not None:
            figures["utilization_pct"] = float(rates.gpu)
            figures["memory_utilization_pct"] = float(rates.memory)
        for field, call, arguments, factor in FIGURES:
            value = self._ask(device, call, *arguments)
            figures[field] = None if value is None else value * factor
        figures["throttle_reasons"] = self._read_reasons(device)
        rates_bytes_per_s = device.nvlink.read(
            lambda fields: self._ask(device, "nvmlDeviceGetFieldValues", fields)
        )
        if rates_bytes_per_s is not None:
            figures["nvlink_tx_bytes_per_s"], figures["nvlink_rx_bytes_per_s"] = rates_bytes_per_s
        return figures

    def _read_reasons(self, device: _Device) -> list[str] | None:
        for call in REASON_CALLS:
            bits = self._ask(device, call)
            if bits is not None:
                return clock_reason_words(int(bits))
        return None

    def _read_processes(self, device: _Device) -> list[GpuProcess] | None:
        info = device.info
        found = list_processes(lambda call: self._ask(device, call), info.total_bytes)
        if found is None:
            self._note("processes", "This driver does not list the processes on a GPU.")
            return None
        if found.impossible:
            self._note(
                "impossible processes",
                f"{_title(info)} listed processes that cannot exist ({found.impossible}); they are left out. "
                "Driver and nvidia-ml-py may not fit each other.",
            )
        self._check_strangers(info, {process.pid for process in found.processes})
        return found.processes

    def _check_strangers(self, info: GpuInfo, pids: set[int]) -> None:
        """Note pids that do not exist here; seen twice, as a process may end between two looks."""
        strangers = {pid for pid in pids if not psutil.pid_exists(pid)}
        before = self._strangers.get(info.uuid, set())
        self._strangers[info.uuid] = strangers
        if strangers & before:
            self._note(
                "strangers",
                f"{_title(info)} lists process ids that do not exist here ({min(strangers & before)}): "
                "inside a container they are the host's, so memory per process cannot be told apart.",
            )

    # --- asking the driver ---------------------------------------------------

    def _ask(self, device: _Device, call: str, *arguments: object) -> Any:
        """Call the driver about a device; None where it has no answer.

        Raises:
            _GpuLostError: The GPU is gone.
        """
        return self._ask_handle(device.handle, _title(device.info), call, *arguments)

    def _ask_handle(self, handle: object, title: str, call: str, *arguments: object) -> Any:
        function = getattr(self._library, call, None)
        if function is None:
            return None
        try:
            return function(handle, *arguments)
        except self._library.NVMLError as error:
            if error.value in (GPU_IS_LOST, RESET_REQUIRED):
                raise _GpuLostError(str(error)) from error
            if error.value not in QUIET:
                self._note(f"{call} {error.value}", f"{title}: {call} answered: {_sentence(error)}")
        return None

    def _ask_system(self, call: str) -> Any:
        try:
            return getattr(self._library, call)()
        except self._library.NVMLError as error:
            self._note(call, f"{call} answered: {_sentence(error)}")
        return None

    def _read_cuda_version(self) -> str | None:
        """Source: nvmlSystemGetCudaDriverVersion_v2, 1000 x major + 10 x minor."""
        number = self._ask_system("nvmlSystemGetCudaDriverVersion_v2")
        return None if number is None else f"{number // 1000}.{number % 1000 // 10}"

    def _note(self, key: str, text: str) -> None:
        if key not in self._noted:
            self._noted.add(key)
            self._notes.append(text)

    # --- finding the devices -------------------------------------------------

    def _find_devices(self) -> list[_Device]:
        devices = []
        for index in range(self._ask_system("nvmlDeviceGetCount") or 0):
            try:
                handle = self._library.nvmlDeviceGetHandleByIndex(index)
                gpu = self._describe(handle, index)
            except self._library.NVMLError as error:
                self._note(f"handle {index}", f"GPU {index} cannot be used: {_sentence(error)}")
            except _GpuLostError as error:
                self._note(f"handle {index}", f"GPU {index} does not answer: {_sentence(error)}")
            else:
                devices += [gpu, *self._find_slices(gpu)]
        return devices

    def _describe(self, handle: object, index: int) -> _Device:
        """Ask what does not change about a GPU.

        Source: nvmlDeviceGetUUID, nvmlDeviceGetName, nvmlDeviceGetPciInfo_v3,
        nvmlDeviceGetCudaComputeCapability, nvmlDeviceGetMigMode ([current,
        pending]); ``nvidia-smi --query-gpu=uuid,name,pci.bus_id,compute_cap,mig.mode.current``.
        """
        title = f"GPU {index}"
        pci = self._ask_handle(handle, title, "nvmlDeviceGetPciInfo_v3")
        mig = self._ask_handle(handle, title, "nvmlDeviceGetMigMode")
        memory = self._ask_handle(handle, title, "nvmlDeviceGetMemoryInfo")
        capability = self._ask_handle(handle, title, "nvmlDeviceGetCudaComputeCapability")
        info = GpuInfo(
            index=index,
            uuid=_text(self._library.nvmlDeviceGetUUID(handle)),
            name=_text(self._ask_handle(handle, title, "nvmlDeviceGetName") or "NVIDIA GPU"),
            total_bytes=None if memory is None else int(memory.total),
            pci_bus_id="" if pci is None else _text(pci.busId),
            compute_capability=None if capability is None else (int(capability[0]), int(capability[1])),
            mig_enabled=mig is not None and mig[0] == MIG_ENABLED,
        )
        return _Device(handle, info, NvlinkMeter())

    def _find_slices(self, gpu: _Device) -> list[_Device]:
        """Ask for the MIG slices of a GPU.

        Source: nvmlDeviceGetMaxMigDeviceCount, nvmlDeviceGetMigDeviceHandleByIndex
        (NOT_FOUND where no slice is), nvmlDeviceGetGpuInstanceId,
        nvmlDeviceGetComputeInstanceId; ``nvidia-smi -L``.
        """
        if not gpu.info.mig_enabled:
            return []
        slices = []
        for position in range(self._ask(gpu, "nvmlDeviceGetMaxMigDeviceCount") or 0):
            handle = self._ask(gpu, "nvmlDeviceGetMigDeviceHandleByIndex", position)
            if handle is not None:
                slices.append(self._describe_slice(handle, gpu.info, position))
        return slices

    def _describe_slice(self, handle: object, parent: GpuInfo, position: int) -> _Device:
        title = f"GPU {parent.index} slice {position}"
        memory = self._ask_handle(handle, title, "nvmlDeviceGetMemoryInfo")
        gpu_instance = self._ask_handle(handle, title, "nvmlDeviceGetGpuInstanceId")
        compute_instance = self._ask_handle(handle, title, "nvmlDeviceGetComputeInstanceId")
        info = GpuInfo(
            index=parent.index,
            uuid=_text(self._ask_handle(handle, title, "nvmlDeviceGetUUID") or ""),
            name=_text(self._ask_handle(handle, title, "nvmlDeviceGetName") or parent.name),
            total_bytes=None if memory is None else int(memory.total),
            pci_bus_id=parent.pci_bus_id,
            compute_capability=parent.compute_capability,
            mig_enabled=True,
            slice_index=position,
            parent_uuid=parent.uuid,
            instance=None if gpu_instance is None else (int(gpu_instance), int(compute_instance or 0)),
        )
        return _Device(handle, info, NvlinkMeter())


def _import_pynvml() -> ModuleType:
    try:
        return importlib.import_module("pynvml")
    except ModuleNotFoundError as error:
        raise GpusUnavailableError(
            "The Python package nvidia-ml-py is not installed, so GPUs cannot be read.",
            "Run `make run`, which installs it.",
        ) from error


def _explain(error: Exception) -> GpusUnavailableError:
    """Put an error of nvmlInit in plain words, with the driver's own at the end."""
    value = getattr(error, "value", None)
    meaning, hint = REASONS_UNAVAILABLE.get(
        value if isinstance(value, int) else -1,
        ("The NVIDIA driver could not be reached", "Check the output of `nvidia-smi` on this machine."),
    )
    return GpusUnavailableError(f"{meaning} (NVML: {_sentence(error)[:-1]}).", hint)


def _sentence(error: Exception) -> str:
    """Return the driver's words with one full stop."""
    return f"{str(error).rstrip('.')}."


def _title(info: GpuInfo) -> str:
    return f"GPU {info.index}" if info.slice_index is None else f"GPU {info.index} slice {info.slice_index}"


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
