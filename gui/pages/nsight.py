"""Nsight: opened Nsight Compute reports and CSVs as tabs, each with its kernels and what is known of one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout

from core.errors import DashboardError
from gui.pages.page import Page
from gui.reports.baselines import Baseline, Baselines
from gui.reports.document import ReportDocument
from gui.rooflines.sources import PointSource
from gui.widgets.document_tabs import DocumentBar, trace_stem
from gui.widgets.empty_state import EmptyState
from gui.widgets.nsight_inspector import NsightInspector
from gui.widgets.nsight_view import NsightView

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from core.files import FileDescription
    from gui.context import PageContext
    from gui.rooflines.sources import PointAsked

ROOFLINE = "roofline"


class NsightPage(Page):
    """Shows what ``OpenReports`` lists; a file is read when its tab is first shown."""

    NAME = "nsight"
    TITLE = "Nsight"
    ICON = "cpu"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self._views: dict[Path, NsightView] = {}
        self._before: Path | None = None
        self.baselines = Baselines(self)
        has_roofline = any(spec.id == f"view.{ROOFLINE}" for spec in context.actions.specs)
        self.nsight_inspector = NsightInspector(context.theme, has_roofline=has_roofline)
        self._tab_bar = DocumentBar(context.theme, context.reports, "report")
        self.tabs = self._tab_bar.tabs
        self.set_bar(self._tab_bar)
        self._stack = QStackedWidget()
        self.empty = EmptyState(
            context.theme,
            "cpu",
            [("Open report", partial(context.actions.trigger, "file.open"))],
            primary=True,
        )
        self.empty.set_text(
            "No report is open",
            "Drop what ncu has written (.ncu-rep, .ncu-repz or its CSV) anywhere on this window. "
            "Nsight Compute itself is not needed.",
        )
        self._stack.addWidget(self.empty)
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        context.reports.changed.connect(self._show_list)
        context.reports.again.connect(self._read_again)
        context.points.asked.connect(self._show_asked)
        self.tabs.currentChanged.connect(self._tab_chosen)
        self.nsight_inspector.roofline_asked.connect(self.show_on_roofline)
        self._show_list()

    # --- what the window asks

    def subtitle(self) -> str:
        """Name and kernels of the shown report."""
        view = self.view
        return "" if view is None else view.document.subtitle()

    def inspector(self) -> QWidget:
        """What is known of the chosen kernel."""
        return self.nsight_inspector

    def inspector_head(self) -> QWidget:
        """Names the kernel."""
        return self.nsight_inspector.head

    def wants_docks(self) -> bool:
        """Without a report there is nothing to inspect."""
        return self.view is not None

    def shown(self) -> None:
        """Reads the shown report, if that has not been done; its list gets the keys."""
        self._read_shown()
        if self.view is not None:
            self.view.take_keyboard()

    def open_path(self, path: Path, description: FileDescription) -> bool:
        """Opens a report as a tab."""
        del description
        self.context.reports.add(path)
        return True

    # --- the list

    @property
    def view(self) -> NsightView | None:
        """The report that is shown."""
        shown = self.context.reports.shown
        return None if shown is None else self._views.get(shown)

    def _show_list(self) -> None:
        """Makes tabs and views what the list says."""
        reports = self.context.reports
        for path in [path for path in self._views if path not in reports.paths]:
            self._drop(path)
        for path in reports.paths:
            if path not in self._views:
                self._views[path] = self._build_view(path)
        self.baselines.keep_only(reports.paths)
        self._tab_bar.show_documents()
        wanted = self.view or self.empty
        if self._stack.currentWidget() is not wanted:
            self._stack.setCurrentWidget(wanted)
            if self.view is not None:
                self.view.take_keyboard()
        if reports.shown is not None and self.isVisible():
            self._read_shown()
        self._show_kernel()
        self.subtitle_changed.emit()
        self.docks_changed.emit()

    def _build_view(self, path: Path) -> NsightView:
        context = self.context
        document = ReportDocument(path, context.tasks, self)
        view = NsightView(document, context.theme, context.tasks, context.settings, self.baselines)
        document.state_changed.connect(lambda state: self._state_changed(path, state))
        document.launch_ready.connect(context.actions.refresh)
        view.selection_changed.connect(lambda: self._selection_changed(path))
        view.failed.connect(self.show_error)
        view.told.connect(self.told)
        self._stack.addWidget(view)
        return view

    def _drop(self, path: Path) -> None:
        view = self._views.pop(path)
        self.context.points.withdraw("nsight", path)
        view.document.close()
        self._stack.removeWidget(view)
        view.hide()
        view.deleteLater()
        view.document.deleteLater()

    def _read_shown(self) -> None:
        """Reads the shown report; the one before is where a refused one leads back to."""
        view, shown = self.view, self.context.reports.shown
        if view is None or shown is None:
            return
        self.context.points.look_at("nsight", shown)
        if view.document.state == "waiting":
            self.clear_error()
            view.document.open()
        if view.document.state == "open":
            self._before = shown

    def _read_again(self, path: Path) -> None:
        view = self._views.get(path)
        if view is not None and view.document.state in ("refused", "cancelled"):
            view.document.open()

    def _state_changed(self, path: Path, state: str) -> None:
        document = self._views[path].document
        if state in ("refused", "cancelled"):
            error = document.error
            if state == "refused" and error is not None:
                known = error.message.startswith(document.name)
                message = error.message if known else f"{document.name} was not opened. {error.message}"
                self.show_error(DashboardError(message, error.hint))
            self.context.reports.remove(path, self._before)
            return
        if state == "open":
            if path == self.context.reports.shown:
                self._before = path
            self._offer_as_baseline(document)
            self.context.points.offer(
                PointSource(
                    page="nsight",
                    path=path,
                    name=document.name,
                    make=document.offered_points,
                    report=document.report,
                )
            )
        self._show_kernel()
        self.subtitle_changed.emit()
        self.context.actions.refresh()

    def _offer_as_baseline(self, document: ReportDocument) -> None:
        if document.report is not None:
            title = f"same kernels of {trace_stem(document.name)}"
            self.baselines.offer(Baseline(path=document.path, row=None, title=title, report=document.report))

    def _tab_chosen(self, place: int) -> None:
        paths = self.context.reports.paths
        if 0 <= place < len(paths):
            self.context.reports.show(paths[place])
            self._read_shown()

    def close_shown(self) -> None:
        """Closes the shown report."""
        if self.context.reports.shown is not None:
            self.context.reports.remove(self.context.reports.shown)

    def show_neighbour(self, step: int) -> None:
        """Shows the next report, or with -1 the one before; round the end."""
        self._tab_bar.show_neighbour(step)

    # --- the kernel

    def _show_asked(self, asked: PointAsked) -> None:
        """Chooses the launch behind a point of the roofline."""
        view = self._views.get(asked.path)
        if asked.page == "nsight" and view is not None:
            self.context.reports.show(asked.path)
            view.show_kernel(asked.row)

    def _selection_changed(self, path: Path) -> None:
        if path == self.context.reports.shown:
            self._show_kernel()
            self.context.actions.refresh()

    def _show_kernel(self) -> None:
        """Tells the inspector which kernel is chosen."""
        view, inspector = self.view, self.nsight_inspector
        if view is None:
            inspector.show_nothing("No report is open.")
            return
        document, row = view.document, view.row
        if document.report is None or document.kernels is None:
            inspector.show_nothing("It is being read.")
        elif row is None:
            inspector.show_nothing("No kernels in this file.")
        else:
            inspector.show_kernel(document, row, view.place_words)

    def show_on_roofline(self) -> None:
        """Shows the chosen kernel among all others, below what its device can do."""
        view, shown = self.view, self.context.reports.shown
        if view is not None and view.row is not None and shown is not None:
            self.context.points.want("nsight", shown, view.row)
            self.context.navigate(ROOFLINE)
