"""``devices`` about Vulkan: what the table says and what ``--json`` gives, for devices that are not here."""

from __future__ import annotations

import json

import pytest

from core.cli import devices as command
from core.cli.devices import as_object, run_devices, vulkan_lines
from core.hardware import vulkan_structs as vk
from core.hardware.metal_probe import MetalDevices, detect_metal
from core.hardware.probe import DeviceProblem, Devices
from core.hardware.vulkan import VulkanDevices
from core.hardware.vulkan_reader import VulkanReader
from tests.helpers.fake_vulkan import GIB, FakeDevice, FakeVulkan

INTEGRATED = FakeDevice(
    name="Made\nGraphics",
    device_type=1,
    heaps=((8 * GIB, 1), (4 * GIB, 0)),
    memory_types=((7, 0),),
    extensions=(vk.CooperativeMatrixFeatures.EXTENSION,),
    matrices=((16, 16, 16, 0, 0, 1, 1, 0, 3),) * 2,
    chained={
        vk.SubgroupProperties: {"subgroupSize": 32},
        vk.SubgroupSizeControlProperties: {"minSubgroupSize": 8, "maxSubgroupSize": 32},
        vk.DriverProperties: {"driverName": b"made driver", "driverInfo": b"1.2"},
        vk.Float16Int8Features: {"shaderFloat16": 1},
    },
)
SOFTWARE = FakeDevice(name="llvmpipe", device_type=4, heaps=((2 * GIB, 1),), memory_types=((15, 0),))


@pytest.fixture
def found() -> VulkanDevices:
    """Software first, as on many machines."""
    reader = VulkanReader(FakeVulkan(SOFTWARE, INTEGRATED).get_proc_address)
    reader.open()
    devices = tuple(reader.list_devices())
    reader.close()
    return VulkanDevices(devices=devices, loader_version=reader.loader_version)


def test_table_labels_software_and_marks_the_default(found: VulkanDevices) -> None:
    """Cases E01 and E04: labelled, never the default beside another; every heap with its size."""
    _, software, integrated = vulkan_lines(found)
    assert software.startswith("0 ")
    assert "CPU (software)" in software
    assert "of the CPU" in software
    assert "n/a" in software
    assert "default" not in software
    assert integrated.startswith("1 (default)")
    for words in (
        "integrated GPU",
        "made driver 1.2",
        "8.00, 4.00 (host)",
        "unified",
        "32 (8 to 32)",
        "fp16 int64",
    ):
        assert words in integrated
    assert integrated.endswith("2 shapes")


def test_none_is_one_line() -> None:
    assert vulkan_lines(VulkanDevices()) == ["No Vulkan device can be used."]


def test_json_holds_every_fact_and_the_default(found: VulkanDevices) -> None:
    described = json.loads(json.dumps(as_object(Devices(), found, MetalDevices(), [])))
    assert [device["default"] for device in described["vulkan"]] == [False, True]
    assert described["vulkan_loader"] == "1.3.0"
    device = described["vulkan"][1]
    assert device["heaps"][1] == {"size_bytes": 4 * GIB, "device_local": False}
    assert device["cooperative_matrices"][0]["result"] == "fp32"
    assert device["limits"]["max_workgroup_invocations"] == 1024


def test_metal_has_a_reason_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Case E14."""
    lost = DeviceProblem(code="no_vulkan_loader", message="No Vulkan loader was found.")
    monkeypatch.setattr(command, "detect_devices", Devices)
    monkeypatch.setattr(command, "detect_vulkan", lambda: VulkanDevices(problems=(lost,)))
    monkeypatch.setattr(command, "detect_metal", lambda: detect_metal("linux"))
    assert run_devices(as_json=True) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["metal"] == []
    codes = [problem["code"] for problem in described["problems"]]
    assert codes == ["no_vulkan_loader", "metal_needs_macos"]
    assert run_devices(as_json=False) == 0
    assert "Metal needs macOS." in capsys.readouterr().out
