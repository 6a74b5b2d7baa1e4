"""What pointer, wheel and keys do on a timeline: they move the visible span, select and open.

W, A, S, D and the wheel zoom at the cursor and pan; with Ctrl the wheel pans;
dragging pans, on the ruler or with Shift it selects a range; in the overview it
moves the frame or one of its sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

from PySide6.QtCore import QPointF, Qt

from gui.plots.plot_pointer import PAN_SHARE, ZOOM_PER_NOTCH, PlotHost, PlotPointer
from gui.plots.timeline_geometry import HEADER_PX, OVERVIEW_PX
from gui.plots.timeline_span import SpanState, TimeSpan

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QWheelEvent

    from gui.plots.plot_pointer import Gesture, Keys
    from gui.plots.timeline_geometry import TimelineGeometry

_SIDE_PX: Final = 5
_SCROLL_PX_PER_NOTCH: Final = 60

Drag = Literal["none", "pan", "range", "frame", "left side", "right side"]
Step = Literal["left", "right", "up", "down"]


class TimelineHost(PlotHost, Protocol):
    """What the pointer needs of the timeline that it works on."""

    @property
    def state(self) -> SpanState:
        """The visible span."""

    def current_geometry(self) -> TimelineGeometry:
        """Where everything is."""

    def show_changed_span(self) -> None:
        """The span was changed."""

    def zoom_to_slice_at(self, at: QPointF) -> None:
        """A double click."""

    def scroll_by(self, distance_px: float) -> None:
        """Scroll the lanes."""

    def drag_range(self, start_ns: int, end_ns: int, done: bool) -> None:
        """A range is being selected, or was."""

    def step_selection(self, step: Step) -> None:
        """Select the neighbour."""

    def zoom_to_selection(self) -> None:
        """Show the selected slice."""


class TimelinePointer(PlotPointer):
    """Moves the span, scrolls the lanes, and drags ranges and the frame of the overview."""

    _host: TimelineHost

    def __init__(self, host: TimelineHost) -> None:
        super().__init__(host)
        self._kind: Drag = "none"
        self._grabbed_ns = 0

    def zoom_by(self, notches: int) -> None:
        """Zooms at the pointer, else at the middle; out with a negative number."""
        geometry = self._host.current_geometry()
        centre_ns = (geometry.span.start_ns + geometry.span.end_ns) // 2
        if self._at is not None and self._at.x() >= HEADER_PX:
            centre_ns = geometry.time_at(self._at.x())
        self._host.state.zoom(centre_ns, ZOOM_PER_NOTCH**notches)
        self._host.show_changed_span()

    def pan_by(self, notches: int) -> None:
        """Moves the visible span, to earlier times with a negative number."""
        self._host.state.pan(round(notches * PAN_SHARE * self._host.state.span.length_ns))
        self._host.show_changed_span()

    def _turn(self, event: QWheelEvent, gesture: Gesture) -> None:
        """Zooms at the cursor, pans, or scrolls."""
        geometry = self._host.current_geometry()
        at = event.position()
        notches, sideways = event.angleDelta().y() / 120, event.angleDelta().x() / 120
        held = event.modifiers()
        if notches and (at.x() < HEADER_PX or held & Qt.KeyboardModifier.ShiftModifier):
            self._host.scroll_by(-notches * _SCROLL_PX_PER_NOTCH)
            return
        if held & Qt.KeyboardModifier.ControlModifier or not notches:
            share = -(notches or sideways) * PAN_SHARE
            self._host.state.pan(round(share * geometry.span.length_ns), gesture)
        else:
            centre_ns = (
                geometry.overview_time_at(at.x()) if at.y() < OVERVIEW_PX else geometry.time_at(at.x())
            )
            self._host.state.zoom(centre_ns, ZOOM_PER_NOTCH**notches, gesture)
        self._host.show_changed_span()

    def _begin_drag(self, event: QMouseEvent) -> bool:
        self._kind = self._kind_of(event)
        geometry = self._host.current_geometry()
        self._grabbed_ns = geometry.time_at(self._from.x())
        if self._kind == "frame":
            self._grab_frame(geometry)
        self._host.hover_at(None)
        return self._kind != "none"

    def _click_at(self, at: QPointF) -> None:
        if self._from.y() >= OVERVIEW_PX:
            super()._click_at(at)

    def _open_at(self, at: QPointF) -> None:
        self._host.zoom_to_slice_at(at)

    def _kind_of(self, event: QMouseEvent) -> Drag:
        geometry = self._host.current_geometry()
        at = event.position()
        if at.x() < HEADER_PX:
            return "none" if at.y() < geometry.lanes_top else "pan"
        if at.y() < OVERVIEW_PX:
            for side, time_ns in (
                ("left side", geometry.span.start_ns),
                ("right side", geometry.span.end_ns),
            ):
                if abs(at.x() - geometry.overview_x_of(time_ns)) <= _SIDE_PX:
                    return side  # type: ignore[return-value]  # one of the literals above
            return "frame"
        on_ruler = at.y() < geometry.lanes_top
        if on_ruler or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            return "range"
        return "pan"

    def _grab_frame(self, geometry: TimelineGeometry) -> None:
        """Brings the frame under the pointer if it is not, and holds it there."""
        time_ns = geometry.overview_time_at(self._from.x())
        span = geometry.span
        if not span.start_ns <= time_ns < span.end_ns:
            start_ns = time_ns - span.length_ns // 2
            self._host.state.show(TimeSpan(start_ns, start_ns + span.length_ns), ("drag", self._gestures))
            self._host.show_changed_span()
        self._grabbed_ns = time_ns - self._host.state.span.start_ns

    def _drag_to(self, at: QPointF, gesture: Gesture, *, done: bool) -> None:
        geometry, state = self._host.current_geometry(), self._host.state
        if self._kind == "range":
            self._host.drag_range(self._grabbed_ns, geometry.time_at(at.x()), done)
            return
        if self._kind == "pan":
            if self._from.x() >= HEADER_PX:
                state.pan(self._grabbed_ns - geometry.time_at(at.x()), gesture)
            self._host.scroll_by(self._last.y() - at.y())
        else:
            time_ns = geometry.overview_time_at(at.x())
            span = state.span
            if self._kind == "frame":
                start_ns = time_ns - self._grabbed_ns
                span = TimeSpan(start_ns, start_ns + span.length_ns)
            elif self._kind == "left side":
                span = TimeSpan(min(time_ns, span.end_ns - 1), span.end_ns)
            else:
                span = TimeSpan(span.start_ns, max(time_ns, span.start_ns + 1))
            state.show(span, gesture)
        self._host.show_changed_span()

    def _own_keys(self) -> Keys:
        key, host = Qt.Key, self._host
        return {
            (key.Key_Left, 0): lambda: host.step_selection("left"),
            (key.Key_Right, 0): lambda: host.step_selection("right"),
            (key.Key_Up, 0): lambda: host.step_selection("up"),
            (key.Key_Down, 0): lambda: host.step_selection("down"),
            (key.Key_Return, 0): host.zoom_to_selection,
            (key.Key_Enter, 0): host.zoom_to_selection,
        }
