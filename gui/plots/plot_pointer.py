"""What pointer, wheel and keys have in common on every plot that is zoomed, moved and selected in.

Tells a click from a drag, turns that follow each other from new ones, and holds the keys
that mean the same everywhere. What a drag or a turn does is each plot's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QPointF, Qt

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

    Keys = dict[tuple[int, int], Callable[[], object]]
    """What each key does, by ``Qt.Key`` and modifiers; a call that returns False did nothing."""

    Gesture = tuple[str, int]
    """Changes of one gesture are undone together."""

ZOOM_PER_NOTCH: Final = 0.8
PAN_SHARE: Final = 0.15
_CLICK_PX: Final = 4
_SAME_TURN_MS: Final = 600
_MATTERING: Final = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.ShiftModifier
    | Qt.KeyboardModifier.MetaModifier
)


class PlotHost(Protocol):
    """What the pointer needs of any plot that it works on."""

    def click_at(self, at: QPointF) -> None:
        """A click without a drag."""

    def hover_at(self, at: QPointF | None) -> None:
        """The pointer rests here, or left."""

    def reset_view(self) -> None:
        """Show everything."""

    def undo_view(self) -> bool:
        """Back to the view before; False if there is none."""

    def clear_one(self) -> bool:
        """Clear what is selected; False if there is nothing."""


class PlotPointer(ABC):
    """Turns events into calls; holds the drag that goes on."""

    def __init__(self, host: PlotHost) -> None:
        self._host = host
        self._pressed = False
        self._from = QPointF()
        self._last = QPointF()
        self._dragging = False
        self._gestures = 0
        self._turn_ms = 0
        self._at: QPointF | None = None
        self._keys = self._shared_keys() | self._own_keys()

    # --- what each plot does itself

    @abstractmethod
    def zoom_by(self, notches: int) -> None:
        """Zooms in, or out with a negative number."""

    @abstractmethod
    def pan_by(self, notches: int) -> None:
        """Moves the view to the right, or to the left with a negative number."""

    @abstractmethod
    def _own_keys(self) -> Keys:
        """Keys of this plot besides those of all."""

    @abstractmethod
    def _turn(self, event: QWheelEvent, gesture: Gesture) -> None:
        """The wheel was turned."""

    @abstractmethod
    def _begin_drag(self, event: QMouseEvent) -> bool:
        """The left button was pressed. False where nothing can be dragged."""

    @abstractmethod
    def _drag_to(self, at: QPointF, gesture: Gesture, *, done: bool) -> None:
        """A drag went on, or ended. ``_last`` is where it was before."""

    @abstractmethod
    def _open_at(self, at: QPointF) -> None:
        """A double click."""

    def _click_at(self, at: QPointF) -> None:
        """A click without a drag."""
        self._host.click_at(at)

    # --- what the widget hands on

    def takes(self, event: QKeyEvent) -> bool:
        """Whether a key means something here, so that no shortcut of the window takes it."""
        return _key(event) in self._keys

    def press_key(self, event: QKeyEvent) -> bool:
        """Does what a key means; False if it means nothing."""
        call = self._keys.get(_key(event))
        return call is not None and call() is not False

    def turn_wheel(self, event: QWheelEvent) -> None:
        """Does what the wheel means; turns that follow each other are one gesture."""
        if not 0 <= int(event.timestamp()) - self._turn_ms < _SAME_TURN_MS:
            self._gestures += 1
        self._turn_ms = int(event.timestamp())
        self._turn(event, ("wheel", self._gestures))

    def press(self, event: QMouseEvent) -> None:
        """Begins what may become a drag."""
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self._from = self._last = event.position()
        self._dragging = False
        self._gestures += 1
        self._pressed = self._begin_drag(event)

    def move(self, event: QMouseEvent) -> None:
        """Goes on with a drag, or hovers."""
        self._at = at = event.position()
        if not self._pressed:
            self._host.hover_at(at)
            return
        if not self._dragging and (at - self._from).manhattanLength() < _CLICK_PX:
            return
        self._dragging = True
        self._drag_to(at, ("drag", self._gestures), done=False)
        self._last = at

    def release(self, event: QMouseEvent) -> None:
        """Ends a drag, or clicks."""
        if event.button() != Qt.MouseButton.LeftButton or not self._pressed:
            return
        if self._dragging:
            self._drag_to(event.position(), ("drag", self._gestures), done=True)
        else:
            self._click_at(event.position())
        self._pressed = False
        self._dragging = False

    def double_click(self, event: QMouseEvent) -> None:
        """Opens what was clicked."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._open_at(event.position())

    def leave(self) -> None:
        """The pointer left."""
        self._at = None
        self._host.hover_at(None)

    # --- keys

    def _shared_keys(self) -> Keys:
        key = Qt.Key
        ctrl, alt = Qt.KeyboardModifier.ControlModifier.value, Qt.KeyboardModifier.AltModifier.value
        return {
            (key.Key_W, 0): lambda: self.zoom_by(1),
            (key.Key_S, 0): lambda: self.zoom_by(-1),
            (key.Key_A, 0): lambda: self.pan_by(-1),
            (key.Key_D, 0): lambda: self.pan_by(1),
            (key.Key_Home, 0): self._host.reset_view,
            (key.Key_0, 0): self._host.reset_view,
            (key.Key_Z, ctrl): self._undo,
            (key.Key_Left, alt): self._undo,
            (key.Key_Escape, 0): self._host.clear_one,
        }

    def _undo(self) -> None:
        # The key is the plot's own even where there is nothing to undo.
        self._host.undo_view()


def _key(event: QKeyEvent) -> tuple[int, int]:
    return event.key(), (event.modifiers() & _MATTERING).value
