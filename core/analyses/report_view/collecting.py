"""How to collect what a report does not hold: the command of the tool, by what is missing.

Source: Nsight Compute CLI documentation, "Sections and Rules" and "Sets" (2025.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_BASIC: Final = frozenset({"SpeedOfLight", "LaunchStats", "Occupancy", "WorkloadDistribution"})
_FULL: Final = (
    "MemoryWorkloadAnalysis",
    "ComputeWorkloadAnalysis",
    "SchedulerStats",
    "WarpStateStats",
    "InstructionStats",
    "SourceCounters",
    "PmSampling",
    "Nvlink",
    "NumaAffinity",
)
_ROOFLINE: Final = "Roofline"


def how_to_collect(identifier: str, sets: Iterable[str] = ()) -> str:
    """Returns "Not collected: run `ncu --set full`.", or the option that collects the section.

    Args:
        identifier: Of the section.
        sets: Names of the sets that it belongs to, where they are known.
    """
    return f"Not collected: run `ncu {_option(identifier, tuple(sets))}`."


def _option(identifier: str, sets: tuple[str, ...]) -> str:
    if _ROOFLINE in identifier:
        return "--set roofline"
    if identifier in _BASIC:
        return "--set basic"
    if "full" in sets or (not sets and identifier.startswith(_FULL)):
        return "--set full"
    named = next((name for name in sets if name), "")
    if named:
        return f"--set {named}"
    return f"--section {identifier}" if identifier else "--set full"
