"""From an edge result to its roofline: each kind of dispatch below what the same backend reached there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.roofline.points import PointOrigin
from core.units import format_bytes_per_s, format_count, format_duration_ns, format_flop_per_s, format_number
from gui.plots.roofline_content import (
    NO_POINTS,
    OTHER,
    RooflineContent,
    RooflinePoints,
    TrafficRoof,
    WorkRoof,
)
from gui.plots.timeline_content import CATEGORIES, SliceWords

if TYPE_CHECKING:
    from core.edge.result import EdgeResult
    from core.tables.result import ResultTable

_AT_MOST: Final = "\N{LESS-THAN OR EQUAL TO}"


def roofline_rows(table: ResultTable) -> list[int]:
    """Rows of a table of dispatches that have a place: a rate and an intensity, both known."""
    return [
        row
        for row in range(len(table))
        if (_number(table, "flop_per_s", row) or 0) > 0 and (_number(table, "intensity", row) or 0) > 0
    ]


def roofline_of(result: EdgeResult, table: ResultTable) -> RooflineContent:
    """Returns what the plot draws; point k is row ``roofline_rows(table)[k]``.

    Args:
        result: With its measured ceilings.
        table: Its dispatches, as ``dispatch_table`` lists them.
    """
    works = [each for each in result.ceilings if each.what == "gemm"]
    copies = [each for each in result.ceilings if each.what == "copy"]
    best = max((each.per_s for each in works if each.type == result.precision), default=None)
    copy = max((each.per_s for each in copies), default=None)
    rows = roofline_rows(table)
    return RooflineContent(
        points=_points(table, rows, best, copy),
        works=tuple(
            WorkRoof(
                label=f"{each.type} product {format_flop_per_s(each.per_s)}, measured",
                flop_per_s=each.per_s,
                dashed=True,
                chosen=each.type == result.precision,
            )
            for each in works
        ),
        traffics=tuple(
            TrafficRoof(
                label=f"Copy {format_bytes_per_s(each.per_s)}, measured",
                bytes_per_s=each.per_s,
                dashed=True,
                chosen=True,
            )
            for each in copies
        ),
        name_of=lambda point: str(table.column("name").value(rows[point])),
        words_of=lambda point: _words(table, rows[point]),
        why_empty="" if rows else why_empty(result),
    )


def why_empty(result: EdgeResult) -> str:
    """Why no dispatch has a place."""
    if not result.dispatches:
        return "No dispatch was timed: this backend does not tell what the device ran"
    return "The work of no dispatch is known from its name"


def _points(table: ResultTable, rows: list[int], best: float | None, copy: float | None) -> RooflinePoints:
    if not rows:
        return NO_POINTS
    intensity = np.array([_number(table, "intensity", row) for row in rows], np.float64)
    by_copy = intensity * (np.nan if copy is None else copy)
    roof = np.fmin(by_copy, np.nan if best is None else best)
    return RooflinePoints(
        intensity=intensity,
        flop_per_s=np.array([_number(table, "flop_per_s", row) for row in rows], np.float64),
        roof_flop_per_s=roof,
        sum_ns=np.array([_number(table, "sum_ns", row) or 0 for row in rows], np.int64),
        category=np.array([_category(table, row) for row in rows], np.uint8),
        # From shapes in names: bytes are the least that must move.
        origin=np.full(len(rows), PointOrigin.MODELLED, np.uint8),
    )


def _category(table: ResultTable, row: int) -> int:
    name = str(table.column("category").value(row) or "").casefold()
    return CATEGORIES.index(name) if name in CATEGORIES else OTHER


def _number(table: ResultTable, key: str, row: int) -> float | None:
    value = table.column(key).value(row)
    return float(value) if isinstance(value, int | float) else None


def _words(table: ResultTable, row: int) -> SliceWords:
    calls = _number(table, "calls", row)
    counted = format_count(None if calls is None else int(calls))
    return SliceWords(
        str(table.column("name").value(row)),
        (
            (
                f"{_AT_MOST} {format_number(_number(table, 'intensity', row), 4)} FLOP/B",
                format_flop_per_s(_number(table, "flop_per_s", row)),
            ),
            ("Time", f"{format_duration_ns(_number(table, 'sum_ns', row))}, {counted} in a run"),
        ),
    )
