"""What models and open reports say of the kernels of a trace, beside what the trace itself says of them.

Called in workers: here the analyses are loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.analyses.index import TraceIndex
    from core.roofline.kernel_columns import MeasuredKernels
    from core.roofline.verdict import Verdict
    from core.tables.columns import Int32
    from core.tables.result import Column, ResultTable
    from gui.rooflines.sources import OfferedPoints, PointSource
    from gui.tasks import Progress


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasuredCall:
    """What a report has counted of one kernel of a trace.

    Attributes:
        source: The report.
        launch_rows: Its launches that are the same; empty if it has the kernel in another size only.
        columns: Counters, each with its value in row ``kernel``.
        kernel: Row of the columns.
    """

    source: PointSource
    launch_rows: Int32
    columns: tuple[Column, ...]
    kernel: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelExtras:
    """All that is known; replaced as a whole.

    Attributes:
        verdicts: By full name; empty until they are made.
        source: The report whose counters are shown, None without one.
        measured: Its counters.
        tried: What each open report has of the trace, None for nothing.
    """

    verdicts: Mapping[str, Verdict | None] = field(default_factory=dict)
    source: PointSource | None = None
    measured: MeasuredKernels | None = None
    tried: tuple[tuple[PointSource, MeasuredKernels | None], ...] = ()

    @property
    def has_any(self) -> bool:
        """Whether there is anything to add to a table."""
        return bool(self.verdicts) or self.measured is not None

    def add_to(self, table: ResultTable) -> ResultTable:
        """Returns a table of kernels by name with verdicts and counters."""
        from core.roofline.kernel_columns import with_kernel_columns  # noqa: PLC0415

        name = "" if self.source is None else self.source.name
        return with_kernel_columns(table, self.verdicts, self.measured, name)

    def call_of(self, slice_row: int) -> MeasuredCall | None:
        """Returns what was counted of a call, None if it is no kernel or the report has none of its name."""
        if self.measured is None or self.source is None:
            return None
        kernel = self.measured.kernel_of(slice_row)
        if kernel is None or not self.measured.matches.how[kernel]:
            return None
        rows = self.measured.matches.launches_of(kernel)
        return MeasuredCall(
            source=self.source, launch_rows=rows, columns=self.measured.columns, kernel=kernel
        )


def verdicts_by_name(offered: OfferedPoints, progress: Progress) -> dict[str, Verdict | None]:
    """Judges the points of a trace; by the full name of the kernel."""
    points = offered.points
    names = [points.strings[text_id] for text_id in points.name_id.tolist()]
    return dict(zip(names, offered.judge(progress), strict=True))


def with_reports(
    index: TraceIndex, extras: KernelExtras, sources: Sequence[PointSource], progress: Progress
) -> KernelExtras:
    """Takes the counters of the first report that has a kernel of the trace.

    Args:
        index: The trace.
        extras: What is known already.
        sources: The open reports, the one that was shown last first.
        progress: Of the task.
    """
    from core.roofline.kernel_columns import measure_kernels  # noqa: PLC0415

    known = {id(source): found for source, found in extras.tried}
    tried: list[tuple[PointSource, MeasuredKernels | None]] = []
    chosen: PointSource | None = None
    measured: MeasuredKernels | None = None
    for source in sources:
        if source.report is None:
            continue
        progress.check()
        if id(source) in known:
            found = known[id(source)]
        elif measured is None:
            found = measure_kernels(index, source.report)
        else:
            # It is looked at when those before it are closed.
            continue
        tried.append((source, found))
        if measured is None and found is not None:
            chosen, measured = source, found
    return replace(extras, source=chosen, measured=measured, tried=tuple(tried))
