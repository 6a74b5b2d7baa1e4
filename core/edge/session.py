"""A run on a device from beginning to end: export, preflight, the backend's worker, the judgement.

Whatever a backend or its driver does is a state of the result: a crash is a
sentence, a wrong answer has no speed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from core.edge.backends import all_backends
from core.edge.events import Began, Event, WorkerJob
from core.edge.judge import Heard, judge, with_facts
from core.edge.prepare import prepare_model
from core.edge.result import EdgeProblem, EdgeResult
from core.edge.timing import Roof
from core.errors import DashboardError
from core.files import app_folders, ensure_private_folder, printable
from core.hardware.peaks import DataType, find_device
from core.hardware.vulkan_manifests import driver_alone
from core.launch.tool_process import run_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.edge.backend import Backend, EdgeTarget, Finding
    from core.edge.models import ModelSpec, Precision, PreparedModel
    from core.edge.result import EdgeState
    from core.launch.tool_process import ToolEnd

Told = Callable[[str, str, float | None], None]
"""Gets the stage, words for people, and what share is done if that is known."""

TIME_LIMIT_S: Final = 3600.0
"""Of one worker: a large model on a device that is the CPU takes long."""

_MOST_LINE_BYTES: Final = 64 * 2**20
_MOST_LOG_BYTES: Final = 2**20
_STAGE_WORDS: Final = {
    "export": "exporting the model",
    "compile": "compiling",
    "load": "loading",
    "run": "running",
    "profile": "timing each dispatch",
    "ceilings": "measuring what the device reaches",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRequest:
    """A run that somebody asks for.

    Attributes:
        interpreter: The Python that exports the model and runs it in torch.
        profile: Whether each dispatch is timed, in a pass of its own.
        ceilings: Whether a product and a copy are measured by the same backend.
    """

    model: ModelSpec
    backend: str
    target: EdgeTarget
    precision: Precision = "fp32"
    interpreter: str = sys.executable
    profile: bool = True
    ceilings: bool = True


def backend_named(name: str) -> Backend:
    """Finds a backend.

    Raises:
        DashboardError: There is none of that name.
    """
    for backend in all_backends():
        if name == backend.NAME:
            return backend
    known = ", ".join(each.NAME for each in all_backends())
    raise DashboardError(f"There is no backend {printable(name)}.", f"Backends are: {known}.")


def run_edge(
    request: EdgeRequest,
    *,
    progress: Told | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> EdgeResult:
    """Runs a model on a device and judges the answer; takes seconds to many minutes.

    Returns:
        What came of it, also where the backend refused, crashed or was cancelled (see ``state``).

    Raises:
        DashboardError: It could not even be begun: the backend is not installed or does not reach
            that device, or the model cannot be exported.
    """
    backend = _usable(request)
    known = _known(request, backend)
    tell = progress or (lambda _stage, _words, _share: None)
    is_cancelled = cancelled or (lambda: False)
    try:
        prepared = prepare_model(
            request.model,
            request.precision,
            interpreter=request.interpreter,
            progress=lambda words, share: tell("export", words, share),
            cancelled=is_cancelled,
        )
    except DashboardError:
        if is_cancelled():
            return _ended(known, "cancelled", "cancelled", "It was cancelled while exporting the model.", "")
        raise
    folder, model = prepared.folder, prepared.model
    known = _with_model(known, model)
    if prepared.cached:
        known = msgspec.structs.replace(known, cached=("export",))
    findings = backend.preflight(model, request.target)
    known = msgspec.structs.replace(known, problems=(*known.problems, *map(_as_problem, findings)))
    if any(finding.fatal for finding in findings):
        return msgspec.structs.replace(known, state="refused")
    return _work(request, backend, known, folder, model, tell, is_cancelled)


def _usable(request: EdgeRequest) -> Backend:
    backend = backend_named(request.backend)
    missing = backend.missing()
    if missing is not None:
        raise DashboardError(missing.message, missing.hint)
    if not backend.takes(request.target):
        raise DashboardError(
            f"{backend.TITLE} does not reach {printable(request.target.name)} ({request.target.api}).",
            "Choose another device or another backend.",
        )
    if request.precision not in backend.PRECISIONS:
        raise DashboardError(
            f"{backend.TITLE} does not run {request.precision} here.",
            f"It offers {', '.join(backend.PRECISIONS)}.",
        )
    return backend


def _known(request: EdgeRequest, backend: Backend) -> EdgeResult:
    return EdgeResult(
        started_ns=time.time_ns(),
        state="failed",
        backend=backend.NAME,
        backend_version=backend.version(),
        device=request.target.name,
        device_key=request.target.key,
        software=request.target.software,
        model=request.model.target,
        precision=request.precision,
    )


def _with_model(known: EdgeResult, model: PreparedModel) -> EdgeResult:
    return msgspec.structs.replace(
        known,
        model=model.title,
        parameters=model.parameters,
        weight_bytes=model.weight_bytes,
        reference=model.reference,
        tokens=model.cases[0].tokens,
        export_s=model.export_s,
        reference_call_s=model.cases[0].reference_call_s,
        problems=tuple(EdgeProblem(code=code, message=message) for code, message in model.problems),
    )


def _as_problem(finding: Finding) -> EdgeProblem:
    return EdgeProblem(code=finding.code, message=finding.message, hint=finding.hint)


def _work(  # noqa: PLR0913, PLR0917  (what was found out so far)
    request: EdgeRequest,
    backend: Backend,
    known: EdgeResult,
    model_folder: Path,
    model: PreparedModel,
    tell: Told,
    cancelled: Callable[[], bool],
) -> EdgeResult:
    """Has the backend's worker do it, and judges what comes."""
    cache = ensure_private_folder(app_folders().cache / "edge")
    work_folder = Path(tempfile.mkdtemp(prefix="run-", dir=cache))
    lines = _Lines(tell)
    try:
        job = WorkerJob(
            backend=backend.NAME,
            device=request.target.key,
            device_uuid=None if request.target.vulkan is None else request.target.vulkan.uuid,
            model_folder=os.fspath(model_folder),
            precision=request.precision,
            work_folder=os.fspath(work_folder),
            cache_folder=os.fspath(cache),
            cases=tuple(case.name for case in model.cases),
            options=backend.options(request.target, request.precision),
            profile=request.profile,
            ceilings=request.ceilings,
        )
        job_file = work_folder / "job.json"
        job_file.write_bytes(msgspec.json.encode(job))
        ended = run_tool(
            backend.worker(job_file, request.interpreter),
            environment=_environment(request.target),
            working_folder=os.fspath(work_folder),
            timeout_s=TIME_LIMIT_S,
            most_bytes=_MOST_LOG_BYTES,
            cancelled=cancelled,
            heard=lines.hear,
        )
        heard = lines.heard
        if (bad := _not_done(with_facts(known, heard), heard, ended, lines.last_words)) is not None:
            return bad
        tell("judge", "comparing with the reference", None)
        return judge(known, heard, model, model_folder, work_folder, _sheet_roof(request))
    except DashboardError as error:
        return _ended(with_facts(known, lines.heard), "failed", "failed", error.message, error.hint)
    finally:
        shutil.rmtree(work_folder, ignore_errors=True)


