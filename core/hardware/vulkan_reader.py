"""Asks the Vulkan loader what devices there are, through ctypes and without a dependency.

A broken driver ends whatever loads it: use in a child process only
(``core.hardware.vulkan_probe``). No device is opened, nothing is allocated on one.

Source: Vulkan specification 1.4, chapters Initialization, Devices and Queues,
Limits, Features; Vulkan-Loader, LoaderApplicationInterface.md.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_char_p, c_int32, c_uint32, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.errors import DashboardError
from core.hardware import vulkan_structs as vk
from core.hardware.vulkan import (
    CooperativeMatrix,
    VulkanDevice,
    VulkanHeap,
    VulkanLimits,
    VulkanMemoryType,
    VulkanNumbers,
    is_unified,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    GetProcAddress = Callable[[int | None, bytes], int | None]

LIBRARIES = {
    "linux": ("libvulkan.so.1",),
    "win32": ("vulkan-1.dll",),
    "darwin": ("libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"),
}
"""Names of the loader, the usual one first; MoltenVK also works without a loader."""

WANTED_VERSION = vk.version(1, 3)
PORTABILITY = b"VK_KHR_portability_enumeration"
COOPERATIVE_MATRIX = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
_TRIES = 4

Reason = Literal["no_vulkan_loader", "no_vulkan_driver", "vulkan_driver_failed"]


class VulkanUnavailableError(DashboardError):
    """There is no Vulkan here; ``reason`` is the code of the problem."""

    def __init__(self, reason: Reason, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.reason: Reason = reason


def load_library() -> GetProcAddress:
    """Load the Vulkan loader of this system.

    Returns:
        vkGetInstanceProcAddr.

    Raises:
        VulkanUnavailableError: There is none.
    """
    names = LIBRARIES.get(sys.platform, LIBRARIES["linux"])
    reasons = []
    for name in names:
        try:
            function = ctypes.CDLL(name).vkGetInstanceProcAddr
        except (OSError, AttributeError) as error:
            reasons.append(f"{name}: {error}")
        else:
            function.restype, function.argtypes = c_void_p, [c_void_p, c_char_p]
            get: GetProcAddress = function
            return get
    raise VulkanUnavailableError(
        "no_vulkan_loader",
        f"No Vulkan loader was found ({'; '.join(reasons)}).",
        "Install it with the driver of the GPU (Debian: libvulkan1); everything else works without it.",
    )


@dataclass(frozen=True, slots=True)
class _Device:
    """What must be known of a device before more can be asked."""

    handle: c_void_p
    api_version: int
    extensions: frozenset[str]


class VulkanReader:
    """The loader, and its instance once it is open. Use from one thread.

    Attributes:
        loader_version: Of the API that the loader speaks, "1.3.239".
    """

    def __init__(self, get_proc_address: GetProcAddress) -> None:
        self._get = get_proc_address
        self._instance = c_void_p()
        self._version = self._ask_version()
        self.loader_version = version_words(self._version)

    def open(self) -> None:
        """Have the loader load the drivers.

        Raises:
            VulkanUnavailableError: There is none, or none works.
        """
        self._instance = self._create_instance(min(self._version, WANTED_VERSION))

    def close(self) -> None:
        """Give the instance back."""
        self._call("vkDestroyInstance", None, self._instance, None)

    def list_devices(self) -> list[VulkanDevice]:
        """Describe each device, in the loader's order.

        Raises:
            VulkanUnavailableError: The drivers do not list their devices.
        """
        handles = self._enumerate("vkEnumeratePhysicalDevices", c_void_p, self._instance)
        if handles == vk.INITIALIZATION_FAILED:
            # How loader 1.3.239 says that no driver has a device.
            return []
        if isinstance(handles, int):
            raise _driver_failed("vkEnumeratePhysicalDevices", handles)
        return [self._describe(index, c_void_p(handle)) for index, handle in enumerate(handles)]

    # --- the instance --------------------------------------------------------

    def _ask_version(self) -> int:
        """Source: vkEnumerateInstanceVersion, absent from loaders of Vulkan 1.0."""
        version = c_uint32(vk.version(1, 0))
        if self._get(None, b"vkEnumerateInstanceVersion"):
            self._call("vkEnumerateInstanceVersion", c_int32, byref(version))
        return version.value

    def _create_instance(self, version: int) -> c_void_p:
        extensions = self._enumerate("vkEnumerateInstanceExtensionProperties", vk.ExtensionProperties, None)
        names = () if isinstance(extensions, int) else [each.extensionName for each in extensions]
        wanted = (c_char_p * 1)(PORTABILITY)
        count = int(PORTABILITY in names)
        application = vk.ApplicationInfo(pApplicationName=b"ridgeline", apiVersion=version)
        info = vk.InstanceCreateInfo(
            sType=1,
            flags=vk.ENUMERATE_PORTABILITY * count,
            pApplicationInfo=ctypes.pointer(application),
            enabledExtensionCount=count,
            ppEnabledExtensionNames=wanted,
        )
        instance = c_void_p()
        result = self._call("vkCreateInstance", c_int32, byref(info), None, byref(instance))
        if result == vk.INCOMPATIBLE_DRIVER:
            raise VulkanUnavailableError("no_vulkan_driver", "No Vulkan driver found")
        if result != vk.SUCCESS:
            raise _driver_failed("vkCreateInstance", result)
        return instance

    # --- one device ----------------------------------------------------------

    def _describe(self, index: int, handle: c_void_p) -> VulkanDevice:
        properties = vk.Properties()
        self._call("vkGetPhysicalDeviceProperties", None, handle, byref(properties))
        device = _Device(handle, properties.apiVersion, self._extensions(handle))
        facts = self._ask_chain("vkGetPhysicalDeviceProperties2", vk.Properties2(), vk.PROPERTY_CHAIN, device)
        driver = facts.get(vk.DriverProperties)
        name = text(properties.deviceName)
        kind = vk.DEVICE_TYPES.get(properties.deviceType, "other")
        heaps, memory_types = self._memory(handle)
        subgroup, sizes = facts.get(vk.SubgroupProperties), facts.get(vk.SubgroupSizeControlProperties)
        return VulkanDevice(
            index=index,
            name=name,
            uuid=bytes(facts[vk.IdProperties].deviceUUID).hex() if vk.IdProperties in facts else None,
            kind=kind,
            software=is_software(properties.deviceType, 0 if driver is None else driver.driverID, name),
            vendor=vk.VENDORS.get(properties.vendorID, f"0x{properties.vendorID:04x}"),
            vendor_id=properties.vendorID,
            device_id=properties.deviceID,
            driver_name=text(driver.driverName) or None if driver else None,
            driver_info=text(driver.driverInfo) or None if driver else None,
            driver_version=driver_version_words(properties.vendorID, properties.driverVersion),
            api_version=version_words(device.api_version),
            heaps=heaps,
            memory_types=memory_types,
            unified_memory=is_unified(kind, heaps, memory_types),
            subgroup_size=subgroup.subgroupSize or None if subgroup else None,
            subgroup_size_min=sizes.minSubgroupSize or None if sizes else None,
            subgroup_size_max=sizes.maxSubgroupSize or None if sizes else None,
            numbers=self._numbers(device),
            cooperative_matrices=self._cooperative_matrices(device),
            limits=_limits(properties.limits, facts),
            timestamp_period_ns=properties.limits.timestampPeriod,
            timestamp_valid_bits=self._timestamp_bits(handle),
        )

    def _extensions(self, handle: c_void_p) -> frozenset[str]:
        found = self._enumerate("vkEnumerateDeviceExtensionProperties", vk.ExtensionProperties, handle, None)
        return frozenset() if isinstance(found, int) else frozenset(text(e.extensionName) for e in found)

    def _ask_chain(
        self, call: str, head: vk.Chainable, kinds: Sequence[type[vk.Chained]], device: _Device
    ) -> dict[type[vk.Chained], Any]:
        """Fill those structures that the device knows; none of a device of Vulkan 1.0."""
        if device.api_version < vk.version(1, 1) or not self._get(self._instance.value, call.encode()):
            return {}
        chain = [kind() for kind in kinds if kind.is_known(device.api_version, device.extensions)]
        vk.link(head, chain)
        self._call(call, None, device.handle, byref(head))
        return {type(each): each for each in chain}

    def _memory(self, handle: c_void_p) -> tuple[tuple[VulkanHeap, ...], tuple[VulkanMemoryType, ...]]:
        memory = vk.MemoryProperties()
        self._call("vkGetPhysicalDeviceMemoryProperties", None, handle, byref(memory))
        heaps = tuple(
            VulkanHeap(size_bytes=heap.size, device_local=bool(heap.flags & vk.HEAP_DEVICE_LOCAL))
            for heap in memory.memoryHeaps[: memory.memoryHeapCount]
        )
        types = tuple(
            VulkanMemoryType(
                heap=each.heapIndex,
                flags=tuple(word for bit, word in vk.MEMORY_FLAGS if each.propertyFlags & bit),
            )
            for each in memory.memoryTypes[: memory.memoryTypeCount]
        )
        return heaps, types

    def _numbers(self, device: _Device) -> VulkanNumbers:
        features = vk.Features()
        self._call("vkGetPhysicalDeviceFeatures", None, device.handle, byref(features))
        more = self._ask_chain("vkGetPhysicalDeviceFeatures2", vk.Features2(), vk.FEATURE_CHAIN, device)

        def has(kind: type[vk.Chained], field: str) -> bool | None:
            return bool(getattr(more[kind], field)) if kind in more else None

        return VulkanNumbers(
            fp64=bool(features.shaderFloat64),
            int64=bool(features.shaderInt64),
            int16=bool(features.shaderInt16),
            fp16=has(vk.Float16Int8Features, "shaderFloat16"),
            int8=has(vk.Float16Int8Features, "shaderInt8"),
            int8_dot_product=has(vk.IntegerDotProductFeatures, "shaderIntegerDotProduct"),
            storage_16_bit=has(vk.Storage16Features, "storageBuffer16BitAccess"),
            storage_8_bit=has(vk.Storage8Features, "storageBuffer8BitAccess"),
            bf16=has(vk.Bfloat16Features, "shaderBFloat16Type"),
            bf16_dot_product=has(vk.Bfloat16Features, "shaderBFloat16DotProduct"),
            bf16_cooperative_matrix=has(vk.Bfloat16Features, "shaderBFloat16CooperativeMatrix"),
            fp8=has(vk.Float8Features, "shaderFloat8"),
            fp8_cooperative_matrix=has(vk.Float8Features, "shaderFloat8CooperativeMatrix"),
        )

    def _cooperative_matrices(self, device: _Device) -> tuple[CooperativeMatrix, ...]:
        if vk.CooperativeMatrixFeatures.EXTENSION not in device.extensions:
            return ()
        if not self._get(self._instance.value, COOPERATIVE_MATRIX.encode()):
            return ()
        found = self._enumerate(COOPERATIVE_MATRIX, vk.CooperativeMatrixProperties, device.handle)
        return () if isinstance(found, int) else tuple(cooperative_matrix(each) for each in found)

    def _timestamp_bits(self, handle: c_void_p) -> int | None:
        families = self._enumerate(
            "vkGetPhysicalDeviceQueueFamilyProperties", vk.QueueFamilyProperties, handle, answers=False
        )
        if isinstance(families, int):
            return None
        computing = (each for each in families if each.queueFlags & vk.QUEUE_COMPUTE)
        return next((each.timestampValidBits for each in computing), None)

    # --- calls ---------------------------------------------------------------

    def _call(self, name: str, result: Any, *arguments: object) -> Any:
        """Call a function of the loader by name.

        Raises:
            VulkanUnavailableError: The loader lacks it.
        """
        address = self._get(self._instance.value, name.encode())
        if not address:
            raise VulkanUnavailableError("vulkan_driver_failed", f"The Vulkan loader lacks {name}.")
        return ctypes.CFUNCTYPE(result, *[c_void_p] * len(arguments))(address)(
            *(ctypes.cast(each, c_void_p) if isinstance(each, _REFERENCE) else each for each in arguments)
        )

    def _enumerate(self, name: str, kind: Any, *arguments: object, answers: bool = True) -> list[Any] | int:
        """Ask twice, for the number and for the records; again where the number grew in between.

        Args:
            name: Of the function, whose last two arguments are the count and the array.
            kind: Of a record.
            arguments: Those before.
            answers: It returns a VkResult.

        Returns:
            The records, or the VkResult of a failure.
        """
        result_type = c_int32 if answers else None
        result = vk.INCOMPLETE
        for _ in range(_TRIES):
            count = c_uint32()
            result = self._call(name, result_type, *arguments, byref(count), None) or vk.SUCCESS
            if result != vk.SUCCESS:
                return int(result)
            records = (kind * count.value)()
            for record in records:
                if isinstance(record, vk.Chainable):
                    record.sType = record.STRUCTURE_TYPE
            result = self._call(name, result_type, *arguments, byref(count), byref(records)) or vk.SUCCESS
            if result == vk.SUCCESS:
                return list(records)[: count.value]
            if result != vk.INCOMPLETE:
                return int(result)
        return int(result)


_REFERENCE = type(byref(c_uint32()))


def cooperative_matrix(record: vk.CooperativeMatrixProperties) -> CooperativeMatrix:
    """Put one record of the driver in words; types that are not known keep their number."""

    def word(number: int) -> str:
        return vk.COMPONENT_TYPES.get(number, f"type {number}")

    return CooperativeMatrix(
        m=record.MSize,
        n=record.NSize,
        k=record.KSize,
        a=word(record.AType),
        b=word(record.BType),
        c=word(record.CType),
        result=word(record.ResultType),
        saturating=bool(record.saturatingAccumulation),
        scope=vk.SCOPES.get(record.scope, f"scope {record.scope}"),
    )


def is_software(device_type: int, driver_id: int, name: str) -> bool:
    """Tell whether a device computes on the CPU; through a virtual machine only its name still says so."""
    return (
        device_type == vk.TYPE_CPU
        or driver_id in (vk.DRIVER_LLVMPIPE, vk.DRIVER_SWIFTSHADER)
        or any(word in name.lower() for word in ("llvmpipe", "swiftshader"))
    )


def version_words(version: int) -> str:
    """Source: VK_API_VERSION_MAJOR, _MINOR and _PATCH."""
    return f"{version >> 22 & 0x7F}.{version >> 12 & 0x3FF}.{version & 0xFFF}"


def driver_version_words(vendor_id: int, version: int) -> str:
    """Write driverVersion as its vendor does; the specification leaves that open.

    Source: vulkan.gpuinfo.org, functions.php: NVIDIA 10.8.8.6 bits, Intel on
    Windows 18.14 bits, all others as a version of the API.
    """
    if vk.VENDORS.get(vendor_id) == "NVIDIA":
        parts = (version >> 22, version >> 14 & 0xFF, version >> 6 & 0xFF, version & 0x3F)
        return ".".join(str(part) for part in parts).removesuffix(".0")
    if vk.VENDORS.get(vendor_id) == "Intel" and sys.platform == "win32":
        return f"{version >> 14}.{version & 0x3FFF}"
    return f"{version >> 22}.{version >> 12 & 0x3FF}.{version & 0xFFF}"


def text(value: bytes) -> str:
    """Decode a name of the driver."""
    return value.decode(errors="replace").strip()


def _limits(limits: vk.Limits, facts: dict[type[vk.Chained], Any]) -> VulkanLimits:
    allocation, buffer = facts.get(vk.Maintenance3Properties), facts.get(vk.Maintenance4Properties)
    host = facts.get(vk.ExternalMemoryHostProperties)
    return VulkanLimits(
        max_allocation_bytes=allocation.maxMemoryAllocationSize or None if allocation else None,
        max_storage_buffer_range_bytes=limits.maxStorageBufferRange,
        max_buffer_bytes=buffer.maxBufferSize or None if buffer else None,
        max_shared_memory_bytes=limits.maxComputeSharedMemorySize,
        max_workgroup_count=_three(limits.maxComputeWorkGroupCount),
        max_workgroup_size=_three(limits.maxComputeWorkGroupSize),
        max_workgroup_invocations=limits.maxComputeWorkGroupInvocations,
        min_storage_buffer_alignment_bytes=limits.minStorageBufferOffsetAlignment,
        host_pointer_alignment_bytes=host.minImportedHostPointerAlignment or None if host else None,
    )


def _three(values: Any) -> tuple[int, int, int]:
    x, y, z = values
    return int(x), int(y), int(z)


def _driver_failed(call: str, result: int) -> VulkanUnavailableError:
    return VulkanUnavailableError(
        "vulkan_driver_failed",
        f"The Vulkan drivers failed: {call} answered {vk.RESULTS.get(result, result)}.",
        "Check `vulkaninfo --summary`, and that this user may use /dev/dri/render*.",
    )
