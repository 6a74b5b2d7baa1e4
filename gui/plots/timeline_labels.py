"""Texts in the lanes: each is drawn once as a mask, cut to its room and mixed into the lanes' picture.

Hundreds of texts a frame are too many for Qt's own calls: it would lay out each
anew at every width. A mask is drawn with the whole text; where the room is less,
its first letters are used and three dots follow.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QTextLayout

from core.compiled import compiled
from gui.plots.timeline_letters import Letters

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from core.tables.columns import Float64, Int64, Uint8

Pixels = NDArray[np.uint32]

LABEL_LEAST_PX: Final = 60
_MARGIN_PX: Final = 5
_AROUND_PX: Final = 3
_LEAST_CHARACTERS: Final = 2
_DOTS: Final = "\N{HORIZONTAL ELLIPSIS}"
_MOST_BYTES: Final = 2**25
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


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Texts for slices. Columns (n,), one entry a slice; places are device-independent pixels.

    Attributes:
        texts: Literal.
        left: float64, of the visible part of the slice, from the picture's corner.
        top: float64.
        width: float64.
        height: float64.
        ink: int64, colour of the text, 0xffRRGGBB.
        patch: int64, painted below the text where the slice has a pattern; 0 for none.
    """

    texts: list[str]
    left: Float64
    top: Float64
    width: Float64
    height: Float64
    ink: Int64
    patch: Int64


@dataclass(frozen=True, slots=True)
class _Mask:
    """A text that was drawn: where its mask begins, its width, and where each of its letters ends."""

    first: int
    width_px: int
    ends: tuple[float, ...]


