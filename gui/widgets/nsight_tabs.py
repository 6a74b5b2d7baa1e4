"""The tabs of one launch: speed of light, sections by what they are about, occupancy, stalls, rules, session.

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
from gui.widgets.nsight_grid import GridCell, GridColumn, GridTable, WideArea
from gui.widgets.nsight_parts import (
    PartFrame,
    PartTools,
    grid_cell,
    note_label,
    part_widget,
    stacked,
    without_repeats,
)
from gui.widgets.nsight_rules import RuleRow
from gui.widgets.nsight_sections import Heading, MissingNote, ScrolledColumn, SectionCard, cards_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.analyses.report_view.facts import (
        Breakdown,
        FrameView,
        LoadBar,
        OccupancyLimit,
        RangeView,
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
        above = self.above(answer, tools)
        self.cards = cards_of(sections_of(answer, self.spec.key), tools, opened, self.spec.folded)
        for card in self.cards:
            card.folded.connect(self.folded)
        heading = [Heading(tools.theme, "Sections of the report")] if above and self.cards else []
        self.replace([*above, *heading, *self.cards])

    def above(self, answer: LaunchAnswer, tools: PartTools) -> list[QWidget]:
        """What stands above the sections."""
        del answer, tools
        return []

    def show_section(self, identifier: str) -> bool:
        """Opens a section and brings it into sight. Returns whether it is here."""
        for card in self.cards:
            if card.section.identifier == identifier:
                card.head.setChecked(True)
                self.show_widget(card)
                card.head.setFocus()
                return True
        return False

    def rule_rows(self, answer: LaunchAnswer, tools: PartTools, *, most: int | None) -> list[QWidget]:
        """Rows of rules; ``most`` None: all of them, with all they say."""
        rows: list[QWidget] = []
        for rule in answer.view.rules[:most]:
            row = RuleRow(rule, tools, is_whole=most is None)
            row.section_asked.connect(self.section_asked)
            row.source_asked.connect(self.source_asked)
            rows.append(row)
        return rows


class LightTab(LaunchTab):
    """Bars, what they are made of, and the first rules."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> list[QWidget]:
        """Speed of light of the launch, marks of the baseline."""
        light = answer.view.light
        before: dict[str, float | None] = {}
        if answer.baseline is not None:
            before = {bar.key: bar.pct for bar in answer.baseline.light.bars}
        widgets: list[QWidget] = []
        if any(bar.pct is not None for bar in light.bars):
            bars = BarRows(tools.theme, "GPU speed of light")
            bars.set_rows([self._row(bar, before, tools) for bar in light.bars], high=100.0, is_pct=True)
            frame = PartFrame(tools.theme, "GPU speed of light, % of peak", bars, light.note)
            part = _bars_table(light.bars)
            tools.export.fill(
                frame.menu, f"{tools.stem} speed of light", lambda: table_of(part, "speed_of_light"), bars
            )
            widgets += [frame, Breakdowns(light, tools)]
        else:
            widgets.append(MissingNote(light.note))
        rules = self.rule_rows(answer, tools, most=SHOWN_RULES)
        if rules:
            more = len(answer.view.rules) - len(rules)
            words = f", {format_count(more)} more under Rules" if more > 0 else ""
            widgets += [Heading(tools.theme, f"Rules from the report{words}"), *rules]
        return widgets

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


def _bars_table(bars: Sequence[LoadBar]) -> TablePart:
    rows = tuple((Cell(value=bar.label), Cell(value=bar.pct, unit="%", metric=bar.metric)) for bar in bars)
    columns = (TableColumn(title="", is_label=True), TableColumn(title=""))
    return TablePart(label="Speed of light", columns=columns, rows=rows)


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

    def above(self, answer: LaunchAnswer, tools: PartTools) -> list[QWidget]:
        """Figures, limits, curves."""
        view = answer.view.occupancy
        before = None if answer.baseline is None else answer.baseline.occupancy
        widgets: list[QWidget] = []
        if view.theoretical_pct is not None or view.achieved_pct is not None:
            bars = BarRows(tools.theme, "Occupancy")
            warps = (
                (
                    "Theoretical",
                    view.theoretical_pct,
                    view.theoretical_warps,
                    before and before.theoretical_pct,
                ),
                ("Achieved", view.achieved_pct, view.achieved_warps, before and before.achieved_pct),
            )
            rows = [
                BarRow(
                    label=label,
                    value=pct,
                    text=format_pct(pct),
                    baseline=baseline or None,
                    tip=f"{format_number(count, 4)} of {format_number(view.most_warps, 4)} warps an SM",
                )
                for label, pct, count, baseline in warps
            ]
            bars.set_rows(rows, high=100.0, is_pct=True)
            widgets.append(PartFrame(tools.theme, "Occupancy, % of the warps that an SM holds", bars))
        if any(limit.blocks is not None for limit in view.limits):
            limits = BarRows(tools.theme, "Limits of occupancy")
            limits.set_rows([_limit_row(limit) for limit in view.limits])
            widgets.append(
                PartFrame(tools.theme, "Blocks that fit on an SM at a time, by what limits them", limits)
            )
        if view.curves:
            widgets.append(_Curves([part_widget(part, tools) for part in view.curves]))
            words = "from the report" if view.origin == "stored" else "computed from the device's limits"
            widgets.append(note_label(f"Curves {words}. {view.note}".strip()))
        elif view.note:
            widgets.append(MissingNote(view.note))
        return widgets


