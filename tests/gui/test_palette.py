"""The command palette: what it finds, in which order, and by keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.widgets.palette import MOST_ROWS, Palette, PaletteEntry, find_entries

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController


def entry(
    text: str, reason: str | None = None, words: str = "", done: list[str] | None = None
) -> PaletteEntry:
    return PaletteEntry(
        text=text, run=lambda: done.append(text) if done is not None else None, reason=reason, words=words
    )


def test_the_start_of_the_text_counts_most_and_every_word_must_fit() -> None:
    entries = [
        entry("Recapture"),
        entry("Export capture", reason="no capture open"),
        entry("Show the last capture"),
        entry("Trace", words="capture profile"),
        entry("Capture 2 steps on all ranks"),
        entry("Stop"),
    ]
    texts = [found.text for found in find_entries(entries, "cap")]
    assert texts == [
        "Capture 2 steps on all ranks",
        "Show the last capture",
        "Recapture",
        "Trace",
        "Export capture",
    ]
    assert [found.text for found in find_entries(entries, "ALL  capt")] == ["Capture 2 steps on all ranks"]
    assert find_entries(entries, "capture nothing") == []
    assert len(find_entries(entries, " ")) == len(entries)


@pytest.fixture
def holder(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1280, 800)
    return window


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def palette(qtbot: QtBot, theme: ThemeController, holder: QWidget, done: list[str]) -> Palette:
    before = QLineEdit(holder)
    entries = [entry(f"Action {number}", done=done) for number in range(20)]
    entries.append(entry("Kill the run", reason="no run is going on", done=done))
    box = Palette(theme, holder, lambda: entries)
    with qtbot.waitExposed(holder):
        holder.show()
    holder.activateWindow()
    before.setFocus()
    qtbot.waitUntil(before.hasFocus)
    return box


def field_of(palette: Palette) -> QLineEdit:
    field = palette.findChild(QLineEdit)
    assert field is not None
    return field


def test_it_lies_in_the_top_third_560_wide_with_twelve_rows(palette: Palette) -> None:
    palette.open_palette()
    assert palette.width() == 560
    assert palette.x() == (1280 - 560) // 2
    assert palette.y() < 800 // 3
    assert palette.count_text == f"{MOST_ROWS} of 21 results"
    assert len(palette.shown_texts) == MOST_ROWS


def test_the_keyboard_is_enough(qtbot: QtBot, palette: Palette, done: list[str]) -> None:
    palette.open_palette()
    field = field_of(palette)
    assert field.hasFocus()
    QTest.keyClicks(field, "action 1")
    assert palette.count_text == "11 results"
    QTest.keyClick(field, Qt.Key.Key_Down)
    QTest.keyClick(field, Qt.Key.Key_Down)
    QTest.keyClick(field, Qt.Key.Key_Up)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert done == ["Action 10"]
    assert palette.isHidden()


def test_escape_gives_the_keyboard_back(qtbot: QtBot, palette: Palette, holder: QWidget) -> None:
    before = holder.focusWidget()
    palette.open_palette()
    QTest.keyClick(field_of(palette), Qt.Key.Key_Escape)
    assert palette.isHidden()
    assert holder.focusWidget() is before


def test_what_cannot_be_done_says_why_and_is_not_done(
    qtbot: QtBot, palette: Palette, done: list[str]
) -> None:
    palette.open_palette("kill")
    assert palette.shown_texts == ["Kill the run"]
    QTest.keyClick(field_of(palette), Qt.Key.Key_Return)
    assert done == []
    assert palette.isVisible()


def test_it_closes_when_it_is_left(qtbot: QtBot, palette: Palette, holder: QWidget) -> None:
    palette.open_palette()
    other = holder.findChild(QLineEdit, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert other is not None
    other.setFocus()
    qtbot.waitUntil(palette.isHidden)


def test_rows_are_drawn_in_both_themes(palette: Palette, theme: ThemeController) -> None:
    palette.open_palette()
    dark = palette.grab().toImage()
    theme.set_theme("light")
    assert palette.grab().toImage() != dark
