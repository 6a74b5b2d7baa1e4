"""The words in a roofline, laid out for one frame: ceilings, ridges, the selection, what is above its roof.

The order is that of importance: what comes first takes the room.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, Qt

from core.units import format_pct
from gui.plots.roofline_labels import Box, Label, Marks, beside_point, first_free, roof_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QFontMetricsF

    from core.tables.columns import Int64
    from gui.plots.roofline_content import RooflineContent
    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.plots.roofline_roofs import RidgeLine, RoofLine
    from gui.plots.roofline_stamps import Placed

NAMED_POINTS: Final = 6
"""So many of the longest visible points have their names beside them, where there is room."""

LOOKED_AT: Final = 30
"""Among so many of the longest; each name stands there once."""

CALLED_OUT: Final = 4
"""So many points above their roofs are called out in words; all of them have a triangle."""

MOST_TRIANGLES: Final = 200
ABOVE_WORDS: Final = "above its roof"
TRIANGLE_PX: Final = 9.0
_TRIANGLE_GAP_PX: Final = 5.0
_RIDGE_GAP_PX: Final = 6.0
_NAME_PX: Final = 190.0
_MOST_MARKS: Final = 1_500
"""With more visible points than that, words lie over some in any case, and names tell little."""


@dataclass(frozen=True, slots=True, eq=False)
class Fonts:
    """Measures of small text."""

    plain: QFontMetricsF
    bold: QFontMetricsF


@dataclass(slots=True)
class Words:
    """What is written in one frame.

    Attributes:
        labels: None lies over another.
        triangles: Middles of the warning signs.
    """

    labels: list[Label] = field(default_factory=list)
    triangles: list[QPointF] = field(default_factory=list)


class WordLayout:
    """Lays out one frame."""

    def __init__(
        self,
        content: RooflineContent,
        geometry: RooflineGeometry,
        placed: Placed,
        fonts: Fonts,
        taken: Sequence[Box],
    ) -> None:
        self._content = content
        self._geometry = geometry
        self._placed = placed
        self._fonts = fonts
        self._taken = list(taken)
        self._is_crowded = len(placed.order) > _MOST_MARKS
        order = placed.order[: 0 if self._is_crowded else _MOST_MARKS]
        self._marks = Marks(placed.x[order], placed.y[order], placed.radius[order])
        self._words = Words()

    def lay_out(
        self, lines: Sequence[RoofLine], ridges: Sequence[RidgeLine], above: Int64, selected: int
    ) -> Words:
        """Finds places for everything.

        Args:
            lines: Ceilings.
            ridges: Ridges.
            above: Numbers of the points above their roofs.
            selected: A point, -1 for none.
        """
        self._select(selected)
        self._words.labels += roof_labels(lines, self._geometry, self._fonts.plain, self._taken, self._marks)
        self._write_ridges(ridges)
        self._call_out(above, selected)
        if not self._is_crowded:
            self._name_longest(selected)
        return self._words

    def _write_ridges(self, ridges: Sequence[RidgeLine]) -> None:
        """At the foot of each ridge."""
        metrics, foot = self._fonts.plain, self._geometry.plot.bottom() - 3
        for ridge in ridges:
            width = metrics.horizontalAdvance(ridge.text) + _RIDGE_GAP_PX
            places = (ridge.x + 5, ridge.x - width)
            box = self._free((Box(QPointF(x, foot), width, metrics.height()) for x in places), force=True)
            if box is not None:
                self._words.labels.append(Label(ridge.text, box))

    def _select(self, point: int) -> None:
        """Name and share of its roof of the selected point, one below the other."""
        at = self._visible(point)
        if at is None:
            return
        points, fonts = self._content.points, self._fonts
        share = float(points.flop_per_s[point] / points.roof_flop_per_s[point] * 100)
        words = f"{format_pct(share)} of its roof" if share > 0 else "no roof known"
        name = self._cut(self._content.name_of(point), fonts.bold)
        height = fonts.plain.height()
        width = max(fonts.bold.horizontalAdvance(name), fonts.plain.horizontalAdvance(words))
        radius = float(self._placed.radius[point]) + 4
        box = self._free(beside_point(at, radius, width, 2 * height), force=True)
        if box is not None:
            upper = Box(QPointF(box.corner.x(), box.corner.y() - height), width, height)
            self._words.labels += [
                Label(name, upper, strong=True, bold=True),
                Label(words, Box(box.corner, width, height)),
            ]

    def _call_out(self, above: Int64, selected: int) -> None:
        """A triangle beside each visible point above its roof, and words beside the first few."""
        metrics = self._fonts.plain
        height, lead = metrics.height(), TRIANGLE_PX + _TRIANGLE_GAP_PX
        width = lead + metrics.horizontalAdvance(ABOVE_WORDS)
        in_sight = np.zeros(len(self._placed.x), np.bool_)
        in_sight[self._placed.order] = True
        visible = above[in_sight[above]]
        for place, point in enumerate(visible[:MOST_TRIANGLES].tolist()):
            at = self._visible(point)
            if at is None:
                continue
            radius = float(self._placed.radius[point])
            box = None
            if place < CALLED_OUT and point != selected:
                box = self._free(beside_point(at, radius, width, height), force=True)
            if box is None:
                self._words.triangles.append(at + QPointF(radius + 6, -4))
                continue
            left, bottom = box.corner.x(), box.corner.y()
            self._words.triangles.append(QPointF(left + TRIANGLE_PX / 2, bottom - height / 2))
            text = Box(QPointF(left + lead, bottom), width - lead, height)
            self._words.labels.append(Label(ABOVE_WORDS, text))

    def _name_longest(self, selected: int) -> None:
        """Names of the longest visible points, where there is room beside all marks."""
        metrics = self._fonts.plain
        said = {"", self._cut(self._content.name_of(selected), metrics) if selected >= 0 else ""}
        for point in self._placed.order[:LOOKED_AT].tolist():
            at = None if point == selected else self._visible(point)
            name = self._cut(self._content.name_of(point), metrics)
            if at is None or name in said or len(said) > NAMED_POINTS:
                continue
            said.add(name)
            radius = float(self._placed.radius[point])
            box = self._free(beside_point(at, radius, metrics.horizontalAdvance(name), metrics.height()))
            if box is not None:
                self._words.labels.append(Label(name, box))

    def _free(self, candidates: Iterator[Box], *, force: bool = False) -> Box | None:
        """Takes the first free place; ``force``: rather over marks than nowhere."""
        box = first_free(candidates, self._taken, self._geometry.plot, self._marks, over_marks=force)
        if box is not None:
            self._taken.append(box)
        return box

    def _visible(self, point: int) -> QPointF | None:
        """Where a point is; None if it is out of sight."""
        if point < 0:
            return None
        at = QPointF(self._placed.x[point], self._placed.y[point])
        return at if self._geometry.plot.contains(at) else None

    @staticmethod
    def _cut(name: str, metrics: QFontMetricsF) -> str:
        return metrics.elidedText(" ".join(name.split()), Qt.TextElideMode.ElideRight, _NAME_PX)
