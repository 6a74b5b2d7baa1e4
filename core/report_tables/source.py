"""Source lines of launches and their instructions, with what was counted at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.report_source.code_lines import NoLinesError, code_places, lines_of_binary, source_of
from core.analyses.report_source.hot_lines import HotLines, file_name, hot_instructions, hot_lines
from core.readers.ncu_report.details import read_source
from core.readers.ncu_report.instances import LaunchInstances
from core.report_tables.index import NO_KERNELS, ReportIndex
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.analyses.report_source.code_lines import BinaryLines
    from core.analyses.report_source.hot_lines import HotInstructions
    from core.tables.columns import Float64, Int32, Int64
    from core.tables.ncu import Report, SourceFacts

_COUNTS = (
    ("executed", "Executed", "Instructions that warps executed."),
    ("threads_executed", "Thread instructions", "Instructions by thread: the warps' with their threads."),
    ("l2_sectors", "L2 sectors", "Sectors of 32 bytes of global memory that it asked L2 for."),
    ("l2_sectors_ideal", "Ideal L2 sectors", "Sectors that would do if threads asked for neighbours."),
    (
        "shared_wavefronts",
        "Shared wavefronts",
        "Passes through shared memory; conflicts of banks add to them.",
    ),
    ("shared_wavefronts_ideal", "Ideal wavefronts", "Passes that would do without conflicts of banks."),
)
_LARGEST_EXACT = 2**53
"""Up to here float64 holds every whole number."""
_HIDDEN = ("threads_executed", "l2_sectors_ideal", "shared_wavefronts_ideal")


def list_source(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists the lines of each launch, those with most samples first; instructions without one come as one.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.
    """
    rows = index.rows(launches)
    sources = _Sources(index.report)
    found = [(launch, _lines_of(index.report, launch, sources)) for launch in rows.tolist()]
    of_row = np.array([launch for launch, lines in found for _ in range(len(lines))], np.int32)
    parts = [lines for _, lines in found if len(lines)]
    empty = NO_KERNELS if not found else _reasons(found)
    return ResultTable(
        name="source",
        title="Source",
        columns=(*index.kernel_columns(of_row), *_columns(parts)),
        notes=tuple(_notes(found, parts)),
        empty=empty,
    )


def source_lines(report: Report, launch_row: int) -> ResultTable:
    """Lists the lines of one launch; ``empty`` says why there are none.

    Args:
        report: A report.
        launch_row: Row of ``Report.launches``.
    """
    lines = lines_of(report, launch_row)
    parts = [lines] if len(lines) else []
    return ResultTable(
        name="source_lines",
        title="Source lines",
        columns=_columns(parts),
        notes=tuple(_notes([], parts)),
        empty=lines.reason,
    )


def source_instructions(
    report: Report, launch_row: int, sass: Mapping[tuple[str, int], str] | None = None
) -> ResultTable:
    """Lists the instructions of one launch that something was counted at, by address.

    Args:
        report: A report.
        launch_row: Row of ``Report.launches``.
        sass: (name of a section of code, bytes from its begin) to the text of the instruction there, as
            nvdisasm lists the launch's binary; None leaves the column of texts out.
    """
    found = hot_instructions(report, launch_row, LaunchInstances(report, launch_row), _Sources(report))
    parts = [found.lines] if len(found) else []
    texts = None if sass is None else _sass_texts(report, launch_row, found, sass)
    counted = tuple(column for column in _columns(parts) if column.key != "instructions")
    return ResultTable(
        name="source_instructions",
        title="Instructions",
        columns=(*_address_columns(found, texts), *counted),
        notes=() if sass is None or texts is None else tuple(_sass_notes(texts)),
        empty=found.lines.reason,
    )


def _sass_texts(
    report: Report, launch_row: int, found: HotInstructions, sass: Mapping[tuple[str, int], str]
) -> list[str | None]:
    source = source_of(report, launch_row)
    places = {} if source is None else code_places(read_source(report, source).binary)
    names, function, offset = found.placed
    texts: list[str | None] = []
    for row, at in zip(function.tolist(), offset.tolist(), strict=True):
        section, begin = places.get(names[row], (names[row], 0)) if row != NO_ROW else ("", 0)
        texts.append(sass.get((section, begin + at)))
    return texts


def _sass_notes(texts: Sequence[str | None]) -> Iterator[str]:
    without = sum(text is None for text in texts)
    if without:
        words = "instruction is" if without == 1 else "instructions are"
        yield f"{without:,} {words} not in the disassembly."


def _address_columns(found: HotInstructions, texts: Sequence[str | None] | None) -> Iterator[Column]:
    names, function, offset = found.placed
    digits = max(4, len(f"{int(offset.max(initial=0)):x}"))
    rows = list(zip(found.address.tolist(), function.tolist(), offset.tolist(), strict=True))
    yield own_text_column(
        "address",
        "Address",
        "Bytes from the begin of its function, in hex; on the device where its function is not known.",
        (f"{address:#x}" if row == NO_ROW else f"0x{at:0{digits}x}" for address, row, at in rows),
    )
    if texts is not None:
        yield own_text_column("sass", "SASS", "The instruction, as nvdisasm writes it.", texts)
    yield own_text_column(
        "function",
        "Function",
        "Mangled name of the function that it belongs to.",
        (None if row == NO_ROW else names[row] for _, row, _ in rows),
        shown=len(np.unique(function)) > 1,
    )
    yield own_text_column(
        "device_address",
        "Device address",
        "Where it lay on the device, in hex; links of rules name it.",
        (f"{address:#x}" for address, _, _ in rows),
        shown=False,
    )


