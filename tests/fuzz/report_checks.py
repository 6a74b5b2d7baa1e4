"""What must hold of any report or table of Nsight Compute, however broken: a report or a refusal in words.

All that is shown of it is made as well: every table, the summary, ceilings, and
values by instance.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import TYPE_CHECKING

import numpy as np

from core.cli.report_summary import as_object
from core.errors import DashboardError
from core.export import shown_cells, write_csv
from core.export import write_json as write_table_json
from core.files import describe_path
from core.readers import reader_of
from core.readers.ncu_report.details import read_instances
from core.report_tables.index import ReportIndex
from core.report_tables.registry import REPORT_ANALYSES
from core.roofline.ceilings import ceilings_of_report
from core.tables.ncu import Report
from tests.fuzz.checks import WrongError, require
from tests.fuzz.view_checks import check_views

if TYPE_CHECKING:
    from pathlib import Path

MOST_DECODED = 5


def read_or_refusal(path: Path) -> Report | str:
    """Reads a file as the command line would; a refusal comes as its text."""
    description = describe_path(path)
    reader = reader_of(description.kind)
    if reader is None:
        return description.title
    try:
        report = reader.load()(path)
    except DashboardError as error:
        require(bool(error.message) and "\n" not in error.message, f"refused in no line: {error.message!r}")
        require(bool(error.hint), f"refused without a hint: {error.message!r}")
        return error.message
    # Damage may make a trace of a table; that has checks of its own.
    return report if isinstance(report, Report) else "a trace"


def check_report(path: Path) -> Report | None:
    """Checks everything that must hold of a file.

    Returns:
        The report; None if it was refused.

    Raises:
        WrongError: Something does not hold. Any other error is one too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = read_or_refusal(path)
        if isinstance(report, str):
            return None
        for problem in report.problems:
            require(problem.count > 0, f"{problem.code} counts nothing")
            require("\n" not in problem.message, f"{problem.code} in several lines")
        json.dumps(as_object(report), allow_nan=False, ensure_ascii=False).encode("utf-8")
        check_tables(report)
        check_views(report)
        return report


def check_tables(report: Report) -> None:
    """Makes every table of a report, and what is drawn beside them, and requires that figures can be."""
    index = ReportIndex(report)
    for analysis in REPORT_ANALYSES:
        table = analysis.summarize(index, None)
        keys = [column.key for column in table.columns]
        write_csv(table, None, keys, io.StringIO())
        text = io.StringIO()
        write_table_json(table, None, keys, text)
        json.loads(text.getvalue(), parse_constant=_no_constant)
        shown_cells(table, np.arange(min(len(table), 50), dtype=np.int32), keys)
        require(bool(len(table) or table.empty), f"{analysis.name} is empty without a word")
    points = index.points
    has_place = points.reason_id < 0
    flop, moved = points.flop[has_place], points.moved_bytes[has_place]
    require(bool(np.all(flop > 0) and np.all(np.isfinite(flop))), "a point without work")
    require(bool(np.all(np.any(moved > 0, axis=1))), "a point without bytes")
    require(bool(np.all(points.sum_ns[has_place] > 0)), "a point without a duration")
    for row in range(min(len(report.launches), MOST_DECODED)):
        for ceiling in ceilings_of_report(report, row).work:
            require(bool(0 < ceiling.flop_per_s < np.inf), f"a ceiling of {ceiling.flop_per_s}")
    for metric_row in np.flatnonzero(report.metrics.instances)[:MOST_DECODED].tolist():
        read_instances(report, metric_row)


def _no_constant(word: str) -> None:
    raise WrongError(f"{word} in exported JSON")
