"""What pointer, wheel and keys do on a timeline: they move the visible span, select and open.

W, A, S, D and the wheel zoom at the cursor and pan; with Ctrl the wheel pans;
dragging pans, on the ruler or with Shift it selects a range; in the overview it
moves the frame or one of its sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

from PySide6.QtCore import QPointF, Qt

from gui.plots.timeline_geometry import HEADER_PX, OVERVIEW_PX
from gui.plots.timeline_span import SpanState, TimeSpan

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

    from gui.plots.timeline_geometry import TimelineGeometry

ZOOM_PER_NOTCH: Final = 0.8
_PAN_SHARE: Final = 0.15
_CLICK_PX: Final = 4
_SIDE_PX: Final = 5
_SAME_TURN_MS: Final = 600
_SCROLL_PX_PER_NOTCH: Final = 60

Drag = Literal["none", "pan", "range", "frame", "left side", "right side"]
Step = Literal["left", "right", "up", "down"]


class TimelineHost(Protocol):
    """What the pointer needs of the timeline that it works on."""

    @property
    def state(self) -> SpanState:
        """The visible span."""

    def current_geometry(self) -> TimelineGeometry:
        """Where everything is."""

    def show_changed_span(self) -> None:
        """The span was changed."""

    def click_at(self, at: QPointF) -> None:
        """A click without a drag."""

    def zoom_to_slice_at(self, at: QPointF) -> None:
        """A double click."""

    def hover_at(self, at: QPointF | None) -> None:
        """The pointer rests here, or left."""

    def scroll_by(self, distance_px: float) -> None:
        """Scroll the lanes."""

    def drag_range(self, start_ns: int, end_ns: int, done: bool) -> None:
        """A range is being selected, or was."""

    def step_selection(self, step: Step) -> None:
        """Select the neighbour."""

    def zoom_to_selection(self) -> None:
        """Show the selected slice."""

    def clear_one(self) -> bool:
        """Clear the range, else the selection; False if there is neither."""


class TimelinePointer:
    """Turns events into calls; holds the drag that goes on."""

    def __init__(self, host: TimelineHost) -> None:
        self._host = host
        self._from = QPointF()
        self._last = QPointF()
        self._kind: Drag = "none"
        self._dragging = False
        self._grabbed_ns = 0
        self._gestures = 0
        self._turn_ms = 0
        self._at: QPointF | None = None
        self._keys = self._key_map()

    def takes(self, event: QKeyEvent) -> bool:
        """Whether a key means something here, so that no shortcut of the window takes it."""
        return self._key(event) in self._keys

    def press_key(self, event: QKeyEvent) -> bool:
        """Does what a key means; False if it means nothing."""
        call = self._keys.get(self._key(event))
        if call is None:
            return False
        return call() is not False

    def turn_wheel(self, event: QWheelEvent) -> None:
        """Zooms at the cursor, pans, or scrolls."""
        geometry = self._host.current_geometry()
        at = event.position()
        notches, sideways = event.angleDelta().y() / 120, event.angleDelta().x() / 120
        held = event.modifiers()
        if not 0 <= int(event.timestamp()) - self._turn_ms < _SAME_TURN_MS:
            self._gestures += 1
        self._turn_ms = int(event.timestamp())
        gesture = ("wheel", self._gestures)
        if notches and (at.x() < HEADER_PX or held & Qt.KeyboardModifier.ShiftModifier):
            self._host.scroll_by(-notches * _SCROLL_PX_PER_NOTCH)
            return
        if held & Qt.KeyboardModifier.ControlModifier or not notches:
            share = -(notches or sideways) * _PAN_SHARE
            self._host.state.pan(round(share * geometry.span.length_ns), gesture)
        else:
            centre_ns = (
                geometry.overview_time_at(at.x()) if at.y() < OVERVIEW_PX else geometry.time_at(at.x())
            )
            self._host.state.zoom(centre_ns, ZOOM_PER_NOTCH**notches, gesture)
        self._host.show_changed_span()

    def press(self, event: QMouseEvent) -> None:
        """Begins what may become a drag."""
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self._from = self._last = event.position()
        self._dragging = False
        self._gestures += 1
        self._kind = self._kind_of(event)
        geometry = self._host.current_geometry()
        self._grabbed_ns = geometry.time_at(self._from.x())
        if self._kind == "frame":
            self._grab_frame(geometry)
        self._host.hover_at(None)

    def move(self, event: QMouseEvent) -> None:
        """Goes on with a drag, or hovers."""
        self._at = event.position()
        if self._kind == "none":
            self._host.hover_at(self._at)
            return
        if not self._dragging and (self._at - self._from).manhattanLength() < _CLICK_PX:
            return
        self._dragging = True
        self._drag_to(self._at, False)
        self._last = self._at

    def release(self, event: QMouseEvent) -> None:
        """Ends a drag, or clicks."""
        if event.button() != Qt.MouseButton.LeftButton or self._kind == "none":
            return
        if self._dragging:
            self._drag_to(event.position(), True)
        elif self._from.y() >= OVERVIEW_PX:
            self._host.click_at(event.position())
        self._kind = "none"
        self._dragging = False

    def double_click(self, event: QMouseEvent) -> None:
        """Zooms to what was clicked."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._host.zoom_to_slice_at(event.position())

    def leave(self) -> None:
        """The pointer left."""
        self._at = None
        self._host.hover_at(None)

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

    def _drag_to(self, at: QPointF, done: bool) -> None:
        geometry = self._host.current_geometry()
        state, gesture = self._host.state, ("drag", self._gestures)
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

    def _key_map(self) -> dict[tuple[int, int], Callable[[], object]]:
        key = Qt.Key
        ctrl, alt = Qt.KeyboardModifier.ControlModifier.value, Qt.KeyboardModifier.AltModifier.value
        host = self._host
        return {
            (key.Key_W, 0): lambda: self.zoom_by(1),
            (key.Key_S, 0): lambda: self.zoom_by(-1),
            (key.Key_A, 0): lambda: self.pan_by(-1),
            (key.Key_D, 0): lambda: self.pan_by(1),
            (key.Key_Left, 0): lambda: host.step_selection("left"),
            (key.Key_Right, 0): lambda: host.step_selection("right"),
            (key.Key_Up, 0): lambda: host.step_selection("up"),
            (key.Key_Down, 0): lambda: host.step_selection("down"),
            (key.Key_Return, 0): host.zoom_to_selection,
            (key.Key_Enter, 0): host.zoom_to_selection,
            (key.Key_Home, 0): self._reset,
            (key.Key_0, 0): self._reset,
            (key.Key_Z, ctrl): self._undo,
            (key.Key_Left, alt): self._undo,
            (key.Key_Escape, 0): host.clear_one,
        }

    @staticmethod
    def _key(event: QKeyEvent) -> tuple[int, int]:
        mattering = (
            Qt.KeyboardModifier.ControlModifier
            | Qt.KeyboardModifier.AltModifier
            | Qt.KeyboardModifier.ShiftModifier
            | Qt.KeyboardModifier.MetaModifier
        )
        return event.key(), (event.modifiers() & mattering).value

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
        self._host.state.pan(round(notches * _PAN_SHARE * self._host.state.span.length_ns))
        self._host.show_changed_span()

    def _reset(self) -> None:
        self._host.state.reset()
        self._host.show_changed_span()

    def _undo(self) -> None:
        if self._host.state.undo():
            self._host.show_changed_span()
