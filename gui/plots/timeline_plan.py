"""Where everything of a timeline's picture lies in device pixels: what a pan or a zoom does not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gui.plots.timeline_image import Bar, Bars, CounterBar, MarkBar
from gui.plots.timeline_layout import COUNTER_PX, PAD_PX, rows_of_closed_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Bool, Float64, Int64
    from gui.plots.timeline_content import TimelineContent
    from gui.plots.timeline_geometry import TimelineGeometry
    from gui.plots.timeline_lanes import Placed


@dataclass(frozen=True, slots=True, eq=False)
class LanesPlan:
    """The strips that scroll, or the pinned ones, in the lanes' picture.

    Attributes:
        heads: First pixel and height of each group's head.
        bars: All rows.
        counters: The curves.
        marks: Where the marks of each lane go.
        lines: First pixel of the line below each strip.
        label_rows: (k,) int64, rows of the index that have labels.
        label_top: (k,) float64, of each in device-independent pixels.
        label_height: (k,) float64.
        label_host: (k,) bool, whether it holds calls.
    """

    heads: tuple[tuple[int, int], ...]
    bars: Bars
    counters: tuple[CounterBar, ...]
    marks: tuple[MarkBar, ...]
    lines: tuple[int, ...]
    label_rows: Int64
    label_top: Float64
    label_height: Float64
    label_host: Bool


def lanes_plan(geometry: TimelineGeometry, content: TimelineContent, part: Sequence[Placed]) -> LanesPlan:
    """Turns strips into pixels; the visible span does not matter."""
    scale, index = geometry.scale, content.index

    def px(y: float) -> int:
        return round((y - geometry.lanes_top) * scale)

    def box_px(top: float, height: float) -> tuple[int, int]:
        return px(top), px(top + height) - px(top)

    bars: list[Bar] = []
    heads: list[tuple[int, int]] = []
    counters: list[CounterBar] = []
    marks: list[MarkBar] = []
    labels: list[tuple[int, float, float, bool]] = []
    for placed in part:
        strip = placed.strip
        if strip.kind == "counter":
            box = box_px(placed.top + PAD_PX, COUNTER_PX)
            counters.append(CounterBar(content.counters[strip.number], *box))
        elif strip.kind == "group":
            heads.append(box_px(placed.top, strip.height))
            rows = tuple(rows_of_closed_group(index, strip.number)) if strip.closed else ()
            if rows:
                host = index.lanes[index.row_lane[rows[0]]].host
                bars.append(Bar(rows, *box_px(*placed.row_box(-1)), 0 if host else None))
        else:
            host = index.lanes[strip.number].host
            for place, row in shown_rows(placed, geometry):
                top, height = placed.row_box(row)
                bars.append(Bar((row,), *box_px(top, height), place if host else None))
                labels.append((row, top - geometry.lanes_top, height, host))
            marks.append(MarkBar(strip.number, *box_px(placed.top, PAD_PX)))
    lines = tuple(round((each.top + each.strip.height - geometry.lanes_top - 1) * scale) for each in part)
    return LanesPlan(
        heads=tuple(heads),
        bars=Bars.of(bars),
        counters=tuple(counters),
        marks=tuple(marks),
        lines=lines,
        label_rows=np.array([row for row, _, _, _ in labels], np.int64),
        label_top=np.array([top for _, top, _, _ in labels], np.float64),
        label_height=np.array([height for _, _, height, _ in labels], np.float64),
        label_host=np.array([host for _, _, _, host in labels], np.bool_),
    )


def shown_rows(placed: Placed, geometry: TimelineGeometry) -> list[tuple[int, int]]:
    """Number in the strip and number in the index of the rows of a lane that can be seen."""
    strip = placed.strip
    shown = []
    first = strip.rows_above(geometry.lanes_top - placed.top)
    for place in range(first, len(strip.rows)):
        top, _ = placed.row_box(strip.rows[place])
        if top >= geometry.height:
            break
        shown.append((place, strip.rows[place]))
    return shown
