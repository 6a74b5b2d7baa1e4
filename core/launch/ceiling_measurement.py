"""Measuring the ceilings of a device, in a child of the interpreter that the user's jobs run with.

This process imports no torch, and a driver that hangs takes only the child with it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from core.errors import DashboardError
from core.files import RESOURCES, printable
from core.launch.command import job_environment
from core.launch.tool_process import ToolEnd, run_tool
from core.roofline.measurement import MeasuredRate, Measurement, is_plausible, keep_measurement
from core.runs.job import JobSpec

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT: Final = RESOURCES / "measurement" / "measurement.py"
BUDGET_S: Final = 9.0
"""The import of PyTorch counts, unless it takes more than half of it."""

_START_LIMIT_S: Final = 90.0
"""The first import of torch after an installation is slow."""

_MOST_BYTES: Final = 2**20
_WORDS: Final = {"copy": "Copying memory", "importing torch": "Importing PyTorch"}
_PARTS: Final = ("copy", "fp32", "tf32", "fp16", "bf16", "fp64", "fp8")
"""What the script measures or refuses, in its order."""
_CRASHES: Final = frozenset(
    (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
)
"""Signals by which a library ends its own process."""


@dataclass(frozen=True, slots=True)
class _Begin:
    """What is done from now on; of what is measured also the place among all."""

    what: str
    number: int | None = None
    whole: int | None = None


@dataclass(frozen=True, slots=True)
class _Device:
    title: str
    torch: str
    capability: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Refused:
    type: str
    why: str


@dataclass(frozen=True, slots=True)
class _Raised:
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class _End:
    """Nothing more comes: all was measured or refused."""


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A line of one of these kinds that lacks something."""

    kind: str


_Answer = _Begin | _Device | MeasuredRate | _Refused | _Raised | _End | _Unreadable
_KINDS: Final[dict[str, type[_Answer]]] = {
    "begin": _Begin,
    "device": _Device,
    "rate": MeasuredRate,
    "refused": _Refused,
    "raised": _Raised,
    "end": _End,
}


