"""What a section of a report shows of one launch: tables, charts and rooflines with their values.

Nothing here knows a format: labels, numbers and units are ready to be drawn.
Numbers are in the base units of their metrics ("byte/s", "ns", "Hz", "%");
``words.cell_text`` scales and writes them. None is not measured ("n/a"), and a
part that has nothing to show says why in ``note``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.tables.columns import Float64, Int64, freeze_columns

if TYPE_CHECKING:
    from core.tables.ncu import MetricValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One value.

    Attributes:
        value: None is not measured.
        unit: In the vendor's words, of the value as it stands here; "" for a bare number or a text.
        metric: The vendor's name, "" for a text that is no metric.
        help: What a tip says: what the metric is, or why it has no value. "" for nothing.
        unit_in_title: The title of the column tells the unit: the value is written without it.
    """

    value: MetricValue
    unit: str = ""
    metric: str = ""
    help: str = ""
    unit_in_title: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCell:
    """A value with the words before it."""

    label: str
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column; its title may be empty, ``is_label`` tells the words of a row from its values."""

    title: str
    is_label: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """A table. If all titles are empty it has no header: it is a list of labels and values.

    Attributes:
        label: Above it, may be empty.
        rows: As many cells a row as there are columns; None is a place where nothing belongs.
        note: What it leaves out and why, or why it is empty; "".
    """

    label: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell | None, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis; limits and the number of ticks are None where they follow from the values."""

    label: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    ticks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar; a value of None is not measured and has no length."""

    label: str
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """Bars, one below the other, in the order in which they are shown."""

    label: str
    category: Axis
    value: Axis
    bars: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LineSeries:
    """One line: (n,) float64 each, ordered by ``xs``, no NaN."""

    label: str
    metric: str
    xs: Float64
    ys: Float64

    def __post_init__(self) -> None:
        freeze_columns(self, {"xs": np.float64, "ys": np.float64})


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """A place on the axis of categories that is marked: the value of this launch."""

    label: str
    x: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePart:
    """Lines over one axis."""

    label: str
    category: Axis
    value: Axis
    series: tuple[LineSeries, ...]
    highlighted: tuple[Highlight, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A ceiling at the clock during profiling; one of the two may be None, then it has no ridge."""

    label: str
    peak_flop_per_s: float | None
    peak_bytes_per_s: float | None

    @property
    def ridge_flop_per_byte(self) -> float | None:
        """Where both ceilings meet."""
        if self.peak_flop_per_s is None or not self.peak_bytes_per_s:
            return None
        return self.peak_flop_per_s / self.peak_bytes_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """What the launch achieved; it has a place only where both numbers are positive."""

    label: str
    intensity: float
    flop_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePart:
    """A roofline.

    Attributes:
        hidden: Labels of roofs that do not apply to this launch, as the report defines them.
        note: Why there is no point, or no roof; "".
    """

    label: str
    intensity_label: str
    work_label: str
    roofs: tuple[Roof, ...]
    points: tuple[RooflinePoint, ...]
    hidden: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TimelineSeries:
    """One metric over time.

    Attributes:
        times_ns: (n,) int64, ascending, from the start of the launch (negative before it); when each
            sample was taken.
        values: (n,) float64 in ``unit``, NaN where a sample holds none.
    """

    label: str
    metric: str
    unit: str
    times_ns: Int64
    values: Float64

    def __post_init__(self) -> None:
        freeze_columns(self, {"times_ns": np.int64, "values": np.float64})


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """Series of one unit that share a row and its scale; none if nothing was sampled, ``note`` says why."""

    label: str
    series: tuple[TimelineSeries, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if len({series.unit for series in self.series}) > 1:
            raise ValueError(f"{self.label}: series of several units share no scale")

    @property
    def unit(self) -> str:
        """Unit of all series, "" of none."""
        return self.series[0].unit if self.series else ""

    @property
    def largest(self) -> float:
        """The largest value of all series, 0 where no sample holds one."""
        known = (series.values[np.isfinite(series.values)] for series in self.series)
        return max((float(values.max()) for values in known if len(values)), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePart:
    """Metrics sampled while the launch ran, all rows on one axis.

    Series come from several replays of the launch; each is placed by the start of its own replay.

    Attributes:
        first_ns, last_ns: The axis; the launch starts at 0, or the first sample where that is not stored.
        launch_end_ns: When the launch ended, None where that is not stored.
    """

    label: str
    rows: tuple[TimelineRow, ...]
    first_ns: int
    last_ns: int
    launch_end_ns: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """Metrics that are shown by source line: the page leads to its source view from here."""

    label: str
    metrics: tuple[LabelledCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePart:
    """Something that has no values here, and why."""

    label: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPart:
    """Parts side by side."""

    parts: tuple[Part, ...]


Part = TablePart | BarPart | LinePart | RooflinePart | TimelinePart | SourcePart | NotePart | RowPart


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyView:
    """Parts one below the other; a section with several bodies lets the user choose one."""

    label: str
    parts: tuple[Part, ...]
    is_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionView:
    """One section of one launch.

    Attributes:
        identifier: Rules name it: "SpeedOfLight".
        title: "GPU Speed Of Light Throughput".
        order: Sections are shown by it; None (those of users) last.
        description: One paragraph, may be empty.
        header: What it says while it is folded, by rows.
        bodies: What it shows.
        parent: Identifier of the section that it belongs below, "".
        missing: Why it shows nothing, and the command that collects it; "" if it shows something.
    """

    identifier: str
    title: str
    order: int | None
    description: str
    header: tuple[tuple[LabelledCell, ...], ...]
    bodies: tuple[BodyView, ...]
    parent: str = ""
    missing: str = ""

    @property
    def items(self) -> tuple[Part, ...]:
        """Parts of all bodies, one below the other."""
        return tuple(part for body in self.bodies for part in body.parts)
