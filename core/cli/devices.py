"""``devices``: the GPUs, Vulkan and Metal devices of this machine, and a reason for what is missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from core.cli.output import columns, write_json, write_line
from core.files import printable
from core.hardware.metal_probe import detect_metal
from core.hardware.probe import DeviceProblem, detect_devices
from core.hardware.visible import order_is_certain, resolve_visible
from core.hardware.vulkan_probe import detect_vulkan
from core.units import NOT_MEASURED, gib

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.hardware.metal_probe import MetalDevices
    from core.hardware.probe import Devices
    from core.hardware.readings import GpuInfo, GpuReading
    from core.hardware.vulkan import VulkanDevice, VulkanDevices

NUMBER_WORDS = ("fp64", "fp16", "bf16", "fp8", "int8", "int16", "int64")
"""Fields of ``VulkanNumbers`` that the table names, where the device has them."""


def run_devices(as_json: bool) -> int:
    """Print what there is."""
    devices = detect_devices()
    vulkan, metal = detect_vulkan(), detect_metal()
    problems = [
        *devices.problems,
        *environment_problems(devices, os.environ),
        *vulkan.problems,
        *metal.problems,
    ]
    if as_json:
        write_json(as_object(devices, vulkan, metal, problems))
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
    for line in vulkan_lines(vulkan):
        write_line(line)
    for line in metal_lines(metal):
        write_line(line)
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


def vulkan_lines(vulkan: VulkanDevices) -> list[str]:
    """Lay out the Vulkan devices as a table; one line where there is none."""
    if not vulkan.devices:
        return ["No Vulkan device can be used."]
    header = [
        "Vulkan",
        "name",
        "kind",
        "driver",
        "API",
        "heaps GiB",
        "memory",
        "subgroup",
        "numbers",
        "cooperative matrices",
    ]
    rows = [_vulkan_row(device, device is vulkan.default) for device in vulkan.devices]
    return columns(header, rows, "l")


def _vulkan_row(device: VulkanDevice, is_default: bool) -> list[str]:
    kind = f"{device.kind} (software)" if device.software else device.kind
    driver = " ".join(filter(None, (device.driver_name, device.driver_info or device.driver_version)))
    heaps = [gib(heap.size_bytes) + ("" if heap.device_local else " (host)") for heap in device.heaps]
    memory = "unified" if device.unified_memory else "own"
    numbers = [word for word in NUMBER_WORDS if getattr(device.numbers, word)]
    return [
        f"{device.index}{' (default)' if is_default else ''}",
        printable(device.name),
        kind,
        printable(driver),
        device.api_version,
        ", ".join(heaps),
        "of the CPU" if device.software else memory,
        _subgroup(device),
        " ".join(numbers),
        f"{len(device.cooperative_matrices)} shapes" if device.cooperative_matrices else "none",
    ]


def _subgroup(device: VulkanDevice) -> str:
    if device.subgroup_size is None:
        return NOT_MEASURED
    least, most = device.subgroup_size_min, device.subgroup_size_max
    chosen = "" if least == most else f" ({least} to {most})"
    return f"{device.subgroup_size}{chosen}"


def metal_lines(metal: MetalDevices) -> list[str]:
    """Lay out the Metal devices as a table; nothing where there is none."""
    if not metal.devices:
        return []
    header = ["Metal", "name", "architecture", "of GiB", "working set GiB", "largest buffer GiB", "memory"]
    words = {True: "unified", False: "own", None: NOT_MEASURED}
    rows = [
        [
            str(device.index),
            printable(device.name),
            device.architecture or NOT_MEASURED,
            gib(device.memory_bytes),
            gib(device.recommended_working_set_bytes),
            gib(device.max_buffer_bytes),
            words[device.unified_memory],
        ]
        for device in metal.devices
    ]
    return columns(header, rows, "lllrrrl")


def as_object(
    devices: Devices, vulkan: VulkanDevices, metal: MetalDevices, problems: list[DeviceProblem]
) -> dict[str, object]:
    """Build what ``--json`` prints."""
    default = vulkan.default
    gpus = []
    for gpu, reading in zip(devices.gpus, devices.readings, strict=True):
        facts = msgspec.to_builtins(gpu)
        figures = msgspec.to_builtins(reading)
        gpus.append(facts | {"now": {key: figures[key] for key in figures if key not in facts}})
    return {
        "gpus": gpus,
        "vulkan": [msgspec.to_builtins(device) | {"default": device is default} for device in vulkan.devices],
        "metal": [msgspec.to_builtins(device) for device in metal.devices],
        "driver": devices.driver,
        "cuda": devices.cuda,
        "vulkan_loader": vulkan.loader_version,
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
