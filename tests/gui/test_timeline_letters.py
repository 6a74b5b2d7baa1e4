"""Tests for texts that are put together from letters."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter

from gui.plots.timeline_letters import Letters
from gui.theme import ThemeController


@pytest.fixture
def font(theme: ThemeController) -> QFont:
    """The font of the labels, without what single letters cannot have."""
    font = QFont(theme.theme.font(theme.theme.px_small))
    font.setKerning(False)
    return font


def drawn_by_qt(text: str, font: QFont, width_px: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    height_px = int(np.ceil(QFontMetricsF(font).height()))
    image = QImage(width_px, height_px, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    with QPainter(image) as painter:
        painter.setFont(font)
        painter.setPen(Qt.GlobalColor.white)
        painter.drawText(QPointF(0, QFontMetricsF(font).ascent()), text)
    return np.frombuffer(image.constBits(), np.uint8).reshape(height_px, width_px, 4)[:, :, 3].copy()


@pytest.mark.parametrize("text", ["void at::native::kernel<4>", "aten::mm", "x", "[Step 12] (a|b)"])
def test_a_text_of_letters_looks_as_qt_draws_it(font: QFont, text: str) -> None:
    drawn = Letters(font, 1.0).drawn(text)
    assert drawn is not None
    mask, ends = drawn
    assert len(ends) == len(text)
    assert ends[-1] == pytest.approx(QFontMetricsF(font).horizontalAdvance(text), abs=0.5)
    expected = drawn_by_qt(text, font, mask.shape[1])
    assert mask.shape == expected.shape
    # Where a letter stands may differ by a quarter of a pixel.
    difference = np.abs(mask.astype(np.int64) - expected).sum()
    assert expected.sum() > 0
    assert difference < 0.25 * expected.sum()


def test_letters_are_drawn_at_the_scale_of_the_screen(font: QFont) -> None:
    once, twice = Letters(font, 1.0).drawn("kernel"), Letters(font, 2.0).drawn("kernel")
    assert once is not None
    assert twice is not None
    assert twice[0].shape[0] == pytest.approx(2 * once[0].shape[0], abs=1)
    assert int(twice[0].sum()) == pytest.approx(4 * int(once[0].sum()), rel=0.15)


@pytest.mark.parametrize("text", ["Gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n", "two\nlines", "tab\t"])
def test_other_texts_are_left_to_qt(font: QFont, text: str) -> None:
    assert Letters(font, 1.0).drawn(text) is None


def test_a_text_without_letters_is_an_empty_mask(font: QFont) -> None:
    drawn = Letters(font, 1.0).drawn("")
    assert drawn is not None
    assert drawn[1] == ()
    assert not drawn[0].any()
