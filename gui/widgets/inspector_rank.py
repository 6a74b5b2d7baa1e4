"""The inspector of the Run page: everything known of the selected rank, or of the run.

Shows only figures that exist for this run; what is not measured on this kind
of device has no line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.evidence import Evidence
from gui.widgets.inspector_section import InspectorSection
from gui.widgets.inspector_words import (
    evidence_of,
    job_pairs,
    memory_pairs,
    rank_head,
    run_pairs,
    since_words,
    sources_of,
    steps_to_take,
    training_pairs,
)
from gui.widgets.key_values import KeyValues
from gui.widgets.meter import Swatch
from gui.widgets.pill import Pill
from gui.widgets.rank_facts import STATUS_LOOKS, STATUS_MEANINGS

if TYPE_CHECKING:
    from core.runs.snapshot import RankState, RunSnapshot
    from gui.theme import ThemeController


class RankHead(QWidget):
    """Names the selection in the dock's head."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._swatch = Swatch(theme)
        self._name = plain_label("Run")
        set_kind(self._name, kind="section")
        self._detail = ElidedLabel()
        set_kind(self._detail, kind="secondary")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._swatch)
        row.addWidget(self._name)
        row.addWidget(self._detail)
        row.addStretch(1)
        self._swatch.hide()

    def show_rank(self, state: RankState, snapshot: RunSnapshot) -> None:
        """Names a rank, its device and its process."""
        self._swatch.set_rank(state.rank)
        self._swatch.show()
        self._name.setText(f"Rank {state.rank}")
        self._detail.set_full_text(rank_head(state, snapshot))

    def show_run(self, snapshot: RunSnapshot | None) -> None:
        """Names the run."""
        self._swatch.hide()
        self._name.setText("Run")
        self._detail.set_full_text("" if snapshot is None else snapshot.manifest.id)


class RankInspector(QWidget):
    """Sections of figures, made of a snapshot."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.head = RankHead(theme)
        self.pill = Pill(theme)
        self._since = plain_label()
        set_kind(self._since, kind="secondary")
        self.evidence = Evidence()
        self._meaning = plain_label(wrap=True)
        set_kind(self._meaning, kind="secondary")
        self.steps = Numbered()
        self.error = ErrorText(theme)
        self.memory = KeyValues()
        self.training = KeyValues()
        self.job = KeyValues()
        self.run = KeyValues()
        self._sources = plain_label(wrap=True)
        set_kind(self._sources, kind="secondary")
        self._nothing = plain_label("No run is shown.")
        set_kind(self._nothing, kind="secondary")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._sections = {
            "verdict": self._verdict(theme),
            "error": InspectorSection(theme, "What it raised", self.error),
            "steps": InspectorSection(theme, "What to do", self.steps),
            "memory": InspectorSection(theme, "Memory", self.memory),
            "training": InspectorSection(theme, "Training", self.training),
            "device": InspectorSection(theme, "Device", self.job),
            "run": InspectorSection(theme, "Run", self.run),
            "sources": InspectorSection(theme, "Source of these figures", self._sources),
            "nothing": InspectorSection(theme, "", self._nothing),
        }
        for section in self._sections.values():
            layout.addWidget(section)
        layout.addStretch(1)
        self.show_nothing()

    def _verdict(self, theme: ThemeController) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.pill)
        row.addWidget(self._since)
        row.addStretch(1)
        column.addLayout(row)
        column.addWidget(self._meaning)
        column.addWidget(self.evidence)
        return InspectorSection(theme, "", content)

    def show_nothing(self) -> None:
        """There is no run."""
        self.head.show_run(None)
        self._show_sections("nothing")

    def show_snapshot(self, snapshot: RunSnapshot, selected: int | None) -> None:
        """Shows a rank, or the run if none is selected."""
        state = next((state for state in snapshot.ranks if state.rank == selected), None)
        if state is None:
            self._show_run(snapshot)
        else:
            self._show_rank(state, snapshot)

    def _show_run(self, snapshot: RunSnapshot) -> None:
        self.head.show_run(snapshot)
        self.run.set_pairs(run_pairs(snapshot))
        self._sources.setText(sources_of(None, snapshot))
        self._show_sections("run", "sources")

    def _show_rank(self, state: RankState, snapshot: RunSnapshot) -> None:
        self.head.show_rank(state, snapshot)
        look = STATUS_LOOKS[state.status]
        self.pill.set_state(look.icon, look.word, look.level)
        _set_text(self._since, since_words(state, snapshot))
        _set_text(self._meaning, STATUS_MEANINGS[state.status])
        evidence = evidence_of(state, snapshot)
        self.evidence.set_rows(evidence)
        self.evidence.setVisible(bool(evidence))
        self.memory.set_pairs(memory_pairs(state, snapshot))
        self.training.set_pairs(training_pairs(state))
        device = job_pairs(state, snapshot)
        self.job.set_pairs(device)
        steps = steps_to_take(state, snapshot)
        self.steps.set_texts(steps)
        self.error.set_text(state.exception or "", state.traceback or "")
        _set_text(self._sources, sources_of(state, snapshot))
        shown = ["verdict", "memory", "training", "sources"]
        shown += ["steps"] if steps else []
        shown += ["error"] if state.exception else []
        shown += ["device"] if device else []
        self._show_sections(*shown)

    def _show_sections(self, *names: str) -> None:
        for name, section in self._sections.items():
            section.setVisible(name in names)


class Numbered(QWidget):
    """A few sentences, each with its number."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(4)
        self._texts: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What is shown."""
        return self._texts

    def set_texts(self, texts: tuple[str, ...]) -> None:
        """Replaces the sentences."""
        if texts == self._texts:
            return
        self._texts = texts
        while item := self._layout.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for number, text in enumerate(texts, start=1):
            self._layout.addWidget(_numbered_line(number, text))


def _numbered_line(number: int, text: str) -> QWidget:
    line = QWidget()
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    count = plain_label(str(number))
    count.setFixedWidth(16)
    set_kind(count, kind="secondary")
    words = plain_label(text, wrap=True)
    set_kind(words, kind="table-text")
    row.addWidget(count, 0, Qt.AlignmentFlag.AlignTop)
    row.addWidget(words, 1)
    return line


class ErrorText(QWidget):
    """An exception and the user's frames, in full, to read and to copy."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._message = plain_label(wrap=True)
        set_kind(self._message, kind="table-text", level="error")
        self._frames = plain_label(wrap=True)
        self._frames.setFont(theme.theme.font(mono=True))
        for label in (self._message, self._frames):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        copy = QPushButton("Copy")
        set_kind(copy, size="small")
        copy.clicked.connect(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._message)
        layout.addWidget(self._frames)
        layout.addWidget(copy, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def text(self) -> str:
        """The exception."""
        return self._message.text()

    def set_text(self, message: str, frames: str) -> None:
        """Replaces both texts."""
        _set_text(self._message, message)
        _set_text(self._frames, frames)
        self._frames.setVisible(bool(frames))

    def _copy(self) -> None:
        text = f"{self._frames.text()}\n{self._message.text()}".strip()
        QGuiApplication.clipboard().setText(text)


def _set_text(label: QLabel, text: str) -> None:
    if label.text() != text:
        label.setText(text)
