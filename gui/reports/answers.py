"""What a document is asked, answered. Called in workers: here readers and views are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from core.analyses.report_view.facts import (
        Comparison,
        FrameView,
        LaunchPair,
        OccupancyView,
        RangeView,
        RuleView,
        SessionFact,
        SpeedOfLight,
        StallView,
    )
    from core.analyses.report_view.parts import SectionView
    from core.report_tables.index import ReportIndex
    from core.roofline.verdicts import ReportVerdicts
    from core.tables.columns import Int32
    from core.tables.ncu import Instances, Report
    from core.tables.result import ResultTable
    from gui.reports.baselines import Baseline
    from gui.reports.kernel_list import KernelList

CLOCKS: Final = "Clocks"
"""Label of the fact of a session that says how clocks were controlled."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadReport:
    """A report that has been read."""

    report: Report
    kernels: KernelList
    index: ReportIndex
    tables: tuple[tuple[str, str], ...]
    """(name, title) of each table of all its kernels."""
    clocks: str
    """How clocks were controlled: "locked to base"; "" if the file does not say."""


@dataclass(frozen=True, slots=True)
class LaunchAsk:
    """What is wanted: a launch, held against a baseline or not."""

    row: int
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LaunchView:
    """All that is shown of one launch.

    Attributes:
        light: Speed of light.
        sections: In the order in which they are shown.
        rules: With the largest estimated speedup first.
        occupancy, stalls: Of the launch.
        session: What the report says of itself.
        ranges, frames: NVTX ranges that were open, and the host's stack.
        has_source: Whether the report names the binary that the launch came from.
    """

    light: SpeedOfLight
    sections: tuple[SectionView, ...]
    rules: tuple[RuleView, ...]
    occupancy: OccupancyView
    stalls: StallView
    session: tuple[SessionFact, ...]
    ranges: tuple[RangeView, ...]
    frames: tuple[FrameView, ...]
    has_source: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LaunchAnswer:
    """What was asked for.

    Attributes:
        ask: The launch and the baseline.
        view: Of the launch.
        baseline: Speed of light and sections of the baseline, None without one.
        comparison: Of baseline (first) and launch (second), None without one.
        lacks: Why a report that is the baseline has no partner of the launch, "" if it has.
        metrics: The table of all metrics.
    """

    ask: LaunchAsk
    view: LaunchView
    baseline: LaunchView | None
    comparison: Comparison | None
    metrics: ResultTable
    lacks: str = ""


def open_report(path: Path, report: Callable[[int, int], None]) -> ReadReport:
    """Reads a report or CSV, whatever its name is.

    Args:
        path: The file.
        report: Gets the bytes that are read and their number; what it raises ends the reading.

    Raises:
        DashboardError: It cannot be read, or is something else.
    """
    from core.analyses.report_view.session import session_view  # noqa: PLC0415
    from core.errors import DashboardError  # noqa: PLC0415
    from core.files import describe_path  # noqa: PLC0415
    from core.readers import reader_of  # noqa: PLC0415
    from core.report_tables.index import ReportIndex  # noqa: PLC0415
    from core.report_tables.registry import REPORT_ANALYSES  # noqa: PLC0415
    from core.tables.ncu import Report  # noqa: PLC0415
    from gui.reports.kernel_list import list_kernels  # noqa: PLC0415

    description = describe_path(path)
    # An empty file is refused by the reader of what its name promises.
    reader = reader_of("ncu_report" if description.kind == "empty" else description.kind)
    if reader is None or not reader.name.startswith("ncu"):
        raise DashboardError(
            f"{description.name} is no Nsight Compute report: {description.title}.",
            "Open a file that ncu wrote with -o, or a table of ncu --csv.",
        )
    read = reader.load()(path, report)  # type: ignore[call-arg]
    assert isinstance(read, Report)
    tables = tuple((each.name, each.title) for each in REPORT_ANALYSES)
    clocks = next((fact.value for fact in session_view(read) if fact.label == CLOCKS), "")
    return ReadReport(read, list_kernels(read), ReportIndex(read), tables, clocks)


def make_table(index: ReportIndex, name: str, rows: Int32) -> ResultTable:
    """Makes one of the tables, of the launches that are chosen, numbered as the page numbers them.

    Raises:
        KeyError: There is none of that name.
    """
    from core.report_tables.numbers import numbered  # noqa: PLC0415
    from core.report_tables.registry import find_report_analysis  # noqa: PLC0415

    return numbered(find_report_analysis(name).summarize(index, rows))


def judge(index: ReportIndex) -> ReportVerdicts:
    """Judges every launch; what is shown of one is made when it is looked at."""
    return index.verdicts


