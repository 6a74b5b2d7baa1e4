"""Comparisons as result tables, so that they are shown, copied and exported like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.report_view.compare import compare_reports
from core.tables.columns import MISSING
from core.tables.ncu_terms import MEMORY_PCT, SM_PCT
from core.tables.result import ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.report_view.facts import Comparison, LaunchPair
    from core.tables.columns import Float64, Int64
    from core.tables.ncu import MetricValue, Report
    from core.tables.result import Column


def comparison_table(comparison: Comparison) -> ResultTable:
    """Lists two launches metric by metric; what differs between them beside is in the notes."""
    rows = comparison.rows
    return ResultTable(
        name="comparison",
        title="Comparison",
        columns=(
            own_text_column("metric", "Metric", "The vendor's name.", (row.name for row in rows)),
            own_text_column("unit", "Unit", "Of the values: base units.", (row.unit or None for row in rows)),
            own_text_column("first", "First", comparison.first_name, (_exact(row.first) for row in rows)),
            own_text_column("second", "Second", comparison.second_name, (_exact(row.second) for row in rows)),
            number_column(
                "difference",
                "Difference",
                "",
                "Second less first.",
                _numbers([row.difference for row in rows]),
            ),
            number_column(
                "difference_pct",
                "Difference, %",
                "pct",
                "Of the first.",
                _numbers([row.difference_pct for row in rows]),
            ),
            own_text_column(
                "reason",
                "Not comparable",
                "Why there is no difference.",
                (row.reason or None for row in rows),
            ),
        ),
        notes=comparison.doubts,
        empty="No metric was collected.",
    )


def _exact(value: MetricValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return repr(value)


def _numbers(values: Sequence[float | None]) -> Float64:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def report_comparison_table(first: Report, second: Report) -> ResultTable:
    """Lists the launches of two reports with their partners: durations and shares of peaks.

    Args:
        first: The baseline.
        second: Another report.
    """
    found = compare_reports(first, second)
    pairs = found.pairs
    durations = [_durations(first, [pair.first_row for pair in pairs])]
    durations.append(_durations(second, [pair.second_row for pair in pairs]))
    known = (durations[0] != MISSING) & (durations[1] != MISSING)
    difference_ns = np.where(known, durations[1] - np.where(known, durations[0], 0), MISSING)
    with np.errstate(divide="ignore", invalid="ignore"):
        pct = np.where(known & (durations[0] > 0), 100.0 * difference_ns / durations[0], np.nan)
    return ResultTable(
        name="report_comparison",
        title="Comparison of reports",
        columns=(
            own_text_column("name", "Kernel", "Its full name.", (pair.name for pair in pairs)),
            _rows("first_launch", "First launch", [pair.first_row for pair in pairs]),
            _rows("second_launch", "Second launch", [pair.second_row for pair in pairs]),
            number_column("first_ns", "First", "ns", "Duration in the first report.", durations[0]),
            number_column("second_ns", "Second", "ns", "Duration in the second report.", durations[1]),
            number_column("difference_ns", "Difference", "ns", "Second less first.", difference_ns),
            number_column("difference_pct", "Difference, %", "pct", "Of the first.", pct),
            *_shares(first, second, pairs),
            own_text_column(
                "reason", "Alone", "Why a launch has no partner.", (pair.reason or None for pair in pairs)
            ),
        ),
        notes=found.doubts,
        empty="Neither report holds a kernel.",
    )


def _rows(key: str, title: str, rows: Sequence[int | None]) -> Column:
    values = np.array([MISSING if row is None else row for row in rows], np.int64)
    return number_column(key, title, "id", "Its number in the file, from 0.", values)


def _durations(report: Report, rows: Sequence[int | None]) -> Int64:
    durations = report.launches.duration_ns
    return np.array([MISSING if row is None else durations[row] for row in rows], np.int64)


def _shares(first: Report, second: Report, pairs: Sequence[LaunchPair]) -> list[Column]:
    columns = []
    for key, title, metric in (("sm", "SM", SM_PCT), ("memory", "Memory", MEMORY_PCT)):
        for where, report, rows in (
            ("first", first, [pair.first_row for pair in pairs]),
            ("second", second, [pair.second_row for pair in pairs]),
        ):
            values = report.column(metric)
            columns.append(
                number_column(
                    f"{where}_{key}_pct",
                    f"{title}, {where}",
                    "pct",
                    f"{title} throughput in % of its peak, in the {where} report.",
                    _numbers([None if row is None else float(values[row]) for row in rows]),
                )
            )
    return columns
