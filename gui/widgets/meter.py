"""A thin bar: how much of a whole is used, and how much more is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from gui.theme import Theme, ThemeController

HEIGHT_PX = 6
_HELD_SHARE = 0.35


class Meter(QWidget):
    """Solid for what is used, paler for what is held beyond it."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._rank = 0
        self._used = 0.0
        self._held = 0.0
        self.setFixedHeight(HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._redraw)

    def set_shares(self, rank: int, used: float, held: float) -> None:
        """Shows two shares of the whole, 0 to 1, in a rank's colour."""
        now = (rank, min(max(used, 0.0), 1.0), min(max(held, 0.0), 1.0))
        if now != (self._rank, self._used, self._held):
            self._rank, self._used, self._held = now
            self.update()

    def _redraw(self, _theme: Theme) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws track, held and used part."""
        theme = self._theme.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(self.rect())
        painter.setBrush(theme.color("surface3"))
        painter.drawRoundedRect(whole, 2, 2)
        color = theme.rank_color(self._rank)
        paler = QColor(color)
        paler.setAlphaF(_HELD_SHARE)
        for share, brush in ((self._held, paler), (self._used, color)):
            if share > 0:
                painter.setBrush(brush)
                part = QRectF(whole.left(), whole.top(), max(2.0, whole.width() * share), whole.height())
                painter.drawRoundedRect(part, 2, 2)
        painter.end()


class Swatch(QWidget):
    """The square in a rank's colour; dashed ranks have a notch so that colour is not their only mark."""

    def __init__(self, theme: ThemeController, rank: int = 0) -> None:
        super().__init__()
        self._theme = theme
        self._rank = rank
        self.setFixedSize(10, 10)
        theme.changed.connect(self._redraw)

    def set_rank(self, rank: int) -> None:
        """Takes another rank's colour."""
        if rank != self._rank:
            self._rank = rank
            self.update()

    def _redraw(self, _theme: Theme) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the square."""
        theme = self._theme.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.rank_color(self._rank))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        if theme.rank_dashed(self._rank):
            painter.fillRect(QRectF(0, 4, 10, 2), theme.color("surface2"))
        painter.end()
