"""What the tables of a report share: computed once, when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, text_column
from core.analyses.ncu_counters import Counters
from core.report_tables.numbers import LAUNCH
from core.roofline.ceilings import Ceilings, ceilings_of_device, profiled_work
from core.roofline.measured import measured_points, measured_work
from core.roofline.verdicts import ReportVerdicts, verdicts_of_report
from core.tables.columns import NO_ROW
from core.units import format_shape

if TYPE_CHECKING:
    from core.roofline.measured import MeasuredWork
    from core.roofline.points import PointTable, WorkType
    from core.tables.columns import Float64, Int32, Int64
    from core.tables.ncu import Report
    from core.tables.result import Column

NO_KERNELS = "No kernels in this file."


class ReportIndex:
    """A report, and what is derived of it.

    Attributes:
        report: As it was read.
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    @cached_property
    def counters(self) -> Counters:
        """Metrics of all launches as columns."""
        return Counters(self.report)

    @cached_property
    def work(self) -> MeasuredWork:
        """What all launches did, by type of work."""
        return measured_work(self.report, self.counters)

    @cached_property
    def points(self) -> PointTable:
        """Where all launches stand on the roofline."""
        return measured_points(self.report, self.work)

    @cached_property
    def verdicts(self) -> ReportVerdicts:
        """What holds each launch back.

        Raises:
            DashboardError: The user's own file of peaks is not as it should be.
        """
        return verdicts_of_report(self.report, counters=self.counters, points=self.points)

    @cached_property
    def sheets(self) -> tuple[Ceilings, ...]:
        """Ceilings by data sheet, one for each of the report's devices, and at the end that of none.

        Raises:
            DashboardError: The user's own file of peaks is not as it should be.
        """
        devices = [
            ceilings_of_device(device.name, sm_count=device.sm_count) for device in self.report.devices
        ]
        return (*devices, ceilings_of_device(None))

    @cached_property
    def profiled_work(self) -> dict[tuple[WorkType, bool], Float64]:
        """Peaks of all launches at their clocks, as ``core.roofline.ceilings.profiled_work`` gives them."""
        return profiled_work(self.counters)

    def rows(self, launches: Int32 | None) -> Int32:
        """Returns the launches that are chosen: all for None."""
        return np.arange(len(self.report.launches), dtype=np.int32) if launches is None else launches

    def kernel_columns(self, rows: Int32) -> tuple[Column, ...]:
        """Returns the columns that say which launch a row is about."""
        points = self.points
        return (
            number_column(LAUNCH, "Launch", "id", "Its place in the file, from 0.", rows.astype(np.int64)),
            text_column(
                "name",
                "Kernel",
                "Short name; names that differ stay different.",
                points.short_name_id[rows],
                points.strings,
            ),
            text_column(
                "full_name",
                "Full name",
                "Name as it stands in the file.",
                points.name_id[rows],
                points.strings,
                shown=False,
            ),
        )


def shape_texts(values: Int64) -> tuple[Int32, tuple[str, ...]]:
    """Returns ids of the texts of three numbers each, as ``format_shape``; NO_ROW where they are missing.

    Args:
        values: (n, 3) int64, MISSING.
    """
    ids: dict[str, int] = {}
    found = [
        NO_ROW if min(shape) < 0 else ids.setdefault(format_shape(shape), len(ids))
        for shape in values.tolist()
    ]
    return np.array(found, np.int32), tuple(ids)