def _limit_row(limit: OccupancyLimit) -> BarRow:
    text = NOT_MEASURED if limit.blocks is None else format_count(limit.blocks)
    return BarRow(
        label=visible_text(limit.label),
        value=None if limit.blocks is None else float(limit.blocks),
        text=f"{text}, limits" if limit.is_limiter else text,
        warns=limit.is_limiter,
        tip=limit.metric,
    )


class _Curves(QWidget):
    """Charts side by side, below each other where there is no room."""

    def __init__(self, charts: Sequence[QWidget]) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for chart in charts:
            row.addWidget(chart, 1)


class StallTab(LaunchTab):
    """What warps did between two instructions."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> list[QWidget]:
        """Bars, longest first, with the baseline's."""
        view = answer.view.stalls
        if not view.bars:
            return [MissingNote(view.note)] if view.note else []
        before = (
            {} if answer.baseline is None else {bar.key: bar.cycles for bar in answer.baseline.stalls.bars}
        )
        bars = BarRows(tools.theme, "Warp states")
        bars.set_rows([_stall_row(bar, before) for bar in view.bars])
        whole = "" if view.cycles_per_issue is None else f", {format_number(view.cycles_per_issue, 4)} in all"
        frame = PartFrame(tools.theme, f"Cycles between two instructions of a warp{whole}", bars, view.note)
        part = TablePart(
            label="Warp states",
            columns=(TableColumn(title="", is_label=True), TableColumn(title="")),
            rows=tuple(
                (Cell(value=bar.label), Cell(value=bar.cycles, unit="cycle", metric=bar.metric))
                for bar in view.bars
            ),
        )
        tools.export.fill(frame.menu, f"{tools.stem} stalls", lambda: table_of(part, "stalls"), bars)
        return [frame]


def _stall_row(bar: StallBar, before: dict[str, float]) -> BarRow:
    return BarRow(
        label=visible_text(bar.label),
        value=bar.cycles,
        text=f"{format_number(bar.cycles, 3)}   {format_pct(bar.share_pct)}",
        baseline=before.get(bar.key),
        tip=f"{bar.metric}\n{bar.help}".strip(),
    )


class RulesTab(LaunchTab):
    """All that the rules said."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> list[QWidget]:
        """All rules, whole."""
        rows = self.rule_rows(answer, tools, most=None)
        if rows:
            return rows
        words = "The rules of this report said nothing of this kernel."
        if not answer.view.sections:
            words = "A table of ncu --csv holds no rules. Collect a report with `ncu --set full -o report`."
        return [MissingNote(words)]


class SessionTab(LaunchTab):
    """What the report says of itself, and of this launch: NVTX ranges and the host's stack."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> list[QWidget]:
        """Ranges and stack of the launch first, then the groups of facts."""
        view = answer.view
        widgets = [*_ranges(view.ranges, tools), *_frames(view.frames, tools)]
        groups: dict[str, list[list[GridCell]]] = {}
        for fact in view.session:
            tip = "Private: gone from a report that is stripped of private data" if fact.is_private else ""
            label = GridCell(text=visible_text(fact.label), tip=tip)
            value = GridCell(text=visible_text(fact.value), tip=tip)
            groups.setdefault(fact.group, []).append([label, value])
        columns = (GridColumn(title="", is_label=True), GridColumn(title="", is_label=True, weight=3))
        for group, lines in groups.items():
            widgets += _titled(visible_text(group), columns, lines, tools)
        return widgets or [MissingNote("The file says nothing of its session.")]


def _ranges(ranges: Sequence[RangeView], tools: PartTools) -> list[QWidget]:
    columns = (
        GridColumn(title="Range", is_label=True, weight=3),
        GridColumn(title="Domain", is_label=True),
        GridColumn(title="Thread"),
    )
    rows = [
        [
            GridCell(text="  " * (each.depth or 0) + visible_text(each.name)),
            GridCell(text=visible_text(each.domain) or "default"),
            GridCell(text=NOT_MEASURED if each.thread_id is None else str(each.thread_id)),
        ]
        for each in ranges
    ]
    return _titled("NVTX ranges at this launch", columns, rows, tools) if rows else []


def _frames(frames: Sequence[FrameView], tools: PartTools) -> list[QWidget]:
    columns = (
        GridColumn(title="Function, innermost first", is_label=True, weight=2),
        GridColumn(title="File", is_label=True),
        GridColumn(title="Module", is_label=True),
    )
    rows = [
        [
            GridCell(text=visible_text(each.symbol) or hex(each.address or 0)),
            GridCell(text=_file_words(each.file, each.line), tip=visible_text(each.file)),
            GridCell(text=visible_text(each.module)),
        ]
        for each in frames
    ]
    return _titled("Call stack of this launch", columns, rows, tools) if rows else []


def _file_words(file: str, line: int | None) -> str:
    name = visible_text(file).rsplit("/", maxsplit=1)[-1]
    return f"{name}:{line}" if name and line is not None else name


def _titled(
    title: str, columns: Sequence[GridColumn], rows: Sequence[Sequence[GridCell]], tools: PartTools
) -> list[QWidget]:
    return [Heading(tools.theme, title), WideArea(GridTable(tools.theme, title, columns, rows))]
