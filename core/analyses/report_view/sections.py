"""The sections of a launch, as its report lays them out, filled with its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.analyses.report_view import link_tables, memory_tables
from core.analyses.report_view.charts import bar_part, histogram_part, line_part, roofline_part
from core.analyses.report_view.collecting import how_to_collect, lacks_throughput
from core.analyses.report_view.launch import LaunchMetrics
from core.analyses.report_view.parts import (
    BarPart,
    BodyView,
    Cell,
    LabelledCell,
    LinePart,
    NotePart,
    RooflinePart,
    RowPart,
    SectionView,
    SourcePart,
    TablePart,
    TimelinePart,
)
from core.analyses.report_view.tables import labelled, suffix_part, table_part
from core.analyses.report_view.timelines import timeline_part
from core.tables.ncu_sections import (
    BuiltinItem,
    ItemRow,
    RooflineChart,
    SectionChart,
    SectionTable,
    SuffixTable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from core.analyses.report_view.launch import InstanceReader
    from core.analyses.report_view.parts import Part
    from core.tables.ncu import Report
    from core.tables.ncu_sections import PlacedItem, Section, SectionItem

_HEADER_COLUMNS: Final = 2
_DEEPEST: Final = 8


def section_views(report: Report, launch_row: int, read_instances: InstanceReader) -> tuple[SectionView, ...]:
    """Fills all sections of a launch, in the order in which they are shown.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: Values by instance of a row of ``Report.metrics`` of this launch, asked for only
            where a chart draws them.
    """
    launch = LaunchMetrics(report, launch_row, read_instances)
    return tuple(section_view(report.sections[row], launch) for row in report.launch_sections[launch_row])


def section_view(section: Section, launch: LaunchMetrics) -> SectionView:
    """Fills one section."""
    header = _header(section, launch)
    bodies = tuple(
        BodyView(label=body.label, parts=tuple(_parts(body.items, launch, 0)), is_default=body.is_default)
        for body in section.bodies
    )
    shows = any(each.cell.value is not None for row in header for each in row)
    shows = shows or any(has_values(part) for body in bodies for part in body.parts)
    return SectionView(
        identifier=section.identifier,
        title=section.title,
        order=section.order,
        description=section.description,
        header=header,
        bodies=bodies,
        parent=section.extends,
        missing="" if shows else _missing(section, bodies, launch),
    )


def _header(section: Section, launch: LaunchMetrics) -> tuple[tuple[LabelledCell, ...], ...]:
    cells = list(labelled(section.header, launch))
    rows = section.header_rows
    columns = -(-len(cells) // rows) if rows else _HEADER_COLUMNS
    return tuple(tuple(cells[start : start + columns]) for start in range(0, len(cells), max(1, columns)))


def _missing(section: Section, bodies: tuple[BodyView, ...], launch: LaunchMetrics) -> str:
    """Returns why a section shows nothing: what its parts say if all say the same, else how to collect it."""
    notes = {part.note for body in bodies for part in body.parts if isinstance(part, TablePart | NotePart)}
    alone = notes.pop() if len(notes) == 1 else ""
    is_not_collected = not alone or alone.startswith("Not collected")
    if not is_not_collected:
        return alone
    return how_to_collect(section.identifier, section.sets, with_roofline=lacks_throughput(launch))


def has_values(part: Part) -> bool:
    """Tells whether a part shows anything but its note."""
    match part:
        case RowPart():
            shown = any(has_values(each) for each in part.parts)
        case TablePart():
            shown = any(_is_value(cell) for row in part.rows for cell in row)
        case BarPart():
            shown = any(bar.cell.value is not None for bar in part.bars)
        case LinePart():
            shown = bool(part.series)
        case RooflinePart():
            shown = bool(part.roofs or part.points)
        case TimelinePart():
            shown = any(row.series for row in part.rows)
        case SourcePart():
            shown = any(each.cell.value is not None for each in part.metrics)
        case NotePart():
            shown = False
    return shown


def _is_value(cell: Cell | None) -> bool:
    return cell is not None and bool(cell.metric) and cell.value is not None


def _parts(items: Iterable[PlacedItem], launch: LaunchMetrics, depth: int) -> Iterable[Part]:
    """Yields the items that are shown on this device."""
    if depth > _DEEPEST:
        return
    for placed in items:
        if not placed.filter.allows(launch.compute_capability):
            continue
        if isinstance(placed.item, ItemRow):
            yield RowPart(parts=tuple(_parts(placed.item.items, launch, depth + 1)))
        else:
            yield _part(placed.item, launch)


def _part(item: SectionItem, launch: LaunchMetrics) -> Part:
    match item:
        case SectionTable():
            return table_part(item, launch)
        case SectionChart():
            return _CHARTS[item.kind](item, launch)
        case SuffixTable():
            return suffix_part(item, launch)
        case RooflineChart():
            return roofline_part(item, launch)
        case BuiltinItem():
            make = _BUILTIN.get(item.kind)
            return NotePart(label=item.label, note=_UNKNOWN) if make is None else make(item.label, launch)
        case ItemRow():
            raise AssertionError("rows are taken apart before")
        case _:
            return timeline_part(item, launch)


_UNKNOWN: Final = (
    "A newer kind of table or chart, which is not shown here. Its metrics are listed with all others."
)
_CHARTS: Final[dict[str, Callable[[SectionChart, LaunchMetrics], Part]]] = {
    "bar": bar_part,
    "histogram": histogram_part,
    "line": line_part,
}


def _memory(table: memory_tables.MemoryTable) -> Callable[[str, LaunchMetrics], Part]:
    return lambda label, launch: memory_tables.memory_part(label, table, launch)


_BUILTIN: Final[dict[str, Callable[[str, LaunchMetrics], Part]]] = {
    "memory_chart": _memory(memory_tables.CHART),
    "memory_shared_table": _memory(memory_tables.SHARED),
    "memory_l1_table": _memory(memory_tables.L1),
    "memory_l2_table": _memory(memory_tables.L2),
    "memory_device_table": _memory(memory_tables.DEVICE),
    "memory_l2_policy_table": _memory(memory_tables.POLICIES),
    "nvlink_topology": link_tables.topology_part,
    "nvlink_properties": link_tables.properties_part,
    "nvlink_throughput": link_tables.throughput_part,
    "numa_table": link_tables.numa_part,
}
