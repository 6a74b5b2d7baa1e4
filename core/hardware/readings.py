"""What NVML says about GPUs, as data: what a GPU is, and what it does at one moment.

No driver call here; ``core.hardware.nvml`` fills these in. None means "not
available" everywhere, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOCK_REASONS = (
    (0x001, "Idle"),
    (0x002, "Applications Clocks Setting"),
    (0x004, "SW Power Cap"),
    (0x008, "HW Slowdown"),
    (0x010, "Sync Boost"),
    (0x020, "SW Thermal Slowdown"),
    (0x040, "HW Thermal Slowdown"),
    (0x080, "HW Power Brake Slowdown"),
    (0x100, "Display Clock Setting"),
    (0x200, "Board Limit"),
    (0x400, "Reliability"),
)
"""(bit, word) of what holds the clocks under their maximum.

Source: nvml.h, nvmlClocksEventReasons (nvidia-ml-py 13.615,
nvmlClocksEventReason* and nvmlClocksThrottleReason*); words as
``nvidia-smi -q -d PERFORMANCE`` prints them.
"""

CALM_REASONS = frozenset({"Idle", "Applications Clocks Setting", "Display Clock Setting"})
"""Reasons that are no sign of a limit: nothing to do, or as the user set it."""


class GpuProcess(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that the driver counts for one process; None: it does not say."""

    pid: int
    used_bytes: int | None = None


class GpuReading(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU, or one MIG slice, at one moment. None is "not available".

    Attributes:
        index: NVML index of the GPU (of the parent for a slice).
        slice_index: Of the MIG slice, None for a whole GPU.
        used_bytes: Whole device, without what the driver holds for itself
            (with it, where ``driver_reserved_bytes`` is None).
        driver_reserved_bytes: What the driver holds for itself.
        throttle_reasons: Words of ``CLOCK_REASONS``; [] is none.
        lost: The GPU stopped answering; all figures are None.
    """

    index: int
    uuid: str
    name: str
    slice_index: int | None = None
    mig_enabled: bool = False
    total_bytes: int | None = None
    used_bytes: int | None = None
    driver_reserved_bytes: int | None = None
    utilization_pct: float | None = None
    memory_utilization_pct: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    fan_pct: float | None = None
    sm_clock_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    throttle_reasons: list[str] | None = None
    nvlink_rx_bytes_per_s: float | None = None
    nvlink_tx_bytes_per_s: float | None = None
    processes: list[GpuProcess] | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuInfo:
    """One GPU, or one MIG slice: what does not change while it is there.

    Attributes:
        index: NVML index, as ``nvidia-smi`` counts (of the parent for a slice).
        uuid: "GPU-..." or "MIG-...".
        total_bytes: Memory; None where the driver does not say.
        pci_bus_id: "00000000:1B:00.0"; "" where there is none.
        compute_capability: (major, minor).
        mig_enabled: A GPU that is cut into slices; CUDA sees those, not it.
        slice_index: Of the MIG slice within its GPU, None for a whole GPU.
        parent_uuid: Of a slice's GPU, "" for a whole GPU.
        instance: (GPU instance id, compute instance id) of a slice.
    """

    index: int
    uuid: str
    name: str
    total_bytes: int | None = None
    pci_bus_id: str = ""
    compute_capability: tuple[int, int] | None = None
    mig_enabled: bool = False
    slice_index: int | None = None
    parent_uuid: str = ""
    instance: tuple[int, int] | None = None

    @property
    def computes(self) -> bool:
        """Whether CUDA can run on it: a slice, or a GPU that is not cut into slices."""
        return self.slice_index is not None or not self.mig_enabled


def count_words(gpus: Sequence[GpuInfo]) -> str:
    """Say what CUDA can run on: "8 GPUs", "1 GPU and 7 MIG slices"; "" for nothing."""
    usable = [gpu for gpu in gpus if gpu.computes]
    slices = sum(gpu.slice_index is not None for gpu in usable)
    counts = ((len(usable) - slices, "GPU"), (slices, "MIG slice"))
    return " and ".join(f"{count} {what}{'s' if count > 1 else ''}" for count, what in counts if count)


def clock_reason_words(bits: int) -> list[str]:
    """Return the words for a mask of clock event reasons; an unknown bit is shown as a number."""
    words = [word for bit, word in CLOCK_REASONS if bits & bit]
    unknown = bits & ~sum(bit for bit, _ in CLOCK_REASONS)
    return [*words, f"bits 0x{unknown:x}"] if unknown else words
