"""The bars over a trace: filter and selectors; below them the three figures with the notes on the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QToolButton, QWidget

from core.tables.selection import WHOLE, Selection
from core.units import format_count, format_duration_ns, format_pct
from gui.plain_text import control_text, plain_label
from gui.theme import set_kind
from gui.traces.lanes import COLOURS
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.trace_words import notes_words, without_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.trace import Problem
    from gui.theme import Theme, ThemeController
    from gui.traces.answers import Overview, PartFigures, StepRange
    from gui.widgets.result_bar import ResultBar

BAR_PX: Final = 36
STRIP_PX: Final = 26
FIELD_PX: Final = 230
KINDS: Final = tuple(name if name in ("communication", "memcpy", "memset") else "gemm" for name in COLOURS)
"""Compute, communication and copies alone told apart."""

MOST_LISTED: Final = 500
"""Steps in the selector; a range in the timeline chooses any other part."""


class TraceBar(QWidget):
    """Filter, hits, and what part is shown.

    Signals:
        part_chosen: The ``Selection`` of a step, or of all.
        group_chosen: Number of the group of lanes that is wanted, -1 for all.
        colours_chosen: Name of the theme's colour for each category.
        next_asked, previous_asked: Another hit of the search should be shown.
    """

    part_chosen = Signal(object)
    group_chosen = Signal(int)
    colours_chosen = Signal(object)
    next_asked = Signal()
    previous_asked = Signal()

    def __init__(self, theme: ThemeController, table_bar: ResultBar, grouping: QComboBox) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        self.field = table_bar.field
        self.field.setPlaceholderText("Filter by name")
        self.field.setToolTip("Rows and slices whose name holds each of these words (/)")
        self.field.setFixedWidth(FIELD_PX)
        self.hits = plain_label()
        set_kind(self.hits, kind="caption")
        self.previous = _tool("Previous slice of that name in the timeline (Shift+F3)", "Previous hit")
        self.previous.clicked.connect(self.previous_asked)
        self.next = _tool("Next slice of that name in the timeline, device work first (F3)", "Next hit")
        self.next.clicked.connect(self.next_asked)
        self.steps = _selector("Steps", "Limits every table to one step")
        self.steps.addItem("Steps  all", WHOLE)
        self.steps.setEnabled(False)
        self.steps.activated.connect(lambda place: self.part_chosen.emit(self.steps.itemData(place)))
        self.ranks = _selector("Ranks", "Limits every table to one rank or process, and opens its lanes")
        self.ranks.activated.connect(lambda place: self.group_chosen.emit(place - 1))
        self.ranks.hide()
        self.colour = _selector("Colour", "What the colours of device work tell apart")
        for words, colours in (("Colour  category", COLOURS), ("Colour  kind", KINDS)):
            self.colour.addItem(words, colours)
        self.colour.activated.connect(lambda place: self.colours_chosen.emit(self.colour.itemData(place)))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self.field)
        row.addWidget(table_bar.count)
        row.addWidget(self.hits)
        row.addWidget(self.previous)
        row.addWidget(self.next)
        row.addStretch(1)
        for selector in (grouping, self.ranks, self.steps, self.colour):
            row.addWidget(selector)
        row.addWidget(table_bar.export)
        self.show_hits(None, 0)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def set_groups(self, names: Sequence[str]) -> None:
        """Offers the groups of lanes; one alone needs no choice."""
        self.ranks.clear()
        self.ranks.addItem("Ranks  all" if all(name.startswith("Rank ") for name in names) else "Groups  all")
        for name in names:
            self.ranks.addItem(name)
        self.ranks.setVisible(len(names) > 1)

    def set_steps(self, steps: Sequence[StepRange]) -> None:
        """Offers the steps; without any the selector says why it is off."""
        self.steps.clear()
        self.steps.addItem("Steps  all", WHOLE)
        self.steps.setEnabled(bool(steps))
        if not steps:
            self.steps.setToolTip("The trace marks no steps (ProfilerStep)")
            return
        first, last = min(each.start_ns for each in steps), max(each.end_ns for each in steps)
        self.steps.addItem("Steps  only", Selection(first, last))
        ranks = {each.rank for each in steps}
        for step in steps[:MOST_LISTED]:
            rank = f", rank {step.rank}" if len(ranks) > 1 and step.rank is not None else ""
            self.steps.addItem(f"Step {step.number}{rank}", Selection(step.start_ns, step.end_ns))

    def show_part(self, selection: Selection) -> None:
        """Says which step is chosen; a range that is none says so."""
        for place in range(self.steps.count()):
            if self.steps.itemData(place) == selection.times:
                self.steps.setCurrentIndex(place)
                return
        self.steps.setCurrentIndex(-1)
        self.steps.setPlaceholderText("Selected range")

    def show_hits(self, count: int | None, current: int) -> None:
        """Says how many slices the search has found; None hides it.

        Args:
            count: Of hits.
            current: Which of them is shown, from 1; 0 for none.
        """
        for widget in (self.hits, self.previous, self.next):
            widget.setVisible(count is not None)
        if count is not None:
            of = f"{format_count(current)} of " if current else ""
            slices = "slice" if count == 1 else "slices"
            self.hits.setText(f"Timeline: {of}{format_count(count)} {slices}")
            self.previous.setEnabled(bool(count))
            self.next.setEnabled(bool(count))

    def _draw(self, theme: Theme) -> None:
        self.previous.setIcon(theme.icon("caret-up"))
        self.next.setIcon(theme.icon("caret-down"))


class FiguresStrip(QWidget):
    """Summed, busy and wall time apart; at the right the notes on the data.

    Signals:
        problem_chosen: Place of a problem among all.
    """

    problem_chosen = Signal(int)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(STRIP_PX)
        self._theme = theme
        self._level = "none"
        self._figures = ElidedLabel()
        set_kind(self._figures, kind="caption")
        self.notes = QToolButton()
        self.notes.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.notes.setIconSize(QSize(14, 14))
        self.notes.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.notes)
        self.notes.setMenu(self._menu)
        set_kind(self.notes, kind="notes")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(12)
        row.addWidget(self._figures)
        row.addStretch(1)
        row.addWidget(self.notes)
        self.notes.hide()
        theme.changed.connect(self._draw)

    @property
    def text(self) -> str:
        """The figures as they stand."""
        return self._figures.full_text

    def show_text(self, text: str) -> None:
        """Says something in place of the figures."""
        self._figures.set_full_text(text)

    def show_overview(self, overview: Overview) -> None:
        """Shows the figures and counts the notes."""
        self._figures.set_full_text(figures_line(overview))
        self._show_problems(overview.problems)

    def show_part(self, part: PartFigures | None, overview: Overview | None) -> None:
        """Shows the figures of a part; without one those of the whole trace, if they are known."""
        if part is not None:
            self._figures.set_full_text(part_line(part))
        elif overview is not None:
            self._figures.set_full_text(figures_line(overview))

    def _show_problems(self, problems: tuple[Problem, ...]) -> None:
        self._menu.clear()
        for place, problem in enumerate(problems):
            action = self._menu.addAction(control_text(_short(problem.message)))
            action.triggered.connect(lambda _=False, place=place: self.problem_chosen.emit(place))
        self._level = "warn" if problems else "none"
        self.notes.setText(notes_words(len(problems)))
        self.notes.setAccessibleName(notes_words(len(problems)))
        self.notes.setEnabled(bool(problems))
        set_kind(self.notes, kind="notes", level=self._level)
        self.notes.show()
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        warn = self._level == "warn"
        icon = theme.icon("warning", "warn", 14) if warn else theme.icon("check-circle", size=14)
        self.notes.setIcon(icon)


def figures_line(overview: Overview) -> str:
    """The figures in one line: what was summed, how long the devices were busy, and the wall time."""
    totals = overview.totals
    wall = f"Wall time {format_duration_ns(totals.span_ns)}"
    nothing = without_kernels(overview)
    if nothing:
        return f"{nothing}   {wall}"
    parts = [
        f"{format_count(totals.kernels)} {'kernel' if totals.kernels == 1 else 'kernels'}",
        f"Summed {format_duration_ns(totals.kernel_sum_ns)}",
    ]
    if overview.clipped_kernel_sum_ns is not None:
        parts.append(f"cut where the next begins {format_duration_ns(overview.clipped_kernel_sum_ns)}")
    parts += [f"Busy {format_duration_ns(totals.kernel_busy_ns)}", wall]
    if totals.communication_ns:
        share = 100 * totals.communication_ns / totals.kernel_sum_ns if totals.kernel_sum_ns else None
        parts.append(f"Communication {format_pct(share)} of the sum")
    return "   ".join(parts)


def part_line(part: PartFigures) -> str:
    """The figures of a part in one line, after what it is."""
    totals = part.totals
    wall = f"Wall time {format_duration_ns(totals.span_ns)}"
    if not totals.devices:
        operators = "operator" if totals.ops == 1 else "operators"
        return "   ".join((part.title, f"{format_count(totals.ops)} {operators}", wall))
    parts = [
        part.title,
        f"{format_count(totals.kernels)} {'kernel' if totals.kernels == 1 else 'kernels'}",
        f"Summed {format_duration_ns(totals.kernel_sum_ns)}",
        f"Busy {format_duration_ns(totals.kernel_busy_ns)}",
        wall,
        f"GPU busy {format_pct(totals.busy_pct)}",
    ]
    if totals.communication_ns:
        share = 100 * totals.communication_ns / totals.kernel_sum_ns
        parts.append(f"Communication {format_pct(share)} of the sum")
    return "   ".join(parts)


def _selector(name: str, tip: str) -> QComboBox:
    selector = QComboBox()
    set_kind(selector, size="small")
    selector.setAccessibleName(name)
    selector.setToolTip(tip)
    return selector


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}\N{HORIZONTAL ELLIPSIS}"


def _tool(tip: str, name: str) -> QToolButton:
    button = QToolButton()
    button.setToolTip(tip)
    button.setAccessibleName(name)
    button.setIconSize(QSize(14, 14))
    return button
