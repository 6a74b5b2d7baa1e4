"""A verdict for every kernel, with its evidence: the way in, for reports and for traces.

Reads the file of peaks at the first call: not for the window's thread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.analyses.categories import Category
from core.analyses.intervals import exact_sum
from core.analyses.ncu_counters import Counters
from core.hardware.peaks import find_device
from core.roofline.ceilings import ceilings_of_report
from core.roofline.measured import measured_points, measured_work
from core.roofline.verdict import Confidence, Evidence, Remedy, Verdict, VerdictKind
from core.roofline.verdict_decision import decide_launch, decide_point
from core.roofline.verdict_evidence import kernel_evidence, launch_evidence
from core.roofline.verdict_gains import in_order
from core.roofline.verdict_groups import judged_rows, summed_remedies
from core.roofline.verdict_kernel_remedies import kernel_remedies
from core.roofline.verdict_kinds import kinds_of_report
from core.roofline.verdict_launch import launch_facts
from core.roofline.verdict_remedies import launch_remedies, share_of
from core.roofline.verdict_rules import rule_remedies
from core.roofline.verdict_standing import standing_of
from core.tables.columns import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.hardware.peaks import DevicePeaks
    from core.roofline.ceilings import Ceilings
    from core.roofline.points import PointTable
    from core.roofline.verdict_decision import Decision
    from core.roofline.verdict_gains import Share
    from core.roofline.verdict_kernels import TraceKernels
    from core.roofline.verdict_launch import LaunchFacts
    from core.tables.columns import Int64
    from core.tables.ncu import Report, ReportDevice

__all__ = [
    "Confidence",
    "Evidence",
    "Remedy",
    "ReportVerdicts",
    "Verdict",
    "VerdictKind",
    "verdict_of_point",
    "verdicts_of_points",
    "verdicts_of_report",
]


class ReportVerdicts:
    """The verdicts on the launches of a report, in the order of ``LaunchTable``.

    Kinds are decided for all at once; words, evidence and remedies are made of a
    launch each time that it is asked for, which takes a part of a millisecond.

    Attributes:
        kinds: Kind and confidence of each launch.
    """

    def __init__(self, report: Report, counters: Counters, points: PointTable) -> None:
        self.kinds = kinds_of_report(counters, points)
        self._report = report
        self._points = points
        known = report.launches.duration_ns != MISSING
        self._report_ns = exact_sum(report.launches.duration_ns[known])
        self._peaks = [*(_peaks(device) for device in report.devices), None]

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, launch_row: int) -> Verdict:
        facts, decision = self._decided(launch_row)
        remedies = self._remedies(launch_row, facts, decision.kind, share_of(facts))
        return _verdict(decision, launch_evidence(facts), remedies)

    def of_group(self, launch_rows: Sequence[int]) -> Verdict:
        """Judges repeats of one kernel: the first launch, but what a remedy gains is that of all of them.

        Args:
            launch_rows: The launches; the first is the one that is shown.
        """
        facts, decision = self._decided(launch_rows[0])
        durations_ns = self._report.launches.duration_ns
        group_ns, judged_ns, found = _known_ns(durations_ns, launch_rows), 0, []
        for row in judged_rows(launch_rows):
            own, of_own = self._decided(row)
            found.append(self._remedies(row, own, of_own.kind, replace(share_of(own), what="")))
            judged_ns += own.duration_ns or 0
        part = group_ns / self._report_ns if self._report_ns and judged_ns else None
        scale = group_ns / judged_ns if judged_ns else 0.0
        remedies = summed_remedies(found, len(launch_rows), scale, part)
        return _verdict(decision, launch_evidence(facts), remedies)

    def _decided(self, launch_row: int) -> tuple[LaunchFacts, Decision]:
        report, points = self._report, self._points
        standing = standing_of(points, launch_row, ceilings_of_report(report, launch_row))
        category = Category(int(points.category[launch_row]))
        facts = launch_facts(report, launch_row, category, standing, self._report_ns)
        return facts, decide_launch(facts)

    def _remedies(self, launch_row: int, facts: LaunchFacts, kind: VerdictKind, share: Share) -> list[Remedy]:
        peaks = self._peaks[int(self._report.launches.device_row[launch_row])]
        remedies = launch_remedies(facts, kind, peaks, share)
        return remedies + rule_remedies(self._report.rules[launch_row], kind, share)

    def __iter__(self) -> Iterator[Verdict]:
        return (self[row] for row in range(len(self)))


def verdicts_of_report(
    report: Report, *, counters: Counters | None = None, points: PointTable | None = None
) -> ReportVerdicts:
    """Judges every launch of a report.

    Args:
        report: The report.
        counters: Of all its launches, where they are at hand.
        points: ``measured_points`` of the report, where they are at hand.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    counters = Counters(report) if counters is None else counters
    points = measured_points(report, measured_work(report, counters)) if points is None else points
    return ReportVerdicts(report, counters, points)


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
    return _verdict(decision, kernel_evidence(standing, facts), remedies)


def _verdict(decision: Decision, evidence: tuple[Evidence, ...], remedies: list[Remedy]) -> Verdict:
    return Verdict(
        kind=decision.kind,
        words=decision.words,
        confidence=decision.confidence,
        evidence=evidence,
        remedies=in_order(remedies),
    )


def _known_ns(durations_ns: Int64, rows: Sequence[int]) -> int:
    known = durations_ns[list(rows)]
    return exact_sum(known[known != MISSING])


def _peaks(device: ReportDevice) -> DevicePeaks | None:
    return None if device.name is None else find_device(device.name, sm_count=device.sm_count)
