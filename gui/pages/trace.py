"""Trace: opened profiler traces as tabs, each with its timeline, its tables and what is selected in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from core.files import SAMPLE_TRACE
from gui.pages.page import DocumentPage
from gui.plain_text import visible_text
from gui.rooflines.sources import PointAsked, PointSource
from gui.traces.document import TraceDocument, rank_words
from gui.traces.recent_reports import RecentReports
from gui.widgets.empty_state import EmptyState
from gui.widgets.trace_inspector import TraceInspector
from gui.widgets.trace_view import TraceView
from gui.widgets.trace_words import selection_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from core.analyses.slice_facts import SliceFacts
    from core.files import FileDescription
    from gui.context import PageContext
    from gui.rooflines.sources import OwnerPage
    from gui.traces.document import EventArguments
    from gui.traces.kernel_extras import MeasuredCall


class TracePage(DocumentPage[TraceDocument, TraceView]):
    """Shows what ``OpenTraces`` lists."""

    NAME: ClassVar[OwnerPage] = "trace"
    TITLE = "Trace"
    ICON = "rows"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context, context.traces, "trace")
        self._described: dict[Path, SliceFacts] = {}
        self.trace_inspector = TraceInspector(context.theme, has_roofline=self.has_roofline)
        self._reports = RecentReports(context.reports, context.points, self)
        self._empty = {running: self._build_empty(running=running) for running in (False, True)}
        for empty in self._empty.values():
            self._stack.addWidget(empty)
        self._connect()
        self._follow()

    def _build_empty(self, *, running: bool) -> EmptyState:
        trigger = self.context.actions.trigger
        actions: list[tuple[str, Callable[[], object]]] = [("Open trace", partial(trigger, "file.open"))]
        if running:
            actions.append(("Capture from the run", partial(trigger, "run.capture")))
        if SAMPLE_TRACE.is_file():
            actions.append(("Open the sample", lambda: self.context.open_path(SAMPLE_TRACE)))
        empty = EmptyState(self.context.theme, "rows", actions, primary=True)
        empty.set_text(
            "No trace is open",
            "Drop what torch.profiler has exported (JSON, plain or gzip) anywhere on this window, "
            "or capture two steps of a run that goes on."
            if running
            else "Drop what torch.profiler has exported (JSON, plain or gzip) anywhere on this window. "
            "Traces that are captured from a run open here by themselves.",
        )
        return empty

    def _connect(self) -> None:
        self.context.points.asked.connect(self._show_asked)
        self.context.session.snapshot_changed.connect(self._show_content)
        self.context.session.detached.connect(self._show_content)
        inspector = self.trace_inspector
        inspector.same_asked.connect(self._select_same)
        inspector.step_asked.connect(self._select_step)
        inspector.slice_asked.connect(self._select_slice)
        inspector.report_asked.connect(self._open_report)
        inspector.roofline_asked.connect(self.show_on_roofline)
        self._reports.changed.connect(self._pass_reports)

    # --- what the window asks

    @property
    def empty(self) -> EmptyState:
        """What stands there without a trace."""
        return self._empty[self.context.session.running]

    def inspector(self) -> QWidget:
        """What is known of the selection."""
        return self.trace_inspector

    def inspector_head(self) -> QWidget:
        """Names the selection."""
        return self.trace_inspector.head

    def selection_words(self) -> str:
        """Length of the selected range."""
        view = self.view
        return "" if view is None else selection_words(view.selection)

    def clear_selection(self) -> None:
        """Takes the range away."""
        if self.view is not None:
            self.view.clear_range()

    def open_path(self, path: Path, description: FileDescription) -> bool:
        """Opens a trace as a tab; the traces of a folder are the ranks of one."""
        alone = description.kind == "folder" and len(description.traces) == 1
        self.context.traces.add(description.traces[0] if alone else path)
        return True

    # --- the list

    def _is_as_listed(self, path: Path) -> bool:
        return super()._is_as_listed(path) and self._files[path].files == self.context.traces.files_of(path)

    def _show_tabs(self) -> None:
        self._tab_bar.show_documents([self._rank_words(path) for path in self.context.traces.paths])

    def _rank_words(self, path: Path) -> str:
        """Behind its name: of a folder that has not been read it is not known how many ranks it holds."""
        document = self._files.get(path)
        return (
            rank_words(len(self.context.traces.files_of(path))) if document is None else document.rank_words
        )

    def _build_document(self, path: Path) -> TraceDocument:
        context = self.context
        document = TraceDocument(path, context.tasks, self, context.traces.files_of(path))
        document.set_reports(self._reports.sources)
        document.described.connect(lambda facts: self._take_facts(path, facts))
        document.arguments_ready.connect(lambda arguments: self._take_arguments(path, arguments))
        document.extras_ready.connect(lambda: self._take_extras(path))
        document.failed.connect(self.show_error)
        return document

    def _build_view(self, path: Path, document: TraceDocument) -> TraceView:
        context = self.context
        view = TraceView(document, context.theme, context.tasks, context.settings)
        # Behind the view's own: what can be done depends on what it shows.
        for signal in (document.timeline_ready, document.found, view.selection_changed):
            signal.connect(context.actions.refresh)
        view.failed.connect(self.show_error)
        view.told.connect(self.told)
        view.roofline_asked.connect(self._show_on_roofline)
        if self.has_roofline:
            view.offer_roofline()
        view.selection_changed.connect(lambda: self._selection_changed(path))
        return view

    def _opened(self, path: Path) -> None:
        """Offers its kernels to the roofline."""
        document = self._files[path]
        self.context.points.offer(
            PointSource(page=self.NAME, path=path, name=document.name, make=document.offered_points)
        )

    def _closed(self, path: Path) -> None:
        self._described.pop(path, None)

    # --- the selection

    def _take_facts(self, path: Path, facts: SliceFacts) -> None:
        if self._views[path].step is not None:
            return
        self._described[path] = facts
        if path == self.context.traces.shown:
            self._show_slice(facts)
            self.context.actions.refresh()

    def _take_arguments(self, path: Path, arguments: EventArguments) -> None:
        if path == self.context.traces.shown:
            self.trace_inspector.show_arguments(arguments)

    def _selection_changed(self, path: Path) -> None:
        if not self._views[path].has_selected_slice:
            self._described.pop(path, None)
        if path == self.context.traces.shown:
            self._show_selection()
            self.subtitle_changed.emit()
            self.status_changed.emit()

    def _show_selection(self) -> None:
        document, view = self.document, self.view
        facts = None if document is None else self._described.get(document.path)
        if document is None:
            self.trace_inspector.show_nothing()
        elif view is not None and view.step is not None:
            self.trace_inspector.show_step(view.step)
        elif facts is None:
            self.trace_inspector.show_trace(document.name, document.trace, document.overview, document.part)
        elif facts is not self.trace_inspector.facts:
            self._show_slice(facts)
            document.describe(facts.row)

    def _show_slice(self, facts: SliceFacts) -> None:
        """Shows a slice of the shown trace, and what else is known of it if it is a kernel."""
        self.trace_inspector.show_slice(facts)
        self._show_extras()

    def _show_extras(self) -> None:
        facts, document = self.trace_inspector.facts, self.document
        if facts is not None and document is not None and facts.is_kernel:
            extras = document.extras
            self.trace_inspector.show_kernel(extras.verdicts.get(facts.name), extras.call_of(facts.row))

    def _take_extras(self, path: Path) -> None:
        if path == self.context.traces.shown:
            self._show_extras()

    def _pass_reports(self) -> None:
        for document in self._files.values():
            document.set_reports(self._reports.sources)

    def _open_report(self, call: MeasuredCall) -> None:
        """Shows the launch that was measured."""
        facts, path = self.trace_inspector.facts, call.source.path
        name = "" if facts is None else facts.name
        asked = PointAsked(page="nsight", path=path, row=int(call.launch_rows[0]), name=name)
        self.context.navigate(asked.page)
        self.context.points.asked.emit(asked)

    def show_on_roofline(self) -> None:
        """Shows the selected kernel on the roofline, or says why it has no point there."""
        facts = self.trace_inspector.facts
        if facts is not None:
            self._show_on_roofline(facts.row)

    def _show_on_roofline(self, row: int) -> None:
        """Does it for the kernel of a slice: all calls of one name share a point."""
        document = self.document
        if document is None or document.trace is None:
            return
        offered, point, why = document.offered, None, "the kernels are still being placed"
        if offered is not None:
            slices = document.trace.slices
            point = offered.row_named(document.trace.strings[int(slices.name_id[row])])
            why = "this is no kernel" if point is None else offered.why_no_place(point)
        if point is not None and not why:
            self.show_point(point)
        else:
            self.told.emit(f"No point on the roofline: {visible_text(why)}")

    def _select_same(self) -> None:
        facts, view = self.trace_inspector.facts, self.view
        if facts is not None and view is not None:
            view.select_slices(facts.same.rows)

    def _select_step(self) -> None:
        facts, view = self.trace_inspector.facts, self.view
        step = self.trace_inspector.step or (None if facts is None else facts.step)
        if step is not None and view is not None:
            view.show_part(step.start_ns, step.end_ns)

    def _show_asked(self, asked: PointAsked) -> None:
        """Selects the longest call of the kernel behind a point of the roofline."""
        if asked.page == self.NAME and asked.path in self._files:
            self.context.traces.show(asked.path)
            row = self._files[asked.path].longest_kernel(asked.name)
            if row is not None:
                self._view_of(asked.path).select_slice(row)

    def _select_slice(self, row: int) -> None:
        if self.view is not None:
            self.view.select_slice(row)
