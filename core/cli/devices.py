"""``devices``: the GPUs of this machine, and a reason for what is missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from core.cli.output import columns, write_json, write_line
from core.files import printable
from core.hardware.probe import DeviceProblem, detect_devices
from core.hardware.visible import order_is_certain, resolve_visible
from core.units import NOT_MEASURED, gib

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.hardware.probe import Devices
    from core.hardware.readings import GpuInfo, GpuReading

NOT_YET = DeviceProblem(
    code="not_looked_for",
    message="This version looks for NVIDIA GPUs only, not for Vulkan or Metal devices.",
    count=2,
)


def run_devices(as_json: bool) -> int:
    """Print what there is."""
    devices = detect_devices()
    problems = [*devices.problems, *environment_problems(devices, os.environ), NOT_YET]
    if as_json:
        write_json(as_object(devices, problems))
        return 0
    if devices.gpus:
        versions = [f"driver {devices.driver}"] if devices.driver else []
        versions += [f"CUDA {devices.cuda}"] if devices.cuda else []
        write_line(f"NVIDIA {', '.join(versions)}")
        header = ["GPU", "name", "used GiB", "of GiB", "driver holds GiB", "busy %", "memory busy %", "UUID"]
        rows = [_row(gpu, reading) for gpu, reading in zip(devices.gpus, devices.readings, strict=True)]
        for line in columns(header, rows, "llrrrrrl"):
            write_line(line)
    else:
        write_line("No NVIDIA GPU can be used; jobs run on the CPU (gloo).")
    for problem in problems:
        write_line(printable(f"{problem.message} {problem.hint}".strip()))
    return 0


def environment_problems(devices: Devices, environment: Mapping[str, str]) -> list[DeviceProblem]:
    """Say what the environment does to the GPUs: hides some, or leaves their order open."""
    problems = []
    usable = [gpu for gpu in devices.gpus if gpu.computes]
    value = environment.get("CUDA_VISIBLE_DEVICES")
    hidden = len(usable) - len(resolve_visible(value, devices.gpus))
    if value is not None and hidden > 0:
        problems.append(
            DeviceProblem(
                code="gpus_hidden",
                message=f"CUDA_VISIBLE_DEVICES={value} hides {hidden} of {len(usable)} GPUs from jobs.",
                count=hidden,
            )
        )
    if not order_is_certain(devices.gpus, environment.get("CUDA_DEVICE_ORDER")):
        problems.append(
            DeviceProblem(
                code="gpu_order",
                message="GPUs of several kinds: CUDA may number them in another order than this list.",
                hint="Set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID.",
            )
        )
    return problems


def as_object(devices: Devices, problems: list[DeviceProblem]) -> dict[str, object]:
    """Build what ``--json`` prints; ``vulkan`` and ``metal`` are null, as nobody has looked."""
    gpus = []
    for gpu, reading in zip(devices.gpus, devices.readings, strict=True):
        facts = msgspec.to_builtins(gpu)
        figures = msgspec.to_builtins(reading)
        gpus.append(facts | {"now": {key: figures[key] for key in figures if key not in facts}})
    return {
        "gpus": gpus,
        "vulkan": None,
        "metal": None,
        "driver": devices.driver,
        "cuda": devices.cuda,
        "problems": [msgspec.to_builtins(problem) for problem in problems],
    }


def _row(gpu: GpuInfo, reading: GpuReading) -> list[str]:
    title = str(gpu.index) if gpu.slice_index is None else f"{gpu.index} slice {gpu.slice_index}"
    return [
        title,
        printable(gpu.name) + (" (MIG on: the whole GPU)" if not gpu.computes else ""),
        gib(reading.used_bytes),
        gib(reading.total_bytes),
        gib(reading.driver_reserved_bytes),
        _whole(reading.utilization_pct),
        _whole(reading.memory_utilization_pct),
        gpu.uuid,
    ]


def _whole(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.0f}"
