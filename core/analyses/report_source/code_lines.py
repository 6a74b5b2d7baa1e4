"""From addresses on the device to source lines, through a launch's binary and its list of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.analyses.report_source.elf import BinaryDamageError, DeviceBinary
from core.analyses.report_source.line_program import read_lines
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from core.analyses.report_source.elf import Place
    from core.analyses.report_source.line_program import LineTable
    from core.tables.columns import Int32, Int64
    from core.tables.ncu import Report, SourceFacts

    SourceReader = Callable[[SourceFacts], tuple["BinaryLines", Sequence[tuple[str, str]]]]
    """From one of ``Report.sources`` to the lines of its binary and the (path, text) of imported files.

    It may raise ``NoLinesError``.
    """

NO_BINARY: Final = "The report holds no binary of this kernel, so its instructions have no lines."
NO_LINES: Final = "This kernel was built without line numbers: build it with `nvcc -lineinfo`."
NO_FUNCTION: Final = "The binary in the report has no lines of this kernel."


class NoLinesError(Exception):
    """There are no lines; the text is the reason, for people."""


class BinaryLines(NamedTuple):
    """What a binary says of lines: its table, and where its functions lie."""

    table: LineTable
    places: Mapping[str, Place]


class Placed(NamedTuple):
    """In which functions addresses lie. Columns (n,).

    Attributes:
        functions: Mangled names.
        function: int32, place in ``functions``, NO_ROW before the first.
        offset: int64, bytes from the begin of its function, 0 before the first.
    """

    functions: tuple[str, ...]
    function: Int32
    offset: Int64


class Located(NamedTuple):
    """Where addresses come from. Columns (n,).

    Attributes:
        files: Paths of source files.
        file_id: int32, NO_ROW where no line is known.
        line: int64, 0 where no line is known.
        function: int32, place in ``functions``, NO_ROW before the first.
        offset: int64, bytes from the begin of its function.
        functions: Mangled names.
    """

    files: tuple[str, ...]
    file_id: Int32
    line: Int64
    function: Int32
    offset: Int64
    functions: tuple[str, ...]


def source_of(report: Report, launch_row: int) -> SourceFacts | None:
    """Returns the source that a launch came from, None if the report does not hold it.

    References are not unique: the one whose functions hold the kernel is meant.
    """
    reference = int(report.launches.source_reference[launch_row])
    name = report.strings[int(report.launches.mangled_name_id[launch_row])]
    alike = [source for source in report.sources if source.reference == reference]
    holds = [
        source for source in alike if any(function.mangled_name == name for function in source.functions)
    ]
    return next(iter(holds or [source for source in alike if not source.functions]), None)


def lines_of_binary(binary: bytes) -> BinaryLines:
    """Reads the line table of a cubin, which takes up to a second for a large one.

    Raises:
        NoLinesError: There is none, and why.
    """
    try:
        stored = DeviceBinary(binary)
        table = read_lines(stored)
        places = stored.functions
    except BinaryDamageError as damage:
        raise NoLinesError(f"The binary of this kernel is damaged: {damage}.") from damage
    if table is None or not table.sections:
        raise NoLinesError(NO_LINES)
    return BinaryLines(table, places)


def locate(source: SourceFacts, kernel: str, binary: BinaryLines, addresses: NDArray[np.uint64]) -> Located:
    """Finds the source line of each address.

    Args:
        source: The launch's source.
        kernel: Its mangled name.
        binary: What its cubin says of lines.
        addresses: (n,) uint64, of instructions.

    Raises:
        NoLinesError: None of this kernel are known.
    """
    table, places = binary
    names, function, offset = place_in_functions(source, kernel, addresses)
    known = function >= 0
    file_id, line = np.full(len(addresses), NO_ROW, np.int32), np.zeros(len(addresses), np.int64)
    for row in np.unique(function[known]).tolist():
        place: Place | None = places.get(names[row])
        lines = None if place is None else table.sections.get(place.section)
        if place is not None and lines is not None:
            rows = np.flatnonzero(function == row)
            file_id[rows], line[rows] = lines.find(offset[rows] + place.offset)
    if not np.any(line):
        raise NoLinesError(NO_FUNCTION)
    return Located(table.files, file_id, line, function, offset, names)


def place_in_functions(source: SourceFacts | None, kernel: str, addresses: NDArray[np.uint64]) -> Placed:
    """Finds the function of each address and how far from its begin it lies.

    Args:
        source: The launch's source, None if the report does not hold it.
        kernel: Its mangled name.
        addresses: (n,) uint64, of instructions.
    """
    names, bases = _functions(source, kernel, addresses)
    function = (np.searchsorted(bases, addresses, side="right") - 1).astype(np.int32)
    offset = np.zeros(len(addresses), np.int64)
    known = function >= 0
    offset[known] = (addresses[known] - bases[function[known]]).astype(np.int64)
    return Placed(names, function, offset)


def code_places(binary: bytes) -> dict[str, tuple[str, int]]:
    """Tells where functions lie in sections of code; a section is named after the first function in it.

    Args:
        binary: A cubin; one that is damaged or empty has none.

    Returns:
        Mangled name of a function to the name of its section without ".text.", and bytes from its begin.
    """
    try:
        stored = DeviceBinary(binary)
        sections = {row: stored.sections[row].name.removeprefix(".text.") for row in stored.code_sections}
        places = stored.functions
    except BinaryDamageError:
        return {}
    return {
        name: (sections[place.section], place.offset)
        for name, place in places.items()
        if place.section in sections
    }


def _functions(
    source: SourceFacts | None, kernel: str, addresses: NDArray[np.uint64]
) -> tuple[tuple[str, ...], NDArray[np.uint64]]:
    """Returns names and addresses of functions, by address; without a table the kernel begins with its first.

    Reports before 2022.4 have no table. In those at hand that have one, the first
    instruction that was executed lay where its kernel began, in 17 of 17.
    """
    functions = () if source is None else source.functions
    known = sorted(
        (each.base_address, each.mangled_name) for each in functions if each.base_address is not None
    )
    if not any(name == kernel for _, name in known):
        known = [(int(addresses.min()), kernel)] if len(addresses) else []
    return tuple(name for _, name in known), np.array([base for base, _ in known], np.uint64)
