"""From a job and one of its kernels to the Nsight Compute command that profiles this kernel. Pure.

The launch that is meant is told by the function's name and how many launches of
that name precede it: ncu counts only launches that its filter lets pass.

Source: Nsight Compute CLI documentation 2025.3, "Command Line Options": --set, --target-processes,
--kernel-name (regex:, by function unless --kernel-name-base says otherwise), --launch-skip,
--launch-count, --kill, --export (-o); https://docs.nvidia.com/nsight-compute/NsightComputeCli/.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from core.errors import DashboardError
from core.files import printable
from core.launch.command import job_environment, names_a_secret, torchrun_words
from core.roofline.kernel_spelling import spell
from core.tables.columns import MISSING
from core.tables.trace import SliceKind
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.runs.job import JobSpec
    from core.tables.trace import Trace

TOOL: Final = "ncu"
SUFFIX: Final = ".ncu-rep"
_FUNCTION: Final = re.compile(r"\w+")
_COLLECTIVE: Final = re.compile(r"nccl|rccl|mscclpp?|nvshmem", re.IGNORECASE)
_NOT_IN_FILE_NAMES: Final = re.compile(r"[^\w.-]+")
_LONGEST_FILE_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class KernelTarget:
    """One launch of a kernel.

    Attributes:
        function: Bare name of its function, without scope, template arguments and parameters.
        skip: How many launches of functions of that name precede it on its rank.
    """

    function: str
    skip: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NcuCommand:
    """What profiles a kernel.

    Attributes:
        argv: The tool with its options, and the job's command behind them; no shell sees it.
        environment: All variables of the job.
        working_folder: Where the job starts.
        report: The file that it writes.
        shown: Names and values of the variables that belong to the job; secrets are left out.
        notes: What differs from the run, one sentence each.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    working_folder: str
    report: Path
    shown: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command for a POSIX shell."""
        variables = [f"{name}={value}" for name, value in self.shown]
        words = [*(["env", *variables] if variables else []), *self.argv]
        return f"cd {shlex.quote(self.working_folder)} && {shlex.join(words)}"


def find_ncu() -> Path | None:
    """Returns the user's ncu, None if it is not on PATH."""
    found = shutil.which(TOOL)
    return None if found is None else Path(found)


def kernel_target(names: Sequence[str], place: int) -> KernelTarget:
    """Tells a launch by its function and number.

    Args:
        names: Full names of all kernels of one rank, in the order of their launches.
        place: Which of them is meant.

    Raises:
        DashboardError: It is communication, or its name has no function that a filter could name.
    """
    full_name = names[place]
    if _COLLECTIVE.search(full_name):
        raise DashboardError(
            "A communication kernel waits for other ranks: it cannot be replayed alone, and ncu would hang.",
            "Look at it in the trace: its table of collectives shows who waits for whom.",
        )
    function = spell(full_name).bare
    if not _FUNCTION.fullmatch(function):
        raise DashboardError(
            f"The name {printable(full_name)[:80]} has no function that ncu could be asked for.",
            "Profile all kernels of a step: ncu --set full --launch-count 100.",
        )
    # Names repeat by the thousand: each is looked at once.
    same = {name: spell(name).bare == function for name in set(names[:place])}
    return KernelTarget(function, sum(same[name] for name in names[:place]))


def target_of_slice(trace: Trace, row: int) -> KernelTarget:
    """Tells a kernel of a trace by its function and number among those of its rank.

    Args:
        trace: The trace; one that begins late counts from its own begin.
        row: Of ``SliceTable``.

    Raises:
        DashboardError: As ``kernel_target``, or the slice is no kernel.
    """
    slices = trace.slices
    if slices.kind[row] != SliceKind.KERNEL:
        raise DashboardError("The selected slice is no kernel.", "Select a kernel, then profile it.")
    rank = trace.tracks.rank[slices.track]
    rows = np.flatnonzero((slices.kind == SliceKind.KERNEL) & (rank == rank[row]))
    # Correlations count calls; without them the order on the device has to do.
    calls = slices.correlation[rows]
    by = slices.start_ns[rows] if np.any(calls == MISSING) else calls
    rows = rows[np.argsort(by, kind="stable")]
    ids = slices.name_id[rows].tolist()
    texts = {name_id: trace.strings[name_id] for name_id in set(ids)}
    return kernel_target([texts[name_id] for name_id in ids], int(np.flatnonzero(rows == row)[0]))


def command_of_unknown_job(target: KernelTarget) -> str:
    """Returns the command for a job that is not known: its own words follow behind."""
    return f"{shlex.join([TOOL, *_options(target, target.function)])} python YOUR_SCRIPT.py"


