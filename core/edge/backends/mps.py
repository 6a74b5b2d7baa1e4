"""PyTorch's own backend for the GPU of a Mac: Metal Performance Shaders.

Written against PyTorch's documentation; not yet run on a Mac.
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar, Final

from core.edge.backend import Missing
from core.edge.model_limits import memory_lacking, tensors_over, types_lacking
from core.edge.torch_source import torch_worker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.edge.backend import Backend, EdgeTarget, Finding
    from core.edge.models import Precision, PreparedModel

LACKING: Final = ("complex128", "float64")
"""Source: PyTorch, "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support
float64"; shaders of Metal have no double (Metal Shading Language Specification 3.2, 2.1)."""


class MpsBackend:
    """The same model, in the PyTorch of the user's interpreter."""

    NAME: ClassVar[str] = "mps"
    TITLE: ClassVar[str] = "PyTorch MPS"
    PACKAGES: ClassVar[tuple[str, ...]] = ("torch",)
    PRECISIONS: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")

    def missing(self) -> Missing | None:
        """Metal, everywhere but on a Mac."""
        if sys.platform == "darwin":
            return None
        return Missing(
            message="PyTorch MPS needs macOS: it runs on Metal.", hint="Use IREE with Vulkan here."
        )

    def version(self) -> str | None:
        """Of PyTorch beside the program; a run says which one it used."""
        try:
            return metadata.version(self.PACKAGES[0])
        except metadata.PackageNotFoundError:
            return None

    def takes(self, target: EdgeTarget) -> bool:
        """Metal devices alone."""
        return target.api == "Metal"

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        """Looks at data types that Metal has not, at buffers, and at the memory."""
        findings = [*types_lacking(model, LACKING, "Metal")]
        if target.metal is not None:
            findings += tensors_over(model, target.metal.max_buffer_bytes, "Metal's largest buffer")
            there = target.metal.recommended_working_set_bytes
            findings += memory_lacking(model, there, "Metal's recommended working set")
        return findings

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        """None."""
        return ()

    def worker(self, job: Path, interpreter: str) -> list[str]:
        """PyTorch under the user's interpreter."""
        return torch_worker(job, interpreter)


BACKEND: Backend = MpsBackend()