class Partners:
    """What launches of a report are held against in a baseline report, found once for each baseline."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._found: tuple[Report, dict[int, LaunchPair]] | None = None

    def partner(self, against: Baseline, row: int) -> tuple[int | None, str]:
        """Returns the launch that a launch is held against, and why there is none."""
        if against.row is not None:
            return against.row, ""
        pair = self._pairs(against.report).get(row)
        if pair is None:
            return None, ""
        return pair.first_row, pair.reason.replace("The first report", "The baseline")

    def _pairs(self, baseline: Report) -> dict[int, LaunchPair]:
        from core.analyses.report_view.compare import compare_reports  # noqa: PLC0415

        # Workers may ask at the same time: what one of them finds is as good as the other's.
        found = self._found
        if found is None or found[0] is not baseline:
            pairs = compare_reports(baseline, self.report).pairs
            found = baseline, {pair.second_row: pair for pair in pairs if pair.second_row is not None}
            self._found = found
        return found[1]


def describe(partners: Partners, ask: LaunchAsk, check: Callable[[], None]) -> LaunchAnswer:
    """Makes all that is shown of a launch.

    Args:
        partners: Its report, with what a baseline report holds of it.
        ask: The launch and the baseline.
        check: What it raises ends the work.
    """
    from gui.reports.metric_table import metric_table  # noqa: PLC0415

    report = partners.report
    view = view_of(report, ask.row, check)
    against = ask.baseline
    before_row, lacks = (None, "") if against is None else partners.partner(against, ask.row)
    if against is None or before_row is None:
        metrics = metric_table(report, ask.row, None)
        return LaunchAnswer(ask=ask, view=view, baseline=None, comparison=None, metrics=metrics, lacks=lacks)
    from core.analyses.report_view.compare import compare  # noqa: PLC0415

    before = view_of(against.report, before_row, check)
    comparison = compare(against.report, before_row, report, ask.row)
    return LaunchAnswer(
        ask=ask,
        view=view,
        baseline=before,
        comparison=comparison,
        metrics=metric_table(report, ask.row, comparison),
    )


def view_of(report: Report, row: int, check: Callable[[], None]) -> LaunchView:
    """Makes the parts of one launch."""
    from core.analyses.report_source.code_lines import source_of  # noqa: PLC0415
    from core.analyses.report_view.occupancy import occupancy_view  # noqa: PLC0415
    from core.analyses.report_view.rules import rule_views  # noqa: PLC0415
    from core.analyses.report_view.sections import section_views  # noqa: PLC0415
    from core.analyses.report_view.session import frame_views, range_views, session_view  # noqa: PLC0415
    from core.analyses.report_view.speed_of_light import speed_of_light  # noqa: PLC0415
    from core.analyses.report_view.stalls import stall_view  # noqa: PLC0415
    from core.readers.ncu_report.instances import LaunchInstances  # noqa: PLC0415

    # The launch is decoded once for all of its metrics.
    of_launch = LaunchInstances(report, row)

    def instances(metric_row: int) -> Instances:
        check()
        return of_launch(metric_row)

    return LaunchView(
        light=speed_of_light(report, row, instances),
        sections=section_views(report, row, instances),
        rules=rule_views(report, row, instances),
        occupancy=occupancy_view(report, row, instances),
        stalls=stall_view(report, row, instances),
        session=session_view(report),
        ranges=range_views(report, row),
        frames=frame_views(report, row),
        has_source=source_of(report, row) is not None,
    )


def source_table(report: Report, row: int) -> ResultTable:
    """Lists the source lines of a launch; decodes all that was counted at its instructions."""
    from core.report_tables.source import source_lines  # noqa: PLC0415

    return source_lines(report, row)


class Disassembly:
    """Texts of the instructions of a report's binaries, by the user's nvdisasm; the last are kept."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._last: tuple[int, Mapping[tuple[str, int], str]] | None = None

    def table(self, row: int) -> tuple[ResultTable, bool]:
        """Lists the instructions of a launch, with texts if they are at hand.

        Returns:
            The table, with a note on what keeps their texts away; and whether ``texts_table`` can make them.
        """
        from core.analyses.report_source.code_lines import source_of  # noqa: PLC0415
        from core.launch.disassembly import TOOL, find_disassembler  # noqa: PLC0415
        from core.report_tables.source import source_instructions  # noqa: PLC0415

        source, last = source_of(self._report, row), self._last
        if source is not None and last is not None and last[0] == source.raw_begin:
            return source_instructions(self._report, row, last[1]), False
        table = source_instructions(self._report, row)
        if not len(table):
            return table, False
        if source is None or not source.binary_bytes:
            return noted(table, "The report holds no binary of this kernel: no instruction texts"), False
        if find_disassembler() is None:
            return noted(table, f"{TOOL} is not on PATH: no instruction texts"), False
        return table, True

    def texts_table(self, row: int, cancelled: Callable[[], bool]) -> ResultTable:
        """Runs nvdisasm and lists the instructions of a launch with their texts.

        Args:
            row: A launch of which ``table`` said that this can be done.
            cancelled: Asked ten times a second; True ends the tool.

        Raises:
            DashboardError: The tool failed, took too long, was cancelled, or is gone.
        """
        from core.analyses.report_source.code_lines import source_of  # noqa: PLC0415
        from core.errors import DashboardError  # noqa: PLC0415
        from core.launch.disassembly import TOOL, disassemble, find_disassembler  # noqa: PLC0415
        from core.readers.ncu_report.details import read_source  # noqa: PLC0415
        from core.report_tables.source import source_instructions  # noqa: PLC0415

        source, tool = source_of(self._report, row), find_disassembler()
        if source is None or tool is None:
            raise DashboardError(
                f"{TOOL} is not on PATH any more.", "The instructions are shown without texts."
            )
        texts = disassemble(read_source(self._report, source).binary, tool, cancelled=cancelled)
        self._last = source.raw_begin, texts
        return source_instructions(self._report, row, texts)


def noted(table: ResultTable, note: str) -> ResultTable:
    """Adds a note to a table, on one line."""
    return replace(table, notes=(*table.notes, " ".join(note.split())))
