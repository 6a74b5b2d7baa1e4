"""The hidden command ``_edge-worker``: reads a job, has the backend's module do it, and writes its events."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from core.edge.events import Refused, WorkerJob
from core.edge.workers.refusal import RefusedError
from core.hardware.child import answering

if TYPE_CHECKING:
    from core.edge.events import Event

WORKERS: Final = {"iree": "iree", "iree-vmfb": "iree_vmfb", "ort-webgpu": "ort_webgpu", "cpu": "cpu"}
"""The module of each backend that runs in a process of ours, and of the export for phones."""


def run_worker(job_file: str) -> None:
    """Does a job; ends the process.

    What can be expected to go wrong is told as ``Refused``. A bug leaves its
    traceback on stderr and exit code 1.
    """
    with answering() as answer:

        def tell(event: Event) -> None:
            answer(msgspec.json.encode(event))

        try:
            job = msgspec.json.decode(Path(job_file).read_bytes(), type=WorkerJob)
            module = import_module(f"core.edge.workers.{WORKERS[job.backend]}")
        except (OSError, msgspec.DecodeError, KeyError) as error:
            tell(Refused(code="job", message=f"The job cannot be read: {error}.", hint="Run it again."))
        except ImportError as error:
            hint = "Install the program's dependencies again, or use another backend."
            tell(Refused(code="missing", message=f"The backend cannot be loaded: {error}.", hint=hint))
        else:
            try:
                module.run(job, tell)
            except RefusedError as error:
                tell(Refused(code=error.code, message=error.message, hint=error.hint))
    sys.stderr.flush()
    # All is told. A driver or runtime that crashes while Python takes its objects apart (IREE 3.13 does,
    # where a device goes before what lies on it) would make a failure of it.
    os._exit(0)
