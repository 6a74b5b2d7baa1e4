"""Where the words stand that a roofline without a visible point shows."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from gui.plots.roofline_notice import beside_lines
from gui.plots.roofline_roofs import RoofLine


def test_a_notice_stands_over_no_ceiling() -> None:
    plot, middle = QRectF(0, 0, 600, 400), QRectF(100, 180, 400, 40)

    def line(*ends: float) -> RoofLine:
        return RoofLine("roof", QPointF(*ends[:2]), QPointF(*ends[2:]), ends[1] != ends[3], True, False)

    assert beside_lines(middle, plot, [line(0, 50, 600, 50)], QRectF()) == middle
    dashed, rising = line(100, 200, 600, 200), line(0, 300, 300, 0)
    moved = beside_lines(middle, plot, [dashed, rising], QRectF())
    assert plot.contains(moved)
    assert moved.size() == middle.size()
    assert moved.top() > 200
    # Below the rising line: it is left of the box.
    assert moved.left() > 300 - moved.bottom()
    # The legend keeps its room; without any, the middle has to do.
    legend = QRectF(0, 201, 600, 199)
    assert not beside_lines(middle, plot, [dashed], legend).intersects(legend)
    assert beside_lines(middle, plot, [dashed], plot) == middle
