"""Metrics that were sampled while a launch ran, on one axis of time.

Metrics are sampled in several replays of the launch, seconds apart. Each series
is placed by the start of the replay that it was taken in, so that all of them
are of the same launch for the reader. A report puts percentages and counts into
one row; here each unit has a row, so that a row has one scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.report_view.launch import NOT_COLLECTED
from core.analyses.report_view.parts import TimelinePart, TimelineRow, TimelineSeries
from core.tables.columns import Float64, Int64

if TYPE_CHECKING:
    from core.analyses.report_view.launch import LaunchMetrics
    from core.tables.ncu_sections import SectionMetric, Timeline

_START: Final = "profiler__timestamp_workload_start_"
_END: Final = "profiler__timestamp_workload_end_"
_MOST_REPLAYS: Final = 64
_LAST_NS: Final = 2**62


@dataclass(frozen=True, slots=True)
class _Replay:
    """Start and end of the launch in one replay, ns since the epoch."""

    start_ns: int
    end_ns: int | None


def timeline_part(timeline: Timeline, launch: LaunchMetrics) -> TimelinePart:
    """Fills the rows of a timeline."""
    replays = _replays(launch)
    rows = []
    used: list[_Replay] = []
    for label, metrics in timeline.rows:
        series = []
        for metric in metrics:
            found = _series(metric, launch, replays)
            if found is not None:
                series.append(found[0])
                used += [found[1]] if found[1] is not None else []
        rows += _rows(label, series)
    ends = [replay.end_ns - replay.start_ns for replay in used if replay.end_ns is not None]
    all_series = [series for row in rows for series in row.series if len(series.times_ns)]
    return TimelinePart(
        label=timeline.label,
        rows=tuple(rows),
        first_ns=min((int(series.times_ns[0]) for series in all_series), default=0),
        last_ns=max((int(series.times_ns[-1]) for series in all_series), default=0),
        launch_end_ns=max(ends, default=None),
        note="" if all_series else NOT_COLLECTED,
    )


def _rows(label: str, series: list[TimelineSeries]) -> list[TimelineRow]:
    """Returns a row for each unit; where there are several, its words are those of its series too."""
    if not series:
        return [TimelineRow(label=label, series=(), note=NOT_COLLECTED)]
    by_unit: dict[str, list[TimelineSeries]] = {}
    for each in series:
        by_unit.setdefault(each.unit, []).append(each)
    return [
        TimelineRow(
            label=label if len(by_unit) == 1 else f"{label}: {_names(alike)}".removeprefix(": "),
            series=tuple(alike),
        )
        for alike in by_unit.values()
    ]


def _names(series: list[TimelineSeries]) -> str:
    return ", ".join(each.label or each.metric for each in series)


def _series(
    metric: SectionMetric, launch: LaunchMetrics, replays: list[_Replay]
) -> tuple[TimelineSeries, _Replay | None] | None:
    option = metric.resolve(launch.compute_capability)
    found = None if option is None else launch.instances(option.name)
    if option is None or found is None or not found.is_time_series:
        return None
    scaled = found.number * metric.multiplier
    scaled[np.isinf(scaled)] = np.nan
    times_ns, values = _in_order(np.minimum(found.key, _LAST_NS).astype(np.int64), scaled)
    replay = _replay_of(times_ns, replays)
    origin_ns = int(times_ns[0]) if replay is None else replay.start_ns
    series = TimelineSeries(
        label=option.label,
        metric=option.name,
        unit=metric.unit or launch.unit(option.name),
        times_ns=times_ns - origin_ns,
        values=values,
    )
    return series, replay


def _in_order(times_ns: Int64, values: Float64) -> tuple[Int64, Float64]:
    order = np.argsort(times_ns, kind="stable")
    return times_ns[order], values[order]


def _replay_of(times_ns: Int64, replays: list[_Replay]) -> _Replay | None:
    """Returns the replay that began while the samples were taken."""
    return next((each for each in replays if times_ns[0] <= each.start_ns <= times_ns[-1]), None)


def _replays(launch: LaunchMetrics) -> list[_Replay]:
    replays = []
    for number in range(_MOST_REPLAYS):
        start_ns = _moment(launch, f"{_START}{number}")
        if start_ns is None:
            break
        replays.append(_Replay(start_ns, _moment(launch, f"{_END}{number}")))
    return replays


def _moment(launch: LaunchMetrics, name: str) -> int | None:
    """Returns a moment, which is stored as the key of the only instance."""
    found = launch.instances(name)
    if found is None or not found.is_time_series:
        return None
    return min(int(found.key[0]), _LAST_NS)
