"""What a roofline plot is given to show, and what it tells about clicks: plain data.

The page makes a ``RooflineContent`` from tables of points and ceilings; the plot
asks back for words by the number of a point only, so it knows no report and no
trace. Only what has a place comes here; the page lists the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from core.tables.columns import Float64, Int64, Uint8, freeze_columns
from gui.plots.timeline_content import CATEGORIES, SliceWords

if TYPE_CHECKING:
    from collections.abc import Callable

OTHER: Final = CATEGORIES.index("other")

LEAST_RADIUS_PX: Final = 4.0
MOST_RADIUS_PX: Final = 10.0
_PX_PER_SQRT_MS: Final = 0.75
ABOVE_TOLERANCE: Final = 1.01
"""How far above its roof a point may lie without being called out: clocks vary by this much."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RooflinePoints:
    """Points with a place. All columns (n,).

    Attributes:
        intensity: float64, FLOP a byte, above 0; an upper bound where modelled.
        flop_per_s: float64, above 0.
        roof_flop_per_s: float64, what the device can do at that intensity, NaN without a roof.
        sum_ns: int64, the time of all its calls.
        category: uint8, place in ``CATEGORIES``.
        origin: uint8, ``core.roofline.points.PointOrigin``.
    """

    intensity: Float64
    flop_per_s: Float64
    roof_flop_per_s: Float64
    sum_ns: Int64
    category: Uint8
    origin: Uint8

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "intensity": np.float64,
                "flop_per_s": np.float64,
                "roof_flop_per_s": np.float64,
                "sum_ns": np.int64,
                "category": np.uint8,
                "origin": np.uint8,
            },
        )
        if not (np.all(self.intensity > 0) and np.all(self.flop_per_s > 0)):
            raise ValueError("a point without a place")

    def __len__(self) -> int:
        return len(self.intensity)

    def above(self) -> Int64:
        """Returns (m,) int64: the points above their roofs."""
        return np.flatnonzero(self.flop_per_s > self.roof_flop_per_s * ABOVE_TOLERANCE)


def radius_px(sum_ns: Int64) -> Float64:
    """Returns (n,) float64: radii by time, 4 px + 0.75 px a root of a millisecond, 10 px at most."""
    size = LEAST_RADIUS_PX + _PX_PER_SQRT_MS * np.sqrt(np.maximum(sum_ns, 0) / 1e6)
    return np.asarray(np.minimum(size, MOST_RADIUS_PX))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRoof:
    """A horizontal ceiling.

    Attributes:
        label: With its figure: "bf16 tensor 989.4 TFLOP/s".
        flop_per_s: Where it lies.
        dashed: Measured here, not of a data sheet.
        chosen: Drawn stronger: what most points are held against.
    """

    label: str
    flop_per_s: float
    dashed: bool = False
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficRoof:
    """A rising ceiling; fields as in ``WorkRoof``. Ridges are those of the chosen one."""

    label: str
    bytes_per_s: float
    dashed: bool = False
    chosen: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RooflineContent:
    """Everything that a plot shows.

    Attributes:
        points: By number.
        works, traffics: Ceilings; there may be none of either.
        name_of: Short name of a point.
        words_of: What the tooltip says of a point.
        why_empty: Why there are no points, if there are none.
    """

    points: RooflinePoints
    works: tuple[WorkRoof, ...] = ()
    traffics: tuple[TrafficRoof, ...] = ()
    name_of: Callable[[int], str] = field(default=lambda _point: "")
    words_of: Callable[[int], SliceWords] = field(default=lambda _point: SliceWords(""))
    why_empty: str = ""

    @property
    def main_traffic(self) -> TrafficRoof | None:
        """The rising ceiling that flat ones begin at: the chosen one, else the lowest."""
        if not self.traffics:
            return None
        chosen = [roof for roof in self.traffics if roof.chosen]
        return min(chosen or self.traffics, key=lambda roof: roof.bytes_per_s)

    def ridge_of(self, roof: WorkRoof) -> float | None:
        """Intensity from which a flat ceiling holds, FLOP a byte; None without a rising one."""
        traffic = self.main_traffic
        return None if traffic is None else roof.flop_per_s / traffic.bytes_per_s


NO_POINTS: Final = RooflinePoints(
    intensity=np.empty(0),
    flop_per_s=np.empty(0),
    roof_flop_per_s=np.empty(0),
    sum_ns=np.empty(0, np.int64),
    category=np.empty(0, np.uint8),
    origin=np.empty(0, np.uint8),
)
NOTHING: Final = RooflineContent(points=NO_POINTS)
