"""Runs a model in ONNX Runtime: on WebGPU (Dawn, over Vulkan, Metal or D3D12), or on its CPU.

Run alone in a process by ``main.py _edge-worker``. Where WebGPU has no adapter the
run goes on with the CPU and that is told, node by node: the session decides what
it is worth. Options of the provider are those of ONNX Runtime 1.27.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as bindings

from core.edge.events import Began, Called, Dispatched, Ended, Finished, Memory, Noted, Provided, Refused
from core.edge.models import PREPARED_FILE, PreparedModel
from core.edge.ort_profile import CPU, WEBGPU, last_call, providers_of, read_profile
from core.edge.workers.ort_ceilings import measure_ceilings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from core.edge.events import Event, WorkerJob
    from core.edge.models import PreparedCase

    Tell = Callable[[Event], None]

PROFILED_CALLS: Final = 3
_WARNINGS_AND_WORSE: Final = 2

# One class a status code, without a common base of their own.
_ERRORS: Final[tuple[type[Exception], ...]] = (
    RuntimeError,
    ValueError,
    *(each for each in vars(bindings).values() if isinstance(each, type) and issubclass(each, Exception)),
)


def run(job: WorkerJob, tell: Tell) -> None:
    """Does a job; an error of the runtime is told in its own words."""
    asked = CPU if job.backend == "cpu" else WEBGPU
    try:
        _Run(job, tell, asked).do()
    except _ERRORS as error:
        tell(
            Refused(
                code="onnxruntime",
                message=f"ONNX Runtime says: {_in_short(error)}",
                hint="Try fp32, or another backend.",
            )
        )


class _Run:
    """A job, and the provider that it really has."""

    def __init__(self, job: WorkerJob, tell: Tell, asked: str) -> None:
        self.job = job
        self.tell = tell
        self.asked = asked
        self.provider = asked
        self.folder = Path(job.model_folder)
        prepared = msgspec.json.decode((self.folder / PREPARED_FILE).read_bytes(), type=PreparedModel)
        self.cases = {case.name: case for case in prepared.cases}

    def do(self) -> None:
        """Runs each case, then the profile of the judged one, then what the provider reaches."""
        for name in self.job.cases:
            self._case(self.cases[name])
        self._profile(self.cases[self.job.cases[0]])
        self.tell(Memory(peak_bytes=_resident_peak_bytes()))
        if self.job.ceilings and self.provider == self.asked:
            self._ceilings()
        self.tell(Finished(backend_version=onnxruntime.__version__))

    def _case(self, case: PreparedCase) -> None:
        self.tell(Began(stage="load", case=case.name))
        start_s = time.perf_counter()
        session = self._session(self.folder / case.onnx)
        inputs = _inputs(self.folder / case.inputs)
        self.tell(Ended(stage="load", case=case.name, seconds=time.perf_counter() - start_s))
        self.tell(Began(stage="run", case=case.name))
        start_s = time.perf_counter()
        outputs, first_s, warm_s = self._calls(session, inputs)
        names = tuple(each.name for each in session.get_outputs())
        output = f"{case.name}-outputs.npz"
        np.savez(Path(self.job.work_folder) / output, **dict(zip(names, outputs, strict=True)))
        self.tell(Called(case=case.name, first_s=first_s, warm_s=warm_s, output=output, output_names=names))
        self.tell(Ended(stage="run", case=case.name, seconds=time.perf_counter() - start_s))

    def _calls(
        self, session: Any, inputs: Mapping[str, NDArray[Any]]
    ) -> tuple[list[NDArray[Any]], float, tuple[float, ...]]:
        """Calls a session; each call ends when its outputs are in the host's memory."""
        job = self.job
        start_s = time.perf_counter()
        outputs = session.run(None, inputs)
        first_s = time.perf_counter() - start_s
        for _ in range(job.warm_ups):
            session.run(None, inputs)
        warm_s: list[float] = []
        until_s = time.perf_counter() + job.budget_s
        while len(warm_s) < job.most_calls:
            if len(warm_s) >= job.fewest_calls and time.perf_counter() >= until_s:
                break
            start_s = time.perf_counter()
            outputs = session.run(None, inputs)
            warm_s.append(time.perf_counter() - start_s)
        return outputs, first_s, tuple(warm_s)

    def _session(self, model: Path | bytes, prefix: Path | None = None, *, optimized: bool = True) -> Any:
        """Opens a graph on the asked provider; where that cannot be had, on the CPU, and says so once."""
        if self.provider == self.asked:
            try:
                return _open(model, self.provider, prefix, optimized=optimized)
            except _ERRORS as error:
                if self.asked == CPU:
                    raise
                self.provider = CPU
                self.tell(
                    Noted(
                        code="no_adapter",
                        message=f"ONNX Runtime WebGPU does not take this device: {_in_short(error)}",
                        hint="It ran on the CPU instead. Update the driver, or use IREE.",
                    )
                )
        return _open(model, self.provider, prefix, optimized=optimized)

    def _profile(self, case: PreparedCase) -> None:
        """Finds out who runs the nodes, and what the device's clock says of its kernels."""
        self.tell(Began(stage="profile", case=case.name))
        start_s = time.perf_counter()
        session = self._session(self.folder / case.onnx, Path(self.job.work_folder) / "ort")
        inputs = _inputs(self.folder / case.inputs)
        for _ in range(PROFILED_CALLS):
            session.run(None, inputs)
        events = read_profile(Path(session.end_profiling()))
        self.tell(Provided(case=case.name, asked=self.asked, providers=providers_of(events)))
        if self.provider == WEBGPU:
            self._say_what_is_not_told()
            if self.job.profile:
                self._dispatches(case, last_call(events, PROFILED_CALLS))
        self.tell(Ended(stage="profile", case=case.name, seconds=time.perf_counter() - start_s))

    def _dispatches(self, case: PreparedCase, dispatches: tuple[Any, ...]) -> None:
        if dispatches:
            self.tell(Dispatched(case=case.name, dispatches=dispatches))
            return
        self.tell(
            Noted(
                code="no_dispatch_times",
                message="ONNX Runtime's profile has no kernel times by the device's clock.",
                hint="The adapter has no timestamp queries, or calls could not be told apart.",
            )
        )

    def _say_what_is_not_told(self) -> None:
        """Which adapter it is: 1.27 takes the one that Dawn puts first, and neither names nor chooses it.

        WORKAROUND(https://github.com/microsoft/onnxruntime/pull/32319): an option for it is proposed.
        """
        several = self.job.device.partition(":")[2] not in ("", "0")
        self.tell(
            Noted(
                code="adapter_not_chosen",
                message=(
                    "ONNX Runtime WebGPU takes the adapter that Dawn calls the fastest and does not name it"
                    + (": here are several, and it may be another one than was chosen." if several else ".")
                ),
                hint="Set VK_DRIVER_FILES to one driver's manifest to be sure." if several else "",
            )
        )

    def _ceilings(self) -> None:
        self.tell(Began(stage="ceilings"))
        start_s = time.perf_counter()
        for ceiling in measure_ceilings(
            lambda graph: self._session(graph, optimized=False), self.job.precision
        ):
            self.tell(ceiling)
        self.tell(Ended(stage="ceilings", seconds=time.perf_counter() - start_s))


def _open(model: Path | bytes, provider: str, prefix: Path | None, *, optimized: bool) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _WARNINGS_AND_WORSE
    if prefix is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(prefix)
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings: dict[str, str] = {}
    if provider == WEBGPU and sys.platform == "linux":
        settings["dawnBackendType"] = "Vulkan"
    # Without this the runtime goes on with the CPU by itself, and prints so at most.
    return onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model),
        options,
        providers=[(provider, settings)],
        enable_fallback=0,
    )


def _inputs(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _in_short(error: Exception) -> str:
    """What the runtime says, without the place in its own source that it begins with."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.rpartition(" was false. ")[2][:300]


def _resident_peak_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  (Windows has none)

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
