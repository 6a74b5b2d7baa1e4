"""A dialog with a sentence, what it means, and a button for each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.plain_text import Paragraph, control_text, plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH_PX = 460


class Question(QDialog):
    """Waits for an answer without blocking; Escape and the cross answer nothing.

    The first answer is the default and has the primary button.
    """

    def __init__(
        self,
        parent: QWidget,
        title: str,
        text: str,
        more: str,
        answers: Sequence[tuple[str, Callable[[], object]]],
    ) -> None:
        """Args: ``text`` and ``more`` are shown literally; "Cancel" is added to ``answers``."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setMinimumWidth(WIDTH_PX)
        heading = plain_label(text, wrap=True)
        set_kind(heading, kind="page-heading")
        meaning = Paragraph(more)
        set_kind(meaning, kind="secondary")
        meaning.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        cancel = QPushButton("Cancel" if answers else "Close")
        cancel.clicked.connect(self.reject)
        cancel.setAutoDefault(False)
        row.addWidget(cancel)
        self._default = cancel
        for place, (words, run) in enumerate(answers):
            button = QPushButton(control_text(words))
            button.clicked.connect(lambda _=False, run=run: self._answer(run))
            button.setAutoDefault(place == 0)
            # The default stands at the end of the row, where the eye arrives.
            row.insertWidget(2, button)
            if place == 0:
                set_kind(button, kind="primary")
                button.setDefault(True)
                self._default = button
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(8)
        layout.addWidget(heading)
        layout.addWidget(meaning)
        layout.addSpacing(8)
        layout.addLayout(row)
        self._default.setFocus()

    def _answer(self, run: Callable[[], object]) -> None:
        self.accept()
        run()
