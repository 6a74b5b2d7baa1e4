"""A verdict on the screen, on every page that shows one: state, words, evidence; and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.units import format_pct
from gui.plain_text import Paragraph, plain_label, tip_text, visible_text
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.pill import Pill
from gui.widgets.verdict_words import ICONS, LEVELS, evidence_rows

if TYPE_CHECKING:
    from core.roofline.verdict import Remedy, Verdict
    from gui.theme import ThemeController
    from gui.widgets.evidence import EvidenceRow

MOST_REMEDIES: Final = 3
FIRST_EVIDENCE: Final = 5
"""So many figures are shown at first."""


class VerdictView(QWidget):
    """What holds a kernel back, how that is known, and the evidence.

    ``remedies`` is a widget of its own, for a section with its own heading.
    """

    def __init__(self, theme: ThemeController, *between: QWidget) -> None:
        """Args: ``between``: what stands between the words and the evidence."""
        super().__init__()
        self.pill = Pill(theme)
        self.how = plain_label()
        set_kind(self.how, kind="secondary")
        self.words = Paragraph()
        set_kind(self.words, kind="secondary")
        self.evidence = EvidenceLines()
        self.remedies = Remedies()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.pill)
        head.addWidget(self.how)
        head.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        for widget in (self.words, *between, self.evidence):
            layout.addWidget(widget)

    def show_verdict(self, verdict: Verdict) -> None:
        """Shows a verdict; of its remedies those with the largest gain."""
        kind = str(verdict.kind)
        unknown = kind == "unknown"
        words = "No verdict" if unknown else kind.capitalize()
        self.pill.set_state(ICONS.get(kind, "info"), words, LEVELS.get(kind, "none"))
        self.how.setText("" if unknown else verdict.confidence)
        self.evidence.set_rows(evidence_rows(verdict))
        self.evidence.setVisible(bool(verdict.evidence))
        self.words.set_plain(visible_text(verdict.words.replace("`", "")))
        self.remedies.show_remedies(verdict.remedies[:MOST_REMEDIES])

    @property
    def lines(self) -> list[str]:
        """What is shown, to be copied; without the remedies."""
        return [
            f"{self.pill.text}, {self.how.text()}" if self.how.text() else self.pill.text,
            *(f"{row.what}\t{row.value}\t{row.against}" for row in self.evidence.rows),
            self.words.plain,
        ]


class EvidenceLines(QWidget):
    """What a verdict rests on: label and value, below them what it is held against; the weightiest first."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[EvidenceRow, ...] = ()
        self._lines: list[tuple[ElidedLabel, ElidedLabel, ElidedLabel]] = []
        self._is_whole = False
        self.more = QPushButton()
        # With a border: a flat one's words would begin beside the edge of all that stands above.
        set_kind(self.more, size="small")
        self.more.clicked.connect(lambda _=False: self._toggle())
        self._column = QVBoxLayout()
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(self._column)
        layout.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)

    def set_rows(self, rows: tuple[EvidenceRow, ...]) -> None:
        """Shows these."""
        self.rows = rows
        while len(self._lines) < len(rows):
            self._add_line()
        self._show()

    def _toggle(self) -> None:
        self._is_whole = not self._is_whole
        self._show()

    def _show(self) -> None:
        count = len(self.rows) if self._is_whole else min(FIRST_EVIDENCE, len(self.rows))
        for place, labels in enumerate(self._lines):
            used = place < count
            texts = ("", "", "")
            if used:
                row = self.rows[place]
                texts = (row.what, row.value, row.against)
            for label, text in zip(labels, texts, strict=True):
                label.set_full_text(text)
                label.setVisible(used and bool(text))
        self.more.setVisible(len(self.rows) > FIRST_EVIDENCE)
        self.more.setText("Less evidence" if self._is_whole else f"All {len(self.rows)} figures")

    def _add_line(self) -> None:
        what, value, against = ElidedLabel(), ElidedLabel(), ElidedLabel()
        set_kind(what, kind="secondary")
        set_kind(value, kind="table-text")
        set_kind(against, kind="caption")
        against.setContentsMargins(0, 0, 0, 4)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(what)
        row.addStretch(1)
        row.addWidget(value)
        self._column.addLayout(row)
        self._column.addWidget(against)
        self._lines.append((what, value, against))


class Remedies(QWidget):
    """Numbered advice with the bound of what it can gain."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self.lines: list[str] = []

    def show_remedies(self, remedies: tuple[Remedy, ...]) -> None:
        """Shows these."""
        while item := self._grid.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.lines = []
        for place, remedy in enumerate(remedies):
            text = f"{visible_text(remedy.text)}{_gain_words(remedy)}"
            number, words = plain_label(str(place + 1)), Paragraph(text)
            set_kind(number, kind="secondary")
            set_kind(words, kind="table-text")
            words.setToolTip(tip_text(visible_text(remedy.basis)))
            self._grid.addWidget(number, place, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words, place, 1)
            self.lines.append(f"{place + 1}\t{text}")


def _gain_words(remedy: Remedy) -> str:
    """Says what is won at most, and of what: of the kernel itself it may be much more."""
    if remedy.gain_pct is None:
        return ""
    return f" Saves at most {format_pct(remedy.gain_pct)} of {visible_text(remedy.whole)}, estimate."
