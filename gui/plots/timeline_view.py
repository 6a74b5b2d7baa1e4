"""A timeline: overview, ruler, lanes by group, and what one can do with them.

Shows a ``TimelineContent`` and knows no trace. The lanes are one image that is
painted from the index for exactly the visible pixels; labels, marks and headers
are drawn over it, see ``timeline_scene``. What the pointer does is in
``timeline_pointer``, where things lie in ``timeline_layout`` and
``timeline_geometry``.

Use: make it with the theme, call ``set_content`` when an index is there, connect
``slice_selected``, ``range_changed`` and ``span_changed``, call ``set_theme``
when the theme changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QScrollBar, QWidget

from core.analyses.timeline_index import locate, row_of
from core.tables.columns import NO_ROW
from gui.plots.plot_surface import PlotSurface
from gui.plots.timeline_content import FlowArrow, SliceRef
from gui.plots.timeline_geometry import HEADER_PX, TimelineGeometry
from gui.plots.timeline_highlight import positions_of
from gui.plots.timeline_lanes import Marked, Placed, placed_strips
from gui.plots.timeline_layout import LayoutChoice, TimelineLayout, lay_out
from gui.plots.timeline_paint import pin_box
from gui.plots.timeline_pick import nearest_in_next_row, neighbour, slice_at
from gui.plots.timeline_pointer import Step, TimelinePointer
from gui.plots.timeline_scene import OverLanes, TimelineScene
from gui.plots.timeline_span import SpanState, TimeSpan
from gui.plots.timeline_tip import TimelineTip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent, QResizeEvent

    from core.tables.columns import Int32
    from gui.plots.timeline_content import SliceWords, TimelineContent
    from gui.theme import Theme

TIP_DELAY_MS = 500
_OPEN_SHARE = 0.6


class TimelineView(PlotSurface):
    """The timeline of one trace or of several ranks.

    Signals:
        slice_selected: ``SliceRef``, or None when the selection was cleared. Only after the user did it.
        range_changed: ``TimeSpan`` that the user selected, or None when it was cleared.
        span_changed: ``TimeSpan`` that is visible now.
    """

    slice_selected = Signal(object)
    range_changed = Signal(object)
    span_changed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._content: TimelineContent | None = None
        self._state = SpanState()
        self._choice = LayoutChoice()
        self._layout = TimelineLayout()
        self._scene = TimelineScene(theme)
        self._visible: tuple[object, tuple[Placed, ...]] = (None, ())
        self._selected = NO_ROW
        self._highlight = np.empty(0, np.int64)
        self._arrows: tuple[FlowArrow, ...] = ()
        self._range: TimeSpan | None = None
        self._dragged: TimeSpan | None = None
        self._hovered: QPointF | None = None
        self._hovered_header: tuple[str, int] | None = None
        self._pointer = TimelinePointer(self)
        self._tip = TimelineTip(theme, self)
        self._tip_timer = QTimer(self, singleShot=True, interval=TIP_DELAY_MS)
        self._tip_timer.timeout.connect(self._show_tip)
        self._bar = QScrollBar(Qt.Orientation.Vertical, self)
        self._bar.valueChanged.connect(self.update)
        self._bar.setAccessibleName("Lanes")
        self.setAccessibleName("Timeline")
        self.setAccessibleDescription(
            "Lanes of a trace over time. W and S zoom, A and D move, arrows select."
        )

    # What it shows

    def set_content(self, content: TimelineContent | None) -> None:
        """Shows a trace from its start to its end, with nothing selected; None shows nothing."""
        self._content = content
        self._choice = LayoutChoice()
        self._selected = NO_ROW
        self._highlight = np.empty(0, np.int64)
        self._arrows = ()
        self._range = self._dragged = None
        self._scene.forget()
        if content is not None:
            index = content.index
            self._state.set_all(TimeSpan(index.start_of_all_ns, index.end_of_all_ns))
        self._lay_out()
        self._bar.setValue(0)

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours and fonts of a theme."""
        self._theme = theme
        self._scene.set_theme(theme)
        self._tip.set_theme(theme)
        self.update()

    def select(self, slice_row: int | None) -> None:
        """Marks a slice without moving the view; None marks nothing. Says nothing to ``slice_selected``."""
        content = self._content
        if slice_row is None or content is None:
            self._selected = NO_ROW
        else:
            self._selected = locate(content.index, slice_row)
        self._arrows = ()
        self.update()

    def set_highlight(self, slice_rows: Int32) -> None:
        """Marks many slices, such as all of one name; none takes the marks away."""
        content = self._content
        if content is not None:
            self._highlight = positions_of(content.index, slice_rows)
            self.update()

    def set_arrows(self, arrows: Sequence[FlowArrow]) -> None:
        """Draws the flow of the selection; the next selection removes it."""
        self._arrows = tuple(arrows)
        self.update()

    def set_range(self, chosen: TimeSpan | None) -> None:
        """Shows a selected range. Says nothing to ``range_changed``."""
        self._range = chosen
        self.update()

    def show_selection(self) -> None:
        """Moves the view, as little as needed, so that the selected slice can be seen."""
        ref = self.selection
        if ref is None or self._content is None:
            return
        group = self._content.index.lanes[ref.lane].group
        if group in self._choice.closed_groups and ref.lane not in self._choice.pinned_lanes:
            self.toggle_group(group)
        self._scroll_to_row(row_of(self._content.index, self._selected))
        span = self._state.span
        if ref.end_ns > span.start_ns and ref.start_ns < span.end_ns:
            return
        start_ns = (ref.start_ns + ref.end_ns - span.length_ns) // 2
        self._state.show(TimeSpan(start_ns, start_ns + span.length_ns))
        self.show_changed_span()

    def show_span(self, span: TimeSpan) -> None:
        """Zooms to a span of time; it can be undone."""
        self._state.show(span)
        self.show_changed_span()

    def reset_view(self) -> None:
        """Shows the whole trace; it can be undone."""
        self._state.reset()
        self.show_changed_span()

    def undo_view(self) -> bool:
        """Back to the span before. False if there is none."""
        undone = self._state.undo()
        if undone:
            self.show_changed_span()
        return undone

    @property
    def span(self) -> TimeSpan:
        """What is visible."""
        return self._state.span

    @property
    def chosen_range(self) -> TimeSpan | None:
        """The selected range."""
        return self._range

    @property
    def selection(self) -> SliceRef | None:
        """The selected slice."""
        return self._ref(self._selected)

    @property
    def closed_groups(self) -> frozenset[int]:
        """Groups whose lanes are hidden."""
        return self._choice.closed_groups

    @property
    def pinned_lanes(self) -> tuple[int, ...]:
        """Lanes at the top."""
        return self._choice.pinned_lanes

    @property
    def tip_words(self) -> SliceWords | None:
        """What the tooltip says; None while there is none."""
        return self._tip.words

    def lanes_image(self) -> QImage:
        """A picture of the lanes as they are now, without labels, in device pixels."""
        content = self._content
        if content is None:
            return QImage()
        geometry = self.current_geometry()
        return self._scene.lanes_image(geometry, content, self._visible_strips(geometry))

    def toggle_group(self, group: int) -> None:
        """Hides or shows the lanes of a group."""
        self._choice = self._choice.with_group_toggled(group)
        self._lay_out()

    def toggle_pin(self, lane: int) -> None:
        """Pins a lane to the top or lets it go."""
        self._choice = self._choice.with_pin_toggled(lane)
        self._lay_out()

    def toggle_fold(self, lane: int) -> None:
        """Shows all rows of a lane or the first few."""
        self._choice = self._choice.with_fold_toggled(lane)
        self._lay_out()

    # What the pointer and keys ask for (see TimelineHost)

    @property
    def state(self) -> SpanState:
        """The visible span and those before it."""
        return self._state

    def current_geometry(self) -> TimelineGeometry:
        """Where everything is now."""
        bar_px = self._bar.width() if self._bar.isVisibleTo(self) else 0
        return TimelineGeometry(
            self.width() - bar_px,
            self.height(),
            self.devicePixelRatioF(),
            self._state.span,
            self._state.whole,
            self._layout.pinned_height,
            self._bar.value(),
        )

    def show_changed_span(self) -> None:
        """Paints the new span and tells of it."""
        self._hide_tip()
        self.update()
        self.span_changed.emit(self._state.span)

    def click_at(self, at: QPointF) -> None:
        """Selects what is at a point, or works the header there."""
        geometry = self.current_geometry()
        if at.x() < HEADER_PX:
            self._click_header(at)
            return
        if at.y() < geometry.lanes_top:
            self._clear_range()
            return
        self._select_by_user(self._position_at(at))

    def zoom_to_slice_at(self, at: QPointF) -> None:
        """Selects the slice at a point and zooms to it."""
        if at.x() >= HEADER_PX and at.y() >= self.current_geometry().lanes_top:
            self._select_by_user(self._position_at(at))
            self.zoom_to_selection()

    def zoom_to_selection(self) -> None:
        """Zooms to the selected slice, with room around it."""
        ref = self.selection
        if ref is None:
            return
        room_ns = max(1, round((ref.end_ns - ref.start_ns) * (1 / _OPEN_SHARE - 1) / 2))
        self.show_span(TimeSpan(ref.start_ns - room_ns, ref.end_ns + room_ns))

    def hover_at(self, at: QPointF | None) -> None:
        """Shows what belongs to the pointer's place."""
        self._hovered = at
        self._hide_tip()
        header = None
        if at is not None and at.x() < HEADER_PX:
            placed = self._placed_at(at.y())
            header = (placed.strip.kind, placed.strip.number) if placed is not None else None
        if header != self._hovered_header:
            self._hovered_header = header
            self.update()
        if at is not None and at.x() >= HEADER_PX and at.y() >= self.current_geometry().lanes_top:
            self._tip_timer.start()

    def scroll_by(self, distance_px: float) -> None:
        """Scrolls the lanes."""
        self._hide_tip()
        self._bar.setValue(self._bar.value() + round(distance_px))

    def drag_range(self, start_ns: int, end_ns: int, done: bool) -> None:
        """Shows the range that is being dragged, and takes it at the end."""
        chosen = TimeSpan(min(start_ns, end_ns), max(start_ns, end_ns, min(start_ns, end_ns) + 1))
        self._dragged = None if done else chosen
        if done:
            self._range = chosen
            self.range_changed.emit(chosen)
        self.update()

    def step_selection(self, step: Step) -> None:
        """Selects the neighbour in the row, or the nearest slice in the row above or below."""
        if self._content is None or self._selected == NO_ROW:
            return
        index = self._content.index
        if step in ("left", "right"):
            position = neighbour(index, self._selected, 1 if step == "right" else -1)
        else:
            distance = 1 if step == "down" else -1
            position = nearest_in_next_row(index, self._layout, self._selected, distance)
        if position == NO_ROW:
            return
        self._select_by_user(position)
        self.show_selection()

    def clear_one(self) -> bool:
        """Clears the range, else the selection. False if there was neither."""
        if self._range is not None:
            self._clear_range()
            return True
        if self._selected != NO_ROW:
            self._select_by_user(NO_ROW)
            return True
        return False

    # Qt

    def sizeHint(self) -> QSize:  # noqa: N802  (Qt's name)
        """Room for the first lanes."""
        return QSize(900, 300)

    def minimumSizeHint(self) -> QSize:  # noqa: N802  (Qt's name)
        """Overview, ruler and a lane or two."""
        return QSize(HEADER_PX + 200, 130)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  (Qt's name)
        """Fits the scroll bar and the shortest span."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  (Qt's name)
        """Paints everything; the lanes' image only if they changed."""
        painter = QPainter(self)
        content = self._content
        if content is None:
            painter.fillRect(self.rect(), self._theme.color("surface1"))
            return
        self._state.set_least(self.current_geometry().plot_device_px)
        geometry = self.current_geometry()
        # The scroll bar lets through what lies behind it.
        beside = QRectF(geometry.width, 0, self.width() - geometry.width, geometry.height)
        painter.fillRect(beside, self._theme.color("surface1"))
        over = OverLanes(
            Marked(self._selected, self._arrows),
            self._highlight,
            self._dragged or self._range,
            self._hovered_header,
            self._focus_shown and self.hasFocus(),
        )
        self._scene.draw(painter, geometry, content, self._visible_strips(geometry), over)

    # Inside

    def _lay_out(self) -> None:
        content = self._content
        self._layout = (
            TimelineLayout() if content is None else lay_out(content.index, content.counters, self._choice)
        )
        self._visible = (None, ())
        self._fit()
        self._hide_tip()
        self.update()

    def _fit(self) -> None:
        """Shows the scroll bar if the lanes need it, and tells the shortest span."""
        geometry = self.current_geometry()
        room_px = max(0, geometry.height - geometry.scrolled_top)
        most = max(0, self._layout.height - room_px)
        self._bar.setRange(0, most)
        self._bar.setPageStep(max(1, room_px))
        self._bar.setSingleStep(20)
        self._bar.setVisible(most > 0)
        width = self._bar.sizeHint().width()
        self._bar.setGeometry(self.width() - width, geometry.lanes_top, width, geometry.lanes_height)
        self._state.set_least(self.current_geometry().plot_device_px)

    def _visible_strips(self, geometry: TimelineGeometry) -> tuple[Placed, ...]:
        """Strips that can be seen, from top to bottom, the pinned ones first."""
        key = (geometry.scroll_px, geometry.height, geometry.pinned_px)
        if self._visible[0] != key:
            self._visible = (key, placed_strips(self._layout, geometry))
        return self._visible[1]

    def _placed_at(self, y: float) -> Placed | None:
        geometry = self.current_geometry()
        if y < geometry.lanes_top:
            return None
        for placed in self._visible_strips(geometry):
            if placed.top <= y < placed.top + placed.strip.height:
                return placed
        return None

    def _position_at(self, at: QPointF) -> int:
        placed = self._placed_at(at.y())
        if placed is None or self._content is None:
            return NO_ROW
        y = at.y() - placed.top + placed.strip.top
        return slice_at(self._content.index, placed.strip, y, at.x(), self.current_geometry())

    def _click_header(self, at: QPointF) -> None:
        placed = self._placed_at(at.y())
        if placed is None:
            return
        strip = placed.strip
        if strip.kind == "group":
            self.toggle_group(strip.number)
        elif strip.kind == "lane":
            if pin_box(strip, placed.top).contains(at):
                self.toggle_pin(strip.number)
            elif strip.can_fold:
                self.toggle_fold(strip.number)

    def _select_by_user(self, position: int) -> None:
        if position != self._selected:
            self._arrows = ()
        self._selected = position
        self.update()
        self.slice_selected.emit(self.selection)

    def _clear_range(self) -> None:
        if self._range is not None:
            self._range = None
            self.update()
            self.range_changed.emit(None)

    def _ref(self, position: int) -> SliceRef | None:
        if position == NO_ROW or self._content is None:
            return None
        index = self._content.index
        return SliceRef(
            int(index.slice_row[position]),
            int(index.row_lane[row_of(index, position)]),
            int(index.start_ns[position]),
            int(index.end_ns[position]),
        )

    def _scroll_to_row(self, row: int) -> None:
        """Scrolls as little as needed to show a row; unfolds its lane if it is folded away."""
        content = self._content
        if content is None:
            return
        lane = int(content.index.row_lane[row])
        strip = self._layout.strip_of_lane(lane)
        if strip is not None and row not in strip.rows:
            self.toggle_fold(lane)
            strip = self._layout.strip_of_lane(lane)
        if strip is None or strip.pinned:
            return
        top, height = strip.row_box(strip.rows.index(row))
        room_px = self._bar.pageStep()
        lowest, highest = top + height + 4 - room_px, top - 4
        self._bar.setValue(min(max(self._bar.value(), lowest), highest))

    def _show_tip(self) -> None:
        if self._hovered is None or self._content is None:
            return
        ref = self._ref(self._position_at(self._hovered))
        if ref is not None:
            self._tip.show_words(self._content.words_of(ref.slice_row), self._hovered)

    def _hide_tip(self) -> None:
        self._tip_timer.stop()
        self._tip.hide()
