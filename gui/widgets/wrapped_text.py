"""Long names to read and to copy, broken over lines between their parts where that is possible."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QTextCharFormat, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from core.files import printable
from gui.theme import set_kind

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent, QMimeData

LONGEST_TEXT: Final = 4_096
BREAK: Final = "\N{ZERO WIDTH SPACE}"
"""Takes no room and lets a line end. Printable text holds none, so that all of them are ours."""

_ROOM_PX: Final = 6
_ENDS_OF_PARTS: Final = re.compile(r"(?:::|(?<=[^\W_])_++|[<,/(])(?![<,/(:\s]|$)", re.MULTILINE)


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
        # Each mark is made as small as can be: a font that lacks it borrows it from a higher one.
        self._mark_format = QTextCharFormat()
        self._mark_format.setFontPointSize(1)
        self.setUndoRedoEnabled(False)

    @property
    def text(self) -> str:
        """What it says, without the places where a line may end."""
        return self.toPlainText().replace(BREAK, "")

    def set_text(self, text: str) -> None:
        """Replaces the text; controls show as escapes, line ends stay."""
        lines = (printable(line) for line in text[:LONGEST_TEXT].split("\n"))
        self.setPlainText("\n".join(map(breakable, lines)))
        document = self.document()
        mark = document.find(BREAK)
        while not mark.isNull():
            mark.setCharFormat(self._mark_format)
            mark = document.find(BREAK, mark)
        self._fit()

    def createMimeDataFromSelection(self) -> QMimeData:  # noqa: N802
        """What is copied or dragged: the text alone."""
        # One made here would be deleted with the clipboard, after Python's end: Qt's own is filled anew.
        copied = super().createMimeDataFromSelection()
        copied.setText(copied.text().replace(BREAK, ""))
        for form in copied.formats():
            if form != "text/plain":
                copied.removeFormat(form)
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
        self.setFixedHeight(math.ceil(self._lines_height(self._most_lines)) + _ROOM_PX)

    def _lines_height(self, most: int) -> float:
        """How high the first lines are together, in pixels; scripts differ in it."""
        height, block = 0.0, self.document().firstBlock()
        while block.isValid() and most > 0:
            # A plain text document lays a block out when it is asked for its size.
            self.document().documentLayout().blockBoundingRect(block)
            layout = block.layout()
            height += sum(layout.lineAt(line).height() for line in range(min(layout.lineCount(), most)))
            most -= layout.lineCount()
            block = block.next()
        return height


def breakable(line: str) -> str:
    """The line with a ``BREAK`` after each part of its names."""
    return _ENDS_OF_PARTS.sub(lambda end: end[0] + BREAK, line)
