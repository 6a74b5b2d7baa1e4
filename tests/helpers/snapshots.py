"""Snapshots of runs that never ran, for tests and benchmarks of what the window shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.runs.job import JobSpec
from core.runs.manifest import SCHEMA_VERSION, Host, Manifest
from core.runs.snapshot import RankState, RankStatus, RunSnapshot
from core.telemetry.events import GpuProcess, GpuReading
from core.telemetry.views import LogLine, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

GIB = 2**30
CREATED_NS = 1_790_000_000_000_000_000


def manifest(ranks: int = 4, device: str = "cpu", **changes: Any) -> Manifest:
    job = JobSpec(
        title="MiniLLM",
        target="/home/someone/train.py",
        interpreter="/usr/bin/python3",
        working_folder="/home/someone",
        ranks=ranks,
        device="cuda" if device == "cuda" else "cpu",
        arguments=("--steps", "200"),
    )
    values: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "id": "20261129-124103-minillm-7f3a",
        "job": job,
        "host": Host(name="box", platform="Linux", cpu_count=8, memory_bytes=64 * GIB),
        "created_ns": CREATED_NS,
        "started_ns": CREATED_NS,
        "status": "running",
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
    }
    return Manifest(**{**values, **changes})


def series(y: ArrayLike, x: ArrayLike | None = None, generation: int = 0) -> Series:
    values = np.asarray(y, dtype=np.float64)
    places = np.arange(len(values), dtype=np.float64) if x is None else np.asarray(x, dtype=np.float64)
    return Series(x=places, y=values, generation=generation)


def cpu_rank(rank: int, **changes: Any) -> RankState:
    state = RankState(
        rank=rank,
        status=RankStatus.RUNNING,
        pid=4000 + rank,
        device="cpu",
        step=120,
        loss=6.25 + rank / 100,
        loss_step=120,
        loss_source="autograd",
        step_time_ns=260_400_000,
        resident_bytes=int((0.41 + rank / 1000) * GIB),
        learning_rate=1e-3,
        grad_norm=0.412,
        first_sequence=1,
        last_sequence=480,
    )
    return replace(state, **changes)


def gpu_rank(rank: int, **changes: Any) -> RankState:
    return cpu_rank(
        rank,
        **{
            "device": "cuda:0",
            "gpu_index": rank,
            "step_time_ns": 108_200_000,
            "own_ns": 90_300_000,
            "allocated_bytes": 4 * GIB,
            "reserved_bytes": 6 * GIB,
            "peak_bytes": 5 * GIB,
            "driver_bytes": 6 * GIB,
            **changes,
        },
    )


def gpu(index: int, pid: int | None, **changes: Any) -> GpuReading:
    values: dict[str, Any] = {
        "index": index,
        "uuid": f"GPU-0000000{index}",
        "name": "NVIDIA H100 80GB HBM3",
        "total_bytes": 80 * GIB,
        "used_bytes": 10 * GIB,
        "driver_reserved_bytes": 308 * 2**20,
        "utilization_pct": 97.0,
        "power_w": 518.0,
        "power_limit_w": 700.0,
        "temperature_c": 61.0,
        "sm_clock_mhz": 1980,
        "sm_clock_max_mhz": 1980,
        "memory_clock_mhz": 2619,
        "throttle_reasons": [],
        "processes": [] if pid is None else [GpuProcess(pid=pid, used_bytes=6 * GIB)],
    }
    return GpuReading(**{**values, **changes})


def run_snapshot(states: Sequence[RankState], **changes: Any) -> RunSnapshot:
    on_gpu = any(state.gpu_index is not None for state in states)
    values: dict[str, Any] = {
        "version": 1,
        "manifest": manifest(len(states), "cuda" if on_gpu else "cpu"),
        "alive": True,
        "headline": "Running",
        "ranks": tuple(states),
        "alerts": (),
        "series": {},
        "gpus_unavailable": "" if on_gpu else "No NVIDIA driver on this machine.",
    }
    return RunSnapshot(**{**values, **changes})


def cpu_snapshot(ranks: int = 4, steps: int = 120, **changes: Any) -> RunSnapshot:
    """Ranks on the CPU with a falling loss, resident memory and step times."""
    random = np.random.default_rng(7)
    step = np.arange(steps, dtype=np.float64)
    course = 6.9 * np.exp(-step / 400)
    curves = {
        "loss": {r: series(course + random.normal(0, 0.02, steps)) for r in range(ranks)},
        "step_time": {r: series(260 + random.normal(0, 4, steps)) for r in range(ranks)},
        "resident": {
            r: series(0.41 + r / 1000 + random.normal(0, 1e-4, steps), step * 0.26) for r in range(ranks)
        },
        "grad_norm": {r: series(0.4 + random.normal(0, 0.01, steps)) for r in range(ranks)},
        "learning_rate": {r: series(np.full(steps, 1e-3)) for r in range(ranks)},
    }
    values: dict[str, Any] = {"series": curves, **changes}
    return run_snapshot([cpu_rank(rank) for rank in range(ranks)], **values)


def gpu_snapshot(ranks: int = 4, steps: int = 300, **changes: Any) -> RunSnapshot:
    """Ranks on GPUs, rank 2 slow because its GPU is hot."""
    random = np.random.default_rng(9)
    step = np.arange(steps, dtype=np.float64)
    seconds = step * 0.108
    states = [gpu_rank(rank) for rank in range(ranks)]
    gpus = [gpu(rank, 4000 + rank) for rank in range(ranks)]
    if ranks > 2:
        states[2] = gpu_rank(2, status=RankStatus.SLOW, own_ns=106_900_000)
        gpus[2] = gpu(
            2, 4002, sm_clock_mhz=1410, temperature_c=87.0, throttle_reasons=["SW Thermal Slowdown"]
        )
    loss = 10.374 + 0.152 * np.exp(-step / 150)
    memory = 7 + 4 * np.sin(seconds * 2)
    curves = {
        "loss": {r: series(loss + random.normal(0, 0.006, steps)) for r in range(ranks)},
        "step_time": {r: series(108 + random.normal(0, 0.8, steps)) for r in range(ranks)},
        "own_time": {r: series((107 if r == 2 else 90) + random.normal(0, 0.5, steps)) for r in range(ranks)},
        "allocated": {r: series(memory + (0.42 if r == 0 else r / 100), seconds) for r in range(ranks)},
        "reserved": {r: series(np.full(steps, 12.1), seconds) for r in range(ranks)},
        "driver": {r: series(np.full(steps, 12.9), seconds) for r in range(ranks)},
        "gpu_used": {r: series(np.full(steps, 13.0), seconds) for r in range(ranks)},
        "resident": {r: series(np.full(steps, 3.1), seconds) for r in range(ranks)},
        "grad_norm": {r: series(0.4 + random.normal(0, 0.01, steps)) for r in range(ranks)},
        "learning_rate": {r: series(np.full(steps, 3e-4)) for r in range(ranks)},
        "sm_clock": {
            r: series(np.where((step > 150) & (r == 2), 1410, 1980.0), seconds) for r in range(ranks)
        },
        "power": {r: series(518 + random.normal(0, 9, steps), seconds) for r in range(ranks)},
        "temperature": {r: series(61 + r + random.normal(0, 0.4, steps), seconds) for r in range(ranks)},
        "utilization": {r: series(97 + random.normal(0, 0.5, steps), seconds) for r in range(ranks)},
    }
    values: dict[str, Any] = {"series": curves, "gpus": tuple(gpus), **changes}
    return run_snapshot(states, **values)


def log_lines(count: int, ranks: int = 4, first: int = 1) -> list[LogLine]:
    return [
        LogLine(
            number=number,
            rank=number % ranks,
            stream="out",
            text=f"step {number}  loss {10 - number / 1000:.4f}",
            t_ns=CREATED_NS + number * 1_000_000,
        )
        for number in range(first, first + count)
    ]
