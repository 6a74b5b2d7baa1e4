"""Apple's MLX on Metal: MiniLLM written in it, with the weights that PyTorch has.

The conversion is checked on MLX's CPU; not yet run on a Mac.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar

from core.edge.backend import Missing
from core.edge.model_limits import memory_lacking, tensors_over
from core.files import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.edge.backend import Backend, EdgeTarget, Finding
    from core.edge.models import Precision, PreparedModel


class MlxBackend:
    """MiniLLM alone: MLX takes no graph of others, and its worker refuses other models."""

    NAME: ClassVar[str] = "mlx"
    TITLE: ClassVar[str] = "MLX"
    PACKAGES: ClassVar[tuple[str, ...]] = ("mlx",)
    PRECISIONS: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")

    def missing(self) -> Missing | None:
        """Metal, everywhere but on a Mac; whether the chosen interpreter has MLX is said by the worker."""
        if sys.platform == "darwin":
            return None
        return Missing(message="MLX needs macOS: it runs on Metal.", hint="Use IREE with Vulkan here.")

    def version(self) -> str | None:
        """Of MLX beside the program; a run says which one it used."""
        try:
            return metadata.version(self.PACKAGES[0])
        except metadata.PackageNotFoundError:
            return None

    def takes(self, target: EdgeTarget) -> bool:
        """Metal devices alone."""
        return target.api == "Metal"

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        """Looks at buffers and at the memory."""
        if target.metal is None:
            return ()
        there = target.metal.recommended_working_set_bytes
        return (
            *tensors_over(model, target.metal.max_buffer_bytes, "Metal's largest buffer"),
            *memory_lacking(model, there, "Metal's recommended working set"),
        )

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        """None."""
        return ()

    def worker(self, job: Path, interpreter: str) -> list[str]:
        """A script under the user's interpreter, which builds the model in PyTorch for its weights."""
        return [interpreter, os.fspath(RESOURCES / "edge" / "mlx_worker.py"), os.fspath(job)]


BACKEND: Backend = MlxBackend()
