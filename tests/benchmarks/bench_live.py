"""What following a run costs: many ranks, long curves, long logs.

64 ranks that another process writes for, 100 records a second each; the thinning
of 8 curves of 100,000 points; and the memory and time of a log of 1,000,000
lines, of which every tenth names a loss. From the root:
``python -m tests.benchmarks.bench_live``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from core.runs.job import JobSpec
from core.runs.monitor import RunMonitor
from core.runs.store import RunFolder, RunStore
from core.telemetry.decimate import min_max
from core.telemetry.log_lines import LogTail
from tests.benchmarks.rows import Row, median_of, print_rows, spread_of

RANKS = 64
RECORDS_PER_S = 100
SECONDS = 12.0
POLL_S = 0.05
LINES = 1_000_000
POINTS = 100_000
TICK_LIMIT_MS = 20.0

WRITER = f"""
import json, os, sys, time
folder, seconds = sys.argv[1], float(sys.argv[2])
flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
files = [os.open(f"{{folder}}/{{rank}}.jsonl", flags) for rank in range({RANKS})]
kinds = [
    {{"kind": "heartbeat", "phase": "forward", "resident_bytes": 2**30}},
    {{"kind": "loss", "value": 2.5}},
    {{"kind": "heartbeat", "phase": "backward", "resident_bytes": 2**30}},
    {{"kind": "step", "micro_steps": 1, "step_time_ns": 10**7, "backward_ns": 5 * 10**6}},
]
begin, sequence = time.monotonic(), 0
while time.monotonic() - begin < seconds:
    due = int((time.monotonic() - begin) * {RECORDS_PER_S})
    while sequence < due:
        sequence += 1
        for file in files:
            record = dict(kinds[sequence % 4], step=sequence // 4, seq=sequence, t_ns=time.time_ns())
            os.write(file, json.dumps(record).encode() + b"\\n")
    time.sleep(0.002)
print(sequence)
"""


def make_run(root: Path) -> RunFolder:
    """An empty run of that many ranks."""
    job = JobSpec(title="bench", target="x.py", interpreter="python", working_folder=str(root), ranks=RANKS)
    return RunStore(root).create(job)


class Lags:
    """How old records are when a snapshot shows them, from the heartbeats' curve."""

    def __init__(self, created_ns: int) -> None:
        self.all_ms: list[float] = []
        self._created_ns = created_ns
        self._seen = [0] * RANKS

    def take(self, monitor: RunMonitor) -> None:
        """Polls once and adds the ages of what is new."""
        snapshot = monitor.poll()
        now_s = (time.time_ns() - self._created_ns) / 1e9
        for rank, series in snapshot.series.get("resident", {}).items():
            new = series.x[self._seen[rank] :]
            self._seen[rank] = len(series.x)
            self.all_ms += ((now_s - new) * 1e3).tolist()


def many_ranks() -> list[Row]:
    """Follows 64 ranks while another process writes for them."""
    with tempfile.TemporaryDirectory() as root:
        folder = make_run(Path(root))
        monitor = RunMonitor(folder, may_ask=False)
        lags = Lags(monitor.poll().manifest.created_ns)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder.path / "ranks"), str(SECONDS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        shares = []
        while writer.poll() is None:
            wall, cpu = time.perf_counter(), time.thread_time()
            for _ in range(20):
                lags.take(monitor)
                time.sleep(POLL_S)
            shares.append((time.thread_time() - cpu) / (time.perf_counter() - wall) * 100)
        written = int(writer.communicate()[0])
        ranks = monitor.read_all().ranks
        lost = sum(written - (rank.last_sequence or 0) + rank.lost_records for rank in ranks)
    name = f"follow {RANKS} ranks x {RECORDS_PER_S} records/s"
    ages = np.array(lags.all_ms)
    percentiles = [f"{np.percentile(ages, share):.0f}" for share in (50, 99, 100)]
    against = f"poll every {POLL_S * 1e3:.0f} ms"
    ratio = f"{np.percentile(ages, 50) / (POLL_S * 1e3):.2f}"
    return [
        Row(name, "CPU % of one core", median_of(shares, 1), spread_of(shares, 1), "-", "-"),
        Row(name, "lag ms", percentiles[0], f"p99 {percentiles[1]}, max {percentiles[2]}", against, ratio),
        Row(name, "records lost", str(lost), f"of {written * RANKS:,}", "-", "-"),
    ]


def long_curves() -> Row:
    """Thins 8 curves of 100,000 points to 1,000 pixels, with and without gaps."""
    rng = np.random.default_rng(0)
    x = np.arange(float(POINTS))
    curves = [rng.normal(2, 0.3, POINTS) for _ in range(8)]
    for y in curves[::2]:
        y[::1000] = np.nan
    times_ms: list[float] = []
    for _ in range(40):
        begin = time.perf_counter()
        for y in curves:
            min_max(x, y, 0, POINTS - 1, 1000)
        times_ms.append((time.perf_counter() - begin) * 1e3)
    ratio = float(np.median(times_ms)) / TICK_LIMIT_MS
    against = f"limit of a tick {TICK_LIMIT_MS:.0f}"
    name = "thin 8 x 100,000 points"
    return Row(name, "ms", median_of(times_ms, 2), spread_of(times_ms, 2), against, f"{ratio:.2f}")


def long_log() -> list[Row]:
    """Follows a log that grows to a million lines, and watches the memory of this process."""
    process = psutil.Process()
    block = "".join(
        f"Step {line} | Loss: 2.5000\n"
        if line % 10 == 0
        else f"[debug] candidate {line} took 0.1 ms xxxxxxxxxxx\n"
        for line in range(10_000)
    ).encode()
    resident_mib = []
    costs_us = []
    losses = shown = 0
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "0.out"
        path.touch()
        tail = LogTail(path, 0, "out")
        for _ in range(LINES // 10_000):
            with path.open("ab") as file:
                file.write(block)
            begin = time.thread_time()
            while (chunk := tail.read()).read_bytes:
                losses += len(chunk.losses)
                shown += len(chunk.lines)
            costs_us.append((time.thread_time() - begin) * 1e6 / 10_000)
            resident_mib.append(process.memory_info().rss / 2**20)
    assert losses == LINES // 10, "a loss was missed"
    early, late = resident_mib[9], resident_mib[-1]
    name = f"log of {LINES:,} lines"
    return [
        Row(name, "resident MiB", f"{late:.1f}", "-", f"at line 100,000 {early:.1f}", f"{late / early:.3f}"),
        Row(name, "CPU us a line", median_of(costs_us, 2), spread_of(costs_us, 2), "-", "-"),
        Row(name, "lines shown", f"{shown:,}", "-", f"{LINES:,} lines", f"{shown / LINES:.3f}"),
    ]


def main() -> list[Row]:
    """All of it."""
    return [*many_ranks(), long_curves(), *long_log()]


if __name__ == "__main__":
    print_rows(main())
