"""The three ways to draw ranks into a plot: a line each, a band of all, a heat map row each.

A layer owns its items in a pyqtgraph PlotItem and fills them for the visible
range only. What has to be written beside the curves (names at their ends,
marks) is returned, not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from core.telemetry.decimate import count_not_positive, lone_points, min_max, positive
from core.telemetry.series import Smoother
from core.telemetry.views import Series
from gui.plots.curves import visible
from gui.plots.dashes import cut_dashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gui.plots.curves import ChartData, Curve, Floats
    from gui.theme import Theme

LINE_WIDTH = 1.2
SELECTED_WIDTH = 1.8
ANTIALIAS_POINTS = 6_000
"""Drawn points, of all curves, up to which lines are smoothed: two a pixel of four curves or so."""
_HEAT_BIN_PX = 4
_SMOOTHING_WEIGHT = 0.95
_MARK_PITCH_PX = 3
_SMALLEST_FULL_SCALE_PCT = 5.0


@dataclass(frozen=True, slots=True)
class Span:
    """The visible range of a plot and its size.

    Attributes:
        low: Start of x.
        high: End of x, above ``low``.
        width_px: Width of the plot.
        height_px: Height of the plot.
    """

    low: float
    high: float
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class Style:
    """How the user wants the curves: changes nothing about the data."""

    log: bool = False
    smooth: bool = False
    selected: int | None = None
    by_deviation: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Words that belong to the right end of a curve, at ``y`` in axis coordinates."""

    text: str
    color: QColor
    y: float
    rank: int | None = None
    value: float = float("nan")
    quiet: bool = False


