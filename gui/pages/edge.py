"""Edge: the devices of this machine, the same model on each, whether the answers agree, and how fast."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from core.edge.backends import all_backends
from core.edge.dispatch_table import dispatch_table
from core.edge.model_words import functions_of, model_spec
from core.edge.result_table import REFERENCE, backend_words, reference_rows, result_table
from core.edge.session import EdgeRequest
from core.errors import DashboardError
from core.files import printable
from core.units import format_count
from gui.pages.page import Page
from gui.plain_text import plain_label
from gui.plots.export import save_png, save_svg
from gui.theme import set_kind
from gui.widgets.edge_bar import EdgeBar
from gui.widgets.edge_devices import DeviceCards
from gui.widgets.edge_inspector import EdgeInspector
from gui.widgets.edge_latency import EdgeLatency
from gui.widgets.edge_roofline import EdgeRoofline
from gui.widgets.edge_words import state_icon
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.empty_state import EmptyState
from gui.widgets.result_table import ResultTableWidget

if TYPE_CHECKING:
    from core.edge.models import ModelSpec
    from core.edge.result import EdgeResult
    from core.files import FileDescription
    from gui.context import PageContext
    from gui.widgets.result_table import RowChosen

RESULTS, ROOFLINE, HISTORY = range(3)
_MOST_OFFERED: Final = 3
_FILES: Final = "Models (*.onnx *.pt2 *.py);;All files (*)"


class EdgePage(Page):
    """Devices are asked when the page is first shown."""

    NAME = "edge"
    TITLE = "Edge"
    ICON = "device-mobile"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.runs = context.edge
        self.bar = EdgeBar(all_backends())
        self.devices = DeviceCards(context.theme)
        self.results = ResultTableWidget(context.theme, context.tasks, context.settings)
        self.dispatches = ResultTableWidget(context.theme, context.tasks, context.settings)
        self.latency = EdgeLatency(context.theme)
        self.roofline = EdgeRoofline(context.theme)
        self.edge_inspector = EdgeInspector(context.theme)
        self.tabs = QTabBar()
        self._shown_results: tuple[EdgeResult, ...] = ()
        self._selected = ""
        """Id of the result that is looked at."""
        self._build()
        self._connect()
        self._restore()
        self._show_results()

    # --- parts

    def _build(self) -> None:
        self.set_bar(self.bar)
        self.results.file_stem = self.dispatches.file_stem = "edge"
        self.results.set_icons("state", state_icon)
        for title in ("Results", "Roofline", "History"):
            self.tabs.addTab(title)
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.tabs.setAccessibleName("Results, roofline, history")
        self._cards = QScrollArea()
        self._cards.setWidgetResizable(True)
        self._cards.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._cards.setWidget(self.devices)
        self._cards.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._cards.setFrameShape(QFrame.Shape.NoFrame)
        self._cards.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._nothing = EmptyState(self.context.theme, "device-mobile", [("Run on selected", self.run)])
        self._nothing.set_text(
            "No result yet",
            "Run the model on the selected devices. Each answer is compared with fp32 on the CPU "
            "before any speed is shown.",
        )
        below = QSplitter(Qt.Orientation.Horizontal)
        below.setChildrenCollapsible(False)
        below.setHandleWidth(1)
        below.addWidget(self.latency)
        below.addWidget(self._build_dispatches())
        below.setStretchFactor(0, 1)
        below.setStretchFactor(1, 1)
        both = QSplitter(Qt.Orientation.Vertical)
        both.setChildrenCollapsible(False)
        both.setHandleWidth(1)
        both.addWidget(self.results)
        both.addWidget(below)
        self._content = QStackedWidget()
        for widget in (self._nothing, both, self.roofline):
            self._content.addWidget(widget)
        self._both = both
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._cards)
        row = QHBoxLayout()
        row.setContentsMargins(8, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.tabs)
        row.addStretch(0)
        row.addWidget(self.results.bar, 1)
        layout.addLayout(row)
        layout.addWidget(self._content, 1)

    def _build_dispatches(self) -> QWidget:
        """The table of dispatches below a heading; the few rows need no filter."""
        bar = self.dispatches.bar
        bar.field.hide()
        bar.count.hide()
        title = plain_label("Dispatches")
        set_kind(title, kind="section")
        self._dispatched = ElidedLabel()
        set_kind(self._dispatched, kind="caption")
        row = QHBoxLayout()
        row.setContentsMargins(12, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(title)
        row.addWidget(self._dispatched, 1)
        row.addWidget(bar)
        part = QWidget()
        layout = QVBoxLayout(part)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.dispatches, 1)
        return part

    def _connect(self) -> None:
        runs = self.runs
        runs.looked.connect(self._show_devices)
        runs.changed.connect(self._show_running)
        runs.ended.connect(self._ended)
        runs.failed.connect(self.show_error)
        self.bar.changed.connect(self._chosen)
        self.bar.run_asked.connect(self.run)
        self.bar.cancel_asked.connect(runs.cancel)
        self.bar.file_asked.connect(self.ask_file)
        self.devices.changed.connect(self._show_button)
        self.tabs.currentChanged.connect(lambda _: self._show_results())
        self.results.selected.connect(self._row_selected)
        self.results.activated.connect(lambda _: self.tabs.setCurrentIndex(ROOFLINE))
        self.latency.chosen.connect(self._select)
        self.roofline.row_selected.connect(lambda row: self.dispatches.select_rows([row]))
        self.dispatches.selected.connect(lambda chosen: self.roofline.select_row(chosen.row))
        self.results.row_actions = (("Remove result", self._forget),)
        self.dispatches.selected.connect(lambda chosen: self.roofline.select_row(chosen.row))
        self.roofline.row_selected.connect(lambda row: self.dispatches.select_rows([row]))
        for table in (self.results, self.dispatches):
            table.failed.connect(self.show_error)
            table.told.connect(self.told)

    def _restore(self) -> None:
        value = self.context.settings.page_value
        preset, file = value(self.NAME, "preset", "tiny"), value(self.NAME, "file", None)
        self.bar.choose(preset if isinstance(preset, str) else None, file if isinstance(file, str) else None)
        backend, precision = value(self.NAME, "backend", "iree"), value(self.NAME, "precision", "fp32")
        self.bar.choose_backend(str(backend), str(precision))

    # --- what the window asks

    def subtitle(self) -> str:
        """What is run here."""
        return f"{self.bar.model.currentText()} on this machine"

    def inspector(self) -> QWidget:
        """What is known of the selected result."""
        return self.edge_inspector

    def inspector_head(self) -> QWidget:
        """Names the selected result."""
        return self.edge_inspector.head

    def shown(self) -> None:
        """Asks for devices once; the table gets the keys."""
        if self.runs.targets is None and not self.runs.looking:
            self.runs.look()
        target = self.results.view if self._content.currentWidget() is self._both else self.bar.run
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def launch(self) -> bool:
        """The window's Launch starts a training job, not this."""
        return False

    def open_path(self, path: Path, description: FileDescription) -> bool:
        """Takes a model file as the one to run."""
        if description.kind != "model":
            return False
        self.choose_file(str(path))
        return True

    # --- choosing

    def choose_file(self, text: str) -> None:
        """Takes a file, or ``script.py:factory``, as the model; says why if it is none."""
        try:
            self._spec(None, text)
        except DashboardError as error:
            found = functions_of(Path(text)) if text.endswith(".py") else []
            named = [(f"Use {name}", partial(self.choose_file, f"{text}:{name}")) for name in found]
            self.show_error(error, named[:_MOST_OFFERED])
            return
        self.clear_error()
        self.bar.choose(None, text)
        self._chosen()

    def ask_file(self) -> None:
        """Asks for a script or a model file."""
        dialog = QFileDialog(self, "Choose a model")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(_FILES)
        dialog.fileSelected.connect(self.choose_file)
        dialog.open()

    def _chosen(self) -> None:
        settings = self.context.settings
        settings.set_page_value(self.NAME, "preset", self.bar.preset)
        settings.set_page_value(self.NAME, "file", self.bar.file)
        settings.set_page_value(self.NAME, "backend", self.bar.backend_name)
        settings.set_page_value(self.NAME, "precision", self.bar.precision_shown)
        self._show_reachable()
        self.subtitle_changed.emit()

    def _spec(self, preset: str | None, file: str | None) -> ModelSpec:
        return model_spec(
            preset=preset,
            model=file,
            tokens=self.bar.wanted_tokens if preset is not None else None,
            checkpoint=None,
            decode=self.bar.decode.isChecked() and preset is not None,
        )

    # --- pictures

    def ask_picture(self, kind: str) -> None:
        """Asks where the picture of the shown plot should go."""
        dialog = QFileDialog(self, "Export the plot")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{kind.upper()} (*.{kind})")
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"edge-{'roofline' if self._on_roofline else 'latency'}.{kind}")
        dialog.fileSelected.connect(lambda name: self.export_picture(Path(name)))
        dialog.open()

    def export_picture(self, path: Path) -> None:
        """Writes the shown plot, as SVG if the name says so, else as PNG."""
        plot: QWidget = self.roofline.view if self._on_roofline else self.latency.plot
        try:
            if path.suffix.lower() == ".svg":
                save_svg(plot, path, self.subtitle())
            else:
                save_png(plot, path)
        except DashboardError as error:
            self.show_error(error)
        else:
            self.told.emit(f"{printable(path.name)} written")

    @property
    def _on_roofline(self) -> bool:
        return self.tabs.currentIndex() == ROOFLINE

    # --- running

    def run(self) -> None:
        """Runs the model on each chosen device, one after the other."""
        self.clear_error()
        try:
            if self.bar.preset is not None and self.bar.token_count is None:
                raise DashboardError(
                    f"{self.bar.tokens.text() or 'Nothing'} is no number of tokens.",
                    "Enter a whole number from 1 on.",
                )
            spec = self._spec(self.bar.preset, self.bar.file)
        except DashboardError as error:
            self.show_error(error)
            return
        self.runs.start(
            [
                EdgeRequest(
                    model=spec,
                    backend=backend.NAME,
                    target=target,
                    precision=self.bar.precision_shown,
                    interpreter=self.context.machine.interpreter,
                )
                for target in self.devices.chosen
                for backend in self.bar.backends_shown
                if backend.takes(target) and self.bar.precision_shown in backend.PRECISIONS
            ]
        )

    def why_not_run(self) -> str | None:
        """Why nothing can be run now, None if it can."""
        if self.runs.targets is None:
            return "the devices are not known yet"
        return None if self.devices.chosen else "no device is selected that this backend reaches"

    def _show_devices(self) -> None:
        targets = self.runs.targets
        if targets is not None:
            self.devices.show_targets(targets.targets, targets.problems)
            missing = [each for backend in all_backends() if (each := backend.missing()) is not None]
            self.edge_inspector.show_missing(targets.problems, missing)
            self._cards.setFixedHeight(self.devices.row_px + 2)
            # Cards are made after all else; the keys find them where they stand.
            before: QWidget = self.bar.run
            for card in self.devices.cards:
                QWidget.setTabOrder(before, card.box)
                before = card.box
            self._show_reachable()
        self._show_results()
        self._show_button()
        if self.runs.unreadable:
            count = self.runs.unreadable
            what = "1 kept result is" if count == 1 else f"{count} kept results are"
            self.told.emit(f"{what} damaged or of a newer version")

    def _show_reachable(self) -> None:
        backends, targets = self.bar.backends_shown, self.runs.targets
        if targets is not None:
            reached = frozenset(
                each.key for each in targets.targets if any(backend.takes(each) for backend in backends)
            )
            self.devices.show_reachable(reached, self.bar.backend.currentText())

    def _show_button(self) -> None:
        why = self.why_not_run()
        self.bar.run.setEnabled(why is None)
        self.bar.run.setToolTip("" if why is None else why[:1].upper() + why[1:])
        self.context.actions.refresh()

    def _show_running(self) -> None:
        running = self.runs.running
        stage = None if running is None else f"{self.runs.stage} on {running.target.name}"
        self.bar.show_running(stage, self.runs.waiting)
        self._show_button()

    def _ended(self, result: EdgeResult) -> None:
        self._selected = result.id
        if self.tabs.currentIndex() == ROOFLINE:
            self.tabs.setCurrentIndex(RESULTS)
        self._show_results()

    # --- results

    @property
    def result(self) -> EdgeResult | None:
        """The one that is looked at."""
        return next((each for each in self._shown_results if each.id == self._selected), None)

    def _show_results(self) -> None:
        results = self.runs.results
        self.tabs.setTabText(HISTORY, f"History {format_count(len(results))}" if results else "History")
        several = (*newest(results), *reference_rows(results))
        self._shown_results = results if self.tabs.currentIndex() == HISTORY else several
        if self.result is None and self._shown_results:
            self._selected = self._shown_results[0].id
        wanted = self._selected
        self.results.show_table(result_table(self._shown_results))
        # The table has selected again what was selected in the one before.
        self._selected = wanted
        self._mark_row()
        self._show_result()
        filled = self.roofline if self._on_roofline else self._both
        self._content.setCurrentWidget(filled if results else self._nothing)
        self.results.bar.setVisible(bool(results) and not self._on_roofline)

    def _select(self, result_id: str) -> None:
        self._selected = result_id
        self._mark_row()
        self._show_result()

    def _mark_row(self) -> None:
        row = next((at for at, each in enumerate(self._shown_results) if each.id == self._selected), None)
        if row is not None:
            self.results.select_rows([row])

    def _row_selected(self, chosen: RowChosen) -> None:
        if chosen.table is self.results.model.table and chosen.row < len(self._shown_results):
            self._selected = self._shown_results[chosen.row].id
            self._show_result()

    def _show_result(self) -> None:
        result = self.result
        self.edge_inspector.show_result(result)
        table = None if result is None else dispatch_table(result)
        self.roofline.show_result(result, table)
        if table is not None and result is not None:
            self.dispatches.show_table(table)
            count = len(result.dispatches)
            of = f"{backend_words(result)} on {printable(result.device)}"
            self._dispatched.set_full_text(f"{of}, {format_count(count)} a run" if count else of)
        self.latency.show_results(self._shown_results, self._selected)
        self.context.actions.refresh()

    def _forget(self, chosen: RowChosen) -> None:
        result = self._shown_results[chosen.row]
        if result.id == REFERENCE:
            self.told.emit("The reference goes with its results")
            return
        self.runs.forget(result)
        self._show_results()


def newest(results: tuple[EdgeResult, ...]) -> tuple[EdgeResult, ...]:
    """The newest result of each model, backend, device and type; they are given newest first."""
    found: dict[tuple[object, ...], EdgeResult] = {}
    for each in results:
        key = (each.model, each.backend, each.device_key, each.device, each.precision, each.tokens)
        found.setdefault(key, each)
    return tuple(found.values())
