"""The picture of a timeline's lanes: one image of device pixels, painted row by row from the index.

A pixel is idle (the background or a grid line) if and only if nothing ran in
it. Else it has the colour of the category that ran longest, the fainter the
less of the pixel was busy. Patterns mark categories where they are at least
6 px wide. A slice without length is a line of one pixel in the lower half of
its row, because it is no busy time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from core.analyses.timeline_find import separate_slices
from core.analyses.timeline_index import edges_ns
from core.analyses.timeline_raster import counter_envelope, raster, ticks
from core.compiled import compiled
from core.tables.timeline import IDLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Float64, Int64, Uint8
    from core.tables.timeline import CounterLane, TimelineIndex
    from gui.plots.timeline_span import TimeSpan
    from gui.theme import Theme

Pixels = NDArray[np.uint32]

LEVELS: Final = 16
LEAST_SHADE: Final = 0.4
PATTERN_LEAST_PX: Final = 6
_PATTERN_INK: Final = 0.55
_EDGE_LEVEL: Final = 3
_SEPARATED_PX: Final = 5
_DASH_PX: Final = 3
_PATTERNS: Final = {"communication": 1, "memcpy": 2, "memset": 3, "triton": 4}
"""Diagonal hatch of 6 px, horizontal lines of 4 px, dots of 4 px, vertical lines of 4 px."""
_PERIOD: Final = 12
"""All patterns repeat after so many pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class LanePalette:
    """The colours that lanes are painted with, as 0xffRRGGBB.

    Attributes:
        fill: (colours + 2, LEVELS) uint32: categories, then calls at even and at odd depth.
        ink: The same for pixels of a pattern.
        pattern: (colours + 2,) uint8, 0 for none.
        background, grid, head, warn, counter_line, counter_fill: One colour each.
    """

    fill: Pixels
    ink: Pixels
    pattern: Uint8
    background: int
    grid: int
    head: int
    warn: int
    counter_line: int
    counter_fill: int

    @property
    def host(self) -> int:
        """Colour of calls at even depth; the next one is that of odd depth."""
        return len(self.pattern) - 2


def lane_palette(theme: Theme, categories: Sequence[str]) -> LanePalette:
    """Colours of a theme for the categories of an index.

    Raises:
        KeyError: The theme has no such category.
    """
    background = theme.color("chart-bg")
    colours = [QColor(theme.categories[name]) for name in categories]
    colours += [theme.color("surface3"), theme.color("border-strong")]
    fill = np.empty((len(colours), LEVELS), np.uint32)
    ink = np.empty_like(fill)
    for number, colour in enumerate(colours):
        for level in range(LEVELS):
            share = LEAST_SHADE + (1 - LEAST_SHADE) * level / (LEVELS - 1)
            shade = mixed(background, colour, share)
            fill[number, level] = shade.rgb()
            ink[number, level] = mixed(shade, background, _PATTERN_INK).rgb()
    pattern = np.array([*(_PATTERNS.get(name, 0) for name in categories), 0, 0], np.uint8)
    return LanePalette(
        fill,
        ink,
        pattern,
        background.rgb(),
        theme.color("chart-grid").rgb(),
        theme.color("surface2").rgb(),
        theme.color("warn").rgb(),
        theme.color("text2").rgb(),
        theme.color("surface3").rgb(),
    )


