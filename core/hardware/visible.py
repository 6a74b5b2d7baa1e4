"""Which GPUs a CUDA process sees, and in which order, from CUDA_VISIBLE_DEVICES. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.hardware.readings import GpuInfo

PCI_BUS_ID = "PCI_BUS_ID"
OLD_SLICE_NAME = re.compile(r"MIG-(GPU-[0-9a-fA-F-]+)/(\d+)/(\d+)")
"""Name of a MIG slice before R470: MIG-<GPU UUID>/<GPU instance>/<compute instance>."""


def resolve_visible(value: str | None, gpus: Sequence[GpuInfo]) -> list[GpuInfo]:
    """Return what CUDA sees, in CUDA's order: entry i is ``cuda:i``.

    Args:
        value: CUDA_VISIBLE_DEVICES; None is not set, "" hides every GPU.
        gpus: All GPUs and MIG slices, as ``NvmlReader.list_gpus`` gives them.

    Numbers are taken in PCI bus order, as NVML counts; whether CUDA does so too
    tells ``order_is_certain``.

    Source: CUDA C++ Programming Guide 13, section CUDA Environment Variables:
    numbers or UUIDs, a UUID may be cut short if it stays unique, what follows
    an invalid entry is not visible. An entry named twice hides all, and "1gpu2"
    is 1, as in torch.cuda's _parse_visible_devices. A process that sees a MIG
    slice sees nothing else (MIG User Guide, CUDA Device Enumeration).
    """
    ordered = _cuda_order(gpus)
    if value is None:
        return _one_slice_at_most(ordered)
    found: list[GpuInfo] = []
    for entry in value.split(","):
        gpu = _entry(entry.strip(), ordered)
        if gpu is None:
            break
        if gpu in found:
            return []
        found.append(gpu)
    return _one_slice_at_most(found)


def find_gpu(name: str, gpus: Sequence[GpuInfo]) -> GpuInfo | None:
    """Find what a user names: an NVML index, a UUID, a unique beginning of one, or a MIG slice.

    A number names a whole GPU, also one that is cut into slices.
    """
    if name.isdecimal():
        whole = [gpu for gpu in gpus if gpu.slice_index is None and gpu.index == int(name)]
        return whole[0] if whole else None
    return _by_uuid(name, gpus)


def order_is_certain(gpus: Sequence[GpuInfo], device_order: str | None) -> bool:
    """Tell whether CUDA numbers these GPUs as NVML does.

    With CUDA_DEVICE_ORDER unset CUDA puts the fastest first by a rule of its
    own, so numbers are certain only where all GPUs are of one kind.
    """
    return device_order == PCI_BUS_ID or len({gpu.name for gpu in gpus if gpu.slice_index is None}) <= 1


def _cuda_order(gpus: Sequence[GpuInfo]) -> list[GpuInfo]:
    """Sort by PCI bus; sorting is stable, so that slices stay behind one another."""
    return sorted((gpu for gpu in gpus if gpu.computes), key=lambda gpu: (gpu.pci_bus_id, gpu.index))


def _one_slice_at_most(gpus: list[GpuInfo]) -> list[GpuInfo]:
    slices = [gpu for gpu in gpus if gpu.slice_index is not None]
    return slices[:1] or gpus


def _entry(entry: str, ordered: Sequence[GpuInfo]) -> GpuInfo | None:
    if entry.startswith(("GPU-", "MIG-")):
        return _by_uuid(entry, ordered)
    number = re.match(r"\+?(\d+)", entry)
    if number is None or int(number[1]) >= len(ordered):
        return None
    return ordered[int(number[1])]


def _by_uuid(name: str, gpus: Sequence[GpuInfo]) -> GpuInfo | None:
    old = OLD_SLICE_NAME.fullmatch(name)
    if old is not None:
        matches = [
            gpu for gpu in gpus if gpu.parent_uuid == old[1] and gpu.instance == (int(old[2]), int(old[3]))
        ]
    else:
        matches = [gpu for gpu in gpus if name and gpu.uuid.startswith(name)]
    exact = [gpu for gpu in matches if gpu.uuid == name]
    if exact:
        return exact[0]
    return matches[0] if len(matches) == 1 else None
