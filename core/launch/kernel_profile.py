"""Profiling a kernel of an opened trace: the run that the trace belongs to, and the command for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.launch.ncu_command import (
    NcuCommand,
    build_ncu_command,
    command_of_unknown_job,
    find_ncu,
    free_report_path,
    target_of_slice,
)
from core.runs.manifest import MANIFEST_NAME
from core.runs.store import RunFolder

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.trace import Trace

REPORTS: Final = "reports"
_NO_RUN: Final = (
    "The run of this trace is not known: put the job's own command in the place of the last two words.",
)
_NO_TOOL: Final = "ncu is not on PATH here: copy the command to a machine that has Nsight Compute."


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """How a kernel is profiled.

    Attributes:
        function: Of the kernel.
        text: The command, for a shell.
        notes: What to mind, one sentence each.
        command: To be run here; None if the run is not known or ncu is not installed.
    """

    function: str
    text: str
    notes: tuple[str, ...]
    command: NcuCommand | None


def run_of_trace(path: Path) -> RunFolder | None:
    """Returns the run whose folder a trace lies in, None if it lies in none."""
    for folder in (path, *path.parents[:2]):
        if os.path.isfile(folder / MANIFEST_NAME):
            return RunFolder(folder)
    return None


def plan_profile(trace: Trace, row: int, path: Path) -> KernelProfile:
    """Says how a kernel of a trace is profiled. Reads the run's manifest: not for the window's thread.

    Args:
        trace: As it was read.
        row: Of ``SliceTable``, a kernel.
        path: Of the trace, or of the folder of its ranks.

    Raises:
        DashboardError: The kernel cannot be profiled, the run was on the CPU, or its manifest is damaged.
    """
    target = target_of_slice(trace, row)
    folder = run_of_trace(path)
    if folder is None:
        return KernelProfile(target.function, command_of_unknown_job(target), _NO_RUN, None)
    manifest = folder.read()
    command = build_ncu_command(
        manifest.job,
        target,
        free_report_path(folder.path / REPORTS, target),
        base_environment=os.environ,
        python_version=manifest.versions.get("python", ""),
    )
    has_tool = find_ncu() is not None
    notes = command.notes if has_tool else (*command.notes, _NO_TOOL)
    return KernelProfile(target.function, command.text, notes, command if has_tool else None)
