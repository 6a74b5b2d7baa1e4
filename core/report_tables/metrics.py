"""Every metric that was collected, as it is stored: base units, the vendor's names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column, text_column
from core.analyses.report_view.words import shown_unit, value_text
from core.report_tables.index import NO_KERNELS, ReportIndex
from core.tables.columns import NO_ROW
from core.tables.ncu import MetricKind
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.tables.columns import Float64, Int32, Int64


def list_metrics(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists metrics by launch, then by name as the file has them.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.
    """
    report = index.report
    chosen = np.zeros(len(report.launches), np.bool_)
    chosen[index.rows(launches)] = True
    metric_rows = np.flatnonzero(chosen[report.metrics.launch_row])
    name_ids = report.metrics.name_id[metric_rows]
    all_units = report.metric_names.units
    units = [all_units[name_id] for name_id in name_ids.tolist()]
    return ResultTable(
        name="metrics",
        title="Metrics",
        columns=(
            *index.kernel_columns(report.metrics.launch_row[metric_rows]),
            text_column("metric", "Metric", "The vendor's name.", name_ids, report.metric_names.texts),
            *value_columns(index, metric_rows, units),
            number_column(
                "instances",
                "Instances",
                "count",
                "Values by instruction, opcode or time beside its own.",
                report.metrics.instances[metric_rows].astype(np.int64),
                shown=False,
            ),
        ),
        empty=NO_KERNELS if not len(report.launches) else "No metric was collected.",
    )


def value_columns(index: ReportIndex, metric_rows: Int64, units: Sequence[str]) -> tuple[Column, ...]:
    """Returns values as people read them, to the last digit, and as numbers, with their units.

    Args:
        index: The report.
        metric_rows: (n,) int64, rows of ``Report.metrics``, NO_ROW where there is none.
        units: n texts, base units of the values.
    """
    numbers = _numbers(index, metric_rows)
    exact = list(_exact(index, metric_rows, numbers))
    plain = numbers.tolist()
    shown = [
        None if text is None else text if math.isnan(number) else value_text(number, shown_unit(unit, name))
        for text, number, unit, name in zip(exact, plain, units, _names(index, metric_rows), strict=True)
    ]
    return (
        own_text_column("shown", "Value", "As people read it.", shown),
        own_text_column("exact", "Exact value", "To the last digit, in the base unit.", exact, shown=False),
        number_column(
            "value",
            "Number",
            "",
            "The same as a number; empty for a text, and where there is no value.",
            numbers,
            shown=False,
        ),
        own_text_column(
            "unit", "Base unit", "Of the exact value.", (unit or None for unit in units), shown=False
        ),
    )


def _names(index: ReportIndex, metric_rows: Int64) -> Iterator[str]:
    """Yield the metric of each row, "" where there is none."""
    metrics = index.report.metrics
    for row in metric_rows.tolist():
        yield "" if row == NO_ROW else index.report.metric_names.texts[int(metrics.name_id[row])]


def _numbers(index: ReportIndex, metric_rows: Int64) -> Float64:
    stored = index.report.metrics.number
    numbers = np.full(len(metric_rows), np.nan)
    has = metric_rows != NO_ROW
    numbers[has] = stored[metric_rows[has]]
    return numbers


def _exact(index: ReportIndex, metric_rows: Int64, numbers: Float64) -> Iterator[str | None]:
    """Yields texts as they are, integers with all their digits, and fractions by their shortest form."""
    metrics, strings = index.report.metrics, index.report.strings
    has = metric_rows != NO_ROW
    stored = metric_rows[has]
    kinds = np.full(len(metric_rows), MetricKind.NONE, np.uint8)
    kinds[has] = metrics.kind[stored]
    integers = np.zeros(len(metric_rows), np.uint64)
    integers[has] = metrics.integer[stored]
    texts = np.full(len(metric_rows), NO_ROW, np.int32)
    texts[has] = metrics.text_id[stored]
    columns = (kinds.tolist(), numbers.tolist(), integers.tolist(), texts.tolist())
    for kind, number, integer, text in zip(*columns, strict=True):
        if kind == MetricKind.INTEGER:
            yield str(integer)
        elif kind == MetricKind.FLOAT:
            yield repr(number)
        else:
            yield strings[text] if kind == MetricKind.TEXT else None
