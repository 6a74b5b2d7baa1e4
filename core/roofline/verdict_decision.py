"""The decision: what holds a kernel back, from its throughputs or from its place on a roofline.

The base is the seed's table (DESIGN.md, "The seed", point 3). Both throughputs
are needed; where the report lacks one, a kernel near its roof still tells, since
FLOP/s and bytes/s are at most what the throughputs are. Anything else is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.analyses.categories import Category
from core.roofline.points import PointOrigin
from core.roofline.verdict import VerdictKind
from core.roofline.verdict_kinds import CONFIDENCES, KINDS, decide_kinds, near_kinds
from core.roofline.verdict_limits import (
    BESIDE_PCT,
    LOW_MEMORY_PCT,
    LOW_SM_PCT,
    NEAR_MODEL_PCT,
    NEAR_ROOF_PCT,
    STALL_PCT,
    UNEVEN_OCCUPANCY_PCT,
)
from core.roofline.verdict_words import stall_words
from core.units import format_count, format_pct

if TYPE_CHECKING:
    from core.roofline.verdict import Confidence
    from core.roofline.verdict_kernels import KernelFacts
    from core.roofline.verdict_launch import LaunchFacts
    from core.roofline.verdict_standing import Standing
    from core.tables.columns import Float64

COMMUNICATION_WORDS: Final = (
    "Communication: it moves data between devices; the limit is the link or another rank."
)
COLLECT: Final = "Run `ncu --set roofline`."


class Decision(NamedTuple):
    """A verdict without its evidence."""

    kind: VerdictKind
    words: str
    confidence: Confidence


def decide_launch(facts: LaunchFacts) -> Decision:
    """Decides what holds a launch of a report back."""
    kind, confidence = _kind_of(facts)
    if kind is VerdictKind.COMMUNICATION:
        return Decision(kind, COMMUNICATION_WORDS, confidence)
    if facts.sm_pct is not None and facts.memory_pct is not None:
        return Decision(kind, _BY_THROUGHPUT[kind](facts, facts.sm_pct, facts.memory_pct), confidence)
    words = _not_collected(facts) if kind is VerdictKind.UNKNOWN else _roofline_words(kind, facts.standing)
    return Decision(kind, words, confidence)


def _kind_of(facts: LaunchFacts) -> tuple[VerdictKind, Confidence]:
    """Return what ``decide_kinds`` says of one launch."""
    found = decide_kinds(
        category=np.array([facts.category], np.uint8),
        sm_pct=_column(facts.sm_pct),
        memory_pct=_column(facts.memory_pct),
        compute_pct=_column(facts.standing.compute_pct),
        traffic_pct=_column(facts.standing.traffic_pct),
    )
    return KINDS[found.kind[0]], CONFIDENCES[found.confidence[0]]


def _column(value: float | None) -> Float64:
    return np.array([value], np.float64)


def _balanced_words(facts: LaunchFacts, sm_pct: float, memory_pct: float) -> str:
    words = (
        f"Balanced: the SMs work at {_pct(sm_pct)} and memory at {_pct(memory_pct)}, both near their roof."
    )
    part, computing_pct = facts.busiest_sm, facts.computing_pct
    if part is None or not part.is_memory or computing_pct is None or computing_pct > NEAR_ROOF_PCT:
        return words
    # Load and store instructions count in both throughputs.
    return (
        f"{words} Both count the same: the {part.name}. "
        f"What computes works at {_pct(computing_pct)}, so it is data that it waits for."
    )


def _memory_words(facts: LaunchFacts, sm_pct: float, memory_pct: float) -> str:
    part = facts.busiest_memory
    what = "memory" if part is None else part.name
    rest = "the SMs do little" if sm_pct < LOW_SM_PCT else "the SMs have room"
    return f"Memory-bound: {what} works at {_pct(memory_pct)} of its peak; {rest} ({_pct(sm_pct)})."


def _compute_words(facts: LaunchFacts, sm_pct: float, memory_pct: float) -> str:
    part = facts.busiest_sm
    what = "the SMs work" if part is None else f"the {part.name} of the SMs works"
    rest = "memory does little" if memory_pct < LOW_MEMORY_PCT else "memory has room"
    return f"Compute-bound: {what} at {_pct(sm_pct)} of the peak; {rest} ({_pct(memory_pct)})."


def _latency_words(facts: LaunchFacts, sm_pct: float, memory_pct: float) -> str:
    both = f"neither the SMs ({_pct(sm_pct)}) nor memory ({_pct(memory_pct)})"
    leaning = ""
    if facts.leans_to_memory or facts.leans_to_compute:
        leaning = f"; {'memory is' if facts.leans_to_memory else 'the SMs are'} the nearer"
    words = f"Latency-bound: {both} are near their roof{leaning}."
    return f"{words} {why}" if (why := _why_it_waits(facts)) else words


def _why_it_waits(facts: LaunchFacts) -> str:
    """Return the weightiest reason for low throughputs that was measured, "" if there is none."""
    reasons: list[tuple[float, str]] = []
    if facts.idle_of_wave is not None:
        words = f"The launch does not fill the device: {_blocks_words(facts)}."
        reasons.append((100 * facts.idle_of_wave, words))
    stall = facts.stalls[0] if facts.stalls else None
    if stall is not None and stall.share_pct >= STALL_PCT:
        words = f"Warps wait for {stall_words(stall.reason)} {_pct(stall.share_pct)} of the time."
        reasons.append((stall.share_pct, words))
    possible, achieved = facts.theoretical_occupancy_pct, facts.occupancy_pct
    if possible is not None and achieved is not None and possible - achieved > UNEVEN_OCCUPANCY_PCT:
        words = f"Of {_pct(possible)} possible occupancy it reaches {_pct(achieved)}."
        reasons.append((possible - achieved, words))
    return max(reasons, default=(0.0, ""))[1]


def _blocks_words(facts: LaunchFacts) -> str:
    blocks, sm_count, waves = facts.blocks, facts.sm_count, facts.waves
    if blocks is not None and sm_count is not None and blocks < sm_count:
        return f"{_counted(blocks, 'block')} for {format_count(sm_count)} SMs"
    return (
        f"{_counted(blocks, 'block')}, {waves:.2g} of a full wave"
        if blocks
        else f"{waves:.2g} of a full wave"
    )


def _counted(count: int, word: str) -> str:
    return f"{format_count(count)} {word}" if count == 1 else f"{format_count(count)} {word}s"


_BY_THROUGHPUT: Final = {
    VerdictKind.BALANCED: _balanced_words,
    VerdictKind.MEMORY_BOUND: _memory_words,
    VerdictKind.COMPUTE_BOUND: _compute_words,
    VerdictKind.LATENCY_BOUND: _latency_words,
}


def _near_kind(standing: Standing, limit_pct: float) -> VerdictKind | None:
    """Decide from FLOP/s and bytes/s; None unless one is near its peak: others may be the limit."""
    near = near_kinds(_column(standing.compute_pct), _column(standing.traffic_pct), limit_pct)
    kind = KINDS[near[0]]
    return None if kind is VerdictKind.LATENCY_BOUND else kind


def _roofline_words(kind: VerdictKind, standing: Standing) -> str:
    flop = "" if standing.compute_pct is None else f"{_pct(standing.compute_pct)} of the peak FLOP/s"
    traffic = (
        "" if standing.traffic_pct is None else f"{_pct(standing.traffic_pct)} of the peak bytes/s of DRAM"
    )
    parts = (traffic, flop) if kind is VerdictKind.MEMORY_BOUND else (flop, traffic)
    by = "by the model it" if standing.origin is PointOrigin.MODELLED else "it"
    return f"{kind.capitalize()}: {by} reaches {' and '.join(filter(None, parts))}."


def _not_collected(facts: LaunchFacts) -> str:
    missing = [
        words
        for words, value in (("SM throughput", facts.sm_pct), ("memory throughput", facts.memory_pct))
        if value is None
    ]
    words = (
        f"Unknown: {' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not collected. {COLLECT}"
    )
    if facts.is_underfilled:
        words += f" The launch does not fill the device: {_blocks_words(facts)}."
    return words


def decide_point(
    standing: Standing, category: Category, why_not: str, facts: KernelFacts | None = None
) -> Decision:
    """Decides what holds the kernel of a modelled point back.

    Args:
        standing: Its place.
        category: What kind of work its name tells.
        why_not: Why it has no place, "" where it has one.
        facts: What the trace tells of it.
    """
    decision = _decide_point(
        standing, category, why_not, is_underfilled=facts is not None and facts.is_underfilled
    )
    if facts is None or facts.beside_pct < BESIDE_PCT:
        return decision
    beside = f"Communication ran beside it for {_pct(facts.beside_pct)} of its time, which may slow it down."
    return decision._replace(words=f"{decision.words} {beside}")


def _decide_point(standing: Standing, category: Category, why_not: str, *, is_underfilled: bool) -> Decision:
    if category == Category.COMMUNICATION:
        return Decision(VerdictKind.COMMUNICATION, COMMUNICATION_WORDS, "measured")
    confidence = _confidence(standing.origin)
    kind = _near_kind(standing, NEAR_MODEL_PCT)
    if kind is not None:
        return Decision(kind, _roofline_words(kind, standing), confidence)
    if is_underfilled:
        words = "Latency-bound: the launch does not fill the device, which has more SMs than it has blocks."
        return Decision(VerdictKind.LATENCY_BOUND, words, confidence)
    below = standing.is_below_ridge
    roof_pct = standing.traffic_pct if below or below is None else standing.compute_pct
    if roof_pct is None:
        why = why_not or "the ceilings of its device are not known"
        return Decision(VerdictKind.UNKNOWN, f"Unknown: {why}.", confidence)
    return Decision(VerdictKind.LATENCY_BOUND, _far_words(standing, roof_pct), confidence)


def _far_words(standing: Standing, roof_pct: float) -> str:
    words = f"Latency-bound: by the model it reaches {_pct(roof_pct)} of its roof"
    if standing.is_below_ridge is False:
        return f"{words}, that of FLOP/s."
    least = "if it moves no more than its inputs and outputs"
    return f"{words}, that of memory, {least}. Counters (ncu) would tell."


def _confidence(origin: PointOrigin) -> Confidence:
    if origin is PointOrigin.MODELLED:
        return "modelled"
    return "estimated" if origin is PointOrigin.ESTIMATED else "measured"


def _pct(value: float) -> str:
    return format_pct(value, 0 if value >= 10 else 1)
