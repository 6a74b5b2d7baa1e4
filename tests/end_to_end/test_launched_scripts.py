"""Scripts as people write them, launched as they are: what they print and how they end is told as it was.

Each kind has a small script of its own here; the handed ones run beside them
where they are present.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
import pytest

from core.launch.client import launch, request_stop
from core.runs.job import JobSpec
from core.runs.manifest import ENDED
from core.runs.monitor import RunMonitor
from core.runs.store import RunFolder, RunStore, effective_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.runs.snapshot import RunSnapshot

pytestmark = pytest.mark.torchrun

LIMIT_S = 90.0
STALL_LIMIT_MS = 500.0
"""Of case L14: it is the right answer that comes with the case, not a speed of this test's own."""


def until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition to become true."""
    end_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end_s, f"never came: {what}"
        time.sleep(0.05)


@dataclass(frozen=True)
class Lab:
    """A folder to work in and a store of its own."""

    work: Path
    store: RunStore

    def launch(self, name: str, code: str, ranks: int = 1) -> RunFolder:
        """Launches a script of this text."""
        script = self.work / f"{name}.py"
        script.write_text(code)
        return self.launch_file(script, ranks)

    def launch_file(self, script: Path, ranks: int = 1) -> RunFolder:
        """Launches a script that is there."""
        job = JobSpec(
            title=script.stem,
            target=str(script),
            interpreter=sys.executable,
            ranks=ranks,
            working_folder=str(self.work),
        )
        return launch(job, self.store)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("RIDGELINE_GRACE_S", "0.4")
    (tmp_path / "work").mkdir()
    return Lab(tmp_path / "work", RunStore(tmp_path / "runs"))


def ended(folder: RunFolder) -> RunSnapshot:
    """Waits for the end; everything that can be read of the run then."""
    until(lambda: effective_status(folder, folder.read()) in ENDED, f"end of {folder.id}")
    return RunMonitor(folder).read_all()


def output(folder: RunFolder, rank: int = 0) -> str:
    path = folder.log_file(rank, "out")
    return path.read_text() if path.exists() else ""


# --- output -------------------------------------------------------------------

BUFFERED = """
import os, time
print("Step 0 | Loss: 1.0000")
while not os.path.exists("seen"):
    time.sleep(0.02)
print("Step 1 | Loss: 0.5000")
"""


def test_a_line_that_is_never_flushed_is_seen_while_the_job_goes_on(lab: Lab) -> None:
    """Case L11: the job goes on only once its first line was seen; a line held back would stop both."""
    folder = lab.launch("buffered", BUFFERED, ranks=2)
    monitor = RunMonitor(folder)
    until(lambda: [rank.loss for rank in monitor.poll().ranks] == [1.0, 1.0], "the first loss of both")
    (lab.work / "seen").touch()
    snapshot = ended(folder)
    assert snapshot.manifest.status == "done"
    assert snapshot.series["loss"][1].y.tolist() == [1.0, 0.5]


FLOOD = """
import os, time
while not os.path.exists("paused"):
    time.sleep(0.02)
for i in range(20_000):
    print(f"Step {i} | Loss: {1 + 1 / (i + 1):.6f} " + "y" * 400)
os.write(2, b"e" * (1 << 20))
open("written", "w").close()
while not os.path.exists("seen"):
    time.sleep(0.02)
