"""Case E01: what `vulkaninfo --summary` of a bug report lists first is a CPU, and is not taken for a GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.edge.targets import as_targets
from core.hardware import vulkan_structs as vk
from core.hardware.metal_probe import MetalDevices
from core.hardware.vulkan import VulkanDevices
from core.hardware.vulkan_reader import VulkanReader
from tests.helpers.fake_vulkan import FakeDevice, FakeVulkan

if TYPE_CHECKING:
    from pathlib import Path

SUMMARY = """Devices:
========
GPU0:
\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU
\tdeviceName         = llvmpipe (LLVM 15.0.6, 256 bits)
\tdriverID           = DRIVER_ID_MESA_LLVMPIPE
GPU1:
\tdeviceType         = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
\tdeviceName         = NVIDIA RTX A2000
\tdriverID           = DRIVER_ID_NVIDIA_PROPRIETARY
"""
# Source: vulkan_core.h, VkPhysicalDeviceType and VkDriverId.
TYPES = {"CPU": 4, "INTEGRATED_GPU": 1, "DISCRETE_GPU": 2, "VIRTUAL_GPU": 3}
DRIVERS = {"MESA_LLVMPIPE": 13, "INTEL_OPEN_SOURCE_MESA": 6, "NVIDIA_PROPRIETARY": 4}


def devices_of(summary: str) -> VulkanDevices:
    """Have a driver tell what the summary says, and read it."""
    devices = []
    for block in re.split(r"^GPU\d+:$", summary, flags=re.MULTILINE)[1:]:
        facts = dict(re.findall(r"^\s*(\w+)\s*= (.*?)\s*$", block, flags=re.MULTILINE))
        driver = DRIVERS[facts["driverID"].removeprefix("DRIVER_ID_")]
        devices.append(
            FakeDevice(
                name=facts["deviceName"],
                device_type=TYPES[facts["deviceType"].removeprefix("PHYSICAL_DEVICE_TYPE_")],
                chained={vk.DriverProperties: {"driverID": driver}},
            )
        )
    reader = VulkanReader(FakeVulkan(*devices).get_proc_address)
    reader.open()
    found = tuple(reader.list_devices())
    reader.close()
    return VulkanDevices(devices=found)


def check(summary: str, gpu: str) -> None:
    found = devices_of(summary)
    assert [device.software for device in found.devices] == [True, False]
    assert found.default is found.devices[1]
    targets = as_targets(found, MetalDevices())
    assert [target.software for target in targets.targets] == [True, False, False]
    assert targets.default.name == gpu
    alone = VulkanDevices(devices=found.devices[:1])
    only = as_targets(alone, MetalDevices())
    assert only.default.key == "vulkan:0"
    assert only.default.software


def test_the_cpu_in_first_place_is_not_the_default() -> None:
    check(SUMMARY, "NVIDIA RTX A2000")


def test_the_handed_summary(shared_cases: Path) -> None:
    text = (shared_cases / "E01_vulkaninfo_summary.txt").read_text()
    check(text, "Intel(R) Xe Graphics (TGL GT2)")
