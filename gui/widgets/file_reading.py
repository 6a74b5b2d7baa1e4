"""What stands in the place of a trace or report while it is read: how far, and a way to stop."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QPushButton, QVBoxLayout, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel

_WIDTH_PX: Final = 360
_PARTS: Final = 1000


class FileReading(QWidget):
    """Progress of one file.

    Signals:
        cancel_asked: The reading should stop.
    """

    cancel_asked = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self._what = ElidedLabel(f"Reading {name}", Qt.TextElideMode.ElideMiddle)
        set_kind(self._what, kind="title")
        self._what.setMaximumWidth(_WIDTH_PX)
        self._how_far = plain_label()
        set_kind(self._how_far, kind="secondary")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 0)
        self._bar.setFixedWidth(_WIDTH_PX)
        cancel = QPushButton("Cancel")
        cancel.clicked.connect(self.cancel_asked)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(1)
        for widget in (self._what, self._bar, self._how_far, cancel):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(2)

    @property
    def text(self) -> str:
        """What it says."""
        return f"{self._what.full_text}, {self._how_far.text()}"

    def show_progress(self, words: str, done: int, whole: int) -> None:
        """Shows how far the reading is: in words, and as ``done`` of ``whole`` (0 if that is not known)."""
        self._how_far.setText(words)
        if whole:
            self._bar.setRange(0, _PARTS)
            self._bar.setValue(_PARTS * done // whole)
