"""What lies over the window while something is dragged onto it: what it is, and what a drop does."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel

BOX_PX = 460


class DropOverlay(QFrame):
    """An accent edge around the window and a box with two lines; the page is not dimmed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        set_kind(self, kind="drop-edge")
        # The drag goes on to the window below.
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._box = QFrame(self)
        set_kind(self._box, kind="drop")
        self._title = plain_label(wrap=True)
        set_kind(self._title, kind="title")
        self._file = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        set_kind(self._file, kind="secondary")
        self._detail = plain_label(wrap=True)
        set_kind(self._detail, kind="secondary")
        layout = QVBoxLayout(self._box)
        layout.setContentsMargins(14, 12, 14, 12)
        layout.setSpacing(2)
        layout.addWidget(self._title)
        layout.addWidget(self._file)
        layout.addWidget(self._detail)
        self.hide()

    @property
    def text(self) -> str:
        """All that it says, for tests and screen readers."""
        return "\n".join((self._title.text(), self._file.full_text, self._detail.text()))

    def show_over(self, size: QSize, title: str, file: str, detail: str) -> None:
        """Covers a window of ``size`` and says what a drop would do."""
        self.resize(size)
        self._title.setText(title)
        self._file.set_full_text(file)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self.setAccessibleName(self.text)
        width = min(BOX_PX, size.width() - 48)
        self._box.setFixedWidth(width)
        self._box.adjustSize()
        self._box.move((size.width() - width) // 2, (size.height() - self._box.height()) // 3)
        self.show()
        self.raise_()
