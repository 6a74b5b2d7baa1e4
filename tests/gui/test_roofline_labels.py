"""Where words of ceilings stand: no line runs through them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtGui import QFontMetricsF

from gui.plots.roofline_content import NOTHING, RooflineContent, TrafficRoof, WorkRoof
from gui.plots.roofline_geometry import RooflineGeometry
from gui.plots.roofline_labels import Box, Marks, beside_point, first_free, roof_labels
from gui.plots.roofline_range import PlotRange
from gui.plots.roofline_roofs import roof_lines

if TYPE_CHECKING:
    from gui.plots.roofline_roofs import RoofLine
    from gui.theme import ThemeController

NO_MARKS = Marks(np.empty(0), np.empty(0), np.empty(0))
TRAFFICS = tuple(TrafficRoof(label=f"L2 {rate:g} TB/s", bytes_per_s=rate * 1e12) for rate in (3, 3.6, 4.3, 5))
WORKS = (WorkRoof(label="FP32", flop_per_s=5e13), WorkRoof(label="FP64", flop_per_s=2.5e13))


def is_crossed(box: Box, lines: list[RoofLine]) -> bool:
    """Whether a line runs through what is written in a box, half a pixel beside its ends."""
    inks = [(line.start, line.end.x() - line.start.x(), line.end.y() - line.start.y()) for line in lines]
    boxes = [Box(start, math.hypot(dx, dy), 0.5, math.degrees(math.atan2(dy, dx))) for start, dx, dy in inks]
    return any(box.padded(-0.5).overlaps(ink) for ink in boxes)


@pytest.mark.parametrize(("width", "height"), [(912, 500), (890, 290), (560, 420)])
def test_no_ceiling_runs_through_words_of_another_or_of_a_point(
    theme: ThemeController, width: int, height: int
) -> None:
    metrics = QFontMetricsF(theme.theme.font(theme.theme.px_small))
    geometry = RooflineGeometry(width, height, 1.0, PlotRange(-0.5, 3.0, 11.5, 14.2))
    lines = roof_lines(RooflineContent(points=NOTHING.points, works=WORKS, traffics=TRAFFICS), geometry)
    assert len(lines) == len(WORKS) + len(TRAFFICS)
    taken: list[Box] = []
    labels = roof_labels(lines, geometry, metrics, taken, NO_MARKS)
    assert {"FP32", "FP64"} < {label.text for label in labels}
    assert not any(is_crossed(label.box, lines) for label in labels)
    # Points among the ceilings, whose names would lie over lines at some places.
    found = []
    for power in (-0.2, 0.0, 0.3, 0.6, 1.4, 2.0):
        places = list(beside_point(geometry.place_of(10.0**power, 4e12), 6.0, 80, metrics.height()))
        box = first_free(iter(places), taken, geometry.plot, NO_MARKS, over_marks=False)
        found += [] if box is None else [(box, any(is_crossed(each, lines) for each in places))]
    assert any(could_be for _, could_be in found)
    assert not any(is_crossed(box, lines) for box, _ in found)