def mixed(below: QColor, above: QColor, share: float) -> QColor:
    """A colour with a share of another one over it."""
    return QColor(
        *(
            round(low + (high - low) * share)
            for low, high in zip(below.getRgb()[:3], above.getRgb()[:3], strict=True)  # type: ignore[index]  # four ints
        )
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of the picture.

    Attributes:
        rows: Rows of the index; of several, the first that is busy in a pixel gives it its colour.
        top: First device pixel; may lie outside.
        height: Device pixels.
        depth: Depth of calls on the host, None for a device.
    """

    rows: tuple[int, ...]
    top: int
    height: int
    depth: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Many rows of the picture. Columns (b,), one entry a bar.

    Attributes:
        rows: (r,) int64, rows of the index that any bar shows; ascending.
        first: (b + 1,) int64, entries of ``place`` that belong to a bar.
        place: int64, numbers in ``rows``.
        top, height: int64, device pixels.
        depth: int64, depth of calls on the host, -1 for a device.
    """

    rows: Int64
    first: Int64
    place: Int64
    top: Int64
    height: Int64
    depth: Int64

    @staticmethod
    def of(bars: Sequence[Bar]) -> Bars:
        """Puts bars into columns."""
        shown = np.array([row for bar in bars for row in bar.rows], np.int64)
        rows, place = np.unique(shown, return_inverse=True)
        return Bars(
            rows,
            np.cumsum([0, *(len(bar.rows) for bar in bars)], dtype=np.int64),
            place.astype(np.int64),
            np.array([bar.top for bar in bars], np.int64),
            np.array([bar.height for bar in bars], np.int64),
            np.array([-1 if bar.depth is None else bar.depth for bar in bars], np.int64),
        )


@dataclass(frozen=True, slots=True)
class CounterBar:
    """A counter's place in the picture, in device pixels."""

    counter: CounterLane
    top: int
    height: int


@dataclass(frozen=True, slots=True)
class MarkBar:
    """Where the marks of a lane go, in device pixels."""

    lane: int
    top: int
    height: int


class LaneImage:
    """The pixels of the lanes; painted anew when asked, kept between."""

    def __init__(self) -> None:
        self.pixels: Pixels = np.zeros((1, 1), np.uint32)

    def resize(self, width_px: int, height_px: int) -> None:
        """Sets the size in device pixels."""
        if self.pixels.shape != (height_px, width_px):
            self.pixels = np.zeros((height_px, width_px), np.uint32)

    def image(self) -> QImage:
        """The picture; it shares the pixels and holds until the next resize."""
        height_px, width_px = self.pixels.shape
        return QImage(self.pixels.data, width_px, height_px, 4 * width_px, QImage.Format.Format_RGB32)

    def clear(self, palette: LanePalette, grid_px: Sequence[int]) -> None:
        """Paints the background and the grid's vertical lines."""
        self.pixels[:] = self._empty_line(palette, grid_px)

    def clear_top(self, palette: LanePalette, grid_px: Sequence[int], height_px: int) -> None:
        """The same for so many lines at the top."""
        self.pixels[:height_px] = self._empty_line(palette, grid_px)

    def clear_for(self, palette: LanePalette, grid_px: Sequence[int], bars: Bars) -> None:
        """The same, but for lines that bars are going to copy from their first one."""
        _clear_for(self.pixels, self._empty_line(palette, grid_px), bars.top, bars.height)

    def _empty_line(self, palette: LanePalette, grid_px: Sequence[int]) -> Pixels:
        line = np.full(self.pixels.shape[1], palette.background, np.uint32)
        line[[x for x in grid_px if 0 <= x < len(line)]] = palette.grid
        return line

    def paint_line(self, colour: QColor, top: int, height: int) -> None:
        """Paints a horizontal line."""
        self.pixels[max(0, top) : max(0, top + height)] = colour.rgb()

    def paint_dashes(self, colour: QColor, at_px: Sequence[int], height_px: int, scale: float) -> None:
        """Paints dashed vertical lines into so many lines at the top."""
        thick, dash = max(1, round(scale)), max(1, round(_DASH_PX * scale))
        lines = np.flatnonzero(np.arange(min(height_px, len(self.pixels))) // dash % 2 == 0)
        for x in at_px:
            self.pixels[lines, max(0, x) : x + thick] = colour.rgb()

    def paint_head(self, palette: LanePalette, top: int, height: int) -> None:
        """Paints the background of a group's head."""
        self.pixels[max(0, top) : max(0, top + height)] = palette.head

    def paint_bars(
        self, index: TimelineIndex, span: TimeSpan, bars: Bars, palette: LanePalette, scale: float
    ) -> None:
        """Paints rows.

        Args:
            index: Of the timeline.
            span: What is visible; at least a nanosecond a pixel.
            bars: The rows.
            palette: Colours.
            scale: Device pixels a pixel, for the patterns.
        """
        if not len(bars.rows):
            return
        width_px = self.pixels.shape[1]
        colour, level = _shades(index, bars.rows, span, width_px)
        lines = ticks(index, bars.rows, span.start_ns, span.end_ns, width_px)
        _paint_bars(
            self.pixels,
            bars.first,
            bars.place,
            bars.top,
            bars.height,
            bars.depth,
            colour,
            level,
            lines,
            palette.host,
            palette.fill,
            palette.ink,
            palette.pattern,
            PATTERN_LEAST_PX,
            max(1, round(scale)),
        )

    def paint_counter(self, bar: CounterBar, span: TimeSpan, palette: LanePalette) -> None:
        """Paints a step line over its area; the lane's top is the counter's largest value."""
        if not len(bar.counter.value):
            return
        low, high = counter_envelope(bar.counter, span.start_ns, span.end_ns, self.pixels.shape[1])
        bottom = min(0.0, float(bar.counter.value.min()))
        room = max(float(bar.counter.value.max()) - bottom, 1e-300)
        _paint_counter(
            self.pixels,
            bar.top,
            bar.height,
            (low - bottom) / room,
            (high - bottom) / room,
            palette.counter_fill,
            palette.counter_line,
        )

    def paint_marks(
        self, index: TimelineIndex, span: TimeSpan, bars: Sequence[MarkBar], palette: LanePalette
    ) -> None:
        """Paints where slices with an impossible time begin."""
        if not len(index.marks):
            return
        edges = edges_ns(span.start_ns, span.end_ns, self.pixels.shape[1])
        first, last = index.marks.time_ns.searchsorted((span.start_ns, span.end_ns))
        lanes = index.marks.lane[first:last]
        pixel = edges.searchsorted(index.marks.time_ns[first:last], side="right") - 1
        for bar in bars:
            at = pixel[lanes == bar.lane]
            for x in (at, np.minimum(at + 1, self.pixels.shape[1] - 1)):
                self.pixels[max(0, bar.top) : max(0, bar.top + bar.height), x] = palette.warn


def _shades(index: TimelineIndex, rows: Int64, span: TimeSpan, width_px: int) -> tuple[Uint8, Uint8]:
    """Colour of each pixel and how much of it is busy, from 0 (nothing) to LEVELS - 1 (all)."""
    colour, busy_ns = raster(index, rows, span.start_ns, span.end_ns, width_px)
    edges = edges_ns(span.start_ns, span.end_ns, width_px)
    level = np.empty(busy_ns.shape, np.uint8)
    _levels(busy_ns, np.diff(edges), level)
    # The last pixel of a slice is fainter, so that slices of one colour are told apart.
    which, position = separate_slices(index, rows, edges, busy_ns, _SEPARATED_PX)
    last = edges.searchsorted(index.end_ns[position], side="left") - 1
    level[which, last] = np.minimum(level[which, last], _EDGE_LEVEL)
    return colour, level


@compiled
def _levels(busy_ns: Int64, length_ns: Int64, level: Uint8) -> None:
    most = LEVELS - 1
    for row in range(busy_ns.shape[0]):
        for pixel in range(busy_ns.shape[1]):
            # The share is rounded up, so that what is busy at all is not idle.
            level[row, pixel] = min(np.ceil(busy_ns[row, pixel] * (most / length_ns[pixel])), most)


@compiled
def _clear_for(pixels: Pixels, line: Pixels, top: Int64, height: Int64) -> None:
    covered = np.zeros(pixels.shape[0], np.bool_)
    for bar in range(len(top)):
        covered[max(top[bar], 0) + 1 : max(top[bar] + height[bar], 0)] = True
    for y in range(pixels.shape[0]):
        if not covered[y]:
            pixels[y] = line


@compiled
def _paint_bars(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    pixels: Pixels,
    first: Int64,
    place: Int64,
    top: Int64,
    height: Int64,
    depth: Int64,
    colour: Uint8,
    level: Uint8,
    lines: Uint8,
    host: int,
    fill: Pixels,
    ink: Pixels,
    pattern: Uint8,
    least_px: int,
    cell: int,
) -> None:
    """Paints all bars; of the rows of one, the first that is busy in a pixel gives it its colour."""
    width = colour.shape[1]
    shown, shade, line = np.empty(width, np.uint8), np.empty(width, np.uint8), np.empty(width, np.uint8)
    for bar in range(len(top)):
        begin = place[first[bar]]
        shown[:], shade[:], line[:] = colour[begin], level[begin], lines[begin]
        for row in place[first[bar] + 1 : first[bar + 1]]:
            for x in range(width):
                shown[x] = colour[row, x] if shown[x] == IDLE else shown[x]
                shade[x] = max(shade[x], level[row, x])
                line[x] = min(line[x], lines[row, x])
        if depth[bar] >= 0:
            call = host + depth[bar] % 2
            for x in range(width):
                shown[x] = shown[x] if shown[x] == IDLE else call
        _paint_bar(pixels, top[bar], height[bar], shown, shade, fill, ink, pattern, least_px * cell, cell)
        _paint_lines(pixels, top[bar] + height[bar] // 2, top[bar] + height[bar], line, fill)


@compiled
def _paint_bar(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    pixels: Pixels,
    top: int,
    height: int,
    colour: Uint8,
    level: Uint8,
    fill: Pixels,
    ink: Pixels,
    pattern: Uint8,
    least_px: int,
    cell: int,
) -> None:
    first, last = max(top, 0), min(top + height, pixels.shape[0])
    if first >= last:
        return
    # Below a bar all lines are alike (background and grid), so that one of them serves for all.
    line = pixels[first].copy()
    for x in range(len(colour)):
        if colour[x] != 255:
            line[x] = fill[colour[x], level[x]]
    for y in range(first, last):
        pixels[y] = line
    columns = np.flatnonzero(_pattern_of(colour, pattern, least_px))
    kinds = pattern[colour[columns]]
    across = columns // cell % _PERIOD
    inks = np.empty(len(columns), np.uint32)
    for place in range(len(columns)):
        inks[place] = ink[colour[columns[place]], level[columns[place]]]
    inked = np.empty((5, _PERIOD), np.bool_)
    for y in range(first, last):
        for kind in range(1, 5):
            for x in range(_PERIOD):
                inked[kind, x] = _inked(kind, x, (y - top) // cell)
        for place in range(len(columns)):
            x = columns[place]
            pixels[y, x] = inks[place] if inked[kinds[place], across[place]] else line[x]


@compiled
def _pattern_of(colour: Uint8, pattern: Uint8, least_px: int) -> Uint8:
    """The pattern of each pixel; none where a colour is narrower than ``least_px``."""
    kinds = np.zeros(len(colour), np.uint8)
    first = 0
    for x in range(len(colour) + 1):
        if x < len(colour) and colour[x] == colour[first]:
            continue
        if colour[first] != 255 and x - first >= least_px:
            kinds[first:x] = pattern[colour[first]]
        first = x
    return kinds


@compiled
def _inked(kind: int, x: int, down: int) -> bool:
    """Whether a pattern has ink at a place."""
    if kind == 1:
        return (x + down) % 6 < 2
    if kind == 2:
        return down % 4 == 3
    if kind == 4:
        return x % 4 == 3
    return down % 4 == 2 and x % 4 == 1


@compiled
def _paint_lines(pixels: Pixels, top: int, bottom: int, colour: Uint8, fill: Pixels) -> None:
    full = fill.shape[1] - 1
    for x in range(len(colour)):
        if colour[x] != 255:
            for y in range(max(top, 0), min(bottom, pixels.shape[0])):
                pixels[y, x] = fill[colour[x], full]


@compiled
def _paint_counter(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    pixels: Pixels, top: int, height: int, low: Float64, high: Float64, area: int, line: int
) -> None:
    for x in range(len(low)):
        if np.isnan(low[x]):
            continue
        upper = top + round((1 - high[x]) * (height - 1))
        lower = top + round((1 - low[x]) * (height - 1))
        for y in range(max(upper, 0), min(top + height, pixels.shape[0])):
            pixels[y, x] = line if y <= lower else area
