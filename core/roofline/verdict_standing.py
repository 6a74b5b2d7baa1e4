"""How a point stands to the roof above it: its rates, and what share of each ceiling they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.roofline.ceilings import ROOF_ORIGINS, roof_lines, traffic_ceiling
from core.roofline.points import LEVELS, PointOrigin, WorkType
from core.tables.columns import MISSING

if TYPE_CHECKING:
    from core.roofline.ceilings import Ceilings, TrafficCeiling, WorkCeiling
    from core.roofline.points import PointTable

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A point of a roofline against the ceilings of its device; None where either is not known.

    Attributes:
        work_type: Of most of its operations.
        origin: How its work is known.
        flop_per_s, bytes_per_s: What it reaches, through DRAM.
        intensity: FLOP a byte of DRAM; an upper bound where it is modelled.
        ridge: Intensity below which the memory is the limit.
        ceiling_flop_per_s, ceiling_bytes_per_s: The two lines of its roof.
        ceiling_source: Where those come from.
        ceiling_origin: Whose they are, in a word or two: "data sheet", "profiled clock".
    """

    work_type: WorkType
    origin: PointOrigin
    flop_per_s: float | None
    bytes_per_s: float | None
    intensity: float | None
    ridge: float | None
    ceiling_flop_per_s: float | None
    ceiling_bytes_per_s: float | None
    ceiling_source: str
    ceiling_origin: str = ""

    @property
    def compute_pct(self) -> float | None:
        """Its FLOP/s as a share of the ceiling."""
        return _share_pct(self.flop_per_s, self.ceiling_flop_per_s)

    @property
    def traffic_pct(self) -> float | None:
        """Its bytes/s as a share of the ceiling."""
        return _share_pct(self.bytes_per_s, self.ceiling_bytes_per_s)

    @property
    def is_below_ridge(self) -> bool | None:
        """Whether the memory is the limit at its intensity."""
        return None if self.intensity is None or self.ridge is None else self.intensity < self.ridge


def standing_of(points: PointTable, row: int, ceilings: Ceilings) -> Standing:
    """Holds a point against the roof of its type of work and DRAM."""
    sum_ns = int(points.sum_ns[row])
    seconds = sum_ns / _NS_PER_S if sum_ns != MISSING and sum_ns > 0 else None
    flop = _known(float(points.flop[row]))
    moved_bytes = _known(float(points.moved_bytes[row, LEVELS.index("dram")]))
    work_type = WorkType(int(points.work_type[row]))
    work, traffic = _lines(ceilings, work_type)
    ridge = None if work is None or traffic is None else work.flop_per_s / traffic.bytes_per_s
    return Standing(
        work_type=work_type,
        origin=PointOrigin(int(points.origin[row])),
        flop_per_s=_quotient(flop, seconds),
        bytes_per_s=_quotient(moved_bytes, seconds),
        intensity=_quotient(flop, moved_bytes) if flop else None,
        ridge=ridge,
        ceiling_flop_per_s=None if work is None else work.flop_per_s,
        ceiling_bytes_per_s=None if traffic is None else traffic.bytes_per_s,
        ceiling_source="" if traffic is None else traffic.source,
        ceiling_origin=", ".join(dict.fromkeys(each.origin.value for each in (work, traffic) if each)),
    )


def _lines(ceilings: Ceilings, work_type: WorkType) -> tuple[WorkCeiling | None, TrafficCeiling | None]:
    """Return the lines of a roof; that of DRAM also where there is no ceiling of its type of work."""
    lines = roof_lines(ceilings, work_type)
    if lines is not None:
        return lines
    found = (traffic_ceiling(ceilings, "dram", origin) for origin in ROOF_ORIGINS)
    return None, next((each for each in found if each is not None), None)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _quotient(value: float | None, by: float | None) -> float | None:
    return None if value is None or not by else value / by


def _share_pct(rate: float | None, ceiling: float | None) -> float | None:
    share = _quotient(rate, ceiling)
    return None if share is None else 100 * share