def _environment(target: EdgeTarget) -> Mapping[str, str]:
    """Of the worker: where drivers had to be asked one by one, it finds its own driver only."""
    if target.vulkan is not None and target.vulkan.manifest is not None:
        return driver_alone(os.environ, Path(target.vulkan.manifest))
    return os.environ


def _not_done(known: EdgeResult, heard: Heard, ended: ToolEnd, last_words: str) -> EdgeResult | None:
    """What became of a worker that did not come to its end; None if it did."""
    doing = "" if heard.stage is None else f" while {_STAGE_WORDS[heard.stage]}"
    if ended.how == "cancelled":
        return _ended(known, "cancelled", "cancelled", f"It was cancelled{doing}.", "")
    if heard.refused is not None:
        refused = heard.refused
        return _ended(known, "refused", refused.code, refused.message, refused.hint)
    if ended.how == "time":
        limit = f"{TIME_LIMIT_S / 60:.0f} minutes"
        return _ended(
            known, "failed", "time", f"It was not done within {limit}{doing}.", "Choose a smaller model."
        )
    if heard.finished is not None and ended.code == 0:
        return None
    said = f" Its last words: {printable(last_words)}" if last_words else ""
    if ended.code is not None and ended.code < 0:
        known_signal = -ended.code in {int(each) for each in signal.Signals}
        name = signal.Signals(-ended.code).name if known_signal else f"signal {-ended.code}"
        hint = "The driver or the runtime crashed; nothing else was harmed. Update it, or use another device."
        return _ended(known, "failed", "crashed", f"The worker was ended by {name}{doing}.{said}", hint)
    how = "ended too early" if ended.code == 0 else f"ended with exit code {ended.code}"
    return _ended(
        known, "failed", "failed", f"The worker {how}{doing}.{said}", "Run it again with another backend."
    )


def _ended(known: EdgeResult, state: EdgeState, code: str, message: str, hint: str) -> EdgeResult:
    problem = EdgeProblem(code=code, message=message, hint=hint)
    return msgspec.structs.replace(known, state=state, problems=(*known.problems, problem))


def _sheet_roof(request: EdgeRequest) -> Roof | None:
    """The highest peak of the device's data sheet for this precision; None if it is in none."""
    types = (DataType.FP32, DataType.TF32) if request.precision == "fp32" else (DataType.FP16,)
    try:
        device = find_device(request.target.name)
    except DashboardError:
        return None  # the user's own file is broken; a measured product serves
    if device is None:
        return None
    peaks = [device.peak(each, unit) for each in types for unit in ("vector", "tensor")]
    figures = [peak.dense_flop_per_s.value for peak in peaks if peak is not None]
    return Roof(max(figures), "the data sheet's peak") if figures else None


class _Lines:
    """A worker's lines as they come, among what libraries print."""

    def __init__(self, tell: Told) -> None:
        self.heard = Heard()
        self.last_words = ""
        self._tell = tell
        self._rest = b""
        self._decoder = msgspec.json.Decoder(Event)

    def hear(self, data: bytes) -> None:
        """Takes the next piece of what was written."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_MOST_LINE_BYTES:]
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        if not line.startswith(b'{"event"'):
            if line.strip():
                self.last_words = line.decode(errors="replace").strip()[:300]
            return
        try:
            event = self._decoder.decode(line)
        except msgspec.DecodeError:
            self.last_words = line.decode(errors="replace")[:300]
            return
        self.heard.take(event)
        if isinstance(event, Began):
            words = event.words or _STAGE_WORDS[event.stage]
            self._tell(event.stage, f"{words} ({event.case})" if event.case else words, None)
