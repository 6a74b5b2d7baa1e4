"""Nsight: opened Nsight Compute reports and CSVs as tabs, each with its kernels and what is known of one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from gui.pages.page import DocumentPage
from gui.reports.baselines import Baseline, Baselines
from gui.reports.document import ReportDocument
from gui.rooflines.sources import PointSource
from gui.widgets.document_tabs import trace_stem
from gui.widgets.empty_state import EmptyState
from gui.widgets.nsight_inspector import NsightInspector
from gui.widgets.nsight_view import NsightView

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from core.files import FileDescription
    from gui.context import PageContext
    from gui.rooflines.sources import OwnerPage, PointAsked


class NsightPage(DocumentPage[ReportDocument, NsightView]):
    """Shows what ``OpenReports`` lists."""

    NAME: ClassVar[OwnerPage] = "nsight"
    TITLE = "Nsight"
    ICON = "cpu"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context, context.reports, "report")
        self.baselines = Baselines(self)
        self.nsight_inspector = NsightInspector(context.theme, has_roofline=self.has_roofline)
        self._empty = EmptyState(
            context.theme,
            "cpu",
            [("Open report", partial(context.actions.trigger, "file.open"))],
            primary=True,
        )
        self._empty.set_text(
            "No report is open",
            "Drop what ncu has written (.ncu-rep, .ncu-repz or its CSV) anywhere on this window. "
            "Nsight Compute itself is not needed.",
        )
        self._stack.addWidget(self._empty)
        context.points.asked.connect(self._show_asked)
        self.nsight_inspector.roofline_asked.connect(self.show_on_roofline)
        self._follow()

    # --- what the window asks

    @property
    def empty(self) -> EmptyState:
        """What stands there without a report."""
        return self._empty

    def inspector(self) -> QWidget:
        """What is known of the chosen kernel."""
        return self.nsight_inspector

    def inspector_head(self) -> QWidget:
        """Names the kernel."""
        return self.nsight_inspector.head

    def open_path(self, path: Path, description: FileDescription) -> bool:
        """Opens a report as a tab."""
        del description
        self.context.reports.add(path)
        return True

    # --- the list

    def _show_list(self) -> None:
        self.baselines.keep_only(self.context.reports.paths)
        super()._show_list()

    def _build_document(self, path: Path) -> ReportDocument:
        return ReportDocument(path, self.context.tasks, self)

    def _build_view(self, path: Path, document: ReportDocument) -> NsightView:
        context = self.context
        view = NsightView(document, context.theme, context.tasks, context.settings, self.baselines)
        # Behind the view's own: what can be done depends on what it shows.
        document.launch_ready.connect(context.actions.refresh)
        view.selection_changed.connect(lambda: self._selection_changed(path))
        view.failed.connect(self.show_error)
        view.told.connect(self.told)
        return view

    def _opened(self, path: Path) -> None:
        """Offers a report as a baseline, and its kernels to the roofline and to traces."""
        document = self._files[path]
        self._offer_as_baseline(document)
        self.context.points.offer(
            PointSource(
                page=self.NAME,
                path=path,
                name=document.name,
                make=document.offered_points,
                report=document.report,
            )
        )

    def _offer_as_baseline(self, document: ReportDocument) -> None:
        if document.report is not None:
            title = f"same kernels of {trace_stem(document.name)}"
            self.baselines.offer(Baseline(path=document.path, row=None, title=title, report=document.report))

    # --- the kernel

    def _show_asked(self, asked: PointAsked) -> None:
        """Chooses the launch behind a point of the roofline."""
        if asked.page == self.NAME and asked.path in self._files:
            self.context.reports.show(asked.path)
            self._view_of(asked.path).show_kernel(asked.row)

    def _selection_changed(self, path: Path) -> None:
        if path == self.context.reports.shown:
            self._show_selection()
            self.context.actions.refresh()

    def _show_selection(self) -> None:
        """Tells the inspector which kernel is chosen."""
        document, view, inspector = self.document, self.view, self.nsight_inspector
        if document is None:
            inspector.show_nothing("No report is open.")
        elif view is None or document.report is None or document.kernels is None:
            inspector.show_nothing("It is being read.")
        elif view.row is None:
            inspector.show_nothing("No kernels in this file.")
        else:
            inspector.show_kernel(document, view.shown_rows, view.place_words)

    def show_on_roofline(self) -> None:
        """Shows the chosen kernel on the roofline: a report offers a point for each launch."""
        view = self.view
        if view is not None and view.row is not None:
            self.show_point(view.row)
