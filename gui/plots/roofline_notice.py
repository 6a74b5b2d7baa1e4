"""What a roofline says in its middle while no point can be seen: why, and the way back. No drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QRectF

    from core.tables.columns import Bool, Int64
    from gui.plots.roofline_content import RooflineContent
    from gui.plots.roofline_roofs import RoofLine
    from gui.plots.roofline_stamps import Placed

OUT_OF_VIEW: Final = "No kernel in view: Home shows all"
ALL_FILTERED: Final = "The filter hides all kernels: clear it to see them"
ALL_SWITCHED_OFF: Final = "The legend hides all kernels: a click on an entry shows them"
_STEPS: Final = 25
"""So many places along each side are tried for a notice."""

BOTH_HIDE: Final = "Filter and legend hide all kernels"


def notice_of(
    content: RooflineContent,
    passed: Bool | None,
    hidden: frozenset[int],
    placed: Placed,
    plot: QRectF,
) -> str:
    """Returns why no point is to be seen; "" where one is.

    Args:
        content: What the plot was given.
        passed: (n,) bool, points that the filter lets through; None for all.
        hidden: Categories that are switched off in the legend.
        placed: Where the points are, after filter and legend.
        plot: The rectangle inside the axes, in pixels.
    """
    if not len(content.points):
        return content.why_empty
    if passed is not None and not passed.any():
        return ALL_FILTERED
    if hidden.issuperset(np.unique(content.points.category).tolist()):
        return ALL_SWITCHED_OFF
    lit = ~np.isin(content.points.category, list(hidden))
    if passed is not None and not (passed & lit).any():
        return BOTH_HIDE
    return "" if len(touching(placed, plot)) else OUT_OF_VIEW


def beside_lines(middle: QRectF, plot: QRectF, lines: Sequence[RoofLine], legend: QRectF) -> QRectF:
    """Returns the place for a notice that is nearest to the middle and over no ceiling.

    Args:
        middle: Where it would stand; it stays there if no place is free.
        plot: What it may not leave.
        lines: Ceilings that are seen.
        legend: Keeps its room; empty without one.
    """
    steps = np.linspace(0, 1, _STEPS)
    lefts = plot.left() + 1 + steps * (plot.width() - middle.width() - 2)
    tops = plot.top() + 1 + steps * (plot.height() - middle.height() - 2)
    found = [middle, *(middle.translated(x - middle.left(), y - middle.top()) for x in lefts for y in tops)]
    at = middle.topLeft()
    found.sort(key=lambda each: (each.topLeft() - at).manhattanLength())
    return next(
        (
            each
            for each in found
            if plot.contains(each)
            and not each.intersects(legend)
            and not any(_crosses(line, each) for line in lines)
        ),
        middle,
    )


def _crosses(line: RoofLine, box: QRectF) -> bool:
    """Return whether any of a line, which never falls to the right, lies in a box."""
    left, right = max(line.start.x(), box.left()), min(line.end.x(), box.right())
    if left > right:
        return False
    width = line.end.x() - line.start.x()
    slope = (line.end.y() - line.start.y()) / width if width > 0 else 0.0
    at_left, at_right = (line.start.y() + (x - line.start.x()) * slope for x in (left, right))
    return at_right <= box.bottom() and at_left >= box.top()


def touching(placed: Placed, plot: QRectF) -> Int64:
    """Returns (m,) int64: the points of which some of the mark lies in the plot."""
    order = placed.order
    x, y, radius = placed.x[order], placed.y[order], placed.radius[order]
    along_x = (x + radius > plot.left()) & (x - radius < plot.right())
    along_y = (y + radius > plot.top()) & (y - radius < plot.bottom())
    return np.asarray(order[along_x & along_y])


def middle_point(placed: Placed, plot: QRectF) -> int:
    """Returns the point in sight nearest to the middle of those in sight, -1 without one.

    A point, not a place between points: however far one zooms in there, it stays.
    """
    seen = touching(placed, plot)
    if not len(seen):
        return -1
    x, y = placed.x[seen], placed.y[seen]
    far = np.hypot(x - (x.min() + x.max()) / 2, y - (y.min() + y.max()) / 2)
    return int(seen[int(np.argmin(far))])
