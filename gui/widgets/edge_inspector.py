"""The inspector of the Edge page: what became of a run, on what evidence, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.edge.result_table import backend_words, state_words
from core.files import printable
from gui.plain_text import Paragraph, plain_label
from gui.theme import set_kind
from gui.widgets import edge_words as words
from gui.widgets.evidence import Evidence
from gui.widgets.inspector_head import InspectorHead
from gui.widgets.inspector_section import InspectorSection
from gui.widgets.key_values import KeyValues
from gui.widgets.pill import Pill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.edge.backend import Missing
    from core.edge.result import EdgeResult
    from core.hardware.probe import DeviceProblem
    from gui.theme import ThemeController


class EdgeInspector(QWidget):
    """Sections of one result, and what is missing on this machine."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.head = InspectorHead(theme, "Result")
        self.head.copy_asked.connect(self.copy)
        self.result: EdgeResult | None = None
        self._nothing = plain_label("Select a result.", wrap=True)
        set_kind(self._nothing, kind="secondary")
        self.pill = Pill(theme)
        self._where = plain_label()
        set_kind(self._where, kind="secondary")
        self.agreement, self.providers = Evidence(), Evidence()
        self.why, self.what = Paragraph(), Paragraph()
        self.stages, self.speeds, self.memory = KeyValues(), KeyValues(), KeyValues()
        self.ceilings, self.facts = KeyValues(), KeyValues()
        self.missing = Paragraph()
        state = QWidget()
        row = QHBoxLayout(state)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.pill)
        row.addWidget(self._where)
        row.addStretch(1)
        self._sections = {
            "nothing": InspectorSection(theme, "", self._nothing),
            "state": InspectorSection(theme, "", state, self.agreement),
            "providers": InspectorSection(theme, "Who ran the nodes", self.providers),
            "why": InspectorSection(theme, "Why", self.why),
            "what": InspectorSection(theme, "What to do", self.what),
            "speeds": InspectorSection(theme, "Speed", self.speeds),
            "stages": InspectorSection(theme, "Stages", self.stages),
            "memory": InspectorSection(theme, "Memory", self.memory),
            "ceilings": InspectorSection(theme, "Measured ceilings", self.ceilings),
            "facts": InspectorSection(theme, "Run", self.facts),
            "missing": InspectorSection(theme, "Missing here", self.missing),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for section in self._sections.values():
            layout.addWidget(section)
        layout.addStretch(1)
        self.show_result(None)

    def show_result(self, result: EdgeResult | None) -> None:
        """Shows a result, or says that none is selected."""
        self.result = result
        if result is None:
            self.head.show_words("Result")
            self._show("nothing")
            return
        self.head.show_words("Result", f"{backend_words(result)}, {printable(result.device)}")
        icon, level = words.STATE_LOOKS[result.state]
        self.pill.set_state(icon, _capital(state_words(result).partition(",")[0]), level)
        self._where.setText(f"{result.precision}, software" if result.software else result.precision)
        self.agreement.set_rows(words.agreement_rows(result))
        self.providers.set_rows(words.provider_rows(result))
        whys, whats = words.why_and_what(result)
        self.why.set_plain("\n".join(whys))
        self.what.set_plain("\n".join(whats))
        self.speeds.set_pairs(words.speed_pairs(result))
        self.stages.set_pairs(words.stage_pairs(result))
        self.memory.set_pairs(words.memory_pairs(result))
        self.ceilings.set_pairs(words.ceiling_pairs(result))
        self.facts.set_pairs(words.fact_pairs(result))
        self._show(
            "state",
            "stages",
            "memory",
            "facts",
            *(["providers"] if result.providers else []),
            *(["why"] if whys else []),
            *(["what"] if whats else []),
            *(["speeds"] if words.speed_pairs(result) else []),
            *(["ceilings"] if result.ceilings else []),
        )

    def show_missing(self, problems: Sequence[DeviceProblem], missing: Sequence[Missing]) -> None:
        """Says what the probes did not find, and which backends cannot be used here."""
        lines = [f"{each.message} {each.hint}".strip() for each in problems]
        lines += [f"{each.message} {each.hint}".strip() for each in missing]
        self.missing.set_plain("\n".join(lines))
        self._sections["missing"].setVisible(bool(lines))

    def copy(self) -> None:
        """Copies everything that is shown."""
        if self.result is not None:
            QGuiApplication.clipboard().setText("\n".join(words.result_lines(self.result)))

    def _show(self, *names: str) -> None:
        for name, section in self._sections.items():
            if name != "missing":
                section.setVisible(name in names)


def _capital(words: str) -> str:
    """The beginning of a sentence; names within keep their capitals."""
    return words[:1].upper() + words[1:]
