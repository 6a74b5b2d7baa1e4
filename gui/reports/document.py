"""One opened report: reads the file, answers what is asked of a launch, and says when an answer is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import Signal

from core.units import format_count, format_file_bytes
from gui.opened_file import OpenedFile
from gui.reports import answers
from gui.reports.answers import LaunchAnswer, LaunchAsk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtCore import QObject

    from core.report_tables.index import ReportIndex
    from core.roofline.verdicts import ReportVerdicts
    from core.tables.ncu import Report
    from core.tables.result import ResultTable
    from gui.reports.answers import ReadReport
    from gui.reports.kernel_list import KernelList
    from gui.rooflines.sources import OfferedPoints
    from gui.tasks import Progress, Tasks

KEPT_ANSWERS: Final = 24
"""So many answers stay at hand, so that going back to a kernel costs nothing."""


@dataclass(frozen=True, slots=True)
class TableAsk:
    """A table that is wanted: its name, and the launches it is of."""

    table: str
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SourceAnswer:
    """The source lines of a launch."""

    row: int
    table: ResultTable


@dataclass(frozen=True, slots=True, eq=False)
class InstructionAnswer:
    """The instructions of a launch, first without their texts where these take a while."""

    row: int
    table: ResultTable


@dataclass(frozen=True, slots=True, eq=False)
class TableAnswer:
    """A table that was asked for."""

    ask: TableAsk
    table: ResultTable


class ReportDocument(OpenedFile):
    """One report or CSV.

    Signals:
        progressed: (done, whole) in bytes while it is read.
        launch_ready: ``LaunchAnswer``.
        table_ready: ``TableAnswer``.
        source_ready: ``SourceAnswer``.
        instructions_ready: ``InstructionAnswer``.
        verdicts_ready: There is a verdict for each launch.
    """

    progressed = Signal(object, object)
    launch_ready = Signal(object)
    table_ready = Signal(object)
    source_ready = Signal(object)
    instructions_ready = Signal(object)
    verdicts_ready = Signal()

    def __init__(self, path: Path, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(path, tasks, parent)
        self.report: Report | None = None
        self.kernels: KernelList | None = None
        self.verdicts: ReportVerdicts | None = None
        """One for each launch; None until they are known."""
        self.tables: tuple[tuple[str, str], ...] = ()
        """(name, title) of each table of all kernels."""
        self.clocks = ""
        """How clocks were controlled while profiling; "" if the file does not say."""
        self._index: ReportIndex | None = None
        self._partners: answers.Partners | None = None
        self._disassembly: answers.Disassembly | None = None
        self._wanted: LaunchAsk | None = None
        self._answers: dict[LaunchAsk, LaunchAnswer] = {}

    # --- reading

    def _reading(self) -> Callable[[Progress], ReadReport]:
        path = self.path

        def work(progress: Progress) -> ReadReport:
            def report(done: int, whole: int) -> None:
                progress.report(done, whole, f"{format_file_bytes(done)} of {format_file_bytes(whole)}")

            return answers.open_report(path, report)

        return work

    def _show_progress(self, done: int, whole: int, words: str) -> None:
        del words
        self.progressed.emit(done, whole)

    def _opened(self, read: ReadReport) -> None:
        self.report, self.kernels = read.report, read.kernels
        self._partners = answers.Partners(read.report)
        self._disassembly = answers.Disassembly(read.report)
        self._index, self.tables, self.clocks = read.index, read.tables, read.clocks

    def _go_on(self) -> None:
        self._judge()

    # --- answers

    def offered_points(self, progress: Progress) -> OfferedPoints:
        """Makes its points, for the Roofline page; in a worker, once it is open."""
        from gui.rooflines.offers import points_of_report  # noqa: PLC0415

        assert self.report is not None
        return points_of_report(self.report, progress)

    def ask_launch(self, ask: LaunchAsk) -> None:
        """Asks for all that is shown of a launch; an older ask that has no answer yet is void."""
        partners = self._partners
        self._wanted = ask
        known = self._answers.get(ask)
        if known is not None:
            self._cancel("launch")
            self.launch_ready.emit(known)
        elif partners is not None:
            self._start(
                "launch",
                f"Looking at {self.name}",
                lambda progress: answers.describe(partners, ask, progress.check),
                self._take_launch,
                shown=False,
            )

    def ask_table(self, ask: TableAsk) -> None:
        """Asks for a table; an older ask that has no answer yet is void."""
        index = self._index
        if index is None:
            return

        def work(progress: Progress) -> TableAnswer:
            rows = np.array(ask.rows, np.int32)
            table = self._in_turn(progress, lambda: answers.make_table(index, ask.table, rows))
            return TableAnswer(ask, table)

        self._start("table", f"Listing {self.name}", work, self.table_ready.emit)

    def ask_source(self, row: int) -> None:
        """Asks for the source lines of a launch; an older ask that has no answer yet is void."""
        report = self.report
        if report is not None:
            self._start(
                "source",
                f"Finding the source lines of {self.name}",
                lambda _: SourceAnswer(row, answers.source_table(report, row)),
                self.source_ready.emit,
            )

    def ask_instructions(self, row: int) -> None:
        """Asks for the instructions of a launch; an older ask that has no answer yet is void.

        They come at once, and once more with their texts, if the user's nvdisasm can make these.
        """
        disassembly = self._disassembly
        if disassembly is None:
            return

        def listed(answer: tuple[ResultTable, bool]) -> None:
            table, may_have_texts = answer
            self.instructions_ready.emit(InstructionAnswer(row, table))
            if may_have_texts:
                self._disassemble(disassembly, row, table)

        self._cancel("disassembly")
        self._start(
            "instructions",
            f"Listing the instructions of {self.name}",
            lambda _: disassembly.table(row),
            listed,
        )

    def _disassemble(self, disassembly: answers.Disassembly, row: int, table: ResultTable) -> None:
        """Makes the texts of instructions; a failure is a note below the table that stands."""

        def tell(shown: ResultTable) -> None:
            self.instructions_ready.emit(InstructionAnswer(row, shown))

        self._start(
            "disassembly",
            f"Disassembling a kernel of {self.name}",
            lambda progress: disassembly.texts_table(row, lambda: progress.cancelled),
            tell,
            lambda error: tell(answers.noted(table, f"No instruction texts: {error}")),
        )

    def table_maker(self, ask: TableAsk) -> Callable[[], ResultTable] | None:
        """What makes a table, to be called in a worker; None before the report is read."""
        index = self._index
        if index is None:
            return None

        def make() -> ResultTable:
            with self._turn:
                return answers.make_table(index, ask.table, np.array(ask.rows, np.int32))

        return make

    def _take_launch(self, answer: LaunchAnswer) -> None:
        self._answers[answer.ask] = answer
        while len(self._answers) > KEPT_ANSWERS:
            del self._answers[next(iter(self._answers))]
        if answer.ask == self._wanted:
            self.launch_ready.emit(answer)

    def _judge(self) -> None:
        index = self._index
        assert index is not None

        def done(verdicts: ReportVerdicts) -> None:
            self.verdicts = verdicts
            self.verdicts_ready.emit()

        self._start(
            "judge",
            f"Judging the kernels of {self.name}",
            lambda progress: self._in_turn(progress, lambda: answers.judge(index)),
            done,
            shown=False,
        )

    def subtitle(self) -> str:
        """What it is, for the top bar: its name and how many kernels it holds."""
        if self.kernels is None:
            return self.name
        count = len(self.kernels)
        return f"{self.name}, {format_count(count)} {'kernel' if count == 1 else 'kernels'}"
