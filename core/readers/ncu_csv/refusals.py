"""Why a file holds no table of Nsight Compute, in words that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.errors import DashboardError
from core.files import describe_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NO_PERMISSION: Final = "ERR_NVGPUCTRPERM"
_NO_KERNELS: Final = "no kernels were profiled"
_LONGEST_QUOTE: Final = 200
_EXPORT: Final = "Export one with: ncu --import REPORT.ncu-rep --csv --page raw"


def permission_error(name: str) -> DashboardError:
    """Returns the refusal of a file in which the tool was denied the counters.

    Source: developer.nvidia.com/ERR_NVGPUCTRPERM.
    """
    return DashboardError(
        f"{name} holds no kernels: the user had no permission for the GPU's performance counters "
        f"({NO_PERMISSION}).",
        "Run ncu with administrator rights (sudo), or load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0 (a line in /etc/modprobe.d, then restart) and profile again.",
    )


def no_table_error(path: Path, lines: Iterable[str]) -> DashboardError:
    """Returns why there is no table in a file, by what it holds instead."""
    name = printable(path.name)
    error = ""
    nothing_profiled = False
    for line in lines:
        if NO_PERMISSION in line:
            return permission_error(name)
        nothing_profiled = nothing_profiled or _NO_KERNELS in line.lower()
        if line.startswith("==ERROR==") and not error:
            error = printable(line.removeprefix("==ERROR==").strip()[:_LONGEST_QUOTE])
    if error:
        return DashboardError(
            f"{name} holds no kernels: ncu reported: {error.rstrip('.')}.",
            "Mend what it names, and profile again.",
        )
    if nothing_profiled:
        return DashboardError(
            f"{name} holds no kernels: ncu profiled none.",
            "Check that the program launches kernels, that --kernel-name and --launch-skip let some pass, "
            "and add --target-processes all if it starts others.",
        )
    title = describe_path(path).title
    if title.startswith("Nsight Compute CSV"):
        return DashboardError(f"{name} holds output of ncu but no table of kernels.", f"{_EXPORT}.")
    return DashboardError(f"{name} is no table of Nsight Compute: {title}.", f"{_EXPORT}.")


def summary_error(name: str) -> DashboardError:
    """Returns the refusal of statistics over launches."""
    return DashboardError(
        f"{name} holds statistics over launches (ncu --print-summary), not the launches.",
        "Export without --print-summary: minimum, mean and maximum are computed here.",
    )
