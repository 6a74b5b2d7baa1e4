"""What Metal devices there are, asked in a child process with a time limit.

Not yet run on a Mac: what the child asks is documented (``resources/edge/metal_facts.py``
names the calls), and the answers in the tests are written after that documentation.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from core.files import RESOURCES, printable
from core.hardware.child import ChildFailedError, ask_program
from core.hardware.metal import MetalDevice
from core.hardware.probe import DeviceProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT: Final = RESOURCES / "edge" / "metal_facts.py"
TIMEOUT_S: Final = 30.0
"""The first import of torch after an installation is slow."""

NEEDS_MACOS: Final = DeviceProblem(code="metal_needs_macos", message="Metal needs macOS.")
_APPLE_SILICON: Final = "arm64"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalDevices:
    """What was found.

    Attributes:
        macos: Version of the system; "" elsewhere.
    """

    devices: tuple[MetalDevice, ...] = ()
    problems: tuple[DeviceProblem, ...] = ()
    macos: str = ""


class _Torch(msgspec.Struct, frozen=True):
    built: bool | None = None
    available: bool | None = None
    name: str | None = None
    recommended_max_memory: int | None = None
    missing: str | None = None
    raised: str | None = None


class _Info(msgspec.Struct, frozen=True):
    """mlx.core.device_info(): "Get information about the GPU device and system settings"."""

    device_name: str | None = None
    architecture: str | None = None
    max_buffer_length: int | None = None
    max_recommended_working_set_size: int | None = None
    memory_size: int | None = None


class _Mlx(msgspec.Struct, frozen=True):
    available: bool | None = None
    info: _Info | None = None
    missing: str | None = None
    raised: str | None = None


class _Answer(msgspec.Struct, frozen=True):
    machine: str
    macos: str
    torch: _Torch
    mlx: _Mlx


def detect_metal(platform: str = sys.platform, environment: Mapping[str, str] | None = None) -> MetalDevices:
    """Asks PyTorch and MLX in a child; whatever goes wrong is a problem in the answer.

    Args:
        platform: As ``sys.platform`` spells it; nothing is started where it is no Mac's.
        environment: Of the child; None is that of this process.
    """
    if platform != "darwin":
        return MetalDevices(problems=(NEEDS_MACOS,))
    try:
        answer = ask_program([sys.executable, os.fspath(SCRIPT)], TIMEOUT_S, environment)
    except ChildFailedError as failure:
        said = f" {printable(failure.last_words)}" if failure.last_words else ""
        return MetalDevices(
            problems=(
                DeviceProblem(
                    code="metal_probe_failed",
                    message=f"The probe of Metal failed ({failure.how}).{said}",
                    hint=f"Start {printable(sys.executable)} -c 'import torch', and repair what fails.",
                ),
            )
        )
    return read_answer(answer)


def read_answer(line: bytes) -> MetalDevices:
    """Makes devices of the child's line."""
    try:
        answer = msgspec.json.decode(line, type=_Answer)
    except msgspec.DecodeError as error:
        return MetalDevices(
            problems=(
                DeviceProblem(
                    code="metal_probe_failed",
                    message=f"The probe of Metal gave no answer that can be read: {printable(str(error))}.",
                ),
            )
        )
    device = _device(answer)
    return MetalDevices(
        devices=() if device is None else (device,), problems=_problems(answer, device), macos=answer.macos
    )


def _device(answer: _Answer) -> MetalDevice | None:
    torch, mlx = answer.torch, answer.mlx
    sources = [
        name
        for name, available in (("torch.backends.mps", torch.available), ("mlx", mlx.available))
        if available
    ]
    if not sources:
        return None
    info = mlx.info or _Info()
    return MetalDevice(
        index=0,
        name=printable(torch.name or info.device_name or "Apple GPU"),
        # Every Mac with Apple silicon; of an Intel Mac neither PyTorch nor MLX tells.
        unified_memory=True if answer.machine == _APPLE_SILICON else None,
        memory_bytes=info.memory_size,
        recommended_working_set_bytes=_first(
            torch.recommended_max_memory, info.max_recommended_working_set_size
        ),
        max_buffer_bytes=info.max_buffer_length,
        architecture=info.architecture,
        sources=tuple(sources),
    )


def _first(*values: int | None) -> int | None:
    """The first figure that says something: 0 bytes is no answer."""
    return next((value for value in values if value), None)


def _problems(answer: _Answer, device: MetalDevice | None) -> tuple[DeviceProblem, ...]:
    problems = [
        DeviceProblem(
            code="metal_library_failed",
            message=f"{name} cannot be asked about Metal: {printable(raised)}.",
            hint=f"Repair the installation of {name}.",
        )
        for name, raised in (("PyTorch", answer.torch.raised), ("MLX", answer.mlx.raised))
        if raised
    ]
    if device is None:
        why = (
            "this PyTorch is built without MPS"
            if answer.torch.built is False
            else "neither PyTorch nor MLX reaches a GPU"
        )
        problems.append(
            DeviceProblem(
                code="no_metal_device",
                message=f"No Metal device can be used: {why}.",
                hint="Install the macOS build of PyTorch (pip install torch) on macOS 14 or newer.",
            )
        )
    elif answer.mlx.missing:
        problems.append(
            DeviceProblem(
                code="mlx_missing",
                message="MLX is not installed: the device's architecture and largest buffer are not known.",
                hint="pip install mlx",
            )
        )
    return tuple(problems)