"""


def test_output_goes_on_while_nobody_reads(lab: Lab) -> None:
    """Case L14: 9 MB, far more than any pipe holds, while all who might read a pipe of it stand still."""
    folder = lab.launch("flood", FLOOD)
    monitor = RunMonitor(folder)
    until(lambda: monitor.poll().ranks[0].pid is not None, "the rank")
    manifest = folder.read()
    assert manifest.supervisor is not None
    assert manifest.launcher is not None
    readers = [psutil.Process(process.pid) for process in (manifest.supervisor, manifest.launcher)]
    for reader in readers:
        reader.send_signal(signal.SIGSTOP)
    try:
        (lab.work / "paused").touch()
        until((lab.work / "written").exists, "the end of the writes")
        lines = output(folder).splitlines()
        assert [line.split(" | ")[0] for line in lines] == [f"Step {i}" for i in range(20_000)]
        assert folder.log_file(0, "err").stat().st_size == 1 << 20
    finally:
        for reader in readers:
            reader.send_signal(signal.SIGCONT)
    (lab.work / "seen").touch()
    snapshot = ended(folder)
    assert snapshot.manifest.status == "done"
    assert len(snapshot.series["loss"][0].y) == 20_000


# --- shards -------------------------------------------------------------------

UNEVEN = """
import os, torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 7), nn.SiLU(), nn.Linear(7, 2))
for layer in (model[0], model[2], model):
    fully_shard(layer, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
rows = [model[i].weight.to_local().shape[0] for i in (0, 2)]
for step in range(5):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 5)).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(f"Step {step} | Loss: {loss.item():.4f} | shard rows {rows[0]} and {rows[1]}")
dist.destroy_process_group()
"""


def assert_five_steps_without_alarm(snapshot: RunSnapshot, ranks: int) -> None:
    assert snapshot.manifest.exit_codes == dict.fromkeys(range(ranks), 0)
    assert snapshot.headline.startswith("Done after step 4")
    assert snapshot.alerts == ()
    for rank in range(ranks):
        assert snapshot.series["loss"][rank].x.tolist() == [0, 1, 2, 3, 4]
        assert snapshot.ranks[rank].loss_source == "autograd"


def ended_whole(launch_it: Callable[[], RunFolder]) -> RunFolder:
    """Launches until torch itself lets the job end.

    WORKAROUND(https://github.com/pytorch/pytorch/pull/179291): gloo's threads may still hold
    tensors of the last step when Python ends, and then abort the process; seldom.
    """
    for _ in range(4):
        folder = launch_it()
        ended(folder)
        errors = [folder.log_file(rank, "err").read_text() for rank in range(folder.read().job.ranks)]
        if not any("terminate called without an active exception" in text for text in errors):
            return folder
    raise AssertionError("torch aborted each of four jobs at its end")


def test_shards_of_uneven_size_are_no_alarm(lab: Lab) -> None:
    """Case L19: 7 rows and 2 over 3 ranks, one of which holds none of the 2."""
    folder = ended_whole(lambda: lab.launch("uneven", UNEVEN, ranks=3))
    assert_five_steps_without_alarm(ended(folder), ranks=3)
    rows = [output(folder, rank).splitlines()[-1].split("shard rows ")[1] for rank in range(3)]
    assert rows == ["3 and 1", "3 and 1", "1 and 0"]


# --- ends ---------------------------------------------------------------------


def test_the_words_of_an_exit_are_the_headline(lab: Lab) -> None:
    code = (
        "import os, sys, time\nif os.environ['RANK'] == '1':\n    sys.exit('no data in /nowhere\\nat all')\n"
    )
    snapshot = ended(lab.launch("gives_up", code + "time.sleep(600)\n", ranks=2))
    words = "Rank 1 ended with exit code 1: no data in /nowhere"
    assert (snapshot.manifest.status, snapshot.manifest.summary, snapshot.headline) == (
        "failed",
        words,
        words,
    )
    assert snapshot.manifest.exit_codes == {0: -15, 1: 1}
    assert snapshot.ranks[1].exception == "SystemExit: no data in /nowhere\nat all"


def test_an_interrupt_of_the_script_s_own_is_told_as_such(lab: Lab) -> None:
    snapshot = ended(lab.launch("interrupts", "raise KeyboardInterrupt\n"))
    words = "Rank 0 raised KeyboardInterrupt; no stop was asked for"
    assert (snapshot.manifest.status, snapshot.manifest.summary, snapshot.headline) == (
        "failed",
        words,
        words,
    )
    assert snapshot.manifest.exit_codes == {0: -2}


# --- as they were handed --------------------------------------------------------


def test_handed_scripts(lab: Lab, shared_cases: Path) -> None:
    """Cases L11, L14 and L19 as they were handed, side by side."""
    buffered = lab.launch_file(shared_cases / "L11_buffered.py")
    pressing = lab.launch_file(shared_cases / "L14_backpressure.py")

    # L11 prints a line a second for 30 s: its first is there before its last was printed.
    until(lambda: "Step 0 |" in output(buffered), "the first line")
    assert "Step 29 |" not in output(buffered)
    assert effective_status(buffered, buffered.read()) not in ENDED
    request_stop(buffered)

    uneven = ended_whole(lambda: lab.launch_file(shared_cases / "L19_uneven.py", ranks=3))
    assert_five_steps_without_alarm(ended(uneven), ranks=3)
    assert [output(uneven, rank)[-2] for rank in range(3)] == ["3", "3", "1"]

    # L14 writes 30 MB; nobody reads them until it has ended.
    snapshot = ended(pressing)
    *lines, last = output(pressing).splitlines()
    words = last.split()
    assert words[0] == "WORST_WRITE_STALL_MS"
    assert float(words[1]) < STALL_LIMIT_MS
    assert len(lines) == int(words[words.index("after") + 1])
    assert snapshot.ranks[0].loss_step == len(lines) - 1
    assert ended(buffered).manifest.status == "stopped"
