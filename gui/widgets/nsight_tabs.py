"""The tabs of one launch: speed of light, sections by what they are about, occupancy, stalls, rules.

A tab makes its widgets when it is shown, and anew for each launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.analyses.report_view.parts import Cell, RooflinePart, RowPart, TableColumn, TablePart
from core.units import NOT_MEASURED, format_count, format_number, format_pct
from gui.plain_text import visible_text
from gui.reports.part_tables import table_of
from gui.theme import set_kind
from gui.widgets.nsight_bars import BarRow, BarRows
from gui.widgets.nsight_export import file_stem
from gui.widgets.nsight_grid import GridCell, GridColumn, GridTable, WideArea
from gui.widgets.nsight_parts import (
    PartFrame,
    PartTools,
    SideBySide,
    grid_cell,
    note_label,
    part_widget,
    stacked,
    without_repeats,
)
from gui.widgets.nsight_rules import RuleRow
from gui.widgets.nsight_sections import Heading, MissingNote, ScrolledColumn, SectionCard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.analyses.report_view.facts import (
        Breakdown,
        LoadBar,
        OccupancyLimit,
        OccupancyView,
        RuleView,
        SpeedOfLight,
        StallBar,
    )
    from core.analyses.report_view.parts import Part, RooflinePoint, SectionView
    from gui.reports.answers import LaunchAnswer

FIRST_PARTS: Final = 7
"""So many parts of a bar are shown at first."""

SHOWN_RULES: Final = 5
"""So many of them stand below the speed of light too."""


@dataclass(frozen=True, slots=True)
class TabSpec:
    """One tab.

    Attributes:
        key: For programs and for what is remembered.
        title: Its word.
        starts: Sections whose identifiers begin with one of these belong to it.
        folded: Sections that are folded at first, as what they show stands above them.
    """

    key: str
    title: str
    starts: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()


TABS: Final = (
    TabSpec("light", "Speed of light", ("SpeedOfLight",), ("SpeedOfLight",)),
    TabSpec("memory", "Memory", ("Memory", "Nvlink", "NVLink", "Numa", "C2C", "L2")),
    TabSpec("compute", "Compute", ("Compute", "Instruction", "Tensor", "PmSampling")),
    TabSpec("occupancy", "Occupancy", ("Occupancy", "Launch", "Workload"), ("Occupancy",)),
    TabSpec("stalls", "Stalls", ("WarpState", "Scheduler"), ("WarpStateStats",)),
    TabSpec("source", "Source", ("SourceCounters",)),
    TabSpec("other", "Other sections"),
    TabSpec("rules", "Rules"),
    TabSpec("metrics", "Metrics"),
    TabSpec("session", "Session"),
)
"""In their order. Those of sections are there if the report has any of them."""

ALWAYS: Final = ("light", "rules", "metrics", "session")


def tab_of(identifier: str) -> str:
    """The tab that a section belongs to."""
    found = (tab.key for tab in TABS if any(identifier.startswith(start) for start in tab.starts))
    return next(found, "other")


def sections_of(answer: LaunchAnswer, key: str) -> tuple[SectionView, ...]:
    """The sections of a tab, in the report's order; those that belong below another one follow it."""
    own = [section for section in answer.view.sections if tab_of(section.identifier) == key]
    return tuple(own)


def tabs_of(answer: LaunchAnswer) -> tuple[TabSpec, ...]:
    """The tabs that a launch has."""
    view = answer.view
    shown = {tab_of(section.identifier) for section in view.sections}
    limits = any(limit.blocks is not None for limit in view.occupancy.limits)
    shown |= {"occupancy"} if limits or view.occupancy.curves else set()
    shown |= {"stalls"} if view.stalls.bars else set()
    shown |= {"source"} if view.has_source else set()
    return tuple(tab for tab in TABS if tab.key in shown or tab.key in ALWAYS)


def points_of(parts: Iterable[Part]) -> list[tuple[str, tuple[RooflinePoint, ...]]]:
    """The points of all rooflines, by the label of their chart."""
    found: list[tuple[str, tuple[RooflinePoint, ...]]] = []
    for part in parts:
        if isinstance(part, RowPart):
            found += points_of(part.parts)
        elif isinstance(part, RooflinePart):
            found.append((part.label, part.points))
    return found


