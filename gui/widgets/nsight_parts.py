"""From a part of a section to the widget that shows it, in a frame with its label and its menu."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.analyses.report_view.parts import (
    BarPart,
    LinePart,
    NotePart,
    RooflinePart,
    RowPart,
    SourcePart,
    TablePart,
    TimelinePart,
)
from core.analyses.report_view.words import cell_text, value_text
from gui.plain_text import Paragraph, plain_label, visible_text
from gui.reports.differences import NOT_COMPARABLE
from gui.reports.part_tables import table_of
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.nsight_bars import BarRow, BarRows
from gui.widgets.nsight_grid import GridCell, GridColumn, GridTable, WideArea
from gui.widgets.nsight_plot import LineChart
from gui.widgets.nsight_roofline import RooflineChart
from gui.widgets.nsight_timeline import TimelineChart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from core.analyses.report_view.parts import Cell, Part, RooflinePoint
    from gui.reports.differences import Differences
    from gui.reports.part_tables import ExportedPart
    from gui.theme import Theme, ThemeController
    from gui.widgets.nsight_export import PartExport

PAD_PX: Final = 12


@dataclass(frozen=True, slots=True)
class PartTools:
    """What widgets of parts need.

    Attributes:
        theme: Colours.
        export: Copies and saves.
        differences: To the baseline.
        stem: What names of saved files begin with.
        baseline_points: Points of the baseline's rooflines, by the label of the chart.
    """

    theme: ThemeController
    export: PartExport
    differences: Differences
    stem: str = ""
    baseline_points: tuple[tuple[str, tuple[RooflinePoint, ...]], ...] = ()


class PartFrame(QWidget):
    """A label, a menu, and below them what is shown."""

    def __init__(self, theme: ThemeController, label: str, content: QWidget, note: str = "") -> None:
        super().__init__()
        self.content = content
        self.menu = QMenu(self)
        self._more = QToolButton()
        self._more.setAccessibleName(f"Copy or save {label or 'these values'}")
        self._more.setToolTip("Copy or save")
        self._more.setFixedSize(22, 22)
        self._more.setIconSize(QSize(14, 14))
        self._more.setMenu(self.menu)
        self._more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        heading = ElidedLabel(label)
        set_kind(heading, kind="heading")
        head = QHBoxLayout()
        head.setContentsMargins(PAD_PX, 0, 8, 0)
        head.addWidget(heading, 1)
        head.addStretch(0)
        head.addWidget(self._more)
        heading.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 6)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(content)
        if note:
            layout.addWidget(note_label(note))
        layout.addStretch(1)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def _draw(self, theme: Theme) -> None:
        self._more.setIcon(theme.icon("dots-three", size=14))


class SideBySide(QWidget):
    """Widgets of one width side by side, in as many columns as there is room for."""

    def __init__(self, widgets: Sequence[QWidget]) -> None:
        super().__init__()
        self._widgets = tuple(widgets)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(0)
        self._columns = 0
        self._arrange(len(self._widgets))

    @property
    def columns(self) -> int:
        """How many stand side by side."""
        return self._columns

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """As narrow as the widest of them can be."""
        return QSize(self._least_px(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Arranges them anew where another number fits."""
        super().resizeEvent(event)
        fit = self.width() // max(self._least_px(), 1)
        self._arrange(min(max(fit, 1), len(self._widgets)))

    def _least_px(self) -> int:
        return max((widget.minimumSizeHint().width() for widget in self._widgets), default=0)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._columns = columns
        for place, widget in enumerate(self._widgets):
            self._grid.addWidget(widget, place // columns, place % columns)


def note_label(note: str) -> QWidget:
    """A note below a part."""
    paragraph = Paragraph(visible_text(note))
    set_kind(paragraph, kind="caption")
    paragraph.setContentsMargins(PAD_PX, 2, PAD_PX, 2)
    return paragraph


def part_widget(part: Part, tools: PartTools) -> QWidget:
    """Builds what shows a part."""
    if isinstance(part, RowPart):
        return _row(part, tools)
    if isinstance(part, NotePart):
        return _note(part)
    if isinstance(part, SourcePart):
        return _source(part, tools)
    return _framed(part, tools)


def without_repeats(
    rows: Sequence[Sequence[GridCell | None]],
) -> tuple[list[list[GridCell | None]], str]:
    """Says once below a table what would stand behind each of its numbers: that nothing compares."""
    told = {cell.difference for row in rows for cell in row if cell is not None and cell.difference}
    if told != {NOT_COMPARABLE}:
        return [list(row) for row in rows], ""
    plain = [[cell if cell is None else replace(cell, difference="") for cell in row] for row in rows]
    return plain, "Not comparable with the baseline; the tips of the values say why."


def _framed(part: ExportedPart, tools: PartTools) -> QWidget:
    picture: QWidget | None = None
    content: QWidget
    note = part.note
    if isinstance(part, TablePart):
        grid, uncompared = grid_of(part, tools)
        content = WideArea(grid) if part.rows else QWidget()
        note = f"{note} {uncompared}".strip()
    else:
        content = picture = _chart(part, tools)
    name = re.sub(r"[^a-z0-9]+", "_", part.label.casefold()).strip("_") or "values"
    frame = PartFrame(tools.theme, visible_text(part.label), content, note)
    tools.export.fill(frame.menu, f"{tools.stem} {part.label}", lambda: table_of(part, name), picture)
    return frame


def _chart(part: BarPart | LinePart | RooflinePart | TimelinePart, tools: PartTools) -> QWidget:
    if isinstance(part, BarPart):
        return bars_of(part, tools)
    if isinstance(part, LinePart):
        return LineChart(tools.theme, part)
    if isinstance(part, RooflinePart):
        return RooflineChart(tools.theme, part, dict(tools.baseline_points).get(part.label, ()))
    return TimelineChart(tools.theme, part)


def bars_of(part: BarPart, tools: PartTools) -> BarRows:
    """Bars with the marks of the baseline."""
    bars = BarRows(tools.theme, visible_text(part.label) or "Bars")
    rows = [
        BarRow(
            label=visible_text(bar.label),
            value=number_of(bar.cell),
            text=visible_text(cell_text(bar.cell)),
            baseline=tools.differences.baseline(bar.cell.metric),
            tip=cell_tip(bar.cell, tools.differences),
        )
        for bar in part.bars
    ]
    is_pct = bool(part.bars) and all(bar.cell.unit == "%" for bar in part.bars)
    high = part.value.high or (100.0 if is_pct else None)
    bars.set_rows(rows, high=high, is_pct=is_pct)
    return bars


def grid_of(part: TablePart, tools: PartTools) -> tuple[GridTable, str]:
    """A table with the differences to the baseline, and what is to be said below it."""
    columns = [
        GridColumn(title=visible_text(column.title), is_label=column.is_label) for column in part.columns
    ]
    rows = [
        [None if cell is None else grid_cell(cell, tools.differences) for cell in row] for row in part.rows
    ]
    shown, note = without_repeats(rows)
    return GridTable(tools.theme, visible_text(part.label) or "Table", columns, shown), note


def grid_cell(cell: Cell, differences: Differences) -> GridCell:
    """One cell of a table."""
    return GridCell(
        text=visible_text(cell_text(cell)),
        difference=differences.words(cell.metric) if cell.metric else "",
        tip=cell_tip(cell, differences),
        is_missing=cell.value is None,
    )


def cell_tip(cell: Cell, differences: Differences) -> str:
    """What more there is to say of a value: its metric, what that is, and the baseline's value."""
    lines = [cell.metric, cell.help]
    baseline = differences.baseline(cell.metric) if cell.metric else None
    if baseline is not None:
        lines.append(f"Baseline: {value_text(baseline, cell.unit)}")
    reason = differences.reason(cell.metric) if cell.metric else ""
    if reason:
        lines.append(f"Not comparable: {reason}")
    return "\n".join(visible_text(line) for line in lines if line)


def number_of(cell: Cell) -> float | None:
    """A value that has a length, None of any other."""
    return None if cell.value is None or isinstance(cell.value, str) else float(cell.value)


def _row(part: RowPart, tools: PartTools) -> QWidget:
    return SideBySide([part_widget(each, tools) for each in part.parts])


def _note(part: NotePart) -> QWidget:
    return texts_below(visible_text(part.label), part.note)


def texts_below(label: str, note: str) -> QWidget:
    """A heading and a note."""
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 6, 0, 6)
    layout.setSpacing(2)
    if label:
        heading = plain_label(label)
        set_kind(heading, kind="heading")
        heading.setContentsMargins(PAD_PX, 0, PAD_PX, 0)
        layout.addWidget(heading)
    layout.addWidget(note_label(note))
    return box


def _source(part: SourcePart, tools: PartTools) -> QWidget:
    """Metrics by source line: their sums, and where the lines are shown."""
    rows = [
        [
            GridCell(text=visible_text(each.label), tip=each.cell.metric),
            grid_cell(each.cell, tools.differences),
        ]
        for each in part.metrics
    ]
    columns = (GridColumn(title="", is_label=True), GridColumn(title=""))
    grid = GridTable(tools.theme, visible_text(part.label) or "Metrics by source line", columns, rows)
    return PartFrame(tools.theme, visible_text(part.label) or "Metrics by source line", WideArea(grid))


def stacked(widgets: Sequence[QWidget]) -> QWidget:
    """Widgets one below the other."""
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    for widget in widgets:
        layout.addWidget(widget)
    return box
