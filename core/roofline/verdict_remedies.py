"""What would help a launch of a report, and by how much at most: only what its counters carry.

Every bound is of the launch's own time first: its distance to the roof, what an
idle part of the device could take over, or what of its work falls away. Amdahl
makes it a share of the report.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from core.analyses.categories import Category
from core.roofline.points import WorkType
from core.roofline.verdict import VerdictKind
from core.roofline.verdict_gains import Share
from core.roofline.verdict_limits import (
    FULL_WAVES,
    LEANING_PCT,
    LEAST_TAIL,
    LOW_OCCUPANCY_PCT,
    NEAR_ROOF_PCT,
    STALL_PCT,
    UNEVEN_OCCUPANCY_PCT,
    WARP,
)
from core.roofline.verdict_precision import lower_arithmetic, lower_storage, type_of_parameters
from core.roofline.verdict_words import limiter_remedy, limiter_words, stall_remedy, stall_words
from core.units import format_count, format_file_bytes, format_pct

if TYPE_CHECKING:
    from core.hardware.peaks import DevicePeaks
    from core.roofline.verdict import Remedy
    from core.roofline.verdict_launch import LaunchFacts

_MATRIX: frozenset[Category] = frozenset({Category.GEMM, Category.CONVOLUTION, Category.ATTENTION})


def share_of(facts: LaunchFacts) -> Share:
    """Returns what a launch is a part of: without steps, the summed time of all launches."""
    return Share(part=facts.part_of_report, what="the launch", whole="the report's kernel time")


def launch_remedies(
    facts: LaunchFacts, kind: VerdictKind, peaks: DevicePeaks | None, share: Share
) -> list[Remedy]:
    """Lists what would help a launch, in no order.

    Args:
        facts: What was measured of it.
        kind: Its verdict.
        peaks: The data sheet of its device, None where it is not known.
        share: What it is a part of.
    """
    if kind is VerdictKind.COMMUNICATION:
        return []
    found: list[Remedy | None] = [_whole_warps(facts, share)]
    if kind in (VerdictKind.LATENCY_BOUND, VerdictKind.UNKNOWN):
        found.append(_fill(facts, share))
    if kind is VerdictKind.LATENCY_BOUND:
        found += [_tail(facts, share), _raise_occupancy(facts, share), _even_out(facts, share)]
        found.append(_stall(facts, share))
    if kind in (VerdictKind.MEMORY_BOUND, VerdictKind.BALANCED) or facts.leans_to_memory:
        found += [_near_core(facts, share), _fuse(facts, share), _store_lower(facts, share, peaks)]
        found.append(_larger_batch(facts, share))
    if kind in (VerdictKind.COMPUTE_BOUND, VerdictKind.BALANCED) or facts.leans_to_compute:
        found.append(_compute_lower(facts, share, peaks))
    return [each for each in found if each is not None]


def _bounded(facts: LaunchFacts, saved: float) -> float | None:
    """Return a bound that the distance to the roof bounds too; None where that is not known."""
    return None if facts.to_roof is None else min(saved, facts.to_roof)


def _whole_warps(facts: LaunchFacts, share: Share) -> Remedy | None:
    threads = facts.block_threads
    if threads is None or threads <= 0 or threads % WARP == 0:
        return None
    lanes = math.ceil(threads / WARP) * WARP
    text = (
        f"Launch blocks of whole warps: {format_count(threads)} thread{'' if threads == 1 else 's'} a block "
        f"occupy {format_count(lanes)} lanes."
    )
    return share.remedy(text, 1 - threads / lanes, "the lanes that have no thread")


def _fill(facts: LaunchFacts, share: Share) -> Remedy | None:
    idle = facts.idle_of_wave
    if idle is None:
        return None
    blocks, sm_count, waves = facts.blocks, facts.sm_count, facts.waves
    size = "" if waves is None else f": they fill {waves:.2g} of a wave"
    if blocks is not None and sm_count is not None and blocks < sm_count:
        size = f": {format_count(blocks)} for {format_count(sm_count)} SMs"
    text = (
        f"Launch more blocks{size}. Smaller tiles, split-K, a larger batch, or several such launches in one."
    )
    return share.remedy(
        text, _bounded(facts, idle), "the places for blocks that stay empty, not beyond the nearest roof"
    )


def _tail(facts: LaunchFacts, share: Share) -> Remedy | None:
    waves = facts.waves
    if waves is None or waves <= FULL_WAVES:
        return None
    idle = 1 - waves / math.ceil(waves)
    saved = _bounded(facts, idle)
    if idle < LEAST_TAIL or saved is None:
        return None
    text = (
        f"Choose a grid whose blocks fill whole waves: {waves:.2f} waves take as long as {math.ceil(waves)}. "
        "Other tile sizes, or blocks that fetch their work (persistent)."
    )
    return share.remedy(text, saved, "the idle part of the last wave, if all blocks take equally long")


def _raise_occupancy(facts: LaunchFacts, share: Share) -> Remedy | None:
    possible = facts.theoretical_occupancy_pct
    if possible is None or possible >= LOW_OCCUPANCY_PCT or not facts.limiters:
        return None
    if facts.is_underfilled:  # There are fewer blocks than an SM could hold as it is.
        return None
    name, blocks = facts.limiters[0]
    saved = _bounded(facts, 1 - possible / 100)
    detail = ""
    if name == "registers" and facts.registers_per_thread is not None:
        detail = f" ({format_count(facts.registers_per_thread)} a thread)"
    text = (
        f"Raise the occupancy: an SM holds {format_count(blocks)} block{'' if blocks == 1 else 's'}, "
        f"{format_pct(possible, 0)} of its warps, limited by {limiter_words(name)}{detail}. "
        f"{limiter_remedy(name)}"
    )
    return share.remedy(text, saved, "full occupancy, not beyond the nearest roof")


def _even_out(facts: LaunchFacts, share: Share) -> Remedy | None:
    possible, achieved = facts.theoretical_occupancy_pct, facts.occupancy_pct
    if possible is None or achieved is None or possible - achieved <= UNEVEN_OCCUPANCY_PCT:
        return None
    if facts.is_underfilled or possible <= 0:
        return None
    text = (
        f"Even out the work of blocks and warps: of {format_pct(possible, 0)} possible occupancy "
        f"it reaches {format_pct(achieved, 0)}."
    )
    saved = _bounded(facts, 1 - achieved / possible)
    return share.remedy(text, saved, "the possible occupancy, not beyond the nearest roof")


def _stall(facts: LaunchFacts, share: Share) -> Remedy | None:
    stall = facts.stalls[0] if facts.stalls else None
    if stall is None or stall.share_pct < STALL_PCT:
        return None
    advice = stall_remedy(stall.reason)
    if not advice:
        return None
    text = (
        f"{advice} Warps wait {format_pct(stall.share_pct, 0)} of the time for {stall_words(stall.reason)}."
    )
    saved = _bounded(facts, stall.share_pct / 100)
    return share.remedy(text, saved, "no such waits, not beyond the nearest roof")


def _near_core(facts: LaunchFacts, share: Share) -> Remedy | None:
    part, beyond_pct = facts.busiest_memory, facts.beyond_l1_pct
    if part is None or part.name != "L1" or beyond_pct is None:
        return None
    text = (
        "Load each value once and use it often, from registers: larger tiles a thread, wider loads. "
        f"L1 is the limit ({format_pct(part.pct, 0)}), not DRAM."
    )
    return share.remedy(text, 1 - beyond_pct / 100, "until the next part of the device is the limit")


def _fuse(facts: LaunchFacts, share: Share) -> Remedy | None:
    part, moved = facts.busiest_memory, facts.dram_bytes
    if (part is not None and part.name not in ("DRAM", "L2")) or (part is None and not moved):
        return None
    through = "memory" if part is None else part.name
    how_much = f" It moves {format_file_bytes(round(moved))} through DRAM." if moved else ""
    text = (
        "Fuse it with the kernels before and after it (torch.compile, Triton), "
        f"so that their data need not pass {through}.{how_much}"
    )
    return share.remedy(text, 1.0, "all of its time, if none of its data had to leave the chip")


def _store_lower(facts: LaunchFacts, share: Share, peaks: DevicePeaks | None) -> Remedy | None:
    stored = type_of_parameters(facts.name)
    lower = (
        None if stored is None else lower_storage(stored, peaks, is_matrix=facts.category == Category.GEMM)
    )
    if lower is None:
        return None
    text = f"Keep its data in {lower.lower} instead of {lower.now}, where the accuracy allows."
    return share.remedy(text, lower.saved, lower.how)


def _larger_batch(facts: LaunchFacts, share: Share) -> Remedy | None:
    part = facts.busiest_memory
    if facts.category != Category.GEMM or (part is not None and part.name != "DRAM"):
        return None
    text = "Use a larger batch: the weights that it reads then serve more rows."
    return share.remedy(text, None, "the time for each row falls, not that of the launch")


def _compute_lower(facts: LaunchFacts, share: Share, peaks: DevicePeaks | None) -> Remedy | None:
    if facts.memory_pct is None or (facts.computing_pct or NEAR_ROOF_PCT) < LEANING_PCT:
        return None
    work_type = _computes_in(facts)
    lower = None
    if work_type is not None:
        lower = lower_arithmetic(work_type, peaks, is_matrix=facts.category in _MATRIX)
    if lower is None:
        return None
    text = f"Compute in {lower.lower} instead of {lower.now}, where the accuracy allows."
    saved = min(lower.saved, 1 - facts.memory_pct / 100)
    return share.remedy(text, saved, f"{lower.how}, not beyond what memory allows")


def _computes_in(facts: LaunchFacts) -> WorkType | None:
    """Return the type of counted operations, or that of a pipe that knows only one; None if neither tells."""
    if facts.standing.flop_per_s:
        return facts.standing.work_type
    part = facts.busiest_sm
    return WorkType.FP64 if part is not None and part.name == "FP64 pipe" else None
