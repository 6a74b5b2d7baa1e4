"""One report on the screen: the list of kernels with the details of one, or the tables of all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from core.units import format_file_bytes
from gui.reports.answers import LaunchAsk
from gui.reports.baselines import Baseline
from gui.reports.document import ReportDocument, TableAsk
from gui.reports.kernel_list import KernelChoice, KernelEntry, arrange
from gui.widgets.document_tabs import trace_stem
from gui.widgets.empty_state import EmptyState
from gui.widgets.file_reading import FileReading
from gui.widgets.nsight_bar import NsightBar, NsightStrip
from gui.widgets.nsight_detail import LaunchDetail
from gui.widgets.nsight_export import PartExport
from gui.widgets.nsight_kernels import KernelListView
from gui.widgets.nsight_tables import ReportTables
from gui.widgets.nsight_words import totals_words
from gui.widgets.private_copy import PrivateCopies

if TYPE_CHECKING:
    from gui.reports.answers import LaunchAnswer
    from gui.reports.baselines import Baselines
    from gui.reports.document import TableAnswer
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.widgets.nsight_export import TextKind
    from gui.widgets.result_table import RowChosen

LIST_PX: Final = 300
LEAST_LIST_PX: Final = 240
LEAST_DETAIL_PX: Final = 420
_PAGE: Final = "nsight"


class NsightView(QWidget):
    """Shows a ``ReportDocument``.

    Signals:
        selection_changed: Another kernel is chosen, or its verdict is known.
        failed: The ``DashboardError`` of an export or an answer.
        told: A few words on what was copied or written.
    """

    selection_changed = Signal()
    failed = Signal(object)
    told = Signal(str)

    def __init__(
        self,
        document: ReportDocument,
        theme: ThemeController,
        tasks: Tasks,
        settings: Settings,
        baselines: Baselines,
    ) -> None:
        super().__init__()
        self.document = document
        self._settings = settings
        self._tasks = tasks
        self._baselines = baselines
        self._entries: tuple[KernelEntry, ...] = ()
        self._open_groups: frozenset[int] = frozenset()
        self._row: int | None = None
        self._shown_rows: tuple[int, ...] = ()
        self.reading = FileReading(document.name)
        self.export = PartExport(tasks, self)
        self.bar = NsightBar(theme, baselines)
        self.strip = NsightStrip(theme)
        self.list = KernelListView(theme)
        self.detail = LaunchDetail(theme, tasks, settings, self.export)
        self.tables = ReportTables(theme, tasks, settings)
        self._no_kernels = EmptyState(theme, "rows")
        clear = (("Clear filter", self.clear_filter),)
        self._no_match = EmptyState(theme, "funnel", clear, text_px=LEAST_LIST_PX - 40)
        self._lists = QStackedWidget()
        self._lists.addWidget(self.list)
        self._lists.addWidget(self._no_match)
        self._lists.setMinimumWidth(LEAST_LIST_PX)
        self.detail.setMinimumWidth(LEAST_DETAIL_PX)
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(1)
        self._splitter.addWidget(self._lists)
        self._splitter.addWidget(self.detail)
        self._splitter.setStretchFactor(0, 0)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.setSizes([LIST_PX, 2 * LIST_PX])
        self._forms = QStackedWidget()
        for form in (self._splitter, self.tables, self._no_kernels):
            self._forms.addWidget(form)
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self.strip)
        layout.addWidget(self._forms, 1)
        self._content = content
        self._stack = QStackedWidget()
        self._stack.addWidget(self.reading)
        self._stack.addWidget(content)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)
        self._restore()
        self._connect()

    def _restore(self) -> None:
        stored = self._settings.page_value(_PAGE, "group", True)
        self.strip.group.setChecked(stored is not False)
        sort = self._settings.page_value(_PAGE, "sort", 0)
        self.strip.sort.setCurrentIndex(
            sort if isinstance(sort, int) and 0 <= sort < self.strip.sort.count() else 0
        )
        tab = self._settings.page_value(_PAGE, "tab", "")
        if isinstance(tab, str):
            self.detail.want_tab(tab)

    def _connect(self) -> None:
        document = self.document
        self.reading.cancel_asked.connect(document.cancel)
        document.state_changed.connect(self._state_changed)
        document.progressed.connect(self._show_progress)
        document.launch_ready.connect(self._show_launch)
        document.table_ready.connect(self._show_table)
        document.source_ready.connect(self.detail.source.show_lines)
        document.instructions_ready.connect(self.detail.source.show_instructions)
        self.detail.source.asked.connect(document.ask_source)
        self.detail.source.instructions_asked.connect(document.ask_instructions)
        document.verdicts_ready.connect(self._show_verdicts)
        document.failed.connect(self.failed)
        self.export.failed.connect(self.failed)
        self.export.told.connect(self.told)
        self.bar.field.textChanged.connect(lambda _: self._filter_changed())
        self.bar.field.left.connect(self.take_keyboard)
        self.bar.form_chosen.connect(self._show_form)
        self.bar.add_asked.connect(self.add_baseline)
        self.strip.changed.connect(self._choice_changed)
        self.list.chosen.connect(self._choose)
        self.list.group_toggled.connect(self.toggle_group)
        self.list.filter_asked.connect(self.bar.field.enter)
        self.detail.tab_changed.connect(lambda key: self._settings.set_page_value(_PAGE, "tab", key))
        self.tables.asked.connect(self._ask_table)
        self.tables.table.failed.connect(self.failed)
        self.tables.table.told.connect(self.told)
        self.tables.table.selected.connect(self._table_row_selected)
        self.tables.table.activated.connect(self._table_row_activated)
        self.tables.table.view.filter_asked.connect(self.bar.field.enter)
        self._baselines.changed.connect(self._ask_launch)
        stem = trace_stem(document.name)
        self.tables.table.file_stem = stem
        self.bar.export_menu.aboutToShow.connect(self._fill_export_menu)
        self.strip.note_copied.connect(lambda: self.told.emit("Note copied"))
        # A report may have been read before it was seen.
        self._state_changed(document.state)
        if document.verdicts is not None:
            self._show_verdicts()

    # --- what the document says

    def _state_changed(self, state: str) -> None:
        kernels, report = self.document.kernels, self.document.report
        if state != "open" or kernels is None or report is None:
            return
        self._stack.setCurrentWidget(self._content)
        self.strip.set_choices(kernels)
        self.strip.show_problems(report.problems)
        self.tables.set_tables(self.document.tables)
        if not len(kernels):
            detail = (
                report.problems[0].message if report.problems else "The file holds a head and nothing else."
            )
            self._no_kernels.set_text("No kernels in this file", detail)
        self._arrange()
        self._show_form(self.bar.form.current)
        if self._may_take_keyboard():
            self.take_keyboard()

    def _show_progress(self, done: int, whole: int) -> None:
        words = f"{format_file_bytes(done)} of {format_file_bytes(whole)}" if whole else ""
        self.reading.show_progress(words, done, whole)

    def _show_launch(self, answer: LaunchAnswer) -> None:
        kernels = self.document.kernels
        if kernels is None or answer.ask.row != self._row:
            return
        stem = f"{trace_stem(self.document.name)} {kernels.shown[answer.ask.row]}"
        self.detail.show_answer(answer, stem)

    def _show_verdicts(self) -> None:
        verdicts = self.document.verdicts
        self.list.kernels.set_verdicts(() if verdicts is None else verdicts.kinds.words)
        self.selection_changed.emit()

    def _show_table(self, answer: TableAnswer) -> None:
        self.tables.show_answer(answer)

    # --- what is listed

    @property
    def row(self) -> int | None:
        """The launch that is chosen."""
        return self._row

    @property
    def shown_rows(self) -> tuple[int, ...]:
        """The launches of the entry that is chosen: those of a group, or one."""
        return self._shown_rows

    @property
    def rows(self) -> tuple[int, ...]:
        """The launches that are listed, in the order of the file."""
        return tuple(sorted({row for entry in self._entries for row in entry.rows}))

    @property
    def place_words(self) -> str:
        """Which one of all is chosen: "Kernel 3 of 9"; of a group its launch in it."""
        kernels = self.document.kernels
        if kernels is None or self._row is None:
            return "Kernel"
        return kernels.place_words(self._row)

    @property
    def is_table(self) -> bool:
        """Whether the tables of all kernels are shown."""
        return self._forms.currentWidget() is self.tables

    def _filter_changed(self) -> None:
        self.tables.filter(self.bar.field.text())
        self._arrange()

    def _choice_changed(self) -> None:
        self._settings.set_page_value(_PAGE, "group", self.strip.group.isChecked())
        self._settings.set_page_value(_PAGE, "sort", self.strip.sort.currentIndex())
        self._arrange()
        self._ask_table()

    def _arrange(self) -> None:
        kernels, report = self.document.kernels, self.document.report
        if kernels is None or report is None:
            return
        choice = KernelChoice(
            words=tuple(self.bar.field.text().casefold().split()),
            labels=self.strip.labels,
            sort=self.strip.sort_key,
            is_grouped=self.strip.group.isChecked(),
            open_groups=self._open_groups,
        )
        self._entries = arrange(kernels, choice)
        rows = self.rows
        self.bar.set_count(len(rows), len(kernels))
        self.strip.show_totals(totals_words(kernels, rows, report))
        self.list.show_entries(kernels, self._entries, self._open_groups)
        hides_all = bool(len(kernels)) and not rows
        self._lists.setCurrentWidget(self._no_match if hides_all else self.list)
        if hides_all:
            self._no_match.set_text("No kernel is listed", f"{len(kernels):,} are hidden by the filter.")

    def toggle_group(self, first_row: int) -> None:
        """Opens a group, or closes it."""
        self._open_groups = self._open_groups ^ {first_row}
        self._arrange()

    def clear_filter(self) -> None:
        """Lists all kernels."""
        self.bar.field.clear()
        for box in self.strip.filters.values():
            box.setCurrentIndex(0)
        self._choice_changed()
        self.take_keyboard()

    # --- what is chosen

    def _choose(self, row: int) -> None:
        entry, is_other = self.list.current_entry, row != self._row
        rows = (row,) if entry is None else entry.rows
        if is_other:
            self._row = row
            self._ask_launch()
        if is_other or rows != self._shown_rows:
            self._shown_rows = rows
            self.selection_changed.emit()

    def choose_row(self, row: int) -> None:
        """Chooses a launch; one in a closed group opens it."""
        group = next((entry for entry in self._entries if row in entry.rows and entry.is_group), None)
        if group is not None and group.rows[0] != row and group.rows[0] not in self._open_groups:
            self.toggle_group(group.rows[0])
        self.list.choose_row(row)

    def show_kernel(self, row: int) -> None:
        """Shows a launch with its details, whatever was filtered."""
        if self.list.place_of(row) < 0:
            self.clear_filter()
        self.show_form(0)
        self.choose_row(row)

    def step_kernel(self, by: int) -> None:
        """Goes to the next kernel of the list, or with -1 to the one before."""
        self.list.step(by)

    def _ask_launch(self) -> None:
        chosen = self._baselines.chosen
        if self._row is not None:
            own = chosen is not None and chosen.is_of(self.document.path, self._row)
            self.document.ask_launch(LaunchAsk(self._row, None if own else chosen))

    def add_baseline(self) -> None:
        """Makes the chosen kernel the baseline of all others."""
        kernels, report = self.document.kernels, self.document.report
        if self._row is None or kernels is None or report is None:
            return
        title = f"{kernels.shown[self._row]}, {trace_stem(self.document.name)}"
        alike = kernels.names.count(kernels.names[self._row]) > 1
        if alike:
            place = kernels.place_words(self._row)
            title = f"{kernels.shown[self._row]} ({place.casefold()}), {trace_stem(self.document.name)}"
        self._baselines.add(Baseline(path=self.document.path, row=self._row, title=title, report=report))

    # --- forms

    def _show_form(self, form: int) -> None:
        kernels = self.document.kernels
        if kernels is not None and not len(kernels):
            self._forms.setCurrentWidget(self._no_kernels)
            return
        self._forms.setCurrentWidget(self.tables if form else self._splitter)
        self._ask_table()

    def show_form(self, form: int) -> None:
        """Shows the list with details (0) or the tables of all kernels (1)."""
        self.bar.form.set_current(form)
        self._show_form(form)
        self.take_keyboard()

    def _ask_table(self) -> None:
        if self.is_table and self.document.kernels is not None:
            kernels = self.document.kernels
            labels = self.strip.labels
            rows = tuple(
                row
                for row in range(len(kernels))
                if all(text in kernels.labels[key][row] for key, text in labels)
            )
            self.document.ask_table(TableAsk(self.tables.shown, rows))

    def _table_row_selected(self, chosen: RowChosen) -> None:
        row = self.tables.launch_of(chosen)
        if row is not None:
            self.choose_row(row)

    def _table_row_activated(self, chosen: RowChosen) -> None:
        if self.tables.launch_of(chosen) is not None:
            self._table_row_selected(chosen)
            self.show_form(0)

    def _fill_export_menu(self) -> None:
        """Names the table that would be written."""
        titles = dict(self.document.tables)
        title = titles.get(self.tables.shown, "Kernels") if self.is_table else "Kernels"
        menu = self.bar.export_menu
        menu.clear()
        kinds: tuple[TextKind, ...] = ("csv", "json")
        for kind in kinds:
            menu.addAction(f"{title} as {kind.upper()}", partial(self.ask_export, kind))
        menu.addSeparator()
        menu.addAction("Report without private data", self.ask_private_copy)

    def ask_private_copy(self) -> None:
        """Asks where a copy that can be given away should go."""
        PrivateCopies(self._tasks, self.told.emit, self.failed.emit).ask(self, self.document.path)

    def ask_export(self, kind: TextKind) -> None:
        """Asks where the table of the listed kernels should go, or the one that is shown."""
        name = self.tables.shown if self.is_table else "kernels"
        make = self.document.table_maker(TableAsk(name, self.rows))
        if make is not None:
            self.export.ask_made(self, f"{trace_stem(self.document.name)} {name}", kind, make)

    # --- keys

    def take_keyboard(self) -> None:
        """Gives the keys to the list, or to the table."""
        if self.isVisible():
            target = self.tables.table.view if self.is_table else self.list
            target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _may_take_keyboard(self) -> bool:
        """Whether nobody writes somewhere else, as in the palette."""
        now = self.window().focusWidget()
        return now is None or not now.isVisible() or self.isAncestorOf(now) or not isinstance(now, QLineEdit)
