"""Which words of a roofline stand where: candidates in the order of liking, none over another. No drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPointF, QRectF

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QFontMetricsF

    from core.tables.columns import Float64
    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.plots.roofline_roofs import RoofLine

GAP_PX: Final = 4.0
EDGE_PX: Final = 4.0
_ALONG: Final = (0.55, 0.4, 0.7, 0.25, 0.85)
"""Where along the visible part of a rising line its words may stand."""
_FROM_RIGHT: Final = (0.0, 0.28, 0.5)
_POINT_GAP_PX: Final = 5.0
_RING_PX: Final = 4.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle turned around its lower left corner, where its text begins.

    Attributes:
        corner: Lower left corner.
        width, height: Of the text.
        angle_deg: Clockwise, as Qt turns.
    """

    corner: QPointF
    width: float
    height: float
    angle_deg: float = 0.0

    def corners(self) -> tuple[tuple[float, float], ...]:
        """The four corners."""
        turn = math.radians(self.angle_deg)
        along = (math.cos(turn) * self.width, math.sin(turn) * self.width)
        up = (math.sin(turn) * self.height, -math.cos(turn) * self.height)
        x, y = self.corner.x(), self.corner.y()
        return (
            (x, y),
            (x + along[0], y + along[1]),
            (x + along[0] + up[0], y + along[1] + up[1]),
            (x + up[0], y + up[1]),
        )

    def overlaps(self, other: Box) -> bool:
        """Whether two turned rectangles share any area (separating axes)."""
        if self.angle_deg == 0 and other.angle_deg == 0:
            a, b = self.corner, other.corner
            beside = a.x() + self.width <= b.x() or b.x() + other.width <= a.x()
            return not (beside or a.y() - self.height >= b.y() or b.y() - other.height >= a.y())
        mine, theirs = self.corners(), other.corners()
        for angle in (self.angle_deg, self.angle_deg + 90, other.angle_deg, other.angle_deg + 90):
            turn = math.radians(angle)
            axis = (math.cos(turn), math.sin(turn))
            first = [axis[0] * x + axis[1] * y for x, y in mine]
            second = [axis[0] * x + axis[1] * y for x, y in theirs]
            if max(first) <= min(second) or max(second) <= min(first):
                return False
        return True

    def padded(self, px: float) -> Box:
        """The same with room before and behind the text."""
        turn = math.radians(self.angle_deg)
        corner = self.corner - QPointF(math.cos(turn), math.sin(turn)) * px
        return Box(corner, self.width + 2 * px, self.height, self.angle_deg)

    def lies_in(self, room: QRectF) -> bool:
        """Whether all of it lies in a rectangle, or half a pixel beside it."""
        return all(
            room.left() - 0.5 <= x <= room.right() + 0.5 and room.top() - 0.5 <= y <= room.bottom() + 0.5
            for x, y in self.corners()
        )


@dataclass(frozen=True, slots=True)
class Label:
    """Words with their place.

    Attributes:
        text: One line.
        box: Where it stands.
        strong: In the colour of what is chosen.
        bold: In weight 600.
    """

    text: str
    box: Box
    strong: bool = False
    bold: bool = False


def box_of(rect: QRectF) -> Box:
    """A rectangle that is not turned, as a box."""
    return Box(rect.bottomLeft(), rect.width(), rect.height())


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """What is drawn of points and should not be written over: (n,) float64 each, in pixels."""

    x: Float64
    y: Float64
    radius: Float64

    def any_under(self, box: Box) -> bool:
        """Whether a box covers a part of a mark."""
        turn = math.radians(box.angle_deg)
        dx, dy = self.x - box.corner.x(), self.y - box.corner.y()
        along = dx * math.cos(turn) + dy * math.sin(turn)
        up = dx * math.sin(turn) - dy * math.cos(turn)
        reach = self.radius + 1
        inside = (along > -reach) & (along < box.width + reach) & (up > -reach) & (up < box.height + reach)
        return bool(inside.any())


