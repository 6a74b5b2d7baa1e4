"""ONNX Runtime's WebGPU provider: Dawn over Vulkan on Linux, over Metal on a Mac."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar, Final

from core.edge.backend import Finding, Missing
from core.edge.model_limits import memory_lacking, tensors_over, types_lacking
from core.files import MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.edge.backend import Backend, EdgeTarget
    from core.edge.models import Precision, PreparedModel

DEFAULT_BINDING_BYTES: Final = 128 * 2**20
"""maxStorageBufferBindingSize that every WebGPU adapter has.

Source: WebGPU, W3C Candidate Recommendation, 3.6.2 Limits.
"""


class OrtWebGpuBackend:
    """The graph of the export, run by ONNX Runtime."""

    NAME: ClassVar[str] = "ort-webgpu"
    TITLE: ClassVar[str] = "ONNX Runtime WebGPU"
    PACKAGES: ClassVar[tuple[str, ...]] = ("onnxruntime-webgpu",)
    PRECISIONS: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")

    def missing(self) -> Missing | None:
        """Its wheel, which some platforms do not have."""
        if self.version() is not None:
            return None
        return Missing(
            message="ONNX Runtime WebGPU is not installed.",
            hint="pip install onnxruntime-webgpu (Linux x86-64, macOS and Windows have wheels), or use IREE.",
        )

    def version(self) -> str | None:
        """Of the wheel."""
        try:
            return metadata.version(self.PACKAGES[0])
        except metadata.PackageNotFoundError:
            return None

    def takes(self, target: EdgeTarget) -> bool:
        """GPUs, by either API."""
        return target.api in ("Vulkan", "Metal")

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        """Looks at bindings, at fp16, at data types that WebGPU has not, and at the memory."""
        findings = [*types_lacking(model, ("float64",), "WebGPU", fatal=False)]
        findings += self._bindings(model, target)
        if model.precision == "fp16" and target.vulkan is not None:
            numbers = target.vulkan.numbers
            if not numbers.fp16 or not numbers.storage_16_bit:
                findings.append(
                    Finding(
                        code="no_shader_f16",
                        fatal=True,
                        message=f"{target.name} lacks fp16 arithmetic or storage (WebGPU's shader-f16).",
                        hint="Run it in fp32.",
                    )
                )
        if target.vulkan is not None:
            near = [heap.size_bytes for heap in target.vulkan.heaps if heap.device_local]
            findings += memory_lacking(model, max(near, default=None), "the device's largest heap")
        elif target.metal is not None:
            there = target.metal.recommended_working_set_bytes
            findings += memory_lacking(model, there, "Metal's recommended working set")
        return findings

    def _bindings(self, model: PreparedModel, target: EdgeTarget) -> tuple[Finding, ...]:
        if target.vulkan is not None:
            limits = target.vulkan.limits
            # WebGPU binds what one shader reads, out of one buffer of one allocation.
            limit = min(
                each
                for each in (
                    limits.max_storage_buffer_range_bytes,
                    limits.max_buffer_bytes,
                    limits.max_allocation_bytes,
                )
                if each is not None
            )
            return tensors_over(model, limit, "what a WebGPU shader can bind on this device")
        if target.metal is not None and target.metal.max_buffer_bytes is not None:
            return tensors_over(model, target.metal.max_buffer_bytes, "Metal's largest buffer")
        return tensors_over(model, DEFAULT_BINDING_BYTES, "what every WebGPU adapter can bind")

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        """None: the runtime chooses the adapter itself."""
        return ()

    def worker(self, job: Path, interpreter: str) -> list[str]:
        """A command of the program's own."""
        return [sys.executable, os.fspath(MAIN), "_edge-worker", os.fspath(job)]


BACKEND: Backend = OrtWebGpuBackend()
