"""One live chart: curves of all ranks, their axes, the words upon them, and the view.

Draws what it was given last, at most when asked, and only while it can be seen.
What the pointer does is in ``pointer``, what is drawn in ``layers`` and
``overlay``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, QTimer, Signal
from PySide6.QtGui import QPen
from PySide6.QtWidgets import QWidget

from core.units import format_count
from gui.plots.axis import Scale, ValueAxis
from gui.plots.canvas import CurveCanvas
from gui.plots.curves import MAX_LINES, ChartData, Curve, nearest
from gui.plots.labels import place
from gui.plots.layers import Drawn, Layer, LineLayer, Span, Style
from gui.plots.many_ranks import BandLayer, HeatLayer
from gui.plots.overlay import LABEL_HEIGHT_PX, ChartOverlay, OverlayContent, PlacedLabel, PlacedMark, ReadOut
from gui.plots.pointer import ChartPointer, Geometry, PointerCalls
from gui.plots.ticks import Tick, Ticks, fitted
from gui.plots.view_state import ViewState
from gui.plots.words import moment, notes_of, spread_rows, value_of, with_unit

if TYPE_CHECKING:
    from PySide6.QtGui import QColor, QResizeEvent

    from gui.theme import Theme

Mode = Literal["lines", "band", "heat"]

RIGHT_MARGIN_PX = 74
STEPS_AROUND = 25
_TOP_MARGIN_PX = 9
_CLICK_NEAR_PX = 8.0
_MOST_MARK_LINES = 20
_NOTE_SHARE = 0.5
_Y_TICK_PX = 42
_MOST_READ_OUT_ROWS = 12


class LiveChart(QWidget):
    """A chart with its view.

    Signals:
        rank_clicked: Rank of the curve or row that was clicked.
        view_changed: Zoom, pan, reset or undo.
        copy_asked: The copy key was pressed here.
    """

    rank_clicked = Signal(int)
    view_changed = Signal()
    copy_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._data: ChartData | None = None
        self._style = Style()
        self._mode: Mode = "lines"
        self._drawn = Drawn()
        self._pending = False
        self._geometry = Geometry()
        self._empty_words = "Nothing measured yet"
        self._hover: QPointF | None = None
        self.view = ViewState()
        self._x_axis = ValueAxis("bottom")
        self._y_axis = ValueAxis("left")
        self._plot = self._new_plot()
        self._box: Any = self._plot.getPlotItem().getViewBox()
        self._grid: Any = pg.PlotCurveItem(connect="pairs")
        self._grid.setZValue(-100)
        self._plot.addItem(self._grid, ignoreBounds=True)
        self._lines = LineLayer(theme)
        self._layers: dict[Mode, Layer] = {
            "lines": self._lines,
            "band": BandLayer(self._plot, theme),
            "heat": HeatLayer(self._plot, theme),
        }
        self._canvas = CurveCanvas(self)
        self._overlay = ChartOverlay(theme, self)
        self._overlay.exposed.connect(self._draw_if_pending)
        ChartPointer(
            self._overlay,
            self.view,
            PointerCalls(
                geometry=lambda: self._geometry,
                view_changed=self._view_moved,
                clicked=self._clicked,
                hovered=self._hovered,
                copy=self.copy_asked.emit,
            ),
        )
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.draw)
        self._box.sigResized.connect(self._resized)
        self.setFocusProxy(self._overlay)
        self.set_theme(theme)

    def _new_plot(self) -> Any:
        axes = {"bottom": self._x_axis.item, "left": self._y_axis.item}
        plot = pg.PlotWidget(self, axisItems=axes, enableMenu=False)
        item = plot.getPlotItem()
        item.hideButtons()
        item.layout.setContentsMargins(0, _TOP_MARGIN_PX, RIGHT_MARGIN_PX, 0)
        item.getViewBox().setMouseEnabled(x=False, y=False)
        item.getViewBox().disableAutoRange()
        plot.setFrameShape(plot.Shape.NoFrame)
        # A scene has its view painted apart from everything else: all of it would be painted twice.
        plot.setViewportUpdateMode(plot.ViewportUpdateMode.NoViewportUpdate)
        return plot

    # What it shows.

    @property
    def data(self) -> ChartData | None:
        """What was given last."""
        return self._data

    @property
    def drawn(self) -> Drawn:
        """What was drawn last."""
        return self._drawn

    @property
    def overlay(self) -> ChartOverlay:
        """The words upon the chart; it has the keyboard focus too."""
        return self._overlay

    @property
    def geometry_now(self) -> Geometry:
        """Where the plot is and what it shows."""
        return self._geometry

    @property
    def y_ticks(self) -> Ticks:
        """What the y axis says."""
        return self._y_axis.ticks

    @property
    def mode(self) -> Mode:
        """How ranks are drawn now; many of them are never lines."""
        many = self._data is not None and len(self._data.curves) > MAX_LINES
        if not many:
            return "lines"
        return "band" if self._mode == "lines" else self._mode

    @property
    def style_now(self) -> Style:
        """How the user wants the curves."""
        return self._style

    def set_theme(self, theme: Theme) -> None:
        """Takes new colours and draws again."""
        self._theme = theme
        # Charts lie in cards, whose ground is this one.
        self._plot.setBackground(theme.color("surface2"))
        self._x_axis.set_theme(theme)
        self._y_axis.set_theme(theme)
        grid = QPen(theme.color("chart-grid"))
        grid.setCosmetic(True)
        self._grid.setPen(grid)
        for layer in self._layers.values():
            layer.set_theme(theme)
        self._overlay.set_theme(theme)
        self.request_draw()

    def show_data(self, data: ChartData) -> None:
        """Shows this from now on; draws at once if the chart can be seen."""
        if self._data is not None and data.name != self._data.name:
            self._lines.forget()
        self._data = data
        self.request_draw()

    def start_again(self) -> None:
        """Another run follows: the whole of it is shown."""
        self._data = None
        self._lines.forget()
        self.view.reset()
        self.request_draw()

    def set_empty_words(self, words: str) -> None:
        """What stands in the chart while it has no point."""
        self._empty_words = words

    def set_style(self, style: Style) -> None:
        """Log or linear, smooth or raw, which rank is selected."""
        if style != self._style:
            self._style = style
            self.request_draw()

    def set_selected(self, rank: int | None) -> None:
        """Draws this rank's curve wider and last."""
        self.set_style(replace(self._style, selected=rank))

    def set_mode(self, mode: Mode) -> None:
        """Band or heat map, for many ranks."""
        if mode != self._mode:
            self._mode = mode
            self.request_draw()

    def reset_view(self) -> None:
        """The whole run, following the newest point."""
        self.view.reset()
        self._view_moved()

    def show_step(self, step: int) -> None:
        """Shows the steps around one; a chart over time stays as it is."""
        if self._data is not None and self._data.x_name == "step":
            self.view.show_x(step - STEPS_AROUND, step + STEPS_AROUND)
            self._view_moved()

    def undo_view(self) -> None:
        """The view before the last change of it."""
        if self.view.undo():
            self._view_moved()

    # Drawing.

    def request_draw(self) -> None:
        """Draws now if the chart can be seen, or else when it next can."""
        if self.isVisible() and not self._overlay.visibleRegion().isEmpty():
            self.draw()
        else:
            self._pending = True

    def _draw_if_pending(self) -> None:
        if self._pending:
            # Not now: this is called from inside a paint event.
            self._pending = False
            self._later.start(0)

    def draw(self) -> None:
        """Draws what is visible of the data."""
        self._pending = False
        self._plot.viewport().update()
        data = self._data
        extent = data.extent() if data is not None else None
        if data is None or extent is None:
            self._draw_nothing()
            return
        self.view.set_data(*extent)
        low, high = self.view.x_range()
        rect = self._plot_rect()
        span = Span(low, high, max(1, round(rect.width())), max(1, round(rect.height())))
        mode = self.mode
        for name, layer in self._layers.items():
            if name != mode:
                layer.hide()
        self._drawn = self._layers[mode].draw(data, span, self._style)
        y = self._y_range(data, self._drawn, span)
        self._box.setRange(xRange=(low, high), yRange=y, padding=0, disableAutoRange=True)
        x_ticks = self._show_axes(data, span, y)
        self._geometry = Geometry(self._plot_rect(), (low, high), y)
        self._canvas.show_strokes(self._drawn.strokes, self._geometry)
        self._show_words(data, x_ticks)
        self._hovered(self._hover)

    def _draw_nothing(self) -> None:
        for layer in self._layers.values():
            layer.hide()
        self._drawn = Drawn()
        self._x_axis.set_ticks(Ticks(()))
        self._y_axis.set_ticks(Ticks(()))
        self._grid.setData([], [])
        self._geometry = Geometry(self._plot_rect())
        self._canvas.show_strokes((), self._geometry)
        self._overlay.show_content(OverlayContent(plot=self._geometry.rect, empty=self._empty_words))
        self._overlay.show_read_out(None)

    def _plot_rect(self) -> QRectF:
        self._plot.getPlotItem().layout.activate()
        scene: QRectF = self._box.sceneBoundingRect()
        polygon = self._plot.mapFromScene(scene)
        return QRectF(polygon.boundingRect())

    def _y_range(self, data: ChartData, drawn: Drawn, span: Span) -> tuple[float, float]:
        if drawn.low is None or drawn.high is None:
            return (0.0, 1.0)
        if drawn.whole:
            return (drawn.low, drawn.high)
        if self.view.view.y is not None:
            return self.view.view.y
        if self._style.log:
            pad = max(0.05, 0.05 * (drawn.high - drawn.low))
            return (math.floor((drawn.low - pad) * 10) / 10, math.ceil((drawn.high + pad) * 10) / 10)
        return fitted(drawn.low, drawn.high, span.height_px / _Y_TICK_PX, data.zero_based)

    def _show_axes(self, data: ChartData, span: Span, y: tuple[float, float]) -> Ticks:
        x_scale: Scale = "seconds" if data.x_name == "s" else "whole"
        x_ticks = self._x_axis.show(span.low, span.high, span.width_px, x_scale)
        if self._drawn.whole:
            self._y_axis.set_ticks(self._rank_ticks(span.height_px))
            self._grid.setData([], [])
            return x_ticks
        y_ticks = self._y_axis.show(*y, span.height_px, "log" if self._style.log else "linear")
        at = np.repeat([tick.position for tick in y_ticks.major], 2)
        self._grid.setData(
            np.tile([span.low, span.high], len(y_ticks.major)), at, connect="pairs", antialias=False
        )
        return x_ticks

    def _rank_ticks(self, height_px: int) -> Ticks:
        """Names of the heat map's rows, as many as fit, rank 0 on top."""
        layer = self._layers["heat"]
        order = layer.order if isinstance(layer, HeatLayer) else ()
        every = max(1, math.ceil(len(order) * LABEL_HEIGHT_PX / max(1, height_px)))
        if every > 1:
            every = int(2 ** math.ceil(math.log2(every)))
        rows = list(range(0, len(order), every))
        return Ticks(tuple(Tick(float(len(order) - 1 - row), str(order[row])) for row in reversed(rows)))

    # Words upon the chart.

    def _show_words(self, data: ChartData, x_ticks: Ticks) -> None:
        geometry = self._geometry
        ends = self._drawn.ends
        wanted = [geometry.px_of(geometry.x[1], end.y).y() for end in ends]
        rect = geometry.rect
        selected = self._style.selected
        centres = place(wanted, LABEL_HEIGHT_PX, rect.top() - 4, rect.bottom() + 4)
        labels = tuple(
            PlacedLabel(end.text, end.color, y, end.quiet, end.rank is not None and end.rank == selected)
            for end, y in zip(ends, centres, strict=True)
        )
        notes = notes_of(data, self._drawn, wanted, lines=self.mode == "lines", log=self._style.log)
        self._overlay.show_content(
            OverlayContent(
                plot=rect,
                labels=labels,
                marks=self._placed_marks(),
                dots=tuple((geometry.px_of(dot.x, dot.y), dot.color) for dot in self._drawn.dots),
                notes=notes,
                notes_on_top=self._notes_on_top(len(notes)),
                x_unit=x_ticks.unit or data.x_name,
            )
        )
        self._overlay.setAccessibleDescription(self.summary())

    def _notes_on_top(self, lines: int) -> bool:
        """Whether fewer points lie in the upper left than in the lower left."""
        rect, (low, high), (bottom, top) = self._geometry.rect, self._geometry.x, self._geometry.y
        height = (top - bottom) * min(1.0, (LABEL_HEIGHT_PX * lines + 8) / max(1.0, rect.height()))
        above = below = 0
        for stroke in self._drawn.strokes:
            y = stroke.y[(stroke.x >= low) & (stroke.x <= low + _NOTE_SHARE * (high - low))]
            below += int(np.count_nonzero(y < bottom + height))
            above += int(np.count_nonzero(y > top - height))
        return above < below

    def _placed_marks(self) -> tuple[PlacedMark, ...]:
        geometry = self._geometry
        few = len(self._drawn.marks) <= _MOST_MARK_LINES
        return tuple(
            PlacedMark(geometry.px_of(mark.x, geometry.y[0]).x(), mark.kind == "inf", mark.color, few)
            for mark in self._drawn.marks
        )

    def summary(self) -> str:
        """The chart in words, for those who cannot see it."""
        if self._data is None or not self._drawn.ends:
            return self._empty_words
        values = [
            f"{end.text} {with_unit(value_of(end, self._style.log), self._data.unit)}"
            for end in self._drawn.ends
            if not end.quiet and self.mode != "heat"
        ]
        return ", ".join([*values, *self._overlay.content.notes])

    # The pointer.

    def _view_moved(self) -> None:
        self.request_draw()
        self.view_changed.emit()

    def _clicked(self, position: QPointF) -> None:
        rank = self.rank_at(position)
        if rank is not None:
            self.rank_clicked.emit(rank)

    def rank_at(self, position: QPointF) -> int | None:
        """Rank whose label, row or curve is at a pixel of the overlay, None if there is none."""
        geometry = self._geometry
        if self._data is None:
            return None
        if position.x() > geometry.rect.right():
            return self._rank_of_label(position)
        if not geometry.rect.contains(position):
            return None
        if self.mode == "heat":
            return self._row_at(position)
        at = [
            (abs(point.y() - position.y()), curve.rank)
            for curve in self._shown_curves()
            if (point := self._point_near(curve, position)) is not None
        ]
        distance, rank = min(at, default=(math.inf, -1))
        return rank if distance <= _CLICK_NEAR_PX and rank >= 0 else None

    def _rank_of_label(self, position: QPointF) -> int | None:
        for label, end in zip(self._overlay.content.labels, self._drawn.ends, strict=True):
            if abs(label.y - position.y()) <= LABEL_HEIGHT_PX / 2 and end.rank is not None and end.rank >= 0:
                return end.rank
        return None

    def _row_at(self, position: QPointF) -> int | None:
        layer = self._layers["heat"]
        order = layer.order if isinstance(layer, HeatLayer) else ()
        row = len(order) - 1 - round(self._geometry.y_at(position.y()))
        return order[row] if 0 <= row < len(order) else None

    def _shown_curves(self) -> list[Curve]:
        if self._data is None:
            return []
        if self.mode == "lines":
            return list(self._data.curves)
        named = {end.rank for end in self._drawn.ends}
        return [curve for curve in self._data.curves if curve.rank in named]

    def _point_near(self, curve: Curve, position: QPointF) -> QPointF | None:
        """The curve's point under a pixel column; between two points, on the line."""
        x = self._geometry.x_at(position.x())
        if not curve.x.size or not curve.x[0] <= x <= curve.x[-1]:
            return None
        y = float(np.interp(x, curve.x, curve.y))
        axis_y = self._on_axis(y)
        return None if axis_y is None else self._geometry.px_of(x, axis_y)

    def _on_axis(self, y: float) -> float | None:
        if not math.isfinite(y) or (self._style.log and y <= 0):
            return None
        return math.log10(y) if self._style.log else y

    def _hovered(self, position: QPointF | None) -> None:
        self._hover = position
        inside = position is not None and self._geometry.rect.contains(position)
        if position is None or not inside or self._data is None or self._data.extent() is None:
            self._overlay.show_read_out(None)
            return
        self._overlay.show_read_out(self._read_out(self._data, position))

    def _read_out(self, data: ChartData, position: QPointF) -> ReadOut:
        x = self._geometry.x_at(position.x())
        longest = max(data.curves, key=lambda curve: len(curve.x))
        index = nearest(longest, x)
        snapped = float(longest.x[index]) if index is not None else x
        rows: list[tuple[QColor | None, str, str]] = []
        points: list[tuple[QPointF, QColor]] = []
        colors = {end.rank: end.color for end in self._drawn.ends}
        curves = self._shown_curves()
        if self.mode == "heat":
            row = self._row_at(position)
            curves = [curve for curve in data.curves if curve.rank == row]
        elif self.mode == "band":
            rows.extend(spread_rows(data, snapped))
        for curve in curves[:_MOST_READ_OUT_ROWS]:
            at = nearest(curve, snapped)
            if at is None:
                continue
            color = colors.get(curve.rank, self._lines.color(curve.rank))
            value = float(curve.y[at])
            rows.append(
                (color, "Skew" if curve.rank < 0 else f"Rank {curve.rank}", with_unit(value, data.unit))
            )
            axis_y = self._on_axis(value)
            if axis_y is not None and self.mode != "heat":
                points.append((self._geometry.px_of(float(curve.x[at]), axis_y), color))
        title = f"step {format_count(round(snapped))}" if data.x_name == "step" else moment(snapped)
        column = self._geometry.px_of(snapped, self._geometry.y[0]).x()
        column = min(max(column, self._geometry.rect.left()), self._geometry.rect.right())
        return ReadOut(column, title, tuple(rows), tuple(points))

    # Qt's own.

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Keeps plot, canvas and overlay as large as the chart."""
        self._plot.setGeometry(self.rect())
        self._canvas.setGeometry(self.rect())
        self._overlay.setGeometry(self.rect())
        super().resizeEvent(event)

    def _resized(self, *_: object) -> None:
        # The plot's layout settles in several steps; one drawing after them is enough.
        self._later.start(0)
