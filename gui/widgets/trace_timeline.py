"""The timeline of a trace: gives the view what it shows, and tells slices and ranges by row and time.

The view draws with compiled code; it is loaded when the first index is there,
which a worker made with the same code.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from core.files import printable
from core.tables.columns import MISSING, NO_ROW
from core.tables.selection import WHOLE, Selection
from core.units import format_duration_ns, format_fixed
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.traces.lanes import COLOURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.slice_facts import SliceFacts
    from core.tables.columns import Int32
    from gui.plots.timeline_content import SliceRef, SliceWords
    from gui.plots.timeline_span import TimeSpan
    from gui.plots.timeline_view import TimelineView
    from gui.theme import Theme, ThemeController
    from gui.traces.answers import Laid, StepRange
    from gui.traces.document import TraceDocument

_ROOM: Final = 0.1
"""So much of what is zoomed to lies beside it at each side."""


class TraceTimeline(QWidget):
    """Shows the lanes of one document.

    Signals:
        slice_selected: Row of the slice the user selected, NO_ROW for none.
        range_selected: The ``Selection`` of a range.
    """

    slice_selected = Signal(int)
    range_selected = Signal(object)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._document: TraceDocument | None = None
        self._laid: Laid | None = None
        self._boundaries: tuple[int, ...] = ()
        self._colours: tuple[str, ...] = COLOURS
        self._view: TimelineView | None = None
        self._waiting: QLabel = plain_label("Laying out the timeline")
        set_kind(self._waiting, kind="secondary")
        self._waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addWidget(self._waiting)
        theme.changed.connect(self._draw)

    @property
    def view(self) -> TimelineView | None:
        """The view, once there is one."""
        return self._view

    def show_document(self, document: TraceDocument, laid: Laid) -> None:
        """Shows the whole trace."""
        from gui.plots.timeline_span import TimeSpan  # noqa: PLC0415
        from gui.plots.timeline_view import TimelineView  # noqa: PLC0415

        self._document, self._laid = document, laid
        if self._view is None:
            self._view = TimelineView(self._theme.theme)
            self._view.slice_selected.connect(self._selected)
            self._view.range_changed.connect(self._range_changed)
            self._layout.replaceWidget(self._waiting, self._view)
            self._waiting.hide()
            # Only what is shown already can take the keyboard.
            self._view.show()
        self._set_content()
        self._view.show_span(TimeSpan(laid.first_ns, laid.last_ns))

    def set_steps(self, steps: Sequence[StepRange]) -> None:
        """Marks where steps begin."""
        self._boundaries = tuple(sorted({step.start_ns for step in steps}))
        if self._boundaries:
            self._renew()

    def set_colours(self, colours: tuple[str, ...]) -> None:
        """Tells other things apart by colour."""
        self._colours = colours
        self._renew()

    def show_group(self, number: int) -> None:
        """Opens the lanes of one group and closes the others; -1 opens all."""
        if self._view is None or self._laid is None:
            return
        for group in range(len(self._laid.index.groups)):
            if (group in self._view.closed_groups) != (number not in (-1, group)):
                self._view.toggle_group(group)

    def _renew(self) -> None:
        """Shows the same part with other marks or colours."""
        view = self._view
        if view is None:
            return
        span, closed, chosen, selected = view.span, view.closed_groups, view.chosen_range, view.selection
        self._set_content()
        view.show_span(span)
        view.set_range(chosen)
        view.select(None if selected is None else selected.slice_row)
        for group in closed:
            view.toggle_group(group)

    def select_slices(self, rows: Int32, *, pick: bool = True) -> None:
        """Marks slices: several with a line each; one, or with ``pick`` the longest, as the selected one."""
        view, document = self._view, self._document
        if view is None or document is None or document.trace is None:
            return
        longest = int(rows[int(np.argmax(document.trace.slices.duration_ns[rows]))]) if len(rows) else None
        view.select(longest if pick else None)
        view.set_highlight(rows if len(rows) > 1 or not pick else rows[:0])

    def show_slices(self, rows: Int32, *, zoom: bool = True) -> None:
        """Brings slices into sight; ``zoom`` makes them fill the view."""
        view, document = self._view, self._document
        if view is None or document is None or document.trace is None or not len(rows):
            return
        if not zoom:
            view.show_selection()
            return
        slices = document.trace.slices
        start_ns = int(slices.start_ns[rows].min())
        end_ns = int((slices.start_ns[rows] + np.maximum(slices.duration_ns[rows], 0)).max())
        self.show_times(start_ns, end_ns)
        view.show_selection()

    def show_times(self, start_ns: int, end_ns: int) -> None:
        """Zooms to a range, with some room beside it."""
        from gui.plots.timeline_span import TimeSpan  # noqa: PLC0415

        room_ns = round((end_ns - start_ns) * _ROOM) + 1
        if self._view is not None:
            self._view.show_span(TimeSpan(start_ns - room_ns, end_ns + room_ns))

    def show_range(self, selection: Selection) -> None:
        """Marks the part that the tables are about."""
        if self._view is None:
            return
        from gui.plots.timeline_span import TimeSpan  # noqa: PLC0415

        start_ns, end_ns = selection.start_ns, selection.end_ns
        span = None if start_ns is None or end_ns is None else TimeSpan(start_ns, max(end_ns, start_ns + 1))
        self._view.set_range(span)

    def show_flow(self, facts: SliceFacts) -> None:
        """Draws the arrows from the operator over the launch to the kernel."""
        view, laid, document = self._view, self._laid, self._document
        if view is None or laid is None or document is None or document.trace is None:
            return
        from gui.plots.timeline_content import FlowArrow  # noqa: PLC0415

        chain = [facts.caller.op_row, facts.caller.launch_row, facts.row if facts.is_device_work else None]
        rows = [row for row in chain if row is not None]
        start_ns = document.trace.slices.start_ns
        view.set_arrows(
            [
                FlowArrow(int(laid.lane[one]), int(start_ns[one]), int(laid.lane[two]), int(start_ns[two]))
                for one, two in pairwise(rows)
                if laid.lane[one] != laid.lane[two]
            ]
        )

    def _set_content(self) -> None:
        from gui.plots.timeline_content import TimelineContent  # noqa: PLC0415

        view, laid, document = self._view, self._laid, self._document
        assert view is not None
        assert laid is not None
        assert document is not None
        groups = sum(1 for each in laid.index.groups if each.rank is not None)
        busy = "GPU busy" if any(not lane.host for lane in laid.index.lanes) else "CPU busy"
        view.set_content(
            TimelineContent(
                index=laid.index,
                name_of=document.short_name,
                words_of=self._words_of,
                counters=laid.counters,
                categories=self._colours,
                boundaries_ns=self._boundaries,
                overview_note=f"{busy}, {groups} ranks" if groups > 1 else busy,
            )
        )

    def _words_of(self, row: int) -> SliceWords:
        from gui.plots.timeline_content import SliceWords  # noqa: PLC0415

        document = self._document
        assert document is not None
        assert document.trace is not None
        slices = document.trace.slices
        duration_ns = int(slices.duration_ns[row])
        pairs = (
            ("Start", f"{format_fixed(int(slices.start_ns[row]) / 1e6, 3)} ms"),
            ("Duration", "not recorded" if duration_ns == MISSING else format_duration_ns(duration_ns)),
        )
        return SliceWords(printable(document.trace.strings[int(slices.name_id[row])][:400]), pairs)

    def _selected(self, ref: SliceRef | None) -> None:
        assert self._view is not None
        self._view.set_highlight(np.empty(0, np.int32))
        self.slice_selected.emit(NO_ROW if ref is None else ref.slice_row)

    def _range_changed(self, span: TimeSpan | None) -> None:
        self.range_selected.emit(WHOLE if span is None else Selection(span.start_ns, span.end_ns))

    def _draw(self, theme: Theme) -> None:
        if self._view is not None:
            self._view.set_theme(theme)
