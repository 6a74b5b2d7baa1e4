"""What the user can do with an opened trace, as action specs: they are there before the page is built."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from core.tables.selection import WHOLE
from gui.actions import ActionSpec
from gui.page_actions import ShownDocuments, roofline_action, tab_actions
from gui.traces.groupings import GROUPINGS
from gui.widgets.kernel_profile import TITLE, KernelProfiling

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.slice_facts import SliceFacts
    from gui.pages.trace import TracePage
    from gui.plots.timeline_view import TimelineView
    from gui.widgets.trace_view import TraceView


class _Shown(ShownDocuments["TracePage"]):
    """The shown trace, and why something cannot be done with it."""

    def on_view(self, call: Callable[[TraceView], object]) -> Callable[[], None]:
        """Does something with the shown trace."""
        return self.on_page(lambda page: None if page.view is None else call(page.view))

    def on_timeline(self, call: Callable[[TimelineView], object]) -> Callable[[], None]:
        """Does something with its timeline."""

        def with_view(view: TraceView) -> None:
            if view.timeline.view is not None:
                call(view.timeline.view)

        return self.on_view(with_view)

    def no_timeline(self) -> str | None:
        """Why there is no timeline."""
        page = self._page()
        view = None if page is None else page.view
        missing = view is not None and view.timeline.view is None
        return self.not_read() or ("the timeline is being laid out" if missing else None)

    def no_selection(self) -> str | None:
        """Why there is no selected slice."""
        page = self._page()
        view = None if page is None else page.view
        missing = view is None or view.timeline.view is None or view.timeline.view.selection is None
        return self.no_timeline() or ("no slice is selected" if missing else None)

    def no_range(self) -> str | None:
        """Why there is nothing to take away."""
        page = self._page()
        view = None if page is None else page.view
        nothing = view is not None and view.selection.times == WHOLE and not view.has_selected_slice
        return self.not_read() or ("nothing is selected" if nothing else None)

    def no_steps(self) -> str | None:
        """Why there is no step to choose."""
        page = self._page()
        view = None if page is None else page.view
        missing = view is not None and not view.bar.steps.isEnabled()
        return self.not_read() or ("the trace marks no steps" if missing else None)

    def no_hits(self) -> str | None:
        """Why there is no match."""
        page = self._page()
        view = None if page is None else page.view
        missing = view is not None and not view.hits
        return self.not_read() or ("the filter has found no slice" if missing else None)

    def no_table(self, name: str) -> str | None:
        """Why a table cannot be shown."""
        page = self._page()
        view = None if page is None else page.view
        missing = view is not None and name not in view.tables.names
        return self.not_read() or ("the trace has no such table" if missing else None)

    def caller_row(self, which: str) -> int | None:
        """Row of the operator or the launch of the selected slice."""
        page = self._page()
        facts: SliceFacts | None = None if page is None else page.trace_inspector.facts
        if facts is None:
            return None
        return facts.caller.op_row if which == "operator" else facts.caller.launch_row

    def no_caller(self, which: str) -> str | None:
        """Why one cannot go there."""
        missing = self.caller_row(which) is None
        return self.no_selection() or (f"the selected slice has no {which}" if missing else None)

    def no_kernel(self) -> str | None:
        """Why no kernel is selected."""
        page = self._page()
        facts = None if page is None else page.trace_inspector.facts
        missing = facts is None or not facts.is_kernel
        return self.no_selection() or ("the selected slice is no kernel" if missing else None)

    def profile_kernel(self) -> None:
        """Shows how the selected kernel is profiled."""
        page = self._page()
        facts = None if page is None else page.trace_inspector.facts
        document = None if page is None or page.view is None else page.view.document
        trace = None if document is None else document.trace
        if page is None or document is None or trace is None or facts is None:
            return
        context = page.context
        profiling = page.findChild(KernelProfiling)
        if not isinstance(profiling, KernelProfiling):
            profiling = KernelProfiling(context.tasks, page)
            profiling.written.connect(context.open_path)
            profiling.told.connect(page.told)
            profiling.failed.connect(page.show_error)
        profiling.ask(trace, facts.row, document.path)

    def go_to_caller(self, which: str) -> None:
        """Selects the operator or the launch."""
        row = self.caller_row(which)
        if row is not None:
            self.on_view(lambda view: view.select_slice(row))()


def trace_actions(page: Callable[[], TracePage | None]) -> list[ActionSpec]:
    """All actions of the Trace page, in the order in which menus and the palette show them.

    Args:
        page: Gives the page while it is shown, else None.
    """
    shown = _Shown(page, "Trace", "trace")
    specs = [
        *tab_actions(shown, "trace", "Trace"),
        *_timeline_actions(shown),
        *_selection_actions(shown),
        *_search_actions(shown),
        *_table_actions(shown),
    ]
    return [replace(spec, page="trace") for spec in specs]


def _timeline_actions(shown: _Shown) -> list[ActionSpec]:
    moves: tuple[tuple[str, str, str, Callable[[TimelineView], object]], ...] = (
        ("zoom_in", "Zoom in", "W", lambda timeline: timeline.zoom_by_key(1)),
        ("zoom_out", "Zoom out", "S", lambda timeline: timeline.zoom_by_key(-1)),
        ("earlier", "Move to earlier times", "A", lambda timeline: timeline.pan_by_key(-1)),
        ("later", "Move to later times", "D", lambda timeline: timeline.pan_by_key(1)),
        ("fit", "Show the whole trace", "0", lambda timeline: timeline.reset_view()),
        ("undo", "Undo the last zoom or move", "Ctrl+Z", lambda timeline: timeline.undo_view()),
    )
    return [
        *(
            ActionSpec(
                id=f"trace.{name}",
                text=text,
                run=shown.on_timeline(call),
                icon="rows",
                shortcut=keys,
                menu="Trace",
                enabled=shown.no_timeline,
                words="timeline zoom fit pan view back",
            )
            for name, text, keys, call in moves
        ),
        ActionSpec(
            id="trace.zoom_selection",
            text="Zoom to the selection",
            run=shown.on_timeline(lambda timeline: timeline.zoom_to_selection()),
            icon="magnifying-glass",
            keys="Return",
            menu="Trace",
            enabled=shown.no_selection,
            words="timeline slice",
        ),
    ]


def _selection_actions(shown: _Shown) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="trace.step",
            text="Select a step",
            run=shown.on_view(lambda view: view.choose_step()),
            icon="rows",
            menu="Trace",
            enabled=shown.no_steps,
            words="range ProfilerStep limit",
        ),
        ActionSpec(
            id="trace.clear",
            text="Clear the range, then the selection",
            run=shown.on_view(lambda view: view.clear_one()),
            icon="x",
            shortcut="Escape",
            menu="Trace",
            enabled=shown.no_range,
            words="deselect",
        ),
        *(
            ActionSpec(
                id=f"trace.{which}",
                text=f"Go to the {which}",
                run=partial(shown.go_to_caller, which),
                icon="rows",
                menu="Trace",
                enabled=partial(shown.no_caller, which),
                tip="Of the selected slice",
                words="caller kernel",
            )
            for which in ("operator", "launch")
        ),
        ActionSpec(
            id="trace.profile_kernel",
            text=TITLE,
            run=shown.profile_kernel,
            icon="cpu",
            menu="Trace",
            enabled=shown.no_kernel,
            tip="Shows the command for the selected kernel, and runs it where ncu is installed.",
            words="ncu counters kernel report",
        ),
        roofline_action(shown, "trace", "Trace", shown.no_kernel),
    ]


def _search_actions(shown: _Shown) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="trace.filter",
            text="Filter by name",
            run=shown.on_view(lambda view: view.tables.table.focus_filter()),
            icon="funnel",
            shortcut="/",
            menu="Trace",
            enabled=shown.not_read,
            words="search find",
        ),
        ActionSpec(
            id="trace.next_match",
            text="Next match",
            run=shown.on_view(lambda view: view.go_to_hit(1)),
            icon="caret-down",
            shortcut="F3",
            menu="Trace",
            enabled=shown.no_hits,
            words="search find hit",
        ),
        ActionSpec(
            id="trace.previous_match",
            text="Previous match",
            run=shown.on_view(lambda view: view.go_to_hit(-1)),
            icon="caret-up",
            shortcut="Shift+F3",
            menu="Trace",
            enabled=shown.no_hits,
            words="search find hit",
        ),
    ]


def _table_actions(shown: _Shown) -> list[ActionSpec]:
    return [
        *(
            ActionSpec(
                id=f"trace.group_{value}",
                text=f"Group kernels by {words.lower()}",
                run=shown.on_view(partial(_group, value)),
                icon="rows",
                menu="Trace",
                enabled=partial(shown.no_table, "kernels"),
                words="table",
            )
            for value, words in GROUPINGS
        ),
        ActionSpec(
            id="trace.launches",
            text="Show kernels per launch",
            run=shown.on_view(lambda view: view.tables.show_table("launches")),
            icon="rows",
            menu="Trace",
            enabled=partial(shown.no_table, "launches"),
            words="each table",
        ),
        ActionSpec(
            id="trace.copy",
            text="Copy the table",
            run=shown.on_view(lambda view: view.tables.table.copy_rows("tsv")),
            icon="copy",
            keys="Ctrl+C",
            menu="Trace",
            enabled=shown.not_read,
            tip="The selected rows, or all",
            words="rows clipboard",
        ),
        ActionSpec(
            id="trace.export_csv",
            text="Export the table as CSV",
            run=shown.on_view(lambda view: view.tables.table.ask_export("csv")),
            icon="export",
            menu="Trace",
            enabled=shown.not_read,
            words="save file",
        ),
        ActionSpec(
            id="trace.export_json",
            text="Export the table as JSON",
            run=shown.on_view(lambda view: view.tables.table.ask_export("json")),
            icon="export",
            menu="Trace",
            enabled=shown.not_read,
            words="save file",
        ),
        ActionSpec(
            id="trace.export_png",
            text="Export the timeline as PNG",
            run=shown.on_view(lambda view: view.ask_picture()),
            icon="export",
            menu="Trace",
            enabled=shown.no_timeline,
            words="save picture image",
        ),
    ]


def _group(value: str, view: TraceView) -> None:
    view.group_kernels(value)
