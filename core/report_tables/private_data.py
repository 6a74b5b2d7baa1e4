"""Saving a report or a table so that it can be given away: without what is private."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import zstandard

from core.analyses.report_source.elf import BinaryDamageError, DeviceBinary
from core.errors import DashboardError
from core.files import describe_path, printable, write_atomic
from core.readers.ncu_csv.strip import strip_table
from core.readers.ncu_csv.text import read_text
from core.readers.ncu_report.container import ZSTD_MAGIC, read_unpacked
from core.readers.ncu_report.strip import strip_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Debug information, compile options, and constants: among these are names of files from __FILE__.
_WITH_TEXTS: Final = (
    *(".debug", ".nv_debug", ".note", ".comment"),
    *(".nv.constant", ".nv.global.init", ".rodata", ".data"),
)
_MODE: Final = 0o644


@dataclass(frozen=True, slots=True)
class Stripped:
    """What was taken out.

    Attributes:
        removed: In words for people, and how often: ("host names", 4).
    """

    removed: tuple[tuple[str, int], ...]

    @property
    def words(self) -> str:
        """In one sentence."""
        if not self.removed:
            return "Nothing private was found."
        return f"Taken out: {', '.join(f'{what} ({count:,})' for what, count in self.removed)}."


def save_without_private_data(
    path: Path, target: Path, progress: Callable[[int, int], None] | None = None
) -> Stripped:
    """Writes a copy of a report or CSV of Nsight Compute without what is private.

    Host names, addresses, folders, programs with their arguments and environment,
    command lines, notes and imported sources are gone, hosts, users, arguments and values
    of variables also where texts repeat them; names of files, kernels and NVTX ranges and
    all values stay. A report that is packed stays so.

    Args:
        path: The file.
        target: Where the copy goes. It is written whole or not at all.
        progress: Called with the bytes that are done and their number. What it raises ends the work.

    Raises:
        DashboardError: It is no such file, cannot be read or written, or is its own target.
    """
    if os.path.exists(target) and os.path.samefile(path, target):
        raise DashboardError(
            f"{printable(target.name)} is the report itself.", "Choose another name for the copy."
        )
    kind = describe_path(path).kind
    try:
        if kind == "ncu_csv":
            data, removed = strip_table(read_text(path).lines())
        else:
            with path.open("rb") as file:
                is_packed = file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
            data, removed = strip_report(read_unpacked(path), _places_with_texts, progress)
            data = zstandard.compress(data) if is_packed else data
    except OSError as error:
        raise DashboardError(
            f"{printable(path.name)} cannot be read: {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from error
    try:
        write_atomic(target, data, _MODE)
    except OSError as error:
        raise DashboardError(
            f"{printable(target.name)} cannot be written: {error.strerror or error}.",
            "Choose another folder, or check its permissions and free space.",
        ) from error
    return Stripped(tuple(removed.most_common()))


def _places_with_texts(binary: bytes) -> list[tuple[int, int]] | None:
    """Returns where a device binary may hold texts beside its code; None if it cannot be read."""
    try:
        sections = DeviceBinary(binary).sections
    except BinaryDamageError:
        return None
    return [
        (section.begin, min(section.begin + section.length, len(binary)))
        for section in sections
        if section.name.startswith(_WITH_TEXTS)
    ]
