"""Trains a small language model with FSDP2, the fully sharded data parallelism of torch.

Every rank holds a slice of each weight. Before a block runs, its slices are gathered
(all-gather); after its backward pass the gradients are summed and each rank keeps its
slice (reduce-scatter). Run it with one process per GPU, or on CPUs:

    torchrun --nproc-per-node=4 train_fsdp.py
    torchrun --nproc-per-node=4 train_fsdp.py --device cpu --dtype fp32 \
        --dim 64 --layers 2 --heads 4 --vocab 1000 --batch 2 --sequence 64 --lr 3e-3

Every rank prints the loss of its own batch. The defaults need four GPUs with 24 GiB;
torch 2.4 can shard on GPUs alone.
"""

from __future__ import annotations

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812  # the name that the whole field uses
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:  # torch 2.4 and 2.5
    from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard


class Block(nn.Module):
    """One transformer block: attention and feed-forward, each after a norm."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, bias=False, batch_first=True)
        self.norm2 = nn.RMSNorm(dim)
        self.feed_forward = nn.Sequential(
            nn.Linear(dim, 4 * dim, bias=False),
            nn.SiLU(),
            nn.Linear(4 * dim, dim, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (batch, sequence, dim) to the same shape."""
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.feed_forward(self.norm2(x))


class MiniLLM(nn.Module):
    """Token embedding, blocks, and a head that scores every token of the vocabulary."""

    def __init__(self, vocab: int, dim: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Maps (batch, sequence) token ids to (batch, sequence, vocab) scores."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def shard(model: MiniLLM, device: str, dtype: str) -> None:
    """Shards every block, then the root with what is left, over all ranks."""
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    block_policy, root_policy = MixedPrecisionPolicy(), MixedPrecisionPolicy()
    if dtype == "bf16":
        # Compute in bf16, sum gradients in fp32. The root gives its scores back in
        # fp32: a loss in bf16 would move in steps of 1/16.
        block_policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        root_policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32
        )
    for block in model.blocks:
        fully_shard(block, mesh=mesh, mp_policy=block_policy)
    fully_shard(model, mesh=mesh, mp_policy=root_policy)


def make_batch(
    args: argparse.Namespace, rank: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences that count upwards, on each rank in steps of its own, with some noise.

    The next token follows from the ones before, so there is something to learn.

    Returns:
        Tokens and the tokens that follow them, both (batch, sequence) int64.
    """
    alphabet = min(args.vocab, 256)
    start = torch.randint(alphabet, (args.batch, 1), generator=generator)
    sequence = (start + (rank + 1) * torch.arange(args.sequence + 1)) % alphabet
    noise = torch.randint(alphabet, sequence.shape, generator=generator)
    is_noise = torch.rand(sequence.shape, generator=generator) < 0.05
    sequence = torch.where(is_noise, noise, sequence)
    return sequence[:, :-1], sequence[:, 1:]


def peak_memory(device: str) -> str:
    """The most memory that this rank has held so far, in words."""
    if device == "cuda":
        return f"{torch.cuda.max_memory_allocated() / 2**30:.2f} GiB allocated"
    try:
        import resource
    except ImportError:  # Windows
        return "n/a"
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB resident"


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Train a small language model with FSDP2.")
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--vocab", type=int, default=32_000)
    parser.add_argument("--batch", type=int, default=8, help="sequences per rank and step")
    parser.add_argument("--sequence", type=int, default=1024, help="tokens per sequence")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=("bf16", "fp32"), default="bf16")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--sleep", type=float, default=0.0, help="seconds to wait after each step")
    args = parser.parse_args()
    if args.device == "auto":
        args.device = "cuda" if torch.cuda.is_available() else "cpu"
    return args


def main() -> None:
    """Sets up the ranks, trains, and takes the process group down again."""
    args = parse_arguments()
    if args.device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if args.device == "cuda" else "gloo")
    rank = dist.get_rank()

    # fully_shard does not copy rank 0's weights to the others: the same seed on every
    # rank makes them equal. The data differs by rank.
    torch.manual_seed(args.seed)
    with torch.device(args.device):
        model = MiniLLM(args.vocab, args.dim, args.layers, args.heads)
    shard(model, args.device, args.dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(args.seed + 1 + rank)

    for step in range(args.steps):
        tokens, targets = make_batch(args, rank, generator)
        scores = model(tokens.to(args.device))
        loss = F.cross_entropy(scores.flatten(0, 1), targets.to(args.device).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"Step {step} | Loss: {loss.item():.4f}", flush=True)
        time.sleep(args.sleep)

    print(f"Peak memory: {peak_memory(args.device)}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
