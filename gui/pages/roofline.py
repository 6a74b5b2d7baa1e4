"""Roofline: the kernels of all opened reports and traces below what their device can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QVBoxLayout, QWidget

from core.errors import DashboardError
from core.files import printable
from core.roofline.ceilings import above_roof
from gui.pages.page import Page
from gui.plain_text import control_text, visible_text
from gui.plots.export import save_png, save_svg
from gui.plots.roofline_board import content_of
from gui.plots.roofline_view import RooflineView
from gui.rooflines.board import Board, BoardAsk, ask_to_see, build_board, with_verdicts
from gui.rooflines.measuring import CeilingMeasuring
from gui.rooflines.sources import PointAsked
from gui.widgets.result_table import ResultTableWidget
from gui.widgets.roofline_bar import RooflineBar, RooflineStrip
from gui.widgets.roofline_inspector import RooflineInspector
from gui.widgets.roofline_own import OwnFigures, own_as_json, own_from_json
from gui.widgets.roofline_states import RooflineStates, content_of_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.roofline.ceilings import Ceilings
    from core.roofline.measurement import Measurement
    from core.roofline.verdict import Verdict
    from gui.context import PageContext
    from gui.plots.roofline_content import RooflineContent
    from gui.rooflines.sources import OfferedPoints, PointSource
    from gui.tasks import Progress
    from gui.theme import Theme
    from gui.widgets.result_table import RowChosen

TASK: Final = "roofline"
VERDICTS_TASK: Final = "roofline verdicts"


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What a task has made: the points of each source, the board of them, and what the plot draws."""

    offers: dict[int, OfferedPoints]
    board: Board
    content: RooflineContent


