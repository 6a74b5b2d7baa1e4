"""Texts in the lanes: cut to their room, laid out once and kept, because that costs more than drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QStaticText

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QPainter

LABEL_LEAST_PX: Final = 60
_MARGIN_PX: Final = 5
_ROOM_STEP_PX: Final = 6
_MOST_KEPT: Final = 4096
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
        self._metrics = QFontMetricsF(font)
        self._widths: dict[str, float] = {}
        self._texts: dict[tuple[str, int], QStaticText | None] = {}

    def draw(self, painter: QPainter, box: QRectF, text: str, ink: QColor, patch: QColor | None) -> None:
        """Draws a text into a slice; nothing if not even a few letters fit.

        Args:
            painter: With any font.
            box: The visible part of the slice.
            text: Literal.
            ink: Colour of the text.
            patch: Painted below the text where the slice has a pattern.
        """
        laid_out = self._laid_out(text[:_MOST_CHARACTERS], box.width() - 2 * _MARGIN_PX)
        if laid_out is None:
            return
        size = laid_out.size()
        at = QPointF(round(box.left()) + _MARGIN_PX, round(box.center().y() - size.height() / 2))
        if patch is not None:
            painter.fillRect(
                QRectF(at.x() - 3, box.top(), size.width() + 6, box.height()).intersected(box), patch
            )
        painter.setFont(self._font)
        painter.setPen(ink)
        painter.drawStaticText(at, laid_out)

    def _laid_out(self, text: str, room_px: float) -> QStaticText | None:
        width = self._widths.get(text)
        if width is None:
            if len(self._widths) >= _MOST_KEPT:
                self._widths.clear()
            width = self._widths[text] = self._metrics.horizontalAdvance(text)
        # Cut texts change in steps, so that a zoom does not lay out every text anew.
        step = -1 if width <= room_px else int(room_px // _ROOM_STEP_PX)
        key = (text, step)
        if key not in self._texts:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            self._texts[key] = self._new(text, step)
        return self._texts[key]

    def _new(self, text: str, step: int) -> QStaticText | None:
        shown = text
        if step >= 0:
            shown = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, step * _ROOM_STEP_PX)
            if len(shown) < 3:
                return None
        laid_out = QStaticText(shown)
        laid_out.setTextFormat(Qt.TextFormat.PlainText)
        laid_out.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
        laid_out.prepare(font=self._font)
        return laid_out
