"""What draws ranks into a plot, and the layer that draws a line each; those for many are in ``many_ranks``.

A layer works on the visible range only. It returns the curves to draw and what
has to be written beside them (names at their ends, marks); fills and images it
puts into the plot itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from PySide6.QtGui import QColor

from core.telemetry.decimate import count_not_positive, lone_points, min_max, positive
from core.telemetry.series import Smoother
from core.telemetry.views import Series
from gui.plots.canvas import Stroke
from gui.plots.condensed import Condenser, block_for
from gui.plots.curves import SMALLEST_DRAWN, drawable, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gui.plots.curves import ChartData, Curve, Floats
    from gui.theme import Theme

LINE_WIDTH = 1.2
SELECTED_WIDTH = 1.8
_PALER_SHARE = 0.4
_SMOOTHING_WEIGHT = 0.95
_MARK_PITCH_PX = 3


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
        strokes: Curves to draw, the uppermost last.
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
    strokes: tuple[Stroke, ...] = ()
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


@dataclass(slots=True)
class _Thinned:
    """One curve reduced to the pixels, in axis coordinates."""

    curve: Curve
    x: Floats
    y: Floats
    off_scale: int


def thin(x: Floats, y: Floats, span: Span, log: bool) -> tuple[Floats, Floats]:
    """About two points a pixel of the visible part, in axis coordinates.

    Args:
        x: (n,) float64, ascending.
        y: (n,) float64.
        span: What is visible.
        log: The y axis is logarithmic; values at or below zero become gaps.

    Returns:
        x, and y (log10 of the value on a log axis).
    """
    if not log:
        thin_x, thin_y = min_max(x, y, span.low, span.high, span.width_px)
        return thin_x, drawable(thin_y)
    part = visible(x, span.low, span.high)
    thin_x, thin_y = min_max(x[part], positive(y[part]), span.low, span.high, span.width_px)
    return thin_x, np.log10(np.maximum(drawable(thin_y), SMALLEST_DRAWN))


def _mixed(color: QColor, ground: QColor, share: float) -> QColor:
    """The colour as it looks on the ground with this opacity, itself opaque."""
    return QColor.fromRgbF(
        share * color.redF() + (1 - share) * ground.redF(),
        share * color.greenF() + (1 - share) * ground.greenF(),
        share * color.blueF() + (1 - share) * ground.blueF(),
    )


class LineLayer:
    """A line per rank; the selected one is wider and drawn last."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._smoothers: dict[int, Smoother] = {}
        self._condensers: dict[tuple[int, int, bool, bool], Condenser] = {}

    def set_theme(self, theme: Theme) -> None:
        """Takes new colours at the next drawing."""
        self._theme = theme

    def forget(self) -> None:
        """The next curves are of another run: nothing that was worked out is kept."""
        self._smoothers.clear()
        self._condensers.clear()

    def hide(self) -> None:
        """Nothing of it stays in the plot."""

    def draw(self, data: ChartData, span: Span, style: Style) -> Drawn:
        """Thins the visible part of each curve."""
        raw = [self._raw(curve, span, style) for curve in data.curves]
        smoothed = [self._smoothed(curve, span, style) for curve in data.curves] if style.smooth else []
        strokes = [
            *self._strokes(raw, style, paler=style.smooth),
            *self._strokes(smoothed, style, paler=False),
        ]
        return self._summary(data, span, raw, smoothed or raw, tuple(strokes))

    def _strokes(self, items: list[_Thinned], style: Style, *, paler: bool) -> list[Stroke]:
        """One for each curve, rank 0 over the others, the selected one over all."""
        order = sorted(items, key=lambda item: (item.curve.rank == style.selected, -item.curve.rank))
        return [self._stroke(item, style, paler) for item in order]

    def _stroke(self, item: _Thinned, style: Style, paler: bool) -> Stroke:
        rank = item.curve.rank
        color = self.color(rank)
        if paler:
            color = _mixed(color, self._theme.color("surface2"), _PALER_SHARE)
        wide = rank == style.selected and not paler
        return Stroke(item.x, item.y, color, SELECTED_WIDTH if wide else LINE_WIDTH, self.dashed(rank))

    def _raw(self, curve: Curve, span: Span, style: Style) -> _Thinned:
        series = Series(x=curve.x, y=curve.y, generation=curve.generation)
        return self._thinned(curve, series, span, log=style.log, smooth=False)

    def _smoothed(self, curve: Curve, span: Span, style: Style) -> _Thinned:
        smoother = self._smoothers.setdefault(curve.rank, Smoother(_SMOOTHING_WEIGHT))
        smooth = smoother.update(Series(x=curve.x, y=curve.y, generation=curve.generation))
        return self._thinned(curve, smooth, span, log=style.log, smooth=True)

    def _thinned(self, curve: Curve, series: Series, span: Span, *, log: bool, smooth: bool) -> _Thinned:
        """Of a curve much longer than the plot is wide only the condensed points are looked at."""
        part = visible(series.x, span.low, span.high)
        off_scale = count_not_positive(series.y[part]) if log else 0
        block = block_for(part.stop - part.start, span.width_px)
        if block is not None:
            key = curve.rank, block, log, smooth
            condenser = self._condensers.setdefault(key, Condenser(block, only_positive=log))
            series = condenser.update(series)
        return _Thinned(curve, *thin(series.x, series.y, span, log), off_scale)

    def color(self, rank: int) -> QColor:
        """Colour of a line; a curve over all ranks has the mark colour."""
        return self._theme.color("chart-mark") if rank < 0 else self._theme.rank_color(rank)

    def dashed(self, rank: int) -> bool:
        """Whether its line is dashed."""
        return rank >= 0 and self._theme.rank_dashed(rank)

    def _summary(
        self,
        data: ChartData,
        span: Span,
        raw: list[_Thinned],
        shown: list[_Thinned],
        strokes: tuple[Stroke, ...],
    ) -> Drawn:
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
            strokes=strokes,
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
