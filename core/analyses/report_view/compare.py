"""Two launches, or two reports, side by side: signed differences, and where there can be none.

A difference is of the second to the first. Two values are set against each
other only where that says something of the kernel: a sum over more threads of
the same kernel counts more work, a time at other clocks another machine, and an
instruction of another architecture is another thing. Two different kernels may
do the same work in other shapes: their sums compare.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from core.analyses.report_view.facts import Comparison, LaunchPair, MetricDifference, ReportComparison
from core.analyses.report_view.launch import stored_values
from core.analyses.report_view.session import clock_control
from core.analyses.report_view.words import value_text
from core.tables.columns import MISSING
from core.tables.ncu_terms import DURATION, SM_CYCLES_PER_S
from core.units import format_shape

if TYPE_CHECKING:
    from core.tables.ncu import MetricValue, Report

_LISTS: Final = ("breakdown:", "group:")
_SAME_CLOCK: Final = 0.02
"""Clocks that differ by less are one clock."""
_COUNT: Final = re.compile(r"(?:^(?!.*(?:_per_|average))[^.]+|\.sum)$")
"""Names of metrics that count: a sum over all units, or nothing made of the counter."""


@dataclass(frozen=True, slots=True)
class _Launch:
    """One of two launches, and what decides whether they compare."""

    report: Report
    row: int
    name: str
    device: str
    capability: int | None
    clock_control: str | None
    clock_hz: float | None
    shape: tuple[str, str]
    threads: int | None


def compare(first: Report, first_row: int, second: Report, second_row: int) -> Comparison:
    """Sets two launches side by side, metric by metric, those of the first in its order.

    Args:
        first: A report, the baseline.
        first_row: Row of its launches.
        second: The same report or another one.
        second_row: Row of its launches.
    """
    launches = _launch(first, first_row), _launch(second, second_row)
    values = [_values(launch) for launch in launches]
    names = dict.fromkeys([*values[0], *values[1]])
    judge = _Judge(*launches)
    rows = tuple(_difference(name, values[0].get(name), values[1].get(name), judge) for name in names)
    return Comparison(
        first_name=launches[0].name, second_name=launches[1].name, doubts=_doubts(*launches), rows=rows
    )


def compare_reports(first: Report, second: Report) -> ReportComparison:
    """Finds for each launch of the first report its partner in the second.

    Partners have one name, grid and block; of several, the first belongs to the first, and so on.
    """
    waiting: dict[tuple[str, str, str], deque[int]] = defaultdict(deque)
    for row in range(len(second.launches)):
        waiting[_key(second, row)].append(row)
    names = {key[0] for key in waiting}
    own_names = {_name(first, row) for row in range(len(first.launches))}
    pairs = []
    for row in range(len(first.launches)):
        key = _key(first, row)
        partner = waiting[key].popleft() if waiting[key] else None
        reason = "" if partner is not None else _alone(key[0] in names, "second")
        pairs.append(LaunchPair(name=key[0], first_row=row, second_row=partner, reason=reason))
    left = sorted((row, key[0]) for key, rows in waiting.items() for row in rows)
    pairs += [
        LaunchPair(name=name, first_row=None, second_row=row, reason=_alone(name in own_names, "first"))
        for row, name in left
    ]
    doubts: tuple[str, ...] = ()
    if len(first.launches) and len(second.launches):
        doubts = _machine_doubts(_launch(first, 0), _launch(second, 0))
    return ReportComparison(doubts=doubts, pairs=tuple(pairs))


def _alone(is_known: bool, where: str) -> str:
    if is_known:
        return f"The {where} report has it with another grid or block, or less often."
    return f"The {where} report does not have it."


def _key(report: Report, row: int) -> tuple[str, str, str]:
    return _name(report, row), *_shape(report, row)


def _name(report: Report, row: int) -> str:
    return report.strings[int(report.launches.name_id[row])]


def _shape(report: Report, row: int) -> tuple[str, str]:
    """Returns grid and block as texts, "n/a" where not recorded."""
    grid, block = (
        "n/a" if MISSING in sides else format_shape(sides)
        for sides in (report.launches.grid[row].tolist(), report.launches.block[row].tolist())
    )
    return grid, block


def _launch(report: Report, row: int) -> _Launch:
    device = report.device_of(row)
    clock = report.metric(row, SM_CYCLES_PER_S)
    if clock is None:
        clock = report.metric(row, "smsp__cycles_elapsed.avg.per_second")
    return _Launch(
        report=report,
        row=row,
        name=_name(report, row),
        device="" if device is None else device.name or "",
        capability=None if device is None else device.compute_capability,
        clock_control=clock_control(report.session),
        clock_hz=float(clock) if isinstance(clock, int | float) else None,
        shape=_shape(report, row),
        threads=_threads(report, row),
    )


def _threads(report: Report, row: int) -> int | None:
    sides = [*report.launches.grid[row].tolist(), *report.launches.block[row].tolist()]
    return None if MISSING in sides else prod(sides)


def _values(launch: _Launch) -> dict[str, tuple[MetricValue, str]]:
    """Returns values and units by name, without metrics that only list the names of others."""
    report = launch.report
    rows = report.metrics.rows_of(launch.row)
    ids = report.metrics.name_id[rows.start : rows.stop].tolist()
    names = report.metric_names
    return {
        names.texts[name_id]: (value, names.units[name_id])
        for value, name_id in zip(stored_values(report, rows), ids, strict=True)
        if not names.texts[name_id].startswith(_LISTS)
    }


class _Judge:
    """Tells why values of a metric do not compare."""

    def __init__(self, first: _Launch, second: _Launch) -> None:
        self._architecture = self._clocks = self._shape = ""
        if _differ(first.capability, second.capability):
            self._architecture = f"Other architecture: {_capability(first)} and {_capability(second)}."
        if _differ(first.clock_control, second.clock_control):
            self._clocks = f"Other clock control: {first.clock_control} and {second.clock_control}."
        if first.name == second.name and _differ(first.threads, second.threads):
            self._shape = f"Other number of threads: {first.threads:,} and {second.threads:,}."

    def reason(self, name: str, unit: str) -> str:
        """Returns why, "" if they do."""
        if name.startswith(("launch__", "device__")):
            return ""
        if self._architecture and not (unit == "%" or name == DURATION or name.startswith("dram__")):
            return self._architecture
        if self._clocks and (unit in ("ns", "Hz") or unit.endswith("/s")):
            return self._clocks
        counts = unit != "%" and _COUNT.search(name) is not None
        return self._shape if counts else ""


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def _difference(
    name: str,
    first: tuple[MetricValue, str] | None,
    second: tuple[MetricValue, str] | None,
    judge: _Judge,
) -> MetricDifference:
    one, unit = first if first is not None else (None, "")
    other, other_unit = second if second is not None else (None, unit)
    unit = unit if first is not None else other_unit
    reason = _missing(one, other) or (
        f"Other unit: {unit or 'none'} and {other_unit or 'none'}."
        if unit != other_unit
        else judge.reason(name, unit)
    )
    difference = percent = None
    if not reason and isinstance(one, int | float) and isinstance(other, int | float):
        # Integers are subtracted as such: they exceed what a float tells apart.
        difference = float(other - one)
        percent = 100.0 * difference / abs(one) if one else None
    elif not reason and not (isinstance(one, str) and isinstance(other, str)):
        reason = "A number and a text."
    return MetricDifference(
        name=name,
        unit=unit,
        first=one,
        second=other,
        difference=difference,
        difference_pct=percent,
        reason=reason,
    )


def _missing(one: MetricValue, other: MetricValue) -> str:
    if one is None and other is None:
        return "Not measured."
    if one is None:
        return "Not measured in the first."
    return "Not measured in the second." if other is None else ""


def _doubts(first: _Launch, second: _Launch) -> tuple[str, ...]:
    """Returns what differs between two launches beside what was measured."""
    doubts = []
    if first.name != second.name:
        doubts.append("Two different kernels.")
    for what, one, other in zip(("grid", "block"), first.shape, second.shape, strict=True):
        if one != other:
            doubts.append(f"Other {what}: {one} and {other}.")
    return (*doubts, *_machine_doubts(first, second))


def _machine_doubts(first: _Launch, second: _Launch) -> tuple[str, ...]:
    doubts = []
    if first.device and second.device and first.device != second.device:
        doubts.append(f"Other device: {first.device} and {second.device}.")
    if _differ(first.capability, second.capability):
        doubts.append(f"Other architecture: {_capability(first)} and {_capability(second)}.")
    if _differ(first.clock_control, second.clock_control):
        doubts.append(f"Other clock control: {first.clock_control} and {second.clock_control}.")
    clocks = first.clock_hz, second.clock_hz
    if clocks[0] and clocks[1] and abs(clocks[1] / clocks[0] - 1) > _SAME_CLOCK:
        texts = [value_text(clock, "Hz") for clock in clocks]
        doubts.append(f"Other SM clock: {texts[0]} and {texts[1]}. Compare percentages, not durations.")
    # What follows the number is its build.
    stored = [launch.report.session.tool_version for launch in (first, second)]
    versions = [None if version is None else version.partition(" ")[0] for version in stored]
    if _differ(*versions):
        doubts.append(f"Other version of Nsight Compute: {versions[0]} and {versions[1]}.")
    return tuple(doubts)


def _capability(launch: _Launch) -> str:
    major, minor = divmod(launch.capability or 0, 10)
    return f"{major}.{minor}"
