"""An axis with readable ticks around pyqtgraph's AxisItem.

The item is held, not subclassed: pyqtgraph has no type stubs. Whoever moves the
view tells the axis its ticks; pyqtgraph's own choice of ticks is never used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF, QPen

from gui.plots.ticks import Ticks, linear_ticks, log_ticks, second_ticks

if TYPE_CHECKING:
    from gui.theme import Theme

TICK_PX = 4
_GAP_PX = 6
_BOTTOM_HEIGHT_PX = 22
_X_LABEL_ROOM_PX = 76
_Y_LABEL_ROOM_PX = 42

Scale = Literal["linear", "whole", "seconds", "log"]


class ValueAxis:
    """A left or bottom axis.

    Attributes:
        item: The AxisItem to give to a PlotItem.
        ticks: What is drawn now.
    """

    def __init__(self, side: Literal["left", "bottom"]) -> None:
        self.item: Any = pg.AxisItem(side)
        self.ticks = Ticks(())
        self._side = side
        self._metrics: QFontMetricsF | None = None
        # False, not True: labels at the very ends may reach over the axis' own ends.
        self.item.setStyle(hideOverlappingLabels=False, autoExpandTextSpace=False, maxTextLevel=0)
        self.item.enableAutoSIPrefix(False)
        # Until it is told some, pyqtgraph would choose ticks of its own.
        self.item.setTicks([[], []])
        if side == "left":
            self.item.setStyle(tickLength=0, tickTextOffset=_GAP_PX, tickAlpha=0)
        else:
            self.item.setStyle(tickLength=TICK_PX, tickTextOffset=1, tickAlpha=255)
            self.item.setHeight(_BOTTOM_HEIGHT_PX)

    def set_theme(self, theme: Theme) -> None:
        """Colours and the font of the labels."""
        font = theme.font(theme.px_small)
        self._metrics = QFontMetricsF(font)
        self.item.setTickFont(font)
        self.item.setTextPen(theme.color("text2"))
        line = QPen(theme.color("chart-axis"))
        line.setCosmetic(True)
        # The left axis has labels only; the grid lines show where they belong.
        self.item.setPen(QPen(Qt.PenStyle.NoPen) if self._side == "left" else line)
        self.item.setTickPen(QPen(Qt.PenStyle.NoPen) if self._side == "left" else line)

    def show(self, low: float, high: float, length_px: float, scale: Scale) -> Ticks:
        """Chooses the ticks for a range and draws them.

        Args:
            low: Start of the range, log10 of it on a logarithmic axis.
            high: End of the range, above ``low``.
            length_px: How long the axis is.
            scale: Kind of axis.
        """
        count = max(2.0, length_px / (_Y_LABEL_ROOM_PX if self._side == "left" else _X_LABEL_ROOM_PX))
        if scale == "log":
            ticks = log_ticks(low, high, count)
        elif scale == "seconds":
            ticks = second_ticks(low, high, count)
        else:
            ticks = linear_ticks(low, high, count, whole=scale == "whole")
        self.set_ticks(ticks)
        return ticks

    def set_ticks(self, ticks: Ticks) -> None:
        """Draws these ticks."""
        if ticks == self.ticks:
            return
        self.ticks = ticks
        major = [(tick.position, tick.label) for tick in ticks.major]
        minor = [(tick.position, "") for tick in ticks.minor]
        self.item.setTicks([major, minor])
        if self._side == "left":
            self._fit_width()

    def _fit_width(self) -> None:
        """As wide as the labels; it shrinks only by a lot, so that the plot does not jitter."""
        if self._metrics is None:
            return
        widths = [self._metrics.horizontalAdvance(tick.label) for tick in self.ticks.major]
        wanted = round(max(widths, default=16.0) + _GAP_PX + 4)
        now = self.item.width()
        if wanted > now or wanted < now - 14:
            self.item.setWidth(max(wanted, 30))
