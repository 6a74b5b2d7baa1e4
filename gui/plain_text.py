"""Text that comes from files and jobs, made safe for the places where Qt would read markup.

Qt guesses whether a label or a tooltip is rich text, and takes ``&`` on buttons,
tabs and menus for a mnemonic. Names and logs are shown as they are instead.
"""

from __future__ import annotations

import html

from PySide6.QtGui import Qt
from PySide6.QtWidgets import QLabel

from core.files import printable
from core.units import NO_BREAK_SPACE

LINE_HEIGHT_PCT = 125


def plain_label(text: str = "", *, wrap: bool = False) -> QLabel:
    """A label that shows its text literally."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(wrap)
    return label


class Paragraph(QLabel):
    """A label of several lines with room between them; shows its text literally."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self._plain = ""
        self.set_plain(text)

    @property
    def plain(self) -> str:
        """What it says."""
        return self._plain

    def set_plain(self, text: str) -> None:
        """Replaces the text."""
        self._plain = text
        lines = html.escape(text).replace("\n", "<br>")
        self.setText(f'<div style="line-height:{LINE_HEIGHT_PCT}%">{lines}</div>')
        self.setAccessibleName(text)


def visible_text(text: str) -> str:
    """Words of ours that hold names of a file: controls in them show as escapes, no-break spaces stay."""
    if text.replace(NO_BREAK_SPACE, " ").isprintable():
        return text
    return NO_BREAK_SPACE.join(printable(part) for part in text.split(NO_BREAK_SPACE))


def tip_text(text: str) -> str:
    """The text for ``setToolTip``, literal whatever it holds, with its line ends."""
    if not Qt.mightBeRichText(text):
        return text
    return f"<p style='white-space:pre'>{html.escape(text)}</p>"


def control_text(text: str) -> str:
    """The text for a button, tab or menu entry, where ``&`` would be a mnemonic."""
    return text.replace("&", "&&")


def strong_start(start: str, rest: str) -> str:
    """Rich text with the start in weight 600 and everything in it literal."""
    strong = f'<span style="font-weight:600">{html.escape(start)}</span>'
    return f"{strong} {html.escape(rest)}" if rest else strong
