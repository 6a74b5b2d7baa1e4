"""What was counted at each instruction of a launch: samples, reasons for stalls, executions, sectors.

Metrics by instruction have addresses as keys. Names differ by version of the
tool: of each quantity the first that was collected counts.

Source: Nsight Compute documentation, "Source Metrics" and "Warp Stall Reasons" (2025.1); sums of
instances equal the values of their metrics in the reports at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.report_view.launch import LaunchMetrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.analyses.report_view.launch import InstanceReader
    from core.tables.columns import Float64
    from core.tables.ncu import Instances, Report

_STALL: Final = "smsp__pcsamp_warps_issue_stalled_"
_NOT_ISSUED: Final = "_not_issued"
_SAMPLES: Final = "smsp__pcsamp_sample_count"
QUANTITIES: Final = {
    "executed": ("inst_executed",),
    "threads_executed": ("thread_inst_executed",),
    "l2_sectors": ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global"),
    "l2_sectors_ideal": (
        "memory_l2_theoretical_sectors_global_ideal",
        "memory_l2_sectors_global_ideal",
    ),
    "shared_wavefronts": ("memory_l1_wavefronts_shared", "memory_l1_sectors_shared"),
    "shared_wavefronts_ideal": ("memory_l1_wavefronts_shared_ideal", "memory_l1_sectors_shared_ideal"),
}
"""Our name of a quantity to the metrics that count it, newest first."""


@dataclass(frozen=True, slots=True, eq=False)
class InstructionSums:
    """Counts by instruction.

    Attributes:
        address: (n,) uint64, ordered.
        counts: Name of a quantity ("samples" and those of ``QUANTITIES``) to (n,) float64; a quantity
            that was not collected is missing.
        stalls: Reason of a stall to (n,) float64 samples.
        not_issued: (n,) float64 samples in which no warp of the scheduler issued; None if not collected.
    """

    address: NDArray[np.uint64]
    counts: dict[str, Float64]
    stalls: dict[str, Float64]
    not_issued: Float64 | None

    def __len__(self) -> int:
        return len(self.address)


def instruction_sums(report: Report, launch_row: int, read_instances: InstanceReader) -> InstructionSums:
    """Gathers what was counted at each instruction; empty if nothing was.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: From a row of ``Report.metrics`` to its values by instance.
    """
    launch = LaunchMetrics(report, launch_row, read_instances)
    stored: dict[str, Instances] = {}
    for key, names in QUANTITIES.items():
        found = next((each for name in names if (each := _by_address(launch, name)) is not None), None)
        if found is not None:
            stored[key] = found
    if (counted := _by_address(launch, _SAMPLES)) is not None:
        stored["samples"] = counted
    for name in launch:
        if name.startswith(_STALL) and (sampled := _by_address(launch, name)) is not None:
            stored[name] = sampled
    if not stored:
        return InstructionSums(np.empty(0, np.uint64), {}, {}, None)
    address = np.unique(np.concatenate([each.key for each in stored.values()]))
    sums = {key: _sums(address, each) for key, each in stored.items()}
    stalls = {
        key.removeprefix(_STALL): values
        for key, values in sums.items()
        if key.startswith(_STALL) and not key.endswith(_NOT_ISSUED)
    }
    held = [values for key, values in sums.items() if key.startswith(_STALL) and key.endswith(_NOT_ISSUED)]
    counts = {key: values for key, values in sums.items() if not key.startswith(_STALL)}
    if "samples" not in counts and stalls:
        # Every sample has one reason, "selected" for a warp that issued.
        counts["samples"] = np.sum(list(stalls.values()), axis=0)
    return InstructionSums(address, counts, stalls, np.sum(held, axis=0) if held else None)


def _by_address(launch: LaunchMetrics, name: str) -> Instances | None:
    found = launch.instances(name)
    return None if found is None or found.key_texts or found.is_time_series else found


def _sums(address: NDArray[np.uint64], found: Instances) -> Float64:
    places = np.searchsorted(address, found.key)
    return np.bincount(places, np.nan_to_num(found.number), len(address)).astype(np.float64)
