"""What a report says of itself and of a launch's surroundings: session, NVTX ranges, the host's stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.units import NOT_MEASURED
from gui.plain_text import visible_text
from gui.widgets.nsight_grid import GridCell, GridColumn, GridTable, WideArea
from gui.widgets.nsight_sections import Heading, MissingNote
from gui.widgets.nsight_tabs import LaunchTab

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtWidgets import QWidget

    from core.analyses.report_view.facts import FrameView, RangeView
    from gui.reports.answers import LaunchAnswer
    from gui.widgets.nsight_parts import PartTools


class SessionTab(LaunchTab):
    """What the report says of itself, and of this launch: NVTX ranges and the host's stack."""

    def above(self, answer: LaunchAnswer, tools: PartTools) -> Iterator[QWidget]:
        """Ranges and stack of the launch first, then the groups of facts."""
        view = answer.view
        yield from _ranges(view.ranges, tools)
        yield from _frames(view.frames, tools)
        groups: dict[str, list[list[GridCell]]] = {}
        for fact in view.session:
            tip = "Private: gone from a report that is stripped of private data" if fact.is_private else ""
            label = GridCell(text=visible_text(fact.label), tip=tip)
            value = GridCell(text=visible_text(fact.value), tip=tip)
            groups.setdefault(fact.group, []).append([label, value])
        columns = (GridColumn(title="", is_label=True), GridColumn(title="", is_label=True, weight=3))
        for group, lines in groups.items():
            yield from _titled(visible_text(group), columns, lines, tools)
        if not (groups or view.ranges or view.frames):
            yield MissingNote("The file says nothing of its session.")


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
