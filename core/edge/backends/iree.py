"""IREE: the graph of the export, compiled ahead for Vulkan (SPIR-V), Metal or the CPU (LLVM)."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar, Final

import psutil

from core.edge.backend import Finding, Missing
from core.edge.model_limits import memory_lacking, tensors_over, types_lacking
from core.files import MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.edge.backend import Backend, EdgeTarget
    from core.edge.models import Precision, PreparedModel
    from core.hardware.vulkan import VulkanDevice


FP16_OPTIONS: Final = (
    "--iree-vulkan-target-features=spirv:v1.3,cap:Shader,cap:Float16,cap:StorageBuffer16BitAccess,"
    "ext:SPV_KHR_16bit_storage",
)
"""The generic target of IREE 3.13 (spirv:v1.3,cap:Shader) with shaderFloat16 and storageBuffer16BitAccess."""


class IreeBackend:
    """The one that reaches every target."""

    NAME: ClassVar[str] = "iree"
    TITLE: ClassVar[str] = "IREE"
    PACKAGES: ClassVar[tuple[str, ...]] = ("iree-base-compiler", "iree-base-runtime", "onnx")
    PRECISIONS: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")

    def missing(self) -> Missing | None:
        """Its wheels."""
        lacking = [name for name in self.PACKAGES if _version(name) is None]
        if not lacking:
            return None
        return Missing(
            message=f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not installed.",
            hint=f"pip install {' '.join(lacking)}",
        )

    def version(self) -> str | None:
        """Of the compiler."""
        return _version(self.PACKAGES[0])

    def takes(self, target: EdgeTarget) -> bool:
        """Vulkan, but on a Mac, whose wheel has Metal instead; and the CPU."""
        if target.api == "CPU":
            return True
        return target.api == ("Metal" if sys.platform == "darwin" else "Vulkan")

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        """Looks at bindings, allocations, data types and the memory."""
        if target.vulkan is not None:
            return _vulkan_findings(model, target.vulkan)
        if target.metal is not None:
            metal = target.metal
            return (
                *types_lacking(model, ("float64",), "Metal"),
                *tensors_over(model, metal.max_buffer_bytes, "Metal's largest buffer"),
                *memory_lacking(
                    model, metal.recommended_working_set_bytes, "Metal's recommended working set"
                ),
            )
        return memory_lacking(model, psutil.virtual_memory().total, "this machine")

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        """For fp16 on Vulkan what its SPIR-V needs, if the device was found to have it; nothing else.

        A specific target (``--iree-vulkan-target``) that does not fit gives wrong numbers in silence.
        """
        if precision != "fp16" or target.vulkan is None:
            return ()
        numbers = target.vulkan.numbers
        return FP16_OPTIONS if numbers.fp16 and numbers.storage_16_bit else ()

    def worker(self, job: Path, interpreter: str) -> list[str]:
        """A command of the program's own."""
        return [sys.executable, os.fspath(MAIN), "_edge-worker", os.fspath(job)]


def _vulkan_findings(model: PreparedModel, device: VulkanDevice) -> tuple[Finding, ...]:
    limits, numbers = device.limits, device.numbers
    # A weight is a buffer and a binding of its own, and so is what an operator gives.
    findings = [*tensors_over(model, limits.max_storage_buffer_range_bytes, "maxStorageBufferRange")]
    if not findings:
        findings += tensors_over(model, limits.max_allocation_bytes, "maxMemoryAllocationSize")
    if not numbers.fp64:
        findings += types_lacking(model, ("float64",), device.name)
    if model.precision == "fp16":
        lacking = [
            words
            for words, there in (
                ("fp16 arithmetic (shaderFloat16)", numbers.fp16),
                ("fp16 in buffers (storageBuffer16BitAccess)", numbers.storage_16_bit),
            )
            if there is False
        ]
        if lacking:
            findings.append(
                Finding(
                    code="type_lacking",
                    fatal=True,
                    message=f"{device.name} has no {' and no '.join(lacking)}.",
                    hint="Run it in fp32.",
                )
            )
    near = [heap.size_bytes for heap in device.heaps if heap.device_local]
    findings += memory_lacking(model, max(near, default=None), "the device's largest heap")
    return tuple(findings)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


BACKEND: Backend = IreeBackend()
