"""All metrics of a launch as they are stored, and the search among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.analyses.report_view.facts import MetricView
from core.analyses.report_view.launch import stored_values
from core.analyses.report_view.metric_words import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.ncu import Report


def metric_views(report: Report, launch_row: int) -> tuple[MetricView, ...]:
    """Returns the metrics of a launch by name; those that were asked for and have no value are among them."""
    names = report.metric_names
    rows = report.metrics.rows_of(launch_row)
    ids = report.metrics.name_id[rows.start : rows.stop].tolist()
    counts = report.metrics.instances[rows.start : rows.stop].tolist()
    views = (
        MetricView(
            name=names.texts[name_id],
            value=value,
            unit=names.units[name_id],
            instances=count,
            description=describe(names.texts[name_id]),
            metric_row=row,
        )
        for row, name_id, count, value in zip(rows, ids, counts, stored_values(report, rows), strict=True)
    )
    return tuple(sorted(views, key=lambda view: view.name))


def find_metrics(views: Sequence[MetricView], text: str) -> tuple[MetricView, ...]:
    """Returns those whose name or description holds every word of a text, in any case; all for no word."""
    words = text.casefold().split()
    return tuple(
        view
        for view in views
        if all(word in view.name.casefold() or word in view.description.casefold() for word in words)
    )
