"""Texts of plain ASCII as masks, put together from letters that are drawn once.

Qt takes a quarter of a millisecond to lay out and draw one text, and a picture
may need hundreds of new ones. Letters stand at quarters of a pixel, as Qt puts
them, one after the other: without kerning and ligatures, which are hardly seen
in the small texts of lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

from core.compiled import compiled

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from core.tables.columns import Float64, Int64, Uint8

_CODES: Final = 128
_FIRST_CODE: Final = 32
_LAST_CODE: Final = 126
_QUARTERS: Final = 4
_BESIDE_PX: Final = 3
"""Room for what of a letter lies before its place or behind its end."""


class Letters:
    """The letters of one font for one scale of the screen."""

    def __init__(self, font: QFont, scale: float) -> None:
        self._font = font
        self._scale = scale
        metrics = QFontMetricsF(font)
        self._metrics = metrics
        self._ascent = metrics.ascent()
        self._height_px = max(1, int(np.ceil(metrics.height() * scale)))
        self._advance = np.full(_CODES, np.nan)
        self._first = np.zeros(_CODES, np.int64)
        self._line_px = np.zeros(_CODES, np.int64)
        self._coverage = np.zeros(0, np.uint8)

    def drawn(self, text: str) -> tuple[Uint8, tuple[float, ...]] | None:
        """Draws a text.

        Returns:
            coverage: (height, width) uint8, in device pixels.
            ends: Where each letter ends, in device-independent pixels.
            None if the text is not of letters that stand for themselves.
        """
        if not text.isascii() or not text.isprintable():
            return None
        codes = np.frombuffer(text.encode("ascii"), np.uint8)
        unknown = np.isnan(self._advance[codes])
        if unknown.any():
            self._draw_letters(np.unique(codes[unknown]).tolist())
        ends = self._advance[codes].cumsum()
        width_px = max(1, int(np.ceil(ends[-1] * self._scale)) + 1) if len(ends) else 1
        mask = np.zeros((self._height_px, width_px), np.uint8)
        _put_together(
            codes, ends - self._advance[codes], self._scale, self._first, self._line_px, self._coverage, mask
        )
        return mask, tuple(ends.tolist())

    def _draw_letters(self, codes: list[int]) -> None:
        """Draws letters, each at every quarter of a pixel, side by side."""
        for code in codes:
            self._advance[code] = self._metrics.horizontalAdvance(chr(code))
        room_px = int(np.ceil(self._advance[codes].max() * self._scale)) + 2 * _BESIDE_PX + 1
        size = (_QUARTERS * room_px, len(codes) * self._height_px)
        image = QImage(*size, QImage.Format.Format_ARGB32_Premultiplied)
        # On nothing, so that the letters' edges are grey and not coloured.
        image.fill(Qt.GlobalColor.transparent)
        image.setDevicePixelRatio(self._scale)
        with QPainter(image) as painter:
            painter.setFont(self._font)
            painter.setPen(Qt.GlobalColor.white)
            for number, code in enumerate(codes):
                foot = number * self._height_px / self._scale + self._ascent
                for quarter in range(_QUARTERS):
                    left_px = quarter * room_px + _BESIDE_PX + quarter / _QUARTERS
                    painter.drawText(QPointF(left_px / self._scale, foot), chr(code))
        pixels = np.frombuffer(image.constBits(), np.uint8).reshape(len(codes), -1, 4)
        self._first[codes] = len(self._coverage) + np.arange(len(codes)) * pixels.shape[1]
        self._line_px[codes] = size[0]
        self._coverage = np.concatenate((self._coverage, pixels[:, :, 3].ravel()))


def load_compiled() -> None:
    """Loads the compiled code of this module."""
    no_codes = np.frombuffer(b"", np.uint8)
    numbers, coverage = np.zeros(1, np.int64), np.zeros(1, np.uint8)
    _put_together(no_codes, np.zeros(0), 1.0, numbers, numbers, coverage, np.zeros((1, 1), np.uint8))


@compiled
def _put_together(  # noqa: PLR0913, PLR0917  (a compiled loop takes arrays, no objects)
    codes: Uint8, left: Float64, scale: float, first: Int64, line_px: Int64, coverage: Uint8, mask: Uint8
) -> None:
    """Puts the letters of a text side by side; where two overlap, the stronger one is seen."""
    for number in range(len(codes)):
        code = codes[number]
        quarters = int(np.floor(left[number] * scale * _QUARTERS + 0.5))
        room_px = line_px[code] // _QUARTERS
        begin = quarters // _QUARTERS - _BESIDE_PX
        skip, last = max(0, -begin), min(room_px, mask.shape[1] - begin)
        for y in range(mask.shape[0]):
            source = first[code] + y * line_px[code] + quarters % _QUARTERS * room_px
            for x in range(skip, last):
                mask[y, begin + x] = max(mask[y, begin + x], coverage[source + x])
