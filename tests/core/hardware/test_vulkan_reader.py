"""What the reader makes of drivers' answers: a made loader, and the layouts that the specification gives."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace

import pytest

from core.hardware import vulkan_structs as vk
from core.hardware.vulkan import CooperativeMatrix, VulkanDevice, VulkanDevices
from core.hardware.vulkan_reader import (
    VulkanReader,
    VulkanUnavailableError,
    cooperative_matrix,
    driver_version_words,
)
from tests.helpers.fake_vulkan import COUNTS, GIB, SIZES, FakeDevice, FakeVulkan

CPU = FakeDevice(name="llvmpipe (LLVM 19.1.7, 256 bits)", device_type=4, vendor_id=0x10005)
MATRIX = vk.CooperativeMatrixFeatures.EXTENSION


def read(*devices: FakeDevice) -> tuple[VulkanDevice, ...]:
    return read_from(FakeVulkan(*devices))


def read_from(vulkan: FakeVulkan) -> tuple[VulkanDevice, ...]:
    reader = VulkanReader(vulkan.get_proc_address)
    reader.open()
    found = tuple(reader.list_devices())
    reader.close()
    return found


@pytest.mark.skipif(struct.calcsize("P") != 8, reason="the layouts are those of 64 bits")
def test_layouts_are_those_of_the_c_header() -> None:
    """Figures as gcc 12 gives them for vulkan_core.h 1.3.239 on x86-64."""
    offsets = {
        "maxStorageBufferRange": 28,
        "maxComputeSharedMemorySize": 216,
        "maxComputeWorkGroupCount": 220,
        "maxComputeWorkGroupInvocations": 232,
        "maxComputeWorkGroupSize": 236,
        "minStorageBufferOffsetAlignment": 328,
        "timestampPeriod": 424,
    }
    assert {name: getattr(vk.Limits, name).offset for name in offsets} == offsets
    assert (vk.Properties.limits.offset, vk.Features.shaderFloat64.offset) == (296, 156)
    sizes = {
        vk.Limits: 504,
        vk.Properties: 824,
        vk.Features: 220,
        vk.MemoryProperties: 520,
        vk.DriverProperties: 536,
        vk.IdProperties: 64,
    }
    assert {kind: ctypes.sizeof(kind) for kind in sizes} == sizes


def test_all_heaps_are_listed_and_the_small_one_is_not_the_memory() -> None:
    """Case E04: a window of 256 MiB for the CPU beside the 16 GiB of the device."""
    device = FakeDevice(
        heaps=((256 * 2**20, 1), (16 * GIB, 1), (32 * GIB, 0)),
        memory_types=((1, 1), (7, 0), (6, 2)),
    )
    (found,) = read(device)
    assert [(heap.size_bytes, heap.device_local) for heap in found.heaps] == [
        (256 * 2**20, True),
        (16 * GIB, True),
        (32 * GIB, False),
    ]
    assert [each.flags for each in found.memory_types] == [
        ("device_local",),
        ("device_local", "host_visible", "host_coherent"),
        ("host_visible", "host_coherent"),
    ]
    assert not found.unified_memory


@pytest.mark.parametrize(
    ("device_type", "heaps", "types", "unified"),
    [
        (1, ((16 * GIB, 1),), ((7, 0),), True),
        (1, ((8 * GIB, 1), (4 * GIB, 0)), ((7, 0), (6, 1)), True),
        (2, ((24 * GIB, 1),), ((7, 0),), False),
        (2, ((24 * GIB, 1), (64 * GIB, 0)), ((1, 0), (6, 1)), False),
        (4, ((2 * GIB, 1),), ((15, 0),), True),
        (1, ((8 * GIB, 1),), ((1, 0),), False),
    ],
    ids=["integrated", "integrated, split", "resizable BAR", "discrete", "software", "not mapped"],
)
def test_unified_memory_needs_one_memory_that_the_cpu_can_map(
    device_type: int, heaps: tuple[tuple[int, int], ...], types: tuple[tuple[int, int], ...], unified: bool
) -> None:
    (found,) = read(FakeDevice(device_type=device_type, heaps=heaps, memory_types=types))
    assert found.unified_memory is unified


def test_software_is_never_the_default_where_another_device_is() -> None:
    """Case E01: llvmpipe is device 0."""
    found = VulkanDevices(devices=read(CPU, FakeDevice(device_type=1), FakeDevice(device_type=2)))
    assert [device.software for device in found.devices] == [True, False, False]
    assert found.default is found.devices[2]
    assert VulkanDevices(devices=found.devices[:2]).default is found.devices[1]
    assert VulkanDevices(devices=found.devices[:1]).default is found.devices[0]
    assert VulkanDevices().default is None


def test_software_behind_a_virtual_machine_is_still_software() -> None:
    """Its type is "virtual GPU"; the driver it passes on, or the name, says what it is."""
    by_driver = FakeDevice(device_type=3, chained={vk.DriverProperties: {"driverID": vk.DRIVER_LLVMPIPE}})
    by_name = FakeDevice(name="Virtio-GPU Venus (llvmpipe)", device_type=3)
    assert [device.software for device in read(by_driver, by_name, FakeDevice(device_type=3))] == [
        True,
        True,
        False,
    ]


def test_cooperative_matrices_come_with_shapes_types_and_scope() -> None:
    matrices = (
        (16, 16, 16, 0, 0, 1, 1, 0, 3),
        (16, 8, 32, 3, 3, 5, 5, 1, 3),
        (16, 16, 16, 1000141000, 1000141000, 1, 1, 0, 3),
        (16, 16, 32, 1000491002, 1000491003, 1, 1, 0, 2),
    )
    (found,) = read(FakeDevice(extensions=(MATRIX,), matrices=matrices))
    assert [
        (each.m, each.n, each.k, each.a, each.b, each.c, each.result) for each in (found.cooperative_matrices)
    ] == [
        (16, 16, 16, "fp16", "fp16", "fp32", "fp32"),
        (16, 8, 32, "int8", "int8", "int32", "int32"),
        (16, 16, 16, "bf16", "bf16", "fp32", "fp32"),
        (16, 16, 32, "fp8_e4m3", "fp8_e5m2", "fp32", "fp32"),
    ]
    assert [each.saturating for each in found.cooperative_matrices] == [False, True, False, False]
    assert [each.scope for each in found.cooperative_matrices] == ["subgroup"] * 3 + ["workgroup"]


def test_without_the_extension_nobody_asks_for_matrices() -> None:
    (found,) = read(FakeDevice(matrices=((16, 16, 16, 0, 0, 1, 1, 0, 3),)))
    assert found.cooperative_matrices == ()


@pytest.mark.skipif(struct.calcsize("P") != 8, reason="the bytes are those of 64 bits")
def test_matrix_record_is_read_from_the_bytes_that_the_specification_lays_out() -> None:
    """sType, padding, pNext, then nine 32-bit words; types of the future keep their number."""
    record = struct.pack("<I4xQ9I", 1000506001, 0, 16, 8, 64, 7, 3, 9, 5, 1, 5) + bytes(4)
    assert len(record) == ctypes.sizeof(vk.CooperativeMatrixProperties)
    found = cooperative_matrix(vk.CooperativeMatrixProperties.from_buffer_copy(record))
    expected = CooperativeMatrix(
        m=16,
        n=8,
        k=64,
        a="uint8",
        b="int8",
        c="uint32",
        result="int32",
        saturating=True,
        scope="queue_family",
    )
    assert found == expected
    future = struct.pack("<I4xQ9I", 1000506001, 0, 16, 16, 16, 77, 77, 1, 1, 0, 9) + bytes(4)
    found = cooperative_matrix(vk.CooperativeMatrixProperties.from_buffer_copy(future))
    assert (found.a, found.scope) == ("type 77", "scope 9")


def test_numbers_of_extensions_are_unknown_without_them_and_read_with_them() -> None:
    (old,) = read(FakeDevice(api_version=vk.version(1, 1)))
    assert (old.numbers.int64, old.numbers.fp64) == (True, False)
    assert (old.numbers.fp16, old.numbers.int8, old.numbers.bf16, old.numbers.fp8) == (None,) * 4
    assert old.numbers.storage_16_bit is False
    new = FakeDevice(
        extensions=("VK_KHR_shader_bfloat16", "VK_EXT_shader_float8"),
        chained={
            vk.Bfloat16Features: {"shaderBFloat16Type": 1, "shaderBFloat16CooperativeMatrix": 1},
            vk.Float8Features: {"shaderFloat8": 1},
            vk.Float16Int8Features: {"shaderFloat16": 1},
            vk.Storage8Features: {"storageBuffer8BitAccess": 1},
        },
    )
    (found,) = read(new)
    assert (found.numbers.bf16, found.numbers.bf16_dot_product) == (True, False)
    assert (found.numbers.bf16_cooperative_matrix, found.numbers.fp8_cooperative_matrix) == (True, False)
    assert (found.numbers.fp8, found.numbers.fp16, found.numbers.int8) == (True, True, False)
    assert (found.numbers.storage_8_bit, found.numbers.int8_dot_product) == (True, False)
    assert found.numbers.int16 is False


def test_device_is_asked_only_for_what_its_version_or_extensions_know() -> None:
    """The specification allows nothing else, and drivers have crashed over it."""
    vulkan = FakeVulkan(FakeDevice(api_version=vk.version(1, 1), extensions=("VK_EXT_external_memory_host",)))
    read_from(vulkan)
    properties, features = vulkan.asked
    assert set(properties) == {1000071004, 1000168000, 1000094000, 1000178002}
    assert set(features) == {1000083000}
    oldest = FakeVulkan(FakeDevice(api_version=vk.version(1, 0)), version=vk.version(1, 0))
    (found,) = read_from(oldest)
    assert oldest.asked == []
    assert (found.uuid, found.subgroup_size, found.limits.max_allocation_bytes) == (None, None, None)


def test_limits_subgroups_driver_and_timestamps_are_the_drivers() -> None:
    device = FakeDevice(
        driver_version=(575 << 22) | (57 << 14) | (8 << 6),
        extensions=("VK_EXT_external_memory_host",),
        chained={
            vk.Maintenance3Properties: {"maxMemoryAllocationSize": 4 * GIB - 1},
            vk.Maintenance4Properties: {"maxBufferSize": GIB},
            vk.ExternalMemoryHostProperties: {"minImportedHostPointerAlignment": 4096},
            vk.SubgroupProperties: {"subgroupSize": 64},
            vk.SubgroupSizeControlProperties: {"minSubgroupSize": 32, "maxSubgroupSize": 64},
            vk.DriverProperties: {"driverName": b"made", "driverInfo": b"\xffinfo"},
        },
    )
    (found,) = read(device)
    assert found.limits.max_allocation_bytes == 4 * GIB - 1
    assert (found.limits.max_storage_buffer_range_bytes, found.limits.max_buffer_bytes) == (2**31, GIB)
    assert (found.limits.max_workgroup_count, found.limits.max_workgroup_size) == (COUNTS, SIZES)
    assert (found.limits.max_workgroup_invocations, found.limits.max_shared_memory_bytes) == (1024, 49152)
    assert found.limits.min_storage_buffer_alignment_bytes == 64
    assert found.limits.host_pointer_alignment_bytes == 4096
    assert (found.subgroup_size, found.subgroup_size_min, found.subgroup_size_max) == (64, 32, 64)
    assert (found.driver_name, found.driver_info) == ("made", "\ufffdinfo")
    assert (found.vendor, found.driver_version, found.api_version) == ("NVIDIA", "575.57.8", "1.3.0")
    assert (found.timestamp_period_ns, found.timestamp_valid_bits) == (0.5, 36)


def test_driver_versions_are_written_as_vendors_do() -> None:
    assert driver_version_words(0x1002, vk.version(2, 0) | 283) == "2.0.283"
    assert driver_version_words(0x10DE, (470 << 22) | (256 << 14 & 0x3FC000) | (2 << 6)) == "470.0.2"


@pytest.mark.parametrize(
    ("result", "reason", "words"),
    [
        (-9, "no_vulkan_driver", "No Vulkan driver found"),
        (-3, "vulkan_driver_failed", "VK_ERROR_INITIALIZATION_FAILED"),
        (-77, "vulkan_driver_failed", "-77"),
    ],
)
def test_loader_without_an_instance_says_why(result: int, reason: str, words: str) -> None:
    reader = VulkanReader(FakeVulkan(result=result).get_proc_address)
    with pytest.raises(VulkanUnavailableError, match=words) as caught:
        reader.open()
    assert caught.value.reason == reason


def test_loader_that_lacks_a_function_is_no_traceback() -> None:
    vulkan = FakeVulkan(FakeDevice())
    vulkan.missing.add("vkGetPhysicalDeviceMemoryProperties")
    with pytest.raises(VulkanUnavailableError, match="vkGetPhysicalDeviceMemoryProperties"):
        read_from(vulkan)


def test_devices_keep_their_order_and_unknown_kinds_a_name() -> None:
    first, second = read(replace(FakeDevice(), device_type=0, vendor_id=0x4321), CPU)
    assert (first.index, first.kind, first.vendor) == (0, "other", "0x4321")
    assert (second.index, second.kind) == (1, "CPU")


def test_drivers_without_devices_are_no_failure_and_a_lost_one_is() -> None:
    vulkan = FakeVulkan(FakeDevice())
    vulkan.list_result = vk.INITIALIZATION_FAILED
    assert read_from(vulkan) == ()
    vulkan.list_result = -4
    with pytest.raises(
        VulkanUnavailableError, match="vkEnumeratePhysicalDevices answered VK_ERROR_DEVICE_LOST"
    ):
        read_from(vulkan)
