"""Jobs that need no form: the presets, and which of them one click starts on this machine.

Pure: nothing is looked up here, the GPUs are given.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.files import EXAMPLES
from core.hardware.readings import GpuInfo, count_words
from core.hardware.visible import resolve_visible
from core.runs.job import DeviceKind, JobSpec

SCRIPT = EXAMPLES / "train_fsdp.py"
SEED_RANKS = 4
TINY_RANKS = 4

Preset = Callable[..., JobSpec]


@dataclass(frozen=True, slots=True)
class Choice:
    """What one click starts, and why it is that: one sentence to show."""

    spec: JobSpec
    why: str


def _job(  # noqa: PLR0913, PLR0917  (what every preset is asked with)
    name: str,
    arguments: tuple[str, ...],
    interpreter: str,
    ranks: int,
    device: DeviceKind,
    gpus: tuple[str, ...] | None,
) -> JobSpec:
    return JobSpec(
        title=name,
        preset=name,
        target=str(SCRIPT),
        arguments=arguments,
        interpreter=interpreter,
        ranks=ranks,
        device=device,
        gpus=gpus,
        working_folder=_working_folder(),
    )


def tiny(
    interpreter: str = sys.executable,
    *,
    ranks: int = TINY_RANKS,
    device: DeviceKind = "cpu",
    gpus: tuple[str, ...] | None = None,
    arguments: tuple[str, ...] = (),
) -> JobSpec:
    """Returns a model of 0.2 million parameters: first loss within seconds, on any machine."""
    sizes = {"dim": 64, "layers": 2, "heads": 4, "vocab": 1000, "batch": 2, "sequence": 64}
    flags = _flags(sizes, steps=200, lr="1e-3", dtype="fp32", device=device)
    return _job("tiny", flags + arguments, interpreter, ranks, device, gpus)


def seed(
    interpreter: str = sys.executable,
    *,
    ranks: int = SEED_RANKS,
    device: DeviceKind = "cuda",
    gpus: tuple[str, ...] | None = None,
    arguments: tuple[str, ...] = (),
) -> JobSpec:
    """Returns the full-sized MiniLLM: 12 blocks of width 2048, bf16, batch 8 x 1024 a rank."""
    sizes = {"dim": 2048, "layers": 12, "heads": 16, "vocab": 32000, "batch": 8, "sequence": 1024}
    flags = _flags(sizes, steps=200, lr="3e-4", dtype="bf16", device=device)
    return _job("seed", flags + arguments, interpreter, ranks, device, gpus)


PRESETS: dict[str, Preset] = {"tiny": tiny, "seed": seed}


def choose_preset(
    gpus: Sequence[GpuInfo],
    interpreter: str = sys.executable,
    *,
    environment: Mapping[str, str] | None = None,
    torch_without_cuda: str = "",
) -> Choice:
    """Decides what one click starts: the seed model on up to 4 GPUs, else the tiny one on 4 CPU ranks.

    Args:
        gpus: All GPUs and MIG slices of this machine, as NVML lists them.
        interpreter: Python that runs the job.
        environment: Where CUDA_VISIBLE_DEVICES stands; None is this process's.
        torch_without_cuda: Version of the interpreter's torch if that is built without
            CUDA, "" if it has CUDA or was not asked.
    """
    variables = os.environ if environment is None else environment
    visible = resolve_visible(variables.get("CUDA_VISIBLE_DEVICES"), gpus)
    if not visible or torch_without_cuda:
        why = "No NVIDIA GPU was found"
        if visible:
            there = count_words(visible)
            why = f"{there} found, but torch {torch_without_cuda} is built without CUDA"
        elif gpus:
            why = f"CUDA_VISIBLE_DEVICES hides {'the GPU' if len(gpus) == 1 else 'all GPUs'} of this machine"
        return Choice(tiny(interpreter), f"{why}: the tiny model on {TINY_RANKS} CPU ranks (gloo).")
    used = visible[:SEED_RANKS]
    spec = seed(interpreter, ranks=len(used), gpus=tuple(gpu.uuid for gpu in used))
    if used[0].slice_index is not None:
        return Choice(spec, "A process sees 1 MIG slice and no more: the seed model on 1 rank (NCCL).")
    return Choice(spec, _why_seed(len(used), len(visible)))


def _why_seed(used: int, visible: int) -> str:
    if used == SEED_RANKS:
        of = f" of {visible}" if visible > used else ""
        return f"The seed model on {used}{of} GPUs (NCCL)."
    ranks = "1 rank" if used == 1 else f"{used} ranks"
    there = "1 GPU is" if used == 1 else f"{used} GPUs are"
    return f"{there} there, not {SEED_RANKS}: the seed model on {ranks} (NCCL)."


def _flags(sizes: Mapping[str, int], *, steps: int, lr: str, dtype: str, device: str) -> tuple[str, ...]:
    values = {**sizes, "steps": steps, "lr": lr, "dtype": dtype, "device": device}
    return tuple(part for name, value in values.items() for part in (f"--{name}", str(value)))


def _working_folder() -> str:
    """Returns the user's home; the presets write nothing there."""
    home = os.path.expanduser("~")
    return home if os.path.isdir(home) else tempfile.gettempdir()
