"""One opened report: reads the file, answers what is asked of one launch, and says when an answer is there.

Everything heavy runs in tasks. Answers carry what was asked, so that a late one
can be told from the one that is wanted.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import numpy as np
from PySide6.QtCore import QObject, Signal

from core.files import printable
from core.units import format_count, format_file_bytes
from gui.reports import answers
from gui.reports.answers import LaunchAnswer, LaunchAsk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.errors import DashboardError
    from core.report_tables.index import ReportIndex
    from core.roofline.verdicts import ReportVerdicts
    from core.tables.ncu import Report
    from core.tables.result import ResultTable
    from gui.reports.answers import ReadReport
    from gui.reports.kernel_list import KernelList
    from gui.rooflines.sources import OfferedPoints
    from gui.tasks import Progress, Tasks

T = TypeVar("T")

DocumentState = Literal["waiting", "reading", "open", "cancelled", "refused"]

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
class TableAnswer:
    """A table that was asked for."""

    ask: TableAsk
    table: ResultTable


class ReportDocument(QObject):
    """One report or CSV.

    Signals:
        state_changed: The ``DocumentState``.
        progressed: (done, whole) in bytes while it is read.
        launch_ready: ``LaunchAnswer``.
        table_ready: ``TableAnswer``.
        source_ready: ``SourceAnswer``.
        verdicts_ready: There is a verdict for each launch.
        failed: A ``DashboardError`` of one answer; the others stand.
    """

    state_changed = Signal(str)
    progressed = Signal(object, object)
    launch_ready = Signal(object)
    table_ready = Signal(object)
    source_ready = Signal(object)
    verdicts_ready = Signal()
    failed = Signal(object)

    def __init__(self, path: Path, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path = path
        self.name = printable(path.name)
        self.state: DocumentState = "waiting"
        self.error: DashboardError | None = None
        self.report: Report | None = None
        self.kernels: KernelList | None = None
        self.verdicts: ReportVerdicts | None = None
        """One for each launch; None until they are known."""
        self.tables: tuple[tuple[str, str], ...] = ()
        """(name, title) of each table of all kernels."""
        self.clocks = ""
        """How clocks were controlled while profiling; "" if the file does not say."""
        self._tasks = tasks
        self._index: ReportIndex | None = None
        self._turn = threading.Lock()
        self._wanted: LaunchAsk | None = None
        self._answers: dict[LaunchAsk, LaunchAnswer] = {}
        self._key = f"report {id(self)}"
        self._kinds: set[str] = set()

    # --- reading

    def open(self) -> None:
        """Reads the file, unless it is read already or being read."""
        if self.state in ("reading", "open"):
            return
        path = self.path

        def work(progress: Progress) -> ReadReport:
            def report(done: int, whole: int) -> None:
                progress.report(done, whole, f"{format_file_bytes(done)} of {format_file_bytes(whole)}")

            return answers.open_report(path, report)

        self._set_state("reading")
        self._tasks.changed.connect(self._tell_progress)
        self._start("read", f"Reading {self.name}", work, self._opened, self._refused, self._cancelled)

    def cancel(self) -> None:
        """Gives the reading up."""
        self._tasks.cancel(f"{self._key} read")

    def close(self) -> None:
        """Gives everything up; nothing is told any more."""
        self.blockSignals(True)
        for kind in self._kinds:
            self._tasks.cancel(f"{self._key} {kind}")

    def _tell_progress(self) -> None:
        for task in self._tasks.shown:
            if task.key == f"{self._key} read":
                done, whole, _ = task.progress.state
                self.progressed.emit(int(done), int(whole or 0))

    def _opened(self, read: ReadReport) -> None:
        self.report, self.kernels = read.report, read.kernels
        self._index, self.tables, self.clocks = read.index, read.tables, read.clocks
        self._end_of_reading("open")
        self._judge()

    def _refused(self, error: DashboardError) -> None:
        self.error = error
        self._end_of_reading("refused")

    def _cancelled(self) -> None:
        self._end_of_reading("cancelled")

    def _end_of_reading(self, state: DocumentState) -> None:
        self._tasks.changed.disconnect(self._tell_progress)
        self._set_state(state)

    def _set_state(self, state: DocumentState) -> None:
        self.state = state
        self.state_changed.emit(state)

    # --- answers

    def offered_points(self, progress: Progress) -> OfferedPoints:
        """Makes its points, for the Roofline page; in a worker, once it is open."""
        from gui.rooflines.offers import points_of_report  # noqa: PLC0415

        assert self.report is not None
        return points_of_report(self.report, progress)

    def ask_launch(self, ask: LaunchAsk) -> None:
        """Asks for all that is shown of a launch; an older ask that has no answer yet is void."""
        report = self.report
        self._wanted = ask
        known = self._answers.get(ask)
        if known is not None:
            self._tasks.cancel(f"{self._key} launch")
            self.launch_ready.emit(known)
        elif report is not None:
            self._start(
                "launch",
                f"Looking at {self.name}",
                lambda progress: answers.describe(report, ask, progress.check),
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

    def _in_turn(self, progress: Progress, work: Callable[[], T]) -> T:
        """Does one thing at a time with the index: two would both compute what the other has nearly done."""
        while not self._turn.acquire(timeout=0.05):
            progress.check()
        try:
            progress.check()
            return work()
        finally:
            self._turn.release()

    def _start(  # noqa: PLR0913, PLR0917  (what a task is)
        self,
        kind: str,
        title: str,
        work: Callable[[Progress], Any],
        done: Callable[[Any], None],
        failed: Callable[[DashboardError], None] | None = None,
        cancelled: Callable[[], None] | None = None,
        *,
        shown: bool = True,
    ) -> None:
        self._kinds.add(kind)
        self._tasks.start(
            title=title,
            work=work,
            done=done,
            failed=failed or self.failed.emit,
            key=f"{self._key} {kind}",
            shown=shown,
            cancelled=cancelled,
        )

    def subtitle(self) -> str:
        """What it is, for the top bar: its name and how many kernels it holds."""
        if self.kernels is None:
            return self.name
        count = len(self.kernels)
        return f"{self.name}, {format_count(count)} {'kernel' if count == 1 else 'kernels'}"
