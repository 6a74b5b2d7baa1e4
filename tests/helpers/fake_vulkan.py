"""A Vulkan loader made of Python functions, for devices that this machine does not have.

It gives ``VulkanReader`` real addresses of real C functions, so that layouts,
chains and counts are gone through as with a driver. What the structures hold is
the test's; no claim is made about any product.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_int32, c_uint32, c_void_p
from dataclasses import dataclass, field
from typing import Any

from core.hardware import vulkan_structs as vk

GIB = 2**30
COUNTS, SIZES = (2**31 - 1, 65535, 65534), (1024, 1023, 64)


@dataclass
class FakeDevice:
    """A device as its driver would describe it; ``chained`` are fields by structure."""

    name: str = "Made GPU"
    device_type: int = 2
    vendor_id: int = 0x10DE
    driver_version: int = 0
    api_version: int = vk.version(1, 3)
    extensions: tuple[str, ...] = ()
    heaps: tuple[tuple[int, int], ...] = ((16 * GIB, 1),)
    memory_types: tuple[tuple[int, int], ...] = ((1, 0),)
    queue_families: tuple[tuple[int, int], ...] = ((1, 0), (6, 36))
    matrices: tuple[tuple[int, ...], ...] = ()
    chained: dict[type[vk.Chained], dict[str, Any]] = field(default_factory=dict)


class FakeVulkan:
    """Stands for the loader.

    Attributes:
        asked: The structures that were asked for beside the plain ones, per call.
    """

    def __init__(self, *devices: FakeDevice, version: int = vk.version(1, 3), result: int = 0) -> None:
        self.devices = devices
        self.version = version
        self.result = result
        self.asked: list[list[int]] = []
        self.list_result = vk.SUCCESS
        self.missing: set[str] = set()
        methods = {
            "vkEnumerateInstanceVersion": self._say_version,
            "vkEnumerateInstanceExtensionProperties": self._list_no_extensions,
            "vkCreateInstance": self._create_instance,
            "vkDestroyInstance": self._destroy_instance,
            "vkEnumeratePhysicalDevices": self._list_devices,
            "vkGetPhysicalDeviceProperties": self._fill_properties,
            "vkGetPhysicalDeviceProperties2": self._fill_chain,
            "vkGetPhysicalDeviceFeatures": self._fill_features,
            "vkGetPhysicalDeviceFeatures2": self._fill_chain,
            "vkGetPhysicalDeviceMemoryProperties": self._fill_memory,
            "vkEnumerateDeviceExtensionProperties": self._list_extensions,
            "vkGetPhysicalDeviceQueueFamilyProperties": self._list_queue_families,
            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR": self._list_matrices,
        }
        self._functions = {name: _c_function(method) for name, method in methods.items()}

    def get_proc_address(self, _instance: int | None, name: bytes) -> int | None:
        function = None if name.decode() in self.missing else self._functions.get(name.decode())
        return None if function is None else ctypes.cast(function, c_void_p).value

    # --- the instance --------------------------------------------------------

    def _say_version(self, version: int) -> int:
        c_uint32.from_address(version).value = self.version
        return vk.SUCCESS

    def _list_no_extensions(self, _layer: int, count: int, records: int) -> int:
        return _fill(count, records, vk.ExtensionProperties, [])

    def _create_instance(self, _info: int, _allocator: int, instance: int) -> int:
        c_void_p.from_address(instance).value = 1000
        return self.result

    def _destroy_instance(self, _instance: int, _allocator: int) -> None:
        pass

    def _list_devices(self, _instance: int, count: int, records: int) -> int:
        handles = list(range(1, len(self.devices) + 1))
        c_uint32.from_address(count).value = len(handles)
        if records:
            packed = struct.pack(f"{len(handles)}P", *handles)
            ctypes.memmove(records, packed, len(packed))
        return self.list_result

    # --- a device ------------------------------------------------------------

    def _device(self, handle: int) -> FakeDevice:
        return self.devices[handle - 1]

    def _fill_properties(self, handle: int, properties: int) -> None:
        device, record = self._device(handle), vk.Properties.from_address(properties)
        record.apiVersion, record.driverVersion = device.api_version, device.driver_version
        record.vendorID, record.deviceType = device.vendor_id, device.device_type
        record.deviceName = device.name.encode()
        record.limits.timestampPeriod = 0.5
        record.limits.maxStorageBufferRange, record.limits.maxComputeSharedMemorySize = 2**31, 48 * 1024
        record.limits.maxComputeWorkGroupCount, record.limits.maxComputeWorkGroupSize = COUNTS, SIZES
        record.limits.maxComputeWorkGroupInvocations = 1024
        record.limits.minStorageBufferOffsetAlignment = 64

    def _fill_features(self, _handle: int, features: int) -> None:
        vk.Features.from_address(features).shaderInt64 = 1

    def _fill_memory(self, handle: int, memory: int) -> None:
        device, record = self._device(handle), vk.MemoryProperties.from_address(memory)
        record.memoryHeapCount, record.memoryTypeCount = len(device.heaps), len(device.memory_types)
        for i, (size, flags) in enumerate(device.heaps):
            record.memoryHeaps[i] = vk.MemoryHeap(size, flags)
        for i, (flags, heap) in enumerate(device.memory_types):
            record.memoryTypes[i] = vk.MemoryType(flags, heap)

    def _list_extensions(self, handle: int, _layer: int, count: int, records: int) -> int:
        found = [vk.ExtensionProperties(name.encode(), 1) for name in self._device(handle).extensions]
        return _fill(count, records, vk.ExtensionProperties, found)

    def _list_queue_families(self, handle: int, count: int, records: int) -> None:
        found = [
            vk.QueueFamilyProperties(flags, 1, bits) for flags, bits in self._device(handle).queue_families
        ]
        _fill(count, records, vk.QueueFamilyProperties, found)

    def _list_matrices(self, handle: int, count: int, records: int) -> int:
        kind = vk.CooperativeMatrixProperties
        if records and c_uint32.from_address(records).value != kind.STRUCTURE_TYPE:
            return -1
        found = [kind(kind.STRUCTURE_TYPE, None, *values) for values in self._device(handle).matrices]
        return _fill(count, records, kind, found)

    def _fill_chain(self, handle: int, head: int) -> None:
        kinds = {kind.STRUCTURE_TYPE: kind for kind in (*vk.PROPERTY_CHAIN, *vk.FEATURE_CHAIN)}
        asked, address = [], vk.Chainable.from_address(head).pNext
        while address:
            kind = kinds[vk.Chainable.from_address(address).sType]
            record = kind.from_address(address)
            for name, value in self._device(handle).chained.get(kind, {}).items():
                setattr(record, name, value)
            asked.append(kind.STRUCTURE_TYPE)
            address = record.pNext
        self.asked.append(asked)


def _c_function(method: Any) -> Any:
    """Make a method callable from C: every argument is a pointer or a handle."""
    arguments, answers = method.__code__.co_argcount - 1, method.__annotations__["return"] != "None"
    return ctypes.CFUNCTYPE(c_int32 if answers else None, *[c_void_p] * arguments)(method)


def _fill(count: int, records: int, kind: Any, found: list[Any]) -> int:
    """Answer as the specification wants it: the number, or as many records as there is room for."""
    room = c_uint32.from_address(count)
    if records:
        room.value = min(room.value, len(found))
        (kind * room.value).from_address(records)[:] = found[: room.value]
        return vk.SUCCESS if room.value == len(found) else vk.INCOMPLETE
    room.value = len(found)
    return vk.SUCCESS
