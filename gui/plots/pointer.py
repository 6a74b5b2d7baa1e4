"""What wheel, drag, click and keys do to a chart's view.

Turns Qt's events into calls on a ``ViewState``; draws nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRectF, Qt

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

    from gui.plots.overlay import ChartOverlay
    from gui.plots.view_state import ViewState

_ZOOM_PER_NOTCH = 0.8
_PAN_SHARE = 0.15
_CLICK_PX = 4
_SAME_TURN_MS = 600


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where the plot is and what it shows: pixels to values and back.

    Attributes:
        rect: The plot without its axes, in pixels of the overlay.
        x: Range of x on screen.
        y: Range of y on screen, in axis coordinates.
    """

    rect: QRectF = field(default_factory=lambda: QRectF(0, 0, 1, 1))
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)

    def x_at(self, px: float) -> float:
        """Value of x at a pixel column."""
        return self.x[0] + (px - self.rect.left()) / max(self.rect.width(), 1.0) * (self.x[1] - self.x[0])

    def y_at(self, px: float) -> float:
        """Value of y at a pixel row."""
        return self.y[0] + (self.rect.bottom() - px) / max(self.rect.height(), 1.0) * (self.y[1] - self.y[0])

    def px_of(self, x: float, y: float) -> QPointF:
        """Pixel of a point in axis coordinates."""
        return QPointF(
            self.rect.left() + (x - self.x[0]) / (self.x[1] - self.x[0]) * self.rect.width(),
            self.rect.bottom() - (y - self.y[0]) / (self.y[1] - self.y[0]) * self.rect.height(),
        )


@dataclass(frozen=True, slots=True)
class PointerCalls:
    """What the chart does when the pointer or a key asks for it."""

    geometry: Callable[[], Geometry]
    view_changed: Callable[[], None]
    clicked: Callable[[QPointF], None]
    hovered: Callable[[QPointF | None], None]
    copy: Callable[[], None]


class ChartPointer(QObject):
    """Connects an overlay's events to a view; lives as long as the overlay."""

    def __init__(self, overlay: ChartOverlay, view: ViewState, calls: PointerCalls) -> None:
        super().__init__(overlay)
        self._view = view
        self._calls = calls
        self._drag_from: QPointF | None = None
        self._drag_last = QPointF()
        self._dragging = False
        self._turn = (0, 0)
        self._drags = 0
        self._at: QPointF | None = None
        self._keys: dict[tuple[int, bool], Callable[[], None]] = self._key_map()
        overlay.take_keys(frozenset(self._keys))
        overlay.wheel_turned.connect(self._wheel)
        overlay.pressed.connect(self._press)
        overlay.moved.connect(self._move)
        overlay.released.connect(self._release)
        overlay.double_clicked.connect(self._double_click)
        overlay.left.connect(self._leave)
        overlay.key_pressed.connect(self._key)

    def _key_map(self) -> dict[tuple[int, bool], Callable[[], None]]:
        key = Qt.Key
        plain = {
            key.Key_W: lambda: self._zoom_by(_ZOOM_PER_NOTCH),
            key.Key_S: lambda: self._zoom_by(1 / _ZOOM_PER_NOTCH),
            key.Key_A: lambda: self._pan_by(-_PAN_SHARE),
            key.Key_D: lambda: self._pan_by(_PAN_SHARE),
            key.Key_Left: lambda: self._pan_by(-_PAN_SHARE),
            key.Key_Right: lambda: self._pan_by(_PAN_SHARE),
            key.Key_Home: self._reset,
            key.Key_0: self._reset,
            key.Key_Backspace: self._undo,
        }
        keys = {(int(name), False): call for name, call in plain.items()}
        keys[int(key.Key_Z), True] = self._undo
        keys[int(key.Key_C), True] = self._calls.copy
        return keys

    def _wheel(self, event: QWheelEvent) -> None:
        geometry = self._calls.geometry()
        position = event.position()
        notches = event.angleDelta().y() / 120
        sideways = event.angleDelta().x() / 120
        # Turns that follow each other are one change for undo.
        last_ms, turn = self._turn
        now_ms = int(event.timestamp())
        if not 0 <= now_ms - last_ms < _SAME_TURN_MS:
            turn += 1
        self._turn = (now_ms, turn)
        gesture = ("wheel", turn)
        if notches:
            factor = _ZOOM_PER_NOTCH**notches
            on_left_axis = position.x() < geometry.rect.left()
            if on_left_axis or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._view.zoom_y(geometry.y_at(position.y()), factor, geometry.y, gesture)
            else:
                self._view.zoom_x(geometry.x_at(position.x()), factor, gesture)
        elif sideways:
            self._view.pan_x(-sideways * _PAN_SHARE * (geometry.x[1] - geometry.x[0]), gesture)
        event.accept()
        self._calls.view_changed()

    def _press(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._drag_from = self._drag_last = event.position()
            self._dragging = False
            self._drags += 1
            event.accept()
        else:
            event.ignore()

    def _move(self, event: QMouseEvent) -> None:
        position = event.position()
        self._at = position
        if self._drag_from is None:
            self._calls.hovered(position)
            return
        if not self._dragging and (position - self._drag_from).manhattanLength() < _CLICK_PX:
            return
        self._dragging = True
        self._calls.hovered(None)
        geometry = self._calls.geometry()
        gesture = ("drag", self._drags)
        moved = position - self._drag_last
        self._drag_last = position
        self._view.pan_x(-moved.x() / geometry.rect.width() * (geometry.x[1] - geometry.x[0]), gesture)
        self._view.pan_y(moved.y() / geometry.rect.height() * (geometry.y[1] - geometry.y[0]), gesture)
        self._calls.view_changed()

    def _release(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._drag_from is None:
            return
        if not self._dragging:
            self._calls.clicked(event.position())
        self._drag_from = None
        self._dragging = False

    def _double_click(self, event: QMouseEvent) -> None:
        event.accept()
        self._reset()

    def _leave(self) -> None:
        self._at = None
        self._calls.hovered(None)

    def _key(self, event: QKeyEvent) -> None:
        ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        call = self._keys.get((int(event.key()), ctrl))
        if call is not None:
            event.accept()
            call()

    def _zoom_by(self, factor: float) -> None:
        geometry = self._calls.geometry()
        centre = sum(geometry.x) / 2
        if self._at is not None and geometry.rect.contains(self._at):
            centre = geometry.x_at(self._at.x())
        self._view.zoom_x(centre, factor)
        self._calls.view_changed()

    def _pan_by(self, share: float) -> None:
        low, high = self._calls.geometry().x
        self._view.pan_x(share * (high - low))
        self._calls.view_changed()

    def _reset(self) -> None:
        self._view.reset()
        self._calls.view_changed()

    def _undo(self) -> None:
        if self._view.undo():
            self._calls.view_changed()
