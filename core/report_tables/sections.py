"""Values of the sections of a report: what its headers, tables and bar charts show, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np

from core.analyses.answer_columns import own_text_column
from core.report_tables.index import NO_KERNELS, ReportIndex
from core.report_tables.metrics import value_columns
from core.tables.columns import NO_ROW
from core.tables.ncu_sections import ItemRow, SectionChart, SectionTable, SuffixTable
from core.tables.result import ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.tables.columns import Int32, Int64
    from core.tables.ncu_sections import PlacedItem, Section, SectionItem, SectionMetric


class _Place(NamedTuple):
    """A value of a section: where it stands, and the name of its metric."""

    section: str
    table: str
    label: str
    metric: str
    unit: str
    multiplier: float


def list_sections(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists what the sections of launches show; what the file lays out and did not collect has no value.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.
    """
    report = index.report
    layouts: dict[tuple[tuple[int, ...], int | None], tuple[_Place, ...]] = {}
    of_row: list[int] = []
    places: list[_Place] = []
    for launch in index.rows(launches).tolist():
        device = report.device_of(launch)
        capability = device.compute_capability if device else None
        key = (report.launch_sections[launch], capability)
        if key not in layouts:
            layouts[key] = tuple(_placed([report.sections[each] for each in key[0]], capability))
        places += layouts[key]
        of_row += [launch] * len(layouts[key])
    metric_rows = np.array(
        [report.metric_row(launch, place.metric) for launch, place in zip(of_row, places, strict=True)],
        np.int64,
    )
    multipliers = np.array([place.multiplier for place in places], np.float64)
    units = list(_units(index, metric_rows, places))
    return ResultTable(
        name="sections",
        title="Sections",
        columns=(
            *index.kernel_columns(np.array(of_row, np.int32)),
            own_text_column("section", "Section", "Its title.", (each.section for each in places)),
            own_text_column("table", "Table", "Table or chart of it.", (each.table for each in places)),
            own_text_column(
                "label", "Label", "What the value is called there.", (each.label for each in places)
            ),
            *value_columns(index, metric_rows, units, multipliers),
            own_text_column(
                "metric", "Metric", "The vendor's name.", (each.metric for each in places), shown=False
            ),
        ),
        empty=_why_empty(index),
    )


def _placed(sections: Sequence[Section], capability: int | None) -> Iterator[_Place]:
    """Yields each value of sections once for a table and label."""
    for section in sections:
        header = [place for each in section.header for place in _resolved(each, capability)]
        tables = [("", header)]
        for body in section.bodies:
            tables += _tables(body.items, capability)
        seen: set[tuple[str, str]] = set()
        for table, places in tables:
            for place in places:
                if (table, place.label) not in seen:
                    seen.add((table, place.label))
                    yield place._replace(section=section.title or section.identifier, table=table)


def _tables(items: Sequence[PlacedItem], capability: int | None) -> list[tuple[str, list[_Place]]]:
    """Returns the tables and bar charts of a body, each with its values."""
    found: list[tuple[str, list[_Place]]] = []
    for placed in items:
        item = placed.item
        if not placed.filter.allows(capability):
            continue
        if isinstance(item, ItemRow):
            found += _tables(item.items, capability)
        elif isinstance(item, SuffixTable):
            found.append((item.label, _with_suffixes(item, capability)))
        elif _shows_values(item):
            found.append((item.label, _all_resolved(item.metrics, capability)))
    return found


def _shows_values(item: SectionItem) -> TypeGuard[SectionTable | SectionChart]:
    if isinstance(item, SectionTable):
        return not item.per_source
    return isinstance(item, SectionChart) and item.kind == "bar"


def _all_resolved(metrics: Sequence[SectionMetric], capability: int | None) -> list[_Place]:
    return [place for each in metrics for place in _resolved(each, capability)]


def _resolved(metric: SectionMetric, capability: int | None) -> Iterator[_Place]:
    """Yields what stands in a place of a section on a device, nothing where that shows none."""
    chosen = metric.resolve(capability)
    if chosen is not None and chosen.name:
        yield _Place("", "", chosen.label or chosen.name, chosen.name, metric.unit, metric.multiplier)


def _with_suffixes(table: SuffixTable, capability: int | None) -> list[_Place]:
    return [
        _Place("", "", f"{base.label or base.name} {label or suffix}", base.name + suffix, "", 1.0)
        for base in table.bases
        if base.filter.allows(capability)
        for suffix, label in table.suffixes
    ]


def _units(index: ReportIndex, metric_rows: Int64, places: Sequence[_Place]) -> Iterator[str]:
    """Yields the unit that a section gives to a value, else that of its metric."""
    name_ids, units = index.report.metrics.name_id, index.report.metric_names.units
    for row, place in zip(metric_rows.tolist(), places, strict=True):
        yield place.unit or ("" if row == NO_ROW else units[name_ids[row]])


def _why_empty(index: ReportIndex) -> str:
    if not len(index.report.launches):
        return NO_KERNELS
    return "No sections were collected: run ncu --set full."
