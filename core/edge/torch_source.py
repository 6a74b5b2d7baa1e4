"""Starting the model again in PyTorch, for the backends that run it there and not from its ONNX graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from core.edge.events import WorkerJob
from core.edge.models import ModelSource
from core.errors import DashboardError
from core.files import RESOURCES, printable

TORCH_WORKER: Final = RESOURCES / "edge" / "torch_worker.py"
REQUEST_FILE: Final = "request.json"
"""In a prepared folder: what the export was asked for."""


class _Spec(msgspec.Struct):
    source: ModelSource


class _Request(msgspec.Struct):
    spec: _Spec


def source_of(job: Path) -> ModelSource:
    """Returns where the model of a job came from.

    Raises:
        DashboardError: Its folder is not whole.
    """
    try:
        folder = Path(msgspec.json.decode(job.read_bytes(), type=WorkerJob).model_folder)
        return msgspec.json.decode((folder / REQUEST_FILE).read_bytes(), type=_Request).spec.source
    except (OSError, msgspec.DecodeError) as error:
        raise DashboardError(
            f"The exported model is not whole: {printable(str(error))}.", "Run it again; it is exported anew."
        ) from error


def torch_worker(job: Path, interpreter: str) -> list[str]:
    """The command that runs a job in PyTorch."""
    return [interpreter, os.fspath(TORCH_WORKER), os.fspath(job)]
