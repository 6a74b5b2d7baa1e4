"""Draws a timeline's lanes: their image, the labels over it, the selected slice and its flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPolygonF

from core.analyses.timeline_find import row_at, wide_slices
from core.tables.columns import NO_ROW
from gui.plots.timeline_geometry import HEADER_PX
from gui.plots.timeline_image import LaneImage, LanePalette, lane_palette
from gui.plots.timeline_labels import LABEL_LEAST_PX, Labels, LaneLabels, text_on
from gui.plots.timeline_plan import lanes_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int64
    from core.tables.timeline import TimelineIndex
    from gui.plots.timeline_content import FlowArrow, TimelineContent
    from gui.plots.timeline_geometry import TimelineGeometry
    from gui.plots.timeline_layout import Strip, TimelineLayout
    from gui.plots.timeline_plan import LanesPlan
    from gui.theme import Theme

_GROUP_BAR_PX = 14
_ARROW_PX = 5.0
_MOST_ARROWS = 64


@dataclass(frozen=True, slots=True)
class Placed:
    """A strip with its place in the widget.

    Attributes:
        strip: The strip.
        top: First pixel of the widget; may lie outside.
    """

    strip: Strip
    top: float

    def row_box(self, row: int) -> tuple[float, int]:
        """Top in the widget and height of a row of the index."""
        if self.strip.kind == "group":
            return self.top + (self.strip.height - 1 - _GROUP_BAR_PX) // 2, _GROUP_BAR_PX
        top, height = self.strip.row_box(self.strip.rows.index(row))
        return top - self.strip.top + self.top, height


def placed_strips(layout: TimelineLayout, geometry: TimelineGeometry) -> tuple[Placed, ...]:
    """Strips that can be seen, from top to bottom, the pinned ones first."""
    pinned = (Placed(strip, geometry.lanes_top + strip.top) for strip in layout.pinned)
    first = geometry.scroll_px
    inside = layout.between(first, first + geometry.height - geometry.scrolled_top)
    return (*pinned, *(Placed(strip, geometry.scrolled_top + strip.top - first) for strip in inside))


@dataclass(frozen=True, slots=True)
class Marked:
    """What is drawn over the lanes.

    Attributes:
        position: Of the selected slice in the index's columns, NO_ROW for none.
        arrows: Its flow.
    """

    position: int
    arrows: tuple[FlowArrow, ...]


class LanesPainter:
    """Keeps the image and the labels between two paintings."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._image = LaneImage()
        self._painted: object = None
        self._labels: LaneLabels | None = None
        self._palette: tuple[object, LanePalette] | None = None
        self._label_inks: Int64 | None = None
        self._plans: tuple[object, LanesPlan, LanesPlan] | None = None

    def without_labels(
        self,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        ticks_ns: tuple[int, ...],
    ) -> QImage:
        """The picture of the lanes before texts are written into it, in device pixels."""
        self._paint(geometry, content, visible, ticks_ns, labelled=False)
        self._painted = None
        return self._image.image().copy()

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours and fonts of a theme."""
        self._theme = theme
        self._labels = None
        self.forget()

    def forget(self) -> None:
        """The content is another one."""
        self._painted = None
        self._plans = None
        self._palette = None
        self._label_inks = None

    def palette(self, content: TimelineContent) -> LanePalette:
        """Colours of the theme for a content."""
        if self._palette is None or self._palette[0] is not content:
            self._palette = (content, lane_palette(self._theme, content.categories))
        return self._palette[1]

    def draw(
        self,
        painter: QPainter,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        ticks_ns: tuple[int, ...],
    ) -> None:
        """Draws the lanes; paints the image anew only if something in it changed."""
        wanted = (geometry, tuple(visible), ticks_ns)
        if wanted != self._painted:
            self._paint(geometry, content, visible, ticks_ns, labelled=True)
            self._painted = wanted
        height_px, width_px = self._image.pixels.shape
        target = QRectF(HEADER_PX, geometry.lanes_top, width_px / geometry.scale, height_px / geometry.scale)
        painter.drawImage(target, self._image.image())
        if geometry.pinned_px:
            strong = self._theme.color("border-strong")
            painter.fillRect(QRectF(HEADER_PX, geometry.scrolled_top - 1, geometry.plot_width, 1), strong)

    def draw_marked(
        self,
        painter: QPainter,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        marked: Marked,
    ) -> None:
        """Draws a frame around the selected slice, and arrows."""
        selected = marked.position
        index = content.index
        painter.save()
        painter.setClipRect(QRectF(HEADER_PX, geometry.lanes_top, geometry.plot_width, geometry.lanes_height))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        mark = self._theme.color("chart-mark")
        for arrow in marked.arrows[:_MOST_ARROWS]:
            self._draw_arrow(painter, geometry, index, visible, arrow)
        if selected != NO_ROW:
            row = int(np.searchsorted(index.row_first, selected, side="right")) - 1
            box = _box_of_row(index, visible, row)
            if box is not None:
                left = geometry.x_of(int(index.start_ns[selected]))
                right = max(geometry.x_of(int(index.end_ns[selected])), left + 2)
                left, right = max(left, HEADER_PX - 8.0), min(right, geometry.width + 8.0)
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(self._theme.color("chart-bg"), 4))
                around = QRectF(left - 1, box[0] - 1, right - left + 2, box[1] + 2)
                painter.drawRect(around)
                painter.setPen(QPen(mark, 2))
                painter.drawRect(around)
        painter.restore()

    def _paint(
        self,
        geometry: TimelineGeometry,
        content: TimelineContent,
        visible: Sequence[Placed],
        ticks_ns: tuple[int, ...],
        *,
        labelled: bool,
    ) -> None:
        scale = geometry.scale
        palette, image = self.palette(content), self._image
        image.resize(geometry.plot_device_px, max(1, int(geometry.lanes_height * scale)))
        grid = [int((geometry.x_of(time_ns) - HEADER_PX) * scale) for time_ns in ticks_ns]
        border, dashed = self._theme.color("border"), self._theme.color("text2")
        boundaries_px = self._boundaries_px(geometry, content)
        scrolled, pinned = self._plans_of(geometry, content, visible)
        image.clear_for(palette, grid, scrolled.bars)
        # What scrolls is painted first and the pinned lanes over it.
        for plan in (scrolled, pinned):
            if not plan.lines:
                continue
            height_px = round(geometry.pinned_px * scale) if plan is pinned else len(image.pixels)
            if plan is pinned:
                image.clear_top(palette, grid, height_px)
            self._paint_part(geometry, content, plan, palette)
            image.paint_dashes(dashed, boundaries_px, height_px, scale)
            if labelled:
                self._paint_labels(geometry, content, plan)
            for top in plan.lines:
                image.paint_line(border, top, max(1, round(scale)))

    def _plans_of(
        self, geometry: TimelineGeometry, content: TimelineContent, visible: Sequence[Placed]
    ) -> tuple[LanesPlan, LanesPlan]:
        """What scrolls and what is pinned; kept while only the span changes."""
        # The times are the only numbers of a geometry that a plan does not need.
        key = (replace(geometry, span=geometry.whole), tuple(visible))
        if self._plans is None or self._plans[0] != key:
            scrolled, pinned = (
                lanes_plan(geometry, content, [each for each in visible if each.strip.pinned == wanted])
                for wanted in (False, True)
            )
            self._plans = (key, scrolled, pinned)
        return self._plans[1], self._plans[2]

    def _paint_part(
        self, geometry: TimelineGeometry, content: TimelineContent, plan: LanesPlan, palette: LanePalette
    ) -> None:
        image, span = self._image, geometry.span
        for counter in plan.counters:
            image.paint_counter(counter, span, palette)
        for top, height in plan.heads:
            image.paint_head(palette, top, height)
        image.paint_bars(content.index, span, plan.bars, palette, geometry.scale)
        image.paint_marks(content.index, span, plan.marks, palette)

    def _boundaries_px(self, geometry: TimelineGeometry, content: TimelineContent) -> list[int]:
        """Device pixels of the picture where steps begin; none if they are too many to be told apart."""
        span = geometry.span
        inside = [time for time in content.boundaries_ns if span.start_ns <= time < span.end_ns]
        if len(inside) > geometry.plot_width / 8:
            return []
        return [round(round(geometry.x_of(time_ns) - HEADER_PX) * geometry.scale) for time_ns in inside]

    def _paint_labels(self, geometry: TimelineGeometry, content: TimelineContent, plan: LanesPlan) -> None:
        index, span = content.index, geometry.span
        least_ns = max(1, span.length_ns * LABEL_LEAST_PX // geometry.plot_width)
        which, position = wide_slices(index, plan.label_rows, span.start_ns, span.end_ns, least_ns)
        per_ns = geometry.plot_width / span.length_ns
        left = np.maximum((index.start_ns[position] - span.start_ns) * per_ns, 0)
        right = np.minimum((index.end_ns[position] - span.start_ns) * per_ns, geometry.plot_width)
        colour = np.where(plan.label_host[which], -1, index.colour[position].astype(np.int64))
        inks = self._inks(content)[colour]
        labels = Labels(
            texts=[content.name_of(row) for row in index.slice_row[position].tolist()],
            left=left,
            top=plan.label_top[which],
            width=right - left,
            height=plan.label_height[which],
            ink=inks[:, 0],
            patch=inks[:, 1],
        )
        if self._labels is None or self._labels.scale != geometry.scale:
            self._labels = LaneLabels(self._theme.font(self._theme.px_small), geometry.scale)
        self._labels.paint(self._image.pixels, labels)

    def _inks(self, content: TimelineContent) -> Int64:
        """Colour of the text on each category, and what is painted below it on a pattern; calls come last."""
        if self._label_inks is None:
            pattern = self.palette(content).pattern
            fills = [QColor(self._theme.categories[name]) for name in content.categories]
            inks = [
                (text_on(fill).rgb(), fill.rgb() if pattern[number] else 0)
                for number, fill in enumerate(fills)
            ]
            self._label_inks = np.array([*inks, (self._theme.color("text").rgb(), 0)], np.int64)
        return self._label_inks

    def _draw_arrow(
        self,
        painter: QPainter,
        geometry: TimelineGeometry,
        index: TimelineIndex,
        visible: Sequence[Placed],
        arrow: FlowArrow,
    ) -> None:
        """A curve from below one slice to the top of the other, also where an end is out of sight."""
        ends = []
        for lane, time_ns in ((arrow.from_lane, arrow.from_ns), (arrow.to_lane, arrow.to_ns)):
            box = _box_of_row(index, visible, row_at(index, lane, time_ns))
            if box is None:
                return
            ends.append((geometry.x_of(time_ns), box))
        (from_x, from_box), (to_x, to_box) = ends
        downwards = to_box[0] >= from_box[0]
        begin = QPointF(from_x, from_box[0] + (from_box[1] if downwards else 0))
        end = QPointF(to_x, to_box[0] + (0 if downwards else to_box[1]))
        bend = min(max(abs(end.x() - begin.x()) / 2, 12.0), 120.0)
        path = QPainterPath(begin)
        path.cubicTo(QPointF(begin.x() + bend, begin.y()), QPointF(end.x() - bend, end.y()), end)
        for colour, width in ((self._theme.color("chart-bg"), 3.4), (self._theme.color("chart-mark"), 1.4)):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour, width))
            painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("chart-mark"))
        side = _ARROW_PX
        painter.drawPolygon(
            QPolygonF(
                [
                    end,
                    QPointF(end.x() - side, end.y() - side / 2),
                    QPointF(end.x() - side, end.y() + side / 2),
                ]
            )
        )


def _box_of_row(index: TimelineIndex, visible: Sequence[Placed], row: int) -> tuple[float, int] | None:
    """Top and height of a row, of its group's head if the group is closed, or None."""
    lane = int(index.row_lane[row])
    for placed in visible:
        if row in placed.strip.rows:
            return placed.row_box(row)
    for placed in visible:
        strip = placed.strip
        if strip.kind == "group" and strip.closed and strip.number == index.lanes[lane].group:
            return placed.row_box(row)
    return None
