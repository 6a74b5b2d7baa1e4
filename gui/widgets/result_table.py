"""The one widget that shows any analysis: a table with filter, sorting, columns, copy and export.

It knows no analysis: titles, units and meanings come with the ``ResultTable``.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QStackedWidget, QTableView, QVBoxLayout, QWidget

from core.errors import DashboardError
from core.export import write_csv, write_json
from core.files import printable, write_atomic
from core.tables.columns import Int32
from core.units import format_count
from gui.models.result_model import LARGE_ROWS, ResultModel
from gui.models.row_order import SortBy
from gui.plain_text import control_text
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.empty_state import EmptyState
from gui.widgets.result_bar import ResultBar
from gui.widgets.result_columns import ResultColumns, StayingMenu
from gui.widgets.result_delegate import ResultDelegate
from gui.widgets.result_view import MenuAsked, ResultView
from gui.widgets.row_delegate import dress_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from core.tables.result import Column, ResultTable
    from gui.settings import Settings
    from gui.tasks import Progress, Tasks
    from gui.theme import ThemeController

TextKind = Literal["csv", "json", "tsv"]

_KEPT_SELECTION: Final = 1_000
"""So many selected rows stay selected when a filter or a sort moves them."""


@dataclass(frozen=True, slots=True, eq=False)
class RowChosen:
    """A row was selected or activated.

    Attributes:
        table: The table it belongs to.
        row: Its number in the table, whatever the order on the screen.
    """

    table: ResultTable
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """The selection before the rows changed.

    Attributes:
        table: In which it was made.
        rows: Selected rows of that table.
        current: The row that keys move from, -1 for none.
        identity: What that row is in any table of the same analysis.
    """

    table: ResultTable | None
    rows: Int32
    current: int
    identity: dict[str, object]


class ResultTableWidget(QWidget):
    """Shows a ``ResultTable``.

    Signals:
        selected: ``RowChosen``: the current row has changed.
        activated: ``RowChosen``: Enter or a double click.
        failed: The ``DashboardError`` of an export or a copy.
        told: A few words on what was copied or written.
    """

    selected = Signal(object)
    activated = Signal(object)
    failed = Signal(object)
    told = Signal(str)

    def __init__(self, theme: ThemeController, tasks: Tasks, settings: Settings) -> None:
        super().__init__()
        self._tasks = tasks
        self.file_stem = ""
        """What names of exported files begin with."""
        self.row_actions: tuple[tuple[str, Callable[[RowChosen], object]], ...] = ()
        """What the context menu offers of a row, before anything else; set by whoever shows the table."""
        self._settled: ResultTable | None = None
        self._kept = _Kept(None, np.empty(0, np.int32), -1, {})
        self.model = ResultModel(tasks, self)
        self.view = ResultView(self.model)
        dress_table(self.view, theme)
        self._delegate = ResultDelegate(theme, self.model, self.view)
        self.view.set_painter(self._delegate)
        self.view.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        self.columns = ResultColumns(self.view, self.model, self._delegate, settings)
        self.bar = ResultBar(theme)
        self.notes = ElidedLabel()
        set_kind(self.notes, kind="caption")
        self.notes.setContentsMargins(12, 2, 12, 4)
        self.notes.hide()
        self._nothing = EmptyState(theme, "rows")
        self._filtered = EmptyState(theme, "funnel", (("Clear filter", self.clear_filter),))
        self._stack = QStackedWidget()
        for widget in (self.view, self._nothing, self._filtered):
            self._stack.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.notes)
        self._export_menu = QMenu("Export", self)
        self._columns_menu = StayingMenu("Columns", self)
        self._connect()
        self._fill_export_menu()

    def show_table(self, table: ResultTable) -> None:
        """Shows another table; filter, columns and sorting stay as the user left them for its name."""
        self.model.show_table(table, self.columns.sort_for(table))

    def set_icons(self, key: str, icon_of: Callable[[str], tuple[str, str] | None]) -> None:
        """Gives the texts of a column an icon each: its name and its colour, None for none."""
        self._delegate.icons[key] = icon_of

    def focus_filter(self) -> None:
        """Puts the cursor into the filter field."""
        self.bar.field.enter()

    def clear_filter(self) -> None:
        """Shows all rows."""
        self.bar.field.clear()
        self.view.setFocus()

    def selected_rows(self) -> Int32:
        """(n,) int32: selected rows of the table, in the order in which they are shown."""
        selection = self.view.selectionModel().selection()
        ranges = [selection.at(place) for place in range(selection.count())]
        if not ranges:
            return np.empty(0, np.int32)
        places = np.concatenate([np.arange(each.top(), each.bottom() + 1) for each in ranges])
        chosen: Int32 = self.model.rows[np.unique(places)]
        return chosen

    def current_row(self) -> int | None:
        """The row of the table that keys move from, None if there is none."""
        index = self.view.currentIndex()
        return self.model.row_at(index.row()) if index.isValid() else None

    def select_rows(self, rows: Iterable[int]) -> None:
        """Selects rows of the table and brings the first one into sight; hidden ones are left out."""
        wanted = np.fromiter(rows, np.int32)
        places = np.flatnonzero(np.isin(self.model.rows, wanted))
        self._select_places(places, int(places[0]) if len(places) else -1)

    def text_of(self, rows: Int32 | None, kind: TextKind, progress: Progress | None = None) -> str:
        """The shown columns of rows, exact, as text."""
        table = self.model.table
        return "" if table is None else _text(table, rows, self.columns.visible_keys(), kind, progress)

    def _connect(self) -> None:
        header = self.view.horizontalHeader()
        header.setSectionsClickable(True)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_header_menu)
        header.sectionClicked.connect(self._sort_clicked)
        self.view.menu_asked.connect(self._show_menu)
        self.view.activated.connect(lambda index: self._tell_activated(index.row()))
        self.view.selectionModel().currentRowChanged.connect(lambda now: self._tell_selected(now.row()))
        self.view.filter_asked.connect(self.focus_filter)
        self.view.copy_asked.connect(lambda: self.copy_rows("tsv"))
        self.view.resized.connect(self.columns.fit_name)
        self.bar.field.textChanged.connect(self._filter)
        self.bar.field.left.connect(self._go_to_rows)
        self.bar.copy.clicked.connect(lambda: self.copy_rows("tsv"))
        self._columns_menu.aboutToShow.connect(self._fill_columns_menu)
        self.bar.set_menus(self._export_menu, self._columns_menu)
        self.model.modelAboutToBeReset.connect(self._remember_selection)
        self.model.arranged.connect(self._arranged)
        self.model.failed.connect(self.failed)

    # --- rows

    def _filter(self, text: str) -> None:
        self.model.set_filter(text)

    def _arranged(self) -> None:
        table = self.model.table
        assert table is not None
        if table is not self._settled:
            self._settled = table
            self.view.setAccessibleName(table.title)
            self.bar.set_names(table.title)
            self.notes.set_full_text("  \N{MIDDLE DOT}  ".join(table.notes))
            self.notes.setVisible(bool(table.notes))
            self.columns.lay_out()
        self.bar.set_count(len(self.model.rows), len(table))
        self._restore_selection()
        self._choose_face(table)

    def _choose_face(self, table: ResultTable) -> None:
        if not len(table):
            self._nothing.set_text(f"No {table.title.lower()}", table.empty)
            self._stack.setCurrentWidget(self._nothing)
        elif not len(self.model.rows):
            hidden = f"{format_count(len(table))} {'row is' if len(table) == 1 else 'rows are'} hidden."
            self._filtered.set_text(
                "No row holds this", f"{hidden} Each word must occur in a text of the row."
            )
            self._stack.setCurrentWidget(self._filtered)
        else:
            self._stack.setCurrentWidget(self.view)
            self.columns.fit_name()

    def _remember_selection(self) -> None:
        rows, current = self.selected_rows(), self.current_row()
        self._kept = _Kept(
            table=self.model.table,
            rows=rows[:_KEPT_SELECTION],
            current=-1 if current is None else current,
            identity={} if current is None else self.model.identity(current),
        )

    def _restore_selection(self) -> None:
        kept, table = self._kept, self.model.table
        if kept.table is None or table is None or kept.current < 0:
            return
        if kept.table is table:
            places = np.flatnonzero(np.isin(self.model.rows, kept.rows))
            self._select_places(places, self.model.place_of(kept.current))
        elif kept.table.name == table.name:
            # The same analysis of another range: what was looked at stays selected, with its new figures.
            place = self.model.place_of_identity(kept.identity)
            self._select_places(np.array([place] if place >= 0 else [], np.int64), place)

    def _select_places(self, places: np.ndarray, current: int) -> None:
        selection = QItemSelection()
        last = self.model.columnCount() - 1
        for start, end in _runs(places):
            selection.select(self.model.index(start, 0), self.model.index(end, last))
        chosen = self.view.selectionModel()
        if current >= 0:
            index = self.model.index(current, max(self.model.name_column, 0))
            chosen.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
            self.view.scrollTo(index)
        chosen.select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def _go_to_rows(self) -> None:
        if self.model.rowCount() and not self.view.currentIndex().isValid():
            self.view.selectRow(0)
        self.view.setFocus()

    def _tell_selected(self, place: int) -> None:
        table = self.model.table
        if table is not None and 0 <= place < len(self.model.rows):
            self.selected.emit(RowChosen(table, self.model.row_at(place)))

    def _tell_activated(self, place: int) -> None:
        table = self.model.table
        if table is not None and 0 <= place < len(self.model.rows):
            self.activated.emit(RowChosen(table, self.model.row_at(place)))

    # --- sorting

    def _sort_clicked(self, place: int) -> None:
        table = self.model.table
        if table is not None:
            self._sort_by(table.columns[place])

    def _sort_by(self, column: Column, descending: bool | None = None) -> None:
        """Sorts; numbers begin with the largest, texts with A; a second time turns it round."""
        now = self.model.sort_by
        if descending is None:
            again = now is not None and now.key == column.key
            descending = not now.descending if again and now is not None else column.texts is None
        sort = SortBy(column.key, descending)
        self.columns.remember_sort(sort)
        self.model.sort_rows(sort)

    # --- menus

    def _show_header_menu(self, at: QPoint) -> None:
        header = self.view.horizontalHeader()
        menu = StayingMenu("Columns", self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.columns.fill_menu(menu)
        menu.popup(header.mapToGlobal(at))

    def _fill_columns_menu(self) -> None:
        self._columns_menu.clear()
        self.columns.fill_menu(self._columns_menu)

    def _fill_export_menu(self) -> None:
        kinds: tuple[TextKind, ...] = ("csv", "json")
        for kind in kinds:
            self._export_menu.addAction(f"Export as {kind.upper()}", partial(self.ask_export, kind))

    def menu(self, place: int, column: int) -> QMenu:
        """The context menu of a cell; a place of -1 is beside the rows."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if place >= 0 and self.model.table is not None:
            chosen = RowChosen(self.model.table, self.model.row_at(place))
            for words, run in self.row_actions:
                menu.addAction(words, partial(run, chosen))
            menu.addAction("Copy cell", lambda: self._copy_cell(place, column))
        rows = "selected rows" if len(self.selected_rows()) else "all rows"
        kinds: tuple[tuple[str, TextKind], ...] = (("", "tsv"), (" as CSV", "csv"), (" as JSON", "json"))
        for name, kind in kinds:
            menu.addAction(f"Copy {rows}{name}", partial(self.copy_rows, kind))
        menu.addSeparator()
        menu.addActions(self._export_menu.actions())
        menu.addSeparator()
        sort = menu.addMenu("Sort by")
        if self.model.table is not None:
            for each in self.model.table.columns:
                sort.addAction(control_text(each.title), partial(self._sort_by, each))
        columns = StayingMenu("Columns", menu)
        self.columns.fill_menu(columns)
        menu.addMenu(columns)
        return menu

    def _show_menu(self, asked: MenuAsked) -> None:
        self.menu(asked.place, asked.column).popup(asked.at)

    # --- copy and export

    def copy_rows(self, kind: TextKind) -> None:
        """Copies the selected rows, or all that are shown, with the shown columns and a header."""
        table = self.model.table
        if table is None:
            return
        chosen = self.selected_rows()
        rows = chosen if len(chosen) else self.model.rows
        keys = self.columns.visible_keys()
        if len(rows) < LARGE_ROWS // 10:
            self._take_copy(_text(table, rows, keys, kind, None), len(rows))
            return
        self._tasks.start(
            title=f"Copying {format_count(len(rows))} rows",
            work=lambda progress: _text(table, rows, keys, kind, progress),
            done=lambda text: self._take_copy(text, len(rows)),
            failed=self.failed.emit,
            key="copy rows",
        )

    def _take_copy(self, text: str, count: int) -> None:
        QGuiApplication.clipboard().setText(text)
        self.told.emit(f"{format_count(count)} {'row' if count == 1 else 'rows'} copied")

    def _copy_cell(self, place: int, column: int) -> None:
        QGuiApplication.clipboard().setText(self.model.full_text(place, column))
        self.told.emit("1 cell copied")

    def ask_export(self, kind: TextKind) -> None:
        """Asks where the rows should go as a file."""
        table = self.model.table
        if table is None:
            return
        dialog = QFileDialog(self, f"Export {table.title.lower()}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{kind.upper()} (*.{kind})")
        dialog.setDefaultSuffix(kind)
        dialog.selectFile("-".join(part for part in (self.file_stem, f"{table.name}.{kind}") if part))
        dialog.fileSelected.connect(lambda name: self.export(Path(name), kind))
        dialog.open()

    def export(self, path: Path, kind: TextKind) -> None:
        """Writes the rows that are shown, in their order, with all columns, to a file."""
        table, rows = self.model.table, self.model.rows
        if table is None:
            return
        keys = tuple(column.key for column in table.columns)
        self._tasks.start(
            title=f"Writing {printable(path.name)}",
            work=lambda progress: _write(path, table, rows, keys, kind, progress),
            done=lambda _: self.told.emit(f"{printable(path.name)} written"),
            failed=self.failed.emit,
            key=f"write {path}",
        )


