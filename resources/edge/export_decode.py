"""The cached decode of MiniLLM: the same weights with a causal mask, one token a call.

Another model than MiniLLM itself, which has no mask and no positions. Source of
the layers: resources/examples/train_fsdp.py. Python 3.9 and newer.
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812  # the name that the whole field uses
from torch import nn

STEPS = 8
HIDDEN = -3e4
"""Added to the score of what must not be looked at: its exponential is 0, and fp16 holds it."""


class CausalDecode(nn.Module):
    """Shares the weights of a MiniLLM; its cache has a fixed length."""

    def __init__(self, model, heads):
        super().__init__()
        self.model = model
        self.heads = heads

    def forward(self, token, position, k, v):
        """Score what follows one token.

        Args:
            token: (1, 1) int64.
            position: (1,) int64, below the length of the cache.
            k: (layers, 1, heads, length, width of a head) keys of the tokens before.
            v: Values, likewise.

        Returns:
            Scores (1, 1, vocab), and the keys and values with this token's.
        """
        places = torch.arange(k.shape[3], dtype=torch.float32, device=k.device)
        # No masks of truth values or whole numbers: IREE 3.13 cannot compile these for Vulkan.
        position = position.float()
        later = (places - position).clamp(0, 1)
        other = (places - position).abs().clamp(0, 1).to(k.dtype).view(1, 1, -1, 1)
        bias = HIDDEN * later.to(k.dtype).view(1, 1, 1, -1)
        x = self.model.embedding(token)
        keys, values = [], []
        for layer, block in enumerate(self.model.blocks):
            h = block.norm1(x)
            query, key, value = self._heads_of(block, h)
            keys.append(key * (1 - other) + k[layer] * other)
            values.append(value * (1 - other) + v[layer] * other)
            x = x + self._attend(block, query, keys[-1], values[-1], bias)
            x = x + block.feed_forward(block.norm2(x))
        scores = self.model.head(self.model.norm(x))
        return scores, torch.stack(keys), torch.stack(values)

    def score_all(self, tokens):
        """Score what follows each of (1, length) tokens, without a cache: what the decode has to give."""
        length = tokens.shape[1]
        bias = HIDDEN * torch.ones(length, length, device=tokens.device).triu(1)
        x = self.model.embedding(tokens)
        for block in self.model.blocks:
            query, key, value = self._heads_of(block, block.norm1(x))
            x = x + self._attend(block, query, key, value, bias)
            x = x + block.feed_forward(block.norm2(x))
        return self.model.head(self.model.norm(x))

    def empty_cache(self, length):
        """Return keys and values of no token."""
        layers, dim = len(self.model.blocks), self.model.head.in_features
        shape = (layers, 1, self.heads, length, dim // self.heads)
        return torch.zeros(shape), torch.zeros(shape)

    def _heads_of(self, block, h):
        packed = F.linear(h, block.attention.in_proj_weight)
        batch, length, _ = h.shape
        return [part.view(batch, length, self.heads, -1).transpose(1, 2) for part in packed.chunk(3, dim=-1)]

    def _attend(self, block, query, key, value, bias):
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores + bias, dim=-1)
        mixed = (weights @ value).transpose(1, 2).flatten(2)
        return F.linear(mixed, block.attention.out_proj.weight)


def last_call(decode, vocab, length):
    """Decode token after token, and return the arguments of the last call: its cache is filled by the others.

    Args:
        decode: A CausalDecode.
        vocab: Tokens are below it.
        length: Of the cache.
    """
    steps = min(STEPS, length)
    tokens = torch.randint(vocab, (1, steps), generator=torch.Generator().manual_seed(steps))
    k, v = decode.empty_cache(length)
    for step in range(steps - 1):
        _, k, v = decode(tokens[:, step : step + 1], torch.tensor([step]), k, v)
    return tokens[:, steps - 1 :], torch.tensor([steps - 1]), k, v
