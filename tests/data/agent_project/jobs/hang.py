"""FSDP2 with clipping on sizes that do not divide; rank 1 stops for good in step 3."""

import datetime
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:
    from torch.distributed._composable.fsdp import fully_shard


def wait_for_a_lock_that_never_opens() -> None:
    time.sleep(3600)


dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=30))
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 7), nn.SiLU(), nn.Linear(7, 2))
for layer in (model[0], model[2]):
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(1000):
    if dist.get_rank() == 1 and step == 3:
        wait_for_a_lock_that_never_opens()
    optimizer.zero_grad()
    loss = model(torch.randn(4, 5)).pow(2).mean()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"Step {step} | Loss: {loss.item()!r}")
