"""What is known of this machine: its GPUs, and the Python and torch that a launch would use.

Both are found out by child processes with a time limit, through ``Tasks``; this
object keeps the answers for all pages. What an interpreter said is kept over
restarts for as long as that interpreter does not change, because importing
torch takes seconds.
"""

from __future__ import annotations

import glob
import os
import sys
import time
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from core.hardware.probe import detect_devices
from core.hardware.readings import count_words
from core.launch.preflight import run_preflight
from core.launch.presets import Choice, choose_preset, tiny

if TYPE_CHECKING:
    from core.errors import DashboardError
    from core.hardware.probe import Devices
    from core.launch.preflight import Preflight
    from gui.settings import Settings
    from gui.tasks import Progress, Tasks

PROBE_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpreterFacts:
    """What a child of an interpreter said of itself.

    Attributes:
        stamp_ns: Of the interpreter's environment, to notice a change.
        checked_s: Unix time.
        cuda, nccl: "" where torch has none.
        warnings: What speaks against it without forbidding a launch.
    """

    interpreter: str
    stamp_ns: int
    checked_s: float
    python: str
    torch: str
    cuda: str
    nccl: str
    gloo: bool
    warnings: tuple[str, ...] = ()


class Machine(QObject):
    """Keeps what was found; ``detect`` and ``check_interpreter`` look again.

    Signals:
        changed: Something else is known, or a look has begun.
    """

    changed = Signal()

    def __init__(self, tasks: Tasks, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._settings = settings
        self._facts = _facts_from(settings.page_value("machine", "interpreter_facts"))
        self.devices: Devices | None = None
        self.devices_checked_s: float | None = None
        self.devices_error: DashboardError | None = None
        self.interpreter_error: DashboardError | None = None
        self.detecting = False
        self.checking = False

    @property
    def interpreter(self) -> str:
        """The Python that a launch uses unless another one is chosen."""
        chosen = self._settings.page_value("machine", "interpreter")
        return chosen if isinstance(chosen, str) and chosen else sys.executable

    def set_interpreter(self, path: str) -> None:
        """Chooses the Python for launches; "" is the one that runs this program."""
        self._settings.set_page_value("machine", "interpreter", path)
        self.interpreter_error = None
        self.check_interpreter()

    @property
    def facts(self) -> InterpreterFacts | None:
        """What is known of that Python; None if it changed since, or was never asked."""
        facts = self._facts
        if facts is None or facts.interpreter != self.interpreter:
            return None
        return facts if facts.stamp_ns == _stamp_ns(facts.interpreter) else None

    @property
    def choice(self) -> Choice:
        """What one click launches here, with its reason."""
        gpus = self.devices.gpus if self.devices is not None else ()
        facts = self.facts
        without_cuda = facts.torch if facts is not None and not facts.cuda else ""
        return choose_preset(gpus, self.interpreter, torch_without_cuda=without_cuda)

    def why_not_choose(self) -> str | None:
        """Why it is not known yet what one click should launch, or None."""
        return "GPUs are being looked for" if self.detecting and self.devices is None else None

    @property
    def gpu_count(self) -> int:
        """GPUs and slices that CUDA can run on, as far as is known."""
        return sum(gpu.computes for gpu in self.devices.gpus) if self.devices is not None else 0

    @property
    def where(self) -> str:
        """On what one click launches: "4 GPUs", "1 MIG slice", "4 CPU ranks"."""
        spec = self.choice.spec
        if spec.device == "cpu" or self.devices is None:
            return f"{spec.ranks} CPU ranks"
        return count_words([gpu for gpu in self.devices.gpus if gpu.uuid in (spec.gpus or ())])

    def detect(self, *, shown: bool = True) -> None:
        """Looks for GPUs in a child process."""

        def work(_: Progress) -> Devices:
            return detect_devices(timeout_s=PROBE_LIMIT_S)

        self._tasks.start(
            title="Detecting devices",
            work=work,
            done=self._detected,
            failed=self._detect_failed,
            cancelled=self._detect_cancelled,
            key="detect devices",
            shown=shown,
        )
        self.detecting = True
        self.changed.emit()

    def check_interpreter(self) -> None:
        """Asks the interpreter for its versions, in a child process."""
        interpreter = self.interpreter
        stamp_ns = _stamp_ns(interpreter)

        def work(progress: Progress) -> InterpreterFacts:
            answer = run_preflight(tiny(interpreter), cancelled=lambda: progress.cancelled)
            return _facts_of(interpreter, stamp_ns, answer)

        self._tasks.start(
            title="Checking Python and torch",
            work=work,
            done=self._checked,
            failed=self._check_failed,
            cancelled=self._check_cancelled,
            key="check interpreter",
        )
        self.checking = True
        self.changed.emit()

    def _detected(self, devices: Devices) -> None:
        self.detecting = False
        self.devices, self.devices_error = devices, None
        self.devices_checked_s = time.time()
        self.changed.emit()

    def _detect_failed(self, error: DashboardError) -> None:
        self.detecting = False
        self.devices_error = error
        self.changed.emit()

    def _detect_cancelled(self) -> None:
        self.detecting = False
        self.changed.emit()

    def _checked(self, facts: InterpreterFacts) -> None:
        self.checking = False
        self._facts, self.interpreter_error = facts, None
        self._settings.set_page_value("machine", "interpreter_facts", asdict(facts))
        self.changed.emit()

    def _check_failed(self, error: DashboardError) -> None:
        self.checking = False
        self.interpreter_error = error
        self.changed.emit()

    def _check_cancelled(self) -> None:
        self.checking = False
        self.changed.emit()


def _stamp_ns(interpreter: str) -> int:
    """A number that changes when packages of an interpreter's environment do; 0 if unknown."""
    library = os.path.join(os.path.dirname(os.path.dirname(interpreter)), "lib")
    # It may be of another version than this one.
    packages = os.path.join(glob.escape(library), "python3*", "site-packages")
    newest = 0
    for path in (interpreter, *glob.iglob(packages)):
        try:
            newest = max(newest, os.stat(path).st_mtime_ns)
        except OSError:
            continue
    return newest


def _facts_of(interpreter: str, stamp_ns: int, answer: Preflight) -> InterpreterFacts:
    return InterpreterFacts(
        interpreter=interpreter,
        stamp_ns=stamp_ns,
        checked_s=time.time(),
        python=answer.python,
        torch=answer.torch,
        cuda=answer.cuda or "",
        nccl=answer.nccl or "",
        gloo=answer.gloo,
        warnings=tuple(answer.warnings),
    )


def _facts_from(stored: Any) -> InterpreterFacts | None:
    """Facts out of the settings file, which may hold anything."""
    names = {field.name for field in fields(InterpreterFacts)}
    if not isinstance(stored, dict) or set(stored) != names:
        return None
    strings = all(
        isinstance(stored[name], str) for name in ("interpreter", "python", "torch", "cuda", "nccl")
    )
    warnings = stored["warnings"]
    if not strings or not isinstance(warnings, list) or not all(isinstance(line, str) for line in warnings):
        return None
    if not isinstance(stored["stamp_ns"], int) or not isinstance(stored["checked_s"], float):
        return None
    return InterpreterFacts(**{**stored, "gloo": stored["gloo"] is True, "warnings": tuple(warnings)})
