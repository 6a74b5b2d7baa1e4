"""The lines of a roofline in pixels: ceilings up to where they cross, and ridges. No drawing.

A ceiling whose counterpart is not known is drawn all the same: a flat one over
the whole width, a rising one over the whole height. What is not known at all is
not there: nothing is drawn at 0 or at a guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF

from core.units import format_number

if TYPE_CHECKING:
    from gui.plots.roofline_content import RooflineContent, TrafficRoof, WorkRoof
    from gui.plots.roofline_geometry import RooflineGeometry


@dataclass(frozen=True, slots=True)
class RoofLine:
    """The visible part of one ceiling, from left to right."""

    label: str
    start: QPointF
    end: QPointF
    rises: bool
    dashed: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class RidgeLine:
    """Where a flat ceiling begins: a dotted line down to the axis.

    Attributes:
        text: "ridge 295".
        x: Pixel from the left.
        top: Pixel from the top where it begins.
    """

    text: str
    x: float
    top: float


def roof_lines(content: RooflineContent, geometry: RooflineGeometry) -> list[RoofLine]:
    """Returns the ceilings of which anything is visible."""
    lines = [_flat(roof, content, geometry) for roof in content.works]
    highest = max((math.log10(roof.flop_per_s) for roof in content.works), default=None)
    lines += [_rising(roof, highest, geometry) for roof in content.traffics]
    return [line for line in lines if line is not None]


def ridge_lines(content: RooflineContent, geometry: RooflineGeometry) -> list[RidgeLine]:
    """Returns the visible ridges of flat ceilings of a data sheet, the chosen ones first.

    Ceilings that begin at one intensity share a ridge, from the higher one down.
    """
    found: dict[str, RidgeLine] = {}
    plot = geometry.plot
    for roof in sorted(content.works, key=lambda roof: not roof.chosen):
        ridge = None if roof.dashed else content.ridge_of(roof)
        if not ridge:
            continue
        x, top = geometry.x_of(math.log10(ridge)), geometry.y_of(math.log10(roof.flop_per_s))
        if plot.left() < x < plot.right() and top < plot.bottom():
            text, top = f"ridge {format_number(ridge, 3)}", max(top, plot.top())
            same = found.get(text)
            found[text] = RidgeLine(text, x, top) if same is None else replace(same, top=min(top, same.top))
    return list(found.values())


def _flat(roof: WorkRoof, content: RooflineContent, geometry: RooflineGeometry) -> RoofLine | None:
    plot = geometry.plot
    y = geometry.y_of(math.log10(roof.flop_per_s))
    ridge = content.ridge_of(roof)
    left = plot.left() if not ridge else max(plot.left(), geometry.x_of(math.log10(ridge)))
    if not plot.top() <= y <= plot.bottom() or left >= plot.right():
        return None
    return RoofLine(roof.label, QPointF(left, y), QPointF(plot.right(), y), False, roof.dashed, roof.chosen)


def _rising(roof: TrafficRoof, highest: float | None, geometry: RooflineGeometry) -> RoofLine | None:
    """The part between the left edge or the bottom, and the highest flat ceiling or an edge."""
    seen = geometry.range
    rate = math.log10(roof.bytes_per_s)
    left = max(seen.left, seen.bottom - rate)
    right = min(seen.right, seen.top - rate)
    if highest is not None:
        right = min(right, highest - rate)
    if right <= left:
        return None
    start = QPointF(geometry.x_of(left), geometry.y_of(left + rate))
    end = QPointF(geometry.x_of(right), geometry.y_of(right + rate))
    return RoofLine(roof.label, start, end, True, roof.dashed, roof.chosen)
