"""Checks a job before anything is started, so that what would fail late fails at once, with a hint.

What needs the job's interpreter is asked of it in a child with a time limit
(``core.launch.interpreter``); this process imports none of it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import DashboardError, FieldError
from core.files import app_folders, printable
from core.hardware.readings import GpuInfo
from core.hardware.visible import find_gpu
from core.launch.command import job_environment
from core.launch.interpreter import Answers, ask_interpreter
from core.runs import host
from core.runs.job import MOST_RANKS, JobSpec
from core.telemetry.loss_text import compile_pattern
from core.units import format_bytes_gib, format_count

OLDEST_TORCH = (2, 4)
FSDP2_ON_CPU = (2, 6)
"""Before it ``fully_shard`` makes CUDA streams whatever the device is: seen with 2.4.1, gone in 2.8.0.

Source: pytorch/pytorch#136843, of after the branch of 2.5.
"""
_RANK_NEEDED_BYTES = 100 * 1024 * 1024
"""Of a rank's own: 144 MiB were measured after `import torch.distributed` (2.13, CPU build)."""
_DISK_NEEDED_BYTES = 16 * 1024 * 1024
_DISK_COMFORT_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What the job's interpreter is and has.

    Attributes:
        python: Version of the interpreter.
        torch: Version of its PyTorch.
        cuda: CUDA version that PyTorch was built with, None for none.
        nccl: NCCL version, None for none.
        gloo: PyTorch has the gloo backend.
        gpu_count: GPUs that PyTorch sees in the job's environment.
        warnings: What may go wrong although nothing is known to; one sentence each.
    """

    python: str
    torch: str
    cuda: str | None
    nccl: str | None
    gloo: bool
    gpu_count: int
    warnings: tuple[str, ...] = ()

    def versions(self) -> dict[str, str]:
        """Returns what the manifest keeps under ``versions``."""
        found = {"python": self.python, "torch": self.torch, "cuda": self.cuda, "nccl": self.nccl}
        return {name: version for name, version in found.items() if version is not None}


def run_preflight(
    spec: JobSpec,
    *,
    timeout_s: float = 60.0,
    cancelled: Callable[[], bool] | None = None,
    gpus: Sequence[GpuInfo] | None = None,
    data_folder: Path | None = None,
) -> Preflight:
    """Checks a job spec against this machine.

    Args:
        spec: The job.
        timeout_s: Of the child; the first import of torch after an installation is slow.
        cancelled: Asked ten times a second; True ends the check.
        gpus: All GPUs of this machine, as NVML lists them; None if that is not known.
        data_folder: Where run folders go; None is the user's data folder.

    Raises:
        FieldError: One field of the job is not as needed; the hint says what to change.
        DashboardError: The job cannot run for another reason.
    """
    _check_fields(spec, gpus)
    warnings = _check_disk(data_folder or app_folders().data)
    with _about("interpreter"):
        answers = ask_interpreter(
            spec.interpreter,
            {"target": spec.target, "is_module": spec.is_module, "device": spec.device},
            environment=job_environment(spec, os.environ),
            working_folder=spec.working_folder,
            timeout_s=timeout_s,
            cancelled=cancelled,
        )
    with _about("target"):
        _check_module(spec, answers)
    with _about("interpreter"):
        _check_torch(spec, answers)
    with _about("ranks"):
        _check_devices(spec, answers)
    with _about("target"):
        _check_backend(spec, answers)
    torch = answers["torch"]
    return Preflight(
        python=str(answers["python"]["version"]),
        torch=str(torch["torch"]),
        cuda=torch["cuda"],
        nccl=torch["nccl_version"],
        gloo=bool(torch["gloo"]),
        gpu_count=int(torch["gpu_count"]),
        warnings=tuple(warnings + _doubts(spec, answers)),
    )


@contextlib.contextmanager
def _about(field: str) -> Iterator[None]:
    """Names the field of the job that a check inside is about."""
    try:
        yield
    except FieldError:
        raise
    except DashboardError as error:
        raise FieldError(field, error.message, error.hint) from error


def _check_fields(spec: JobSpec, gpus: Sequence[GpuInfo] | None) -> None:
    """Checks what can be told without the interpreter."""
    with _about("ranks"):
        _check_rank_count(spec.ranks)
    _check_words(spec)
    if spec.loss_pattern is not None:
        with _about("loss_rule"):
            compile_pattern(spec.loss_pattern)
    with _about("interpreter"):
        _check_interpreter(spec.interpreter)
    with _about("working_folder"):
        _check_working_folder(spec.working_folder)
    if not spec.is_module:
        with _about("target"):
            _check_script(spec)
    with _about("gpus"):
        _check_gpu_names(spec, gpus)


def _check_words(spec: JobSpec) -> None:
    if not spec.target:
        raise FieldError("target", "No script was chosen.", "Choose a Python script, a module or a preset.")
    words = [spec.target, spec.interpreter, spec.working_folder, *spec.arguments]
    words += [part for pair in spec.environment.items() for part in pair]
    if any("\0" in word for word in words):
        raise DashboardError(
            "An argument or variable holds a NUL byte, which no program can receive.", "Take it out."
        )
    if spec.is_module and not all(spec.target.split(".")):
        raise FieldError(
            "target",
            f"{printable(spec.target)} is no name of a module.",
            "Write its full name from the working folder on, such as package.module.",
        )
    odd = [name for name in spec.environment if not name or "=" in name]
    if odd:
        raise FieldError(
            "environment",
            f"{printable(odd[0])!r} is no name of an environment variable.",
            "A name is not empty and holds no equals sign.",
        )


def _check_rank_count(ranks: int) -> None:
    """Refuses what would take the whole machine down before the first step."""
    if ranks < 1:
        raise DashboardError(f"A job of {ranks} ranks cannot run.", "Choose 1 rank or more.")
    memory_bytes = host.this_host().memory_bytes
    if ranks > MOST_RANKS:
        raise DashboardError(
            f"{format_count(ranks)} ranks are more than can be run here.",
            f"Choose {format_count(MOST_RANKS)} ranks or fewer.",
        )
    if ranks * _RANK_NEEDED_BYTES > memory_bytes:
        raise DashboardError(
            f"{format_count(ranks)} ranks do not fit into {format_bytes_gib(memory_bytes)} of memory: "
            "each needs more than 100 MiB for PyTorch alone.",
            f"Choose at most {format_count(max(1, memory_bytes // _RANK_NEEDED_BYTES))} ranks, "
            "better far fewer.",
        )


def _check_interpreter(text: str) -> None:
    path = Path(text)
    shown = printable(text)
    if not path.is_absolute():
        raise DashboardError(f"The interpreter {shown} is not a full path.", "Choose the file of a Python.")
    # os.path, as pathlib raises on a name that is too long or lies where one may not look.
    if os.path.isdir(path):
        inside = path / "bin" / "python"
        raise DashboardError(
            f"{shown} is a folder, not an interpreter.",
            f"Choose {printable(str(inside))}." if os.path.exists(inside) else "Choose the file of a Python.",
        )
    if not os.path.exists(path):
        raise DashboardError(
            f"There is no interpreter {shown}.",
            "Choose another Python; a removed or moved environment has to be made again.",
        )
    if not os.access(path, os.X_OK):
        raise DashboardError(
            f"{shown} may not be executed.", "Choose the file of a Python, or change its permissions."
        )


def _check_working_folder(text: str) -> None:
    path = Path(text)
    if not path.is_absolute() or not os.path.isdir(path):
        raise DashboardError(
            f"There is no working folder {printable(text)}.", "Choose a folder that exists, by its full path."
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise DashboardError(
            f"The working folder {printable(text)} may not be entered.", "Change its permissions."
        )


def _check_script(spec: JobSpec) -> None:
    path = Path(spec.working_folder) / spec.target
    shown = printable(spec.target)
    if os.path.isdir(path):
        raise DashboardError(f"{shown} is a folder, not a script.", "Choose a .py file in it.")
    if not os.path.exists(path):
        as_module = re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", spec.target) and path.suffix != ".py"
        raise DashboardError(
            f"There is no script {shown} (looked in {printable(spec.working_folder)}).",
            "Start it as a module (-m)." if as_module else "Choose a script that exists.",
        )
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise DashboardError(f"The script {shown} cannot be read.", "Choose a readable .py file.")


def _check_gpu_names(spec: JobSpec, gpus: Sequence[GpuInfo] | None) -> None:
    if spec.gpus is None or spec.device != "cuda":
        return
    if len(spec.gpus) < spec.ranks:
        raise DashboardError(
            f"{spec.ranks} ranks need {spec.ranks} GPUs; {len(spec.gpus)} "
            f"{'is' if len(spec.gpus) == 1 else 'are'} chosen.",
            "Choose a GPU for each rank, or fewer ranks.",
        )
    if gpus is None:
        return
    found: dict[str, str] = {}
    for name in spec.gpus:
        gpu = find_gpu(name, gpus)
        if gpu is None:
            there = ", ".join(str(gpu.index) for gpu in gpus if gpu.slice_index is None) or "none"
            raise DashboardError(
                f"There is no GPU {printable(name)} on this machine (indices: {there}).",
                "`devices` lists the GPUs with their UUIDs.",
            )
        if gpu.uuid in found:
            raise DashboardError(
                f"GPU {gpu.index} is named twice, as {found[gpu.uuid]} and as {printable(name)}.",
                "Name each GPU once; two NCCL ranks cannot share one.",
            )
        found[gpu.uuid] = printable(name)


def _check_disk(folder: Path) -> list[str]:
    while not os.path.exists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        free_bytes = shutil.disk_usage(folder).free
    except OSError:
        return []
    free = f"{free_bytes / 2**20:.0f} MiB"
    if free_bytes < _DISK_NEEDED_BYTES:
        raise DashboardError(
            f"The disk that holds the run folders has {free} left ({printable(str(folder))}).",
            "Free some disk space, or set RIDGELINE_DATA_DIR to another folder.",
        )
    if free_bytes < _DISK_COMFORT_BYTES:
        return [f"The disk that holds the run folders has only {free} left."]
    return []


def _check_module(spec: JobSpec, answers: Answers) -> None:
    error = answers.get("syntax_error")
    if error is not None:
        raise DashboardError(
            f"{printable(spec.target)} has a syntax error in line {error['line']}: {error['message']}.",
            f"Python {answers['python']['version']} read it: correct it or choose another interpreter.",
        )
    module = answers.get("module")
    if module is None or module["found"]:
        return
    if module["missing"] == "__main__":
        raise DashboardError(
            f"{spec.target} is a package and cannot be started: it has no __main__.",
            "Name the module in it that is the program.",
        )
    place = f"in {module['known']}" if module["known"] else f"from {printable(spec.working_folder)}"
    raise DashboardError(
        f"There is no module {module['missing']} {place}.",
        "Choose the folder that holds it as working folder, or the interpreter that has it installed.",
    )


def _check_torch(spec: JobSpec, answers: Answers) -> None:
    raised = answers.get("raised")
    shown = printable(spec.interpreter)
    if raised is not None:
        missing = raised["type"] == "ModuleNotFoundError" and "'torch'" in raised["message"]
        if missing:
            raise DashboardError(
                f"PyTorch is not installed for {shown}.",
                "Install it there (pip install torch), or choose the interpreter of your environment.",
            )
        raise DashboardError(
            f"PyTorch cannot be imported by {shown}: {raised['type']}: {raised['message']}.",
            "Start `python -c 'import torch'` with it and repair that installation.",
        )
    torch = answers["torch"]
    if _release(torch["torch"]) < OLDEST_TORCH:
        raise DashboardError(
            f"PyTorch {torch['torch']} of {shown} is too old.",
            f"Ridgeline runs PyTorch {OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} and newer.",
        )
    if not torch["distributed"]:
        raise DashboardError(
            f"PyTorch of {shown} was built without torch.distributed.", "Choose another build of PyTorch."
        )


def _release(version: str) -> tuple[int, int]:
    """Returns (2, 4) of "2.4.1+cpu"; what has no number counts as newer than everything."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (sys.maxsize, 0)


