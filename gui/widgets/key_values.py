"""Pairs of label and value, one a line: label left and grey, value right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from gui.plain_text import plain_label, tip_text
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel

if TYPE_CHECKING:
    from collections.abc import Sequence


class KeyValues(QWidget):
    """Lines can be replaced at any time; widgets are kept where the count allows."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        self._lines: list[tuple[QLabel, ElidedLabel]] = []

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is shown."""
        return [(label.text(), value.full_text) for label, value in self._lines if not label.isHidden()]

    def set_pairs(self, pairs: Sequence[tuple[str, str, str]]) -> None:
        """Shows (label, value, why) a line; ``why`` is a tooltip, such as the reason of an n/a."""
        while len(self._lines) < len(pairs):
            self._add_line()
        for line, (label, value) in enumerate(self._lines):
            used = line < len(pairs)
            label.setVisible(used)
            value.setVisible(used)
            if used:
                key, text, why = pairs[line]
                label.setText(key)
                value.set_full_text(text)
                value.setAccessibleName(f"{key}: {text}")
                label.setToolTip(tip_text(why))
                set_kind(value, kind="secondary" if text == "n/a" else "table-text")

    def _add_line(self) -> None:
        label = plain_label()
        set_kind(label, kind="secondary")
        value = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = len(self._lines)
        self._grid.addWidget(label, row, 0)
        self._grid.addWidget(value, row, 1, Qt.AlignmentFlag.AlignRight)
        self._lines.append((label, value))
