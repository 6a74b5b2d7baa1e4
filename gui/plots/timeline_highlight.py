"""Marks many slices of a timeline at once: a line below each, as one stroke where a pixel holds several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QRectF, Qt

from gui.plots.timeline_geometry import HEADER_PX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QColor, QPainter

    from core.tables.columns import Int32, Int64
    from core.tables.timeline import TimelineIndex
    from gui.plots.timeline_geometry import TimelineGeometry
    from gui.plots.timeline_lanes import Placed

LINE_PX: Final = 3


def positions_of(index: TimelineIndex, slice_rows: Int32) -> Int64:
    """Returns (n,) int64: positions of slices in the index's columns, ascending; only of those it holds."""
    if not len(slice_rows) or not len(index):
        return np.empty(0, np.int64)
    wanted = np.zeros(max(int(index.slice_row.max()), int(slice_rows.max())) + 1, np.bool_)
    wanted[slice_rows] = True
    return np.flatnonzero(wanted[index.slice_row])


def draw_highlight(  # noqa: PLR0913, PLR0917  (what is drawn, where, and how)
    painter: QPainter,
    geometry: TimelineGeometry,
    index: TimelineIndex,
    visible: Sequence[Placed],
    positions: Int64,
    color: QColor,
) -> None:
    """Draws a line at the foot of every marked slice that can be seen."""
    if not len(positions):
        return
    painter.save()
    painter.setClipRect(QRectF(HEADER_PX, geometry.lanes_top, geometry.plot_width, geometry.lanes_height))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    for placed in visible:
        for row in placed.strip.rows:
            inside = positions.searchsorted((index.row_first[row], index.row_first[row + 1]))
            chosen = positions[int(inside[0]) : int(inside[1])]
            if len(chosen):
                top, height = placed.row_box(row)
                foot = top + height - LINE_PX
                for left, right in _strokes(geometry, index, chosen):
                    painter.drawRect(QRectF(HEADER_PX + left, foot, right - left, LINE_PX))
    painter.restore()


def _strokes(geometry: TimelineGeometry, index: TimelineIndex, positions: Int64) -> list[tuple[int, int]]:
    """Returns first pixel and the one behind the last of each run of pixels that hold a marked slice."""
    span, width = geometry.span, geometry.plot_width
    start_ns, end_ns = index.start_ns[positions], index.end_ns[positions]
    seen = (end_ns >= span.start_ns) & (start_ns < span.end_ns)
    scale = width / span.length_ns
    left = np.clip(((start_ns[seen] - span.start_ns) * scale).astype(np.int64), 0, width - 1)
    right = np.clip(np.ceil((end_ns[seen] - span.start_ns) * scale).astype(np.int64), left + 1, width)
    begun = np.bincount(left, minlength=width + 1) - np.bincount(right, minlength=width + 1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.cumsum(begun) > 0, [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
