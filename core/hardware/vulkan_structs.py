"""Layouts and numbers of the Vulkan API that the probe needs, for ctypes; asks nothing.

Source: Vulkan specification 1.4 and vulkan_core.h (Vulkan-Headers 1.3.239;
VK_KHR_cooperative_matrix from 1.3.255; VK_KHR_shader_bfloat16 and
VK_EXT_shader_float8 as in 1.4.341): the structures and enumerations of the same
names. Names of fields are the specification's.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_float, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

SUCCESS, INCOMPLETE = 0, 5
RESULTS = {
    -1: "VK_ERROR_OUT_OF_HOST_MEMORY",
    -2: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
    -3: "VK_ERROR_INITIALIZATION_FAILED",
    -4: "VK_ERROR_DEVICE_LOST",
    -6: "VK_ERROR_LAYER_NOT_PRESENT",
    -7: "VK_ERROR_EXTENSION_NOT_PRESENT",
    -9: "VK_ERROR_INCOMPATIBLE_DRIVER",
    -13: "VK_ERROR_UNKNOWN",
}
"""VkResult."""
INITIALIZATION_FAILED, INCOMPATIBLE_DRIVER = -3, -9

TYPE_CPU = 4
Kind = Literal["discrete GPU", "integrated GPU", "virtual GPU", "CPU", "other"]
DEVICE_TYPES: dict[int, Kind] = {1: "integrated GPU", 2: "discrete GPU", 3: "virtual GPU", TYPE_CPU: "CPU"}
"""VkPhysicalDeviceType; 0 is "other"."""

DRIVER_SWIFTSHADER, DRIVER_LLVMPIPE = 10, 13
"""VkDriverId of drivers that compute on the CPU."""

VENDORS = {
    0x1002: "AMD",
    0x1010: "Imagination",
    0x106B: "Apple",
    0x10DE: "NVIDIA",
    0x13B5: "Arm",
    0x1414: "Microsoft",
    0x144D: "Samsung",
    0x14E4: "Broadcom",
    0x1AE0: "Google",
    0x5143: "Qualcomm",
    0x8086: "Intel",
    0x10001: "VeriSilicon",
    0x10005: "Mesa",
    0x10006: "PoCL",
}
"""PCI vendor ids and, from 0x10000, VkVendorId."""

HEAP_DEVICE_LOCAL = 1
"""VkMemoryHeapFlagBits."""

MEMORY_FLAGS = (
    (0x01, "device_local"),
    (0x02, "host_visible"),
    (0x04, "host_coherent"),
    (0x08, "host_cached"),
    (0x10, "lazily_allocated"),
    (0x20, "protected"),
)
"""VkMemoryPropertyFlagBits."""

QUEUE_COMPUTE = 2
"""VkQueueFlagBits."""

ENUMERATE_PORTABILITY = 1
"""VkInstanceCreateFlagBits of VK_KHR_portability_enumeration; without it the loader hides MoltenVK."""

COMPONENT_TYPES = {
    0: "fp16",
    1: "fp32",
    2: "fp64",
    3: "int8",
    4: "int16",
    5: "int32",
    6: "int64",
    7: "uint8",
    8: "uint16",
    9: "uint32",
    10: "uint64",
    1000141000: "bf16",
    1000491002: "fp8_e4m3",
    1000491003: "fp8_e5m2",
}
"""VkComponentTypeKHR."""

SCOPES = {1: "device", 2: "workgroup", 3: "subgroup", 5: "queue_family"}
"""VkScopeKHR."""


def version(major: int, minor: int) -> int:
    """Source: VK_MAKE_API_VERSION with variant 0 and patch 0."""
    return major << 22 | minor << 12


class ApplicationInfo(ctypes.Structure):
    """VkApplicationInfo."""

    _fields_ = (
        ("sType", c_uint32),
        ("pNext", c_void_p),
        ("pApplicationName", c_char_p),
        ("applicationVersion", c_uint32),
        ("pEngineName", c_char_p),
        ("engineVersion", c_uint32),
        ("apiVersion", c_uint32),
    )


class InstanceCreateInfo(ctypes.Structure):
    """VkInstanceCreateInfo."""

    _fields_ = (
        ("sType", c_uint32),
        ("pNext", c_void_p),
        ("flags", c_uint32),
        ("pApplicationInfo", ctypes.POINTER(ApplicationInfo)),
        ("enabledLayerCount", c_uint32),
        ("ppEnabledLayerNames", c_void_p),
        ("enabledExtensionCount", c_uint32),
        ("ppEnabledExtensionNames", ctypes.POINTER(c_char_p)),
    )


class ExtensionProperties(ctypes.Structure):
    """VkExtensionProperties."""

    _fields_ = (("extensionName", c_char * 256), ("specVersion", c_uint32))


class MemoryType(ctypes.Structure):
    """VkMemoryType."""

    _fields_ = (("propertyFlags", c_uint32), ("heapIndex", c_uint32))


class MemoryHeap(ctypes.Structure):
    """VkMemoryHeap."""

    _fields_ = (("size", c_uint64), ("flags", c_uint32))


class MemoryProperties(ctypes.Structure):
    """VkPhysicalDeviceMemoryProperties."""

    _fields_ = (
        ("memoryTypeCount", c_uint32),
        ("memoryTypes", MemoryType * 32),
        ("memoryHeapCount", c_uint32),
        ("memoryHeaps", MemoryHeap * 16),
    )


class QueueFamilyProperties(ctypes.Structure):
    """VkQueueFamilyProperties."""

    _fields_ = (
        ("queueFlags", c_uint32),
        ("queueCount", c_uint32),
        ("timestampValidBits", c_uint32),
        ("minImageTransferGranularity", c_uint32 * 3),
    )


class Limits(ctypes.Structure):
    """VkPhysicalDeviceLimits; stretches that the probe does not need are one field."""

    _fields_ = (
        ("maxImageDimension1D_to_maxUniformBufferRange", c_uint32 * 7),
        ("maxStorageBufferRange", c_uint32),
        ("maxPushConstantsSize", c_uint32),
        ("maxMemoryAllocationCount", c_uint32),
        ("maxSamplerAllocationCount", c_uint32),
        ("bufferImageGranularity", c_uint64),
        ("sparseAddressSpaceSize", c_uint64),
        ("maxBoundDescriptorSets_to_maxFragmentCombinedOutputResources", c_uint32 * 38),
        ("maxComputeSharedMemorySize", c_uint32),
        ("maxComputeWorkGroupCount", c_uint32 * 3),
        ("maxComputeWorkGroupInvocations", c_uint32),
        ("maxComputeWorkGroupSize", c_uint32 * 3),
        ("subPixelPrecisionBits_to_maxDrawIndirectCount", c_uint32 * 5),
        ("maxSamplerLodBias_and_Anisotropy", c_float * 2),
        ("maxViewports_and_Dimensions", c_uint32 * 3),
        ("viewportBoundsRange", c_float * 2),
        ("viewportSubPixelBits", c_uint32),
        ("minMemoryMapAlignment", c_size_t),
        ("minTexelBufferOffsetAlignment", c_uint64),
        ("minUniformBufferOffsetAlignment", c_uint64),
        ("minStorageBufferOffsetAlignment", c_uint64),
        ("minTexelOffset_to_maxTexelGatherOffset", c_int32 * 4),
        ("minInterpolationOffset_and_max", c_float * 2),
        ("subPixelInterpolationOffsetBits_to_maxSampleMaskWords", c_uint32 * 15),
        ("timestampComputeAndGraphics", c_uint32),
        ("timestampPeriod", c_float),
        ("maxClipDistances_to_discreteQueuePriorities", c_uint32 * 4),
        ("pointSizeRange_to_lineWidthGranularity", c_float * 6),
        ("strictLines_and_standardSampleLocations", c_uint32 * 2),
        ("optimalBufferCopyOffsetAlignment_to_nonCoherentAtomSize", c_uint64 * 3),
    )


class Properties(ctypes.Structure):
    """VkPhysicalDeviceProperties."""

    _fields_ = (
        ("apiVersion", c_uint32),
        ("driverVersion", c_uint32),
        ("vendorID", c_uint32),
        ("deviceID", c_uint32),
        ("deviceType", c_uint32),
        ("deviceName", c_char * 256),
        ("pipelineCacheUUID", c_uint8 * 16),
        ("limits", Limits),
        ("sparseProperties", c_uint32 * 5),
    )


class Features(ctypes.Structure):
    """VkPhysicalDeviceFeatures, the same way as ``Limits``."""

    _fields_ = (
        ("robustBufferAccess_to_shaderCullDistance", c_uint32 * 39),
        ("shaderFloat64", c_uint32),
        ("shaderInt64", c_uint32),
        ("shaderInt16", c_uint32),
        ("shaderResourceResidency_to_inheritedQueries", c_uint32 * 13),
    )


class Chainable(ctypes.Structure):
    """Beginning of what can be linked: its type (VkStructureType) and the address of the next one."""

    STRUCTURE_TYPE: int
    _fields_: ClassVar[Sequence[tuple[str, type[Any]]]] = (("sType", c_uint32), ("pNext", c_void_p))


class CooperativeMatrixProperties(Chainable):
    """VkCooperativeMatrixPropertiesKHR."""

    STRUCTURE_TYPE = 1000506001
    _fields_ = (
        ("MSize", c_uint32),
        ("NSize", c_uint32),
        ("KSize", c_uint32),
        ("AType", c_uint32),
        ("BType", c_uint32),
        ("CType", c_uint32),
        ("ResultType", c_uint32),
        ("saturatingAccumulation", c_uint32),
        ("scope", c_uint32),
    )


class Chained(Chainable):
    """What can be asked for beside ``Properties`` or ``Features``.

    Attributes:
        SINCE: Version of the API that has it without an extension; None if none.
        EXTENSION: The extension that brings it to older ones.
    """

    SINCE: int | None = None
    EXTENSION: str = ""

    @classmethod
    def is_known(cls, api_version: int, extensions: frozenset[str]) -> bool:
        """Tell whether a device may be asked for it."""
        return (cls.SINCE is not None and api_version >= cls.SINCE) or cls.EXTENSION in extensions


class IdProperties(Chained):
    """VkPhysicalDeviceIDProperties."""

    STRUCTURE_TYPE, SINCE = 1000071004, version(1, 1)
    _fields_ = (
        ("deviceUUID", c_uint8 * 16),
        ("driverUUID", c_uint8 * 16),
        ("deviceLUID", c_uint8 * 8),
        ("deviceNodeMask", c_uint32),
        ("deviceLUIDValid", c_uint32),
    )


class Maintenance3Properties(Chained):
    """VkPhysicalDeviceMaintenance3Properties."""

    STRUCTURE_TYPE, SINCE = 1000168000, version(1, 1)
    _fields_ = (("maxPerSetDescriptors", c_uint32), ("maxMemoryAllocationSize", c_uint64))


class SubgroupProperties(Chained):
    """VkPhysicalDeviceSubgroupProperties."""

    STRUCTURE_TYPE, SINCE = 1000094000, version(1, 1)
    _fields_ = (
        ("subgroupSize", c_uint32),
        ("supportedStages", c_uint32),
        ("supportedOperations", c_uint32),
        ("quadOperationsInAllStages", c_uint32),
    )


class DriverProperties(Chained):
    """VkPhysicalDeviceDriverProperties."""

    STRUCTURE_TYPE, SINCE, EXTENSION = 1000196000, version(1, 2), "VK_KHR_driver_properties"
    _fields_ = (
        ("driverID", c_uint32),
        ("driverName", c_char * 256),
        ("driverInfo", c_char * 256),
        ("conformanceVersion", c_uint8 * 4),
    )


class SubgroupSizeControlProperties(Chained):
    """VkPhysicalDeviceSubgroupSizeControlProperties."""

    STRUCTURE_TYPE, SINCE, EXTENSION = 1000225000, version(1, 3), "VK_EXT_subgroup_size_control"
    _fields_ = (
        ("minSubgroupSize", c_uint32),
        ("maxSubgroupSize", c_uint32),
        ("maxComputeWorkgroupSubgroups", c_uint32),
        ("requiredSubgroupSizeStages", c_uint32),
    )


class Maintenance4Properties(Chained):
    """VkPhysicalDeviceMaintenance4Properties."""

    STRUCTURE_TYPE, SINCE, EXTENSION = 1000413001, version(1, 3), "VK_KHR_maintenance4"
    _fields_ = (("maxBufferSize", c_uint64),)


class ExternalMemoryHostProperties(Chained):
    """VkPhysicalDeviceExternalMemoryHostPropertiesEXT."""

    STRUCTURE_TYPE, EXTENSION = 1000178002, "VK_EXT_external_memory_host"
    _fields_ = (("minImportedHostPointerAlignment", c_uint64),)


class Storage16Features(Chained):
    """VkPhysicalDevice16BitStorageFeatures."""

    STRUCTURE_TYPE, SINCE = 1000083000, version(1, 1)
    _fields_ = (
        ("storageBuffer16BitAccess", c_uint32),
        ("uniformAndStorageBuffer16BitAccess", c_uint32),
        ("storagePushConstant16", c_uint32),
        ("storageInputOutput16", c_uint32),
    )


class Storage8Features(Chained):
    """VkPhysicalDevice8BitStorageFeatures."""

    STRUCTURE_TYPE, SINCE, EXTENSION = 1000177000, version(1, 2), "VK_KHR_8bit_storage"
    _fields_ = (
        ("storageBuffer8BitAccess", c_uint32),
        ("uniformAndStorageBuffer8BitAccess", c_uint32),
        ("storagePushConstant8", c_uint32),
    )


class Float16Int8Features(Chained):
    """VkPhysicalDeviceShaderFloat16Int8Features."""

    STRUCTURE_TYPE, SINCE, EXTENSION = 1000082000, version(1, 2), "VK_KHR_shader_float16_int8"
    _fields_ = (("shaderFloat16", c_uint32), ("shaderInt8", c_uint32))


class IntegerDotProductFeatures(Chained):
    """VkPhysicalDeviceShaderIntegerDotProductFeatures."""

    STRUCTURE_TYPE, SINCE, EXTENSION = 1000280000, version(1, 3), "VK_KHR_shader_integer_dot_product"
    _fields_ = (("shaderIntegerDotProduct", c_uint32),)


class Bfloat16Features(Chained):
    """VkPhysicalDeviceShaderBfloat16FeaturesKHR."""

    STRUCTURE_TYPE, EXTENSION = 1000141000, "VK_KHR_shader_bfloat16"
    _fields_ = (
        ("shaderBFloat16Type", c_uint32),
        ("shaderBFloat16DotProduct", c_uint32),
        ("shaderBFloat16CooperativeMatrix", c_uint32),
    )


class Float8Features(Chained):
    """VkPhysicalDeviceShaderFloat8FeaturesEXT."""

    STRUCTURE_TYPE, EXTENSION = 1000567000, "VK_EXT_shader_float8"
    _fields_ = (("shaderFloat8", c_uint32), ("shaderFloat8CooperativeMatrix", c_uint32))


class CooperativeMatrixFeatures(Chained):
    """VkPhysicalDeviceCooperativeMatrixFeaturesKHR."""

    STRUCTURE_TYPE, EXTENSION = 1000506000, "VK_KHR_cooperative_matrix"
    _fields_ = (("cooperativeMatrix", c_uint32), ("cooperativeMatrixRobustBufferAccess", c_uint32))


class Properties2(Chainable):
    """VkPhysicalDeviceProperties2."""

    STRUCTURE_TYPE = 1000059001
    _fields_ = (("properties", Properties),)


class Features2(Chainable):
    """VkPhysicalDeviceFeatures2."""

    STRUCTURE_TYPE = 1000059000
    _fields_ = (("features", Features),)


PROPERTY_CHAIN: tuple[type[Chained], ...] = (
    IdProperties,
    Maintenance3Properties,
    SubgroupProperties,
    DriverProperties,
    SubgroupSizeControlProperties,
    Maintenance4Properties,
    ExternalMemoryHostProperties,
)

FEATURE_CHAIN: tuple[type[Chained], ...] = (
    Storage16Features,
    Storage8Features,
    Float16Int8Features,
    IntegerDotProductFeatures,
    Bfloat16Features,
    Float8Features,
    CooperativeMatrixFeatures,
)


def link(head: Chainable, chain: Sequence[Chainable]) -> None:
    """Make each structure name its type and point to the next one."""
    links = [head, *chain]
    for this, following in zip(links, [*links[1:], None], strict=True):
        this.sType = this.STRUCTURE_TYPE
        this.pNext = None if following is None else ctypes.addressof(following)
