"""One way to write a training loop per rank; prints what the agent should see.

Started as ``torchrun ... -m jobs.loops``: rank r runs ``LOOPS[r]``. There is no process
group: the ranks share only the start.
"""

import os
import sys

import torch
from core.model import loss_of, make_data, make_model
from torch.nn.utils import clip_grad_norm_
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from core import OWNER

STEPS = 5


def say(step: int, value: float) -> None:
    print(f"Step {step} | Loss: {value!r}")


def plain() -> None:
    model, (x, y) = make_model(), make_data()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        schedule.step()
        say(step, loss.item())


def accumulate() -> None:
    """Four micro-steps, clipped by name, with the fused optimizer."""
    model, (x, y) = make_model(), make_data()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for part in range(4):
            loss = loss_of(model, x[part::4], y[part::4]) / 4
            loss.backward()
            total += loss.item()
        norm = clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        say(step, total)
        print(f"Norm: {norm.item()!r}")


def foreach_total_norm() -> None:
    """Clips in two calls where this torch has them."""
    model, (x, y) = make_model(), make_data()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=True)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        if hasattr(torch.nn.utils, "get_total_norm"):
            norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
            torch.nn.utils.clip_grads_with_norm_(model.parameters(), 0.5, norm)
        else:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        say(step, loss.item())
        print(f"Norm: {norm.item()!r}")


def compiled() -> None:
    """The model compiled, the optimizer step compiled."""
    model, (x, y) = make_model(), make_data()
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    step_fast = torch.compile(optimizer.step, backend="aot_eager")
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(fast, x, y)
        loss.backward()
        step_fast()
        say(step, loss.item())


def adversarial() -> None:
    """Two optimizers; the discriminator's losses are the ones to show."""
    generator, (x, y) = make_model(), make_data()
    judge = torch.nn.Linear(1, 1)
    first = torch.optim.Adam(judge.parameters(), lr=1e-2)
    second = torch.optim.Adam(generator.parameters(), lr=1e-2)
    for step in range(STEPS):
        first.zero_grad()
        real = (judge(y) - 1).pow(2).mean()
        real.backward()
        fake = judge(generator(x).detach()).pow(2).mean()
        fake.backward()
        first.step()
        second.zero_grad()
        (judge(generator(x)) - 1).pow(2).mean().backward()
        second.step()
        say(step, real.item() + fake.item())


def scaled() -> None:
    """A gradient scaler, which leaves out the step whose loss is infinite."""
    model, (x, y) = make_model(), make_data()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, x, y) * (float("inf") if step == 2 else 1)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        say(step, loss.item())


def closures() -> None:
    """LBFGS: many evaluations a step; the first one's loss is the step's."""
    model, (x, y) = make_model(), make_data()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        return loss

    for step in range(STEPS):
        say(step, optimizer.step(closure).item())


def odd_engine() -> None:
    """Reentrant checkpointing inside, one optimizer per parameter, a restored state."""
    model, (x, y) = make_model(), make_data()
    optimizers = {p: torch.optim.SGD([p], lr=1e-2) for p in model.parameters()}

    def update(parameter: torch.Tensor) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    for step in range(STEPS):
        loss = (checkpoint(model, x.clone().requires_grad_(), use_reentrant=True) - y).pow(2).mean()
        loss.backward()
        say(step, loss.item())


def spawned_workers() -> None:
    """Batches come from spawned and then from forked worker processes."""
    model, data = make_model(), TensorDataset(*make_data())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    step = 0
    for context, batches in (("spawn", 2), ("fork", 3)):
        loader = DataLoader(data, batch_size=32 // batches, num_workers=1, multiprocessing_context=context)
        for x, y in list(loader)[:batches]:
            optimizer.zero_grad()
            loss = loss_of(model, x, y)
            loss.backward()
            optimizer.step()
            say(step, loss.item())
            step += 1


LOOPS = (
    plain,
    accumulate,
    foreach_total_norm,
    compiled,
    adversarial,
    scaled,
    closures,
    odd_engine,
    spawned_workers,
)

if __name__ == "__main__":
    assert OWNER == "the user"
    assert sys.argv[1:] == ["--flag", "two words; $HOME"]
    LOOPS[int(os.environ["RANK"])]()
