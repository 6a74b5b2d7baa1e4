"""How points are made of a report and of a trace. Called in workers: here the analyses are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gui.rooflines.sources import OfferedPoints

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.roofline.verdict import Verdict
    from core.tables.ncu import Report
    from gui.tasks import Progress


def points_of_report(report: Report, progress: Progress) -> OfferedPoints:
    """Makes the points of a report; its devices have their data sheet and the clocks during profiling.

    Args:
        report: The report.
        progress: Of the task.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    from core.roofline.ceilings import ceilings_of_device, ceilings_of_report, joined  # noqa: PLC0415
    from core.roofline.measured import measured_points  # noqa: PLC0415

    points = measured_points(report)
    progress.check()
    device_row = report.launches.device_row
    rows = np.unique(device_row).tolist()
    ceilings = []
    for row in rows:
        device = report.devices[row] if row >= 0 else None
        sheet = ceilings_of_device(
            device.name if device else None, sm_count=device.sm_count if device else None
        )
        launches = np.flatnonzero(device_row == row)
        longest = int(launches[int(np.argmax(report.launches.duration_ns[launches]))])
        profiled = ceilings_of_report(report, longest)
        has_any = profiled.work or profiled.traffic
        ceilings.append(joined(sheet, profiled) if has_any else sheet)
        progress.check()

    def judge(progress: Progress) -> tuple[Verdict | None, ...]:
        from core.roofline.verdicts import verdicts_of_report  # noqa: PLC0415

        found = []
        for verdict in verdicts_of_report(report, points=points):
            progress.check()
            found.append(verdict)
        return tuple(found)

    return OfferedPoints(
        points=points,
        ceilings=tuple(ceilings),
        device_of=np.searchsorted(rows, device_row).astype(np.int32),
        judge=judge,
    )


def points_of_trace(index: TraceIndex, progress: Progress) -> OfferedPoints:
    """Makes the modelled points of a trace; without a name of its device there are no ceilings.

    Args:
        index: The trace.
        progress: Of the task.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    from core.roofline.modelled import modelled_points  # noqa: PLC0415
    from core.roofline.trace_verdicts import ceilings_of_trace  # noqa: PLC0415

    points = modelled_points(index)
    progress.check()
    ceilings = ceilings_of_trace(index)

    def judge(progress: Progress) -> tuple[Verdict | None, ...]:
        from core.roofline.verdict_kernels import TraceKernels  # noqa: PLC0415
        from core.roofline.verdicts import verdict_of_point  # noqa: PLC0415

        kernels = TraceKernels(index)
        found = []
        for row in range(len(points)):
            progress.check()
            found.append(verdict_of_point(points, row, ceilings, kernels))
        return tuple(found)

    kinds = {each.name for each in index.trace.facts.devices}
    return OfferedPoints(
        points=points,
        ceilings=(ceilings,),
        device_of=np.zeros(len(points), np.int32),
        judge=judge,
        note=f"Its devices are of {len(kinds)} kinds; all kernels stand below the ceilings of the first."
        if len(kinds) > 1
        else "",
    )
