"""The lower half of a trace: tabs of tables, how kernels are grouped, and the one table widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QTabBar, QVBoxLayout, QWidget

from core.tables.selection import WHOLE, Selection
from core.units import format_count
from gui.plain_text import control_text
from gui.theme import set_kind
from gui.traces.document import TableAsk
from gui.traces.groupings import GROUPINGS
from gui.widgets.result_table import ResultTableWidget
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.traces.document import TableAnswer

TABS_PX: Final = 32
KERNELS: Final = "kernels"
LAUNCHES: Final = "launches"
WORK: Final = "work"
OPERATORS: Final = "ops"
QUALITY: Final = "quality"
KERNEL_TABLES: Final = frozenset({KERNELS, LAUNCHES, WORK})
"""Whose rows stand for kernels."""

TABS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    ("Kernels", ((KERNELS, "Grouped"), (LAUNCHES, "Per launch"), (WORK, "Modelled"))),
    ("Operators", ((OPERATORS, "By name"), ("ops_by_shape", "By shape"))),
    ("Modules", (("modules", "Modules"),)),
    ("Steps", (("steps", "Steps"), ("queue", "Queue"), ("stragglers", "Stragglers"))),
    (
        "Communication",
        (
            ("communication", "Grouped"),
            ("collectives", "Each"),
            ("overlap", "Overlap"),
            ("arrivals", "Arrivals"),
        ),
    ),
    ("Memory", (("memory", "Memory"),)),
)
"""Each tab with its tables (name, word); analyses that are in none get a tab of their own behind these."""


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab.

    Attributes:
        title: Its word.
        tables: (name, word) of the tables in it; the words tell them apart.
    """

    title: str
    tables: tuple[tuple[str, str], ...]


def tabs_of(tables: Sequence[tuple[str, str]]) -> tuple[Tab, ...]:
    """Returns the tabs for the analyses there are, data quality last."""
    known = dict(tables)
    tabs = []
    for title, variants in TABS:
        there = tuple(each for each in variants if each[0] in known)
        if there:
            tabs.append(Tab(title, there))
    placed = {name for _, variants in TABS for name, _ in variants}
    tabs += [Tab(title, ((name, title),)) for name, title in tables if name not in placed]
    return (*tabs, Tab("Data quality", ((QUALITY, "Data quality"),)))


class TraceTables(QWidget):
    """Chooses a table and shows it.

    Signals:
        asked: Another table is wanted; ``ask`` says which.
    """

    asked = Signal()

    def __init__(self, theme: ThemeController, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._tabs: tuple[Tab, ...] = ()
        self._variant: dict[int, int] = {}
        self.selection = WHOLE
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.tabs.setAccessibleName("Tables of the trace")
        self.mode = Segmented("Kernels", ("Grouped", "Per launch"))
        self.grouping = QComboBox()
        set_kind(self.grouping, size="small")
        self.grouping.setAccessibleName("Group kernels by")
        self.grouping.setToolTip("What kernels of one row have in common")
        for value, words in GROUPINGS:
            self.grouping.addItem(f"By {words.lower()}", value)
        self._restore_grouping()
        self.table = ResultTableWidget(theme, tasks, settings)
        # Its filter and menus stand in the bars of the page.
        self.table.bar.hide()
        head = QWidget()
        set_kind(head, kind="page-bar")
        head.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        head.setFixedHeight(TABS_PX)
        row = QHBoxLayout(head)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self.tabs, 1)
        row.addWidget(self.mode)
        row.addWidget(self.table.bar.copy)
        row.addWidget(self.table.bar.columns)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(head)
        layout.addWidget(self.table, 1)
        self.tabs.currentChanged.connect(self._changed)
        self.mode.chosen.connect(self._choose_variant)
        self.grouping.currentIndexChanged.connect(self._grouping_changed)

    @property
    def shown(self) -> str:
        """Name of the table that is wanted."""
        place = self.tabs.currentIndex()
        if not 0 <= place < len(self._tabs):
            return KERNELS
        variants = self._tabs[place].tables
        return variants[min(self._variant.get(place, 0), len(variants) - 1)][0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tables, in the order of the tabs."""
        return tuple(name for tab in self._tabs for name, _ in tab.tables)

    @property
    def ask(self) -> TableAsk:
        """What is wanted now."""
        name = self.shown
        group_by = str(self.grouping.currentData()) if name == KERNELS else ""
        return TableAsk(name, group_by, WHOLE if name == QUALITY else self.selection)

    def set_tables(self, tables: Sequence[tuple[str, str]], *, has_kernels: bool) -> None:
        """Makes the tabs.

        Args:
            tables: (name, title) of the analyses there are.
            has_kernels: Whether the trace has device work; without it operators are shown first.
        """
        self._tabs = tabs_of(tables)
        self.tabs.blockSignals(True)
        for tab in self._tabs:
            self.tabs.addTab(control_text(tab.title))
        self.tabs.setCurrentIndex(self._place_of(KERNELS if has_kernels else OPERATORS))
        self.tabs.blockSignals(False)
        self._changed()

    def set_count(self, name: str, count: int) -> None:
        """Puts a number behind a tab's word."""
        place = self._place_of(name)
        if place >= 0:
            number = f"  {format_count(count)}" if count else ""
            self.tabs.setTabText(place, control_text(f"{self._tabs[place].title}{number}"))

    def show_table(self, name: str) -> None:
        """Shows the tab of a table, and the table in it."""
        place = self._place_of(name)
        if place < 0 or name == self.shown:
            return
        self._variant[place] = [each for each, _ in self._tabs[place].tables].index(name)
        if place == self.tabs.currentIndex():
            self._changed()
        else:
            self.tabs.setCurrentIndex(place)

    def _place_of(self, name: str) -> int:
        """Returns the tab that holds a table, -1 if there is none."""
        places = (place for place, tab in enumerate(self._tabs) if name in dict(tab.tables))
        return next(places, -1)

    def set_selection(self, selection: Selection) -> None:
        """Asks for the tables of another part of the trace."""
        if selection != self.selection:
            self.selection = selection
            # The number of kernels is known again when their table is shown.
            self.set_count(KERNELS, 0)
            self.asked.emit()

    def show_answer(self, answer: TableAnswer) -> None:
        """Shows a table that was asked for."""
        if answer.ask != self.ask:
            return
        self.table.show_table(answer.table)
        if answer.ask.table == QUALITY:
            self.set_count(QUALITY, len(answer.table))
        elif self._place_of(answer.ask.table) == self._place_of(KERNELS):
            by_name = answer.ask.table == KERNELS and answer.ask.group_by == "name"
            self.set_count(KERNELS, len(answer.table) if by_name else 0)

    def _changed(self) -> None:
        place = self.tabs.currentIndex()
        variants = self._tabs[place].tables if 0 <= place < len(self._tabs) else ()
        self.mode.setVisible(len(variants) > 1)
        if len(variants) > 1:
            self.mode.set_texts([words for _, words in variants], self._variant.get(place, 0))
        self.grouping.setVisible(self.shown == KERNELS)
        self.asked.emit()

    def _choose_variant(self, number: int) -> None:
        self._variant[self.tabs.currentIndex()] = number
        self._changed()

    def _grouping_changed(self) -> None:
        self._settings.set_page_value("trace", "group_by", self.grouping.currentData())
        self._changed()

    def _restore_grouping(self) -> None:
        stored = self._settings.page_value("trace", "group_by")
        place = self.grouping.findData(stored) if isinstance(stored, str) else -1
        self.grouping.setCurrentIndex(max(place, 0))