def build_ncu_command(  # noqa: PLR0913  (each is named at the call)
    spec: JobSpec,
    target: KernelTarget,
    report: Path,
    *,
    base_environment: Mapping[str, str],
    keep_ranks: bool = False,
    python_version: str = "",
) -> NcuCommand:
    """Turns a job and a kernel into the command that profiles it.

    Args:
        spec: The job of the run.
        target: The launch on rank 0.
        report: The file to write; it must not exist.
        base_environment: What the job would have got from the user's terminal.
        keep_ranks: Start all ranks, and profile on the first one's GPU only. Otherwise one rank runs.
        python_version: Of the job's interpreter, "" if unknown.

    Raises:
        DashboardError: The job runs on the CPU, where there is nothing to profile.
    """
    if spec.device != "cuda":
        raise DashboardError(
            "This job runs on the CPU: Nsight Compute profiles kernels of NVIDIA GPUs.",
            "Run it on device cuda, and profile a kernel of that run.",
        )
    ranks = spec.ranks if keep_ranks else 1
    job = replace(spec, ranks=ranks, gpus=spec.gpus if keep_ranks or spec.gpus is None else spec.gpus[:1])
    environment = job_environment(job, base_environment)
    own = {name: environment[name] for name in _own_variables(job, environment)}
    secrets = sorted(name for name in own if names_a_secret(name))
    return NcuCommand(
        argv=(
            TOOL,
            *_options(target, str(report.with_suffix("") if report.suffix == SUFFIX else report)),
            *(["--devices", "0"] if ranks > 1 else []),
            *_job_words(job, python_version),
        ),
        environment=environment,
        working_folder=spec.working_folder,
        report=report if report.suffix == SUFFIX else report.with_name(report.name + SUFFIX),
        shown=tuple((name, value) for name, value in sorted(own.items()) if name not in secrets),
        notes=tuple(_notes(spec, target, ranks, secrets)),
    )


def _options(target: KernelTarget, report: str) -> list[str]:
    return [
        "--set",
        "full",
        "--target-processes",
        "all",
        "--kernel-name",
        f"regex:^{re.escape(target.function)}$",
        "--launch-skip",
        str(target.skip),
        "--launch-count",
        "1",
        "--kill",
        "yes",
        "-o",
        report,
    ]


def free_report_path(folder: Path, target: KernelTarget) -> Path:
    """Returns the path of a report that does not exist yet, named by the kernel."""
    stem = _NOT_IN_FILE_NAMES.sub("_", target.function)[:_LONGEST_FILE_NAME] + f"-{target.skip + 1}"
    number = 1
    path = folder / f"{stem}{SUFFIX}"
    while os.path.exists(path):
        number += 1
        path = folder / f"{stem}-{number}{SUFFIX}"
    return path


def _own_variables(spec: JobSpec, environment: Mapping[str, str]) -> list[str]:
    """Returns the names of the variables that the job sets itself, with those that choose its GPUs."""
    chosen = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER") if spec.gpus is not None else ()
    return sorted({*spec.environment, *(name for name in chosen if name in environment)})


def _job_words(spec: JobSpec, python_version: str) -> list[str]:
    """Returns the job's command, without the agent: nothing is watched while counters are read."""
    options = [
        "--nnodes=1",
        f"--nproc-per-node={spec.ranks}",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=localhost:0",
        "--local-addr=127.0.0.1",
        "--max-restarts=0",
    ]
    module = ["--module"] if spec.is_module else []
    return [
        spec.interpreter,
        *torchrun_words(python_version),
        *options,
        *module,
        "--",
        spec.target,
        *spec.arguments,
    ]


def _notes(spec: JobSpec, target: KernelTarget, ranks: int, secrets: Sequence[str]) -> list[str]:
    notes = [
        f"Launch {format_count(target.skip + 1)} of {target.function}, counted from the start of the "
        "program: a trace that began later counts from its own first step."
    ]
    if spec.ranks > 1 and ranks == 1:
        notes.append(
            f"One rank runs instead of {format_count(spec.ranks)}: nothing is sharded or communicated, "
            "so that memory is larger, and kernels whose shapes depend on the number of ranks differ."
        )
    elif ranks > 1:
        notes.append(
            "All ranks run and only the first GPU is profiled: the others wait in collectives meanwhile; "
            "a time limit of theirs may end the job."
        )
    if secrets:
        notes.append(f"Set {', '.join(secrets)} yourself: secrets are not shown.")
    return notes
