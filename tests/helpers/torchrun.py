"""Runs a script under torchrun and the rank agent, without the supervisor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
AGENT = ROOT / "resources" / "rank_agent" / "rank_agent.py"
EXAMPLE = ROOT / "resources" / "examples" / "train_fsdp.py"

TINY = [
    "--device=cpu",
    "--dtype=fp32",
    "--dim=32",
    "--layers=1",
    "--heads=2",
    "--vocab=64",
    "--batch=2",
    "--sequence=16",
    "--lr=3e-3",
]
"""Arguments of the example that make it as small as it can usefully be."""


def agent_environment(run_dir: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment of a job: nothing on PYTHONPATH, no GPU."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {
        "RIDGELINE_RUN_DIR": str(run_dir),
        "PYTHONUNBUFFERED": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        **(extra or {}),
    }
    return environment


def job_command(target: Sequence[str], ranks: int, python: str = sys.executable) -> list[str]:
    """Torchrun's argv for ``target`` (a script or ``-m MODULE``, and arguments)."""
    run = [python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    return [*run, str(AGENT), *target]


def run_job(
    target: Sequence[str],
    run_dir: Path,
    *,
    ranks: int = 1,
    python: str = sys.executable,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 180,
) -> subprocess.CompletedProcess[str]:
    """Runs a job to its end."""
    return subprocess.run(
        job_command(target, ranks, python),
        cwd=cwd,
        env=agent_environment(run_dir, env),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def run_alone(
    target: Sequence[str],
    run_dir: Path,
    *,
    python: str = sys.executable,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Runs one rank under the agent without torchrun: faster, for what needs one rank."""
    return subprocess.run(
        [python, str(AGENT), *target],
        cwd=cwd,
        env=agent_environment(run_dir, env),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def read_rank(run_dir: Path, rank: int = 0) -> list[dict[str, object]]:
    """All records of a rank's file, as plain objects."""
    lines = (run_dir / "ranks" / f"{rank}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines if line]


def of_kind(records: Sequence[dict[str, object]], kind: str) -> list[dict[str, object]]:
    """The records of one kind, in order."""
    return [record for record in records if record["kind"] == kind]


def printed_losses(run_dir: Path, rank: int = 0) -> list[float]:
    """The losses that the script itself printed as ``Step i | Loss: x``."""
    text = (run_dir / "logs" / f"{rank}.out").read_text()
    return [float(line.split("Loss:")[1].split()[0]) for line in text.splitlines() if "| Loss:" in line]
