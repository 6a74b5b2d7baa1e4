"""The source lines of a launch with what was counted at them, above the sections on source counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from gui.widgets.nsight_tabs import LaunchTab
from gui.widgets.result_table import ResultTableWidget

if TYPE_CHECKING:
    from gui.reports.answers import LaunchAnswer
    from gui.reports.document import SourceAnswer
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.widgets.nsight_export import PartExport
    from gui.widgets.nsight_parts import PartTools
    from gui.widgets.nsight_tabs import TabSpec


class SourceTab(QWidget):
    """Shows a table of lines and the sections on source counters.

    Signals:
        asked: Launch whose lines are wanted.
    """

    asked = Signal(int)

    def __init__(
        self, spec: TabSpec, theme: ThemeController, tasks: Tasks, settings: Settings, export: PartExport
    ) -> None:
        super().__init__()
        self._row: int | None = None
        self.sections = LaunchTab(spec)
        self.lines = ResultTableWidget(theme, tasks, settings)
        self.lines.failed.connect(export.failed)
        self.lines.told.connect(export.told)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(3)
        splitter.addWidget(self.lines)
        splitter.addWidget(self.sections)
        splitter.setSizes([300, 300])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)

    def show_launch(self, answer: LaunchAnswer, tools: PartTools, opened: dict[str, bool]) -> None:
        """Shows the sections of a launch, and asks for its lines."""
        self.sections.show_launch(answer, tools, opened)
        self.sections.setVisible(bool(self.sections.cards))
        self.lines.file_stem = tools.stem
        self._row = answer.ask.row
        self.asked.emit(self._row)

    def show_lines(self, answer: SourceAnswer) -> None:
        """Shows the lines that were asked for last."""
        if answer.row == self._row:
            self.lines.show_table(answer.table)
