"""Where all points of a table stand below the ceilings of one device, column by column.

What ``verdict_standing`` tells of one point for its verdict, this tells of
thousands for a plot and a list, at any level of memory. A roof needs both of its
lines: half a roof would flatter every point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.roofline.ceilings import roof_lines
from core.roofline.points import LEVELS, PointTable, WorkType
from core.tables.columns import NO_ROW, Float64, Int32, freeze_columns
from core.tables.strings import string_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.ncu_roofline import Level
    from core.roofline.ceilings import Ceilings
    from core.tables.columns import Bool

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Places:
    """The points of a table at one level of memory. All columns (n,), NaN where not known.

    Attributes:
        intensity: float64, FLOP a byte; an upper bound where the point is modelled.
        flop_per_s: float64, what was reached.
        bytes_per_s: float64, the traffic of the level.
        roof_flop_per_s: float64, what the device can do in that type of work at that intensity.
        placed: bool, whether a point is to be drawn.
    """

    intensity: Float64
    flop_per_s: Float64
    bytes_per_s: Float64
    roof_flop_per_s: Float64
    placed: Bool

    def __post_init__(self) -> None:
        names = ("intensity", "flop_per_s", "bytes_per_s", "roof_flop_per_s")
        freeze_columns(self, {**dict.fromkeys(names, np.float64), "placed": np.bool_})

    @property
    def of_roof_pct(self) -> Float64:
        """(n,) float64: the rate as a share of the roof."""
        return np.asarray(self.flop_per_s / self.roof_flop_per_s * 100)


def places_of(points: PointTable, ceilings: Ceilings, level: Level = "dram") -> Places:
    """Places all points of a table.

    Args:
        points: Of one device.
        ceilings: Of that device; what is missing there gives no roof.
        level: Whose traffic counts.
    """
    seconds = np.where(points.sum_ns > 0, points.sum_ns / _NS_PER_S, np.nan)
    moved = points.moved_bytes[:, LEVELS.index(level)]
    intensity = points.flop / np.where(moved > 0, moved, np.nan)
    flop_per_s = points.flop / seconds
    placed = np.isfinite(intensity) & np.isfinite(flop_per_s) & (intensity > 0) & (flop_per_s > 0)
    if level == LEVELS[0]:
        # Who made the points knows better why one has no place.
        placed &= points.reason_id == NO_ROW
    roof = np.full(len(points), np.nan)
    for number in np.unique(points.work_type).tolist():
        lines = roof_lines(ceilings, WorkType(number), level)
        if lines is not None:
            same = points.work_type == number
            roof[same] = np.minimum(lines[0].flop_per_s, lines[1].bytes_per_s * intensity[same])
    return Places(
        intensity=np.asarray(intensity),
        flop_per_s=np.asarray(flop_per_s),
        bytes_per_s=np.asarray(moved / seconds),
        roof_flop_per_s=roof,
        placed=np.asarray(placed),
    )


def join_points(tables: Sequence[PointTable]) -> PointTable:
    """Puts tables one after the other; ``origin_row`` stays what it was in each."""
    if len(tables) == 1:
        return tables[0]
    texts: dict[str, int] = {}

    def ids(table: PointTable, column: Int32) -> Int32:
        used = np.unique(column[column != NO_ROW])
        known = np.full(len(table.strings) + 1, NO_ROW, np.int32)
        for each in used.tolist():
            known[each] = texts.setdefault(table.strings[each], len(texts))
        # The last entry stands for NO_ROW, which is -1.
        return known[column]

    names = [ids(table, table.name_id) for table in tables]
    short_names = [ids(table, table.short_name_id) for table in tables]
    reasons = [ids(table, table.reason_id) for table in tables]
    return PointTable(
        strings=string_table(texts),
        name_id=_joined(names, np.int32),
        short_name_id=_joined(short_names, np.int32),
        category=_joined([table.category for table in tables], np.uint8),
        origin=_joined([table.origin for table in tables], np.uint8),
        work_type=_joined([table.work_type for table in tables], np.uint8),
        flop=_joined([table.flop for table in tables], np.float64),
        moved_bytes=np.concatenate([*(table.moved_bytes for table in tables), np.empty((0, len(LEVELS)))]),
        sum_ns=_joined([table.sum_ns for table in tables], np.int64),
        calls=_joined([table.calls for table in tables], np.int64),
        reason_id=_joined(reasons, np.int32),
        origin_row=_joined([table.origin_row for table in tables], np.int32),
    )


def take_points(points: PointTable, rows: Int32) -> PointTable:
    """Returns some rows of a table, in the order given."""
    return PointTable(
        strings=points.strings,
        name_id=points.name_id[rows],
        short_name_id=points.short_name_id[rows],
        category=points.category[rows],
        origin=points.origin[rows],
        work_type=points.work_type[rows],
        flop=points.flop[rows],
        moved_bytes=points.moved_bytes[rows],
        sum_ns=points.sum_ns[rows],
        calls=points.calls[rows],
        reason_id=points.reason_id[rows],
        origin_row=points.origin_row[rows],
    )


def _joined(columns: Sequence[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    return np.concatenate([*columns, np.empty(0, kind)])
