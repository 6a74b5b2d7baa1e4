"""Runs a model in IREE: compiled for Vulkan (SPIR-V), Metal or the CPU (LLVM), each case a program.

Run alone in a process by ``main.py _edge-worker``. Compiling, calls, the profile
and the ceilings are in the modules beside this one.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from core.edge.events import Began, Called, Dispatched, Ended, Finished, Memory, Noted
from core.edge.workers.iree_ceilings import measure_ceilings
from core.edge.workers.iree_compile import Compiler, prepared_cases, versions
from core.edge.workers.iree_profile import OneCall, profile_calls
from core.edge.workers.iree_run import (
    Device,
    Program,
    call_repeatedly,
    inputs_of,
    outputs_of,
    resident_peak_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.edge.events import Event, Stage, WorkerJob
    from core.edge.models import PreparedCase
    from core.edge.workers.iree_compile import Compiled

    Tell = Callable[[Event], None]


def run(job: WorkerJob, tell: Tell) -> None:
    """Does a job.

    Raises:
        RefusedError: IREE cannot compile or run it, or does not find the device.
    """
    _Run(job, tell).do()


class _Run:
    """A job: every case, then the profile of the judged one, then what the device reaches."""

    def __init__(self, job: WorkerJob, tell: Tell) -> None:
        self._job = job
        self._tell = tell
        self._folder = Path(job.model_folder)
        self._work = Path(job.work_folder)
        self._kind = job.device.partition(":")[0]
        self._called: dict[str, tuple[str, float]] = {}
        """The function of each case, and what a warm call of it took."""
        self._compiler = Compiler(Path(job.cache_folder) / "iree", self._kind, job.options)

    def do(self) -> None:
        """Tells all events of the job."""
        job = self._job
        # Before minutes of compiling for a device that is not there.
        device = Device(job.device, job.device_uuid)
        cases = prepared_cases(self._folder, job.cases)
        programs = [self._compile(case) for case in cases]
        moved = [self._run(device, case, compiled) for case, compiled in zip(cases, programs, strict=True)]
        memory = Memory(
            peak_bytes=resident_peak_bytes(),
            copied_bytes=_most([copied for copied, _ in moved]),
            mapped_bytes=_most([mapped for _, mapped in moved]),
        )
        self._tell(memory)
        if job.profile:
            peak_bytes = self._profile(device, cases[0], programs[0])
            self._tell(msgspec.structs.replace(memory, device_peak_bytes=peak_bytes))
        if job.ceilings:
            self._ceilings(device)
        self._compiler.shrink()
        self._tell(Finished(backend_version=versions()[0], device_name=device.name))

    @contextmanager
    def _stage(self, stage: Stage, case: str = "", words: str = "") -> Iterator[None]:
        self._tell(Began(stage=stage, case=case, words=words))
        start_s = time.perf_counter()
        yield
        self._tell(Ended(stage=stage, case=case, seconds=time.perf_counter() - start_s))

    def _compile(self, case: PreparedCase) -> Compiled:
        self._tell(Began(stage="compile", case=case.name))
        start_s = time.perf_counter()
        compiled = self._compiler.compile_graph(self._folder / case.onnx)
        seconds = time.perf_counter() - start_s
        self._tell(Ended(stage="compile", case=case.name, seconds=seconds, cached=compiled.cached))
        return compiled

    def _run(self, device: Device, case: PreparedCase, compiled: Compiled) -> tuple[int | None, int | None]:
        """Runs a case; returns how many bytes were copied to the device, and how many it reads in place."""
        graph = self._folder / case.onnx
        with self._stage("load", case.name):
            program = Program(device, compiled)
            arrays = inputs_of(graph, self._folder / case.inputs)
            inputs = [device.put(each) for each in arrays]
        with self._stage("run", case.name):
            outputs, first_s, warm_s = call_repeatedly(program, inputs, self._job)
            self._called[case.name] = program.function, min(warm_s)
            names = outputs_of(graph)
            output = f"{case.name}-outputs.npz"
            np.savez(self._work / output, *(device.take(each) for each in outputs))
            self._tell(
                Called(case=case.name, first_s=first_s, warm_s=warm_s, output=output, output_names=names)
            )
        del inputs, outputs
        program.close()
        weights = compiled.weights.stat().st_size if compiled.weights else 0
        inputs_bytes = sum(each.nbytes for each in arrays)
        if self._kind == "metal":
            return None, None  # nothing tells which of the two it does there
        # On the CPU IREE 3.13 takes no memory for weights; on Vulkan its pools grow by their size.
        return (inputs_bytes, weights) if self._kind == "cpu" else (inputs_bytes + weights, 0)

    def _profile(self, device: Device, case: PreparedCase, compiled: Compiled) -> int | None:
        """Tells the dispatches; returns the most memory that was taken from the device."""
        with self._stage("profile", case.name):
            function, seconds = self._called[case.name]
            inputs = inputs_of(self._folder / case.onnx, self._folder / case.inputs)
            call = OneCall(compiled=compiled, function=function, inputs=inputs, seconds=seconds)
            profile = profile_calls(device.uri, call, self._work)
            if profile.dispatches:
                self._tell(Dispatched(case=case.name, dispatches=profile.dispatches))
            else:
                self._tell(
                    Noted(
                        code="no_dispatch_times",
                        message=f"There is no time of each dispatch: {profile.why_none}.",
                        hint="Times of whole calls are not touched by it.",
                    )
                )
        return profile.device_peak_bytes

    def _ceilings(self, device: Device) -> None:
        with self._stage("ceilings"):
            for event in measure_ceilings(device, self._compiler, self._job.precision):
                self._tell(event)


def _most(sizes: list[int | None]) -> int | None:
    return max((each for each in sizes if each is not None), default=None)
