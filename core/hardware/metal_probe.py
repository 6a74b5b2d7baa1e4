"""What Metal devices there are, asked in a child process with a time limit."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.hardware.probe import DeviceProblem

if TYPE_CHECKING:
    from core.hardware.metal import MetalDevice

NEEDS_MACOS = DeviceProblem(code="metal_needs_macos", message="Metal needs macOS.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalDevices:
    """What was found."""

    devices: tuple[MetalDevice, ...] = ()
    problems: tuple[DeviceProblem, ...] = ()


def detect_metal() -> MetalDevices:
    """Asks PyTorch and MLX in a child; whatever goes wrong is a problem in the answer."""
    if sys.platform != "darwin":
        return MetalDevices(problems=(NEEDS_MACOS,))
    return MetalDevices(
        problems=(DeviceProblem(code="metal_not_asked", message="Metal devices are not asked yet."),)
    )
