"""What part of a live chart is looked at: zoom, pan, follow and undo, without Qt.

Following is the normal state: the whole run, or a window of fixed width that
ends at the newest point. Panning or zooming away from the newest point ends it,
resetting the view begins it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_HISTORY = 100
_END_TOLERANCE = 0.02
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, slots=True)
class View:
    """One view of a chart.

    Attributes:
        follow: The right end is the newest point.
        width: Width of the followed window, None for the whole run.
        x: Fixed range if ``follow`` is off.
        y: Fixed range, None fits what is visible.
    """

    follow: bool = True
    width: float | None = None
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] | None = None


class ViewState:
    """The view of one chart and the views before it."""

    def __init__(self) -> None:
        self.view = View()
        self._before: list[View] = []
        self._gesture: object = None
        self._data = (0.0, 1.0)

    def set_data(self, low: float, high: float) -> None:
        """Tells the extent of the data along x."""
        # Far from zero, 1 is less than what neighbouring floats differ by.
        least = max(abs(low), abs(high)) * _LEAST_SHARE
        self._data = (low, high if high - low > least else low + max(1.0, least))

    def x_range(self) -> tuple[float, float]:
        """The visible range along x."""
        if not self.view.follow:
            return self.view.x
        low, high = self._data
        if self.view.width is None:
            return low, high
        return high - self.view.width, high

    @property
    def changed(self) -> bool:
        """The view is another one than a fresh chart's."""
        return self.view != View()

    @property
    def can_undo(self) -> bool:
        """There is an earlier view."""
        return bool(self._before)

    def zoom_x(self, centre: float, factor: float, gesture: object = None) -> None:
        """Makes the visible range ``factor`` times as wide, ``centre`` stays in place."""
        low, high = self.x_range()
        self._go_to_x(centre - (centre - low) * factor, centre + (high - centre) * factor, gesture)

    def pan_x(self, distance: float, gesture: object = None) -> None:
        """Moves the visible range by ``distance`` along x."""
        low, high = self.x_range()
        self._go_to_x(low + distance, high + distance, gesture)

    def show_x(self, low: float, high: float) -> None:
        """Shows this range, or what there is of it."""
        self._go_to_x(low, high, None)

    def zoom_y(
        self, centre: float, factor: float, current: tuple[float, float], gesture: object = None
    ) -> None:
        """As ``zoom_x``, along y; ``current`` is the range on screen."""
        low, high = current
        y = (centre - (centre - low) * factor, centre + (high - centre) * factor)
        if y[1] > y[0]:
            self._change(replace(self.view, y=y), gesture)

    def pan_y(self, distance: float, gesture: object = None) -> None:
        """Moves a fixed y range; a fitted one stays fitted."""
        if self.view.y is not None:
            low, high = self.view.y
            self._change(replace(self.view, y=(low + distance, high + distance)), gesture)

    def reset(self) -> None:
        """The whole run again, following."""
        if self.changed:
            self._change(View(), None)

    def undo(self) -> bool:
        """Back to the view before. False if there is none."""
        if not self._before:
            return False
        self.view = self._before.pop()
        self._gesture = None
        return True

    def _go_to_x(self, low: float, high: float, gesture: object) -> None:
        first, last = self._data
        span = last - first
        least = max(abs(first), abs(last)) * _LEAST_SHARE
        width = min(max(high - low, span * 1e-6, least), span)
        if width >= span * (1 - 1e-9) and high - low >= span:
            self._change(replace(self.view, follow=True, width=None, x=(0.0, 1.0)), gesture)
            return
        # At least a tenth of the data stays in sight.
        low = min(max(low, first - width * 0.9), last - width * 0.1)
        high = low + width
        if abs(high - last) <= width * _END_TOLERANCE:
            self._change(replace(self.view, follow=True, width=width, x=(0.0, 1.0)), gesture)
        else:
            self._change(replace(self.view, follow=False, width=None, x=(low, high)), gesture)

    def _change(self, view: View, gesture: object) -> None:
        if view == self.view:
            return
        if gesture is None or gesture != self._gesture:
            self._before.append(self.view)
            del self._before[:-_HISTORY]
        self._gesture = gesture
        self.view = view
