"""The GPU sampler's readings: which GPU a rank computes on, its curves, what went wrong with it.

A rank is looked for where it is surest first: the GPU that the driver says its
process is on, the GPU that the agent names, the place of its local rank in
CUDA_VISIBLE_DEVICES.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.hardware.readings import GpuInfo, GpuReading
from core.hardware.visible import resolve_visible
from core.runs.snapshot import Alert
from core.telemetry.events import GpuEvent, GpuNote, GpuSample, GpusUnavailable
from core.units import GB, GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runs.curves import Curves
    from core.runs.rank_track import RankTrack


class GpuTrack:
    """Newest readings, and what they say about each rank.

    Attributes:
        gpus: Newest reading of each GPU and slice.
        unavailable: Why there is none and what to do, "" if there may be.
    """

    def __init__(self, created_ns: int, curves: Curves) -> None:
        self.gpus: tuple[GpuReading, ...] = ()
        self.unavailable = ""
        self._created_ns = created_ns
        self._curves = curves
        self._lost: dict[str, Alert] = {}
        self._notes: dict[str, int] = {}

    def take(self, event: GpuEvent, ranks: Sequence[RankTrack], visible: str | None) -> None:
        """Takes the next record of the sampler.

        Args:
            event: The record.
            ranks: All ranks; those that compute on a GPU get its figures.
            visible: CUDA_VISIBLE_DEVICES of the job, None if it is not set.
        """
        match event:
            case GpuSample():
                self._take_sample(event, ranks, visible)
            case GpusUnavailable():
                self.unavailable = f"{event.reason} {event.hint}".strip()
            case GpuNote():
                self._notes.setdefault(event.message, event.t_ns)

    def alerts(self) -> list[Alert]:
        """GPUs that have gone, and the sampler's notes."""
        notes = [
            Alert(key=f"gpu-note-{number}", level="warn", t_ns=t_ns, message=message)
            for number, (message, t_ns) in enumerate(self._notes.items())
        ]
        return [*self._lost.values(), *notes]

    def _take_sample(self, sample: GpuSample, ranks: Sequence[RankTrack], visible: str | None) -> None:
        self.gpus = tuple(sample.gpus)
        self.unavailable = ""
        for gpu in sample.gpus:
            if gpu.lost and gpu.uuid not in self._lost:
                self._lost[gpu.uuid] = Alert(
                    key=f"gpu-lost-{gpu.uuid}",
                    level="error",
                    t_ns=sample.t_ns,
                    message=f"GPU {_name(gpu)} has stopped answering",
                    hint="It fell off the bus or its driver hangs: look for Xid in dmesg.",
                )
            elif not gpu.lost:
                self._lost.pop(gpu.uuid, None)
        seen = resolve_visible(visible, _infos(sample.gpus))
        x = (sample.t_ns - self._created_ns) / 1e9
        for rank in ranks:
            own = find_gpu(rank, sample.gpus, seen)
            if own is not None:
                self._give(rank, own, x)

    def _give(self, rank: RankTrack, gpu: GpuReading, x: float) -> None:
        rank.gpu_index, rank.gpu_uuid = gpu.index, gpu.uuid
        rank.driver_bytes = _driver_bytes(rank.pid, gpu)
        links = [gpu.nvlink_rx_bytes_per_s, gpu.nvlink_tx_bytes_per_s]
        known_links = [rate for rate in links if rate is not None]
        figures = {
            "driver": _scaled(rank.driver_bytes, GIB),
            "gpu_used": _scaled(gpu.used_bytes, GIB),
            "utilization": gpu.utilization_pct,
            "power": gpu.power_w,
            "temperature": gpu.temperature_c,
            "sm_clock": gpu.sm_clock_mhz,
            "nvlink": sum(known_links) / GB if known_links else None,
        }
        for name, value in figures.items():
            if value is None:
                self._curves.add_gap(name, rank.rank, x)
            else:
                self._curves.add(name, rank.rank, x, value)


def find_gpu(rank: RankTrack, gpus: Sequence[GpuReading], seen: Sequence[GpuInfo]) -> GpuReading | None:
    """The reading of the GPU that a rank computes on; None if it computes on none or that is unknown.

    Args:
        rank: The rank.
        gpus: All readings of one sample.
        seen: What its process sees, in CUDA's order.
    """
    if rank.device != "cuda":
        return None
    uuid = rank.device_uuid or (seen[rank.local_rank].uuid if rank.local_rank < len(seen) else None)
    named = next((gpu for gpu in gpus if uuid is not None and _bare(gpu.uuid) == _bare(uuid)), None)
    used = [gpu for gpu in gpus if _driver_bytes(rank.pid, gpu) is not None]
    if named is None and used:
        return max(used, key=lambda gpu: (gpu.slice_index is not None, _driver_bytes(rank.pid, gpu) or 0))
    return named


def _driver_bytes(pid: int | None, gpu: GpuReading) -> int | None:
    for process in gpu.processes or ():
        if process.pid == pid:
            return process.used_bytes
    return None


def _scaled(value: int | None, unit: int) -> float | None:
    return None if value is None else value / unit


def _bare(uuid: str) -> str:
    """Without "GPU-" or "MIG-": torch names a slice with the prefix of a GPU."""
    return uuid.partition("-")[2] if uuid.startswith(("GPU-", "MIG-")) else uuid


def _name(gpu: GpuReading) -> str:
    return str(gpu.index) if gpu.slice_index is None else f"{gpu.index} slice {gpu.slice_index}"


def _infos(gpus: Sequence[GpuReading]) -> list[GpuInfo]:
    """The readings as ``resolve_visible`` wants GPUs; NVML's order stands for that of the PCI bus."""
    parents = {gpu.index: gpu.uuid for gpu in gpus if gpu.slice_index is None}
    return [
        GpuInfo(
            index=gpu.index,
            uuid=gpu.uuid,
            name=gpu.name,
            mig_enabled=gpu.mig_enabled,
            slice_index=gpu.slice_index,
            parent_uuid="" if gpu.slice_index is None else parents.get(gpu.index, ""),
        )
        for gpu in gpus
    ]
