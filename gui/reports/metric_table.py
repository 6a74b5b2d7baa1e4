"""All metrics of one launch as a result table, with the baseline's values where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.report_view.metric_words import describe
from core.analyses.report_view.words import value_text
from core.tables.result import ResultTable
from gui.reports.differences import Differences

if TYPE_CHECKING:
    from core.analyses.report_view.facts import Comparison
    from core.tables.ncu import Report
    from core.tables.result import Column


def metric_table(report: Report, row: int, comparison: Comparison | None) -> ResultTable:
    """Lists what was collected of a launch, as the file has it.

    Args:
        report: The report.
        row: The launch.
        comparison: Baseline (first) and this launch (second), None without a baseline.
    """
    places = report.metrics.rows_of(row)
    names = [report.metric_names.texts[report.metrics.name_id[place]] for place in places]
    units = [report.metric_names.units[report.metrics.name_id[place]] for place in places]
    values = [report.value_at(place) for place in places]
    columns = (
        own_text_column("name", "Metric", "The vendor's name.", names),
        own_text_column(
            "text",
            "Value",
            "Scaled, with its unit.",
            [
                None if value is None else value_text(value, unit)
                for value, unit in zip(values, units, strict=True)
            ],
        ),
        number_column(
            "value",
            "Exact",
            "",
            "In the base unit; empty for a text.",
            report.metrics.number[places.start : places.stop].copy(),
        ),
        own_text_column("unit", "Unit", "Base unit of the exact value.", units),
        *_against(names, comparison),
        number_column(
            "instances",
            "Instances",
            "count",
            "Values by instruction, opcode or time beside its own.",
            report.metrics.instances[places.start : places.stop].astype(np.int64),
            shown=False,
        ),
        own_text_column(
            "meaning", "Meaning", "Told from the name.", [describe(name) or None for name in names]
        ),
    )
    return ResultTable(
        name="metrics_of_kernel", title="Metrics", columns=columns, empty="No metric was collected."
    )


def _against(names: list[str], comparison: Comparison | None) -> tuple[Column, ...]:
    if comparison is None:
        return ()
    rows = {row.name: row for row in comparison.rows}
    differences = Differences(comparison)
    baseline = [differences.baseline(name) for name in names]
    signed = [rows[name].difference if name in rows else None for name in names]
    return (
        number_column("baseline", "Baseline", "", "The same of the baseline.", _numbers(baseline)),
        number_column("difference", "Difference", "", "This less the baseline.", _numbers(signed)),
        own_text_column(
            "change",
            "Change",
            "Percent of the baseline, points of percentages, or why the two do not compare.",
            [differences.reason(name) or differences.words(name) or None for name in names],
        ),
    )


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], np.float64)
