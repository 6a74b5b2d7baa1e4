"""The roofline of the Edge page: the plot of a result, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from core.edge.result_table import state_words
from gui.plots.edge_roofline import roofline_of, roofline_rows
from gui.plots.roofline_view import RooflineView
from gui.widgets.empty_state import EmptyState

if TYPE_CHECKING:
    from core.edge.result import EdgeResult
    from core.tables.result import ResultTable
    from gui.theme import ThemeController


class EdgeRoofline(QStackedWidget):
    """One result's dispatches below its measured ceilings.

    Signals:
        row_selected: Row of the table of dispatches whose point was selected.
    """

    row_selected = Signal(int)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.view = RooflineView(theme.theme)
        self.nothing = EmptyState(theme, "chart-line-up")
        self._rows: list[int] = []
        self.addWidget(self.nothing)
        self.addWidget(self.view)
        self.view.point_selected.connect(self._tell)
        theme.changed.connect(self.view.set_theme)

    def show_result(self, result: EdgeResult | None, table: ResultTable | None) -> None:
        """Shows a result, with the table of its dispatches."""
        if result is None or table is None:
            self._rows = []
            self.nothing.set_text("No result is selected", "Select one in the table of results.")
            self.setCurrentWidget(self.nothing)
            return
        if result.state != "agrees":
            self._rows = []
            self.nothing.set_text(
                "No roofline of this result",
                f"It {_was(state_words(result))}: its times are not used. "
                "Only a result that agrees has speeds.",
            )
            self.setCurrentWidget(self.nothing)
            return
        if not result.ceilings and not roofline_rows(table):
            self._rows = []
            self.nothing.set_text(
                "No ceiling was measured",
                "This backend measured neither a product nor a copy on this device, and timed no dispatch.",
            )
            self.setCurrentWidget(self.nothing)
            return
        self._rows = roofline_rows(table)
        self.view.set_content(roofline_of(result, table))
        self.setCurrentWidget(self.view)

    def select_row(self, row: int) -> None:
        """Marks the point of a dispatch, if it has one."""
        self.view.select(self._rows.index(row) if row in self._rows else -1)

    def _tell(self, point: int) -> None:
        if point >= 0:
            self.row_selected.emit(self._rows[point])


def _was(words: str) -> str:
    """The state as the end of a sentence with "it"."""
    return {
        "impossible times": "has impossible times",
        "refused": "was refused",
        "failed": "failed",
        "cancelled": "was cancelled",
    }.get(words, words)
