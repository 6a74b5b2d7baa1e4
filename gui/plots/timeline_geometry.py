"""The parts of a timeline's widget and the time under each pixel: one small set of numbers, no Qt widgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gui.plots.timeline_span import TimeSpan

HEADER_PX: Final = 176
OVERVIEW_PX: Final = 44
RULER_PX: Final = 20
OVERVIEW_MARGIN_PX: Final = 6


@dataclass(frozen=True, slots=True)
class TimelineGeometry:
    """Where the parts are, in device-independent pixels of the widget, and what they show.

    Attributes:
        width: Of the widget without its scroll bar.
        height: Of the widget.
        scale: Device pixels a pixel.
        span: What the lanes show.
        whole: What the overview shows.
        pinned_px: Height of the pinned lanes.
        scroll_px: How far the other lanes are scrolled.
    """

    width: int
    height: int
    scale: float
    span: TimeSpan
    whole: TimeSpan
    pinned_px: int
    scroll_px: int

    @property
    def plot_width(self) -> int:
        """Of overview, ruler and lanes without their headers."""
        return max(1, self.width - HEADER_PX)

    @property
    def plot_device_px(self) -> int:
        """The same in device pixels: what the index is asked for."""
        return max(1, int(self.plot_width * self.scale))

    @property
    def lanes_top(self) -> int:
        """First pixel below the ruler."""
        return OVERVIEW_PX + RULER_PX

    @property
    def scrolled_top(self) -> int:
        """First pixel of the lanes that scroll."""
        return self.lanes_top + self.pinned_px

    @property
    def lanes_height(self) -> int:
        """Of pinned and other lanes."""
        return max(0, self.height - self.lanes_top)

    def time_at(self, x: float) -> int:
        """The nanosecond under a pixel of the widget; outside the lanes it goes on."""
        return self.span.start_ns + int((x - HEADER_PX) * self.span.length_ns / self.plot_width // 1)

    def x_of(self, time_ns: int) -> float:
        """The pixel of the widget where a time lies."""
        return HEADER_PX + (time_ns - self.span.start_ns) / self.span.length_ns * self.plot_width

    def device_px_at(self, x: float) -> int:
        """The device pixel of the lanes' picture under a pixel of the widget."""
        return min(max(int((x - HEADER_PX) * self.scale // 1), 0), self.plot_device_px - 1)

    def overview_time_at(self, x: float) -> int:
        """The nanosecond under a pixel of the overview."""
        return self.whole.start_ns + int((x - HEADER_PX) * self.whole.length_ns / self.plot_width // 1)

    def overview_x_of(self, time_ns: int) -> float:
        """Where a time lies in the overview."""
        return HEADER_PX + (time_ns - self.whole.start_ns) / self.whole.length_ns * self.plot_width
