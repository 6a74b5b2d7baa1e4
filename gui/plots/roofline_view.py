"""A roofline: points under ceilings on two logarithmic axes, and what one can do with them.

Shows a ``RooflineContent`` and knows no report and no trace. pyqtgraph's scatter
plot ignores logarithmic axes; here all of it is drawn from log10 values. What
the pointer does is in ``roofline_pointer``, where things lie in
``roofline_geometry``, what is drawn in ``roofline_scene``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPaintEngine, QPainter

from gui.plots.plot_surface import PlotSurface
from gui.plots.roofline_content import NOTHING
from gui.plots.roofline_geometry import RooflineGeometry
from gui.plots.roofline_legend import entry_at
from gui.plots.roofline_notice import middle_point, notice_of
from gui.plots.roofline_pointer import RooflinePointer
from gui.plots.roofline_range import RangeState, fitting_range
from gui.plots.roofline_scene import Over, RooflineScene
from gui.plots.timeline_tip import TimelineTip

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QWidget

    from core.tables.columns import Bool
    from gui.plots.roofline_content import RooflineContent
    from gui.plots.roofline_labels import Label
    from gui.plots.roofline_range import PlotRange
    from gui.plots.roofline_stamps import Placed
    from gui.plots.timeline_content import SliceWords
    from gui.theme import Theme

TIP_DELAY_MS: Final = 250
_HIT_PX: Final = 4.0
_ACROSS_COST: Final = 2.5
_SCROLL_ROOM_PX: Final = 24


class RooflineView(PlotSurface):
    """One roofline.

    Signals:
        point_selected: Number of the point, -1 when the selection was cleared. Only after the user did it.
        point_opened: Number of a point that was clicked twice, or of the selected one after Return.
        range_changed: Another part is visible.
        categories_changed: Categories were hidden or shown in the legend.
    """

    point_selected = Signal(int)
    point_opened = Signal(int)
    range_changed = Signal()
    categories_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._content = NOTHING
        self._state = RangeState()
        self._scene = RooflineScene(theme, NOTHING)
        self._selected = -1
        self._hovered = -1
        self._filter: Bool | None = None
        self._hidden: frozenset[int] = frozenset()
        self._pointer = RooflinePointer(self)
        self._tip = TimelineTip(theme, self)
        self._tip_at = QPointF()
        self._tip_timer = QTimer(self, singleShot=True, interval=TIP_DELAY_MS)
        self._tip_timer.timeout.connect(self._show_tip)
        self.setAccessibleName("Roofline")
        self.setAccessibleDescription(
            "Kernels by arithmetic intensity and rate, under what the device can do. "
            "W and S zoom, A and D move, arrows select."
        )

    # --- what it shows

    def set_content(self, content: RooflineContent, *, keep_view: bool = False) -> None:
        """Shows other points or ceilings, with nothing selected.

        Args:
            content: What to show.
            keep_view: Stay where the user has zoomed to.
        """
        self._content = content
        self._scene = RooflineScene(self._theme, content)
        self._selected = self._hovered = -1
        self._filter = None
        self._state.set_whole(fitting_range(content), keep=keep_view)
        self._hide_tip()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours and fonts of a theme."""
        self._theme = theme
        self._scene.set_theme(theme)
        self._tip.set_theme(theme)
        self.update()

    def set_filter(self, shown: Bool | None) -> None:
        """Shows only some points: (n,) bool; None for all."""
        self._filter = shown
        self._scene.marks.forget()
        self.update()

    def select(self, point: int) -> None:
        """Marks a point, -1 for none, and brings it into sight. Says nothing to ``point_selected``."""
        self._selected = point
        if point >= 0:
            self._bring_into_sight(point)
        self.update()

    @property
    def selected(self) -> int:
        """Number of the selected point, -1 for none."""
        return self._selected

    @property
    def content(self) -> RooflineContent:
        """What is shown."""
        return self._content

    @property
    def visible_range(self) -> PlotRange:
        """The part that is looked at."""
        return self._state.range

    @property
    def hidden_categories(self) -> frozenset[int]:
        """Categories that the legend has switched off."""
        return self._hidden

    @property
    def tip_words(self) -> SliceWords | None:
        """What the tooltip says; None while there is none."""
        return self._tip.words

    @property
    def labels(self) -> tuple[Label, ...]:
        """The words that were drawn last beside lines and points."""
        return self._scene.labels

    @property
    def notice(self) -> str:
        """Why no point can be seen, and the way back; "" where one can."""
        plot = self.current_geometry().plot
        return notice_of(self._content, self._filter, self._hidden, self._placed(), plot)

    def reset_view(self) -> None:
        """Shows everything; it can be undone."""
        self._state.reset()
        self.show_changed_range()

    def undo_view(self) -> bool:
        """Back to the range before. False if there is none."""
        undone = self._state.undo()
        if undone:
            self.show_changed_range()
        return undone

    def point_at(self, at: QPointF) -> int:
        """The point nearest to a pixel among those that it touches, -1 for none."""
        placed = self._placed()
        order = placed.order
        if not len(order) or not self.current_geometry().plot.contains(at):
            return -1
        far = np.hypot(placed.x[order] - at.x(), placed.y[order] - at.y())
        far[far > placed.radius[order] + _HIT_PX] = np.inf
        # Of several at one place the uppermost.
        best = len(far) - 1 - int(np.argmin(far[::-1]))
        return int(order[best]) if np.isfinite(far[best]) else -1

    def place_of(self, point: int) -> QPointF:
        """Where a point is, in pixels of the widget."""
        placed = self._placed()
        return QPointF(placed.x[point], placed.y[point])

    # --- what the pointer asks for (see RooflineHost)

    @property
    def state(self) -> RangeState:
        """The visible range and those before it."""
        return self._state

    def current_geometry(self) -> RooflineGeometry:
        """Where everything is now."""
        return RooflineGeometry(self.width(), self.height(), self.devicePixelRatioF(), self._state.range)

    def zoom_place(self) -> QPointF:
        """The selected point, else the middle one of those in sight, else the middle of the plot."""
        plot, placed = self.current_geometry().plot, self._placed()
        chosen = self._selected
        if chosen >= 0 and self._shown()[chosen] and plot.contains(self.place_of(chosen)):
            return self.place_of(chosen)
        middle = middle_point(placed, plot)
        return plot.center() if middle < 0 else QPointF(placed.x[middle], placed.y[middle])

    def show_changed_range(self) -> None:
        """Paints the new range and tells of it."""
        self._hide_tip()
        self.update()
        self.range_changed.emit()

    def click_at(self, at: QPointF) -> None:
        """Selects the point there, or works the legend."""
        rect = self._scene.legend_rect(self.current_geometry())
        entry = entry_at(self._scene.entries, rect, at)
        if entry is not None and entry.category >= 0:
            self.toggle_category(entry.category)
        elif entry is None:
            self._select_by_user(self.point_at(at))

    def toggle_category(self, category: int) -> None:
        """Hides the points of a category, or shows them again."""
        self._hidden ^= {category}
        self._scene.marks.forget()
        self.categories_changed.emit()
        self.update()

    def uncover(self, point: int) -> None:
        """Shows the category of a point again, if the legend has hidden it."""
        category = int(self._content.points.category[point])
        if category in self._hidden:
            self.toggle_category(category)

    def open_at(self, at: QPointF) -> None:
        """Opens the point there."""
        point = self.point_at(at)
        if point >= 0:
            self.point_opened.emit(point)

    def open_selected(self) -> None:
        """Opens the selected point."""
        if self._selected >= 0:
            self.point_opened.emit(self._selected)

    def hover_at(self, at: QPointF | None) -> None:
        """Marks the point under the pointer, and after a moment says what it is."""
        point = -1 if at is None else self.point_at(at)
        if at is not None:
            self._tip_at = at
        if point == self._hovered:
            return
        self._hide_tip()
        self._hovered = point
        self.setCursor(Qt.CursorShape.PointingHandCursor if point >= 0 else Qt.CursorShape.ArrowCursor)
        if point >= 0:
            self._tip_timer.start()
        self.update()

    def step_selection(self, dx: int, dy: int) -> None:
        """Selects the next point in a direction; without a selection the longest visible one."""
        placed = self._placed()
        if self._selected < 0:
            if len(placed.order):
                self._select_by_user(int(placed.order[0]))
            return
        along = (placed.x - placed.x[self._selected]) * dx - (placed.y - placed.y[self._selected]) * dy
        across = (placed.x - placed.x[self._selected]) * dy + (placed.y - placed.y[self._selected]) * dx
        cost = along + _ACROSS_COST * np.abs(across)
        ahead = self._shown() & (along > 0)
        ahead[self._selected] = False
        if ahead.any():
            chosen = int(np.argmin(np.where(ahead, cost, np.inf)))
            self._bring_into_sight(chosen)
            self._select_by_user(chosen)

    def clear_one(self) -> bool:
        """Takes the selection away. False if there is none."""
        if self._selected < 0:
            return False
        self._select_by_user(-1)
        return True

    # --- Qt

    def sizeHint(self) -> QSize:  # noqa: N802  (Qt's name)
        """Room for the ceilings and their words."""
        return QSize(900, 480)

    def minimumSizeHint(self) -> QSize:  # noqa: N802  (Qt's name)
        """Axes and a few points."""
        return QSize(320, 180)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  (Qt's name)
        """Draws everything; a picture in vectors has the points as shapes."""
        painter = QPainter(self)
        engine = painter.paintEngine()
        vectors = engine is not None and engine.type() == QPaintEngine.Type.SVG
        focus = self._focus_shown and self.hasFocus()
        over = Over(self._selected, self._hovered, self._shown(), self._hidden, focus, self.notice)
        self._scene.draw(painter, self.current_geometry(), self._placed(), over, vectors=vectors)
        painter.end()

    # --- inside

    def _shown(self) -> Bool:
        """(n,) bool: points that neither the filter nor the legend hides."""
        points = self._content.points
        shown = np.ones(len(points), np.bool_) if self._filter is None else self._filter.copy()
        for category in self._hidden:
            shown &= points.category != category
        return shown

    def _placed(self) -> Placed:
        return self._scene.marks.place(self.current_geometry(), self._shown())

    def _bring_into_sight(self, point: int) -> None:
        """Moves the view, as little as needed, so that a point lies in it."""
        geometry = self.current_geometry()
        points = self._content.points
        at = geometry.place_of(points.intensity[point], points.flop_per_s[point])
        room = geometry.plot.adjusted(_SCROLL_ROOM_PX, _SCROLL_ROOM_PX, -_SCROLL_ROOM_PX, -_SCROLL_ROOM_PX)
        if geometry.plot.contains(at):
            return
        dx = min(at.x() - room.left(), 0.0) + max(at.x() - room.right(), 0.0)
        dy = min(at.y() - room.top(), 0.0) + max(at.y() - room.bottom(), 0.0)
        self._state.show(self._state.range.moved(dx / geometry.x_px, -dy / geometry.y_px))
        self.show_changed_range()

    def _select_by_user(self, point: int) -> None:
        self._selected = point
        self.point_selected.emit(point)
        self.update()

    def _show_tip(self) -> None:
        if self._hovered >= 0:
            self._tip.show_words(self._content.words_of(self._hovered), self._tip_at)

    def _hide_tip(self) -> None:
        self._tip_timer.stop()
        self._tip.hide()
