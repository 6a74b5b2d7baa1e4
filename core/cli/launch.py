"""``launch``: from the words of the command line to a job that runs, followed to its end."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.cli.follow import Interrupts, follow
from core.cli.output import write_line
from core.errors import DashboardError
from core.files import printable
from core.hardware.probe import Devices, detect_devices
from core.hardware.visible import resolve_visible
from core.launch.client import launch
from core.launch.preflight import run_preflight
from core.launch.presets import PRESETS, Choice, choose_preset, tiny
from core.runs.job import DeviceKind, JobSpec
from core.runs.store import default_store

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from core.cli.arguments import LaunchWords
    from core.launch.preflight import Preflight
    from core.runs.store import RunFolder


def run_launch(words: LaunchWords) -> int:
    """Check the job, start it, and follow it unless it is to be left alone.

    Returns:
        The exit code.

    Raises:
        DashboardError: The job cannot run as it is asked for.
    """
    with Interrupts().caught() as interrupts:
        devices = detect_devices()
        choice = make_choice(words, devices, os.environ)

        def without_cuda(torch: str) -> Choice:
            return make_choice(words, devices, os.environ, torch_without_cuda=torch)

        folder = start(choice, devices, interrupts, without_cuda if _is_one_click(words) else None)
        if words.options.detach and interrupts.first is None:
            write_line(f"It runs on without this command: `attach {folder.id}`, `stop {folder.id}`.")
            return 0
        return follow(folder, owner=True, interrupts=interrupts)


def start(
    choice: Choice,
    devices: Devices,
    interrupts: Interrupts,
    without_cuda: Callable[[str], Choice] | None = None,
) -> RunFolder:
    """Check a job, start it and say where it lies.

    Args:
        choice: The job.
        devices: What this machine has.
        interrupts: One that comes during the check ends it; a later one is left to ``follow``.
        without_cuda: What to start instead if the interpreter's torch, whose version it gets,
            turns out to be built without CUDA; None to refuse then.

    Raises:
        DashboardError: The job cannot run as it is asked for.
        SystemExit: This command was told to end before anything was started.
    """
    try:
        preflight = _check(choice.spec, devices, interrupts)
    except DashboardError:
        if without_cuda is None or choice.spec.device == "cpu":
            raise
        # Asked only now, as importing torch once more takes seconds.
        found = _check(tiny(choice.spec.interpreter), devices, interrupts)
        if found.cuda is not None:
            raise
        choice = without_cuda(found.torch)
        preflight = _check(choice.spec, devices, interrupts)
    folder = launch(choice.spec, default_store(), preflight=preflight)
    write_line(printable(choice.why))
    for warning in preflight.warnings:
        write_line(f"warning: {printable(warning)}")
    write_line(f"Run {folder.id} in {printable(str(folder.path))}")
    return folder


def _check(spec: JobSpec, devices: Devices, interrupts: Interrupts) -> Preflight:
    try:
        return run_preflight(spec, gpus=devices.known_gpus, cancelled=lambda: interrupts.count > 0)
    finally:
        if interrupts.first is not None:
            raise SystemExit(128 + interrupts.first)


def make_choice(
    words: LaunchWords, devices: Devices, environment: Mapping[str, str], *, torch_without_cuda: str = ""
) -> Choice:
    """Build the job spec from the words.

    Args:
        words: The command line, told apart.
        devices: What this machine has.
        environment: Where CUDA_VISIBLE_DEVICES and the active virtual environment stand.
        torch_without_cuda: Version of the interpreter's torch if that is known to be built without CUDA.

    Raises:
        DashboardError: An unknown preset, or options that contradict each other.
    """
    options = words.options
    _check_options(words)
    if words.target is None:
        if _is_one_click(words):
            choice = choose_preset(
                devices.gpus, environment=environment, torch_without_cuda=torch_without_cuda
            )
            arguments = (*choice.spec.arguments, *words.arguments)
            choice = Choice(replace(choice.spec, arguments=arguments), choice.why)
        else:
            choice = _preset_choice(words)
        return Choice(_with_options(choice.spec, options), choice.why)
    visible = resolve_visible(environment.get("CUDA_VISIBLE_DEVICES"), devices.gpus)
    named = _named_gpus(options)
    device: DeviceKind = options.device or ("cuda" if named or visible else "cpu")
    ranks = options.nproc or (max(1, len(named or visible)) if device == "cuda" else 1)
    target = words.target if words.is_module else os.path.abspath(words.target)
    spec = JobSpec(
        title=words.target if words.is_module else Path(words.target).name,
        target=target,
        is_module=words.is_module,
        arguments=words.arguments,
        interpreter=_own_interpreter(environment),
        ranks=ranks,
        device=device,
        working_folder=os.getcwd(),
    )
    spec = _with_options(spec, options)
    where = f"{'rank' if spec.ranks == 1 else 'ranks'} on {'the CPU' if device == 'cpu' else 'GPUs'}"
    return Choice(spec, f"{spec.title} with {spec.ranks} {where}, Python {spec.interpreter}.")


def _check_options(words: LaunchWords) -> None:
    options = words.options
    if options.gpus is not None and options.device == "cpu":
        raise DashboardError("--gpus names GPUs, but --device cpu hides them.", "Leave one of the two out.")
    if words.target is None and options.cwd is None and options.python is None:
        return
    try:
        os.getcwd()
    except OSError as error:
        raise DashboardError(
            "The folder in which this command was started is gone.", "Change into one that exists."
        ) from error


def _named_gpus(options: argparse.Namespace) -> tuple[str, ...]:
    return () if options.gpus is None else tuple(part.strip() for part in options.gpus.split(","))


def _is_one_click(words: LaunchWords) -> bool:
    """Nothing was said of what to run or on what."""
    options = words.options
    said = (words.target, options.preset, options.device, options.nproc, options.gpus)
    return all(part is None for part in said)


def _preset_choice(words: LaunchWords) -> Choice:
    options = words.options
    name = "tiny" if options.preset is None else options.preset
    named = _named_gpus(options)
    if name not in PRESETS:
        raise DashboardError(
            f"There is no preset {printable(name)}.", f"Presets are: {', '.join(sorted(PRESETS))}."
        )
    extra: dict[str, object] = {"arguments": words.arguments}
    if options.nproc is not None or named:
        extra["ranks"] = options.nproc or len(named)
    if options.device is not None or named:
        extra["device"] = options.device or "cuda"
    spec = PRESETS[name](**extra)
    where = "CPU ranks (gloo)" if spec.device == "cpu" else "GPUs (NCCL)"
    return Choice(spec, f"The {name} model on {spec.ranks} {where}.")


def _with_options(spec: JobSpec, options: argparse.Namespace) -> JobSpec:
    """Put in what was said about any job, whatever it is."""
    return replace(
        spec,
        gpus=_named_gpus(options) or spec.gpus,
        interpreter=spec.interpreter if options.python is None else _find_interpreter(options.python),
        working_folder=spec.working_folder if options.cwd is None else os.path.abspath(options.cwd),
        environment=dict(options.env),
        title=options.title or spec.title,
        loss_pattern=options.loss_pattern,
    )


def _find_interpreter(text: str) -> str:
    """Return a full path; a link stays a link, because a virtual environment's python is one."""
    if os.sep in text:
        return os.path.abspath(os.path.expanduser(text))
    found = shutil.which(text)
    if found is None:
        raise DashboardError(
            f"There is no program {printable(text)} on the path.", "Give the full path of a Python."
        )
    return os.path.abspath(found)


def _own_interpreter(environment: Mapping[str, str]) -> str:
    """Return the python of the active environment, as the user's script expects; else ours."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = environment.get(variable)
        if folder and os.access(os.path.join(folder, "bin", "python"), os.X_OK):
            return os.path.join(folder, "bin", "python")
    return sys.executable
