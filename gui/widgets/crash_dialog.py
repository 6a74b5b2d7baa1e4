"""The dialog for a bug: what went wrong, the traceback to copy, and the program goes on."""

from __future__ import annotations

import traceback

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind

KEPT_REPORTS = 20


class CrashDialog(QDialog):
    """One dialog for all bugs: a second one is added to it instead of opening another."""

    def __init__(self, facts: str, parent: QWidget | None = None) -> None:
        """Args: ``facts`` are versions and platform, put under each traceback."""
        super().__init__(parent)
        self.setWindowTitle("A bug in Ridgeline")
        self.resize(720, 420)
        self._facts = facts
        self._reports: list[str] = []
        self._count = 0
        self._heading = plain_label(wrap=True)
        set_kind(self._heading, kind="page-heading")
        advice = plain_label(
            "The window goes on, and a training job is not touched. Copy the traceback into a bug report; "
            "nothing is sent by itself.",
            wrap=True,
        )
        set_kind(advice, kind="secondary")
        self._text = QPlainTextEdit()
        self._text.setReadOnly(True)
        set_kind(self._text, kind="mono")
        self._text.setAccessibleName("Traceback")
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setTabChangesFocus(True)
        self._copy = QPushButton("Copy traceback")
        self._copy.clicked.connect(self._copy_text)
        close = QPushButton("Close")
        set_kind(close, kind="primary")
        close.setDefault(True)
        close.clicked.connect(self.close)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self._copy)
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(8)
        for widget in (self._heading, advice, self._text):
            layout.addWidget(widget)
        layout.addLayout(buttons)

    @property
    def text(self) -> str:
        """What is shown and copied."""
        return self._text.toPlainText()

    @property
    def heading(self) -> str:
        """The first line."""
        return self._heading.text()

    def report(self, error: BaseException) -> None:
        """Adds a bug and shows the dialog; the newest comes first."""
        self._count += 1
        lines = "".join(traceback.format_exception(error))
        self._reports = [lines, *self._reports][:KEPT_REPORTS]
        more = "" if self._count == 1 else f" {self._count} errors so far, the newest first."
        self._heading.setText(f"Something in the program went wrong: {type(error).__name__}.{more}")
        self._text.setPlainText("\n".join((*self._reports, self._facts)))
        if not self.isVisible():
            self.setWindowModality(Qt.WindowModality.NonModal)
            self.show()
            self.raise_()

    def _copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self.text)
        self._copy.setText("Copied")