def first_free(
    candidates: Iterator[Box], taken: Sequence[Box], room: QRectF, marks: Marks, *, over_marks: bool
) -> Box | None:
    """The first candidate that lies in the room and over nothing; None if none does.

    Args:
        candidates: In the order of liking.
        taken: What no words may cover.
        room: Where all of them must lie.
        marks: What they should not cover.
        over_marks: Rather over marks than not at all.
    """
    second = None
    for box in candidates:
        padded = box.padded(GAP_PX)
        if box.lies_in(room) and not any(padded.overlaps(other) for other in taken):
            if not marks.any_under(box):
                return box
            second = second or box
    return second if over_marks else None


def roof_labels(
    lines: Sequence[RoofLine],
    geometry: RooflineGeometry,
    metrics: QFontMetricsF,
    taken: list[Box],
    marks: Marks,
) -> list[Label]:
    """Places the words of the ceilings, the chosen ones first; those without room are left out.

    Args:
        lines: What is drawn.
        geometry: Where.
        metrics: Of the font.
        taken: Boxes that nothing may cover; those of the labels and of the ceilings are added.
        marks: What they should not cover.
    """
    room = geometry.plot.adjusted(EDGE_PX, 1, -EDGE_PX, -1)
    across = [_box_along(line) for line in lines]
    placed = []
    for line in sorted(lines, key=lambda line: (not line.chosen, line.end.y())):
        width, height = metrics.horizontalAdvance(line.label), metrics.height()
        candidates = (
            _along_slope(line, width, height, geometry) if line.rises else _on_flat(line, width, height)
        )
        box = first_free(candidates, [*taken, *across], room, marks, over_marks=True)
        if box is not None:
            taken.append(box)
            placed.append(Label(line.label, box, strong=line.chosen))
    # Nor may names of points, which are placed after this, be crossed by a line.
    taken += across
    return placed


def _box_along(line: RoofLine) -> Box:
    """The ink of a ceiling, as a rectangle that no words may cover."""
    dx, dy = line.end.x() - line.start.x(), line.end.y() - line.start.y()
    return Box(line.start, math.hypot(dx, dy), 1.0, math.degrees(math.atan2(dy, dx)))


def _on_flat(line: RoofLine, width: float, height: float) -> Iterator[Box]:
    """At the right end above the line, then below it, then further to the left."""
    length = line.end.x() - line.start.x()
    for share in _FROM_RIGHT:
        x = line.end.x() - EDGE_PX - width - share * max(length, 0)
        yield Box(QPointF(x, line.end.y() - 3), width, height)
        yield Box(QPointF(x, line.end.y() + 2 + height), width, height)


def _along_slope(line: RoofLine, width: float, height: float, geometry: RooflineGeometry) -> Iterator[Box]:
    """Below the line, measured ones above it; then on the other side."""
    dx, dy = line.end.x() - line.start.x(), line.end.y() - line.start.y()
    length = math.hypot(dx, dy)
    if length < width + 2 * GAP_PX:
        return
    ux, uy = dx / length, dy / length
    below, above = height + 2, -3.0
    for side in (above, below) if line.dashed else (below, above):
        for share in _ALONG:
            begin = share * (length - width)
            # The text's own baseline lies across the line by ``side``.
            x = line.start.x() + ux * begin - uy * side
            y = line.start.y() + uy * begin + ux * side
            yield Box(QPointF(x, y), width, height, geometry.slope_deg)


def beside_point(at: QPointF, radius_px: float, width: float, height: float) -> Iterator[Box]:
    """Around a point: right below first, as the ceilings lie above it."""
    off = radius_px * 0.7 + _POINT_GAP_PX
    right, left = at.x() + off, at.x() - off - width
    below, above = at.y() + off + height * 0.7, at.y() - off * 0.6
    middle = at.y() + height / 2
    yield Box(QPointF(right, below), width, height)
    yield Box(QPointF(right + _RING_PX, middle), width, height)
    yield Box(QPointF(left, below), width, height)
    yield Box(QPointF(left - _RING_PX, middle), width, height)
    yield Box(QPointF(right, above), width, height)
    yield Box(QPointF(left, above), width, height)
    yield Box(QPointF(at.x() - width / 2, at.y() + off + height), width, height)
