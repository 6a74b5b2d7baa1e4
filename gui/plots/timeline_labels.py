"""Texts in the lanes: cut to their room, laid out once and kept, because that costs more than drawing."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QStaticText

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QPainter

LABEL_LEAST_PX: Final = 60
_MARGIN_PX: Final = 5
_CUT_STEP: Final = 2
_LEAST_CHARACTERS: Final = 2
_DOTS: Final = "\N{HORIZONTAL ELLIPSIS}"
_MOST_KEPT: Final = 8192
_MOST_CHARACTERS: Final = 300
_DARK: Final = "#0B0D10"
_LIGHT: Final = "#FFFFFF"


def text_on(fill: QColor) -> QColor:
    """Dark or white, whichever contrasts more with a fill. Source: WCAG 2.2, contrast ratio."""
    luminance = _luminance(fill)
    dark, light = QColor(_DARK), QColor(_LIGHT)
    on_dark = (luminance + 0.05) / (_luminance(dark) + 0.05)
    on_light = (_luminance(light) + 0.05) / (luminance + 0.05)
    return dark if on_dark > on_light else light


def _luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class LaneLabels:
    """Draws the texts of slices in one font."""

    def __init__(self, font: QFont) -> None:
        self._font = font
        metrics = QFontMetricsF(font)
        self._advance = metrics.horizontalAdvance
        self._dots_px = metrics.horizontalAdvance(_DOTS)
        self._height_px = metrics.height()
        self._ends: dict[str, tuple[float, ...]] = {}
        self._texts: dict[tuple[str, int], QStaticText] = {}

    def begin(self, painter: QPainter) -> None:
        """Sets the font, once for many texts."""
        painter.setFont(self._font)

    def draw(
        self,
        painter: QPainter,
        box: tuple[float, float, float, float],
        text: str,
        ink: QColor,
        patch: QColor | None,
    ) -> None:
        """Draws a text into a slice; nothing if not even a few letters fit.

        Args:
            painter: After ``begin``.
            box: Left, top, width and height of the visible part of the slice.
            text: Literal.
            ink: Colour of the text.
            patch: Painted below the text where the slice has a pattern.
        """
        left, top, width, height = box
        laid_out = self._laid_out(text[:_MOST_CHARACTERS], width - 2 * _MARGIN_PX)
        if laid_out is None:
            return
        at = QPointF(round(left) + _MARGIN_PX, round(top + (height - self._height_px) / 2))
        if patch is not None:
            below = QRectF(at.x() - 3, top, laid_out.size().width() + 6, height)
            painter.fillRect(below.intersected(QRectF(*box)), patch)
        painter.setPen(ink)
        painter.drawStaticText(at, laid_out)

    def _laid_out(self, text: str, room_px: float) -> QStaticText | None:
        ends = self._ends.get(text)
        if ends is None:
            if len(self._ends) >= _MOST_KEPT:
                self._ends.clear()
            ends = self._ends[text] = tuple(accumulate(self._advance(each) for each in text))
        characters = len(text)
        if ends and ends[-1] > room_px:
            # In steps, so that a zoom does not lay out every text anew.
            characters = bisect_right(ends, room_px - self._dots_px) // _CUT_STEP * _CUT_STEP
            if characters < _LEAST_CHARACTERS:
                return None
        key = (text, characters)
        laid_out = self._texts.get(key)
        if laid_out is None:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            laid_out = self._texts[key] = self._new(text, characters)
        return laid_out

    def _new(self, text: str, characters: int) -> QStaticText:
        shown = text if characters == len(text) else text[:characters] + _DOTS
        laid_out = QStaticText(shown.replace("\n", " "))
        laid_out.setTextFormat(Qt.TextFormat.PlainText)
        laid_out.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
        laid_out.prepare(font=self._font)
        return laid_out
