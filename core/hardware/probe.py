"""What GPUs there are, asked in a child process with a time limit.

A driver that hangs or crashes takes only the child with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from core.hardware.child import ChildFailedError, answering, ask_child
from core.hardware.nvml import GpusUnavailableError, NvmlReader
from core.hardware.readings import GpuInfo, GpuReading

_SHOWN_CHARACTERS = 200

DRIVER_NOTE = "driver_note"
"""Code of what was odd in answers that can be used nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProblem:
    """Something that is missing or doubtful about devices, and what to do."""

    code: str
    message: str
    hint: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """What was found.

    Attributes:
        gpus: In NVML's order, each GPU followed by its MIG slices.
        readings: What each did when it was asked, in the order of ``gpus``.
        driver: Version of the NVIDIA driver.
        cuda: Newest CUDA version that the driver supports.
    """

    gpus: tuple[GpuInfo, ...] = ()
    readings: tuple[GpuReading, ...] = ()
    problems: tuple[DeviceProblem, ...] = ()
    driver: str | None = None
    cuda: str | None = None

    @property
    def known_gpus(self) -> tuple[GpuInfo, ...] | None:
        """All GPUs of this machine; None if the driver could not be asked, which is not "there are none"."""
        if any(problem.code != DRIVER_NOTE for problem in self.problems):
            return None
        return self.gpus


def detect_devices(timeout_s: float = 10.0) -> Devices:
    """Ask the driver in a child; whatever goes wrong is a problem in the answer.

    Args:
        timeout_s: After this many seconds the child is ended.
    """
    try:
        answer = ask_child("_probe-gpus", timeout_s)
    except ChildFailedError as failure:
        if failure.hangs:
            return _problem(
                "driver_hangs",
                f"The NVIDIA driver did not answer within {timeout_s:g} s.",
                "Check `nvidia-smi` and the kernel log; a reboot may be needed. CPU jobs work without it.",
            )
        return _problem(
            "probe_failed",
            f"Looking for GPUs ended with {failure.how}: {failure.last_words or 'it said nothing'}",
            "Check the output of `nvidia-smi` on this machine.",
        )
    return _decoded(answer)


def _decoded(answer: bytes) -> Devices:
    try:
        return msgspec.json.decode(answer, type=Devices)
    except msgspec.DecodeError:
        said = answer.decode(errors="replace").strip()[:_SHOWN_CHARACTERS]
        return _problem(
            "probe_failed",
            f"Looking for GPUs gave no answer that can be read: {said or 'it said nothing'}",
            "Something that Python loads at its start ends it; look at PYTHONPATH and sitecustomize.",
        )


def print_devices() -> None:
    """Run as the child: ask the driver and print the answer as one line of JSON, the last one."""
    with answering() as answer:
        answer(msgspec.json.encode(_ask_driver()))


def _ask_driver() -> Devices:
    try:
        reader = NvmlReader.open()
    except GpusUnavailableError as error:
        return _problem("gpus_unavailable", error.message, error.hint)
    devices = Devices(
        gpus=tuple(reader.list_gpus()),
        readings=tuple(reader.read()),
        driver=reader.driver_version,
        cuda=reader.cuda_version,
        problems=tuple(DeviceProblem(code=DRIVER_NOTE, message=note) for note in reader.take_notes()),
    )
    reader.close()
    return devices


def _problem(code: str, message: str, hint: str) -> Devices:
    return Devices(problems=(DeviceProblem(code=code, message=message, hint=hint),))