def _check_devices(spec: JobSpec, answers: Answers) -> None:
    torch = answers["torch"]
    if spec.device == "cpu":
        if not torch["gloo"]:
            raise FieldError(
                "interpreter",
                "PyTorch of this interpreter has no gloo backend, which CPU ranks need.",
                "Choose another build of PyTorch.",
            )
        return
    count = int(torch["gpu_count"])
    if count == 0:
        raise DashboardError(
            _no_gpu(torch), "Choose device cpu (gloo), or an interpreter that sees the GPUs."
        )
    if spec.gpus is not None and count < len(spec.gpus):
        raise FieldError(
            "gpus",
            f"Of the {len(spec.gpus)} GPUs that are named ({printable(', '.join(spec.gpus))}) "
            f"PyTorch sees {count}.",
            "`devices` lists the GPUs with their UUIDs; CUDA ignores all names after a wrong one.",
        )
    if count < spec.ranks:
        raise DashboardError(
            f"{spec.ranks} ranks need {spec.ranks} GPUs; PyTorch sees {count}.",
            f"Choose {count} rank{'' if count == 1 else 's'} or fewer, or device cpu.",
        )
    if not torch["nccl"]:
        raise FieldError(
            "interpreter",
            "PyTorch of this interpreter has no NCCL, which GPU ranks need.",
            "Choose another build of PyTorch, or device cpu.",
        )


