"""The source lines or instructions of a launch with their counts, above the sections on source counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gui.theme import set_kind
from gui.widgets.nsight_tabs import LaunchTab
from gui.widgets.result_bar import BAR_PX
from gui.widgets.result_table import ResultTableWidget
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from gui.reports.answers import LaunchAnswer
    from gui.reports.document import InstructionAnswer, SourceAnswer
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.widgets.nsight_export import PartExport
    from gui.widgets.nsight_parts import PartTools
    from gui.widgets.nsight_tabs import TabSpec

LINES, INSTRUCTIONS = range(2)
_ADDRESS: Final = "device_address"
_TEXT: Final = "text"
_SASS: Final = "sass"


class SourceTab(QWidget):
    """Shows a table of lines or one of instructions, and the sections on source counters.

    Signals:
        asked: Launch whose lines are wanted.
        instructions_asked: Launch whose instructions are wanted.
    """

    asked = Signal(int)
    instructions_asked = Signal(int)

    def __init__(
        self, spec: TabSpec, theme: ThemeController, tasks: Tasks, settings: Settings, export: PartExport
    ) -> None:
        super().__init__()
        self._export = export
        self._row: int | None = None
        self._asked: set[int] = set()
        """Forms whose table of the launch has been asked for."""
        self._shown: InstructionAnswer | None = None
        """The instructions that are shown, or will be when they are in order."""
        self._wanted: str | None = None
        """Address of the instruction to select as soon as its table is there."""
        self.sections = LaunchTab(spec)
        self.form = Segmented("Rows", ("Lines", "Instructions"))
        self.form.chosen.connect(self._show_form)
        bar = QWidget()
        set_kind(bar, kind="page-bar")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        bar.setFixedHeight(BAR_PX)
        row = QHBoxLayout(bar)
        row.setContentsMargins(12, 0, 12, 0)
        row.addWidget(self.form)
        row.addStretch(1)
        self.lines = ResultTableWidget(theme, tasks, settings)
        self.instructions = ResultTableWidget(theme, tasks, settings)
        self.lines.columns.spare, self.instructions.columns.spare = _TEXT, _SASS
        self._tables = QStackedWidget()
        for table in (self.lines, self.instructions):
            table.failed.connect(export.failed)
            table.told.connect(export.told)
            self._tables.addWidget(table)
        self.instructions.model.arranged.connect(self._select_wanted)
        upper = QWidget()
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(self._tables, 1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(3)
        splitter.addWidget(upper)
        splitter.addWidget(self.sections)
        splitter.setSizes([300, 300])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)

    def show_launch(self, answer: LaunchAnswer, tools: PartTools, opened: dict[str, bool]) -> None:
        """Shows the sections of a launch, and asks for its lines or instructions."""
        self.sections.show_launch(answer, tools, opened)
        self.sections.setVisible(bool(self.sections.cards))
        self.lines.file_stem = self.instructions.file_stem = tools.stem
        if answer.ask.row != self._row:
            self._wanted = None
        self._row = answer.ask.row
        self._asked.clear()
        self._ask()

    def show_lines(self, answer: SourceAnswer) -> None:
        """Shows the lines that were asked for last."""
        if answer.row == self._row:
            self.lines.show_table(answer.table)

    def show_instructions(self, answer: InstructionAnswer) -> None:
        """Shows the instructions that were asked for last; of the same launch the chosen one stays."""
        if answer.row != self._row:
            return
        if self._wanted is None and self._shown is not None and answer.row == self._shown.row:
            self._wanted = self._chosen_address()
        self._shown = answer
        self.instructions.show_table(answer.table)

    def show_instruction(self, address: str) -> None:
        """Shows the instructions, and selects the one at an address.

        Args:
            address: Of the device, in hex digits; one that was not counted is said so.
        """
        self._wanted = f"0x{address.lower().removeprefix('0x').lstrip('0') or '0'}"
        self.form.set_current(INSTRUCTIONS)
        self._show_form(INSTRUCTIONS)
        self._select_wanted()

    def _show_form(self, form: int) -> None:
        self._tables.setCurrentIndex(form)
        self._ask()

    def _ask(self) -> None:
        """Asks for the table in sight, once for each launch."""
        form = self.form.current
        if self._row is None or form in self._asked:
            return
        self._asked.add(form)
        (self.instructions_asked if form == INSTRUCTIONS else self.asked).emit(self._row)

    def _chosen_address(self) -> str | None:
        table, row = self.instructions.model.table, self.instructions.current_row()
        found = None if table is None or row is None else table.column(_ADDRESS).value(row)
        return found if isinstance(found, str) else None

    def _select_wanted(self) -> None:
        """Selects the wanted instruction, if the launch's table is shown; a filter that hides it goes."""
        wanted, table, shown = self._wanted, self.instructions.model.table, self._shown
        if wanted is None or table is None or shown is None:
            return
        if shown.row != self._row or shown.table is not table:
            return
        column = table.column(_ADDRESS)
        found = next((row for row in range(len(table)) if column.value(row) == wanted), None)
        if found is not None and self.instructions.model.place_of(found) < 0:
            # Comes back when all rows are shown.
            self.instructions.bar.field.clear()
            return
        self._wanted = None
        if found is None:
            self._export.told.emit(f"Nothing was counted at {wanted}")
        else:
            self.instructions.select_rows([found])
