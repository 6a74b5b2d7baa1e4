"""A verdict for every kernel, with its evidence: the way in, for reports and for traces.

Reads the file of peaks at the first call: not for the window's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.analyses.categories import Category
from core.hardware.peaks import find_device
from core.roofline.ceilings import ceilings_of_report
from core.roofline.measured import measured_points
from core.roofline.verdict import Confidence, Evidence, Remedy, Verdict, VerdictKind
from core.roofline.verdict_decision import decide_launch, decide_point
from core.roofline.verdict_evidence import kernel_evidence, launch_evidence
from core.roofline.verdict_gains import in_order
from core.roofline.verdict_kernel_remedies import kernel_remedies
from core.roofline.verdict_launch import launch_facts
from core.roofline.verdict_remedies import launch_remedies, share_of
from core.roofline.verdict_rules import rule_remedies
from core.roofline.verdict_standing import standing_of

if TYPE_CHECKING:
    from core.hardware.peaks import DevicePeaks
    from core.roofline.ceilings import Ceilings
    from core.roofline.points import PointTable
    from core.roofline.verdict_kernels import TraceKernels
    from core.tables.ncu import Report

__all__ = [
    "Confidence",
    "Evidence",
    "Remedy",
    "Verdict",
    "VerdictKind",
    "verdict_of_launch",
    "verdict_of_point",
    "verdicts_of_points",
    "verdicts_of_report",
]


def verdicts_of_report(report: Report) -> tuple[Verdict, ...]:
    """Judges every launch of a report, in the order of ``LaunchTable``.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    points = measured_points(report)
    return tuple(verdict_of_launch(report, row, points=points) for row in range(len(report.launches)))


def verdict_of_launch(report: Report, launch_row: int, *, points: PointTable | None = None) -> Verdict:
    """Judges one launch of a report.

    Args:
        report: The report.
        launch_row: Row of its ``LaunchTable``.
        points: ``measured_points`` of the report, where they are at hand.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    points = measured_points(report) if points is None else points
    standing = standing_of(points, launch_row, ceilings_of_report(report, launch_row))
    facts = launch_facts(report, launch_row, standing)
    decision = decide_launch(facts)
    remedies = launch_remedies(facts, decision.kind, _peaks(report, launch_row))
    remedies += rule_remedies(report.rules[launch_row], decision.kind, share_of(facts))
    return Verdict(
        kind=decision.kind,
        words=decision.words,
        confidence=decision.confidence,
        evidence=launch_evidence(facts),
        remedies=in_order(remedies),
    )


def verdicts_of_points(
    points: PointTable, ceilings: Ceilings, kernels: TraceKernels | None = None
) -> tuple[Verdict, ...]:
    """Judges every point of a trace, in the order of the table.

    Args:
        points: Of the kernels of a trace, a row for each name.
        ceilings: Of its device.
        kernels: What the trace tells of them, None if only the model is at hand.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    return tuple(verdict_of_point(points, row, ceilings, kernels) for row in range(len(points)))


def verdict_of_point(
    points: PointTable, row: int, ceilings: Ceilings, kernels: TraceKernels | None = None
) -> Verdict:
    """Judges one point of a trace; arguments and errors as in ``verdicts_of_points``."""
    standing = standing_of(points, row, ceilings)
    facts = None if kernels is None else kernels.facts(points.strings[int(points.name_id[row])])
    decision = decide_point(
        standing,
        Category(int(points.category[row])),
        points.strings[int(points.reason_id[row])],
        facts,
    )
    peaks = find_device(ceilings.device) if ceilings.device else None
    remedies = [] if facts is None else kernel_remedies(facts, standing, decision.kind, peaks)
    return Verdict(
        kind=decision.kind,
        words=decision.words,
        confidence=decision.confidence,
        evidence=kernel_evidence(standing, facts),
        remedies=in_order(remedies),
    )


def _peaks(report: Report, launch_row: int) -> DevicePeaks | None:
    device = report.device_of(launch_row)
    if device is None or device.name is None:
        return None
    return find_device(device.name, sm_count=device.sm_count)
