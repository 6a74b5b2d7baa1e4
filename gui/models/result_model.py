"""A result table as Qt sees it: a permutation of its rows, and texts made when they come into sight.

The table itself is never copied. Filtering and sorting a large table runs in a
task; what was asked before is dropped when something newer is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from core.tables.columns import MISSING, Int32
from core.units import NOT_MEASURED
from gui.models.row_order import SortBy, TableRows
from gui.plain_text import tip_text, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.display import ColumnDisplay
    from core.tables.result import Column, ResultTable
    from gui.tasks import Progress, Tasks

Index = QModelIndex | QPersistentModelIndex

LARGE_ROWS: Final = 20_000
"""From here on a table is filtered and sorted in a task."""

NO_NAME = "(no name)"
ARROW_DOWN = " \N{DOWNWARDS ARROW}"
ARROW_UP = " \N{UPWARDS ARROW}"
AT_MOST = "\N{LESS-THAN OR EQUAL TO} "
_FULL_NAME = "full_name"
_DEPTH = "depth"
_KEPT_ROWS = 4_096
_SEARCHED_ROWS = 2_000
_LONGEST_SHOWN = 400
_TIP_LINE = 96
_TIP_LINES = 12


@dataclass(frozen=True, slots=True, eq=False)
class _Arrangement:
    """What is asked for, and the rows that answer it."""

    source: TableRows
    words: tuple[str, ...]
    sort: SortBy | None
    rows: Int32


class ResultModel(QAbstractTableModel):
    """Shows one ``ResultTable`` at a time.

    Signals:
        arranged: Other rows or another order are shown, or another table.
        failed: The ``DashboardError`` of a task.
    """

    arranged = Signal()
    failed = Signal(object)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._key = f"arrange rows {id(self)}"
        self._wanted: tuple[TableRows, tuple[str, ...], SortBy | None] | None = None
        self._now: _Arrangement | None = None
        # What is asked for each cell of a frame is kept at hand.
        self._rows: Int32 = np.empty(0, np.int32)
        self._displays: tuple[ColumnDisplay, ...] = ()
        self._texts: dict[int, tuple[str, ...]] = {}
        self._name_column = -1
        self._full_name_column = -1
        self._share_limits: dict[int, float] = {}
        self._depths: NDArray[Any] | None = None

    @property
    def table(self) -> ResultTable | None:
        """What is shown."""
        return None if self._now is None else self._now.source.table

    @property
    def rows(self) -> Int32:
        """(shown,) int32: rows of the table in the order in which they are shown."""
        return self._rows

    @property
    def words(self) -> tuple[str, ...]:
        """What the shown rows were filtered by."""
        return () if self._now is None else self._now.words

    @property
    def sort_by(self) -> SortBy | None:
        """What the shown rows are sorted by; None is the table's own order."""
        return None if self._now is None else self._now.sort

    @property
    def displays(self) -> tuple[ColumnDisplay, ...]:
        """How each column reads."""
        return self._displays

    @property
    def widest(self) -> tuple[tuple[str, ...], ...]:
        """For each column some texts among which the widest one is."""
        return () if self._now is None else self._now.source.widest

    @property
    def is_empty(self) -> tuple[bool, ...]:
        """For each column whether no row of the table has a value in it."""
        return () if self._now is None else self._now.source.is_empty

    @property
    def name_column(self) -> int:
        """The column that names a row: ``name``, else the first shown of texts, else the first; or -1."""
        return self._name_column

    def show_table(self, table: ResultTable, sort: SortBy | None) -> None:
        """Shows another table, under the filter that stands.

        Args:
            table: What to show; the old one stays until this one is ready.
            sort: A column that is not there is ignored.
        """
        known = sort is not None and any(column.key == sort.key for column in table.columns)
        words = self._wanted[1] if self._wanted is not None else ()
        self._want(TableRows(table), words, sort if known else None)

    def set_filter(self, text: str) -> None:
        """Shows only rows that hold each word of a text, in any of their texts and any case."""
        if self._wanted is not None:
            source, words, sort = self._wanted
            asked = tuple(text.casefold().split())
            if asked != words:
                self._want(source, asked, sort)

    def sort_rows(self, sort: SortBy) -> None:
        """Sorts by a column of the table."""
        if self._wanted is not None and sort != self._wanted[2]:
            self._want(self._wanted[0], self._wanted[1], sort)

    def row_at(self, place: int) -> int:
        """The row of the table that is shown at a place."""
        return int(self.rows[place])

    def place_of(self, row: int) -> int:
        """Where a row of the table is shown, -1 if it is not."""
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else -1

    def identity(self, row: int) -> dict[str, object]:
        """What tells a row from the others of its analysis: its texts, and numbers that name something."""
        assert self._now is not None
        columns = self._now.source.table.columns
        return {each.key: each.value(row) for each in columns if each.texts is not None or each.unit == "id"}

    def place_of_identity(self, identity: dict[str, object]) -> int:
        """Where the row of an earlier table is now, -1 if it is nowhere or the table is long.

        A column that only one of the two tables has tells nothing.
        """
        if len(self._rows) > _SEARCHED_ROWS or self._now is None:
            return -1
        keys = identity.keys() & {each.key for each in self._now.source.table.columns}
        wanted = {key: identity[key] for key in keys}

        def is_it(row: int) -> bool:
            own = self.identity(row)
            return bool(keys) and {key: own.get(key) for key in keys} == wanted

        return next((place for place, row in enumerate(self._rows.tolist()) if is_it(row)), -1)

    def place_starting(self, start: str, after: int) -> int:
        """The next place, round the end, whose name begins with a text in any case; -1 for none."""
        if self._now is None or not len(self.rows):
            return -1
        column = self._now.source.table.columns[self._name_column]
        if column.texts is None:
            return -1
        after %= len(self.rows)
        turned = np.concatenate((self.rows[after:], self.rows[:after]))
        found = self._now.source.first_starting(column, start.casefold(), turned)
        return -1 if found < 0 else (found + after) % len(self.rows)

    def cell(self, place: int, column: int) -> str:
        """What a cell says, on one line, cut where no screen reaches."""
        row = int(self._rows[place])
        texts = self._texts.get(row)
        if texts is None:
            if len(self._texts) >= _KEPT_ROWS:
                self._texts.clear()
            texts = self._texts[row] = self._row_texts(row)
        return texts[column]

    def value(self, place: int, column: int) -> int | float | str | None:
        """The value of a cell, as the table has it."""
        assert self._now is not None
        return self._now.source.table.columns[column].value(int(self.rows[place]))

    def is_wrong(self, place: int, column: int) -> bool:
        """Whether a cell says that something is not as it should be."""
        assert self._now is not None
        marks = self._now.source.table.columns[column].wrong
        return marks is not None and bool(marks[self.rows[place]])

    def full_text(self, place: int, column: int) -> str:
        """The whole text of a cell; of a shortened name what it was shortened from."""
        full = self.value(place, self._full_name_column) if column == self._name_column else None
        if isinstance(full, str):
            return full
        value = self.value(place, column)
        return value if isinstance(value, str) else self.cell(place, column)

    def share(self, place: int, column: int) -> float | None:
        """How long the bar of a share is, 0 to 1 of the largest; None where there is no bar."""
        limit = self._share_limits.get(column)
        value = None if limit is None else self.value(place, column)
        if limit is None or not isinstance(value, int | float):
            return None
        return min(max(value / limit, 0.0), 1.0)

    def depth(self, place: int) -> int:
        """How deep a row lies in a tree; 0 where rows are none, or are sorted otherwise."""
        if self._depths is None or self.sort_by is not None:
            return 0
        return int(self._depths[self.row_at(place)])

    def has_bar(self, column: int) -> bool:
        """Whether a column is a share, shown with a bar."""
        return column in self._share_limits

    def rowCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of shown rows."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of columns, hidden ones too."""
        return 0 if parent is not None and parent.isValid() else len(self.displays)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = int(Qt.ItemDataRole.DisplayRole)
    ) -> Any:
        """Titles with units, and what the column means."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.displays):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.displays[section].header + self._arrow(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            column = self._column(section)
            return tip_text(f"{column.title}\n{column.help}".strip())
        return self._alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        """Text, alignment, the whole of a long text, and why a value is missing."""
        if not index.isValid():
            return None
        place, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.cell(place, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(place, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.displays[column].header}: {self.cell(place, column)}"
        return None

    def _column(self, section: int) -> Column:
        assert self._now is not None
        return self._now.source.table.columns[section]

    def _arrow(self, section: int) -> str:
        sort = self.sort_by
        if sort is None or sort.key != self._column(section).key:
            return ""
        return ARROW_DOWN if sort.descending else ARROW_UP

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        numeric = self.displays[column].numeric
        side = Qt.AlignmentFlag.AlignRight if numeric else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter

    def _tip(self, place: int, column: int) -> str | None:
        value = self.value(place, column)
        if value is None:
            return tip_text(f"{self._column(column).help}\n{NOT_MEASURED}: not known for this row.".strip())
        if not isinstance(value, str):
            return None
        return tip_text(_folded_lines(self.full_text(place, column)))

    def _row_texts(self, row: int) -> tuple[str, ...]:
        assert self._now is not None
        columns = self._now.source.table.columns
        texts = [
            display.text(column.value(row)) for column, display in zip(columns, self.displays, strict=True)
        ]
        for place, (column, display) in enumerate(zip(columns, self.displays, strict=True)):
            if not display.numeric:
                texts[place] = _one_line(texts[place])
            elif column.at_most is not None and column.at_most[row] and texts[place] != NOT_MEASURED:
                texts[place] = AT_MOST + texts[place]
        if texts and not texts[self._name_column]:
            texts[self._name_column] = NO_NAME
        return tuple(texts)

    def _want(self, source: TableRows, words: tuple[str, ...], sort: SortBy | None) -> None:
        self._wanted = (source, words, sort)
        if len(source.table) < LARGE_ROWS:
            self._tasks.cancel(self._key)
            self._take(_arranged(source, words, sort, _never))
            return

        def work(progress: Progress) -> _Arrangement:
            return _arranged(source, words, sort, progress.check)

        self._tasks.start(
            title="Sorting and filtering",
            work=work,
            done=self._take,
            failed=self.failed.emit,
            key=self._key,
            shown=False,
        )

    def _take(self, answer: _Arrangement) -> None:
        other_table = self._now is None or self._now.source is not answer.source
        self.beginResetModel()
        self._now, self._rows = answer, answer.rows
        if other_table:
            columns = answer.source.table.columns
            self._displays = answer.source.displays
            self._texts.clear()
            self._name_column = _name_column(columns)
            keys = [column.key for column in columns]
            self._full_name_column = keys.index(_FULL_NAME) if _FULL_NAME in keys else self._name_column
            self._depths = columns[keys.index(_DEPTH)].values if _DEPTH in keys else None
            self._share_limits = {
                place: _largest(column) for place, column in enumerate(columns) if _is_share(column)
            }
        self.endResetModel()
        self.arranged.emit()


def _never() -> None:
    """Nothing cancels work on the UI thread."""


def _arranged(
    source: TableRows, words: tuple[str, ...], sort: SortBy | None, check: Callable[[], None]
) -> _Arrangement:
    rows = source.arrange(words, sort, check)
    check()
    # Made here, in the worker, and kept by the source.
    assert len(source.displays) == len(source.widest) == len(source.is_empty)
    return _Arrangement(source, words, sort, rows)


def _name_column(columns: tuple[Column, ...]) -> int:
    texts = [place for place, column in enumerate(columns) if column.texts is not None and column.shown]
    named = [place for place in texts if columns[place].key == "name"]
    return (*named, *texts, 0)[0] if columns else -1


def _is_share(column: Column) -> bool:
    return column.unit == "pct" and column.key.endswith("share_pct")


def _largest(column: Column) -> float:
    values = column.values
    known = values != MISSING if values.dtype == np.int64 else np.isfinite(values)
    return float(np.max(values, where=known, initial=0)) or 100.0


def _one_line(text: str) -> str:
    """The text as one line without characters that would turn or break it."""
    return visible_text(text[:_LONGEST_SHOWN])


def _folded_lines(text: str) -> str:
    """A long text in lines that fit a screen; Qt breaks none in a plain tooltip."""
    lines = [
        part[at : at + _TIP_LINE]
        for part in text.split("\n")[:_TIP_LINES]
        for at in range(0, max(len(part), 1), _TIP_LINE)
    ]
    shown = [visible_text(line) for line in lines[:_TIP_LINES]]
    return "\n".join([*shown, "\N{HORIZONTAL ELLIPSIS}"] if len(lines) > _TIP_LINES else shown)
