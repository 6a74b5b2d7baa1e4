"""From the sections that a report carries to ``core.tables.ncu_sections``."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from core.readers.ncu_report.schema import decode, text_of
from core.tables.ncu_sections import (
    EVERYWHERE,
    ArchFilter,
    BuiltinItem,
    BuiltinKind,
    ChartAxis,
    ItemRow,
    MetricOption,
    PlacedItem,
    RooflineChart,
    RooflineLine,
    RooflineRate,
    Section,
    SectionBody,
    SectionChart,
    SectionItem,
    SectionMetric,
    SectionTable,
    SuffixTable,
    Timeline,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_DEEPEST: Final = 16
_BUILTIN: Final[dict[str, BuiltinKind]] = {
    "shared": "memory_shared_table",
    "l1_old": "memory_l1_table",
    "l2_old": "memory_l2_table",
    "device_memory": "memory_device_table",
    "memory_chart": "memory_chart",
    "l1": "memory_l1_table",
    "l2": "memory_l2_table",
    "topology": "nvlink_topology",
    "links": "nvlink_properties",
    "throughput": "nvlink_throughput",
    "policies": "memory_l2_policy_table",
    "numa": "numa_table",
}


@lru_cache(maxsize=1024)
def decode_section(data: bytes) -> Section | None:
    """Decodes one section; None if it is broken. Reports of one version share theirs: it is kept."""
    section = decode("Section", data)
    if section is None:
        return None
    return Section(
        identifier=text_of(section.identifier),
        title=text_of(section.title) or text_of(section.identifier),
        description=text_of(section.description),
        order=section.order if section.HasField("order") else None,
        header=_metrics(section.header.metrics),
        header_rows=section.header.rows if section.header.HasField("rows") else None,
        bodies=tuple(_body(body) for body in section.bodies),
        metrics=_metrics(section.metrics.metrics) + _metrics(section.source_metrics.metrics),
        sets=tuple(text_of(each.id) for each in section.sets),
        extends=text_of(section.extends),
        definitions=tuple(
            (text_of(each.name), text_of(each.expression), _filter(each))
            for each in section.definitions.definitions
        ),
        groups=tuple((text_of(each.name), text_of(each.label)) for each in section.groups),
    )


def _body(body: Any) -> SectionBody:
    return SectionBody(
        label=text_of(body.label), items=_items(body.items, 0), is_default=bool(body.is_default)
    )


def _items(items: Any, depth: int) -> tuple[PlacedItem, ...]:
    if depth > _DEEPEST:
        return ()
    return tuple(PlacedItem(item=_item(item, depth), filter=_filter(item)) for item in items)


def _item(item: Any, depth: int) -> SectionItem:
    """Decodes what is set of an item; exactly one should be."""
    if item.HasField("row"):
        return ItemRow(items=_items(item.row.items, depth + 1))
    for field, make in _MAKERS.items():
        if item.HasField(field):
            return make(getattr(item, field))
    for field, kind in _BUILTIN.items():
        if item.HasField(field):
            return BuiltinItem(kind=kind, label=text_of(getattr(item, field).label))
    return BuiltinItem(kind="unknown", label="")


def _table(table: Any) -> SectionTable:
    return SectionTable(
        label=text_of(table.label),
        metrics=_metrics(table.metrics),
        rows=table.rows if table.HasField("rows") else None,
        columns=table.columns if table.HasField("columns") else None,
        by_column=table.order == 1,
        by_value=bool(table.sort_key),
    )


def _source_table(table: Any) -> SectionTable:
    return SectionTable(label=text_of(table.label), metrics=_metrics(table.metrics), per_source=True)


def _bar_chart(chart: Any) -> SectionChart:
    return replace(_histogram(chart), kind="bar", by_value=bool(chart.sort_key))


def _histogram(chart: Any) -> SectionChart:
    return SectionChart(
        kind="histogram",
        label=text_of(chart.label),
        metrics=_metrics(chart.metrics),
        category=_axis(chart.category),
        value=_axis(chart.value),
    )


def _line_chart(chart: Any) -> SectionChart:
    return replace(_histogram(chart), kind="line", highlight=_metrics(chart.highlight.metrics))


def _axis(axis: Any) -> ChartAxis:
    return ChartAxis(
        label=text_of(axis.label),
        low=float(axis.range.low) if axis.range.HasField("low") else None,
        high=float(axis.range.high) if axis.range.HasField("high") else None,
        ticks=axis.ticks if axis.HasField("ticks") else None,
        precision=axis.precision if axis.HasField("precision") else None,
    )


def _suffix_table(table: Any) -> SuffixTable:
    return SuffixTable(
        label=text_of(table.label),
        suffixes=tuple((text_of(each.suffix), text_of(each.label)) for each in table.suffixes.suffixes),
        bases=tuple(_option(each) for each in table.bases.metrics),
    )


def _timeline(timeline: Any) -> Timeline:
    return Timeline(
        label=text_of(timeline.label),
        rows=tuple(
            (text_of(row.label), tuple(_metric(each) for part in row.metrics for each in part.metrics))
            for row in timeline.rows
        ),
    )


def _roofline(chart: Any) -> RooflineChart:
    return RooflineChart(
        label=text_of(chart.label),
        intensity_label=text_of(chart.intensity.label),
        work_label=text_of(chart.work.label),
        roofs=tuple(_line(each) for each in chart.roofs),
        points=tuple(_line(each) for each in chart.points),
    )


def _line(line: Any) -> RooflineLine:
    shown_if = line.options.shown_if
    return RooflineLine(
        label=text_of(line.options.label),
        work=_rate(line.work),
        traffic=_rate(line.traffic),
        only_if_not_zero=_metric(shown_if.metric) if shown_if.HasField("metric") else None,
    )


def _rate(rate: Any) -> RooflineRate:
    if rate.HasField("metric"):
        return RooflineRate(metric=_metric(rate.metric))
    return RooflineRate(
        per_cycle=_metrics(rate.expression.per_cycle),
        cycles_per_second=_metric(rate.expression.cycles_per_second),
    )


_MAKERS: Final[dict[str, Callable[[Any], SectionItem]]] = {
    "table": _table,
    "bar": _bar_chart,
    "histogram": _histogram,
    "line": _line_chart,
    "roofline": _roofline,
    "source_table": _source_table,
    "suffix_table": _suffix_table,
    "timeline": _timeline,
}


def _metrics(places: Any) -> tuple[SectionMetric, ...]:
    return tuple(_metric(place) for place in places)


def _metric(place: Any) -> SectionMetric:
    own = (_option(place),) if place.name else ()
    return SectionMetric(
        options=own + tuple(_option(each, text_of(place.label)) for each in place.options),
        show_instances=bool(place.show_instances),
        unit=text_of(place.unit),
        multiplier=place.multiplier if place.HasField("multiplier") else 1.0,
        groups=tuple(text_of(each) for each in place.groups),
    )


def _option(option: Any, label: str = "") -> MetricOption:
    name = text_of(option.name)
    return MetricOption(name=name, label=text_of(option.label) or label or name, filter=_filter(option))


def _filter(filtered: Any) -> ArchFilter:
    if not filtered.HasField("filter"):
        return EVERYWHERE
    stored = filtered.filter
    ranges = [_range(each) for each in (stored, *stored.ranges)]
    return ArchFilter(ranges=tuple(each for each in ranges if each != (None, None)))


def _range(stored: Any) -> tuple[int | None, int | None]:
    return (
        stored.low if stored.HasField("low") else None,
        stored.high if stored.HasField("high") else None,
    )
