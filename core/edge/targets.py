"""The devices that a model can be run on: what the probes found, and the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.edge.backend import EdgeTarget
from core.errors import DashboardError
from core.files import printable
from core.hardware.host import read_host
from core.hardware.metal_probe import detect_metal
from core.hardware.vulkan_probe import detect_vulkan

if TYPE_CHECKING:
    from core.hardware.metal_probe import MetalDevices
    from core.hardware.probe import DeviceProblem
    from core.hardware.vulkan import VulkanDevices

CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTargets:
    """What was found.

    Attributes:
        targets: Metal devices, Vulkan devices, then the CPU, which is always there.
        problems: What is missing or broken, and why.
    """

    targets: tuple[EdgeTarget, ...]
    problems: tuple[DeviceProblem, ...]

    @property
    def default(self) -> EdgeTarget:
        """What is used if nobody chooses: a software device only where there is no other, the CPU last."""
        return next(each for each in self.targets if each.default)

    def choose(self, wanted: str | None) -> EdgeTarget:
        """Finds the device that somebody names.

        Args:
            wanted: Its key ("vulkan:0"), its number in the list, or part of its name; None is the default.

        Raises:
            DashboardError: There is none or more than one of that name.
        """
        if wanted is None:
            return self.default
        word = wanted.strip().casefold()
        if word.isdecimal() and int(word) < len(self.targets):
            return self.targets[int(word)]
        exact = [each for each in self.targets if word in (each.key, each.name.casefold())]
        found = exact or [each for each in self.targets if word and word in each.name.casefold()]
        if len(found) == 1:
            return found[0]
        listed = ", ".join(f"{each.key} ({printable(each.name)})" for each in found or self.targets)
        what = f"{len(found)} devices are called like" if found else "There is no device"
        raise DashboardError(f"{what} {printable(wanted)}.", f"Name one of: {listed}.")


def find_targets() -> EdgeTargets:
    """Asks the drivers, in child processes; takes seconds at worst, so not in the window's thread."""
    return as_targets(detect_vulkan(), detect_metal())


def as_targets(vulkan: VulkanDevices, metal: MetalDevices) -> EdgeTargets:
    """Lists what was found, and says which is the default."""
    best = vulkan.default
    has_metal = bool(metal.devices)
    targets = [
        EdgeTarget(
            key=f"metal:{device.index}",
            name=device.name,
            api="Metal",
            software=False,
            default=has_metal and device is metal.devices[0],
            metal=device,
        )
        for device in metal.devices
    ]
    targets += [
        EdgeTarget(
            key=f"vulkan:{device.index}",
            name=device.name,
            api="Vulkan",
            software=device.software,
            default=not has_metal and device is best,
            vulkan=device,
        )
        for device in vulkan.devices
    ]
    host = read_host()
    targets.append(
        EdgeTarget(
            key=CPU,
            name=f"CPU, {host.cpu_count} {'thread' if host.cpu_count == 1 else 'threads'}",
            api="CPU",
            software=False,
            default=not targets,
        )
    )
    return EdgeTargets(targets=tuple(targets), problems=(*vulkan.problems, *metal.problems))
