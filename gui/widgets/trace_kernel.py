"""What models and reports say of a kernel of a trace, for the inspector: verdict, remedies, counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.plain_text import Paragraph, visible_text
from gui.theme import set_kind
from gui.widgets.inspector_section import InspectorSection
from gui.widgets.key_values import KeyValues
from gui.widgets.verdict_view import VerdictView
from gui.widgets.verdict_words import figure_text

if TYPE_CHECKING:
    from core.roofline.verdict import Verdict
    from gui.theme import ThemeController
    from gui.traces.kernel_extras import MeasuredCall


class KernelSections(QWidget):
    """Sections that stand only where there is something to say.

    Signals:
        report_asked: The kernel should be shown in the report that measured it.
    """

    report_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.call: MeasuredCall | None = None
        self.verdict = VerdictView(theme)
        self.counters = KeyValues()
        self.measured_in = Paragraph()
        set_kind(self.measured_in, kind="secondary")
        self.open = QPushButton("Open in Nsight")
        set_kind(self.open, size="small")
        self.open.clicked.connect(lambda _=False: self.report_asked.emit())
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 2, 0, 0)
        row.addWidget(self.open)
        row.addStretch(1)
        self._sections = {
            "verdict": InspectorSection(theme, "", self.verdict),
            "do": InspectorSection(theme, "What to do", self.verdict.remedies),
            "measured": InspectorSection(theme, "", self.measured_in, self.counters, line),
        }
        self._line = line
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for section in self._sections.values():
            layout.addWidget(section)
        self.show_kernel(None, None)

    def show_kernel(self, verdict: Verdict | None, call: MeasuredCall | None) -> None:
        """Shows what is known; None for nothing."""
        self.call = call
        if verdict is not None:
            self.verdict.show_verdict(verdict)
        if call is not None:
            name, is_measured = visible_text(call.source.name), bool(len(call.launch_rows))
            self.measured_in.set_plain(
                f"Measured in {name}:"
                if is_measured
                else f"{name} has this kernel with another grid or block only."
            )
            self.counters.set_pairs(counter_pairs(call) if is_measured else [])
            self.counters.setVisible(is_measured)
            self._line.setVisible(is_measured)
        self._sections["verdict"].setVisible(verdict is not None)
        self._sections["do"].setVisible(verdict is not None and bool(verdict.remedies))
        self._sections["measured"].setVisible(call is not None)
        self.setVisible(verdict is not None or call is not None)

    @property
    def lines(self) -> list[str]:
        """What is shown, to be copied."""
        lines = [] if self._sections["verdict"].isHidden() else self.verdict.lines
        if not self._sections["do"].isHidden():
            lines += self.verdict.remedies.lines
        if self.call is not None:
            lines += [self.measured_in.plain, *(f"{key}\t{value}" for key, value in self.counters.pairs)]
        return lines


def counter_pairs(call: MeasuredCall) -> list[tuple[str, str, str]]:
    """(label, value, explained) of each counter that was collected."""
    values = [(column, column.value(call.kernel)) for column in call.columns]
    return [
        (column.title, figure_text(value, column.unit), column.help)
        for column, value in values
        if value is not None
    ]
