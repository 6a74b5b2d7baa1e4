"""Sections of a report as it lays them out: tables, charts and rooflines by the names of their metrics.

A report describes itself: which metrics stand in which table, under which
label, on which device. Nothing here holds a value; those are looked up in the
launch that is shown.

Source: section files of Nsight Compute, whose binary form a report carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BuiltinKind = Literal[
    "memory_chart",
    "memory_shared_table",
    "memory_device_table",
    "memory_l1_table",
    "memory_l2_table",
    "memory_l2_policy_table",
    "nvlink_topology",
    "nvlink_properties",
    "nvlink_throughput",
    "numa_table",
    "unknown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchFilter:
    """On which devices something applies.

    Attributes:
        ranges: (lowest, highest) ten times the compute capability, either None; any of them suffices.
    """

    ranges: tuple[tuple[int | None, int | None], ...] = ()

    def allows(self, compute_capability: int | None) -> bool:
        """Tells whether a device passes; one that is not known passes everything."""
        if compute_capability is None or not self.ranges:
            return True
        return any(
            (low is None or low <= compute_capability) and (high is None or compute_capability <= high)
            for low, high in self.ranges
        )


EVERYWHERE = ArchFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricOption:
    """A metric that stands in a place of a section on some devices."""

    name: str
    label: str
    filter: ArchFilter = EVERYWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionMetric:
    """A place of a section, and the metrics that may fill it.

    Attributes:
        options: The first one that the device passes is shown.
        show_instances: Whether its values by instance are meant.
        unit: Given by the section, "" where it follows from the metric.
        multiplier: The value is to be multiplied with it before it is shown.
        groups: Names of ``Section.groups``.
    """

    options: tuple[MetricOption, ...]
    show_instances: bool = False
    unit: str = ""
    multiplier: float = 1.0
    groups: tuple[str, ...] = ()

    def resolve(self, compute_capability: int | None) -> MetricOption | None:
        """Returns what to show on a device, None if nothing."""
        return next((each for each in self.options if each.filter.allows(compute_capability)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionTable:
    """Labels and values, or the source hot spots of a metric.

    Attributes:
        rows, columns: How it is folded, None if the section does not say.
        by_column: Whether it is filled column by column.
        by_value: Whether its rows are ordered by value, largest first.
        per_source: Whether its metrics are shown by source line.
    """

    label: str
    metrics: tuple[SectionMetric, ...]
    rows: int | None = None
    columns: int | None = None
    by_column: bool = False
    by_value: bool = False
    per_source: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartAxis:
    """An axis; None where the section does not say."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: int | None = None
    precision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionChart:
    """A chart of metrics.

    Attributes:
        kind: "bar", "histogram" (of instances) or "line" (over instances).
        category, value: Axes.
        by_value: Whether bars are ordered by value, largest first.
        highlight: Metrics whose values are marked on the axis of categories.
    """

    kind: Literal["bar", "histogram", "line"]
    label: str
    metrics: tuple[SectionMetric, ...]
    category: ChartAxis = ChartAxis()
    value: ChartAxis = ChartAxis()
    by_value: bool = False
    highlight: tuple[SectionMetric, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuffixTable:
    """A table whose cell is the metric of its row's name and its column's suffix.

    Attributes:
        suffixes: (suffix, label) a column.
        bases: The rows; their names want a suffix.
    """

    label: str
    suffixes: tuple[tuple[str, str], ...]
    bases: tuple[MetricOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Metrics sampled over time.

    Attributes:
        rows: (label, metrics) a row, drawn on one axis of time.
    """

    label: str
    rows: tuple[tuple[str, tuple[SectionMetric, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinItem:
    """A table or chart of the tool whose content is implied by its kind."""

    kind: BuiltinKind
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRate:
    """A rate in FLOP/s or byte/s: one metric as it is, or a sum of counts a cycle times cycles a second.

    Attributes:
        metric: None if it is the sum.
        per_cycle: Metrics to be summed; one may stand twice.
        cycles_per_second: Metric.
    """

    metric: SectionMetric | None = None
    per_cycle: tuple[SectionMetric, ...] = ()
    cycles_per_second: SectionMetric | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineLine:
    """A roof (peaks) or a point (achieved).

    Attributes:
        only_if_not_zero: It is shown only where this metric is not 0, None.
    """

    label: str
    work: RooflineRate
    traffic: RooflineRate
    only_if_not_zero: SectionMetric | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineChart:
    """A roofline as a section defines it."""

    label: str
    intensity_label: str
    work_label: str
    roofs: tuple[RooflineLine, ...]
    points: tuple[RooflineLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """Items side by side."""

    items: tuple[PlacedItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedItem:
    """An item and the devices on which it is shown."""

    item: SectionItem
    filter: ArchFilter = EVERYWHERE


SectionItem = SectionTable | SectionChart | SuffixTable | Timeline | BuiltinItem | RooflineChart | ItemRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionBody:
    """Items one below the other; a section may have several bodies to choose from."""

    label: str
    items: tuple[PlacedItem, ...]
    is_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section.

    Attributes:
        identifier: "SpeedOfLight"; rules name it.
        title: "GPU Speed Of Light Throughput".
        description: One paragraph.
        order: Sections are shown by it; None (those of users) last.
        header: Metrics shown while it is folded, and in how many rows.
        bodies: What it shows.
        metrics: Further metrics that it collects.
        sets: Names of the sets that it belongs to.
        extends: Identifier of the section that it belongs below, "".
        definitions: (name, expression, filter) of metrics computed from others.
        groups: (name, label).
    """

    identifier: str
    title: str
    description: str = ""
    order: int | None = None
    header: tuple[SectionMetric, ...] = ()
    header_rows: int | None = None
    bodies: tuple[SectionBody, ...] = ()
    metrics: tuple[SectionMetric, ...] = ()
    sets: tuple[str, ...] = ()
    extends: str = ""
    definitions: tuple[tuple[str, str, ArchFilter], ...] = ()
    groups: tuple[tuple[str, str], ...] = ()
