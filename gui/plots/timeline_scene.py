"""Draws a timeline as a whole: lanes, headers, ruler and overview, and what is marked over them.

What a zoom does not change is kept as a picture between two frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPen, QPixmap

from gui.plots.timeline_geometry import HEADER_PX
from gui.plots.timeline_highlight import draw_highlight
from gui.plots.timeline_lanes import LanesPainter, Marked
from gui.plots.timeline_paint import (
    HeaderLook,
    draw_header,
    draw_overview,
    draw_range,
    draw_ruler,
    overview_image,
    ruler_ticks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int64
    from gui.plots.timeline_content import TimelineContent
    from gui.plots.timeline_geometry import TimelineGeometry
    from gui.plots.timeline_lanes import Placed
    from gui.plots.timeline_span import TimeSpan
    from gui.theme import Theme


@dataclass(frozen=True, slots=True, eq=False)
class OverLanes:
    """What is drawn beside a content.

    Attributes:
        marked: The selected slice and its flow.
        highlight: (n,) int64, positions of the slices that are marked together.
        chosen: The selected range.
        hovered_header: Kind and number of the strip whose header the pointer is over.
        focused: The focus is shown.
    """

    marked: Marked
    highlight: Int64
    chosen: TimeSpan | None
    hovered_header: tuple[str, int] | None
    focused: bool


class TimelineScene:
    """Draws the frames of a timeline and keeps what the next one may need again."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._lanes = LanesPainter(theme)
        self._overview: QImage | None = None
        self._headers = QPixmap()
        self._headers_drawn: object = None

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours and fonts of a theme."""
        self._theme = theme
        self._lanes.set_theme(theme)
        self.forget()

    def forget(self) -> None:
        """The content is another one."""
        self._lanes.forget()
        self._overview = None
        self._headers_drawn = None

    def lanes_image(
        self, geometry: TimelineGeometry, content: TimelineContent, visible: Sequence[Placed]
    ) -> QImage:
        """A picture of the lanes without labels, in device pixels."""
        ticks_ns = tuple(tick.time_ns for tick in ruler_ticks(geometry, content.origin_ns))
        return self._lanes.without_labels(geometry, content, visible, ticks_ns)

    def draw(
        self,
        painter: QPainter,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        over: OverLanes,
    ) -> None:
        """Draws everything; the lanes' picture is painted anew only if something in it changed."""
        theme = self._theme
        ticks = ruler_ticks(geometry, content.origin_ns)
        self._lanes.draw(painter, geometry, content, visible, tuple(tick.time_ns for tick in ticks))
        draw_highlight(painter, geometry, content.index, visible, over.highlight, theme.color("accent"))
        self._lanes.draw_marked(painter, geometry, content, visible, over.marked)
        self._draw_headers(painter, geometry, content, visible, over.hovered_header)
        draw_ruler(painter, geometry, ticks, theme)
        if over.chosen is not None:
            draw_range(painter, geometry, over.chosen, theme)
        if self._overview is None or self._overview.width() != geometry.plot_device_px:
            self._overview = overview_image(content.index, geometry.plot_device_px, theme)
        draw_overview(painter, geometry, self._overview, content, theme)
        painter.fillRect(QRectF(HEADER_PX - 1, 0, 1, geometry.height), theme.color("border"))
        if over.focused:
            device = painter.device()
            painter.setPen(QPen(theme.color("focus"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(1, 1, device.width() - 2, device.height() - 2))

    def _draw_headers(
        self,
        painter: QPainter,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        hovered_header: tuple[str, int] | None,
    ) -> None:
        """Draws the headers from a picture that is kept, because a zoom does not change them."""
        scale = geometry.scale
        wanted = (geometry.height, scale, tuple(visible), hovered_header, geometry.scrolled_top)
        if wanted != self._headers_drawn:
            size = QSize(int(HEADER_PX * scale), max(1, int(geometry.height * scale)))
            self._headers = QPixmap(size)
            self._headers.setDevicePixelRatio(scale)
            self._headers.fill(self._theme.color("surface1"))
            with QPainter(self._headers) as inner:
                self._draw_new_headers(inner, geometry, content, visible, hovered_header)
            self._headers_drawn = wanted
        painter.drawPixmap(QPointF(0, 0), self._headers)

    def _draw_new_headers(
        self,
        painter: QPainter,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        hovered_header: tuple[str, int] | None,
    ) -> None:
        painter.setClipRect(QRectF(0, geometry.scrolled_top, geometry.width, geometry.height))
        border = self._theme.color("border")
        for placed in sorted(visible, key=lambda each: each.strip.pinned):
            if placed.strip.pinned:
                painter.setClipping(False)
            hovered = hovered_header == (placed.strip.kind, placed.strip.number)
            visible_top = geometry.lanes_top if placed.strip.pinned else geometry.scrolled_top
            look = HeaderLook(placed.top, visible_top, hovered)
            draw_header(painter, placed.strip, look, content, self._theme)
            painter.fillRect(QRectF(0, placed.top + placed.strip.height - 1, HEADER_PX, 1), border)
