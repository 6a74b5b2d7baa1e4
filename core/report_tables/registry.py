"""The one list of tables of a report: what ``summary --table NAME`` can show of reports and CSVs.

A table is a pure function from a ``ReportIndex`` and the chosen launches to a
``ResultTable``, and one line in ``REPORT_ANALYSES``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.report_tables.kernels import group_kernels, list_kernels
from core.report_tables.metrics import list_metrics
from core.report_tables.roofline import list_roofline
from core.report_tables.rules import list_rules
from core.report_tables.sections import list_sections
from core.report_tables.source import list_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.report_tables.index import ReportIndex
    from core.tables.columns import Int32
    from core.tables.result import ResultTable


@dataclass(frozen=True, slots=True)
class ReportAnalysis:
    """One table.

    Attributes:
        name: For programs and the command line: ``kernels``. Also the name of its golden case.
        title: For people: "Kernels".
        summarize: Answers for the launches that are chosen, all for None.
    """

    name: str
    title: str
    summarize: Callable[[ReportIndex, Int32 | None], ResultTable]


REPORT_ANALYSES: Final[tuple[ReportAnalysis, ...]] = (
    ReportAnalysis("kernels", "Kernels", list_kernels),
    ReportAnalysis("groups", "Groups", group_kernels),
    ReportAnalysis("rules", "Rules", list_rules),
    ReportAnalysis("roofline", "Roofline", list_roofline),
    ReportAnalysis("sections", "Sections", list_sections),
    ReportAnalysis("metrics", "Metrics", list_metrics),
    ReportAnalysis("source", "Source", list_source),
)


def find_report_analysis(name: str) -> ReportAnalysis:
    """Returns a table by its name.

    Raises:
        KeyError: There is none of that name.
    """
    for analysis in REPORT_ANALYSES:
        if analysis.name == name:
            return analysis
    raise KeyError(name)