Kind = Literal["nan", "inf", "-inf"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A measured value that has no place on the axis; one stands for its neighbours within a few pixels."""

    x: float
    kind: Kind
    color: QColor


@dataclass(frozen=True, slots=True)
class Dot:
    """A point that has no neighbour to draw a line to, in axis coordinates."""

    x: float
    y: float
    color: QColor


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a layer has drawn.

    Attributes:
        low: Smallest y in axis coordinates (log10 on a log axis), None if there is none.
        high: Largest y.
        off_scale: Points at or below zero that a log axis cannot show.
        nan_places: Number of different x at which a NaN was measured.
        inf_places: The same for infinities.
        points: How many were drawn.
        whole: The y axis counts ranks.
    """

    low: float | None = None
    high: float | None = None
    ends: tuple[End, ...] = ()
    marks: tuple[Mark, ...] = ()
    dots: tuple[Dot, ...] = ()
    off_scale: int = 0
    nan_places: int = 0
    inf_places: int = 0
    points: int = 0
    note: str = ""
    whole: bool = False


class Layer(Protocol):
    """What the chart needs of a layer."""

    def set_theme(self, theme: Theme) -> None:
        """Takes new colours."""

    def draw(self, data: ChartData, span: Span, style: Style) -> Drawn:
        """Fills its items for the visible range."""

    def hide(self) -> None:
        """Takes everything off the plot."""


def line_pen(color: QColor, width: float) -> QPen:
    """A cosmetic pen for a curve that is drawn as separate lines."""
    pen = QPen(color)
    pen.setCosmetic(True)
    pen.setWidthF(width)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    return pen


@dataclass(frozen=True, slots=True)
class Look:
    """How a curve item is drawn.

    Attributes:
        pen: Colour and width; opaque, because separate lines overlap.
        z: The higher one lies on top.
        antialias: Costs three times as much.
        connect: (n,) whether a point is connected to the next; None connects
            all that are finite.
    """

    pen: QPen
    z: float
    antialias: bool = True
    connect: NDArray[np.bool_] | None = None


class CurvePool:
    """Curve items by key, made when needed and hidden when not."""

    def __init__(self, plot: Any) -> None:
        self._plot = plot
        self._items: dict[object, Any] = {}
        self._used: set[object] = set()

    def begin(self) -> None:
        """Before a drawing: nothing is used yet."""
        self._used = set()

    def curve(self, key: object, x: Floats, y: Floats, look: Look) -> None:
        """Shows the curve of ``key`` with these points, in axis coordinates."""
        item = self._items.get(key)
        if item is None:
            item = pg.PlotCurveItem()
            # Paths with a wide pen are a hundred times slower: see ``dashes``.
            item.setSegmentedLineMode("on")
            self._plot.addItem(item, ignoreBounds=True)
            self._items[key] = item
        connect = "finite" if look.connect is None else look.connect
        item.setData(x, y, pen=look.pen, connect=connect, antialias=look.antialias)
        item.setZValue(look.z)
        item.setVisible(True)
        self._used.add(key)

    def end(self) -> None:
        """After a drawing: hides what was not used in it."""
        for key, item in self._items.items():
            if key not in self._used:
                item.setVisible(False)


@dataclass(slots=True)
class _Thinned:
    """One curve reduced to the pixels, in axis coordinates."""

    curve: Curve
    x: Floats
    y: Floats
    off_scale: int


def thin(x: Floats, y: Floats, span: Span, log: bool) -> tuple[Floats, Floats, int]:
    """About two points a pixel of the visible part, in axis coordinates.

    Args:
        x: (n,) float64, ascending.
        y: (n,) float64.
        span: What is visible.
        log: The y axis is logarithmic.

    Returns:
        x, y (log10 of the value on a log axis), and how many points a log axis
        cannot show.
    """
    if not log:
        return *min_max(x, y, span.low, span.high, span.width_px), 0
    part = visible(x, span.low, span.high)
    thin_x, thin_y = min_max(x[part], positive(y[part]), span.low, span.high, span.width_px)
    return thin_x, np.log10(thin_y), count_not_positive(y[part])


@dataclass(frozen=True, slots=True)
class _Scale:
    """Pixels per unit of either axis, and whether so much can be drawn smoothly."""

    px_per_x: float
    px_per_y: float
    antialias: bool

    @classmethod
    def of(cls, span: Span, low: float | None, high: float | None, points: int) -> _Scale:
        height = (high - low) if low is not None and high is not None and high > low else 1.0
        return cls(
            px_per_x=span.width_px / (span.high - span.low),
            px_per_y=span.height_px / height,
            antialias=points <= ANTIALIAS_POINTS,
        )


def _mixed(color: QColor, ground: QColor, share: float) -> QColor:
    """The colour as it looks on the ground with this opacity, itself opaque."""
    return QColor.fromRgbF(
        share * color.redF() + (1 - share) * ground.redF(),
        share * color.greenF() + (1 - share) * ground.greenF(),
        share * color.blueF() + (1 - share) * ground.blueF(),
    )


class LineLayer:
    """A line per rank; the selected one is wider and drawn last."""

    def __init__(self, plot: Any, theme: Theme) -> None:
        self._theme = theme
        self._pool = CurvePool(plot)
        self._smoothers: dict[int, Smoother] = {}

    def set_theme(self, theme: Theme) -> None:
        """Takes new colours at the next drawing."""
        self._theme = theme

    def forget(self) -> None:
        """The next curves are of another run: nothing of the smoothing is kept."""
        self._smoothers.clear()

    def hide(self) -> None:
        """Takes the lines off the plot."""
        self._pool.begin()
        self._pool.end()

    def draw(self, data: ChartData, span: Span, style: Style) -> Drawn:
        """Draws the visible part of each curve."""
        raw = [_Thinned(curve, *thin(curve.x, curve.y, span, style.log)) for curve in data.curves]
        smoothed = [self._smoothed(curve, span, style) for curve in data.curves] if style.smooth else []
        low, high = extremes([item.y for item in raw])
        pen_scale = _Scale.of(span, low, high, sum(len(item.x) for item in (*raw, *smoothed)))
        self._pool.begin()
        for item in raw:
            self._line(item, style, pen_scale, "behind" if style.smooth else "raw")
        for item in smoothed:
            self._line(item, style, pen_scale, "smooth")
        self._pool.end()
        return self._summary(data, span, raw, smoothed or raw)

    def _smoothed(self, curve: Curve, span: Span, style: Style) -> _Thinned:
        smoother = self._smoothers.setdefault(curve.rank, Smoother(_SMOOTHING_WEIGHT))
        smooth = smoother.update(Series(x=curve.x, y=curve.y, generation=curve.generation))
        return _Thinned(curve, *thin(smooth.x, smooth.y, span, style.log))

    def _line(self, item: _Thinned, style: Style, scale: _Scale, kind: str) -> None:
        rank = item.curve.rank
        selected = rank == style.selected
        color = self.color(rank)
        if kind == "behind":
            color = _mixed(color, self._theme.color("surface2"), 0.4)
        width = SELECTED_WIDTH if selected and kind != "behind" else LINE_WIDTH if scale.antialias else 1.0
        z = (10.0 if kind == "smooth" else 0.0) + (5.0 if selected else 1.0 - rank * 0.01)
        x, y, connect = item.x, item.y, None
        if self.dashed(rank) and len(x) > 1:
            x, y, connect = cut_dashes(x, y, scale.px_per_x, scale.px_per_y)
        look = Look(line_pen(color, width), z, scale.antialias, connect)
        self._pool.curve((rank, kind == "smooth"), x, y, look)

    def color(self, rank: int) -> QColor:
        """Colour of a line; a curve over all ranks has the mark colour."""
        return self._theme.color("chart-mark") if rank < 0 else self._theme.rank_color(rank)

    def dashed(self, rank: int) -> bool:
        """Whether its line is dashed."""
        return rank >= 0 and self._theme.rank_dashed(rank)

    def _summary(self, data: ChartData, span: Span, raw: list[_Thinned], shown: list[_Thinned]) -> Drawn:
        low, high = extremes([item.y for item in raw])
        dots = [dot for item in raw for dot in _lone_points(item, self.color(item.curve.rank))]
        odd = _non_finite(data.curves, span) if data.marks_non_finite else {}
        return Drawn(
            low=low,
            high=high,
            ends=tuple(end for end in map(self._end, shown) if end is not None),
            marks=tuple(self._marks(odd, span)),
            dots=tuple(dots),
            off_scale=sum(item.off_scale for item in raw),
            nan_places=_places(odd, ("nan",)),
            inf_places=_places(odd, ("inf", "-inf")),
            points=sum(len(item.x) for item in raw),
        )

    def _marks(self, odd: dict[tuple[int, Kind], Floats], span: Span) -> list[Mark]:
        marks: dict[tuple[int, Kind], Mark] = {}
        pitch = (span.high - span.low) / max(1, span.width_px // _MARK_PITCH_PX)
        for (rank, kind), x in odd.items():
            places, first = np.unique(np.floor((x - span.low) / pitch), return_index=True)
            for place, index in zip(places.tolist(), first.tolist(), strict=True):
                taken = marks.get((int(place), kind))
                # Several ranks at the same step: it belongs to none of them.
                color = self._theme.color("error") if taken else self.color(rank)
                marks[int(place), kind] = Mark(taken.x if taken else float(x[index]), kind, color)
        return list(marks.values())

    def _end(self, item: _Thinned) -> End | None:
        finite = np.flatnonzero(np.isfinite(item.y))
        if not finite.size:
            return None
        rank = item.curve.rank
        last = float(item.y[finite[-1]])
        return End(f"Rank {rank}" if rank >= 0 else "Skew", self.color(rank), last, rank, last)


def extremes(curves: list[Floats]) -> tuple[float | None, float | None]:
    """Smallest and largest finite value of several curves, None if there is none."""
    lows, highs = [], []
    for y in curves:
        finite = y[np.isfinite(y)]
        if finite.size:
            lows.append(float(finite.min()))
            highs.append(float(finite.max()))
    return (min(lows), max(highs)) if lows else (None, None)


def _non_finite(curves: Sequence[Curve], span: Span) -> dict[tuple[int, Kind], Floats]:
    """X of the measured values that are not numbers, by rank and kind."""
    found: dict[tuple[int, Kind], Floats] = {}
    for curve in curves:
        inside = slice(
            int(np.searchsorted(curve.x, span.low, "left")), int(np.searchsorted(curve.x, span.high, "right"))
        )
        y = curve.y[inside]
        odd = np.flatnonzero(~np.isfinite(y))
        if not odd.size:
            continue
        x, y = curve.x[inside][odd], y[odd]
        kinds: tuple[tuple[Kind, NDArray[np.bool_]], ...] = (
            ("nan", np.isnan(y)),
            ("inf", y == np.inf),
            ("-inf", y == -np.inf),
        )
        for kind, which in kinds:
            if which.any():
                found[curve.rank, kind] = x[which]
    return found


def _places(odd: dict[tuple[int, Kind], Floats], kinds: tuple[Kind, ...]) -> int:
    parts = [x for (_, kind), x in odd.items() if kind in kinds]
    return len(np.unique(np.concatenate(parts))) if parts else 0


def _lone_points(item: _Thinned, color: QColor) -> list[Dot]:
    """Points between two gaps: a line needs two points, so these would not be seen."""
    x, y = lone_points(item.x, item.y)
    return [Dot(place, value, color) for place, value in zip(x.tolist(), y.tolist(), strict=True)]
