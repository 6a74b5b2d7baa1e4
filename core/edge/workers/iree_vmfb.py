"""Compiles one case for a device that is not here: leaves a program, and its weights, in the work folder."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.edge.events import Began, Ended, Finished
from core.edge.workers.iree_compile import Compiler, prepared_cases, versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.edge.events import Event, WorkerJob

PROGRAM: Final = "model.vmfb"
WEIGHTS: Final = "model.irpa"


def run(job: WorkerJob, tell: Callable[[Event], None]) -> None:
    """Does a job: its first case, with its options.

    Raises:
        RefusedError: IREE cannot compile it.
    """
    folder, work = Path(job.model_folder), Path(job.work_folder)
    case = prepared_cases(folder, job.cases[:1])[0]
    compiler = Compiler(Path(job.cache_folder) / "iree", job.device.partition(":")[0], job.options)
    tell(Began(stage="compile", case=case.name))
    start_s = time.perf_counter()
    compiled = compiler.compile_graph(folder / case.onnx)
    shutil.copyfile(compiled.program, work / PROGRAM)
    if compiled.weights is not None:
        shutil.copyfile(compiled.weights, work / WEIGHTS)
    seconds = time.perf_counter() - start_s
    tell(Ended(stage="compile", case=case.name, seconds=seconds, cached=compiled.cached))
    compiler.shrink()
    tell(Finished(backend_version=versions()[0]))
