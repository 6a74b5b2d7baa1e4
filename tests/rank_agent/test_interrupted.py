"""A stop comes at any instruction: no record is torn, none is missing in the sequence, none comes twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.helpers.torchrun import run_alone

if TYPE_CHECKING:
    from pathlib import Path

# Interrupts the agent while it writes, until it has come through 300 times: on a busy machine
# several alarms fall into one interruption.
SCRIPT = """
import gc, signal
records = next(each for each in gc.get_objects() if type(each).__name__ == "Records")
interrupted = 0

def interrupt(_, frame):
    # Between two records it would end this script, at whatever moment, and say nothing of the agent.
    if frame.f_globals is globals():
        return
    if interrupted < 300:
        signal.raise_signal(signal.SIGINT)
    else:
        signal.setitimer(signal.ITIMER_REAL, 0)

signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
while interrupted < 300:
    try:
        while interrupted < 300:
            records.write(("problem", {"message": "one more"}))
    except KeyboardInterrupt:
        interrupted += 1
# The last alarm may have been interrupted before it stopped the clock; Python forgets its handlers at exit.
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.setitimer(signal.ITIMER_REAL, 0)
print("interrupted", interrupted)
"""


def test_the_sequence_has_no_hole_however_often_a_stop_comes(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(SCRIPT)
    run_dir = tmp_path / "run"
    result = run_alone([str(script)], run_dir)
    assert result.returncode == 0, result.stderr
    assert (run_dir / "logs/0.out").read_text() == "interrupted 300\n"
    records = [json.loads(line) for line in (run_dir / "ranks/0.jsonl").read_bytes().splitlines()]
    assert len(records) > 100
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
