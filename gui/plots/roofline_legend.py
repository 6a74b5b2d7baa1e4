"""The legend of a roofline: which colours and which marks there are; a click hides a category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from core.roofline.points import PointOrigin
from gui.plots.roofline_marks import draw_mark
from gui.plots.timeline_content import CATEGORIES

if TYPE_CHECKING:
    from gui.plots.roofline_content import RooflinePoints
    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.theme import Theme

LINE_PX: Final = 16
SWATCH_PX: Final = 9
COLUMN_GAP_PX: Final = 18
PAD_PX: Final = 6
_OFF_PX: Final = 8
_MOST_SHARE: Final = 0.5
_TITLES: Final = {"gemm": "GEMM", "other": "Triton, other"}
_OPACITY_HIDDEN: Final = 0.35


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One line.

    Attributes:
        text: Its words.
        category: Place in ``CATEGORIES``, -1 for a kind of mark.
        origin: The mark, -1 for a category.
    """

    text: str
    category: int = -1
    origin: int = -1


def legend_entries(points: RooflinePoints) -> tuple[LegendEntry, ...]:
    """Returns the categories and the marks that occur, in their fixed order."""
    entries = [
        LegendEntry(_TITLES.get(CATEGORIES[number], CATEGORIES[number].capitalize()), category=number)
        for number in np.unique(points.category).tolist()
    ]
    entries += [
        LegendEntry(PointOrigin(number).name.capitalize(), origin=number)
        for number in np.unique(points.origin).tolist()
    ]
    return tuple(entries)


def legend_rect(
    entries: tuple[LegendEntry, ...], geometry: RooflineGeometry, metrics: QFontMetricsF
) -> QRectF:
    """Where the legend stands: at the top left, where points of little intensity cannot be."""
    width, rows = _column_px(entries, metrics), _rows(entries)
    rect = QRectF(
        geometry.plot.left() + _OFF_PX,
        geometry.plot.top() + 2,
        2 * width + COLUMN_GAP_PX + 2 * PAD_PX,
        rows * LINE_PX + 2 * PAD_PX,
    )
    most_width, most_height = geometry.plot.width() * _MOST_SHARE, geometry.plot.height() * _MOST_SHARE
    fits = entries and rect.width() <= most_width and rect.height() <= most_height
    return rect if fits else QRectF()


def entry_at(entries: tuple[LegendEntry, ...], rect: QRectF, at: QPointF) -> LegendEntry | None:
    """The entry at a point of the widget."""
    if rect.isEmpty() or not rect.contains(at):
        return None
    return next((entry for entry, cell in _cells(entries, rect) if cell.contains(at)), None)


def draw_legend(
    painter: QPainter, theme: Theme, entries: tuple[LegendEntry, ...], rect: QRectF, hidden: frozenset[int]
) -> None:
    """Draws the legend over what may lie there; hidden categories are pale."""
    ground = theme.color("chart-bg")
    ground.setAlphaF(0.8)
    painter.fillRect(rect, ground)
    for entry, cell in _cells(entries, rect):
        painter.setOpacity(_OPACITY_HIDDEN if entry.category in hidden else 1.0)
        middle = QPointF(cell.left() + SWATCH_PX / 2, cell.center().y())
        if entry.category >= 0:
            painter.fillRect(
                QRectF(cell.left(), middle.y() - SWATCH_PX / 2, SWATCH_PX, SWATCH_PX),
                QColor(theme.categories[CATEGORIES[entry.category]]),
            )
        else:
            draw_mark(painter, middle, SWATCH_PX / 2 - 0.5, entry.origin, theme.color("text2"))
        painter.setPen(theme.color("text2"))
        text = cell.adjusted(SWATCH_PX + 7, 0, 0, 0)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, entry.text)
    painter.setOpacity(1.0)


def _column_px(entries: tuple[LegendEntry, ...], metrics: QFontMetricsF) -> float:
    widest = max((metrics.horizontalAdvance(entry.text) for entry in entries), default=0.0)
    return SWATCH_PX + 8 + widest


def _rows(entries: tuple[LegendEntry, ...]) -> int:
    categories = sum(entry.category >= 0 for entry in entries)
    return (categories + 1) // 2 + (len(entries) - categories + 1) // 2


def _cells(entries: tuple[LegendEntry, ...], rect: QRectF) -> list[tuple[LegendEntry, QRectF]]:
    """Two columns: categories first, marks in lines of their own."""
    width = (rect.width() - 2 * PAD_PX - COLUMN_GAP_PX) / 2
    cells, row = [], 0
    for group in (
        [entry for entry in entries if entry.category >= 0],
        [entry for entry in entries if entry.category < 0],
    ):
        for place, entry in enumerate(group):
            left = rect.left() + PAD_PX + (place % 2) * (width + COLUMN_GAP_PX)
            top = rect.top() + PAD_PX + (row + place // 2) * LINE_PX
            cells.append((entry, QRectF(left, top, width, LINE_PX)))
        row += (len(group) + 1) // 2
    return cells