LEAST_CYCLES: Final = 1e-3


def own_rules_first(rules: Sequence[RuleView]) -> tuple[RuleView, ...]:
    """What the report says of the speed of light itself, which has no estimate, and then all else."""
    return tuple(sorted(rules, key=lambda rule: rule.section != "SpeedOfLight"))


def active_note(bars: Sequence[LoadBar]) -> str:
    """Why a part of the memory is busier than the whole, "" where none is."""
    whole = next((bar.pct for bar in bars if bar.key == "memory"), None)
    above = [
        bar.label
        for bar in bars
        if bar.level and bar.metric.endswith("_active") and (bar.pct or 0.0) > (whole or 0.0)
    ]
    names = visible_text(", ".join(above))
    return f"{names}: of the cycles in which it was active, so it can exceed Memory." if above else ""


class LaunchTab(ScrolledColumn):
    """A tab that shows sections, and what a subclass puts above them.

    Signals:
        section_asked: Identifier of a section that a link names.
        source_asked: Address of an instruction.
        folded: (identifier of a section, whether it is open).
    """

    section_asked = Signal(str)
    source_asked = Signal(str)
    folded = Signal(str, bool)

    def __init__(self, spec: TabSpec) -> None:
        super().__init__(spec.title)
        self.spec = spec
        self.cards: list[SectionCard] = []

    def show_launch(self, answer: LaunchAnswer, tools: PartTools, opened: dict[str, bool]) -> None:
        """Shows a launch; ``opened`` is what the user has opened and folded."""
        self.cards = []
        self.fill(self._steps_of(answer, tools, opened))

    def _steps_of(
        self, answer: LaunchAnswer, tools: PartTools, opened: dict[str, bool]
    ) -> Iterator[QWidget | None]:
        has_more = False
        for widget in self.above(answer, tools):
            has_more = True
            yield widget
        sections = sections_of(answer, self.spec.key)
        if has_more and sections:
            yield Heading(tools.theme, "Sections of the report")
        for section in sections:
            at_first = section.identifier not in self.spec.folded and not section.missing
            is_open = opened.get(section.identifier, at_first)
            card = SectionCard(section, tools, is_open=is_open, waits=True)
            card.folded.connect(self.folded)
            self.cards.append(card)
            yield card
            card.build()
            yield None

    def above(self, answer: LaunchAnswer, tools: PartTools) -> Iterator[QWidget]:
        """Yields what stands above the sections."""
        del answer, tools
        yield from ()

    def show_section(self, identifier: str) -> bool:
        """Opens a section and brings it into sight. Returns whether it is here."""
        self.finish()
        for card in self.cards:
            if card.section.identifier == identifier:
                card.head.setChecked(True)
                self.show_widget(card)
                card.head.setFocus()
                return True
        return False

    def rule_rows(self, rules: Sequence[RuleView], tools: PartTools, *, is_whole: bool) -> Iterator[QWidget]:
        """Yields rows of rules, with all they say or only their words."""
        for rule in rules:
            row = RuleRow(rule, tools, is_whole=is_whole)
            row.section_asked.connect(self.section_asked)
            row.source_asked.connect(self.source_asked)
            yield row


