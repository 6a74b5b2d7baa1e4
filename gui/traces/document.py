"""One opened trace: reads the file, answers what pages and widgets ask, and says when an answer is there.

What numba compiles is imported in tasks too, never on the UI thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal

from core.prepare import is_child_running, wait_for_child
from core.tables.selection import WHOLE, Selection
from core.tables.trace import DEVICE_KINDS
from core.units import format_count
from gui.opened_file import OpenedFile
from gui.traces import answers
from gui.traces.kept_tables import KeptTables
from gui.traces.kernel_extras import KernelExtras, verdicts_by_name, with_reports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtCore import QObject

    from core.analyses.index import TraceIndex
    from core.analyses.slice_facts import SliceFacts
    from core.errors import DashboardError
    from core.roofline.verdict import Verdict
    from core.tables.columns import Int32
    from core.tables.result import ResultTable
    from core.tables.trace import Trace
    from gui.rooflines.sources import OfferedPoints, PointSource
    from gui.tasks import Progress, Tasks
    from gui.traces.answers import Laid, Overview, PartFigures, ReadTrace

_MEGA: Final = 1_000_000
COMPILING: Final = "Compiling the trace reader, once after an update"


@dataclass(frozen=True, slots=True)
class TableAsk:
    """A table that is wanted.

    Attributes:
        table: Name in the list of analyses, or "quality".
        group_by: What makes a row of the kernels, such as "name"; "" elsewhere.
        selection: The part of the trace.
    """

    table: str
    group_by: str = ""
    selection: Selection = WHOLE

    @property
    def is_of_names(self) -> bool:
        """Whether a row is a kernel by its name, of which models and reports say something too."""
        return self.table == "kernels" and self.group_by == "name"


@dataclass(frozen=True, slots=True, eq=False)
class TableAnswer:
    """A table that was asked for."""

    ask: TableAsk
    table: ResultTable


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far the reading is."""

    read_bytes: int
    total_bytes: int
    waits_for: str = ""
    """What has to be done before, in words."""

    @property
    def words(self) -> str:
        """Such as "312 of 1,003 MB"."""
        if self.waits_for or not self.total_bytes:
            return self.waits_for
        if self.total_bytes < _MEGA:
            return f"{self.read_bytes // 1000:,} of {max(self.total_bytes // 1000, 1):,} kB"
        return f"{self.read_bytes // _MEGA:,} of {self.total_bytes // _MEGA:,} MB"


