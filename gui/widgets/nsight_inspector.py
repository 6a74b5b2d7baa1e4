"""The inspector of the Nsight page: verdict with evidence, what to do, facts of launch and report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.units import format_count
from gui.plain_text import Paragraph, plain_label, tip_text
from gui.theme import set_kind
from gui.widgets.inspector_head import InspectorHead
from gui.widgets.inspector_section import InspectorSection
from gui.widgets.key_values import KeyValues
from gui.widgets.nsight_sections import command_in
from gui.widgets.nsight_words import (
    CLOCK_NOTE,
    launch_pairs,
    report_pairs,
)
from gui.widgets.verdict_view import VerdictView
from gui.widgets.wrapped_text import WrappedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.roofline.verdict import Verdict
    from gui.reports.document import ReportDocument
    from gui.theme import ThemeController

NAME_LINES: Final = 5


class NsightInspector(QWidget):
    """Sections of one launch.

    Signals:
        roofline_asked: The kernel should be shown on the roofline.
    """

    roofline_asked = Signal()

    def __init__(self, theme: ThemeController, *, has_roofline: bool) -> None:
        """Args: ``has_roofline``: whether there is a page to show a kernel on."""
        super().__init__()
        self.head = InspectorHead(theme, "Kernel")
        self.head.copy_asked.connect(self.copy)
        self._nothing = plain_label("No kernel is chosen.", wrap=True)
        set_kind(self._nothing, kind="secondary")
        self.name = WrappedText("Full name of the kernel", NAME_LINES)
        self.command = ""
        self.copy_command = QPushButton("Copy command")
        set_kind(self.copy_command, size="small")
        self.copy_command.clicked.connect(lambda _=False: QGuiApplication.clipboard().setText(self.command))
        self.verdict = VerdictView(theme, _left(self.copy_command))
        self.roofline = QPushButton("Show on roofline")
        self.roofline.setVisible(has_roofline)
        self.roofline.clicked.connect(lambda _=False: self.roofline_asked.emit())
        self.launch, self.report = KeyValues(), KeyValues()
        self._note = Paragraph(CLOCK_NOTE)
        set_kind(self._note, kind="caption")
        self.repeats = Paragraph("")
        set_kind(self.repeats, kind="caption")
        self._sections = {
            "nothing": InspectorSection(theme, "", self._nothing),
            "verdict": InspectorSection(theme, "", self.verdict),
            "do": InspectorSection(theme, "What to do", self.verdict.remedies, self.repeats),
            "roofline": InspectorSection(theme, "", _left(self.roofline)),
            "launch": InspectorSection(theme, "Launch", self.name, self.launch),
            "report": InspectorSection(theme, "Report", self.report, self._note),
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

    def show_kernel(self, document: ReportDocument, rows: Sequence[int], place: str) -> None:
        """Shows a launch, or repeats of one: their first, and what all of them could gain.

        Args:
            document: Its report, which has been read.
            rows: The launch; of a group all of its launches.
            place: "Kernel 3 of 9".
        """
        row = rows[0]
        report, kernels = document.report, document.kernels
        assert report is not None
        assert kernels is not None
        self.head.show_words(place, category=kernels.categories[row])
        self.name.set_text(report.strings[int(report.launches.name_id[row])] or "(no name)")
        self.launch.set_pairs(launch_pairs(report, row))
        self.report.set_pairs(report_pairs(report, row, document.clocks))
        self._note.setVisible(document.clocks.startswith("locked"))
        shown = ["launch", "report"]
        if document.verdicts is not None:
            verdict = document.verdicts[row] if len(rows) == 1 else document.verdicts.of_group(rows)
            self._show_verdict(verdict)
            words = _of_which(len(rows), kernels.names.count(kernels.names[row]))
            self.repeats.set_plain(words)
            bounded = any(remedy.gain_pct is not None for remedy in verdict.remedies)
            self.repeats.setVisible(bool(words) and bounded)
            shown += ["verdict", "do"] if verdict.remedies else ["verdict"]
        if self._has_roofline:
            shown.append("roofline")
        self._show(*shown)

    def _show_verdict(self, verdict: Verdict) -> None:
        self.verdict.show_verdict(verdict)
        self.command = command_in(verdict.words)
        self.copy_command.setVisible(bool(self.command))
        self.copy_command.setToolTip(tip_text(self.command))

    def _show(self, *names: str) -> None:
        for name, section in self._sections.items():
            section.setVisible(name in names)

    def copy(self) -> None:
        """Copies everything that is shown."""
        lines = [self.head.text, self.name.text]
        if not self._sections["verdict"].isHidden():
            lines += self.verdict.lines
        if not self._sections["do"].isHidden():
            lines += self.verdict.remedies.lines
            lines += [] if self.repeats.isHidden() else [self.repeats.plain]
        for values in (self.launch, self.report):
            lines += [f"{key}\t{value}" for key, value in values.pairs]
        QGuiApplication.clipboard().setText("\n".join(lines))


def _of_which(shown: int, same: int) -> str:
    """Say of which launches gains are, "" where a kernel has but one."""
    if shown > 1:
        return f"A gain is of all {format_count(shown)} launches together."
    if same > 1:
        return f"A gain is of this launch alone; the report has {format_count(same)} of this kernel."
    return ""


def _left(button: QPushButton) -> QWidget:
    line = QWidget()
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(button)
    row.addStretch(1)
    return line
