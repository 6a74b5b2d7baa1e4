"""The table of recent runs and files on Home: sorting, filtering and how cells look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from core.files import printable
from core.units import format_file_bytes
from gui.plain_text import tip_text
from gui.recent_work import format_day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.recent_work import RecentRow
    from gui.theme import ThemeController

Index = QModelIndex | QPersistentModelIndex
Show = Literal["all", "runs", "files"]

NAME, KIND, RESULT, OPENED, SIZE = range(5)
_TIP_FILES = 12
HEADERS = ("Name", "Kind", "Result", "Opened", "Size")


class RecentModel(QAbstractTableModel):
    """Rows that pass the filter, in the order asked for."""

    def __init__(self, theme: ThemeController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._all: tuple[RecentRow, ...] = ()
        self._rows: list[RecentRow] = []
        self._show: Show = "all"
        self._sorted_by = (OPENED, Qt.SortOrder.DescendingOrder)
        theme.changed.connect(self._redraw)

    @property
    def rows(self) -> list[RecentRow]:
        """Rows as they are shown."""
        return self._rows

    @property
    def total(self) -> int:
        """Rows there are, shown or not."""
        return len(self._all)

    def set_rows(self, rows: Sequence[RecentRow]) -> bool:
        """Replaces all rows. Returns whether rows came, went or moved; new figures alone move nothing."""
        self._all = tuple(rows)
        arranged = self._arranged()
        if [row.paths for row in arranged] != [row.paths for row in self._rows]:
            self._arrange()
            return True
        if arranged != self._rows:
            self._rows = arranged
            self._redraw()
        return False

    def set_show(self, show: Show) -> None:
        """Shows all rows, or only runs or files."""
        self._show = show
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sorts by a column; unknown sizes come last."""
        self._sorted_by = (column, order)
        self._arrange()

    def rowCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """How many rows are shown."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Five."""
        return 0 if parent is not None and parent.isValid() else len(HEADERS)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Words of the columns, aligned as their cells."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[section]
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text, icon, colour and tooltip of a cell."""
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text(_place_text(row) if column == NAME else self._text(row, column))
        if role == Qt.ItemDataRole.DecorationRole:
            return self._icon(row, column)
        if role == Qt.ItemDataRole.ForegroundRole and column in (KIND, OPENED, SIZE):
            return self._theme.theme.color("text2")
        return _alignment(column) if role == Qt.ItemDataRole.TextAlignmentRole else None

    @staticmethod
    def _text(row: RecentRow, column: int) -> str:
        if column == SIZE:
            return "" if row.size_bytes is None else format_file_bytes(row.size_bytes)
        return (row.name, row.kind, row.result, format_day(row.t_ns))[column]

    def _icon(self, row: RecentRow, column: int) -> Any:
        theme = self._theme.theme
        if column == NAME:
            return theme.icon(row.icon)
        if column == RESULT and row.result_icon:
            return theme.icon(row.result_icon, row.level if row.level in theme.tokens else "text2")
        return None

    def _arrange(self) -> None:
        self.beginResetModel()
        self._rows = self._arranged()
        self.endResetModel()

    def _arranged(self) -> list[RecentRow]:
        rows = [row for row in self._all if self._show == "all" or row.is_run == (self._show == "runs")]
        column, order = self._sorted_by
        rows.sort(key=lambda row: row.t_ns, reverse=True)
        rows.sort(key=lambda row: _sort_key(row, column), reverse=order == Qt.SortOrder.DescendingOrder)
        if column == SIZE:
            rows.sort(key=lambda row: row.size_bytes is None)
        return rows

    def _redraw(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(HEADERS) - 1))


def _place_text(row: RecentRow) -> str:
    """Where it lies; of several files all that a tooltip has room for."""
    shown = [printable(str(path)) for path in row.paths[:_TIP_FILES]]
    more = len(row.paths) - len(shown)
    return "\n".join([*shown, f"and {more} more"] if more else shown)


def _sort_key(row: RecentRow, column: int) -> Any:
    if column == OPENED:
        return row.t_ns
    if column == SIZE:
        return row.size_bytes or 0
    return (row.name, row.kind, row.result)[column].casefold()


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column == SIZE else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
