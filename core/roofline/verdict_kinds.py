"""What holds launches back, decided for all of a report at once, from columns.

Only kind and confidence: words, evidence and remedies are made of a launch when
it is looked at (``core.roofline.verdicts``). The limits are the seed's table
(DESIGN.md, "The seed", point 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from core.analyses.categories import Category
from core.analyses.ncu_counters import quotient
from core.analyses.ncu_roofline import peak_traffic
from core.roofline.ceilings import profiled_work
from core.roofline.points import LEVELS
from core.roofline.verdict import Confidence, VerdictKind
from core.roofline.verdict_limits import NEAR_ROOF_PCT
from core.tables.columns import Float64, Uint8, freeze_columns
from core.tables.ncu_terms import MEMORY_PCT, SM_CYCLES_PER_S, SM_PCT

if TYPE_CHECKING:
    from core.analyses.ncu_counters import Counters
    from core.roofline.points import PointTable

KINDS: Final = tuple(VerdictKind)
"""By ``VerdictKinds.kind``."""

CONFIDENCES: Final[tuple[Confidence, ...]] = get_args(Confidence)
"""By ``VerdictKinds.confidence``."""

_NS_PER_S: Final = 1e9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class VerdictKinds:
    """A verdict for each launch, without its words. Columns (n,).

    Attributes:
        kind: uint8, place in ``KINDS``.
        confidence: uint8, place in ``CONFIDENCES``.
    """

    kind: Uint8
    confidence: Uint8

    def __post_init__(self) -> None:
        freeze_columns(self, {"kind": np.uint8, "confidence": np.uint8})

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def words(self) -> tuple[str, ...]:
        """(n,) words for lists, "" of an unknown one."""
        words = tuple(kind.word for kind in KINDS)
        return tuple(words[kind] for kind in self.kind.tolist())


def kinds_of_report(counters: Counters, points: PointTable) -> VerdictKinds:
    """Decides what holds each launch of a report back.

    Args:
        counters: Of all its launches.
        points: Of all its launches, as ``measured_points`` places them.
    """
    compute_pct, traffic_pct = _roof_shares(counters, points)
    return decide_kinds(
        category=points.category,
        sm_pct=counters.number(SM_PCT),
        memory_pct=counters.number(MEMORY_PCT),
        compute_pct=compute_pct,
        traffic_pct=traffic_pct,
    )


def decide_kinds(
    *, category: Uint8, sm_pct: Float64, memory_pct: Float64, compute_pct: Float64, traffic_pct: Float64
) -> VerdictKinds:
    """Decides by the two throughputs; where one is missing, by what is near its roof. All columns (n,).

    Args:
        category: ``Category``, told from the name.
        sm_pct: Throughput of the SMs, NaN where not measured.
        memory_pct: Throughput of memory, NaN where not measured.
        compute_pct: FLOP/s of their ceiling, NaN where not known.
        traffic_pct: Bytes/s of DRAM of their ceiling, NaN where not known.
    """
    is_measured = ~np.isnan(sm_pct) & ~np.isnan(memory_pct)
    by_throughput = near_kinds(sm_pct, memory_pct, NEAR_ROOF_PCT)
    by_roofline = near_kinds(compute_pct, traffic_pct, NEAR_ROOF_PCT)
    is_near = by_roofline != KINDS.index(VerdictKind.LATENCY_BOUND)
    is_communication = category == Category.COMMUNICATION
    kind = np.select(
        [is_communication, is_measured, is_near],
        [np.full(len(category), KINDS.index(VerdictKind.COMMUNICATION)), by_throughput, by_roofline],
        KINDS.index(VerdictKind.UNKNOWN),
    )
    is_estimated = ~is_communication & ~is_measured & is_near
    confidence = np.where(is_estimated, CONFIDENCES.index("estimated"), CONFIDENCES.index("measured"))
    return VerdictKinds(kind=kind.astype(np.uint8), confidence=confidence.astype(np.uint8))


def near_kinds(compute_pct: Float64, memory_pct: Float64, limit_pct: float) -> Uint8:
    """Tells which of two shares are above a limit: (n,) uint8 by ``KINDS``; NaN is not above it."""
    compute_is_near, memory_is_near = compute_pct > limit_pct, memory_pct > limit_pct
    found = np.select(
        [compute_is_near & memory_is_near, compute_is_near, memory_is_near],
        [
            KINDS.index(kind)
            for kind in (VerdictKind.BALANCED, VerdictKind.COMPUTE_BOUND, VerdictKind.MEMORY_BOUND)
        ],
        KINDS.index(VerdictKind.LATENCY_BOUND),
    )
    return found.astype(np.uint8)


def _roof_shares(counters: Counters, points: PointTable) -> tuple[Float64, Float64]:
    """Returns FLOP/s and bytes/s of DRAM in % of the roof at the clocks during profiling.

    As ``standing_of`` under ``ceilings_of_report``: half a roof holds no FLOP/s.
    """
    seconds = np.where(points.sum_ns > 0, points.sum_ns / _NS_PER_S, np.nan)
    has_clock = counters.number(SM_CYCLES_PER_S) > 0
    peak_bytes_per_s = peak_traffic(counters, "dram")
    has_traffic = has_clock & (peak_bytes_per_s > 0)
    peak_flop_per_s = counters.nothing()
    for (kind, is_sparse), peak in profiled_work(counters).items():
        of_kind = (points.work_type == kind) & (not is_sparse) & has_traffic & (peak > 0)
        peak_flop_per_s[of_kind] = peak[of_kind]
    flop_per_s = quotient(points.flop, seconds)
    bytes_per_s = quotient(points.moved_bytes[:, LEVELS.index("dram")], seconds)
    return (
        100 * quotient(flop_per_s, peak_flop_per_s),
        100 * quotient(bytes_per_s, np.where(has_traffic, peak_bytes_per_s, np.nan)),
    )
