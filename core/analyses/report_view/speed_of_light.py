"""Speed of light of a launch: how far multiprocessors, caches and memory are used, and by what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from core.analyses.report_view.collecting import how_to_collect, lacks_throughput
from core.analyses.report_view.facts import Breakdown, LoadBar, SpeedOfLight
from core.analyses.report_view.launch import LaunchMetrics
from core.analyses.report_view.metric_words import label_parts
from core.analyses.report_view.parts import LabelledCell
from core.analyses.report_view.tables import by_value
from core.tables.ncu_terms import MEMORY_PCT, SM_PCT

if TYPE_CHECKING:
    from core.analyses.report_view.launch import InstanceReader
    from core.tables.ncu import Report

_Key = Literal["sm", "memory", "l1", "l2", "dram"]
_BARS: Final[tuple[tuple[_Key, str, int, tuple[str, ...]], ...]] = (
    ("sm", "SM", 0, (SM_PCT,)),
    ("memory", "Memory", 0, (MEMORY_PCT, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_active")),
    (
        "l1",
        "L1/TEX",
        1,
        (
            "l1tex__throughput.avg.pct_of_peak_sustained_active",
            "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    (
        "l2",
        "L2",
        1,
        (
            "lts__throughput.avg.pct_of_peak_sustained_elapsed",
            "lts__throughput.avg.pct_of_peak_sustained_active",
        ),
    ),
    (
        "dram",
        "DRAM",
        1,
        (
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
)
_SECTION: Final = "SpeedOfLight"
_MOST_NAMES: Final = 500


def speed_of_light(report: Report, launch_row: int, read_instances: InstanceReader) -> SpeedOfLight:
    """Returns how far a launch is from what its device can do, in % of peaks at the clocks during profiling.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: As for ``section_views``; nothing is asked of it.
    """
    launch = LaunchMetrics(report, launch_row, read_instances)
    bars = []
    for key, label, level, names in _BARS:
        name = launch.first(names)
        bars.append(LoadBar(key=key, label=label, pct=launch.number(name), metric=name, level=level))
    has_values = any(bar.pct is not None for bar in bars)
    return SpeedOfLight(
        bars=tuple(bars),
        compute=_breakdown("SM breakdown", SM_PCT, "SM", launch),
        memory=_breakdown("Memory breakdown", MEMORY_PCT, "", launch),
        note="" if has_values else how_to_collect(_SECTION, with_roofline=lacks_throughput(launch)),
    )


def _breakdown(label: str, metric: str, own_unit: str, launch: LaunchMetrics) -> Breakdown:
    """Returns the counters that a metric is the largest of; ``own_unit`` is not repeated in their labels."""
    listed = (name.strip() for name in launch.text(f"breakdown:{metric}").split(","))
    names = list(dict.fromkeys(name for name in listed if name))[:_MOST_NAMES]
    cells = [LabelledCell(label=_label(name, own_unit), cell=launch.cell(name)) for name in names]
    rows = tuple(sorted((each for each in cells if each.cell.value is not None), key=by_value))
    note = "" if rows else how_to_collect(_SECTION, with_roofline=lacks_throughput(launch))
    return Breakdown(label=label, rows=rows, note=note)


def _label(name: str, own_unit: str) -> str:
    unit, words = label_parts(name)
    if unit in ("", own_unit) or words.startswith(unit):
        return words
    # Words that are no abbreviation go on in small letters.
    is_word = len(words) > 1 and words[1].islower()
    return f"{unit}, {words[:1].lower() + words[1:] if is_word else words}"