def lines_of(report: Report, launch_row: int) -> HotLines:
    """Sums what was counted at the instructions of a launch by source line."""
    return _lines_of(report, launch_row, _Sources(report))


def _lines_of(report: Report, launch_row: int, sources: _Sources) -> HotLines:
    return hot_lines(report, launch_row, LaunchInstances(report, launch_row), sources)


class _Sources:
    """The sources of a report, each read once however many launches came from it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._known: dict[int, tuple[BinaryLines, Sequence[tuple[str, str]]] | str] = {}

    def __call__(self, source: SourceFacts) -> tuple[BinaryLines, Sequence[tuple[str, str]]]:
        """Returns the lines of a source's binary, and its imported files.

        Raises:
            NoLinesError: Its binary has none, and why.
        """
        if source.raw_begin not in self._known:
            self._known[source.raw_begin] = self._read(source)
        found = self._known[source.raw_begin]
        if isinstance(found, str):
            raise NoLinesError(found)
        return found

    def _read(self, source: SourceFacts) -> tuple[BinaryLines, Sequence[tuple[str, str]]] | str:
        content = read_source(self._report, source)
        try:
            return lines_of_binary(content.binary), content.files
        except NoLinesError as error:
            return str(error)


def _columns(parts: Sequence[HotLines]) -> tuple[Column, ...]:
    samples = _joined(parts, lambda lines: _count(lines, "samples"))
    stalls = [lines.top_stall(row) for lines in parts for row in range(len(lines))]
    stalled = [np.nan if stall is None else stall[1] for stall in stalls]
    paths = [_path(lines, row) for lines in parts for row in range(len(lines))]
    line = [number for lines in parts for number in lines.line.tolist()]
    return (
        own_text_column(
            "file", "File", "Source file.", (None if path is None else file_name(path) for path in paths)
        ),
        number_column(
            "line",
            "Line",
            "id",
            "In the file; none for instructions that no line is known of.",
            np.array([number if number else MISSING for number in line], np.int64),
        ),
        own_text_column(
            "text",
            "Text",
            "The line, where its file was imported: ncu --import-source yes.",
            (text for lines in parts for text in lines.texts),
        ),
        number_column("samples", "Samples", "count", "How often a warp was met at it.", _whole(samples)),
        number_column("share_pct", "Share", "pct", "Of all samples of the launch.", _shares(parts)),
        own_text_column(
            "top_stall",
            "Top stall",
            "Why most warps that were met at it waited.",
            (None if stall is None else stall[0] for stall in stalls),
        ),
        number_column(
            "top_stall_samples",
            "Stalled",
            "count",
            "Samples with that reason.",
            _whole(np.array(stalled, np.float64)),
        ),
        number_column(
            "not_issued_samples",
            "Not issued",
            "count",
            "Samples in which no warp of the scheduler issued: these cost time.",
            _whole(_joined(parts, lambda lines: lines.not_issued)),
            shown=False,
        ),
        *(
            number_column(
                key,
                title,
                "count",
                explained,
                _whole(_joined(parts, lambda lines, key=key: _count(lines, key))),  # type: ignore[misc]  # bound at once
                shown=key not in _HIDDEN,
            )
            for key, title, explained in _COUNTS
        ),
        number_column(
            "instructions",
            "Instructions",
            "count",
            "Of the kernel's code that come from it and were met.",
            np.array([count for lines in parts for count in lines.instructions.tolist()], np.int64),
            shown=False,
        ),
        own_text_column("path", "Path", "Of the file, as built.", paths, shown=False),
    )


def _count(lines: HotLines, key: str) -> Float64 | None:
    return lines.counts.get(key)


def _joined(parts: Sequence[HotLines], column: Callable[[HotLines], Float64 | None]) -> Float64:
    """Puts a column of all launches together, NaN where it was not collected."""
    found = [np.full(len(lines), np.nan) if (values := column(lines)) is None else values for lines in parts]
    return np.concatenate(found) if found else np.empty(0, np.float64)


def _whole(values: Float64) -> Int64 | Float64:
    """Returns counts as whole numbers, if all are: a report holds them as floating-point ones."""
    known = ~np.isnan(values)
    if (values[known] != np.floor(values[known])).any() or (np.abs(values[known]) > _LARGEST_EXACT).any():
        return values
    counts = np.full(len(values), MISSING)
    counts[known] = values[known].astype(np.int64)
    return counts


def _shares(parts: Sequence[HotLines]) -> Float64:
    def share(lines: HotLines) -> Float64 | None:
        samples = _count(lines, "samples")
        whole = 0.0 if samples is None else float(samples.sum())
        return 100.0 * samples / whole if samples is not None and whole > 0 else None

    return _joined(parts, share)


def _path(lines: HotLines, row: int) -> str | None:
    file_id = int(lines.file_id[row])
    return None if file_id == NO_ROW else lines.files[file_id]


def _reasons(found: Sequence[tuple[int, HotLines]]) -> str:
    return " ".join(dict.fromkeys(lines.reason for _, lines in found))


def _notes(found: Sequence[tuple[int, HotLines]], parts: Sequence[HotLines]) -> Iterator[str]:
    without = sum(not len(lines) for _, lines in found)
    if parts and without:
        words = "kernel has" if without == 1 else "kernels have"
        yield f"{without:,} {words} no lines: {_reasons([each for each in found if not len(each[1])])}"
    if parts and not any(text is not None for lines in parts for text in lines.texts):
        yield "The report holds no source files: collect it with `ncu --import-source yes`."
