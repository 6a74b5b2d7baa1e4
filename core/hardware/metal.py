"""What Metal says about a device, as data; asks nothing.

None is "not told" everywhere, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalDevice:
    """The GPU of a Mac.

    Attributes:
        index: Always 0 on Apple silicon.
        name: "Apple M3 Max".
        unified_memory: CPU and GPU share the memory.
        memory_bytes: Of the machine.
        recommended_working_set_bytes: MTLDevice.recommendedMaxWorkingSetSize: more than that may be slow.
        max_buffer_bytes: Of one buffer.
        architecture: "applegpu_g15s": the GPU's family and size.
        sources: Who was asked: "torch.backends.mps", "mlx".
    """

    index: int
    name: str
    unified_memory: bool | None
    memory_bytes: int | None
    recommended_working_set_bytes: int | None
    max_buffer_bytes: int | None
    architecture: str | None
    sources: tuple[str, ...]
