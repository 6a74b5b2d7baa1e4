"""What Vulkan devices there are, asked in a child process with a time limit.

A broken driver ends whatever loads it, also where a good one is listed beside
it. So when the child dies, each driver is asked alone in a child of its own: a
bad one costs only itself, and is named with what became of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from core.files import printable
from core.hardware.child import ChildFailedError, answering, ask_child
from core.hardware.probe import DeviceProblem
from core.hardware.vulkan import VulkanDevice, VulkanDevices
from core.hardware.vulkan_manifests import driver_alone, find_manifests, missing_library, search_places
from core.hardware.vulkan_reader import VulkanReader, VulkanUnavailableError, load_library

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_COMMAND = "_probe-vulkan"
_BROKEN_HINT = "Update or remove this driver; the other devices work without it."
_NO_DRIVER_HINT = (
    "Install the driver of the GPU (Debian: mesa-vulkan-drivers, which also has one for the CPU); "
    "jobs run without Vulkan."
)


def detect_vulkan(
    timeout_s: float = 10.0, environment: Mapping[str, str] | None = None, alone_timeout_s: float = 5.0
) -> VulkanDevices:
    """Ask the drivers in a child; whatever goes wrong is a problem in the answer.

    Args:
        timeout_s: After this many seconds the child with all drivers is ended.
        environment: Of the children; None is that of this process.
        alone_timeout_s: The same for the child of one driver.
    """
    environment = os.environ if environment is None else environment
    try:
        found = _ask(environment, timeout_s)
    except ChildFailedError as failure:
        found = _ask_one_by_one(environment, failure, alone_timeout_s)
    return replace(found, problems=(*found.problems, *_doubts(found, environment)))


def print_vulkan() -> None:
    """Run as the child: ask the drivers and print the answer as one line of JSON, the last one."""
    with answering() as answer:
        answer(msgspec.json.encode(_read()))


def _ask(environment: Mapping[str, str], timeout_s: float) -> VulkanDevices:
    """Ask whatever the loader finds in an environment.

    Raises:
        ChildFailedError: The child gave no answer that can be read.
    """
    answer = ask_child(_COMMAND, timeout_s, environment)
    try:
        return msgspec.json.decode(answer, type=VulkanDevices)
    except msgspec.DecodeError:
        raise ChildFailedError("no answer that can be read") from None


def _read() -> VulkanDevices:
    try:
        reader = VulkanReader(load_library())
    except VulkanUnavailableError as error:
        return VulkanDevices(problems=(_unavailable(error),))
    try:
        reader.open()
        devices = tuple(reader.list_devices())
    except VulkanUnavailableError as error:
        return VulkanDevices(problems=(_unavailable(error),), loader_version=reader.loader_version)
    reader.close()
    if devices:
        return VulkanDevices(devices=devices, loader_version=reader.loader_version)
    problem = DeviceProblem(
        code="no_vulkan_devices",
        message=f"The Vulkan loader ({reader.loader_version}) and its drivers list no device.",
        hint="Check `vulkaninfo --summary`, and that this user may use /dev/dri/render*.",
    )
    return VulkanDevices(problems=(problem,), loader_version=reader.loader_version)


def _unavailable(error: VulkanUnavailableError) -> DeviceProblem:
    message, hint = error.message, error.hint
    if error.reason == "no_vulkan_driver":
        message, hint = f"{message}: {_looked_at(os.environ)}", _NO_DRIVER_HINT
    return DeviceProblem(code=error.reason, message=message, hint=hint)


def _looked_at(environment: Mapping[str, str]) -> str:
    """Say where the loader looked and what was there, ended with a full stop."""
    manifests = find_manifests(environment)
    if manifests:
        return (
            f"none that is listed could be loaded ({', '.join(printable(str(each)) for each in manifests)})."
        )
    places = ", ".join(printable(str(place)) for place in search_places(environment)) or "the registry"
    return f"nothing is listed in {places}."


# --- one driver at a time ----------------------------------------------------


@dataclass(slots=True, eq=False)
class _Collected:
    """What came of asking each driver alone."""

    devices: list[VulkanDevice] = field(default_factory=list)
    failures: list[DeviceProblem] = field(default_factory=list)
    others: list[DeviceProblem] = field(default_factory=list)
    loader_version: str | None = None


def _ask_one_by_one(
    environment: Mapping[str, str], together: ChildFailedError, timeout_s: float
) -> VulkanDevices:
    collected = _Collected()
    for manifest in find_manifests(environment):
        try:
            found = _ask(driver_alone(environment, manifest), timeout_s)
        except ChildFailedError as failure:
            collected.failures.append(_broken(manifest, failure))
            continue
        collected.loader_version = found.loader_version or collected.loader_version
        collected.others += found.problems
        for device in found.devices:
            collected.devices.append(
                replace(device, index=len(collected.devices), manifest=printable(str(manifest)))
            )
    problems = collected.failures or [_unexplained(together, collected.devices)]
    if not collected.devices:
        # Without a device it counts why the drivers that did answer have none.
        problems += [each for each in collected.others if each.code == "vulkan_driver_failed"]
    return VulkanDevices(
        devices=tuple(collected.devices),
        problems=tuple(problems),
        loader_version=collected.loader_version,
    )


def _broken(manifest: Path, failure: ChildFailedError) -> DeviceProblem:
    said = f" {printable(failure.last_words)}" if failure.last_words else ""
    return DeviceProblem(
        code="vulkan_driver_hangs" if failure.hangs else "vulkan_driver_crashed",
        message=f"The Vulkan driver {printable(str(manifest))}: probe failed ({failure.how}).{said}",
        hint=_BROKEN_HINT,
    )


def _unexplained(together: ChildFailedError, devices: list[VulkanDevice]) -> DeviceProblem:
    if devices:
        return DeviceProblem(
            code="vulkan_together_failed",
            message=f"All Vulkan drivers together: probe failed ({together.how}); each alone works.",
            hint="A Vulkan layer of this system or two drivers that do not get along end programs here.",
        )
    return DeviceProblem(
        code="vulkan_probe_failed",
        message=f"Looking for Vulkan devices: probe failed ({together.how}). {together.last_words}".strip(),
        hint="Check `vulkaninfo --summary` on this machine; everything else works without Vulkan.",
    )


def _doubts(found: VulkanDevices, environment: Mapping[str, str]) -> list[DeviceProblem]:
    """Say what is odd although there was an answer: drivers without their library, only software."""
    problems = []
    for manifest in find_manifests(environment) if found.loader_version is not None else ():
        library = missing_library(manifest)
        if library is not None:
            problems.append(
                DeviceProblem(
                    code="vulkan_library_missing",
                    message=f"The Vulkan driver {printable(str(manifest))} names {printable(library)}, "
                    "which is not there.",
                    hint="Install this driver again, or remove its manifest.",
                )
            )
    if found.devices and all(device.software for device in found.devices):
        names = ", ".join(printable(device.name) for device in found.devices)
        problems.append(
            DeviceProblem(
                code="vulkan_software_only",
                message=f"Vulkan has software devices only here, which run on the CPU: {names}.",
            )
        )
    return problems
