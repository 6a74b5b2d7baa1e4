"""What Vulkan says about devices, as data; asks nothing (``core.hardware.vulkan_reader`` fills it in).

None is "the driver does not say" everywhere, never 0. Sizes are bytes as the
driver reports them.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.hardware.probe import DeviceProblem
from core.hardware.vulkan_structs import Kind

_PREFERENCE: dict[str, int] = {"discrete GPU": 0, "integrated GPU": 1, "virtual GPU": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class VulkanHeap:
    """A heap of memory; ``device_local`` is what Vulkan calls near to the device."""

    size_bytes: int
    device_local: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VulkanMemoryType:
    """A way to use a heap; ``flags`` are words of ``vulkan_structs.MEMORY_FLAGS``."""

    heap: int
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VulkanNumbers:
    """Which numbers shaders can compute with (arithmetic) and keep in buffers (storage).

    None: the driver knows neither the version of Vulkan nor the extension that would tell.

    Attributes:
        int8_dot_product: Has VK_KHR_shader_integer_dot_product; it need not be fast.
        bf16, fp8: As a type of shaders.
    """

    fp64: bool = False
    int64: bool = False
    int16: bool = False
    fp16: bool | None = None
    int8: bool | None = None
    int8_dot_product: bool | None = None
    storage_16_bit: bool | None = None
    storage_8_bit: bool | None = None
    bf16: bool | None = None
    bf16_dot_product: bool | None = None
    bf16_cooperative_matrix: bool | None = None
    fp8: bool | None = None
    fp8_cooperative_matrix: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CooperativeMatrix:
    """A product D = A (m x k) B (k x n) + C (m x n) that a scope of invocations computes together.

    Attributes:
        a, b, c, result: Words of ``vulkan_structs.COMPONENT_TYPES``, or "type N".
        saturating: Integer sums stop at the largest value.
        scope: "subgroup" on nearly all devices.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    result: str
    saturating: bool
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VulkanLimits:
    """What a single use may not exceed.

    Attributes:
        max_allocation_bytes: Of one allocation, however much memory is free.
        max_storage_buffer_range_bytes: Of what one binding of a shader reaches.
        max_buffer_bytes: Of one buffer.
        max_shared_memory_bytes: Of one workgroup.
        min_storage_buffer_alignment_bytes: Of the offset of a binding.
        host_pointer_alignment_bytes: Of memory of the host that is used in place
            (VK_EXT_external_memory_host); None if that cannot be done.
    """

    max_allocation_bytes: int | None
    max_storage_buffer_range_bytes: int
    max_buffer_bytes: int | None
    max_shared_memory_bytes: int
    max_workgroup_count: tuple[int, int, int]
    max_workgroup_size: tuple[int, int, int]
    max_workgroup_invocations: int
    min_storage_buffer_alignment_bytes: int
    host_pointer_alignment_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VulkanDevice:
    """A physical device.

    Attributes:
        index: In the loader's order; of the whole list where drivers were asked one by one.
        uuid: Of the device, 32 hex digits; NVIDIA's is that of NVML.
        vendor: A name, or the number "0x1234".
        software: Computes on the CPU, whatever its kind says.
        driver_version: As this vendor writes it.
        unified_memory: CPU and device share the memory, so that nothing need be
            copied. Software devices look like that too: see ``software``.
        subgroup_size: Its default; min and max where a shader may choose.
        timestamp_period_ns: Of one tick; a timestamp counts ``timestamp_valid_bits``
            bits (of the first queue family that computes; 0: it has no timestamps).
        cooperative_matrices: Empty without VK_KHR_cooperative_matrix.
        manifest: Of the driver, where drivers were asked one by one.
    """

    index: int
    name: str
    uuid: str | None
    kind: Kind
    software: bool
    vendor: str
    vendor_id: int
    device_id: int
    driver_name: str | None
    driver_info: str | None
    driver_version: str
    api_version: str
    heaps: tuple[VulkanHeap, ...]
    memory_types: tuple[VulkanMemoryType, ...]
    unified_memory: bool
    subgroup_size: int | None
    subgroup_size_min: int | None
    subgroup_size_max: int | None
    numbers: VulkanNumbers
    cooperative_matrices: tuple[CooperativeMatrix, ...]
    limits: VulkanLimits
    timestamp_period_ns: float
    timestamp_valid_bits: int | None
    manifest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VulkanDevices:
    """What was found.

    Attributes:
        loader_version: Of the API that the loader speaks; None without one.
    """

    devices: tuple[VulkanDevice, ...] = ()
    problems: tuple[DeviceProblem, ...] = ()
    loader_version: str | None = None

    @property
    def default(self) -> VulkanDevice | None:
        """What is used if nobody chooses: no software device where there is another one."""
        return min(self.devices, key=_rank, default=None)


def _rank(device: VulkanDevice) -> tuple[bool, int, int]:
    return device.software, _PREFERENCE.get(device.kind, len(_PREFERENCE)), device.index


def is_unified(kind: str, heaps: tuple[VulkanHeap, ...], memory_types: tuple[VulkanMemoryType, ...]) -> bool:
    """Tell whether CPU and device share the memory.

    A discrete GPU whose whole memory the CPU can reach (resizable BAR) does not;
    an integrated one does even where its driver splits the memory into heaps.
    """
    mapped = any({"device_local", "host_visible"} <= set(each.flags) for each in memory_types)
    one_memory = kind != "discrete GPU" and all(heap.device_local for heap in heaps)
    return mapped and (one_memory or kind == "integrated GPU")