class LightTab(LaunchTab):
    """Bars, what they are made of, and the first rules."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> Iterator[QWidget]:
        """Speed of light of the launch, marks of the baseline, rules."""
        light = answer.view.light
        before: dict[str, float | None] = {}
        if answer.baseline is not None:
            before = {bar.key: bar.pct for bar in answer.baseline.light.bars}
        if any(bar.pct is not None for bar in light.bars):
            rows = [self._row(bar, before, tools) for bar in light.bars]
            values = [(bar.label, Cell(value=bar.pct, unit="%", metric=bar.metric)) for bar in light.bars]
            note = active_note(light.bars)
            yield framed_bars("GPU speed of light, % of peak", rows, values, tools, is_pct=True, note=note)
            if light.compute.rows or light.memory.rows:
                yield Breakdowns(light, tools)
            else:
                yield Heading(tools.theme, "What they are made of")
                yield MissingNote(light.compute.note)
        else:
            yield MissingNote(light.note)
        count = len(answer.view.rules)
        if count:
            more = count - SHOWN_RULES
            words = f", {format_count(more)} more under Rules" if more > 0 else ""
            yield Heading(tools.theme, f"Rules from the report{words}")
        shown = own_rules_first(answer.view.rules)[:SHOWN_RULES]
        yield from self.rule_rows(shown, tools, is_whole=False)

    @staticmethod
    def _row(bar: LoadBar, before: dict[str, float | None], tools: PartTools) -> BarRow:
        baseline = before.get(bar.key)
        difference = tools.differences.words(bar.metric)
        lines = [bar.metric]
        if baseline is not None:
            lines.append(f"Baseline: {format_pct(baseline)}{f', {difference}' if difference else ''}")
        return BarRow(
            label=visible_text(bar.label),
            value=bar.pct,
            text=format_pct(bar.pct),
            baseline=baseline,
            tone="sm" if bar.key == "sm" else "memory",
            level=bar.level,
            tip="\n".join(lines),
        )


def framed_bars(  # noqa: PLR0913  (what is drawn, and what is said around it)
    title: str,
    rows: Sequence[BarRow],
    values: Sequence[tuple[str, Cell]],
    tools: PartTools,
    *,
    is_pct: bool = False,
    note: str = "",
) -> PartFrame:
    """Bars in a frame whose menu saves them.

    Args:
        title: Above them.
        rows: What is drawn.
        values: (label, value) that are copied and saved.
        tools: For frame and menu.
        is_pct: Whether the scale ends at 100 %.
        note: Below them.
    """
    bars = BarRows(tools.theme, title)
    bars.set_rows(rows, high=100.0 if is_pct else None, is_pct=is_pct)
    part = TablePart(
        label=title,
        columns=(TableColumn(title="", is_label=True), TableColumn(title="")),
        rows=tuple((Cell(value=label), cell) for label, cell in values),
    )
    frame = PartFrame(tools.theme, title, bars, note)
    name = file_stem(title.split(",", 1)[0].casefold())
    tools.export.fill(frame.menu, f"{tools.stem} {name}", lambda: table_of(part, name), bars)
    return frame


class Breakdowns(QWidget):
    """What the first two bars are made of, side by side: the largest parts, or all."""

    def __init__(self, light: SpeedOfLight, tools: PartTools) -> None:
        super().__init__()
        self._both = (light.compute, light.memory)
        self._tools = tools
        self._row = QHBoxLayout()
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(0)
        self.more = QPushButton()
        set_kind(self.more, kind="flat", size="small")
        self.more.clicked.connect(lambda _=False: self.show_all(not self._is_whole))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(self._row)
        layout.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self._longest = max(len(each.rows) for each in self._both)
        self.more.setVisible(self._longest > FIRST_PARTS)
        self.show_all(False)

    def show_all(self, is_whole: bool) -> None:
        """Shows all parts, or the largest ones."""
        self._is_whole = is_whole
        self.more.setText(f"The largest {FIRST_PARTS}" if is_whole else f"All {self._longest} parts")
        while item := self._row.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for each in self._both:
            table = _breakdown(each, self._tools, None if is_whole else FIRST_PARTS)
            self._row.addWidget(table, 1, Qt.AlignmentFlag.AlignTop)


def _breakdown(breakdown: Breakdown, tools: PartTools, most: int | None) -> QWidget:
    label = visible_text(breakdown.label)
    if not breakdown.rows:
        return stacked([Heading(tools.theme, label), MissingNote(breakdown.note)])
    columns = (GridColumn(title=label, is_label=True), GridColumn(title="% of peak"))
    rows = []
    for each in breakdown.rows[:most]:
        cell = grid_cell(each.cell, tools.differences)
        number = each.cell.value
        text = f"{number:.1f}" if isinstance(number, int | float) else cell.text
        shown = GridCell(text=text, difference=cell.difference, tip=cell.tip, is_missing=cell.is_missing)
        rows.append([GridCell(text=visible_text(each.label), tip=each.cell.metric), shown])
    shown_rows, note = without_repeats(rows)
    table = WideArea(GridTable(tools.theme, label, columns, shown_rows))
    return stacked([table, note_label(note)]) if note else table


class OccupancyTab(LaunchTab):
    """Theoretical and achieved, what limits, and curves over what could be changed."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> Iterator[QWidget]:
        """Figures, limits, curves."""
        view = answer.view.occupancy
        if view.theoretical_pct is not None or view.achieved_pct is not None:
            before = None if answer.baseline is None else answer.baseline.occupancy
            rows = _occupancy_rows(view, before)
            values = [(row.label, Cell(value=row.value, unit="%")) for row in rows]
            yield framed_bars("Occupancy, % of the warps that an SM holds", rows, values, tools, is_pct=True)
        if any(limit.blocks is not None for limit in view.limits):
            rows = [_limit_row(limit) for limit in view.limits]
            values = [
                (limit.label, Cell(value=limit.blocks, unit="block", metric=limit.metric))
                for limit in view.limits
            ]
            yield framed_bars("Blocks that fit on an SM, by what limits them", rows, values, tools)
        if view.curves:
            yield SideBySide([part_widget(part, tools) for part in view.curves])
            words = "from the report" if view.origin == "stored" else "computed from the device's limits"
            yield note_label(f"Curves {words}. {view.note}".strip())
        elif view.note:
            yield MissingNote(view.note)


