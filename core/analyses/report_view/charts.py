"""Bar, line and roofline charts and timelines of a section, filled with the values of a launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.ncu_roofline import evaluate_rate
from core.analyses.report_view.launch import NOT_COLLECTED
from core.analyses.report_view.parts import (
    Axis,
    Bar,
    BarPart,
    Cell,
    Highlight,
    LabelledCell,
    LinePart,
    LineSeries,
    Roof,
    RooflinePart,
    RooflinePoint,
)
from core.analyses.report_view.tables import by_value, labelled

if TYPE_CHECKING:
    from core.analyses.report_view.launch import LaunchMetrics
    from core.tables.ncu import Instances
    from core.tables.ncu_sections import (
        ChartAxis,
        MetricOption,
        RooflineChart,
        RooflineLine,
        RooflineRate,
        SectionChart,
        SectionMetric,
    )

_BINS: Final = 20
_MOST_BARS: Final = 200
_MOST_TICKS: Final = 101


def bar_part(chart: SectionChart, launch: LaunchMetrics) -> BarPart:
    """Fills a bar chart: a bar a metric, or a bar an instance where those are meant."""
    cells: list[LabelledCell] = []
    for metric in chart.metrics:
        if metric.show_instances:
            cells += _instance_cells(metric, launch)
        else:
            cells += labelled((metric,), launch)
    if chart.by_value:
        cells.sort(key=by_value)
    note = ""
    if all(each.cell.value is None for each in cells):
        cells, note = [], NOT_COLLECTED
    elif len(cells) > _MOST_BARS:
        cells, note = cells[:_MOST_BARS], f"The largest {_MOST_BARS} of {len(cells)}."
    units = {each.cell.unit for each in cells}
    unit = units.pop() if len(units) == 1 else ""
    return BarPart(
        label=chart.label,
        category=_axis(chart.category),
        value=_axis(chart.value, unit),
        bars=tuple(Bar(label=each.label, cell=each.cell) for each in cells),
        note=note,
    )


def _instance_cells(metric: SectionMetric, launch: LaunchMetrics) -> list[LabelledCell]:
    """Returns the values by instance of a metric, largest first."""
    option = metric.resolve(launch.compute_capability)
    found = None if option is None else launch.instances(option.name)
    if option is None or found is None:
        return []
    unit = metric.unit or launch.unit(option.name)
    labels = _keys(found)
    values = found.number * metric.multiplier
    order = [place for place in np.argsort(-values, kind="stable").tolist() if np.isfinite(values[place])]
    return [
        LabelledCell(
            label=labels[place], cell=Cell(value=float(values[place]), unit=unit, metric=option.name)
        )
        for place in order
    ]


def _keys(found: Instances) -> list[str]:
    texts = found.key_texts or ("",) * len(found)
    return [text or str(key) for text, key in zip(texts, found.key.tolist(), strict=True)]


def histogram_part(chart: SectionChart, launch: LaunchMetrics) -> BarPart:
    """Counts the values by instance of the metrics of a histogram."""
    parts = []
    unit = ""
    for metric in chart.metrics:
        option = metric.resolve(launch.compute_capability)
        found = None if option is None else launch.instances(option.name)
        if option is not None and found is not None:
            values = found.number * metric.multiplier
            parts.append(values[np.isfinite(values)])
            unit = metric.unit or launch.unit(option.name)
    values = np.concatenate([np.empty(0), *parts])
    bars: tuple[Bar, ...] = ()
    if len(values):
        low, high = float(values.min()), float(values.max())
        # Edges that differ by less than a float can tell make no bins.
        bins = _BINS if high - low > 1e-9 * max(abs(low), abs(high)) else 1
        counts, edges = np.histogram(values, bins, (low, high) if bins > 1 else (low - 0.5, high + 0.5))
        bars = tuple(
            Bar(label=f"{begin:.4g} to {end:.4g}", cell=Cell(value=count))
            for count, begin, end in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
        )
    return BarPart(
        label=chart.label,
        category=_axis(chart.category, unit),
        value=_axis(chart.value),
        bars=bars,
        note="" if bars else NOT_COLLECTED,
    )


def line_part(chart: SectionChart, launch: LaunchMetrics) -> LinePart:
    """Fills a line chart over the keys of instances, and marks where the launch stands."""
    series = []
    unit, was_asked = "", False
    for metric in chart.metrics:
        option = metric.resolve(launch.compute_capability)
        if option is None:
            continue
        was_asked |= option.name in launch
        unit = metric.unit or launch.unit(option.name)
        line = _series(option, metric.multiplier, launch)
        series += [line] if line is not None else []
    marks = [
        Highlight(label=each.label, x=float(each.cell.value))
        for each in labelled(chart.highlight, launch)
        if isinstance(each.cell.value, int | float)
    ]
    note = "This launch has no values for it." if was_asked else NOT_COLLECTED
    return LinePart(
        label=chart.label,
        category=_axis(chart.category),
        value=_axis(chart.value, unit),
        series=tuple(series),
        highlighted=tuple(marks) if series else (),
        note="" if series else note,
    )


def _series(option: MetricOption, multiplier: float, launch: LaunchMetrics) -> LineSeries | None:
    found = launch.numbers_by_key(option.name)
    if found is None:
        return None
    values = found[1] * multiplier
    kept = np.isfinite(values)
    return LineSeries(label=option.label, metric=option.name, xs=found[0][kept], ys=values[kept])


def roofline_part(chart: RooflineChart, launch: LaunchMetrics) -> RooflinePart:
    """Evaluates the roofs and points of a roofline chart, and hides what its options hide."""
    shown = [_is_shown(line, launch) for line in chart.roofs]
    hidden = tuple(line.label for line, is_shown in zip(chart.roofs, shown, strict=True) if not is_shown)
    roofs = []
    for line, is_shown in zip(chart.roofs, shown, strict=True):
        if is_shown:
            work, traffic = (_positive(_rate(rate, launch)) for rate in (line.work, line.traffic))
            if work or traffic:
                roofs.append(Roof(label=line.label, peak_flop_per_s=work, peak_bytes_per_s=traffic))
    # A point stands beside its roof in the definition; what hides the roof is that it did no work.
    has_work = shown if len(chart.points) == len(shown) else [True] * len(chart.points)
    points, idle = _points(
        [line for line, works in zip(chart.points, has_work, strict=True) if works], launch
    )
    return RooflinePart(
        label=chart.label,
        intensity_label=chart.intensity_label,
        work_label=chart.work_label,
        roofs=tuple(roofs),
        points=tuple(points),
        hidden=hidden,
        note="" if points else _no_points(bool(roofs or hidden), bool(idle or hidden)),
    )


def _points(lines: list[RooflineLine], launch: LaunchMetrics) -> tuple[list[RooflinePoint], int]:
    """Returns the points that have a place, and how many did no work."""
    points, idle = [], 0
    for line in lines:
        work = _rate(line.work, launch)
        idle += work == 0
        traffic = _positive(_rate(line.traffic, launch)) if work else None
        if work and traffic and work > 0 and math.isfinite(work / traffic):
            points.append(RooflinePoint(label=line.label, intensity=work / traffic, flop_per_s=work))
    return points, idle


def _positive(value: float | None) -> float | None:
    return value if value is not None and value > 0 else None


def _no_points(has_roofs: bool, is_idle: bool) -> str:
    if not has_roofs:
        return NOT_COLLECTED
    return (
        "The launch has no operations of these types."
        if is_idle
        else "The counters of its work or traffic were not collected."
    )


def _is_shown(line: RooflineLine, launch: LaunchMetrics) -> bool:
    """Tells whether the metric that a roof depends on is not 0; one that was not collected hides it too."""
    if line.only_if_not_zero is None:
        return True
    option = line.only_if_not_zero.resolve(launch.compute_capability)
    return option is not None and bool(launch.number(option.name))


def _rate(rate: RooflineRate, launch: LaunchMetrics) -> float | None:
    """Evaluates a rate; what is not stored and defined by a section is computed."""
    found = evaluate_rate(launch.report, launch.row, rate)
    if found is not None or rate.cycles_per_second is None or not rate.per_cycle:
        return found
    clock = _number(rate.cycles_per_second, launch)
    counts = [_number(each, launch) for each in rate.per_cycle]
    known = [count for count in counts if count is not None]
    if clock is None or len(known) < len(counts):
        return None
    value = sum(known) * clock
    return value if math.isfinite(value) else None


def _number(metric: SectionMetric, launch: LaunchMetrics) -> float | None:
    option = metric.resolve(launch.compute_capability)
    number = None if option is None else launch.number(option.name)
    return None if number is None else number * metric.multiplier


def _axis(axis: ChartAxis, unit: str = "") -> Axis:
    has_range = axis.low is not None and axis.high is not None and axis.low < axis.high
    return Axis(
        label=axis.label,
        unit=unit,
        low=axis.low if has_range or axis.high is None else None,
        high=axis.high if has_range or axis.low is None else None,
        ticks=axis.ticks if axis.ticks and axis.ticks <= _MOST_TICKS else None,
    )