@dataclass(frozen=True, slots=True, eq=False)
class EventArguments:
    """All arguments of one slice, as the file has them.

    Attributes:
        row: Of ``SliceTable``.
        pairs: (name, value) as texts.
        problem: Why they cannot be read; "" if they can.
    """

    row: int
    pairs: tuple[tuple[str, str], ...]
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Slices whose name holds all words.

    Attributes:
        words: What was looked for.
        rows: (n,) int32 of ``SliceTable``, device work first, Python frames last; in each by start.
    """

    words: str
    rows: Int32


class TraceDocument(OpenedFile):
    """One trace: of a file, of a folder with one file for each rank, or of several files chosen together.

    Signals:
        progressed: ``ReadProgress`` while it is read.
        table_ready: ``TableAnswer``.
        timeline_ready: The ``Laid``.
        overview_ready: The ``Overview``: figures, steps, problems.
        extras_ready: ``extras`` are others.
        figures_ready: ``PartFigures`` of the part that was asked for last; None for the whole.
        described: ``SliceFacts`` of the slice that was asked for last.
        arguments_ready: ``EventArguments`` of that slice.
        found: ``Found``.
    """

    progressed = Signal(object)
    table_ready = Signal(object)
    timeline_ready = Signal(object)
    overview_ready = Signal(object)
    extras_ready = Signal()
    figures_ready = Signal(object)
    described = Signal(object)
    arguments_ready = Signal(object)
    found = Signal(object)

    def __init__(
        self, path: Path, tasks: Tasks, parent: QObject | None = None, files: tuple[Path, ...] = ()
    ) -> None:
        super().__init__(path, tasks, parent, files)
        self.rank_count = max(len(files), 1)
        self.trace: Trace | None = None
        self.overview: Overview | None = None
        self.part: PartFigures | None = None
        """The figures of the part that was asked for last, the whole excepted."""
        self.laid: Laid | None = None
        self.extras = KernelExtras()
        """What models and open reports say of its kernels, as soon as that is known."""
        self.tables: tuple[tuple[str, str], ...] = ()
        """(name, title) of each analysis."""
        self._reports: tuple[PointSource, ...] = ()
        self._offered: OfferedPoints | None = None
        self._judged: tuple[Verdict | None, ...] | None = None
        self._index: TraceIndex | None = None
        self._read: ReadTrace | None = None
        self._wanted: TableAsk | None = None
        self._kept = KeptTables()
        self._short: dict[int, str] = {}

    # --- reading

    def _reading(self) -> Callable[[Progress], ReadTrace]:
        path, files = self.path, self.files

        def work(progress: Progress) -> ReadTrace:
            def report(read_bytes: int, total_bytes: int) -> None:
                state = ReadProgress(read_bytes, total_bytes)
                progress.report(read_bytes, total_bytes, state.words)

            if is_child_running():
                progress.report(0, 0, COMPILING)
                wait_for_child(progress.check)
            return answers.open_trace(path, files, report)

        return work

    def _show_progress(self, done: int, whole: int, words: str) -> None:
        self.progressed.emit(ReadProgress(done, whole, "" if whole else words))

    def _opened(self, read: ReadTrace) -> None:
        self._read, self._index, self.tables = read, read.index, read.tables
        self.trace = read.index.trace
        self.rank_count = len(read.files)

    def _go_on(self) -> None:
        assert self._read is not None
        self._build_timeline(self._read.keeps)

    # --- answers

    def ask_table(self, ask: TableAsk) -> None:
        """Asks for a table; an older ask that has no answer yet is void."""
        index, overview = self._index, self.overview
        extras = self.extras if ask.is_of_names and self.extras.has_any else None
        self._wanted = ask
        known = self._kept.find(ask)
        if known is not None and extras is None:
            self._cancel("table")
            self.table_ready.emit(TableAnswer(ask, known))
        elif index is not None and not (ask.table == "quality" and overview is None):

            def work(progress: Progress) -> tuple[ResultTable, ResultTable]:
                own = known
                if own is None:
                    own = self._in_turn(progress, lambda: answers.make_table(index, ask, overview))
                return own, own if extras is None else extras.add_to(own)

            self._start("table", f"Summing up {self.name}", work, lambda made: self._take_table(ask, *made))

    def ask_figures(self, selection: Selection) -> None:
        """Asks for the figures of a part; those of the part before stand until then. The whole has none."""
        index = self._index
        self._cancel("figures")
        if selection == WHOLE:
            self.part = None
            self.figures_ready.emit(None)
        elif index is not None and (self.part is None or self.part.selection != selection):
            self._start(
                "figures",
                f"Summing up {self.name}",
                lambda progress: self._in_turn(progress, lambda: answers.part_figures(index, selection)),
                self._take_figures,
                shown=False,
            )

    def describe(self, row: int) -> None:
        """Asks for everything that is known of a slice, and then for its arguments in the file."""
        index = self._index
        if index is None:
            return
        self._cancel("arguments")
        self._start(
            "describe",
            "Looking at the selection",
            lambda progress: self._in_turn(progress, lambda: answers.describe(index, row)),
            self._take_facts,
            shown=False,
        )

    def search(self, words: str) -> None:
        """Asks for the slices whose name holds all words, in any case."""
        trace = self.trace
        if trace is None:
            return
        self._start(
            "search",
            "Searching",
            lambda progress: Found(words, answers.search(trace, words, progress.check)),
            self.found.emit,
            shown=False,
        )

    def _take_table(self, ask: TableAsk, own: ResultTable, shown: ResultTable) -> None:
        """Keeps what the trace itself says; what is added to it may change."""
        self._kept.keep(ask, own)
        if ask == self._wanted:
            self.table_ready.emit(TableAnswer(ask, shown))

    def _take_figures(self, part: PartFigures) -> None:
        self.part = part
        self.figures_ready.emit(part)

    def _take_facts(self, facts: SliceFacts) -> None:
        self.described.emit(facts)
        assert self._read is not None
        path = self._read.file_of(facts.row)

        def refused(error: DashboardError) -> None:
            self.arguments_ready.emit(EventArguments(facts.row, (), error.message))

        self._start(
            "arguments",
            "Reading the event",
            lambda progress: EventArguments(facts.row, answers.read_arguments(path, facts, progress.check)),
            self.arguments_ready.emit,
            refused,
            shown=False,
        )

    def short_name(self, row: int) -> str:
        """The short name of a slice, for the timeline; each text is shortened once."""
        trace = self.trace
        assert trace is not None
        text_id = int(trace.slices.name_id[row])
        if text_id not in self._short:
            is_work = int(trace.slices.kind[row]) in DEVICE_KINDS
            self._short[text_id] = answers.short(trace.strings[text_id], is_work=is_work)
        return self._short[text_id]

    # --- what is made after the first table

    def _build_timeline(self, keeps: tuple[Callable[[Callable[[], None]], None], ...]) -> None:
        index = self._index
        assert index is not None

        def work(progress: Progress) -> Laid:
            return answers.build(index.trace, self._in_turn(progress, lambda: answers.lay_out(index)))

        def done(laid: Laid) -> None:
            self.laid = laid
            self.timeline_ready.emit(laid)
            self._judge(keeps)

        self._start("timeline", f"Laying out {self.name}", work, done)

    def _judge(self, keeps: tuple[Callable[[Callable[[], None]], None], ...]) -> None:
        index = self._index
        assert index is not None

        def keep_all(progress: Progress) -> None:
            for keep in keeps:
                keep(progress.check)

        def done(overview: Overview) -> None:
            self.overview = overview
            self.overview_ready.emit(overview)
            if self._wanted is not None and self._wanted.table == "quality":
                self.ask_table(self._wanted)
            self._find_extras()
            if keeps:
                self._start("keep", "Keeping the trace", keep_all, lambda _: None, shown=False)

        self._start(
            "judge",
            f"Checking {self.name}",
            lambda progress: self._in_turn(progress, lambda: answers.overview_of(index)),
            done,
        )

    def set_reports(self, reports: tuple[PointSource, ...]) -> None:
        """Says which reports are open, the one that was shown last first; one has its counters shown."""
        if reports != self._reports:
            self._reports = reports
            self._find_extras()

    def _find_extras(self) -> None:
        """Finds what models and reports say of its kernels, once all else that is shown at first is there."""
        index, before, reports = self._index, self.extras, self._reports
        if index is None or self.overview is None or not len(index.trace.device_work):
            return

        def work(progress: Progress) -> KernelExtras:
            extras = before
            if not before.verdicts:
                offered = self.offered_points(progress)
                extras = replace(extras, verdicts=verdicts_by_name(offered, progress))
            return self._in_turn(progress, lambda: with_reports(index, extras, reports, progress))

        def done(extras: KernelExtras) -> None:
            self.extras = extras
            self.extras_ready.emit()
            if self._wanted is not None and self._wanted.is_of_names:
                self.ask_table(self._wanted)

        self._start("extras", f"Judging the kernels of {self.name}", work, done, shown=False)

    def longest_kernel(self, name: str) -> int | None:
        """Row of the longest call of a kernel, by its full name; None if there is none."""
        return None if self.trace is None else answers.longest_named(self.trace, name)

    def offered_points(self, progress: Progress) -> OfferedPoints:
        """Makes its modelled points and their verdicts, each once; in a worker, once it is open."""
        from gui.rooflines.offers import points_of_trace  # noqa: PLC0415

        index = self._index
        assert index is not None

        def make() -> OfferedPoints:
            if self._offered is None:
                self._offered = points_of_trace(index, progress)
            return self._offered

        offered = self._in_turn(progress, make)

        def judge(progress: Progress) -> tuple[Verdict | None, ...]:
            def made() -> tuple[Verdict | None, ...]:
                if self._judged is None:
                    self._judged = offered.judge(progress)
                return self._judged

            return self._in_turn(progress, made)

        return replace(offered, judge=judge)

    @property
    def offered(self) -> OfferedPoints | None:
        """Its modelled points; None until they are made."""
        return self._offered

    @property
    def rank_words(self) -> str:
        """Behind its name: how many ranks it joins, "" of a single file."""
        return rank_words(self.rank_count)

    def subtitle(self) -> str:
        """What it is, for the top bar: its name, ranks, steps and events."""
        overview = self.overview
        parts = [self.name + self.rank_words]
        if overview is not None and overview.steps:
            numbers = sorted({step.number for step in overview.steps})
            one = len(numbers) == 1
            parts.append(f"step {numbers[0]}" if one else f"steps {numbers[0]}\N{EN DASH}{numbers[-1]}")
        if self.trace is not None:
            parts.append(f"{format_count(self.trace.facts.event_count)} events")
        return ", ".join(parts)


def rank_words(count: int) -> str:
    """Behind the name of a trace: how many ranks it joins, "" of a single file."""
    return f", {count} ranks" if count > 1 else ""
