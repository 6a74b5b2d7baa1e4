"""What is shown of one launch beside its sections: speed of light, rules, occupancy, stalls, session.

Like ``parts``, values that are ready to be drawn; None is not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core.analyses.report_view.parts import LabelledCell, LinePart, TablePart
    from core.tables.ncu import MetricValue

Severity = Literal["error", "warning", "optimization", "info", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBar:
    """How far something is used: % of its peak; ``level`` 1 is a part of the bar above it."""

    key: Literal["sm", "memory", "l1", "l2", "dram"]
    label: str
    pct: float | None
    metric: str
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """What a bar is the largest of, largest first; empty if it was not collected, ``note`` says how."""

    label: str
    rows: tuple[LabelledCell, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOfLight:
    """How near a launch is to what the device can do.

    Attributes:
        bars: SM, memory, and below it L1/TEX, L2 and DRAM.
        compute, memory: What the first two are made of.
        note: Why there is nothing to show, "".
    """

    bars: tuple[LoadBar, ...]
    compute: Breakdown
    memory: Breakdown
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRun:
    """Part of a text: plain, or a link. ``target``: identifier of a section, hex address, web address."""

    text: str
    kind: Literal["text", "section", "source", "url"] = "text"
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """One message of a rule."""

    severity: Severity
    title: str
    runs: tuple[TextRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusView:
    """A metric that a rule points at, with the value that it judged."""

    cell: LabelledCell
    severity: Literal["default", "low", "high"]
    info: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """What one rule says of one launch.

    Attributes:
        identifier: Of the rule.
        title: Of its first message that has one, else its name.
        severity: The gravest of its messages, "info" without any.
        section, section_title: Where it belongs; "" if that is not known.
        messages: In the order of the file; none of a rule that only adds a table or an estimate.
        speedup_pct: Estimated gain, None if it gives none.
        speedup_scope: "global" is of the launch, "local" of this aspect only; None.
        focus: Metrics it points at.
        tables: What it lists: instructions, metrics, and last its remarks on the code.
    """

    identifier: str
    title: str
    severity: Severity
    section: str
    section_title: str
    messages: tuple[RuleText, ...]
    speedup_pct: float | None
    speedup_scope: Literal["local", "global"] | None
    focus: tuple[FocusView, ...] = ()
    tables: tuple[TablePart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyLimit:
    """What bounds the blocks that fit on an SM at a time; ``is_limiter`` marks the smallest."""

    label: str
    blocks: int | None
    metric: str
    is_limiter: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyView:
    """How many warps an SM holds, and what bounds them.

    Attributes:
        curves: Warps an SM over registers a thread, shared memory a block and threads a block, with
            the launch's own place highlighted.
        limits: In the tool's order.
        theoretical_pct, achieved_pct: Of the warps that an SM holds at most.
        theoretical_warps, achieved_warps, most_warps: A multiprocessor.
        origin: "stored" curves are the report's, "computed" ones follow from the device's limits.
        note: Why there are no curves, "".
    """

    curves: tuple[LinePart, ...]
    limits: tuple[OccupancyLimit, ...]
    theoretical_pct: float | None
    achieved_pct: float | None
    theoretical_warps: float | None
    achieved_warps: float | None
    most_warps: float | None
    origin: Literal["stored", "computed"] | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StallBar:
    """A state of warps between two issues: cycles, and its share of all of them."""

    key: str
    label: str
    cycles: float
    share_pct: float
    metric: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StallView:
    """What warps did between two instructions, longest first.

    Attributes:
        bars: Cycles an issued instruction by state.
        cycles_per_issue: Their sum, None.
        note: Why there are none, "".
    """

    bars: tuple[StallBar, ...]
    cycles_per_issue: float | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFact:
    """One thing that the report says of itself; private ones are gone from a stripped report."""

    group: str
    label: str
    value: str
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeView:
    """An NVTX range that was open at the launch; ``depth`` 0 is the outermost, None start/end ranges."""

    name: str
    domain: str
    thread_id: int | None
    depth: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameView:
    """A frame of the host's stack at the launch; "" and None where it does not say."""

    symbol: str
    module: str
    file: str
    line: int | None
    address: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """A metric of two launches: ``second`` less ``first``, or why they cannot be compared.

    Attributes:
        name: Of the metric.
        unit: Of both and of the difference.
        first, second: Their values.
        difference: None where there is none.
        difference_pct: Of ``first``; None also where that is 0.
        reason: "" if they compare.
    """

    name: str
    unit: str
    first: MetricValue
    second: MetricValue
    difference: float | None
    difference_pct: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two launches side by side.

    Attributes:
        first_name, second_name: Their kernels.
        doubts: What differs between them beside what was measured: device, clocks, grid. Sentences.
        rows: Every metric of either.
    """

    first_name: str
    second_name: str
    doubts: tuple[str, ...]
    rows: tuple[MetricDifference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPair:
    """Launches of two reports that belong together; one row is None where it has no partner."""

    name: str
    first_row: int | None
    second_row: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportComparison:
    """Two reports, launch by launch."""

    doubts: tuple[str, ...]
    pairs: tuple[LaunchPair, ...]
