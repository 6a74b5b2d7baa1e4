"""What pointer, wheel and keys do on a roofline: zoom at the cursor, pan, select, undo.

The wheel zooms both axes, with Shift along x only and with Ctrl along y only;
dragging pans; W and S zoom, A and D move, arrows select the next point in their
direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QPointF, Qt

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.plots.roofline_range import RangeState

ZOOM_PER_NOTCH: Final = 0.8
PAN_SHARE: Final = 0.15
_CLICK_PX: Final = 4
_SAME_TURN_MS: Final = 600


class RooflineHost(Protocol):
    """What the pointer needs of the plot that it works on."""

    @property
    def state(self) -> RangeState:
        """The visible range."""

    def current_geometry(self) -> RooflineGeometry:
        """Where everything is."""

    def show_changed_range(self) -> None:
        """The range was changed."""

    def click_at(self, at: QPointF) -> None:
        """A click without a drag."""

    def open_at(self, at: QPointF) -> None:
        """A double click."""

    def hover_at(self, at: QPointF | None) -> None:
        """The pointer rests here, or left."""

    def step_selection(self, dx: int, dy: int) -> None:
        """Select the next point in a direction; dy is positive upwards."""

    def clear_one(self) -> bool:
        """Clear the selection; False if there is none."""


class RooflinePointer:
    """Turns events into calls; holds the drag that goes on."""

    def __init__(self, host: RooflineHost) -> None:
        self._host = host
        self._from: QPointF | None = None
        self._last = QPointF()
        self._dragging = False
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
        return call is not None and call() is not False

    def turn_wheel(self, event: QWheelEvent) -> None:
        """Zooms at the cursor."""
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120
        if not 0 <= int(event.timestamp()) - self._turn_ms < _SAME_TURN_MS:
            self._gestures += 1
        self._turn_ms = int(event.timestamp())
        held, factor = event.modifiers(), ZOOM_PER_NOTCH**notches
        along_x = not held & Qt.KeyboardModifier.ControlModifier
        along_y = not held & Qt.KeyboardModifier.ShiftModifier
        self._zoom(event.position(), factor if along_x else 1.0, factor if along_y else 1.0, "wheel")

    def press(self, event: QMouseEvent) -> None:
        """Begins what may become a drag."""
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self._from = self._last = event.position()
        self._dragging = False
        self._gestures += 1

    def move(self, event: QMouseEvent) -> None:
        """Goes on with a drag, or hovers."""
        self._at = at = event.position()
        if self._from is None:
            self._host.hover_at(at)
            return
        if not self._dragging and (at - self._from).manhattanLength() < _CLICK_PX:
            return
        self._dragging = True
        self._host.hover_at(None)
        self._pan_px(self._last - at, ("drag", self._gestures))
        self._last = at

    def release(self, event: QMouseEvent) -> None:
        """Ends a drag, or clicks."""
        if event.button() != Qt.MouseButton.LeftButton or self._from is None:
            return
        if not self._dragging:
            self._host.click_at(event.position())
        self._from = None
        self._dragging = False

    def double_click(self, event: QMouseEvent) -> None:
        """Opens what was clicked."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._host.open_at(event.position())

    def leave(self) -> None:
        """The pointer left."""
        self._at = None
        self._host.hover_at(None)

    def zoom_by(self, notches: int) -> None:
        """Zooms at the pointer, else at the middle; out with a negative number."""
        plot = self._host.current_geometry().plot
        at = self._at if self._at is not None and plot.contains(self._at) else plot.center()
        self._gestures += 1
        self._zoom(at, ZOOM_PER_NOTCH**notches, ZOOM_PER_NOTCH**notches, "key")

    def pan_by(self, notches: int) -> None:
        """Moves the view to higher intensities, or lower with a negative number."""
        width = self._host.current_geometry().plot.width()
        self._pan_px(QPointF(round(notches * PAN_SHARE * width), 0), None)

    def _zoom(self, at: QPointF, x_factor: float, y_factor: float, how: str) -> None:
        geometry, state = self._host.current_geometry(), self._host.state
        x, y = geometry.powers_at(at)
        state.show(state.range.zoomed(x, y, x_factor, y_factor), (how, self._gestures))
        self._host.show_changed_range()

    def _pan_px(self, by: QPointF, gesture: object) -> None:
        geometry, state = self._host.current_geometry(), self._host.state
        state.show(state.range.moved(by.x() / geometry.x_px, -by.y() / geometry.y_px), gesture)
        self._host.show_changed_range()

    def _key_map(self) -> dict[tuple[int, int], Callable[[], object]]:
        key, host = Qt.Key, self._host
        ctrl, alt = Qt.KeyboardModifier.ControlModifier.value, Qt.KeyboardModifier.AltModifier.value
        return {
            (key.Key_W, 0): lambda: self.zoom_by(1),
            (key.Key_S, 0): lambda: self.zoom_by(-1),
            (key.Key_A, 0): lambda: self.pan_by(-1),
            (key.Key_D, 0): lambda: self.pan_by(1),
            (key.Key_Left, 0): lambda: host.step_selection(-1, 0),
            (key.Key_Right, 0): lambda: host.step_selection(1, 0),
            (key.Key_Up, 0): lambda: host.step_selection(0, 1),
            (key.Key_Down, 0): lambda: host.step_selection(0, -1),
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

    def _reset(self) -> None:
        self._host.state.reset()
        self._host.show_changed_range()

    def _undo(self) -> None:
        if self._host.state.undo():
            self._host.show_changed_range()
