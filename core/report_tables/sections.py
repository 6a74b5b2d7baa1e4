"""Values of the sections of a report: what its headers, tables and bar charts show, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.report_view.section_rows import SectionRow, section_rows
from core.analyses.report_view.sections import section_views
from core.analyses.report_view.words import cell_text
from core.readers.ncu_report.instances import LaunchInstances
from core.report_tables.index import NO_KERNELS, ReportIndex
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int32
    from core.tables.ncu import MetricValue


def list_sections(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists what the sections of launches show; what the file lays out and did not collect has no value.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.
    """
    report = index.report
    of_row: list[int] = []
    rows: list[SectionRow] = []
    for launch in index.rows(launches).tolist():
        for view in section_views(report, launch, LaunchInstances(report, launch)):
            rows += section_rows(view)
        of_row += [launch] * (len(rows) - len(of_row))
    return ResultTable(
        name="sections",
        title="Sections",
        columns=(
            *index.kernel_columns(np.array(of_row, np.int32)),
            own_text_column("section", "Section", "Its title.", (each.section for each in rows)),
            own_text_column("table", "Table", "Table or chart of it.", (each.table for each in rows)),
            own_text_column(
                "label", "Label", "What the value is called there.", (each.label for each in rows)
            ),
            *_values(rows),
            own_text_column(
                "metric",
                "Metric",
                "The vendor's name.",
                (each.cell.metric or None for each in rows),
                shown=False,
            ),
        ),
        empty=_why_empty(index),
    )


def _values(rows: Sequence[SectionRow]) -> tuple[Column, ...]:
    """Returns values as people read them, to the last digit, and as numbers, with their units."""
    cells = [each.cell for each in rows]
    numbers = [float(cell.value) if isinstance(cell.value, int | float) else float("nan") for cell in cells]
    return (
        own_text_column(
            "shown",
            "Value",
            "As people read it.",
            (None if cell.value is None else cell_text(cell) for cell in cells),
        ),
        own_text_column(
            "exact",
            "Exact value",
            "To the last digit, in the base unit.",
            (_exact(cell.value) for cell in cells),
            shown=False,
        ),
        number_column(
            "value",
            "Number",
            "",
            "The same as a number; empty for a text, and where there is no value.",
            np.array(numbers, np.float64),
            shown=False,
        ),
        own_text_column(
            "unit", "Base unit", "Of the exact value.", (cell.unit or None for cell in cells), shown=False
        ),
    )


def _exact(value: MetricValue) -> str | None:
    return value if value is None or isinstance(value, str) else repr(value)


def _why_empty(index: ReportIndex) -> str:
    if not len(index.report.launches):
        return NO_KERNELS
    return "No sections were collected: run ncu --set full."
