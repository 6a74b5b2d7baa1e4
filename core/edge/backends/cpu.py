"""PyTorch on the CPU: the reference. A model without torch source (.onnx) runs in ONNX Runtime there."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from typing import TYPE_CHECKING, ClassVar

import psutil

from core.edge.model_limits import memory_lacking
from core.edge.torch_source import source_of, torch_worker
from core.files import MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.edge.backend import Backend, EdgeTarget, Finding, Missing
    from core.edge.models import Precision, PreparedModel


class CpuBackend:
    """The same PyTorch as the reference, in a process of its own."""

    NAME: ClassVar[str] = "cpu"
    TITLE: ClassVar[str] = "PyTorch CPU"
    PACKAGES: ClassVar[tuple[str, ...]] = ("torch",)
    PRECISIONS: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")

    def missing(self) -> Missing | None:
        """Nothing: PyTorch is the interpreter's that was chosen, and its worker says if it has none."""
        return None

    def version(self) -> str | None:
        """Of PyTorch beside the program; a run says which one it used."""
        try:
            return metadata.version(self.PACKAGES[0])
        except metadata.PackageNotFoundError:
            return None

    def takes(self, target: EdgeTarget) -> bool:
        """The CPU alone."""
        return target.api == "CPU"

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        """Looks at the memory."""
        return memory_lacking(model, psutil.virtual_memory().total, "this machine")

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        """None."""
        return ()

    def worker(self, job: Path, interpreter: str) -> list[str]:
        """PyTorch under the user's interpreter, or ONNX Runtime under ours."""
        if source_of(job) == "onnx":
            return [sys.executable, os.fspath(MAIN), "_edge-worker", os.fspath(job)]
        return torch_worker(job, interpreter)


BACKEND: Backend = CpuBackend()
