"""A row of joined buttons of which exactly one is on, such as "All, Runs, Files"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QSizePolicy

from gui.plain_text import control_text
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence


class Segmented(QFrame):
    """One choice out of a few.

    Signals:
        chosen: Index of the segment that is on now, after the user changed it.
    """

    chosen = Signal(int)

    def __init__(self, name: str, texts: Sequence[str], current: int = 0) -> None:
        super().__init__()
        set_kind(self, kind="segmented")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._name = name
        self._group = QButtonGroup(self)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._texts: tuple[str, ...] = ()
        self.set_texts(texts, current)
        self._group.idClicked.connect(self.chosen)

    @property
    def current(self) -> int:
        """Index of the segment that is on."""
        return self._group.checkedId()

    @property
    def texts(self) -> tuple[str, ...]:
        """Words on the segments."""
        return self._texts

    def set_current(self, index: int) -> None:
        """Switches a segment on without telling ``chosen``."""
        button = self._group.button(index)
        if button is not None:
            button.setChecked(True)

    def set_texts(self, texts: Sequence[str], current: int = 0) -> None:
        """Replaces the segments."""
        if tuple(texts) == self._texts:
            self.set_current(current)
            return
        for button in self._group.buttons():
            self._group.removeButton(button)
            self._layout.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._texts = tuple(texts)
        for index, text in enumerate(self._texts):
            button = QPushButton(control_text(text))
            button.setCheckable(True)
            button.setAccessibleName(f"{self._name}: {text}")
            set_kind(button, kind="segment", last="true" if index == len(self._texts) - 1 else "false")
            self._group.addButton(button, index)
            self._layout.addWidget(button)
        self.set_current(current)
