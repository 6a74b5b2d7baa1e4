"""The tables of all kernels of a report: which one is shown, and the one table widget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from core.report_tables.numbers import NUMBER
from gui.plain_text import control_text
from gui.theme import set_kind
from gui.widgets.result_table import ResultTableWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.result import ResultTable
    from gui.reports.document import TableAnswer
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.widgets.result_table import RowChosen

TABS_PX: Final = 32
FIRST: Final = (NUMBER, "name", "duration_ns", "sm_pct", "memory_pct", "verdict")
"""Columns that stand first, as they are to be seen without scrolling."""


def in_reading_order(table: ResultTable) -> ResultTable:
    """The same table with what tells most of a kernel first, if it is a table of launches."""
    columns = {column.key: column for column in table.columns}
    if not columns.keys() >= {"duration_ns", "verdict"}:
        return table
    first = [columns.pop(key) for key in FIRST if key in columns]
    return replace(table, columns=(*first, *columns.values()))


class ReportTables(QWidget):
    """Chooses a table and shows it.

    Signals:
        asked: Another table is wanted; ``shown`` says which.
    """

    asked = Signal()

    def __init__(self, theme: ThemeController, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setAccessibleName("Tables of the report")
        self.tabs.currentChanged.connect(lambda _: self.asked.emit())
        self.table = ResultTableWidget(theme, tasks, settings)
        # Its filter stands in the bar of the page.
        self.table.bar.hide()
        head = QWidget()
        set_kind(head, kind="page-bar")
        head.setFixedHeight(TABS_PX)
        row = QHBoxLayout(head)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self.tabs, 1)
        for button in (self.table.bar.copy, self.table.bar.export, self.table.bar.columns):
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(head)
        layout.addWidget(self.table, 1)

    @property
    def shown(self) -> str:
        """Name of the table that is wanted."""
        place = self.tabs.currentIndex()
        return self._names[place] if 0 <= place < len(self._names) else "kernels"

    def set_tables(self, tables: Sequence[tuple[str, str]]) -> None:
        """Makes a tab for each (name, title)."""
        self.tabs.blockSignals(True)
        for _, title in tables:
            self.tabs.addTab(control_text(title))
        self.tabs.blockSignals(False)
        self._names = tuple(name for name, _ in tables)

    def show_table(self, name: str) -> None:
        """Shows the tab of a table."""
        if name in self._names:
            self.tabs.setCurrentIndex(self._names.index(name))

    def show_answer(self, answer: TableAnswer) -> None:
        """Shows a table that was asked for."""
        if answer.ask.table == self.shown:
            self.table.show_table(in_reading_order(answer.table))

    def filter(self, text: str) -> None:
        """Shows only rows that hold each of these words."""
        self.table.bar.field.setText(text)

    @staticmethod
    def launch_of(chosen: RowChosen) -> int | None:
        """The launch that a row is about, of a group its first; None if it is about none."""
        table = chosen.table
        members = table.rows_of(chosen.row)
        if len(members):
            return int(members[0])
        for column in table.columns:
            if column.key == NUMBER:
                number = column.value(chosen.row)
                return int(number) - 1 if isinstance(number, int | float) else None
        return None
