"""A file for Android phones: IREE's .vmfb for Vulkan, to take along; nothing is run here.

Weights lie beside it in a parameter archive (.irpa), which a phone's runtime maps
into memory. On the phone: ``iree-run-module --device=vulkan --module=FILE.vmfb
--parameters=model=FILE.irpa --input=...`` of the same IREE.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from core.edge.events import Event, Finished, Refused, WorkerJob
from core.errors import DashboardError
from core.files import MAIN, app_folders, ensure_private_folder, printable
from core.launch.tool_process import run_tool

if TYPE_CHECKING:
    from collections.abc import Callable

ANDROID_TARGETS: Final[dict[str, str]] = {
    "vp_android_baseline_2022": "any phone with the Android Baseline 2022 profile of Vulkan",
    "adreno": "Qualcomm Adreno",
    "mali-g57": "Arm Mali-G57, G77 (Valhall 1)",
    "mali-g78": "Arm Mali-G78 (Valhall 2)",
    "mali-g710": "Arm Mali-G310, G510, G710 (Valhall 3)",
    "mali-g715": "Arm Mali-G615, G715 (Valhall 4)",
    "mali-g720": "Arm Mali-G720, G725 (5th generation)",
}
"""Values of ``--iree-vulkan-target`` that iree-compile 3.13 takes, the most general first."""

TIME_LIMIT_S: Final = 3600.0
_MOST_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class VmfbExport:
    """What was written.

    Attributes:
        path: The program.
        weights: The parameter archive beside it, None where the program holds all.
        size_bytes: Of both.
        iree: The version that wrote it; a phone's runtime has to be the same.
        target: Of ``ANDROID_TARGETS``.
    """

    path: Path
    weights: Path | None
    size_bytes: int
    iree: str
    target: str


def export_vmfb(
    model_folder: Path,
    case: str,
    target: str,
    output: Path,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> VmfbExport:
    """Compiles one case of a prepared model for a kind of phone; takes seconds for a small one.

    Args:
        model_folder: What ``prepare_model`` gave.
        case: Name of a ``PreparedCase``.
        target: A key of ``ANDROID_TARGETS``.
        output: The .vmfb to write; weights go beside it, under its name with .irpa.
        cancelled: Asked while it works.

    Raises:
        DashboardError: The target is unknown, IREE cannot compile the model, or it was cancelled.
    """
    if target not in ANDROID_TARGETS:
        known = ", ".join(ANDROID_TARGETS)
        raise DashboardError(f"There is no phone target {printable(target)}.", f"Targets are: {known}.")
    cache = ensure_private_folder(app_folders().cache / "edge")
    with tempfile.TemporaryDirectory(prefix="phone-", dir=cache) as folder:
        job = WorkerJob(
            backend="iree-vmfb",
            device="vulkan",
            model_folder=os.fspath(model_folder),
            precision="fp32",
            work_folder=folder,
            cache_folder=os.fspath(cache),
            cases=(case,),
            options=(f"--iree-vulkan-target={target}",),
        )
        job_file = Path(folder) / "job.json"
        job_file.write_bytes(msgspec.json.encode(job))
        ended = run_tool(
            [sys.executable, os.fspath(MAIN), "_edge-worker", os.fspath(job_file)],
            environment=os.environ,
            working_folder=folder,
            timeout_s=TIME_LIMIT_S,
            most_bytes=_MOST_BYTES,
            cancelled=cancelled,
        )
        if ended.how != "itself":
            what = "was cancelled" if ended.how == "cancelled" else "took too long"
            raise DashboardError(f"The export for phones {what}.", "Nothing was written. Begin it again.")
        finished = _finished(ended.output)
        if finished is None:
            words = (ended.last_words.strip().splitlines() or [""])[-1]
            raise DashboardError(
                f"The export for phones ended with exit code {ended.code}: {printable(words)}",
                "Run it again.",
            )
        weights = _place(Path(folder) / "model.irpa", output.with_suffix(".irpa"))
        program = _place(Path(folder) / "model.vmfb", output)
    if program is None:
        raise DashboardError("The export for phones left no file.", "Run it again.")
    return VmfbExport(
        path=program,
        weights=weights,
        size_bytes=sum(each.stat().st_size for each in (program, weights) if each is not None),
        iree=finished.backend_version,
        target=target,
    )


def _finished(output: bytes) -> Finished | None:
    """Finds the worker's last word.

    Raises:
        DashboardError: It refused.
    """
    lines = [line for line in output.splitlines() if line.startswith(b'{"event"')]
    last = msgspec.json.decode(lines[-1], type=Event) if lines else None
    if isinstance(last, Refused):
        raise DashboardError(last.message, last.hint)
    return last if isinstance(last, Finished) else None


def _place(source: Path, target: Path) -> Path | None:
    """Puts a file under its name when it is whole there; None if there is none.

    Raises:
        DashboardError: It cannot be written.
    """
    if not source.exists():
        return None
    part = target.with_name(f"{target.name}.part")
    try:
        shutil.copyfile(source, part)
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DashboardError(
            f"{printable(target.name)} cannot be written: {error.strerror or error}.",
            "Check the folder's permissions and free space.",
        ) from error
    return target
