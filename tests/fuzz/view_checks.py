"""What must hold of all that is drawn of a report, however broken: parts are whole, numbers can be drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.report_view.compare import compare, compare_reports
from core.analyses.report_view.occupancy import occupancy_view
from core.analyses.report_view.parts import (
    BarPart,
    LinePart,
    RooflinePart,
    RowPart,
    SourcePart,
    TablePart,
    TimelinePart,
)
from core.analyses.report_view.rules import rule_views
from core.analyses.report_view.sections import section_views
from core.analyses.report_view.session import frame_views, range_views, session_view
from core.analyses.report_view.speed_of_light import speed_of_light
from core.analyses.report_view.stalls import stall_view
from core.analyses.report_view.words import cell_text
from core.readers.ncu_report.instances import LaunchInstances
from tests.fuzz.checks import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.analyses.report_view.parts import Cell, Part
    from core.tables.columns import Float64
    from core.tables.ncu import Report

MOST_LAUNCHES = 2


def check_views(report: Report) -> None:
    """Makes all views of the first launches, and requires that they can be drawn."""
    session_view(report)
    for row in range(min(MOST_LAUNCHES, len(report.launches))):
        check_launch(report, row)
    compare_reports(report, report)


def check_launch(report: Report, row: int) -> None:
    """Makes all views of one launch."""
    instances = LaunchInstances(report, row)
    for section in section_views(report, row, instances):
        for part in section.items:
            check_part(part)
        check_cells(each.cell for line in section.header for each in line)
    light = speed_of_light(report, row, instances)
    require(len(light.bars) == 5, "speed of light has its bars")
    check_cells(each.cell for breakdown in (light.compute, light.memory) for each in breakdown.rows)
    for rule in rule_views(report, row, instances):
        check_cells(each.cell.cell for each in rule.focus)
        for table in rule.tables:
            check_part(table)
        has_said = rule.messages or rule.tables or rule.focus or rule.speedup_pct is not None
        require(bool(has_said), "a rule that says nothing")
    for part in occupancy_view(report, row, instances).curves:
        check_part(part)
    require(all(bar.share_pct >= 0 for bar in stall_view(report, row, instances).bars), "shares of stalls")
    range_views(report, row)
    frame_views(report, row)
    compare(report, row, report, 0)


def check_cells(cells: Iterable[Cell | None]) -> None:
    """Requires that values can be written."""
    for cell in cells:
        value = None if cell is None else cell.value
        require(not isinstance(value, float) or math.isfinite(value), f"a cell holds {value}")
        cell_text(cell)


def check_part(part: Part) -> None:
    """Requires that a part can be drawn."""
    if isinstance(part, RowPart):
        for each in part.parts:
            check_part(each)
    elif isinstance(part, TablePart):
        widths = {len(row) for row in part.rows}
        require(widths <= {len(part.columns)}, f"rows of {widths} cells, {len(part.columns)} columns")
        check_cells(cell for row in part.rows for cell in row)
    elif isinstance(part, BarPart):
        check_cells(bar.cell for bar in part.bars)
    elif isinstance(part, SourcePart):
        check_cells(each.cell for each in part.metrics)
    else:
        check_curves(part)


def check_curves(part: Part) -> None:
    """Requires that lines, points and samples can be drawn."""
    if isinstance(part, LinePart):
        for series in part.series:
            check_series(series.xs, series.ys)
            require(bool(np.isfinite(series.ys).all()), "a line with a gap")
    elif isinstance(part, TimelinePart):
        for row in part.rows:
            for sampled in row.series:
                check_series(sampled.times_ns.astype(np.float64), sampled.values)
                require(not np.isinf(sampled.values).any(), "an endless sample")
    elif isinstance(part, RooflinePart):
        numbers = [number for point in part.points for number in (point.intensity, point.flop_per_s)]
        numbers += [roof.peak_flop_per_s or 1.0 for roof in part.roofs]
        numbers += [roof.peak_bytes_per_s or 1.0 for roof in part.roofs]
        require(all(0 < number < math.inf for number in numbers), "a roofline without logarithm")


def check_series(xs: Float64, ys: Float64) -> None:
    """Requires as many values as places, in order."""
    require(len(xs) == len(ys), "a value without a place")
    require(bool((np.diff(xs) >= 0).all()), "places out of order")
