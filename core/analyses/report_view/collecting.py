"""How to collect what a report does not hold: the command of the tool, by what is missing.

Source: Nsight Compute CLI documentation, "Sections and Rules" and "Sets" (2025.1); sets of sections as
stored in reports of 2023.2 to 2026.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.tables.ncu_terms import MEMORY_PCT, SM_PCT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.analyses.report_view.launch import LaunchMetrics

_BASIC: Final = frozenset({"SpeedOfLight", "LaunchStats", "Occupancy", "WorkloadDistribution"})
_IN_ROOFLINE_TOO: Final = frozenset({"SpeedOfLight", "WorkloadDistribution"})
_ALONE: Final = "Occupancy"
"""In no set but the basic one and those that hold much more: it is named itself."""
_OF_BASIC: Final = "--set basic"
_OF_ROOFLINE: Final = "--set roofline"
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


def how_to_collect(identifier: str, sets: Iterable[str] = (), *, with_roofline: bool = False) -> str:
    """Returns "Not collected: run `ncu --set full`.", or the option that collects the section.

    Args:
        identifier: Of the section.
        sets: Names of the sets that it belongs to, where they are known.
        with_roofline: Whether what the verdict needs is missing too: then it is one command for both, with
            the set that the verdict asks for.
    """
    option = _option(identifier, tuple(sets))
    if with_roofline and identifier == _ALONE:
        option = f"{_OF_ROOFLINE} {option}"
    elif with_roofline and option == _OF_BASIC:
        option = _OF_ROOFLINE if identifier in _IN_ROOFLINE_TOO else "--set full"
    return f"Not collected: run `ncu {option}`."


def lacks_throughput(launch: LaunchMetrics) -> bool:
    """Tells whether a launch lacks what its verdict needs, which then asks for ``--set roofline``."""
    return launch.number(SM_PCT) is None or launch.number(MEMORY_PCT) is None


def _option(identifier: str, sets: tuple[str, ...]) -> str:
    if _ROOFLINE in identifier:
        return _OF_ROOFLINE
    if identifier == _ALONE:
        return f"--section {identifier}"
    if identifier in _BASIC:
        return _OF_BASIC
    if "full" in sets or (not sets and identifier.startswith(_FULL)):
        return "--set full"
    named = next((name for name in sets if name), "")
    if named:
        return f"--set {named}"
    return f"--section {identifier}" if identifier else "--set full"