class LaneLabels:
    """Mixes the texts of slices into a picture, in one font and for one scale of the screen."""

    def __init__(self, font: QFont, scale: float) -> None:
        self.scale = scale
        self._font = font
        metrics = QFontMetricsF(font)
        self._ascent = metrics.ascent()
        self._height = metrics.height()
        self._height_px = max(1, int(np.ceil(self._height * scale)))
        self._letters = Letters(font, scale)
        self._masks: dict[str, _Mask] = {}
        self._coverage = np.zeros(2**16, np.uint8)
        self._used = 0
        self._dots = self._drawn(_DOTS)

    def paint(self, pixels: Pixels, labels: Labels) -> None:
        """Mixes texts into a picture; of a slice without room for a few letters, nothing.

        Args:
            pixels: (height, width) uint32, in device pixels.
            labels: The texts.
        """
        if self._used > _MOST_BYTES:
            self._masks.clear()
            self._used = 0
            self._dots = self._drawn(_DOTS)
        rooms = (labels.width - 2 * _MARGIN_PX).tolist()
        shown = [self._cut(text, room) for text, room in zip(labels.texts, rooms, strict=True)]
        if not shown:
            return
        scale, dots = self.scale, self._dots
        first, line, end, cut = np.array(shown, np.float64).T
        left = np.rint((np.rint(labels.left) + _MARGIN_PX) * scale)
        top = np.rint(np.rint(labels.top + (labels.height - self._height) / 2) * scale)
        end_px = np.minimum(np.rint(end * scale), line)
        around = round(_AROUND_PX * scale)
        patch_right = np.minimum(
            left + end_px + cut * dots.width_px + around, np.rint((labels.left + labels.width) * scale)
        )
        patch_top = np.rint(labels.top * scale)
        patch_px = np.rint((labels.top + labels.height) * scale) - patch_top
        lines = np.full(len(first), self._height_px)
        none = np.zeros(len(first))
        patches = (
            none - 1,
            none,
            left - around,
            patch_top,
            patch_right - left + around,
            patch_px,
            labels.patch,
        )
        texts = (first, line, left, top, end_px, lines, labels.ink)
        ends = (
            none + dots.first,
            none + dots.width_px,
            left + end_px,
            top,
            cut * dots.width_px,
            lines,
            labels.ink,
        )
        fits = first >= 0
        for part, chosen in ((patches, fits & (labels.patch != 0)), (texts, fits), (ends, fits & (cut > 0))):
            places = np.array([column[chosen] for column in part], np.float64)
            _mix(pixels, self._coverage, np.ascontiguousarray(places.T).astype(np.int64))

    def _cut(self, text: str, room: float) -> tuple[int, int, float, bool]:
        """Where a text's mask begins, its width, where the letters end that fit, and whether some do not.

        The beginning is -1 if not even a few letters fit.
        """
        text = text[:_MOST_CHARACTERS]
        mask = self._masks.get(text)
        if mask is None:
            mask = self._masks[text] = self._drawn(text)
        ends = mask.ends
        if not ends or ends[-1] <= room:
            return mask.first, mask.width_px, ends[-1] if ends else 0.0, False
        characters = bisect_right(ends, room - self._dots.ends[-1])
        if characters < _LEAST_CHARACTERS:
            return -1, 0, 0.0, True
        return mask.first, mask.width_px, ends[characters - 1], True

    def _drawn(self, text: str) -> _Mask:
        """Draws the mask of a text."""
        shown, ends = self._letters.drawn(text) or self._laid_out(text)
        first, self._used = self._used, self._used + shown.size
        if self._used > len(self._coverage):
            grown = np.zeros(max(self._used, 2 * len(self._coverage)), np.uint8)
            grown[:first] = self._coverage[:first]
            self._coverage = grown
        self._coverage[first : self._used] = shown.ravel()
        return _Mask(first, shown.shape[1], ends)

    def _laid_out(self, text: str) -> tuple[Uint8, tuple[float, ...]]:
        """Draws a text of any script as Qt lays it out."""
        layout = QTextLayout(text.replace("\n", " "), self._font)
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(1e6)
        layout.endLayout()
        ends = tuple(line.cursorToX(place + 1)[0] for place in range(len(text)))  # type: ignore[index]  # x and place
        width_px = max(1, int(np.ceil(max(ends, default=0.0) * self.scale)) + 1)
        image = QImage(width_px, self._height_px, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(self.scale)
        # On nothing, so that the letters' edges are grey and not coloured.
        image.fill(Qt.GlobalColor.transparent)
        with QPainter(image) as painter:
            painter.setFont(self._font)
            painter.setPen(Qt.GlobalColor.white)
            painter.drawText(QPointF(0, self._ascent), text.replace("\n", " "))
        shown = np.frombuffer(image.constBits(), np.uint8).reshape(self._height_px, width_px, 4)[:, :, 3]
        return shown.copy(), ends


def load_compiled() -> None:
    """Loads the compiled code of this module."""
    _mix(np.zeros((1, 1), np.uint32), np.zeros(1, np.uint8), np.zeros((0, 7), np.int64))


@compiled
def _mix(pixels: Pixels, coverage: Uint8, places: Int64) -> None:
    """Mixes colours into a picture through masks.

    Args:
        pixels: (height, width) uint32.
        coverage: All masks, each line by line.
        places: (n, 7): where the mask begins (-1 for none: a filled box) and its width; left, top, width and
            height of the box in the picture; its colour.
    """
    for number in range(len(places)):
        first, line, left, top, width, height, colour = places[number]
        red_blue, green = np.uint32(colour & 0xFF00FF), np.uint32(colour & 0xFF00)
        skip, last = max(0, -left), min(width, pixels.shape[1] - left)
        if skip >= last:
            continue
        for y in range(max(0, -top), min(height, pixels.shape[0] - top)):
            line_of = pixels[top + y, left + skip : left + last]
            if first < 0:
                line_of[:] = colour
                continue
            shares = coverage[first + y * line + skip : first + y * line + last]
            # Without a branch and two channels at a time: this is what labels cost.
            for x in range(len(line_of)):
                share = np.uint32(shares[x])
                share += share >> np.uint32(7)
                rest = np.uint32(256) - share
                both = ((line_of[x] & np.uint32(0xFF00FF)) * rest + red_blue * share) >> np.uint32(8)
                middle = ((line_of[x] & np.uint32(0xFF00)) * rest + green * share) >> np.uint32(8)
                line_of[x] = (
                    np.uint32(0xFF000000) | (both & np.uint32(0xFF00FF)) | (middle & np.uint32(0xFF00))
                )