def _occupancy_rows(view: OccupancyView, before: OccupancyView | None) -> list[BarRow]:
    most = format_number(view.most_warps, 4)
    marks = (None, None) if before is None else (before.theoretical_pct, before.achieved_pct)
    shown = (
        ("Theoretical", view.theoretical_pct, view.theoretical_warps, marks[0]),
        ("Achieved", view.achieved_pct, view.achieved_warps, marks[1]),
    )
    return [
        BarRow(
            label=label,
            value=pct,
            text=format_pct(pct),
            baseline=baseline,
            tip=f"{format_number(warps, 4)} of {most} warps an SM",
        )
        for label, pct, warps, baseline in shown
    ]


def _limit_row(limit: OccupancyLimit) -> BarRow:
    text = NOT_MEASURED if limit.blocks is None else format_count(limit.blocks)
    return BarRow(
        label=visible_text(limit.label),
        value=None if limit.blocks is None else float(limit.blocks),
        text=f"{text}, limits" if limit.is_limiter else text,
        warns=limit.is_limiter,
        tip=limit.metric,
    )


class StallTab(LaunchTab):
    """What warps did between two instructions."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> Iterator[QWidget]:
        """Bars, longest first, with the baseline's."""
        view = answer.view.stalls
        if view.bars:
            before: dict[str, float] = {}
            if answer.baseline is not None:
                before = {bar.key: bar.cycles for bar in answer.baseline.stalls.bars}
            whole = view.cycles_per_issue
            words = "" if whole is None else f", {format_number(whole, 4)} in all"
            values = [
                (bar.label, Cell(value=bar.cycles, unit="cycle", metric=bar.metric)) for bar in view.bars
            ]
            yield framed_bars(
                f"Cycles between two instructions of a warp{words}",
                [_stall_row(bar, before) for bar in view.bars],
                values,
                tools,
                note=view.note,
            )
        elif view.note:
            yield MissingNote(view.note)


def cycles_text(cycles: float) -> str:
    """Cycles of a state of warps; what is next to nothing is said so."""
    return f"< {LEAST_CYCLES}" if 0 < cycles < LEAST_CYCLES else format_number(cycles, 3)


def _stall_row(bar: StallBar, before: dict[str, float]) -> BarRow:
    return BarRow(
        label=visible_text(bar.label),
        value=bar.cycles,
        text=f"{cycles_text(bar.cycles)}   {format_pct(bar.share_pct)}",
        baseline=before.get(bar.key),
        tip=f"{bar.metric}\n{bar.help}".strip(),
    )


class RulesTab(LaunchTab):
    """All that the rules said."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> Iterator[QWidget]:
        """All rules, whole."""
        yield from self.rule_rows(answer.view.rules, tools, is_whole=True)
        if answer.view.rules:
            return
        words = "The rules of this report said nothing of this kernel."
        if not answer.view.sections:
            words = "A table of ncu --csv holds no rules. Collect a report with `ncu --set full -o report`."
        yield MissingNote(words)
