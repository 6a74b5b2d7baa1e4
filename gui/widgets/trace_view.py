"""One trace on the screen: bars, timeline and tables, and what selecting in one does to the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QLineEdit, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from core.errors import DashboardError
from core.files import printable
from core.tables.columns import NO_ROW
from core.tables.selection import WHOLE, Selection
from gui.plots.export import save_png
from gui.widgets.document_tabs import trace_stem
from gui.widgets.file_reading import FileReading
from gui.widgets.step_words import step_of_row
from gui.widgets.trace_bar import FiguresStrip, TraceBar
from gui.widgets.trace_tables import KERNEL_TABLES, KERNELS, QUALITY, TraceTables
from gui.widgets.trace_timeline import TraceTimeline
from gui.widgets.trace_words import without_kernels

if TYPE_CHECKING:
    from core.tables.columns import Int32
    from core.tables.result import ResultTable
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.traces.answers import Laid, Overview, PartFigures
    from gui.traces.document import Found, ReadProgress, TableAnswer, TraceDocument
    from gui.widgets.result_table import RowChosen
    from gui.widgets.step_words import ShownStep

SEARCH_AFTER_MS: Final = 150
_SHARES: Final = (45, 55)
"""Timeline and tables, in parts of the height."""


class TraceView(QWidget):
    """Shows a ``TraceDocument``.

    Signals:
        selection_changed: Another slice is selected, or none; or another range.
        failed: The ``DashboardError`` of an export.
        told: A few words on what was copied or written.
        roofline_asked: Row of a slice whose kernel should be shown on the roofline.
    """

    selection_changed = Signal()
    failed = Signal(object)
    told = Signal(str)
    roofline_asked = Signal(int)

    def __init__(
        self, document: TraceDocument, theme: ThemeController, tasks: Tasks, settings: Settings
    ) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.document = document
        self._hits: Int32 = np.empty(0, np.int32)
        self._hit = -1
        self._quiet = False
        self._selected = False
        self._has_roofline = False
        self.step: ShownStep | None = None
        """The step that is selected in the table of steps."""
        self._wanted_row: int | None = None
        self._wanted_note: int | None = None
        self.reading = FileReading(document.name)
        self.tables = TraceTables(theme, tasks, settings)
        self.bar = TraceBar(theme, self.tables.table.bar, self.tables.grouping)
        self.strip = FiguresStrip(theme)
        self.timeline = TraceTimeline(theme)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(3)
        splitter.addWidget(self.timeline)
        splitter.addWidget(self.tables)
        for place, share in enumerate(_SHARES):
            splitter.setStretchFactor(place, share)
        splitter.setSizes([10 * share for share in _SHARES])
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self.bar, self.strip):
            layout.addWidget(widget)
        layout.addWidget(splitter, 1)
        self._content = content
        self._stack = QStackedWidget()
        self._stack.addWidget(self.reading)
        self._stack.addWidget(content)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)
        self._search_timer = QTimer(self)
        self._search_timer.setSingleShot(True)
        self._search_timer.setInterval(SEARCH_AFTER_MS)
        self._search_timer.timeout.connect(self._search)
        self._connect()
        self._state_changed(document.state)
        if document.laid is not None:
            self._show_timeline(document.laid)
        if document.overview is not None:
            self._show_overview(document.overview)

    def _connect(self) -> None:
        document, table = self.document, self.tables.table
        self.reading.cancel_asked.connect(document.cancel)
        document.state_changed.connect(self._state_changed)
        document.progressed.connect(self._show_progress)
        document.table_ready.connect(self._show_answer)
        document.timeline_ready.connect(self._show_timeline)
        document.overview_ready.connect(self._show_overview)
        document.figures_ready.connect(self._show_figures)
        document.found.connect(self._show_found)
        document.described.connect(self.timeline.show_flow)
        menu = table.bar.export.menu()
        if menu is not None:
            menu.addAction("Export the timeline as PNG", self.ask_picture)
        table.failed.connect(self.failed)
        table.told.connect(self.told)
        table.file_stem = trace_stem(document.name)
        self.tables.asked.connect(lambda: document.ask_table(self.tables.ask))
        table.selected.connect(self._row_selected)
        table.model.modelAboutToBeReset.connect(self._begin_arranging)
        table.model.arranged.connect(self._end_arranging)
        table.activated.connect(self._row_activated)
        self.bar.part_chosen.connect(self.set_range)
        self.bar.group_chosen.connect(self.choose_group)
        self.bar.colours_chosen.connect(self.timeline.set_colours)
        self.bar.next_asked.connect(lambda: self.go_to_hit(1))
        self.bar.previous_asked.connect(lambda: self.go_to_hit(-1))
        self.bar.field.textChanged.connect(lambda _: self._search_timer.start())
        self.strip.problem_chosen.connect(self._show_problem)
        self.timeline.slice_selected.connect(self._slice_selected)
        self.timeline.range_selected.connect(self.set_range)

    @property
    def selection(self) -> Selection:
        """The part of the trace that the tables are about."""
        return self.tables.selection

    @property
    def hits(self) -> int:
        """How many slices the search has found."""
        return len(self._hits)

    # --- what the document says

    def _state_changed(self, state: str) -> None:
        if state == "open":
            self._opened()

    def _opened(self) -> None:
        trace = self.document.trace
        assert trace is not None
        takes = self._may_take_keyboard()
        self._stack.setCurrentWidget(self._content)
        if takes:
            self.take_keyboard()
        self.strip.show_text("Looking at the whole trace")
        self.tables.set_tables(self.document.tables, has_kernels=bool(len(trace.device_work)))

    def _show_progress(self, progress: ReadProgress) -> None:
        self.reading.show_progress(progress.words, progress.read_bytes, progress.total_bytes)

    def _show_answer(self, answer: TableAnswer) -> None:
        of_kernels = self._has_roofline and answer.ask.table in KERNEL_TABLES
        self.tables.table.row_actions = (("Show on roofline", self._ask_roofline),) if of_kernels else ()
        self.tables.show_answer(answer)

    def _begin_arranging(self) -> None:
        # A row that stays selected in another answer is no choice of the user's if a slice is.
        chosen = (self._wanted_row, self._wanted_note, self.step)
        self._quiet = any(each is not None for each in chosen)

    def _end_arranging(self) -> None:
        table = self.tables.table.model.table
        self._quiet = False
        if self._wanted_note is not None and table is not None and table.name == QUALITY:
            self._select_quietly(self._wanted_note)
            self._wanted_note = None
        elif self._wanted_row is not None:
            self._select_table_row(self._wanted_row)

    def _show_timeline(self, laid: Laid) -> None:
        self.timeline.show_document(self.document, laid)
        self.bar.set_groups([group.name for group in laid.index.groups])
        self.timeline.show_range(self.selection)
        if self.window().focusWidget() is self:
            self.take_keyboard()

    def take_keyboard(self) -> None:
        """Gives the keys to the timeline, once it is there; before that nothing takes letters."""
        if self.isVisible():
            (self.timeline.view or self).setFocus(Qt.FocusReason.OtherFocusReason)

    def _may_take_keyboard(self) -> bool:
        """Whether nobody writes somewhere else, as in the palette."""
        now = self.window().focusWidget()
        return now is None or not now.isVisible() or self.isAncestorOf(now) or not isinstance(now, QLineEdit)

    def _show_overview(self, overview: Overview) -> None:
        self.strip.show_overview(overview)
        self.strip.show_part(self.document.part, overview)
        self.bar.set_steps(overview.steps)
        self.bar.show_part(self.selection)
        self.timeline.set_steps(overview.steps)
        self.tables.set_count(QUALITY, len(overview.problems))
        if without_kernels(overview):
            self.strip.setToolTip("Operators are shown in the place of kernels.")
        self.selection_changed.emit()

    def _show_figures(self, part: PartFigures | None) -> None:
        self.strip.show_part(part, self.document.overview)
        self.selection_changed.emit()

    # --- selecting

    def _row_selected(self, chosen: RowChosen) -> None:
        """A row is selected: so are its slices, and the longest of them, or the step, is described."""
        if self._quiet:
            return
        rows = chosen.table.rows_of(chosen.row)
        self._wanted_row = None
        self.step = step_of_row(chosen.table, chosen.row)
        self._selected = bool(len(rows)) and self.step is None
        self.timeline.select_slices(rows, pick=self.step is None)
        if self.step is not None:
            self.selection_changed.emit()
            return
        if len(rows):
            self.document.describe(self._longest(rows))

    def _row_activated(self, chosen: RowChosen) -> None:
        rows = chosen.table.rows_of(chosen.row)
        if len(rows):
            self.timeline.show_slices(rows)

    def offer_roofline(self) -> None:
        """Puts the way to the roofline into the menu of rows that stand for kernels."""
        self._has_roofline = True

    def _ask_roofline(self, chosen: RowChosen) -> None:
        """Asks for the longest kernel of a row."""
        rows = chosen.table.rows_of(chosen.row)
        if len(rows):
            self.roofline_asked.emit(self._longest(rows))
        else:
            self.told.emit("No point on the roofline: the row stands for no kernel")

    def _longest(self, rows: Int32) -> int:
        trace = self.document.trace
        assert trace is not None
        return int(rows[int(np.argmax(trace.slices.duration_ns[rows]))])

    def _slice_selected(self, row: int) -> None:
        """A slice of the timeline is selected; NO_ROW: none is."""
        self._selected, self.step = row != NO_ROW, None
        if row == NO_ROW:
            self._wanted_row = None
            self._select_quietly(None)
            self.selection_changed.emit()
            return
        self._wanted_row = row
        self.document.describe(row)
        self._select_table_row(row)

    def select_slice(self, row: int) -> None:
        """Selects one slice everywhere and brings it into sight."""
        self._wanted_row = row
        self._selected, self.step = True, None
        self.timeline.select_slices(np.array([row], np.int32))
        self.timeline.show_slices(np.array([row], np.int32), zoom=False)
        self.document.describe(row)
        self._select_table_row(row)

    def select_slices(self, rows: Int32) -> None:
        """Selects several slices in the timeline and shows them all."""
        self.timeline.select_slices(rows)
        self.timeline.show_slices(rows)

    def _select_table_row(self, row: int) -> None:
        table = self.tables.table.model.table
        self._select_quietly(None if table is None else row_holding(table, row))

    def _select_quietly(self, place: int | None) -> None:
        """Selects a row of the table, or none, as an answer to what was selected elsewhere."""
        view = self.tables.table.view
        self._quiet = True
        try:
            if place is None:
                view.setCurrentIndex(QModelIndex())
                view.clearSelection()
            else:
                self.tables.table.select_rows([place])
        finally:
            self._quiet = False

    def group_kernels(self, group_by: str) -> None:
        """Shows the kernels, grouped by one of ``GROUPINGS``."""
        self.tables.grouping.setCurrentIndex(self.tables.grouping.findData(group_by))
        self.tables.show_table(KERNELS)

    def choose_step(self) -> None:
        """Opens the list of steps."""
        self.bar.steps.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.bar.steps.showPopup()

    def set_range(self, times: Selection) -> None:
        """Limits every table to a range of time; a chosen rank or process stays chosen."""
        self._select_part(replace(times, tracks=self.selection.tracks))

    def choose_group(self, number: int) -> None:
        """Limits every table to a rank or process, and opens its lanes alone; -1: all of them."""
        laid = self.document.laid
        self.timeline.show_group(number)
        tracks = None if laid is None or number < 0 else laid.group_tracks[number]
        self._select_part(replace(self.selection, tracks=tracks))

    def _select_part(self, selection: Selection) -> None:
        self.tables.set_selection(selection)
        self.bar.show_part(selection)
        self.timeline.show_range(selection)
        self.document.ask_figures(selection)
        self.selection_changed.emit()

    def show_part(self, start_ns: int, end_ns: int) -> None:
        """Limits every table to a range, and shows it."""
        self.set_range(Selection(start_ns, end_ns))
        self.timeline.show_times(start_ns, end_ns)

    def clear_range(self) -> None:
        """Every table is about all times again."""
        self.set_range(WHOLE)

    @property
    def has_selected_slice(self) -> bool:
        """Whether a slice, a row of slices or a step is selected."""
        return self._selected or self.step is not None

    def clear_one(self) -> None:
        """Escape: takes the range away, else the selection."""
        if self.selection.times != WHOLE:
            self.clear_range()
        else:
            self.timeline.select_slices(np.empty(0, np.int32))
            self._slice_selected(NO_ROW)

    def _show_problem(self, place: int) -> None:
        """Shows what a note is about: its row in the table of notes, its slices in the timeline."""
        overview = self.document.overview
        if overview is None or place >= len(overview.problems):
            return
        rows = overview.problems[place].rows
        self._wanted_row, self._wanted_note = None, place
        self.tables.table.clear_filter()
        if self.tables.shown == QUALITY:
            self._end_arranging()
        else:
            self.tables.show_table(QUALITY)
        if rows:
            self.select_slices(np.array(rows, np.int32))

    # --- export

    def ask_picture(self) -> None:
        """Asks where the picture of the timeline should go."""
        dialog = QFileDialog(self, "Export the timeline")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter("PNG (*.png)")
        dialog.setDefaultSuffix("png")
        dialog.selectFile(f"{trace_stem(self.document.name)}-timeline.png")
        dialog.fileSelected.connect(lambda name: self.export_picture(Path(name)))
        dialog.open()

    def export_picture(self, path: Path) -> None:
        """Writes the timeline as it is shown."""
        try:
            save_png(self.timeline, path)
        except DashboardError as error:
            self.failed.emit(error)
        else:
            self.told.emit(f"{printable(path.name)} written")

    # --- search

    def _search(self) -> None:
        words = self.bar.field.text()
        if words.strip():
            self.document.search(words)
        else:
            self._hits, self._hit = np.empty(0, np.int32), -1
            self.bar.show_hits(None, 0)

    def _show_found(self, found: Found) -> None:
        if found.words != self.bar.field.text():
            return
        self._hits, self._hit = found.rows, -1
        self.bar.show_hits(len(found.rows), 0)

    def go_to_hit(self, step: int) -> None:
        """Selects the next hit of the search, or the one before; round the end."""
        if not len(self._hits):
            return
        self._hit = (
            (self._hit + step) % len(self._hits) if self._hit >= 0 or step > 0 else len(self._hits) - 1
        )
        self.bar.show_hits(len(self._hits), self._hit + 1)
        self.select_slice(int(self._hits[self._hit]))


def row_holding(table: ResultTable, slice_row: int) -> int | None:
    """Returns the row of a table that a slice is part of, None if no row is."""
    if table.members is None or table.member_ends is None:
        return None
    places = np.flatnonzero(table.members == slice_row)
    if not len(places):
        return None
    return int(np.searchsorted(table.member_ends, places[0], side="right"))
