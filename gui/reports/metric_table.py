"""All metrics of one launch as a result table, with the baseline's values where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.report_view.metric_words import describe
from core.report_tables.index import ReportIndex
from core.report_tables.metrics import value_columns
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
    places = np.array(report.metrics.rows_of(row), np.int64)
    ids = report.metrics.name_id[places].tolist()
    names = [report.metric_names.texts[name_id] for name_id in ids]
    units = [report.metric_names.units[name_id] for name_id in ids]
    meanings = [describe(name) for name in names]
    columns = (
        own_text_column("name", "Metric", "The vendor's name.", names),
        *value_columns(ReportIndex(report), places, units),
        *_against(names, comparison),
        number_column(
            "instances",
            "Instances",
            "count",
            "Values by instruction, opcode or time beside its own.",
            report.metrics.instances[places].astype(np.int64),
            shown=False,
        ),
        # Of a name that tells nothing there is nothing to say: no figure is missing.
        own_text_column("meaning", "Meaning", "Told from the name.", meanings, shown=any(meanings)),
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