def measure_ceilings(
    interpreter: str,
    device: str,
    *,
    budget_s: float = BUDGET_S,
    progress: Callable[[float, float | None, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Measurement:
    """Measures a device and keeps what was reached.

    Where PyTorch crashes at a data type, all is measured again without it: it is refused then, by its signal.

    Args:
        interpreter: Path of a Python with PyTorch 2.4 or newer.
        device: "cuda:0" by the number of nvidia-smi, "mps" or "cpu".
        budget_s: How long to measure; more is taken only if importing PyTorch takes half of it.
        progress: Gets what is done, of how many parts, and what is measured now.
        cancelled: Asked ten times a second; True ends it.

    Raises:
        DashboardError: None is named, it cannot be started, has no PyTorch or no such device, took
            too long, was cancelled, ended before its end, gave what is no answer, or nothing could
            be measured. Nothing is kept then: a part must not replace what was measured whole.
    """
    if not interpreter.strip():
        raise DashboardError(
            "No interpreter is named to measure with.",
            "Choose the interpreter of your environment as the one of jobs.",
        )
    kind = device.split(":", maxsplit=1)[0]
    skipped: dict[str, str] = {}
    while True:
        answers: list[_Answer] = []
        request = {"device": device, "budget_s": budget_s, "skipped": skipped}
        ended = _run(interpreter, request, kind, _Lines(answers, progress), cancelled)
        crashed = _crashed_at(answers, ended)
        if crashed is None or crashed in skipped:
            break
        skipped[crashed] = f"PyTorch ended{_how_it_ended(ended)} there"
    if ended.how == "cancelled":
        raise DashboardError("The measurement was cancelled.", "Measure again to repeat it.")
    unreadable = next((each for each in answers if isinstance(each, _Unreadable)), None)
    if unreadable is not None:
        raise DashboardError(
            f'{printable(interpreter)} gave an answer that cannot be read: its "{unreadable.kind}" line '
            "is not complete.",
            "Check that this is the Python of your environment, and measure again.",
        )
    found = _measurement(answers, kind)
    if found is None or not found.rates:
        raise _nothing(answers, interpreter, device, ended)
    if ended.how != "itself" or ended.code != 0 or not any(isinstance(each, _End) for each in answers):
        raise _incomplete(answers, found, ended)
    keep_measurement(found)
    return found


def _run(
    interpreter: str,
    request: dict[str, object],
    kind: str,
    lines: _Lines,
    cancelled: Callable[[], bool] | None,
) -> ToolEnd:
    spec = JobSpec(
        title="",
        target="",
        interpreter=interpreter,
        working_folder="/",
        device="cpu" if kind == "cpu" else "cuda",
    )
    return run_tool(
        [interpreter, str(SCRIPT), json.dumps(request)],
        # As NVML and nvidia-smi count, by which a device is chosen.
        environment=job_environment(spec, os.environ) | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        working_folder=os.sep,
        timeout_s=_START_LIMIT_S + 2 * float(str(request["budget_s"])),
        most_bytes=_MOST_BYTES,
        cancelled=cancelled,
        heard=lines.hear,
    )


def _crashed_at(answers: list[_Answer], ended: ToolEnd) -> str | None:
    """Returns the data type at which the child crashed, None if it did not, or not at one."""
    last = next((each for each in reversed(answers) if isinstance(each, _Begin)), None)
    if ended.how != "itself" or ended.code is None or -ended.code not in _CRASHES or last is None:
        return None
    return last.what if last.what in _PARTS[1:] and last.number is not None else None


class _Lines:
    """The script's answers as they come, among what libraries print."""

    def __init__(
        self, answers: list[_Answer], progress: Callable[[float, float | None, str], None] | None
    ) -> None:
        self._answers = answers
        self._progress = progress
        self._rest = b""

    def hear(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_MOST_BYTES:]
        for line in lines:
            answer = _parsed(line)
            if answer is not None:
                self._answers.append(answer)
                self._tell(answer)

    def _tell(self, answer: _Answer) -> None:
        if self._progress is None or not isinstance(answer, _Begin):
            return
        words = _WORDS.get(answer.what, "" if answer.number is None else _multiplying(answer.what))
        self._progress(answer.number or 0, answer.whole, words)


def _multiplying(data_type: str) -> str:
    return f"Multiplying matrices in {data_type.upper()}"


def _parsed(line: bytes) -> _Answer | None:
    """Returns what a line says; None if it is no answer of the script."""
    if not line.startswith(b"{"):
        return None
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    kind = answer.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        return None
    try:
        return msgspec.convert(answer, _KINDS[kind])
    except msgspec.ValidationError:
        return _Unreadable(kind)


def _measurement(answers: list[_Answer], kind: str) -> Measurement | None:
    device = next((each for each in answers if isinstance(each, _Device)), None)
    if device is None:
        return None
    rates, refused = [], []
    for each in answers:
        if isinstance(each, _Refused):
            refused.append((each.type, each.why))
        elif isinstance(each, MeasuredRate):
            if is_plausible(each):
                rates.append(each)
            else:
                refused.append((each.type, "the rate is beyond any device"))
    return Measurement(
        device=device.title,
        kind=kind,
        capability=device.capability,
        torch=device.torch,
        measured_ns=time.time_ns(),
        rates=tuple(rates),
        refused=tuple(refused),
    )


def _doing(answers: list[_Answer]) -> str:
    """What was done last, in words that follow "while"."""
    last = next((each for each in reversed(answers) if isinstance(each, _Begin)), None)
    if last is None:
        return "starting"
    if last.number is None:
        return printable(last.what)
    words = "Copying memory" if last.what == "copy" else _multiplying(printable(last.what))
    return words[0].lower() + words[1:]


def _how_it_ended(ended: ToolEnd) -> str:
    """What follows "it ended": the signal or the exit code; "" without either."""
    if ended.code is None or ended.code == 0:
        return ""
    if ended.code < 0:
        known = ended.code in {-each for each in signal.Signals}
        return f" by {signal.Signals(-ended.code).name if known else f'signal {-ended.code}'}"
    return f" with exit code {ended.code}"


def _incomplete(answers: list[_Answer], found: Measurement, ended: ToolEnd) -> DashboardError:
    """Returns what to say of a measurement that ended before its end."""
    known = {rate.type for rate in found.rates} | {name for name, _ in found.refused}
    missing = ", ".join(_named(each) for each in _PARTS if each not in known)
    reached = ", ".join(_named(rate.type) for rate in found.rates)
    how = "was not done in time" if ended.how == "time" else f"ended{_how_it_ended(ended)}"
    at_end = any(isinstance(each, _End) for each in answers)
    when = "after its last figure" if at_end or not missing else f"while {_doing(answers)}"
    lacking = f"; missing: {missing}" if missing else ""
    return DashboardError(
        f"The measurement of {printable(found.device)} {how} {when} (measured: {reached}{lacking}).",
        "Nothing of it is kept, and an older measurement stays. Measure again.",
    )


def _named(part: str) -> str:
    return printable(part) if part == "copy" else printable(part).upper()


def _nothing(answers: list[_Answer], interpreter: str, device: str, ended: ToolEnd) -> DashboardError:
    """Returns what to say when nothing was measured."""
    shown = printable(interpreter)
    raised = next((each for each in answers if isinstance(each, _Raised)), None)
    if raised is not None:
        if raised.type == "ModuleNotFoundError":
            return DashboardError(
                f"PyTorch is not installed for {shown}.",
                "Choose the interpreter of your environment as the one of jobs.",
            )
        return DashboardError(
            f"{device} cannot be measured: {printable(raised.type)}: {printable(raised.message)[:300]}.",
            "Choose a device that PyTorch of this interpreter sees.",
        )
    if ended.how == "time":
        return DashboardError(
            f"{device} was not measured in time (it was {_doing(answers)}).",
            "Try again: the first import of PyTorch is slow.",
        )
    why = next((printable(each.why) for each in answers if isinstance(each, _Refused)), "")
    if ended.code != 0 or not why:
        why = f"it ended while {_doing(answers)}" + _how_it_ended(ended).replace(" ", ", ", 1)
    return DashboardError(
        f"Nothing could be measured on {device}: {why}.",
        "Start `python -c 'import torch'` with this interpreter and repair that installation.",
    )
