"""The evidence of a verdict: the figures that it rests on, each with what it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.roofline.points import PointOrigin
from core.roofline.verdict import Evidence
from core.roofline.verdict_gemm import gemm_size, size_words
from core.roofline.verdict_limits import (
    FULL_WAVES,
    LOW_MEMORY_PCT,
    LOW_OCCUPANCY_PCT,
    LOW_SM_PCT,
    NEAR_MODEL_PCT,
    NEAR_ROOF_PCT,
    STALL_PCT,
)
from core.roofline.verdict_words import limiter_words, stall_words
from core.units import format_bytes_per_s, format_count, format_flop_per_s, format_number, format_pct

if TYPE_CHECKING:
    from core.roofline.verdict_kernels import Gaps, KernelFacts
    from core.roofline.verdict_launch import LaunchFacts, Part
    from core.roofline.verdict_standing import Standing

SM_AGAINST: Final = f"compute-bound above {NEAR_ROOF_PCT:.0f}, low below {LOW_SM_PCT:.0f}"
MEMORY_AGAINST: Final = f"memory-bound above {NEAR_ROOF_PCT:.0f}, low below {LOW_MEMORY_PCT:.0f}"


def launch_evidence(facts: LaunchFacts) -> tuple[Evidence, ...]:
    """Lists what was measured of a launch; the two throughputs also where they were not."""
    return (
        Evidence(label="SM throughput", value=facts.sm_pct, unit="pct", against=SM_AGAINST),
        Evidence(label="Memory throughput", value=facts.memory_pct, unit="pct", against=MEMORY_AGAINST),
        *_busiest("Busiest part of the SMs", facts.busiest_sm),
        *_busiest("Busiest part of memory", facts.busiest_memory),
        *standing_evidence(facts.standing, NEAR_ROOF_PCT),
        *_launch_size(facts),
        *_occupancy(facts),
        *_stall(facts),
        *_time(facts),
    )


def _busiest(label: str, part: Part | None) -> tuple[Evidence, ...]:
    if part is None:
        return ()
    return (Evidence(label=label, value=part.name, against=f"at {format_pct(part.pct)}"),)


def standing_evidence(standing: Standing, near_pct: float) -> tuple[Evidence, ...]:
    """Lists where a point stands to its roof, as far as that is known."""
    found = []
    if standing.intensity is not None:
        ridge = standing.ridge
        whose = f", {standing.ceiling_origin}" if standing.ceiling_origin else ""
        against = "" if ridge is None else f"ridge point at {format_number(ridge, 4)} FLOP/B{whose}"
        at_most = " at most" if standing.origin is PointOrigin.MODELLED else ""
        label = f"Arithmetic intensity{at_most}"
        found.append(Evidence(label=label, value=standing.intensity, unit="flop_per_byte", against=against))
    if standing.compute_pct is not None:
        ceiling = format_flop_per_s(standing.ceiling_flop_per_s)
        against = f"of {ceiling} ({standing.ceiling_source}); near above {near_pct:.0f}"
        found.append(
            Evidence(label="FLOP/s of the peak", value=standing.compute_pct, unit="pct", against=against)
        )
    if standing.traffic_pct is not None:
        ceiling = format_bytes_per_s(standing.ceiling_bytes_per_s)
        against = f"of {ceiling} ({standing.ceiling_source}); near above {near_pct:.0f}"
        found.append(
            Evidence(
                label="DRAM bytes/s of the peak", value=standing.traffic_pct, unit="pct", against=against
            )
        )
    return tuple(found)


def kernel_evidence(standing: Standing, facts: KernelFacts | None) -> tuple[Evidence, ...]:
    """Lists where a point of a trace stands to its roof, and what the trace tells of its kernels."""
    found = standing_evidence(standing, NEAR_MODEL_PCT)
    if facts is None:
        return found
    found += _blocks(facts.blocks, facts.sm_count)
    if facts.call is not None:
        size = gemm_size(facts.call)
        against = "" if size is None else size_words(size)
        found += (Evidence(label="Operator", value=facts.call.name, against=against),)
    found += _gaps("Idle until its launch returned", facts.launch_gaps)
    found += _gaps("Idle while the host did something else", facts.host_gaps)
    if facts.beside_ns:
        against = f"{format_pct(facts.beside_pct)} of its time"
        found += (Evidence(label="Beside communication", value=facts.beside_ns, unit="ns", against=against),)
    part = facts.share.part
    against = "" if part is None else f"{format_pct(100 * part)} of {facts.share.whole}"
    return (*found, Evidence(label="Summed time", value=facts.sum_ns, unit="ns", against=against))


def _gaps(label: str, gaps: Gaps | None) -> tuple[Evidence, ...]:
    """Return idle times before a kernel; a sum of 0 is a figure too."""
    if gaps is None:
        return ()
    against = f"before {format_count(gaps.calls)} call{'' if gaps.calls == 1 else 's'}"
    return (Evidence(label=label, value=gaps.time_ns, unit="ns", against=against),)


def _blocks(blocks: int | None, sm_count: int | None) -> tuple[Evidence, ...]:
    """Return the size of a launch against that of the device, nothing where it is not known."""
    if blocks is None:
        return ()
    against = "" if sm_count is None else f"{format_count(sm_count)} SMs"
    return (Evidence(label="Blocks", value=blocks, unit="count", against=against),)


def _launch_size(facts: LaunchFacts) -> tuple[Evidence, ...]:
    found = _blocks(facts.blocks, facts.sm_count)
    if facts.waves is None:
        return found
    return (*found, Evidence(label="Waves", value=facts.waves, against=f"full from {FULL_WAVES:.0f}"))


def _occupancy(facts: LaunchFacts) -> tuple[Evidence, ...]:
    found = []
    if facts.occupancy_pct is not None:
        found.append(Evidence(label="Achieved occupancy", value=facts.occupancy_pct, unit="pct"))
    possible = facts.theoretical_occupancy_pct
    if possible is not None:
        limits = ", ".join(limiter_words(name) for name, _ in facts.limiters)
        is_low = possible < LOW_OCCUPANCY_PCT and limits
        against = f"limited by {limits}" if is_low else f"low below {LOW_OCCUPANCY_PCT:.0f}"
        found.append(Evidence(label="Theoretical occupancy", value=possible, unit="pct", against=against))
    return tuple(found)


def _stall(facts: LaunchFacts) -> tuple[Evidence, ...]:
    if not facts.stalls:
        return ()
    stall = facts.stalls[0]
    against = f"of the time between instructions; named from {STALL_PCT:.0f}"
    label = f"Longest wait: {stall_words(stall.reason)}"
    return (Evidence(label=label, value=stall.share_pct, unit="pct", against=against),)


def _time(facts: LaunchFacts) -> tuple[Evidence, ...]:
    if facts.duration_ns is None:
        return ()
    part = facts.part_of_report
    against = "" if part is None else f"{format_pct(100 * part)} of the report's kernel time"
    return (Evidence(label="Duration", value=facts.duration_ns, unit="ns", against=against),)
