"""Points of a roofline as columns of a table: where they stand, below which roof, or why nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.ncu_counters import quotient
from core.roofline.ceilings import above_roof, roof_lines
from core.roofline.points import LEVEL_TITLES, LEVELS, PointOrigin, WorkType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.ncu_roofline import Level
    from core.roofline.ceilings import Ceilings, TrafficCeiling, WorkCeiling
    from core.roofline.points import PointTable
    from core.tables.columns import Float64
    from core.tables.result import Column

_ORIGINS = {
    PointOrigin.MEASURED: "measured",
    PointOrigin.ESTIMATED: "estimated",
    PointOrigin.MODELLED: "modelled",
}


def point_columns(points: PointTable, ceilings: Sequence[Ceilings]) -> tuple[Column, ...]:
    """Returns the columns for points, a row for each.

    Args:
        points: All of them.
        ceilings: For each point, those of its device.
    """
    seconds = np.where(points.sum_ns > 0, points.sum_ns / 1e9, np.nan)
    rate = quotient(points.flop, seconds, zero_is_work=True)
    has_place = points.reason_id < 0
    levels = roof_levels(points)
    known = (intensity_to(points, levels) > 0).tolist()
    roofs = _roofs(points, ceilings, levels)
    above = [_above(points, row, ceilings[row]) for row in range(len(points))]
    reasons = [points.strings[each] for each in points.reason_id.tolist()]
    work_types = [WorkType(kind).title or None for kind in points.work_type.tolist()]
    return (
        own_text_column("work_type", "Work", "Type of most of its operations.", work_types),
        own_text_column(
            "origin",
            "Known from",
            "measured: counted by the device. estimated: from counted instructions. modelled: from shapes.",
            [_ORIGINS[PointOrigin(kind)] for kind in points.origin.tolist()],
        ),
        number_column("flop", "FLOP", "flop", "Operations of this type.", points.flop, shown=False),
        number_column("flop_per_s", "Achieved", "flop_per_s", "Operations a second.", rate),
        *_level_columns(points, seconds),
        number_column(
            "roof_flop_per_s",
            "Roof",
            "flop_per_s",
            "The most that this intensity to DRAM (to L2 where DRAM was not counted) allows by the data "
            "sheet, dense.",
            roofs,
        ),
        own_text_column(
            "roof_level",
            "Roof by",
            "Level of memory whose intensity its roofs are by; empty without an intensity.",
            [LEVEL_TITLES[level] if has_one else None for level, has_one in zip(levels, known, strict=True)],
            shown=any(level != "dram" for level in levels),
        ),
        number_column(
            "roof_pct",
            "Of roof",
            "pct",
            "What it achieved of that; above 100 cannot be.",
            np.where(has_place, quotient(rate, roofs) * 100, np.nan),
        ),
        own_text_column(
            "above_roof",
            "Above a ceiling",
            "The ceiling that it lies above, which cannot be; empty for none.",
            above,
            shown=any(above),
        ),
        own_text_column(
            "reason",
            "Not plotted",
            "Why it has no place on the plot; empty where it has one.",
            reasons,
            shown=any(reasons),
        ),
    )


def intensity_of(flop: Float64, moved_bytes: Float64) -> Float64:
    """Returns FLOP a byte, NaN where either was not counted or nothing moved. Columns are (n,)."""
    moved = np.where(moved_bytes > 0, moved_bytes, np.nan)
    return quotient(np.where(flop >= 0, flop, np.nan), moved, zero_is_work=True)


def intensity_to(points: PointTable, levels: Sequence[Level]) -> Float64:
    """Returns FLOP a byte of each point at the level given for it."""
    moved = points.moved_bytes[np.arange(len(points)), [LEVELS.index(level) for level in levels]]
    return intensity_of(points.flop, moved)


def roof_levels(points: PointTable) -> list[Level]:
    """Returns by which level of memory each point has its roof: DRAM, and L2 where DRAM was not counted.

    Source: sections of Nsight Compute, whose filters collect DRAM on some devices only.
    """
    moved = points.moved_bytes
    is_l2 = np.isnan(moved[:, LEVELS.index("dram")]) & (moved[:, LEVELS.index("l2")] > 0)
    return ["l2" if each else "dram" for each in is_l2.tolist()]


def _level_columns(points: PointTable, seconds: Float64) -> list[Column]:
    """Returns intensity, bytes and bytes a second for each level of memory."""
    found: list[Column] = []
    for place, level in enumerate(LEVELS):
        moved, title = points.moved_bytes[:, place], LEVEL_TITLES[level]
        found += [
            number_column(
                f"{level}_intensity",
                f"Intensity, {title}",
                "flop_per_byte",
                f"Operations for each byte that {title} moved.",
                intensity_of(points.flop, moved),
                shown=level == "dram",
            ),
            number_column(
                f"{level}_bytes",
                f"{title} bytes",
                "bytes",
                f"That {title} moved.",
                moved.copy(),
                shown=False,
            ),
            number_column(
                f"{level}_bytes_per_s",
                title,
                "bytes_per_s",
                f"Bytes a second that {title} moved.",
                quotient(moved, seconds, zero_is_work=True),
                shown=level == "dram",
            ),
        ]
    return found


def _roofs(points: PointTable, ceilings: Sequence[Ceilings], levels: Sequence[Level]) -> Float64:
    """Returns the roof above each point, looking up the lines of a device and type of work once."""
    roofs = np.full(len(points), np.nan)
    intensity = intensity_to(points, levels)
    known: dict[tuple[int, int, Level], tuple[WorkCeiling, TrafficCeiling] | None] = {}
    for row in np.flatnonzero(intensity > 0).tolist():
        key = (id(ceilings[row]), int(points.work_type[row]), levels[row])
        if key not in known:
            known[key] = roof_lines(ceilings[row], WorkType(key[1]), key[2])
        lines = known[key]
        if lines is not None:
            work, traffic = lines
            roofs[row] = min(work.flop_per_s, traffic.bytes_per_s * float(intensity[row]))
    return roofs


def _above(points: PointTable, row: int, ceilings: Ceilings) -> str:
    found = above_roof(points, row, ceilings)
    return found.text if found else ""