def _no_gpu(torch: Answers) -> str:
    if torch["cuda"] is None:
        return f"PyTorch {torch['torch']} was built without CUDA: it sees no NVIDIA GPU."
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return "CUDA_VISIBLE_DEVICES is empty: it hides every GPU."
    said = f": {torch['gpu_problem'].rstrip('.')}" if torch["gpu_problem"] else ""
    return f"PyTorch {torch['torch']} sees no NVIDIA GPU{said}."


def _check_backend(spec: JobSpec, answers: Answers) -> None:
    """Refuses a script that names one backend only, without a condition, and the wrong one."""
    source = answers.get("source")
    if source is None or len(source["certain"]) != 1 or len(source["named"]) != 1:
        return
    shown = printable(spec.target)
    backend = source["certain"][0]
    if backend == "nccl" and spec.device == "cpu":
        raise DashboardError(
            f"{shown} asks for the NCCL backend, which needs NVIDIA GPUs; this job runs on the CPU.",
            "Choose device cuda if there are GPUs, or let the script ask for gloo on the CPU.",
        )
    if backend == "gloo" and spec.device == "cuda" and source["shards"]:
        raise DashboardError(
            f"{shown} asks for the gloo backend; sharding GPU tensors over gloo crashes PyTorch.",
            "Choose device cpu, which hides the GPUs, or let the script ask for nccl.",
        )


def _doubts(spec: JobSpec, answers: Answers) -> list[str]:
    source = answers.get("source")
    doubts = []
    if source is not None and spec.device == "cpu" and source["named"] == ["nccl"]:
        doubts.append("The script names only the NCCL backend; on the CPU it needs gloo.")
    torch = str(answers["torch"]["torch"])
    if source is not None and spec.device == "cpu" and source["fsdp2"] and _release(torch) < FSDP2_ON_CPU:
        doubts.append(
            f"fully_shard of PyTorch {torch} makes CUDA streams and fails on the CPU; 2.8 and newer do not."
        )
    cpus = host.this_host().cpu_count
    if spec.device == "cpu" and spec.ranks > 4 * cpus:
        doubts.append(f"{spec.ranks} CPU ranks share {cpus} processors: expect slow steps.")
    return doubts
