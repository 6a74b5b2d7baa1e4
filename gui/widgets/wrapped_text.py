"""Long names to read and to copy, broken over lines between their parts where that is possible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from core.files import printable
from gui.theme import set_kind

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent

LONGEST_TEXT: Final = 4_096
BREAK: Final = "\N{ZERO WIDTH SPACE}"
"""Takes no room and lets a line end. Printable text holds none, so that all of them are ours."""

_ENDS_OF_PARTS: Final = re.compile(r"(?:::|[_<,/(])(?![_<,/(:\s]|$)", re.MULTILINE)


class WrappedText(QPlainTextEdit):
    """Text as high as its lines up to a number; then it scrolls.

    A line ends after a part of a name, and inside one only if it is wider than the line.
    """

    def __init__(self, name: str, most_lines: int) -> None:
        super().__init__()
        self._most_lines = most_lines
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        set_kind(self, kind="name")

    @property
    def text(self) -> str:
        """What it says, without the places where a line may end."""
        return self.toPlainText().replace(BREAK, "")

    def set_text(self, text: str) -> None:
        """Replaces the text; controls show as escapes, line ends stay."""
        lines = (printable(line) for line in text[:LONGEST_TEXT].split("\n"))
        self.setPlainText("\n".join(map(breakable, lines)))
        self._fit()

    def createMimeDataFromSelection(self) -> QMimeData:  # noqa: N802
        """What is copied or dragged: the text alone."""
        copied = QMimeData()
        copied.setText(self.textCursor().selection().toPlainText().replace(BREAK, ""))
        return copied

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Breaks anew."""
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Measures again when the style sheet has given it another font."""
        super().changeEvent(event)
        if event.type() in (event.Type.FontChange, event.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        # A plain text document measures its height in lines.
        lines = min(max(1, round(self.document().size().height())), self._most_lines)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 6)


def breakable(line: str) -> str:
    """The line with a ``BREAK`` after each part of its names."""
    return _ENDS_OF_PARTS.sub(lambda end: end[0] + BREAK, line)
