"""Measuring the ceilings of a device, in a child of the interpreter that the user's jobs run with.

This process imports no torch, and a driver that hangs takes only the child with it.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, Final

from core.errors import DashboardError
from core.files import RESOURCES, printable
from core.launch.command import job_environment
from core.launch.tool_process import run_tool
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


def measure_ceilings(
    interpreter: str,
    device: str,
    *,
    budget_s: float = BUDGET_S,
    progress: Callable[[float, float | None, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Measurement:
    """Measures a device and keeps what was reached.

    Args:
        interpreter: Path of a Python with PyTorch 2.4 or newer.
        device: "cuda:0" by the number of nvidia-smi, "mps" or "cpu".
        budget_s: How long to measure; more is taken only if importing PyTorch takes half of it.
        progress: Gets what is done, of how many parts, and what is measured now.
        cancelled: Asked ten times a second; True ends it.

    Raises:
        DashboardError: It cannot be started, has no PyTorch or no such device, took too long, was
            cancelled, or nothing could be measured.
    """
    answers: list[dict[str, Any]] = []
    lines = _Lines(answers, progress)
    kind = device.split(":", maxsplit=1)[0]
    spec = JobSpec(
        title="",
        target="",
        interpreter=interpreter,
        working_folder="/",
        device="cpu" if kind == "cpu" else "cuda",
    )
    ended = run_tool(
        [interpreter, str(SCRIPT), json.dumps({"device": device, "budget_s": budget_s})],
        # As NVML and nvidia-smi count, by which a device is chosen.
        environment=job_environment(spec, os.environ) | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        working_folder=os.sep,
        timeout_s=_START_LIMIT_S + 2 * budget_s,
        most_bytes=_MOST_BYTES,
        cancelled=cancelled,
        heard=lines.hear,
    )
    if ended.how == "cancelled":
        raise DashboardError("The measurement was cancelled.", "Measure again to repeat it.")
    found = _measurement(answers, kind)
    if found is None or not found.rates:
        raise _nothing(answers, interpreter, device, ended.how == "time")
    keep_measurement(found)
    return found


class _Lines:
    """The script's answers as they come, among what libraries print."""

    def __init__(
        self, answers: list[dict[str, Any]], progress: Callable[[float, float | None, str], None] | None
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

    def _tell(self, answer: dict[str, Any]) -> None:
        if self._progress is None or answer["kind"] != "begin":
            return
        what = str(answer.get("what", ""))
        words = _WORDS.get(what, f"Multiplying matrices in {what.upper()}" if "number" in answer else "")
        self._progress(answer.get("number", 0), answer.get("whole"), words)


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        answer = json.loads(line)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and isinstance(answer.get("kind"), str) else None


def _measurement(answers: list[dict[str, Any]], kind: str) -> Measurement | None:
    device = next((each for each in answers if each["kind"] == "device"), None)
    if device is None:
        return None
    rates, refused = [], []
    for each in answers:
        if each["kind"] == "refused":
            refused.append((str(each["type"]), str(each["why"])))
        elif each["kind"] == "rate":
            rate = MeasuredRate(**{key: value for key, value in each.items() if key != "kind"})
            if is_plausible(rate):
                rates.append(rate)
            else:
                refused.append((rate.type, "the rate is beyond any device"))
    major, minor = device["capability"]
    return Measurement(
        device=str(device["title"]),
        kind=kind,
        capability=(major, minor),
        torch=str(device["torch"]),
        measured_ns=time.time_ns(),
        rates=tuple(rates),
        refused=tuple(refused),
    )


def _nothing(answers: list[dict[str, Any]], interpreter: str, device: str, is_late: bool) -> DashboardError:
    """Returns what to say when nothing was measured."""
    shown = printable(interpreter)
    doing = next((str(each["what"]) for each in reversed(answers) if each["kind"] == "begin"), "starting")
    raised = next((each for each in answers if each["kind"] == "raised"), None)
    if raised is not None:
        if raised["type"] == "ModuleNotFoundError":
            return DashboardError(
                f"PyTorch is not installed for {shown}.",
                "Choose the interpreter of your environment as the one of jobs.",
            )
        return DashboardError(
            f"{device} cannot be measured: {raised['type']}: {printable(str(raised['message']))[:300]}.",
            "Choose a device that PyTorch of this interpreter sees.",
        )
    if is_late:
        return DashboardError(
            f"{device} was not measured in time (it was {doing}).",
            "Try again: the first import of PyTorch is slow.",
        )
    why = next((str(each["why"]) for each in answers if each["kind"] == "refused"), f"it ended while {doing}")
    return DashboardError(
        f"Nothing could be measured on {device}: {printable(why)}.",
        "Start `python -c 'import torch'` with this interpreter and repair that installation.",
    )
