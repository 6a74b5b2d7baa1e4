"""``summary``: what a file holds, as text, as one JSON object, or one of its tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from core.analyses.index import TraceIndex
from core.analyses.kernels import why_no_kernels
from core.analyses.merged import merge_ranks
from core.analyses.operators import summarize_operators
from core.analyses.quality import judge
from core.analyses.registry import ANALYSES, find_analysis
from core.analyses.totals import TOP_KERNELS, Totals, summarize_totals
from core.cli.output import columns, write_json, write_line
from core.cli.report_summary import is_report, run_report_summary
from core.cli.table_output import plain_cell, write_table
from core.errors import DashboardError
from core.export import shown_cells
from core.files import describe_path, not_opened, printable
from core.hardware.peaks import without_broken_own_file
from core.readers import reader_of
from core.readers.cache import TraceCache
from core.readers.trace_set import find_traces, read_traces
from core.roofline.kernel_columns import with_kernel_columns
from core.roofline.trace_verdicts import verdicts_by_kernel
from core.tables.selection import WHOLE
from core.tables.trace import Problem, Trace
from core.units import format_count, format_duration_ns

if TYPE_CHECKING:
    import argparse

    from core.readers import Reader

_KERNELS: Final = "kernels"


def run_summary(options: argparse.Namespace) -> int:
    """Print what was asked for.

    Raises:
        DashboardError: The file cannot be read, or there is no such table.
    """
    paths = [Path(file) for file in options.files]
    if any(is_report(path) for path in paths):
        return run_report_summary(paths, options)
    if options.table is not None:
        _find(options.table)
    elif options.csv:
        raise DashboardError("--csv writes one table.", f"Name it: --table {'|'.join(_names())}.")
    try:
        trace = _read(paths)
    except DashboardError as error:
        raise not_opened(_name_of(paths), error, several=len(paths) > 1) from error
    index = TraceIndex(trace)
    if options.table is not None:
        table = find_analysis(options.table).summarize(index, WHOLE)
        if options.table != _KERNELS:
            write_table(table, options)
            return 0
        with without_broken_own_file() as peaks_error:
            table = with_kernel_columns(table, verdicts_by_kernel(index))
        write_table(table, options, peaks_error)
        return 0
    totals = summarize_totals(index)
    problems = (*trace.problems, *judge(index))
    if options.json:
        write_json(as_object(index, totals, problems))
    else:
        _write_text(index, totals, problems)
    return 0


def as_object(index: TraceIndex, totals: Totals, problems: tuple[Problem, ...]) -> dict[str, Any]:
    """Return the summary of a trace; times are whole nanoseconds, what is not known is null.

    A trace without device work has ``top_ops`` too, operators by their own time on the CPU.
    """
    trace = index.trace
    return {
        "kind": "torch_trace",
        "problems": [
            {"code": each.code, "count": each.count, "message": each.message, "places": list(each.places)}
            for each in problems
        ],
        **asdict(totals),
        "rank": trace.facts.rank,
        "world_size": trace.facts.world_size,
        "devices": [each.name for each in trace.facts.devices],
        "cpu_only": not len(trace.device_work) and totals.ops > 0,
        **({} if len(trace.device_work) else {"top_ops": _top_operators(index)}),
    }


def _top_operators(index: TraceIndex) -> list[dict[str, Any]]:
    table = summarize_operators(index)
    keys = ("name", "calls", "cpu_self_ns", "cpu_total_ns")
    return [
        {key: table.column(key).value(row) for key in keys} for row in range(min(len(table), TOP_KERNELS))
    ]


def _names() -> list[str]:
    return [analysis.name for analysis in ANALYSES]


def _find(name: str) -> None:
    if name not in _names():
        raise DashboardError(f"There is no table {name}.", f"Tables are: {', '.join(_names())}.")


def _name_of(paths: list[Path]) -> str:
    """Return how the window calls what is opened, too."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return printable(paths[0].name or str(paths[0])) + more


def _read(paths: list[Path]) -> Trace:
    if len(paths) > 1:
        return _read_ranks(paths)
    path = paths[0]
    if describe_path(path).kind == "folder":
        return _read_ranks(find_traces(path))
    reader = _reader_of(path)
    trace = TraceCache().find(path) or reader.load()(path)
    assert isinstance(trace, Trace)
    return trace


def _reader_of(path: Path) -> Reader:
    """Return the reader of a trace.

    Raises:
        DashboardError: It is something else.
    """
    description = describe_path(path)
    reader = reader_of(description.kind)
    if reader is None:
        raise DashboardError(
            f"{description.name} is no trace: {description.title}.",
            "summary reads what torch.profiler exports, as JSON or gzip, or a folder with one for each rank.",
        )
    return reader


def _read_ranks(paths: list[Path]) -> Trace:
    """Return the traces of several ranks as one, on one clock."""
    for path in paths:
        _reader_of(path)
    return merge_ranks(read_traces(paths, _no_progress)).trace


def _no_progress(done: int, of: int) -> None:
    """Nobody watches."""


def _write_text(index: TraceIndex, totals: Totals, problems: tuple[Problem, ...]) -> None:
    facts = index.trace.facts
    rank = f", rank {facts.rank} of {facts.world_size or '?'}" if facts.rank is not None else ""
    write_line(f"{printable(index.trace.name)}: {format_count(totals.events)} events{rank}")
    rows = [
        ["wall time", format_duration_ns(totals.span_ns)],
        *(_device_rows(index, totals) if len(index.trace.device_work) else []),
        ["operators", format_count(totals.ops)],
        ["steps", format_count(totals.steps)],
    ]
    for label, value in rows:
        write_line(f"  {label:<22} {value}")
    if not totals.kernels:
        write_line()
        write_line(why_no_kernels(index))
    table = find_analysis("kernels" if totals.kernels else "ops").summarize(index, WHOLE)
    shown = [column.key for column in table.columns if column.shown][:8]
    header, cells, sides = shown_cells(table, None, shown)
    write_line()
    for line in columns(header, [[plain_cell(cell)[:60] for cell in row] for row in cells[:10]], sides):
        write_line(line)
    if problems:
        write_line()
    for problem in problems:
        where = f" ({problem.places[0]})" if problem.places else ""
        kind = "note" if problem.code == "aligned" else "problem"
        write_line(f"{kind}: {printable(problem.message)}{where}")


def _device_rows(index: TraceIndex, totals: Totals) -> list[list[str]]:
    names = dict.fromkeys(printable(each.name) for each in index.trace.facts.devices if each.name)
    streams = "stream" if totals.streams == 1 else "streams"
    return [
        ["devices", ", ".join(names) or "none named"],
        ["kernels", f"{format_count(totals.kernels)} on {format_count(totals.streams)} {streams}"],
        ["kernel time, summed", format_duration_ns(totals.kernel_sum_ns)],
        ["kernel time, busy", format_duration_ns(totals.kernel_busy_ns)],
        ["communication, summed", format_duration_ns(totals.communication_ns)],
        ["copies, sets", f"{format_count(totals.memcpy)}, {format_count(totals.memset)}"],
    ]
