"""What is known of this machine in the words of Home's cards. Pure functions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from core.hardware.readings import count_words
from core.units import format_bytes_gib, gib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.edge.targets import EdgeTargets
    from core.hardware.readings import GpuInfo
    from core.runs.manifest import Host
    from gui.machine import Machine

Pair = tuple[str, str, str]
Finding = tuple[str, str, str]

NOT_ASKED = "n/a"


def gpus_line(gpus: Sequence[GpuInfo]) -> str:
    """GPUs by name: "4 x H100 80GB HBM3" with a multiplication sign; "none" for none."""
    names = Counter(gpu.name.removeprefix("NVIDIA ") for gpu in gpus if gpu.computes)
    lines = [f"{count} × {name}" if count > 1 else name for name, count in names.items()]
    return ", ".join(lines) or "none"


def edge_line(targets: EdgeTargets | None) -> str:
    """Devices that are not CUDA, for the status bar: "1 Vulkan device, software"; "" while not known."""
    devices = [each for each in (() if targets is None else targets.targets) if each.api != "CPU"]
    lines = []
    for api in dict.fromkeys(each.api for each in devices):
        of_api = [each for each in devices if each.api == api]
        software = ", software" if all(each.software for each in of_api) else ""
        lines.append(f"{len(of_api)} {api} {'device' if len(of_api) == 1 else 'devices'}{software}")
    return "; ".join(lines)


def devices_line(machine: Machine) -> str:
    """Devices for the status bar."""
    if machine.detecting:
        return "Looking for GPUs"
    if machine.devices is None:
        return "GPUs not known"
    return gpus_line(machine.devices.gpus) if machine.gpu_count else "No GPU, CPU only"


def machine_pairs(machine: Machine, host: Host) -> list[Pair]:
    """(label, value, why it is n/a) a line."""
    pairs = _gpu_pairs(machine)
    cores = "1 core" if host.cpu_count == 1 else f"{host.cpu_count} cores"
    pairs.append(("CPU, memory", f"{cores}, {format_bytes_gib(host.memory_bytes, 1)}", ""))
    facts = machine.facts
    if facts is None:
        why = "Not asked yet." if machine.interpreter_error is None else machine.interpreter_error.message
        value = "checking" if machine.checking else NOT_ASKED
        return [*pairs, ("Python, torch", value, why)]
    pairs.append(("Python, torch", f"{facts.python}, {facts.torch}", machine.interpreter))
    backends = [name for name, there in ((f"NCCL {facts.nccl}", facts.nccl), ("gloo", facts.gloo)) if there]
    pairs.append(("Backends", ", ".join(backends) or "none", ""))
    return pairs


def _gpu_pairs(machine: Machine) -> list[Pair]:
    devices = machine.devices
    if devices is None:
        value = "looking" if machine.detecting else NOT_ASKED
        return [("GPUs", value, "Detect devices finds them.")]
    pairs = [("GPUs", gpus_line(devices.gpus), "")]
    if devices.driver:
        cuda = f", {devices.cuda}" if devices.cuda else ""
        pairs.append(("Driver, CUDA" if cuda else "Driver", f"{devices.driver}{cuda}", ""))
    free = [
        reading.total_bytes - reading.used_bytes
        for reading in devices.readings
        if reading.total_bytes is not None and reading.used_bytes is not None
    ]
    if free:
        least, most = gib(min(free), 1), gib(max(free), 1)
        pairs.append(("Free GPU memory", f"{least} GiB" if least == most else f"{least} to {most} GiB", ""))
    return pairs


def checks_of(machine: Machine, unreadable: Sequence[tuple[str, str]]) -> list[Finding]:
    """(level, words, what to do) a line.

    Args:
        machine: What is known.
        unreadable: (folder name, why) of runs that cannot be listed.
    """
    findings = [*_device_checks(machine), *_interpreter_checks(machine)]
    if unreadable:
        count = len(unreadable)
        what = "1 run folder" if count == 1 else f"{count} run folders"
        name, why = unreadable[0]
        findings.append(("warn", f"{what} cannot be listed: {name}: {why}", ""))
    return findings


def _device_checks(machine: Machine) -> list[Finding]:
    if machine.devices_error is not None:
        return [("error", machine.devices_error.message, machine.devices_error.hint)]
    devices = machine.devices
    if devices is None:
        return [("wait", "GPUs: looking" if machine.detecting else "GPUs: not looked for yet", "")]
    if machine.gpu_count:
        found: Finding = ("ok", f"{count_words(devices.gpus)} found", "")
        return [found, *(("warn", problem.message, problem.hint) for problem in devices.problems)]
    reasons = [("info", problem.message, problem.hint) for problem in devices.problems]
    return [("info", "No NVIDIA GPU: launches run on the CPU (gloo)", ""), *reasons]


def _interpreter_checks(machine: Machine) -> list[Finding]:
    facts, error = machine.facts, machine.interpreter_error
    if machine.checking:
        return [("wait", "Python and torch: checking", "")]
    if error is not None:
        return [("error", error.message, error.hint)]
    if facts is None:
        return [("wait", "Python and torch: not checked yet", "")]
    findings: list[Finding] = []
    backends = " and ".join(name for name, there in (("NCCL", facts.nccl), ("gloo", facts.gloo)) if there)
    if backends:
        findings.append(("ok", f"torch.distributed with {backends}", ""))
    else:
        findings.append(
            ("error", "torch.distributed has neither NCCL nor gloo", "Install another torch build.")
        )
    if not facts.cuda and machine.gpu_count:
        findings.append(("warn", "This torch is built without CUDA", "Install a CUDA build to use the GPUs."))
    return [*findings, *(("warn", warning, "") for warning in facts.warnings)]
