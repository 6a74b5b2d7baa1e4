"""Ranks in sentences: "rank 1", "ranks 0, 2, 3", "ranks 0-6, 8", "all 4 ranks"."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_PARTS = 6


def name_ranks(ranks: Iterable[int], world_size: int | None = None) -> str:
    """Names ranks, runs of three and more as a range.

    Args:
        ranks: Global ranks, at least one.
        world_size: If given and all ranks are meant, it says so.
    """
    ordered = sorted(set(ranks))
    if len(ordered) == 1:
        return f"rank {ordered[0]}"
    if len(ordered) == world_size:
        return f"all {world_size} ranks"
    parts: list[str] = []
    start = previous = ordered[0]
    for rank in [*ordered[1:], -1]:
        if rank == previous + 1:
            previous = rank
            continue
        if previous - start >= 2:
            parts.append(f"{start}-{previous}")
        else:
            parts += [str(one) for one in range(start, previous + 1)]
        start = previous = rank
    if len(parts) > _MAX_PARTS:
        return f"{len(ordered)} ranks"
    return f"ranks {', '.join(parts)}"


def on_ranks(ranks: Iterable[int], world_size: int | None = None) -> str:
    """The same with "on" before it."""
    return f"on {name_ranks(ranks, world_size)}"


def begin(text: str) -> str:
    """With a capital letter, to begin a sentence."""
    return text[:1].upper() + text[1:]
