"""What GPUs there are, asked in a child process with a time limit.

A driver that hangs or crashes takes only the child with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import msgspec

from core.files import MAIN
from core.hardware.nvml import GpusUnavailableError, NvmlReader
from core.hardware.readings import GpuInfo, GpuReading

_PR_SET_PDEATHSIG = 1
_SHOWN_CHARACTERS = 200

DRIVER_NOTE = "driver_note"
"""Code of what was odd in answers that can be used nevertheless."""

GIVE_UP_S = 1.0
"""How long a killed child may take to go; in an uninterruptible driver call it does not."""


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
    child = subprocess.Popen(
        [sys.executable, os.fspath(MAIN), "_probe-gpus"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        answer, errors = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _abandon(child)
        return _problem(
            "driver_hangs",
            f"The NVIDIA driver did not answer within {timeout_s:g} s.",
            "Check `nvidia-smi` and the kernel log; a reboot may be needed. CPU jobs work without it.",
        )
    if child.returncode != 0:
        last_words = errors.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        how = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
        return _problem(
            "probe_failed",
            f"Looking for GPUs ended with {how}: {last_words[0]}",
            "Check the output of `nvidia-smi` on this machine.",
        )
    return _decoded(answer)


def _decoded(answer: bytes) -> Devices:
    """Reads the child's last line; what stands before it was said before the child had a say."""
    lines = answer.splitlines() or [b""]
    try:
        return msgspec.json.decode(lines[-1], type=Devices)
    except msgspec.DecodeError:
        said = lines[-1].decode(errors="replace").strip()[:_SHOWN_CHARACTERS]
        return _problem(
            "probe_failed",
            f"Looking for GPUs gave no answer that can be read: {said or 'it said nothing'}",
            "Something that Python loads at its start ends it; look at PYTHONPATH and sitecustomize.",
        )


def print_devices() -> None:
    """Run as the child: ask the driver and print the answer as one line of JSON, the last one."""
    # What a library prints, also from C and also at its end, must not mix with the answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    _end_with_parent()
    line = b"\n" + msgspec.json.encode(_ask_driver()) + b"\n"
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(line)


def _end_with_parent() -> None:
    """Has the kernel end this process when the asking one ends, even inside a driver call.

    Source: prctl(2), PR_SET_PDEATHSIG. Elsewhere than on Linux the parent's time limit has to do.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


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


def _abandon(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    try:
        child.communicate(timeout=GIVE_UP_S)
    except subprocess.TimeoutExpired:
        # Stuck inside the driver. It ends when the driver lets go of it.
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
