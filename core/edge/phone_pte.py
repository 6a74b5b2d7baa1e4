"""A file for phones: ExecuTorch's .pte with the Vulkan partitioner, to take along; nothing is run here.

ExecuTorch is an optional extra of the chosen interpreter. Its wheels have no Vulkan
runtime, so what a phone makes of the file is not checked on this machine.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from core.errors import DashboardError
from core.files import RESOURCES, printable
from core.launch.tool_process import run_tool

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT: Final = RESOURCES / "edge" / "export_pte.py"
TIME_LIMIT_S: Final = 1800.0
_MOST_BYTES: Final = 16 * 2**20


class PteOperator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator of the lowered graph."""

    name: str
    delegated: int
    """So many of its calls go to Vulkan."""
    left: int
    """So many stay on the phone's CPU."""
    reason: str = ""
    """Why, in the partitioner's words; "" if it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PteExport:
    """What was written.

    Attributes:
        path: The file.
        size_bytes: Of it.
        executorch: The version that wrote it; a phone's runtime should be the same.
        seconds: What lowering took.
        parts: So many pieces of the graph go to Vulkan; between them data goes through the CPU.
        operators: All kinds, with how often each is delegated and not.
    """

    path: Path
    size_bytes: int
    executorch: str
    seconds: float
    parts: int
    operators: tuple[PteOperator, ...]

    @property
    def not_delegated(self) -> tuple[PteOperator, ...]:
        """The operators that Vulkan does not take."""
        return tuple(each for each in self.operators if each.left)


class _Refused(msgspec.Struct, tag_field="event", tag="refused"):
    message: str
    hint: str


class _Began(msgspec.Struct, tag_field="event", tag="began"):
    words: str = ""


class _Exported(msgspec.Struct, tag_field="event", tag="exported"):
    executorch: str
    seconds: float
    parts: int
    operators: tuple[PteOperator, ...]


def export_pte(
    model_folder: Path,
    case: str,
    output: Path,
    *,
    interpreter: str,
    cancelled: Callable[[], bool] | None = None,
) -> PteExport:
    """Lowers one case of a prepared model; takes some 30 s for a small one.

    Args:
        model_folder: What ``prepare_model`` gave.
        case: Name of a ``PreparedCase``.
        output: The file to write; replaced when the new one is whole.
        interpreter: A Python with torch and executorch.
        cancelled: Asked while it works.

    Raises:
        DashboardError: ExecuTorch is not installed there, does not take the model, or was cancelled.
    """
    with tempfile.TemporaryDirectory(prefix="ridgeline-pte-") as folder:
        job = Path(folder) / "job.json"
        wanted = {
            "model_folder": os.fspath(model_folder),
            "case": case,
            "output": os.fspath(output.absolute()),
        }
        job.write_bytes(msgspec.json.encode(wanted))
        ended = run_tool(
            [interpreter, os.fspath(SCRIPT), os.fspath(job)],
            environment=os.environ,
            working_folder=folder,
            timeout_s=TIME_LIMIT_S,
            most_bytes=_MOST_BYTES,
            cancelled=cancelled,
        )
    if ended.how != "itself":
        output.with_name(output.name + ".part").unlink(missing_ok=True)
        what = "was cancelled" if ended.how == "cancelled" else "took too long"
        raise DashboardError(f"The export to ExecuTorch {what}.", "Nothing was written. Begin it again.")
    answer = _answer(ended.output)
    if isinstance(answer, _Refused):
        raise DashboardError(answer.message, answer.hint)
    if answer is None:
        words = (ended.last_words.strip().splitlines() or [""])[-1]
        raise DashboardError(
            f"The export to ExecuTorch ended with exit code {ended.code}: {printable(words)}",
            "Check the interpreter's executorch.",
        )
    return PteExport(
        path=output,
        size_bytes=output.stat().st_size,
        executorch=answer.executorch,
        seconds=answer.seconds,
        parts=answer.parts,
        operators=answer.operators,
    )


def _answer(output: bytes) -> _Exported | _Refused | None:
    """The last that was said, if it was an answer."""
    for line in reversed(output.split(b"\n")):
        if line.startswith(b'{"event"'):
            try:
                said = msgspec.json.decode(line, type=_Began | _Exported | _Refused)
            except msgspec.DecodeError:
                return None
            return None if isinstance(said, _Began) else said
    return None
