"""What warps did between two issued instructions, by the reason for which they did not issue.

Source: Nsight Compute documentation, "Warp Stall Reasons" (2025.1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from core.analyses.report_view.collecting import how_to_collect
from core.analyses.report_view.facts import StallBar, StallView
from core.analyses.report_view.launch import LaunchMetrics

if TYPE_CHECKING:
    from core.analyses.report_view.launch import InstanceReader
    from core.tables.ncu import Report

_NAME: Final = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
_OLD_NAME: Final = re.compile(r"smsp__average_warp_latency_issue_stalled_(\w+)\.ratio")
_REASONS: Final = {
    "barrier": ("Barrier", "Waiting for the other warps of the block at a barrier."),
    "branch_resolving": ("Branch resolving", "Waiting for the target of a branch and its next instruction."),
    "dispatch_stall": ("Dispatch stall", "Chosen, and held back by a conflict in the dispatcher."),
    "drain": ("Drain", "After its exit, waiting for its last stores to leave."),
    "gmma": ("GMMA", "Waiting for matrix instructions of the warp group."),
    "imc_miss": (
        "Constant cache miss",
        "Waiting for a constant that is not in the immediate constant cache.",
    ),
    "lg_throttle": (
        "LG throttle",
        "Waiting for a place in the queue of local and global memory instructions.",
    ),
    "long_scoreboard": (
        "Long scoreboard",
        "Waiting for data of L1/TEX: global, local, texture or surface memory.",
    ),
    "math_pipe_throttle": ("Math pipe throttle", "Waiting for an execution pipe that others are using."),
    "membar": ("Memory barrier", "Waiting at a memory barrier."),
    "mio_throttle": (
        "MIO throttle",
        "Waiting for a place in the queue of special and shared memory instructions.",
    ),
    "misc": ("Other", "Stalled for another reason."),
    "no_instruction": (
        "No instruction",
        "Waiting for its next instruction: not in the cache, or after a jump.",
    ),
    "no_instructions": (
        "No instruction",
        "Waiting for its next instruction: not in the cache, or after a jump.",
    ),
    "not_selected": ("Not selected", "Ready, while the scheduler issued another warp."),
    "selected": ("Selected", "Issued: the cycle in which the instruction itself went out."),
    "short_scoreboard": ("Short scoreboard", "Waiting for data of shared memory or of a special function."),
    "sleeping": ("Sleeping", "All its threads are sleeping."),
    "tex_throttle": ("TEX throttle", "Waiting for a place in the queue of texture instructions."),
    "wait": ("Wait", "Waiting for the fixed latency of its last instruction."),
    "warpgroup_arrive": ("Warp group arrive", "Waiting for the other warps of its warp group."),
    "tmem": ("Tensor memory", "Waiting for tensor memory."),
}
_SECTION: Final = "WarpStateStats"


def stall_view(report: Report, launch_row: int, read_instances: InstanceReader) -> StallView:
    """Returns the states of warps, longest first; those of 0 cycles are left out.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: As for ``section_views``; nothing is asked of it.
    """
    launch = LaunchMetrics(report, launch_row, read_instances)
    cycles: dict[str, tuple[float, str]] = {}
    for name in launch:
        found = _NAME.fullmatch(name) or _OLD_NAME.fullmatch(name)
        value = launch.number(name) if found is not None else None
        if found is not None and value is not None:
            cycles.setdefault(found[1], (value, name))
    total = sum(value for value, _ in cycles.values())
    if not cycles:
        return StallView(bars=(), cycles_per_issue=None, note=how_to_collect(_SECTION))
    bars = [
        _bar(key, value, 100.0 * value / total, name) for key, (value, name) in cycles.items() if value > 0
    ]
    return StallView(
        bars=tuple(sorted(bars, key=lambda bar: -bar.cycles)),
        cycles_per_issue=total,
        note="" if bars else "No instruction was issued.",
    )


def reason_words(key: str) -> tuple[str, str]:
    """Returns label and meaning of a reason, as metrics name it."""
    return _REASONS.get(key, (key.replace("_", " ").capitalize(), ""))


def _bar(key: str, cycles: float, share_pct: float, metric: str) -> StallBar:
    label, text = reason_words(key)
    return StallBar(key=key, label=label, cycles=cycles, share_pct=share_pct, metric=metric, help=text)
