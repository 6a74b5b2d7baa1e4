"""The two ways to draw more ranks than anybody can tell apart: a band, and a heat map.

Layers as in ``layers``; the arithmetic is in ``band``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from gui.plots.band import Band, band_of, bin_curves, deviation_pct
from gui.plots.canvas import Stroke
from gui.plots.layers import (
    LINE_WIDTH,
    SELECTED_WIDTH,
    Drawn,
    End,
    Span,
    Style,
    extremes,
)

if TYPE_CHECKING:
    from gui.plots.band import Binned
    from gui.plots.curves import ChartData, Floats
    from gui.theme import Theme

_HEAT_BIN_PX = 4
_SMALLEST_FULL_SCALE_PCT = 5.0


class BandLayer:
    """The range of all ranks, their median, and at most three that stand apart."""

    def __init__(self, plot: Any, theme: Theme) -> None:
        self._theme = theme
        self._edges = [pg.PlotCurveItem(), pg.PlotCurveItem()]
        self._fill = pg.FillBetweenItem(*self._edges)
        self._fill.setZValue(-10)
        self._fill.setVisible(False)
        plot.addItem(self._fill, ignoreBounds=True)

    def set_theme(self, theme: Theme) -> None:
        """Takes new colours at the next drawing."""
        self._theme = theme

    def hide(self) -> None:
        """Takes the band off the plot."""
        self._fill.setVisible(False)

    def draw(self, data: ChartData, span: Span, style: Style) -> Drawn:
        """Draws the visible part of the band."""
        binned = bin_curves(data.curves, span.low, span.high, max(1, span.width_px // 2))
        band = band_of(binned)
        rows = list(band.outliers)
        if style.selected in binned.ranks:
            row = binned.ranks.index(style.selected)
            rows = [row, *(other for other in rows if other != row)][:3]
        shape = _on_axis(band, style.log)
        self._draw_fill(shape)
        outliers = [self._outlier(binned, row, place, style) for place, row in enumerate(rows)]
        median = Stroke(shape.x, shape.median, self._theme.color("chart-mark"), LINE_WIDTH)
        low, high = extremes([shape.low, shape.high])
        return Drawn(
            low=low,
            high=high,
            ends=(*_band_ends(shape, self._theme), *(end for end, _ in outliers)),
            strokes=(median, *(stroke for _, stroke in reversed(outliers))),
        )

    def _draw_fill(self, shape: Band) -> None:
        finite = np.isfinite(shape.low) & np.isfinite(shape.high)
        self._fill.setVisible(bool(finite.any()))
        self._edges[0].setData(shape.x[finite], shape.low[finite])
        self._edges[1].setData(shape.x[finite], shape.high[finite])
        self._fill.setBrush(self._theme.color("surface3"))

    def _outlier(self, binned: Binned, row: int, place: int, style: Style) -> tuple[End, Stroke]:
        # Rank colours 1 to 3: the first is the median's neighbour and stays free.
        color = self._theme.rank_color(place + 1)
        y = _scaled(binned.mean[row], style.log)
        rank = binned.ranks[row]
        width = SELECTED_WIDTH if rank == style.selected else LINE_WIDTH
        finite = y[np.isfinite(y)]
        last = float(finite[-1]) if finite.size else float("nan")
        return End(f"Rank {rank}", color, last, rank, last), Stroke(binned.x, y, color, width)


def _scaled(y: Floats, log: bool) -> Floats:
    if not log:
        return y
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.log10(np.where(y > 0, y, np.nan))
    return result


def _on_axis(band: Band, log: bool) -> Band:
    if not log:
        return band
    return type(band)(
        band.x, _scaled(band.low, log), _scaled(band.median, log), _scaled(band.high, log), band.outliers
    )


def _band_ends(shape: Band, theme: Theme) -> list[End]:
    known = np.flatnonzero(np.isfinite(shape.median))
    if not known.size:
        return []
    last = float(shape.median[known[-1]])
    return [
        End("median", theme.color("chart-mark"), last),
        End("min\N{EN DASH}max", theme.color("surface3"), last, quiet=True),
    ]


class HeatLayer:
    """A row per rank: how far it is from the median of all ranks, in percent."""

    def __init__(self, plot: Any, theme: Theme) -> None:
        self._image = pg.ImageItem(axisOrder="row-major")
        self._image.setVisible(False)
        self._image.setZValue(-5)
        plot.addItem(self._image, ignoreBounds=True)
        self.order: tuple[int, ...] = ()
        self.full_scale_pct = 0.0
        self._selected_color = theme.color("accent")
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Takes the five stops of the theme's scale of differences."""
        stops = [QColor(stop) for stop in theme.diverging]
        self._image.setColorMap(pg.ColorMap(np.linspace(0, 1, len(stops)), stops))
        self._selected_color = theme.color("text")

    def hide(self) -> None:
        """Takes the image off the plot."""
        self._image.setVisible(False)

    def draw(self, data: ChartData, span: Span, style: Style) -> Drawn:
        """Draws a row per rank, rank 0 on top, or the largest deviation on top."""
        if not data.curves:
            self.hide()
            return Drawn(whole=True)
        binned = bin_curves(data.curves, span.low, span.high, max(1, span.width_px // _HEAT_BIN_PX))
        deviation = deviation_pct(binned)
        rows = list(range(len(binned.ranks)))
        if style.by_deviation:
            typical = np.nan_to_num(np.nanmean(np.abs(np.nan_to_num(deviation)), axis=1))
            rows.sort(key=lambda row: -float(typical[row]))
        self.order = tuple(binned.ranks[row] for row in rows)
        finite = np.abs(deviation[np.isfinite(deviation)])
        largest = float(np.percentile(finite, 99)) if finite.size else 0.0
        self.full_scale_pct = max(largest, _SMALLEST_FULL_SCALE_PCT)
        # The y axis grows upwards, row 0 belongs at the top.
        image = deviation[rows][::-1]
        self._image.setImage(image, levels=(-self.full_scale_pct, self.full_scale_pct), autoLevels=False)
        self._image.setRect(QRectF(span.low, -0.5, span.high - span.low, len(rows)))
        self._image.setVisible(True)
        scale = f"colour: deviation from the median, up to ±{self.full_scale_pct:.0f}\N{NO-BREAK SPACE}%"
        return Drawn(
            low=-0.5,
            high=len(rows) - 0.5,
            ends=(*self._ends(rows, binned, deviation, style),),
            note=scale,
            whole=True,
        )

    def _ends(self, rows: list[int], binned: Binned, deviation: Floats, style: Style) -> list[End]:
        """Names the selected rank and the one that is furthest off now."""
        quarter = max(1, deviation.shape[1] // 4)
        recent = np.nan_to_num(deviation[:, -quarter:])
        worst = int(np.argmax(np.abs(recent.mean(axis=1))))
        named = {worst}
        if style.selected in binned.ranks:
            named.add(binned.ranks.index(style.selected))
        return [
            End(
                f"Rank {binned.ranks[row]}",
                self._selected_color,
                float(len(rows) - 1 - rows.index(row)),
                binned.ranks[row],
                float(recent[row].mean()),
            )
            for row in sorted(named)
        ]