class RooflinePage(Page):
    """Shows what ``PointSources`` lists; points are made when the page is first shown."""

    NAME = "roofline"
    TITLE = "Roofline"
    ICON = "chart-line-up"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.board: Board | None = None
        self._ask = BoardAsk(also=_texts(context.settings.page_value(self.NAME, "measured")))
        self._own = own_from_json(context.settings.page_value(self.NAME, "own"))
        self._offers: dict[int, OfferedPoints] = {}
        self._verdicts: dict[int, tuple[Verdict | None, ...]] = {}
        self._selected: tuple[int, int] | None = None
        self._looked_at: PointSource | None = None
        self._to_see: tuple[PointSource, int | None] | None = None
        """A document, and one of its kernels, whose device the next board is to be of."""
        self._quiet = False
        self._stale = True
        self._why_none = ""
        """Why there is no board, although something is open and nothing is being made."""
        self.export_menu = QMenu("Export", self)
        self.measure_menu = QMenu("Measure ceilings", self)
        self.measuring = CeilingMeasuring(context.tasks, context.machine, self)
        self.bar = RooflineBar(context.theme, self.measure_menu, self.export_menu)
        self.own = OwnFigures()
        self.view = RooflineView(context.theme.theme)
        self.strip = RooflineStrip(context.theme)
        self.table = ResultTableWidget(context.theme, context.tasks, context.settings)
        self.roofline_inspector = RooflineInspector(context.theme)
        self._build()
        self._connect()
        self._take_wanted()
        self._show_state()

    # --- parts

    def _build(self) -> None:
        self.set_bar(self.bar)
        # Its filter stands in the strip; copying has a key, exporting a menu.
        self.table.bar.hide()
        self.strip.take_filter(self.table.bar.field, self.table.bar.columns)
        content = content_of_page(self.own, self.view, self.strip, self.table)
        self.own.hide()
        self.states = RooflineStates(self.context, content, self._make)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.states)
        for words, run in (
            ("Plot as PNG", lambda: self.ask_picture("png")),
            ("Plot as SVG", lambda: self.ask_picture("svg")),
            ("Table as CSV", lambda: self.table.ask_export("csv")),
            ("Table as JSON", lambda: self.table.ask_export("json")),
        ):
            self.export_menu.addAction(f"Export the {words[0].lower()}{words[1:]}", run)

    def _connect(self) -> None:
        context, view, table = self.context, self.view, self.table
        context.points.changed.connect(self._sources_changed)
        context.points.wanted_changed.connect(self._take_wanted)
        context.theme.changed.connect(self._draw)
        self.bar.changed.connect(self._choose)
        self.measure_menu.aboutToShow.connect(self._fill_measure_menu)
        self.measuring.busy_changed.connect(self.bar.measure.setDisabled)
        self.measuring.measured.connect(self._measured)
        self.measuring.failed.connect(self.show_error)
        self.strip.below_changed.connect(self._choose_below)
        self.strip.failed.connect(self.show_error)
        self.own.entered.connect(self._take_own)
        self.own.failed.connect(self.show_error)
        view.point_selected.connect(self._point_selected)
        view.point_opened.connect(self._point_opened)
        for signal in (view.range_changed, view.point_selected):
            signal.connect(context.actions.refresh)
        table.selected.connect(self._row_selected)
        table.activated.connect(lambda _: self.open_selected())
        table.model.modelAboutToBeReset.connect(self._begin_arranging)
        table.model.arranged.connect(self._arranged)
        table.failed.connect(self.show_error)
        table.told.connect(self.told)
        self.roofline_inspector.open_asked.connect(self.open_selected)

    # --- what the window asks

    def subtitle(self) -> str:
        """What the points are of; before there are any, all that may give some."""
        board = self.board
        drawn = () if board is None else [board.sources[place] for place in np.unique(board.source_of)]
        names = [source.name for source in drawn or self.context.points.all]
        return " with ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"

    def inspector(self) -> QWidget:
        """What is known of the selected kernel, and of the device."""
        return self.roofline_inspector

    def inspector_head(self) -> QWidget:
        """Names the selection."""
        return self.roofline_inspector.head

    def wants_docks(self) -> bool:
        """Without points there is nothing to inspect."""
        return bool(self.context.points.all)

    def shown(self) -> None:
        """Makes the points of what is open, on the device of what was looked at; the plot gets the keys."""
        looked_at = self.context.points.looked_at
        if looked_at is not None and looked_at is not self._looked_at:
            self._to_see = self._to_see or (looked_at, None)
            self._stale = True
        self._looked_at = looked_at
        if self._stale:
            self._make()
        self.states.give_keyboard(self, self.view)

    @property
    def selected_row(self) -> int | None:
        """Row of the board that is selected."""
        board = self.board
        if board is None or self._selected is None:
            return None
        source, row = self._selected
        ids = np.array([id(each) for each in board.sources], np.int64)
        same = (ids[board.source_of] == source) & (board.offered_row == row)
        found = np.flatnonzero(same)
        return int(found[0]) if len(found) else None

    # --- making

    def _sources_changed(self) -> None:
        known = {id(source) for source in self.context.points.all}
        for kept in (self._offers, self._verdicts):
            for gone in [each for each in kept if each not in known]:
                del kept[gone]
        self._stale = True
        self.subtitle_changed.emit()
        self.docks_changed.emit()
        self._show_state()
        if self.isVisible():
            self._make()

    def _show_state(self) -> None:
        if not self.context.points.all:
            self.board = None
            self.banners.dismiss(TASK)
            self.roofline_inspector.show_nothing(None)
            self.states.show_empty()
        elif self.board is None and self._why_none:
            self.states.show_failed(self._why_none)
        elif self.board is None:
            self.states.show_making()
        self.bar.setVisible(self.board is not None)

    def _make(self) -> None:
        """Makes what is missing of the points, and the board, in a task."""
        sources = self.context.points.all
        self.context.tasks.cancel(VERDICTS_TASK)
        if not sources:
            self.context.tasks.cancel(TASK)
            return
        ask, known, own, judged = self._ask, dict(self._offers), dict(self._own), dict(self._verdicts)
        to_see = self._to_see

        def work(progress: Progress) -> _Answer:
            offers = {
                id(source): known[id(source)] if id(source) in known else source.make(progress)
                for source in sources
            }
            offered = [(source, offers[id(source)]) for source in sources]
            board = build_board(offered, ask if to_see is None else ask_to_see(offered, ask, *to_see), own)
            verdicts = {
                place: judged[id(source)] for place, source in enumerate(sources) if id(source) in judged
            }
            board = with_verdicts(board, verdicts) if verdicts else board
            return _Answer(offers, board, content_of(board))

        self.context.tasks.start(
            title="Placing kernels on the roofline",
            work=work,
            done=self._take,
            failed=self._failed,
            key=TASK,
            cancelled=lambda: self._stopped("It was cancelled."),
            crashed=lambda: self._stopped("A mistake in Ridgeline ended it. The report of it says where."),
        )
        # After the start: it stops what is being made for an older question.
        self._stale, self._why_none = False, ""
        self._show_state()

    def _failed(self, error: DashboardError) -> None:
        if self.board is not None:
            self.banners.show_banner(TASK, "error", error.message, error.hint)
        self._stopped(f"{error.message} {error.hint}")

    def _stopped(self, why: str) -> None:
        """Nothing is being made any more: it is tried again when the page is shown, or asked to."""
        self._stale, self._why_none = True, why
        self._show_state()

    def _take(self, answer: _Answer) -> None:
        self.banners.dismiss(TASK)
        before, to_see = self.board, self._to_see
        self._to_see = None
        self._offers = answer.offers
        same_view = before is not None and (before.ask.device, before.ask.level) == (
            answer.board.ask.device,
            answer.board.ask.level,
        )
        self._show_board(answer.board, answer.content, keep_view=same_view)
        if to_see is not None and to_see[1] is not None:
            self._uncover_selected()
        self.states.give_keyboard(self, self.view)
        self._judge(answer.board.sources)

    def _judge(self, sources: Sequence[PointSource]) -> None:
        """Makes the verdicts of the sources that have none yet."""
        wanted = {
            id(source): self._offers[id(source)].judge
            for source in sources
            if id(source) not in self._verdicts
        }
        if not wanted:
            return

        def work(progress: Progress) -> dict[int, tuple[Verdict | None, ...]]:
            return {key: judge(progress) for key, judge in wanted.items()}

        def done(found: dict[int, tuple[Verdict | None, ...]]) -> None:
            self._verdicts |= {key: each for key, each in found.items() if key in self._offers}
            self._make()

        self.context.tasks.start(
            title="Judging kernels",
            work=work,
            done=done,
            failed=self.show_error,
            key=VERDICTS_TASK,
        )

    def _show_board(self, board: Board, content: RooflineContent, *, keep_view: bool) -> None:
        self.board = board
        self._ask = board.ask
        self.view.set_content(content, keep_view=keep_view)
        self.bar.show_board(board)
        self.strip.show_board(board, len(self.view.content.points.above()))
        unknown = not board.ceilings.work and not board.ceilings.traffic
        entered = board.ask.device in self._own
        self.own.setVisible(unknown or entered)
        self.own.show_board(board, self._own.get(board.ask.device or ""))
        self.table.file_stem = "roofline"
        self.states.show_content()
        self.bar.show()
        self.table.show_table(board.table)
        self._show_selected()
        self.subtitle_changed.emit()
        self.context.actions.refresh()

    # --- choosing

    def _choose(self) -> None:
        bar = self.bar
        self._to_see = None
        self._ask = replace(
            self._ask,
            device=bar.device.currentData(),
            level=bar.level.currentData(),
            work_type=bar.work_type.currentData(),
            measured=bar.measured.isChecked(),
            modelled=bar.modelled.isChecked(),
            sparse=bool(bar.density.current),
        )
        self._make()

    def _choose_below(self, below_pct: float) -> None:
        self._ask = replace(self._ask, below_pct=below_pct)
        self._make()

    def _take_own(self, ceilings: Ceilings) -> None:
        """Keeps figures that the user has entered, and uses them."""
        self.clear_error()
        self._own[ceilings.device] = ceilings
        self.context.settings.set_page_value(self.NAME, "own", own_as_json(self._own))
        self._make()

    # --- measuring

    def _fill_measure_menu(self) -> None:
        self.measure_menu.clear()
        for device, words in self.measuring.measurable():
            self.measure_menu.addAction(control_text(words), partial(self.measuring.measure, device))

    def _measured(self, measurement: Measurement) -> None:
        self.clear_error()
        name = measurement.device
        self._ask = replace(self._ask, device=name, also=tuple(dict.fromkeys([*self._ask.also, name])))
        self.context.settings.set_page_value(self.NAME, "measured", list(self._ask.also))
        self.told.emit(f"{visible_text(name)} measured")
        self._make()

    # --- selecting

    def _point_selected(self, point: int) -> None:
        board = self.board
        row = int(board.row_of_point[point]) if board is not None and point >= 0 else None
        self._select(row)
        self._select_in_table(row)

    def _point_opened(self, point: int) -> None:
        self._point_selected(point)
        self.view.select(point)
        self.open_selected()

    def _row_selected(self, chosen: RowChosen) -> None:
        board = self.board
        if self._quiet or board is None or chosen.table is not board.table:
            return
        self._select(chosen.row)
        self.view.select(board.point_of_row(chosen.row))

    def _select(self, row: int | None) -> None:
        board = self.board
        if board is None or row is None:
            self._selected = None
        else:
            source = board.sources[int(board.source_of[row])]
            self._selected = (id(source), int(board.offered_row[row]))
        self._show_inspector()
        self.context.actions.refresh()

    def _take_wanted(self) -> None:
        """Selects the point that another page asked for, now or as soon as it is made."""
        wanted = self.context.points.wanted
        if wanted is not None:
            self._selected = (id(wanted[0]), wanted[1])
            self._to_see = wanted
            self._stale = True
            if self.board is not None:
                self._show_selected()

    def _show_selected(self) -> None:
        """Finds what was selected in a new board."""
        row, board = self.selected_row, self.board
        if board is not None:
            self.view.select(-1 if row is None else board.point_of_row(row))
        self._select_in_table(row)
        self._show_inspector()

    def _uncover_selected(self) -> None:
        """Lets neither the legend nor the filter of the table hide what another page asked for."""
        row, board, model = self.selected_row, self.board, self.table.model
        if row is None or board is None:
            return
        point = board.point_of_row(row)
        if point >= 0:
            self.view.uncover(point)
        if model.words and row not in model.rows:
            self.table.bar.field.clear()

    def _show_inspector(self) -> None:
        row, board = self.selected_row, self.board
        if row is None or board is None:
            self.roofline_inspector.show_nothing(board)
            return
        above = above_roof(board.points, row, board.ceilings)
        page = board.sources[int(board.source_of[row])].page
        self.roofline_inspector.show_kernel(board, row, above.text if above else "", page)

    def _select_in_table(self, row: int | None) -> None:
        self._quiet = True
        try:
            if row is None:
                self.table.view.setCurrentIndex(QModelIndex())
                self.table.view.clearSelection()
            else:
                self.table.select_rows([row])
        finally:
            self._quiet = False

    def _begin_arranging(self) -> None:
        # A row that stays selected in another table is no choice of the user's.
        self._quiet = True

    def _arranged(self) -> None:
        """Rows that the filter hides are hidden in the plot too."""
        self._quiet = False
        board, model = self.board, self.table.model
        if board is None or model.table is not board.table:
            return
        self._select_in_table(self.selected_row)
        self.view.set_filter(np.isin(board.row_of_point, model.rows) if model.words else None)

    def clear_selection(self) -> None:
        """Nothing is selected any more."""
        self.view.select(-1)
        self._point_selected(-1)

    def open_selected(self) -> None:
        """Shows the selected kernel on the page of its document."""
        row, board = self.selected_row, self.board
        if row is None or board is None:
            return
        source, points = board.sources[int(board.source_of[row])], board.points
        asked = PointAsked(
            page=source.page,
            path=source.path,
            row=int(points.origin_row[row]),
            name=points.strings[int(points.name_id[row])],
        )
        self.context.navigate(source.page)
        self.context.points.asked.emit(asked)

    # --- export

    def ask_picture(self, kind: str) -> None:
        """Asks where the picture of the plot should go."""
        dialog = QFileDialog(self, "Export the plot")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{kind.upper()} (*.{kind})")
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"roofline.{kind}")
        dialog.fileSelected.connect(lambda name: self.export_picture(Path(name)))
        dialog.open()

    def export_picture(self, path: Path) -> None:
        """Writes the plot as it is shown, as SVG if the name says so, else as PNG."""
        try:
            if path.suffix.lower() == ".svg":
                save_svg(self.view, path, self.subtitle() or self.TITLE)
            else:
                save_png(self.view, path)
        except DashboardError as error:
            self.show_error(error)
        else:
            self.told.emit(f"{printable(path.name)} written")

    def _draw(self, theme: Theme) -> None:
        self.view.set_theme(theme)


def _texts(stored: object) -> tuple[str, ...]:
    """What the settings hold of a list of names; they may hold anything."""
    return tuple(each for each in stored if isinstance(each, str)) if isinstance(stored, list) else ()
