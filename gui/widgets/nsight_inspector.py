"""The inspector of the Nsight page: verdict with evidence, what to do, facts of launch and report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from core.units import format_pct
from gui.plain_text import Paragraph, plain_label, tip_text, visible_text
from gui.theme import set_kind
from gui.widgets.category_swatch import category_swatch
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.key_values import KeyValues
from gui.widgets.nsight_sections import command_in
from gui.widgets.nsight_words import (
    CLOCK_NOTE,
    ICONS,
    LEVELS,
    evidence_rows,
    launch_pairs,
    report_pairs,
)
from gui.widgets.pill import Pill
from gui.widgets.trace_inspector import WrappedText

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from core.roofline.verdict import Remedy, Verdict
    from gui.reports.document import ReportDocument
    from gui.theme import Theme, ThemeController
    from gui.widgets.evidence import EvidenceRow

NAME_LINES: Final = 5
MOST_REMEDIES: Final = 3
FIRST_EVIDENCE: Final = 5
"""So many figures are shown at first."""


class NsightHead(QWidget):
    """Names the kernel in the dock's head.

    Signals:
        copy_asked: Everything shown should be copied.
    """

    copy_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._category = ""
        self._swatch = QLabel()
        self._name = ElidedLabel("Kernel")
        set_kind(self._name, kind="section")
        self.copy = QToolButton()
        self.copy.setToolTip("Copy all of this")
        self.copy.setAccessibleName("Copy all of this")
        self.copy.setIconSize(QSize(16, 16))
        self.copy.clicked.connect(self.copy_asked)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._swatch)
        row.addWidget(self._name)
        row.addStretch(1)
        row.addWidget(self.copy)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    @property
    def text(self) -> str:
        """What it says."""
        return self._name.full_text

    def show_words(self, words: str, category: str = "") -> None:
        """Names something; ``category`` gives it a swatch."""
        self._category = category
        self._name.set_full_text(words)
        self._swatch.setVisible(bool(category))
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        self.copy.setIcon(theme.icon("copy"))
        if self._category:
            self._swatch.setPixmap(category_swatch(theme, self._category, self.devicePixelRatioF()))


class NsightInspector(QWidget):
    """Sections of one launch.

    Signals:
        roofline_asked: The kernel should be shown on the roofline.
    """

    roofline_asked = Signal()

    def __init__(self, theme: ThemeController, *, has_roofline: bool) -> None:
        """Args: ``has_roofline``: whether there is a page to show a kernel on."""
        super().__init__()
        self.head = NsightHead(theme)
        self.head.copy_asked.connect(self.copy)
        self._nothing = plain_label("No kernel is chosen.", wrap=True)
        set_kind(self._nothing, kind="secondary")
        self.name = WrappedText("Full name of the kernel", NAME_LINES)
        self.pill = Pill(theme)
        self._how = plain_label()
        set_kind(self._how, kind="secondary")
        self.words = Paragraph()
        set_kind(self.words, kind="secondary")
        self.evidence = EvidenceLines()
        self.command = ""
        self.copy_command = QPushButton("Copy command")
        set_kind(self.copy_command, size="small")
        self.copy_command.clicked.connect(lambda _=False: QGuiApplication.clipboard().setText(self.command))
        self.remedies = Remedies()
        self.roofline = QPushButton("Show on roofline")
        self.roofline.setVisible(has_roofline)
        self.roofline.clicked.connect(lambda _=False: self.roofline_asked.emit())
        self.launch, self.report = KeyValues(), KeyValues()
        self._note = Paragraph(CLOCK_NOTE)
        set_kind(self._note, kind="caption")
        head = QWidget()
        row = QHBoxLayout(head)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.pill)
        row.addWidget(self._how)
        row.addStretch(1)
        self._sections = {
            "nothing": _Section(theme, "", self._nothing),
            "verdict": _Section(theme, "", head, self.words, _left(self.copy_command), self.evidence),
            "do": _Section(theme, "What to do", self.remedies),
            "roofline": _Section(theme, "", _left(self.roofline)),
            "launch": _Section(theme, "Launch", self.name, self.launch),
            "report": _Section(theme, "Report", self.report, self._note),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for section in self._sections.values():
            layout.addWidget(section)
        layout.addStretch(1)
        self._has_roofline = has_roofline
        self.show_nothing("No report is open.")

    def show_nothing(self, words: str) -> None:
        """Says why there is nothing."""
        self.head.show_words("Kernel")
        self._nothing.setText(words)
        self._show("nothing")

    def show_kernel(self, document: ReportDocument, row: int, place: str) -> None:
        """Shows a launch.

        Args:
            document: Its report, which has been read.
            row: The launch.
            place: "Kernel 3 of 9".
        """
        report, kernels = document.report, document.kernels
        assert report is not None
        assert kernels is not None
        self.head.show_words(place, kernels.categories[row])
        self.name.set_text(report.strings[int(report.launches.name_id[row])] or "(no name)")
        self.launch.set_pairs(launch_pairs(report, row))
        self.report.set_pairs(report_pairs(report, row, document.clocks))
        self._note.setVisible(document.clocks.startswith("locked"))
        shown = ["launch", "report"]
        if document.verdicts:
            verdict = document.verdicts[row]
            self._show_verdict(verdict)
            shown += ["verdict", "do"] if verdict.remedies else ["verdict"]
        if self._has_roofline:
            shown.append("roofline")
        self._show(*shown)

    def _show_verdict(self, verdict: Verdict) -> None:
        kind = str(verdict.kind)
        unknown = kind == "unknown"
        words = "No verdict" if unknown else kind.capitalize()
        self.pill.set_state(ICONS.get(kind, "info"), words, LEVELS.get(kind, "none"))
        self._how.setText("" if unknown else verdict.confidence)
        self.evidence.set_rows(evidence_rows(verdict))
        self.evidence.setVisible(bool(verdict.evidence))
        self.command = command_in(verdict.words)
        self.copy_command.setVisible(bool(self.command))
        self.copy_command.setToolTip(tip_text(self.command))
        self.words.set_plain(visible_text(verdict.words.replace("`", "")))
        self.remedies.show_remedies(verdict.remedies[:MOST_REMEDIES])

    def _show(self, *names: str) -> None:
        for name, section in self._sections.items():
            section.setVisible(name in names)

    def copy(self) -> None:
        """Copies everything that is shown."""
        lines = [self.head.text, self.name.toPlainText()]
        if not self._sections["verdict"].isHidden():
            lines.append(f"{self.pill.text}, {self._how.text()}")
            lines += [f"{row.what}\t{row.value}\t{row.against}" for row in self.evidence.rows]
            lines.append(self.words.plain)
        if not self._sections["do"].isHidden():
            lines += self.remedies.lines
        for values in (self.launch, self.report):
            lines += [f"{key}\t{value}" for key, value in values.pairs]
        QGuiApplication.clipboard().setText("\n".join(lines))


class EvidenceLines(QWidget):
    """What a verdict rests on: label and value, below them what it is held against; the weightiest first."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[EvidenceRow, ...] = ()
        self._lines: list[tuple[ElidedLabel, ElidedLabel, ElidedLabel]] = []
        self._is_whole = False
        self.more = QPushButton()
        set_kind(self.more, kind="flat", size="small")
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
            gain = "" if remedy.gain_pct is None else f" At most {format_pct(remedy.gain_pct)}, estimate."
            text = f"{visible_text(remedy.text)}{gain}"
            number, words = plain_label(str(place + 1)), Paragraph(text)
            set_kind(number, kind="secondary")
            set_kind(words, kind="table-text")
            words.setToolTip(tip_text(visible_text(remedy.basis)))
            self._grid.addWidget(number, place, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words, place, 1)
            self.lines.append(f"{place + 1}\t{text}")


class _Section(QWidget):
    """A part of the inspector with a line below it."""

    def __init__(self, theme: ThemeController, title: str, *contents: QWidget) -> None:
        super().__init__()
        self._theme = theme
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 9, 12, 11)
        layout.setSpacing(6)
        heading = plain_label(title)
        set_kind(heading, kind="heading")
        heading.setVisible(bool(title))
        layout.addWidget(heading)
        for content in contents:
            layout.addWidget(content)
        theme.changed.connect(self._redraw)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the line."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.theme.color("border"))
        painter.end()

    def _redraw(self, _theme: Theme) -> None:
        self.update()


def _left(button: QPushButton) -> QWidget:
    line = QWidget()
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(button)
    row.addStretch(1)
    return line
