"""What pointer, wheel and keys do on a roofline: zoom at the cursor, pan, select, undo.

The wheel zooms both axes, with Shift along x only and with Ctrl along y only;
dragging pans; W and S zoom, A and D move, arrows select the next point in their
direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QPointF, Qt

from gui.plots.plot_pointer import PAN_SHARE, ZOOM_PER_NOTCH, PlotHost, PlotPointer

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QWheelEvent

    from gui.plots.plot_pointer import Gesture, Keys
    from gui.plots.roofline_geometry import RooflineGeometry
    from gui.plots.roofline_range import RangeState


class RooflineHost(PlotHost, Protocol):
    """What the pointer needs of the plot that it works on."""

    @property
    def state(self) -> RangeState:
        """The visible range."""

    def current_geometry(self) -> RooflineGeometry:
        """Where everything is."""

    def show_changed_range(self) -> None:
        """The range was changed."""

    def zoom_place(self) -> QPointF:
        """Where to zoom if the pointer says nothing."""

    def open_at(self, at: QPointF) -> None:
        """A double click."""

    def open_selected(self) -> None:
        """Return."""

    def step_selection(self, dx: int, dy: int) -> None:
        """Select the next point in a direction; dy is positive upwards."""


class RooflinePointer(PlotPointer):
    """Zooms both axes at once, moves both, and steps from point to point."""

    _host: RooflineHost

    def __init__(self, host: RooflineHost) -> None:
        super().__init__(host)

    def zoom_by(self, notches: int) -> None:
        """Zooms at the pointer, else at what there is to see; out with a negative number."""
        plot = self._host.current_geometry().plot
        at = self._at if self._at is not None and plot.contains(self._at) else self._host.zoom_place()
        self._gestures += 1
        self._zoom(at, ZOOM_PER_NOTCH**notches, ZOOM_PER_NOTCH**notches, ("key", self._gestures))

    def pan_by(self, notches: int) -> None:
        """Moves the view to higher intensities, or lower with a negative number."""
        width = self._host.current_geometry().plot.width()
        self._pan_px(QPointF(round(notches * PAN_SHARE * width), 0), None)

    def _turn(self, event: QWheelEvent, gesture: Gesture) -> None:
        """Zooms at the cursor."""
        notches = (event.angleDelta().y() or event.angleDelta().x()) / 120
        held, factor = event.modifiers(), ZOOM_PER_NOTCH**notches
        along_x = not held & Qt.KeyboardModifier.ControlModifier
        along_y = not held & Qt.KeyboardModifier.ShiftModifier
        self._zoom(event.position(), factor if along_x else 1.0, factor if along_y else 1.0, gesture)

    def _begin_drag(self, _event: QMouseEvent) -> bool:
        return True

    def _drag_to(self, at: QPointF, gesture: Gesture, *, done: bool) -> None:
        """Moves the view with the pointer; where the button is let go it is there already."""
        if not done:
            self._host.hover_at(None)
            self._pan_px(self._last - at, gesture)

    def _open_at(self, at: QPointF) -> None:
        self._host.open_at(at)

    def _zoom(self, at: QPointF, x_factor: float, y_factor: float, gesture: Gesture) -> None:
        geometry, state = self._host.current_geometry(), self._host.state
        x, y = geometry.powers_at(at)
        state.show(state.range.zoomed(x, y, x_factor, y_factor), gesture)
        self._host.show_changed_range()

    def _pan_px(self, by: QPointF, gesture: Gesture | None) -> None:
        geometry, state = self._host.current_geometry(), self._host.state
        state.show(state.range.moved(by.x() / geometry.x_px, -by.y() / geometry.y_px), gesture)
        self._host.show_changed_range()

    def _own_keys(self) -> Keys:
        key, host = Qt.Key, self._host
        return {
            (key.Key_Left, 0): lambda: host.step_selection(-1, 0),
            (key.Key_Right, 0): lambda: host.step_selection(1, 0),
            (key.Key_Up, 0): lambda: host.step_selection(0, 1),
            (key.Key_Down, 0): lambda: host.step_selection(0, -1),
            (key.Key_Return, 0): host.open_selected,
            (key.Key_Enter, 0): host.open_selected,
        }
