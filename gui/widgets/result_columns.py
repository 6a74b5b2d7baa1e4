"""Columns of a result table as the user wants them: which, in which order, how wide; kept by table."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu

from gui.models.result_model import ARROW_DOWN
from gui.models.row_order import SortBy
from gui.plain_text import control_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QTableView, QWidget

    from core.tables.result import Column, ResultTable
    from gui.models.result_model import ResultModel
    from gui.settings import Settings
    from gui.widgets.result_delegate import ResultDelegate

SETTINGS_PAGE: Final = "tables"
NAME_LEAST_PX: Final = 240
_TEXT_MOST_PX = 220
_LEAST_PX = 44
_HEADER_ROOM_PX = 28
_CATEGORY = "category"
_DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """What is remembered for tables of one name; keys that a table lacks are ignored.

    Attributes:
        order: Keys from left to right.
        shown: Keys that the user showed although the table hides them at first, or has no value in them.
        hidden: Keys that the user hid.
        widths: Key -> px, of columns that the user made wider or narrower.
        sort: None is the table's own.
    """

    order: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    widths: tuple[tuple[str, int], ...] = ()
    sort: SortBy | None = None

    def as_json(self) -> dict[str, Any]:
        """What the settings file keeps."""
        return {
            "order": list(self.order),
            "shown": list(self.shown),
            "hidden": list(self.hidden),
            "widths": dict(self.widths),
            "sort": None if self.sort is None else [self.sort.key, self.sort.descending],
        }


def choice_of(value: object) -> ColumnChoice:
    """Reads what ``as_json`` gave; what makes no sense is left out."""
    if not isinstance(value, dict):
        return ColumnChoice()
    widths = value.get("widths")
    pairs = widths.items() if isinstance(widths, dict) else ()
    sort = value.get("sort")
    good = (
        isinstance(sort, list) and len(sort) == 2 and isinstance(sort[0], str) and isinstance(sort[1], bool)
    )
    return ColumnChoice(
        order=_keys(value.get("order")),
        shown=_keys(value.get("shown")),
        hidden=_keys(value.get("hidden")),
        widths=tuple((key, px) for key, px in pairs if isinstance(px, int) and _LEAST_PX <= px <= 4_000),
        sort=SortBy(sort[0], sort[1]) if good and isinstance(sort, list) else None,
    )


def _keys(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


class ResultColumns(QObject):
    """Lays out the header of a table view and remembers what the user changes.

    Signals:
        changed: Columns were shown, hidden or moved.
    """

    changed = Signal()

    def __init__(
        self, view: QTableView, model: ResultModel, delegate: ResultDelegate, settings: Settings
    ) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self._delegate = delegate
        self._settings = settings
        self.spare = ""
        """Key of the column that takes the room that the others leave; the name's where there is none."""
        self._choice = ColumnChoice()
        self._name = ""
        self._laid_out: tuple[str, ...] = ()
        self._empty: frozenset[str] = frozenset()
        self._name_least_px = NAME_LEAST_PX
        self._quiet = False
        header = view.horizontalHeader()
        header.setSectionsMovable(True)
        header.setMinimumSectionSize(_LEAST_PX)
        header.sectionMoved.connect(self._moved)
        header.sectionResized.connect(self._resized)
        # Qt says "resized" for every pixel of a drag, in the middle of its own layout.
        self._fit_later = QTimer(self)
        self._fit_later.setSingleShot(True)
        self._fit_later.setInterval(0)
        self._fit_later.timeout.connect(self.fit_name)

    @property
    def table(self) -> ResultTable | None:
        """The table that is laid out."""
        return self._model.table

    def sort_for(self, table: ResultTable) -> SortBy | None:
        """How rows of a table come: as the user sorted them last, else as the table says."""
        kept = choice_of(self._settings.page_value(SETTINGS_PAGE, table.name)).sort
        keys = {column.key for column in table.columns}
        if kept is not None and kept.key in keys:
            return kept
        return (
            SortBy(table.sorted_by, descending=True) if table.sorted_by in keys and table.sorted_by else None
        )

    def remember_sort(self, sort: SortBy) -> None:
        """Keeps it for the next table of this name."""
        self._keep(sort=sort)

    def lay_out(self) -> None:
        """Applies what is remembered to a table that has just come into the model."""
        table = self._model.table
        if table is None:
            return
        same = self._laid_out == (keys := (table.name, *(column.key for column in table.columns)))
        self._laid_out = keys
        empty = frozenset(
            column.key for column, none in zip(table.columns, self._model.is_empty, strict=True) if none
        )
        # Nor must a column go away because a part of the trace has no value for it.
        self._empty = self._empty & empty if same else empty
        self._name = table.name
        self._choice = choice_of(self._settings.page_value(SETTINGS_PAGE, table.name))
        # Before anything is measured: a swatch stands before names.
        self._tell_delegate()
        with self._silently():
            self._order_sections(table)
            widths = dict(self._choice.widths)
            for place, column in enumerate(table.columns):
                self._view.setColumnHidden(place, not self.is_shown(column))
                fitting = widths.get(column.key) or self._fitting_px(place, column)
                # The same analysis of another range must not make the columns jump.
                self._view.setColumnWidth(place, max(fitting, self._view.columnWidth(place) if same else 0))
        self._name_least_px = self._least_px(table)
        self._tell_delegate()
        self.fit_name()
        self.changed.emit()

    def is_shown(self, column: Column) -> bool:
        """Whether a column of the table is shown; the name always is."""
        table = self._model.table
        if table is None or table.columns[self._model.name_column] is column:
            return True
        if column.key in self._choice.hidden:
            return False
        return column.key in self._choice.shown or self._is_shown_at_first(column)

    def _is_shown_at_first(self, column: Column) -> bool:
        """Whether a column is shown unless the user chooses: one without any value tells nothing."""
        return column.shown and column.key not in self._empty

    def set_shown(self, column: Column, shown: bool) -> None:
        """Shows or hides a column, and remembers it."""
        table = self._model.table
        if table is None or self.is_shown(column) == shown:
            return
        others = {name: [key for key in getattr(self._choice, name) if key != column.key] for name in _LISTS}
        if shown != self._is_shown_at_first(column):
            others["shown" if shown else "hidden"].append(column.key)
        self._keep(shown=tuple(others["shown"]), hidden=tuple(others["hidden"]))
        with self._silently():
            self._view.setColumnHidden(table.columns.index(column), not self.is_shown(column))
        self._tell_delegate()
        self.fit_name()
        self.changed.emit()

    def reset(self) -> None:
        """Forgets the user's columns, order and widths; the sorting stays."""
        self._keep(order=(), shown=(), hidden=(), widths=())
        self.lay_out()

    def visible_keys(self) -> tuple[str, ...]:
        """Keys of the shown columns from left to right."""
        table = self._model.table
        if table is None:
            return ()
        header = self._view.horizontalHeader()
        logical = (header.logicalIndex(place) for place in range(header.count()))
        return tuple(table.columns[place].key for place in logical if not header.isSectionHidden(place))

    def fill_menu(self, menu: QMenu) -> None:
        """One check for every column, then the way back."""
        table = self._model.table
        if table is None:
            return
        for place, column in enumerate(table.columns):
            action = menu.addAction(control_text(column.title))
            action.setCheckable(True)
            action.setChecked(self.is_shown(column))
            action.setEnabled(place != self._model.name_column)
            action.setToolTip(column.help)
            action.toggled.connect(lambda shown, column=column: self.set_shown(column, shown))
        menu.addSeparator()
        menu.addAction("Reset columns", self.reset)

    def fit_name(self) -> None:
        """Gives one column what the others leave, if it holds texts; a number needs no room."""
        name = self._spare_column()
        header = self._view.horizontalHeader()
        if name < 0 or header.count() <= name:
            return
        others = sum(
            header.sectionSize(place)
            for place in range(header.count())
            if place != name and not header.isSectionHidden(place)
        )
        table = self._model.table
        if table is None or table.columns[name].texts is None:
            return
        own = dict(self._choice.widths).get(table.columns[name].key, 0)
        with self._silently():
            header.resizeSection(name, max(self._view.viewport().width() - others, own, self._name_least_px))

    def _spare_column(self) -> int:
        """The column that takes the spare width."""
        table = self._model.table
        keys = [] if table is None else [column.key for column in table.columns]
        if table is not None and self.spare in keys and self.is_shown(table.column(self.spare)):
            return keys.index(self.spare)
        return self._model.name_column

    def _least_px(self, table: ResultTable) -> int:
        """How narrow the texts may become: all are whole, or there is room to tell them apart."""
        name = self._spare_column()
        if name < 0 or any(column.key == _DEPTH for column in table.columns):
            return NAME_LEAST_PX
        return min(NAME_LEAST_PX, max(_LEAST_PX, self._whole_px(name)))

    def _order_sections(self, table: ResultTable) -> None:
        """Puts remembered columns in their order; the others stay behind the one they follow."""
        keys = [column.key for column in table.columns]
        wanted = [key for key in self._choice.order if key in keys]
        for place, key in enumerate(keys):
            if key not in wanted:
                before = keys[place - 1] if place else None
                wanted.insert(0 if before is None else wanted.index(before) + 1, key)
        header = self._view.horizontalHeader()
        for visual, key in enumerate(wanted):
            header.moveSection(header.visualIndex(keys.index(key)), visual)

    def _fitting_px(self, place: int, column: Column) -> int:
        whole = self._whole_px(place)
        return max(self._title_px(place), min(whole, _TEXT_MOST_PX)) if column.texts is not None else whole

    def _whole_px(self, place: int) -> int:
        """How wide a column must be for its title and all cells."""
        cells = [self._delegate.cell_width_px(text, place) for text in self._model.widest[place]]
        return max([self._title_px(place), *cells])

    def _title_px(self, place: int) -> int:
        header = self._view.horizontalHeader()
        title = self._model.displays[place].header + ARROW_DOWN
        return header.fontMetrics().horizontalAdvance(title) + _HEADER_ROOM_PX

    def _tell_delegate(self) -> None:
        table = self._model.table
        if table is None:
            return
        keys = [column.key for column in table.columns]
        visible = self.visible_keys()
        texts = _CATEGORY in keys and table.columns[keys.index(_CATEGORY)].texts is not None
        self._delegate.set_columns(
            first=keys.index(visible[0]) if visible else 0,
            category=keys.index(_CATEGORY) if texts else -1,
        )

    def _moved(self) -> None:
        if self._quiet or self._model.table is None:
            return
        header = self._view.horizontalHeader()
        columns = self._model.table.columns
        self._keep(order=tuple(columns[header.logicalIndex(place)].key for place in range(header.count())))
        self._tell_delegate()
        self.changed.emit()

    def _resized(self, place: int, _old: int, new: int) -> None:
        table = self._model.table
        if self._quiet or table is None or place >= len(table.columns) or new == 0:
            return
        widths = {**dict(self._choice.widths), table.columns[place].key: new}
        self._keep(widths=tuple(widths.items()))
        self._fit_later.start()

    def _keep(self, **changes: Any) -> None:
        kept = {name: getattr(self._choice, name) for name in ColumnChoice.__slots__}
        self._choice = ColumnChoice(**{**kept, **changes})
        if self._name:
            self._settings.set_page_value(SETTINGS_PAGE, self._name, self._choice.as_json())

    @contextmanager
    def _silently(self) -> Iterator[None]:
        """What the program does to the header is no wish of the user."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before


_LISTS = ("shown", "hidden")


class StayingMenu(QMenu):
    """A menu of checks that stays open while they are set."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setToolTipsVisible(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """The same for the space bar; Enter closes."""
        action: QAction | None = self.activeAction()
        if event.key() == Qt.Key.Key_Space and action is not None and action.isCheckable():
            action.setChecked(action.isChecked() != action.isEnabled())
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Sets a check without closing."""
        action: QAction | None = self.actionAt(event.position().toPoint())
        if action is not None and action.isCheckable():
            if action.isEnabled():
                action.toggle()
            return
        super().mouseReleaseEvent(event)
