"""Losses that would be wrong figures, and loops that never step: shown as nothing, kept in little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.torchrun import of_kind, read_rank, run_alone

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import os, time, torch

with open(os.path.join(os.environ["RIDGELINE_RUN_DIR"], "control.jsonl"), "w") as file:
    file.write('\\n{"kind":"stop","seq":0,"t_ns":1,"now":false}\\n\\n')

weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

def end_step():
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()

scaler.scale((weight * 3).sum()).backward()
end_step()
for part in range(2):
    (scaler.scale((weight * 3).sum()) / 2).backward()
end_step()
first, second = scaler.scale([(weight * 3).sum(), (weight * 2).sum()])
(first + second).backward()
end_step()
scaler.scale((weight * 3).sum()).backward()
end_step()

for micro_step in range(5000):
    (weight * 1e-6).sum().backward()
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
optimizer.step()
optimizer.zero_grad()
(weight * 3).sum().backward()
optimizer.step()
time.sleep(0.6)
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    folder: Path = tmp_path_factory.mktemp("doubtful")
    (folder / "x.py").write_text(SCRIPT)
    result = run_alone([str(folder / "x.py")], folder / "run")
    assert result.returncode == 0, (folder / "run" / "logs" / "0.err").read_text()
    return read_rank(folder / "run")


def test_a_loss_changed_after_it_was_scaled_is_missing_not_wrong(records: list[dict[str, object]]) -> None:
    losses = {loss["step"]: loss["value"] for loss in of_kind(records, "loss")}
    assert losses == {0: 3.0, 3: pytest.approx(3.0, abs=0.1), 5: pytest.approx(3.0, abs=0.1)}
    messages = [problem["message"] for problem in of_kind(records, "problem")]
    assert messages == ["loss: it was changed after it had been scaled and is not shown"]


def test_all_steps_are_there_whatever_their_losses(records: list[dict[str, object]]) -> None:
    steps = of_kind(records, "step")
    assert [(step["step"], step["micro_steps"]) for step in steps] == [
        (0, 1),
        (1, 2),
        (2, 1),
        (3, 1),
        (4, 5000),
        (5, 1),
    ]
    assert [norm["step"] for norm in of_kind(records, "grad_norm")] == [4]
