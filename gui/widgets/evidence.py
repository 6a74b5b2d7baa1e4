"""Evidence in three columns: what, value, against what."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One line; ``level`` "warn" or "error" colours the value, "none" does not."""

    what: str
    value: str
    against: str
    level: str = "none"


class Evidence(QWidget):
    """Rows can be replaced at any time."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 1)
        self._lines: list[tuple[ElidedLabel, ElidedLabel, ElidedLabel]] = []
        self._rows: tuple[EvidenceRow, ...] = ()

    @property
    def rows(self) -> tuple[EvidenceRow, ...]:
        """What is shown."""
        return self._rows

    def set_rows(self, rows: tuple[EvidenceRow, ...]) -> None:
        """Shows these rows."""
        if rows == self._rows:
            return
        self._rows = rows
        while len(self._lines) < len(rows):
            self._add_line()
        for place, labels in enumerate(self._lines):
            for label in labels:
                label.setVisible(place < len(rows))
            if place < len(rows):
                row = rows[place]
                for label, text in zip(labels, (row.what, row.value, row.against), strict=True):
                    label.set_full_text(text)
                set_kind(labels[1], kind="table-text", level=row.level)

    def _add_line(self) -> None:
        line = len(self._lines)
        labels = (ElidedLabel(), ElidedLabel(), ElidedLabel())
        for column, label in enumerate(labels):
            set_kind(label, kind="table-text" if column == 1 else "secondary")
            side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
            label.setAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            self._grid.addWidget(label, line, column, side)
        self._lines.append(labels)