def _runs(places: np.ndarray) -> list[tuple[int, int]]:
    """First and last of each run of neighbours in sorted numbers."""
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > 1)
    starts = places[np.concatenate(([0], breaks + 1))]
    ends = places[np.concatenate((breaks, [len(places) - 1]))]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _text(
    table: ResultTable, rows: Int32 | None, keys: tuple[str, ...], kind: TextKind, progress: Progress | None
) -> str:
    file = io.StringIO(newline="")
    count = len(table) if rows is None else len(rows)
    moved: Callable[[int], None] | None = None
    if progress is not None:
        moved = lambda done: progress.report(done, count)  # noqa: E731
    if kind == "json":
        write_json(table, rows, keys, file, moved=moved)
    else:
        write_csv(table, rows, keys, file, delimiter="\t" if kind == "tsv" else ",", moved=moved)
    return file.getvalue()


def _write(  # noqa: PLR0913, PLR0917  (private, called once)
    path: Path, table: ResultTable, rows: Int32, keys: tuple[str, ...], kind: TextKind, progress: Progress
) -> None:
    text = _text(table, rows, keys, kind, progress)
    try:
        write_atomic(path, text.encode("utf-8"))
    except OSError as error:
        raise DashboardError(
            f"{printable(str(path))} could not be written: {error.strerror or error}.",
            "Choose another folder, or free some space.",
        ) from error
