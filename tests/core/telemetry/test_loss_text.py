"""Which figures of a line of output count as the training loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from core.errors import DashboardError
from core.telemetry.loss_text import compile_pattern, find_loss, find_peak_memory, find_step
from core.units import format_bytes_gib

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Step 7 | Loss: 9.1234 | Peak VRAM/GPU: 3.21 GB", (7, 9.1234)),
        ("epoch 2 step 20 loss=1.5e-01 lr=1e-4", (20, 0.15)),
        ("[2,   300/9000] loss: 0.75", (300, 0.75)),
        ("01:02:03 SUCCESS Step 4 | Time: 6.1s | Loss: 1.5000 | Entropy: 0.2", (4, 1.5)),
        ('{"step": 3, "loss": 2.75, "val_loss": 8.0}', (3, 2.75)),
        ('{"val_loss": 8.0, "loss": 2.75, "global_step": 30}', (30, 2.75)),
        ("step: 8  loss: 1,234.5  grad_norm: 2.0", (8, 1234.5)),
        ("iter 900 step 15: loss 3.5, iter time: 40.0ms", (15, 3.5)),
        ("Training loss at step 6 is nan", (6, math.nan)),
        ("Step 6 | Loss: inf", (6, math.inf)),
        ("Step 7 | Loss: -inf", (7, -math.inf)),
        ("Step 8 | Loss: 1e-05", (8, 1e-05)),
        ("Step 9 | Loss: NaN", (9, math.nan)),
        ("step=13 loss=1.75", (13, 1.75)),
        ("  0%|#####     | 12/200 [00:01<00:09, 9.8it/s, loss=5.000]", (12, 5.0)),
        ("{'loss': 2.3064, 'grad_norm': 1.2, 'learning_rate': 4e-05, 'epoch': 0.01}", (None, 2.3064)),
        ("{'loss': '2.3064', 'epoch': '0.01'}", (None, 2.3064)),
        (" iteration       10/     100 | lm loss: 1.035E+01 | loss scale: 1.0 |", (10, 10.35)),
        ("Epoch: [0][10/5005]\tLoss 6.9512e+00 (7.0100e+00)\tAcc@1 0.39 ( 0.20)", (None, 6.9512)),
        ("train/loss: 0.5", (None, 0.5)),
        ("train_loss=0.5, eval_loss=0.7", (None, 0.5)),
        ("Train loss: 0.5, val loss: 0.7", (None, 0.5)),
        ("loss tensor(0.6931, grad_fn=<MeanBackward0>)", (None, 0.6931)),
        ("the loss is 0.25.", (None, 0.25)),
        ("loss: 0,25", (None, 0.25)),
        ("loss: 0", (None, 0.0)),
        ("loss=0.5,step=1,200", (1200, 0.5)),
        ("Step 12 | Time: 60.98s | Loss: 0.0000 | Grad norm: 1.2", (12, 0.0)),
    ],
)
def test_found(line: str, expected: tuple[int | None, float]) -> None:
    found = find_loss(line)
    assert found is not None
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], nan_ok=True)


@pytest.mark.parametrize(
    "line",
    [
        "ep 5 train, step 14, ce 0.5, ctc_4 1.0",
        "val_loss: 7.0",
        "val loss: 7.0",
        "Validation | epoch 3 | loss: 7.0",
        "eval/loss: 7.0",
        "test loss = 7.0",
        "best loss: 7.0",
        "lossless compression enabled, gloss: 4",
        "INFO loss scale reduced to 16384",
        "loss scale: 16384",
        "loss_scale=16384",
        "aux_loss: 0.1",
        "packet loss 5%",
        "loss: 5 %",
        "insertion loss: 3dB",
        "loss: None",
        "loss function: cross_entropy",
        "no loss of data",
        "self.loss = 3.5j",
        "using criterion loss.py 12",
        "my_loss: 3",
        "x/loss: 3",
        "",
    ],
)
def test_not_taken_for_a_loss(line: str) -> None:
    assert find_loss(line) is None


def test_a_rule_of_the_user_wins() -> None:
    rule = compile_pattern(r"\bce (\S+)")
    assert find_loss("ep 5 train, step 14, ce 0.5, ctc_4 1.0", rule) == (14, 0.5)
    assert find_loss("Step 1 | Loss: 2.0", rule) is None
    named = compile_pattern(r"it=(?P<step>\d+) obj=(?P<loss>\S+)")
    assert find_loss("it=40 obj=0.125 step 3", named) == (40, 0.125)
    assert find_loss("it=40 obj=high", named) is None


@pytest.mark.parametrize("text", ["ce (", "ce .*", "(?P<a"])
def test_a_rule_that_cannot_work_is_refused(text: str) -> None:
    with pytest.raises(DashboardError) as caught:
        compile_pattern(text)
    assert "number" in caught.value.hint


def test_memory_in_a_line_is_converted() -> None:
    """Case M02: GB are powers of ten, GiB are not."""
    assert format_bytes_gib(find_peak_memory("Step 0 | Loss: 1.0 | Peak VRAM/GPU: 12.34 GB")) == "11.49 GiB"
    assert find_peak_memory("max memory allocated: 512 MiB") == 512 * 2**20
    assert find_peak_memory("peak_mem=2 GiB") == 2 * 2**30
    assert find_peak_memory("downloaded 12.34 GB") is None


def test_steps() -> None:
    assert find_step("step [100/5000]") == 100
    assert find_step("at step 16") == 16
    assert find_step("footstep 16") is None
    assert find_step("step 1.5") is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "word", ["loss ", "train ", "loss:1,", "peak ", " ", "step ", "max mem ", "loss is "]
)
def test_a_hostile_line_ends(word: str) -> None:
    line = word * 100_000
    found = find_loss(line)
    assert (found is not None) == ("1" in word)
    assert find_peak_memory(line) is None


def test_the_handed_lines(shared_cases: Path) -> None:
    """Cases M14 and M17."""
    lines = (shared_cases / "M17_loss_formats.txt").read_text().splitlines()
    values = [found[1] for found in map(find_loss, lines) if found]
    assert values[:-1] == [10.5431, 0.25, 1.234, 0.5, 3.25, 2345.6, 2.9911]
    assert math.isnan(values[-1])
    lines = (shared_cases / "M14_nan_loss.txt").read_text().splitlines()
    found = [find_loss(line) for line in lines]
    steps = [pair[0] for pair in found if pair]
    assert steps == list(range(10))
    assert [pair[0] for pair in found if pair and not math.isfinite(pair[1])] == [2, 3, 5, 6, 7, 9]
    assert (8, 1e-05) in found
