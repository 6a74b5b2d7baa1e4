"""What the rank agent costs: the same training loop with and without it, in turns.

Each run is a process of its own that trains the same small model on the CPU with two
micro-steps and clipping, and prints its CPU time a step (all threads, so the
heartbeat counts too). The agent's own counters are given beside. From the root:
``python -m tests.benchmarks.bench_agent_cost``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.rows import Row, median_of, print_rows, spread_of
from tests.helpers.torchrun import AGENT, agent_environment, of_kind, read_rank

PAIRS = 5
STEPS = 2000
LIMIT_MS = 0.3

SCRIPT = f"""
import time
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randn(64, 64)
def step():
    optimizer.zero_grad()
    for _ in range(2):
        (model(x).pow(2).mean() / 2).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
for _ in range(200):
    step()
cpu, wall = time.process_time(), time.perf_counter()
for _ in range({STEPS}):
    step()
print((time.process_time() - cpu) * 1000 / {STEPS}, (time.perf_counter() - wall) * 1000 / {STEPS})
"""


def one_run(script: Path, run_dir: Path | None) -> tuple[float, float]:
    """CPU and wall milliseconds a step; with the agent if there is a run folder."""
    agent = [] if run_dir is None else [str(AGENT)]
    environment = agent_environment(run_dir or script.parent)
    done = subprocess.run(
        [sys.executable, *agent, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    text = done.stdout if run_dir is None else (run_dir / "logs/0.out").read_text()
    cpu, wall = text.split()
    return float(cpu), float(wall)


def counted_by_agent(run_dir: Path) -> float:
    """CPU milliseconds a step that the agent counted itself, heartbeat included."""
    [end] = of_kind(read_rank(run_dir), "end")
    return float(str(end["agent_cpu_ns"])) / 1e6 / float(str(end["steps"]))


def main() -> list[Row]:
    """Measures in pairs; the order within a pair alternates."""
    plain: list[tuple[float, float]] = []
    with_agent: list[tuple[float, float]] = []
    counted = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "loop.py"
        script.write_text(SCRIPT)
        for pair in range(PAIRS):
            run_dir = Path(folder) / f"run{pair}"
            for use_agent in (pair % 2 == 0, pair % 2 == 1):
                (with_agent if use_agent else plain).append(one_run(script, run_dir if use_agent else None))
            counted.append(counted_by_agent(run_dir))
    rows = []
    for index, figure in enumerate(("CPU ms a step", "wall ms a step")):
        ours, theirs = [run[index] for run in with_agent], [run[index] for run in plain]
        ratio = statistics.median(ours) / statistics.median(theirs)
        against = f"without the agent {median_of(theirs)}"
        rows.append(
            Row("agent, 2 micro-steps", figure, median_of(ours), spread_of(ours), against, f"{ratio:.3f}")
        )
    extra = [ours[0] - theirs[0] for ours, theirs in zip(with_agent, plain, strict=True)]
    for figure, values in (("added CPU ms a step, by pair", extra), ("CPU ms a step, own count", counted)):
        ratio = statistics.median(values) / LIMIT_MS
        rows.append(
            Row(
                "agent, 2 micro-steps",
                figure,
                median_of(values),
                spread_of(values),
                f"limit {LIMIT_MS}",
                f"{ratio:.3f}",
            )
        )
    return rows


if __name__ == "__main__":
    print_rows(main())
