"""The source lines of a launch with what was counted at their instructions, those with most samples first.

And its instructions themselves, by address.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.report_source.code_lines import (
    NO_BINARY,
    NoLinesError,
    locate,
    place_in_functions,
    source_of,
)
from core.analyses.report_source.instruction_sums import instruction_sums
from core.analyses.report_view.collecting import how_to_collect
from core.analyses.report_view.stalls import reason_words
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from core.analyses.report_source.code_lines import Located, Placed, SourceReader
    from core.analyses.report_source.instruction_sums import InstructionSums
    from core.analyses.report_view.launch import InstanceReader
    from core.tables.columns import Float64, Int64
    from core.tables.ncu import Report

_ISSUED: Final = "selected"
_PARTS: Final = re.compile(r"[\\/]+")
_LONGEST_TEXT: Final = 400
NO_TABLE: Final = "A table of ncu --csv holds no values by instruction: open the report itself."


@dataclass(frozen=True, slots=True, eq=False)
class HotLines:
    """Lines of one launch, most samples first, then most executions. Columns (n,).

    Attributes:
        files: Paths, by ``file_id``.
        file_id, line: Of each line; ``file_id`` NO_ROW is all instructions without a line.
        texts: The line itself, None where the report does not hold its file.
        counts: Quantity to (n,) float64, as in ``InstructionSums``.
        stalls: Reason to (n,) float64 samples.
        not_issued: (n,) float64, None.
        instructions: (n,) int64, how many of the kernel's instructions come from it.
        reason: Why there are no lines, "" if there are.
    """

    files: tuple[str, ...]
    file_id: Int64
    line: Int64
    texts: tuple[str | None, ...]
    counts: dict[str, Float64]
    stalls: dict[str, Float64]
    not_issued: Float64 | None
    instructions: Int64
    reason: str = ""

    def __len__(self) -> int:
        return len(self.line)

    def top_stall(self, row: int) -> tuple[str, float] | None:
        """Returns the reason that most samples of a line have and their number, None if none stalled."""
        found = [(float(values[row]), key) for key, values in self.stalls.items() if key != _ISSUED]
        samples, key = max(found, default=(0.0, ""))
        return (reason_words(key)[0], samples) if samples > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class HotInstructions:
    """Instructions of one launch, by address. Columns (n,).

    Attributes:
        address: uint64, on the device.
        placed: Where they lie in their functions.
        lines: Of each instruction its line, NO_ROW and 0 where none is known, and what was counted at it.
    """

    address: NDArray[np.uint64]
    placed: Placed
    lines: HotLines

    def __len__(self) -> int:
        return len(self.address)


def hot_lines(
    report: Report, launch_row: int, read_instances: InstanceReader, read_source: SourceReader
) -> HotLines:
    """Sums what was counted at instructions by source line.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: From a row of ``Report.metrics`` to its values by instance.
        read_source: From one of ``Report.sources`` to the lines of its binary and imported files.
    """
    if report.kind != "ncu_report":
        return _none(NO_TABLE)
    source = source_of(report, launch_row)
    if source is None or not source.binary_bytes:
        return _none(NO_BINARY)
    sums = instruction_sums(report, launch_row, read_instances)
    if not len(sums):
        return _none(how_to_collect("SourceCounters", ("full",)))
    kernel = report.strings[int(report.launches.mangled_name_id[launch_row])]
    try:
        binary, imported = read_source(source)
        located = locate(source, kernel, binary, sums.address)
    except NoLinesError as error:
        return _none(str(error))
    return _by_line(located, sums, imported)


def hot_instructions(
    report: Report, launch_row: int, read_instances: InstanceReader, read_source: SourceReader
) -> HotInstructions:
    """Lists the instructions that something was counted at; needs neither a binary nor its lines.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: From a row of ``Report.metrics`` to its values by instance.
        read_source: From one of ``Report.sources`` to the lines of its binary and imported files.
    """
    source = source_of(report, launch_row)
    kernel = report.strings[int(report.launches.mangled_name_id[launch_row])]
    sums = instruction_sums(report, launch_row, read_instances)
    placed = place_in_functions(source, kernel, sums.address)
    if not len(sums):
        is_report = report.kind == "ncu_report"
        reason = how_to_collect("SourceCounters", ("full",)) if is_report else NO_TABLE
        return HotInstructions(sums.address, placed, _none(reason))
    located: Located | None = None
    imported: Sequence[tuple[str, str]] = ()
    if source is not None and source.binary_bytes:
        try:
            binary, imported = read_source(source)
            located = locate(source, kernel, binary, sums.address)
        except NoLinesError:
            located = None
    return HotInstructions(sums.address, placed, _each(located, sums, imported))


def _each(located: Located | None, sums: InstructionSums, imported: Sequence[tuple[str, str]]) -> HotLines:
    count = len(sums)
    texts = _Texts(imported)
    return HotLines(
        files=() if located is None else located.files,
        file_id=np.full(count, NO_ROW, np.int64) if located is None else located.file_id.astype(np.int64),
        line=np.zeros(count, np.int64) if located is None else located.line,
        texts=(None,) * count
        if located is None
        else tuple(
            None if file_id == NO_ROW else texts.line(located.files[file_id], line)
            for file_id, line in zip(located.file_id.tolist(), located.line.tolist(), strict=True)
        ),
        counts=sums.counts,
        stalls=sums.stalls,
        not_issued=sums.not_issued,
        instructions=np.ones(count, np.int64),
    )


def _none(reason: str) -> HotLines:
    nothing = np.empty(0, np.int64)
    return HotLines((), nothing, nothing, (), {}, {}, None, nothing, reason)


def _by_line(located: Located, sums: InstructionSums, imported: Sequence[tuple[str, str]]) -> HotLines:
    pairs = np.stack((located.file_id.astype(np.int64), located.line), axis=1)
    lines, group = np.unique(pairs, axis=0, return_inverse=True)
    group = group.ravel()

    def summed(values: Float64) -> Float64:
        return np.bincount(group, values, len(lines)).astype(np.float64)

    counts = {key: summed(values) for key, values in sums.counts.items()}
    weights = [counts[key] for key in ("executed", "samples") if key in counts]
    order = np.lexsort((-np.arange(len(lines)), *weights))[::-1]
    lines = lines[order]
    texts = _Texts(imported)
    return HotLines(
        files=located.files,
        file_id=lines[:, 0],
        line=lines[:, 1],
        texts=tuple(
            None if file_id == NO_ROW else texts.line(located.files[file_id], line)
            for file_id, line in lines.tolist()
        ),
        counts={key: values[order] for key, values in counts.items()},
        stalls={key: summed(values)[order] for key, values in sums.stalls.items()},
        not_issued=None if sums.not_issued is None else summed(sums.not_issued)[order],
        instructions=np.bincount(group, minlength=len(lines))[order].astype(np.int64),
    )


class _Texts:
    """Imported files by path; one whose folders differ is known by the longest end that is its alone."""

    def __init__(self, imported: Iterable[tuple[str, str]]) -> None:
        self._files = [(tuple(_PARTS.split(path)), text) for path, text in imported]
        self._lines: dict[str, list[str] | None] = {}

    def line(self, path: str, line: int) -> str | None:
        if path not in self._lines:
            found = self._find(tuple(_PARTS.split(path)))
            self._lines[path] = None if found is None else found.split("\n")
        lines = self._lines[path]
        if lines is None or not 0 < line <= len(lines):
            return None
        return lines[line - 1].rstrip("\r")[:_LONGEST_TEXT]

    def _find(self, parts: tuple[str, ...]) -> str | None:
        shared = Counter(
            {
                place: _shared_end(parts, own)
                for place, (own, _) in enumerate(self._files)
                if own[-1] == parts[-1]
            }
        )
        best = shared.most_common(2)
        if not best or (len(best) > 1 and best[0][1] == best[1][1]):
            return None
        return self._files[best[0][0]][1]


def _shared_end(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    shared = 0
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one != other:
            break
        shared += 1
    return shared


def file_name(path: str) -> str:
    """Returns the last part of a path of any system."""
    return _PARTS.split(path)[-1]
