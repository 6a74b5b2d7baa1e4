"""Running Nsight Compute on one kernel of a job, to the report that it writes."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Final

from core.errors import DashboardError
from core.files import ensure_private_folder, printable
from core.launch.tool_process import run_tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.launch.ncu_command import NcuCommand
    from core.launch.tool_process import ToolEnd

NO_PERMISSION: Final = "ERR_NVGPUCTRPERM"
TIMEOUT_S: Final = 3600.0
_MOST_BYTES: Final = 2**18
_LONGEST_QUOTE: Final = 200
_NO_KERNELS: Final = "no kernels were profiled"


def run_ncu(
    command: NcuCommand,
    *,
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[float, float | None, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Path:
    """Runs a command and returns the report that it wrote.

    Everything that it started is gone when this returns.

    Args:
        command: What to run.
        timeout_s: After so many seconds it is ended.
        progress: Gets the seconds so far, None as their whole, and what is going on; ten times a second.
        cancelled: Asked ten times a second; True ends it.

    Raises:
        DashboardError: ncu cannot be started, may not read counters, profiled nothing, failed, took too
            long, or was cancelled. What it had written of the report is removed.
    """
    ensure_private_folder(command.report.parent)
    begin_s = time.monotonic()
    words = ["Starting the job under ncu"]

    def asked() -> bool:
        if progress is not None:
            progress(time.monotonic() - begin_s, None, words[0])
        return cancelled is not None and cancelled()

    def heard(data: bytes) -> None:
        if b"==PROF== Profiling" in data:
            words[0] = "Profiling the kernel"
        elif b"==PROF== Connected" in data:
            words[0] = "Waiting for the kernel"

    ended = run_tool(
        command.argv,
        environment=command.environment,
        working_folder=command.working_folder,
        timeout_s=timeout_s,
        most_bytes=_MOST_BYTES,
        cancelled=asked,
        heard=heard,
        end_signals=((signal.SIGINT, 3.0), (signal.SIGTERM, 3.0)),
    )
    error = _why_none(ended, command.report, timeout_s)
    if error is not None:
        command.report.unlink(missing_ok=True)
        raise error
    return command.report


def _why_none(ended: ToolEnd, report: Path, timeout_s: float) -> DashboardError | None:
    """Returns why there is no report, None if there is one; with --kill a job does not end well."""
    said = ended.output.decode("utf-8", "replace")
    if ended.how == "cancelled":
        return DashboardError("Profiling was cancelled.", "Profile again to repeat it.")
    if NO_PERMISSION in said:
        return DashboardError(
            f"This user may not read the GPU's performance counters ({NO_PERMISSION}).",
            "Run ncu with administrator rights (sudo), or load the driver with "
            "NVreg_RestrictProfilingToAdminUsers=0 (a line in /etc/modprobe.d, then restart).",
        )
    if ended.how == "time":
        return DashboardError(
            f"Profiling did not end within {timeout_s:,.0f} s.", "Let the job run fewer steps, and try again."
        )
    if report.is_file() and report.stat().st_size and _NO_KERNELS not in said.lower():
        return None
    if _NO_KERNELS in said.lower():
        return DashboardError(
            "The job ended before that launch of the kernel: ncu profiled nothing.",
            "Choose an earlier launch, or let the job run as many steps as the run did.",
        )
    return DashboardError(
        f"ncu wrote no report: {_last_error(said, ended.code)}", "Start its command in a terminal."
    )


def _last_error(said: str, code: int | None) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
    last = (errors or lines[-1:] or ["it said nothing"])[0]
    return f"{printable(last[:_LONGEST_QUOTE]).rstrip('.')} (exit code {code})."
