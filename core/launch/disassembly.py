"""Machine instructions (SASS) of a device binary, by the user's own nvdisasm where it is installed.

Ridgeline has no disassembler: without the tool there are none.

Source: CUDA Binary Utilities 13.0, "nvdisasm", options -c; its output as of CUDA 13.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.errors import DashboardError
from core.files import app_folders, ensure_private_folder
from core.launch.tool_process import run_tool

if TYPE_CHECKING:
    from collections.abc import Callable

TOOL: Final = "nvdisasm"
_TIMEOUT_S: Final = 30.0
_MOST_BYTES: Final = 2**28
_SECTION: Final = re.compile(r"\s*\.section\s+\.text\.([^\s,]+)")
_INSTRUCTION: Final = re.compile(r"\s*/\*([0-9a-f]{4,16})\*/\s+(.*?)\s*;")

Instructions = dict[tuple[str, int], str]
"""(mangled name of a function, bytes from its begin) to the text of the instruction there."""


def find_disassembler() -> Path | None:
    """Returns the user's nvdisasm, None if it is not on PATH."""
    found = shutil.which(TOOL)
    return None if found is None else Path(found)


def disassemble(
    binary: bytes,
    tool: Path,
    *,
    timeout_s: float = _TIMEOUT_S,
    cancelled: Callable[[], bool] | None = None,
) -> Instructions:
    """Runs nvdisasm on a binary.

    Args:
        binary: A cubin. It is written to a private folder of the cache, which is removed again.
        tool: nvdisasm.
        timeout_s: After so many seconds it is ended.
        cancelled: Asked ten times a second; True ends it.

    Raises:
        DashboardError: It cannot be started, failed, took too long, or was cancelled.
    """
    folder = ensure_private_folder(app_folders().cache)
    with tempfile.TemporaryDirectory(prefix="sass-", dir=folder) as place:
        path = Path(place) / "kernel.cubin"
        path.write_bytes(binary)
        ended = run_tool(
            [str(tool), "-c", str(path)],
            environment=os.environ,
            working_folder=place,
            timeout_s=timeout_s,
            most_bytes=_MOST_BYTES,
            cancelled=cancelled,
        )
    if ended.how == "cancelled":
        raise DashboardError("The disassembly was cancelled.", "Ask for it again.")
    if ended.how == "time":
        raise DashboardError(f"{TOOL} did not end within {timeout_s:g} s.", "The lines are shown without it.")
    if ended.code != 0 or ended.how != "itself":
        said = (ended.last_words.strip().splitlines() or ["it said nothing"])[-1][:200]
        raise DashboardError(f"{TOOL} failed: {said}", "Use that of the CUDA version that built the kernel.")
    return _parsed(ended.output.decode("utf-8", "replace"))


def _parsed(text: str) -> Instructions:
    found: Instructions = {}
    function = None
    for line in text.splitlines():
        section = _SECTION.match(line)
        if section is not None:
            function = section[1]
            continue
        instruction = _INSTRUCTION.match(line) if function is not None else None
        if instruction is not None and function is not None:
            found[function, int(instruction[1], 16)] = instruction[2]
    return found
