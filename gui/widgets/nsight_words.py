"""Words and figures of the Nsight page: launch facts, report facts, totals. No widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.analyses.report_view.words import value_text
from core.tables.columns import MISSING, NO_ROW
from core.units import (
    NOT_MEASURED,
    format_count,
    format_duration_ns,
)
from gui.plain_text import visible_text
from gui.reports.kernel_list import shape_text, sum_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.ncu import Report
    from gui.reports.kernel_list import KernelList

Pairs = list[tuple[str, str, str]]
"""(label, value, why) a line."""

_NO_METRIC: Final = "Not collected."
_LAUNCH: Final = (
    ("Registers", "launch__registers_per_thread", "register/thread"),
    ("Shared memory", "launch__shared_mem_per_block", "byte/block"),
    ("Waves per SM", "launch__waves_per_multiprocessor", ""),
    ("Theoretical occupancy", "sm__maximum_warps_per_active_cycle_pct", "%"),
    ("Achieved occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
)
CLOCK: Final = "smsp__cycles_elapsed.avg.per_second"
CLOCK_NOTE: Final = "Locked clocks: compare percentages, not durations, with a trace."


def launch_pairs(report: Report, row: int) -> Pairs:
    """Duration, shape and resources of a launch."""
    launches = report.launches
    duration_ns = int(launches.duration_ns[row])
    pairs = [
        (
            "Duration",
            format_duration_ns(None if duration_ns == MISSING else duration_ns),
            "At the clocks of profiling",
        ),
        ("Grid", shape_text(launches.grid[row].tolist()) or NOT_MEASURED, "Blocks in x, y and z"),
        ("Block", shape_text(launches.block[row].tolist()) or NOT_MEASURED, "Threads in x, y and z"),
    ]
    for label, metric, unit in _LAUNCH:
        value = report.metric(row, metric)
        pairs.append(
            (label, value_text(value, unit), metric if value is not None else f"{_NO_METRIC} {metric}")
        )
    stream, context = int(launches.stream[row]), int(launches.context[row])
    if stream != MISSING:
        pairs.append(("Stream", str(stream), "" if context == MISSING else f"Of context {context}"))
    return pairs


def report_pairs(report: Report, row: int, clocks: str) -> Pairs:
    """What the report is: its file, device, tool, clocks, metrics; ``clocks`` "" if it does not say."""
    device = report.device_of(row)
    clock = report.metric(row, CLOCK)
    process = int(report.launches.process_row[row])
    pairs = [
        ("File", visible_text(report.name), ""),
        ("Device", visible_text(device.name) if device and device.name else NOT_MEASURED, ""),
        ("Nsight Compute", version_words(report), ""),
        ("Clocks", visible_text(clocks) or NOT_MEASURED, "Told from the command line" if clocks else ""),
        ("SM clock", value_text(clock, "Hz"), "While it was profiled"),
        ("Metrics", format_count(len(report.metrics.rows_of(row))), "That were asked for"),
    ]
    if process != NO_ROW and report.processes[process].id is not None:
        pairs.append(
            ("Process", str(report.processes[process].id), visible_text(report.processes[process].name or ""))
        )
    return pairs


def version_words(report: Report) -> str:
    """The tool's version without its build: "2025.1.0.0"."""
    version = report.session.tool_version
    return visible_text(version.split(" ", 1)[0]) if version else NOT_MEASURED


def totals_words(kernels: KernelList, rows: Sequence[int], report: Report) -> str:
    """Of what is listed: how many kernels, their time, device and tool."""
    count = len(rows)
    parts = [f"{format_count(count)} {'kernel' if count == 1 else 'kernels'}"]
    whole_ns = sum_ns(kernels, rows)
    if whole_ns is not None:
        parts.append(f"Summed {format_duration_ns(whole_ns)}")
    devices = list(dict.fromkeys(visible_text(each.name) for each in report.devices if each.name))
    if devices:
        parts.append(devices[0] if len(devices) == 1 else f"{len(devices)} devices")
    if report.session.tool_version:
        parts.append(f"Nsight Compute {version_words(report)}")
    return "   ".join(parts)
