"""``summary``: what a file holds, as text, as one JSON object, or one of its tables."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.analyses.alignment import align
from core.analyses.categories import categorize
from core.analyses.index import TraceIndex
from core.analyses.merged import merge_traces
from core.analyses.quality import judge
from core.analyses.registry import ANALYSES, find_analysis
from core.analyses.totals import Totals, summarize_totals
from core.cli.output import columns, write_json, write_line
from core.errors import DashboardError
from core.export import shown_cells, write_csv
from core.export import write_json as write_table_json
from core.files import describe_path, printable
from core.readers import reader_of
from core.readers.cache import TraceCache
from core.readers.trace_set import find_traces, read_traces
from core.tables.selection import WHOLE
from core.tables.trace import Problem
from core.units import format_count, format_duration_ns

if TYPE_CHECKING:
    import argparse

    from core.tables.result import ResultTable
    from core.tables.trace import Trace


def run_summary(options: argparse.Namespace) -> int:
    """Print what was asked for.

    Raises:
        DashboardError: The file cannot be read, or there is no such table.
    """
    if options.table is not None:
        _find(options.table)
    elif options.csv:
        raise DashboardError("--csv writes one table.", f"Name it: --table {'|'.join(_names())}.")
    trace = _read(Path(options.file))
    index = TraceIndex(trace)
    if options.table is not None:
        _write_table(find_analysis(options.table).summarize(index, WHOLE), options)
        return 0
    totals = summarize_totals(index)
    problems = (*trace.problems, *judge(index))
    if options.json:
        write_json(as_object(trace, totals, problems))
    else:
        _write_text(index, totals, problems)
    return 0


def as_object(trace: Trace, totals: Totals, problems: tuple[Problem, ...]) -> dict[str, Any]:
    """Return the summary of a trace; times are whole nanoseconds, what is not known is null."""
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
    }


def _names() -> list[str]:
    return [analysis.name for analysis in ANALYSES]


def _find(name: str) -> None:
    if name not in _names():
        raise DashboardError(f"There is no table {name}.", f"Tables are: {', '.join(_names())}.")


def _read(path: Path) -> Trace:
    description = describe_path(path)
    if description.kind == "folder":
        return _read_folder(path)
    reader = reader_of(description.kind)
    if reader is None:
        raise DashboardError(
            f"{description.name} is no trace: {description.title}.",
            "summary reads what torch.profiler exports, as JSON or gzip, or a folder with one for each rank.",
        )
    return TraceCache().find(path) or reader.load()(path)


def _read_folder(path: Path) -> Trace:
    """Returns the traces of a folder as one, on one clock."""
    traces = read_traces(find_traces(path), _no_progress)
    alignment = align(traces, [categorize(trace) for trace in traces])
    merged = merge_traces(traces, alignment.shifts_ns).trace
    note = Problem(code="aligned" if alignment.by_clock else "not_aligned", count=1, message=alignment.note)
    return replace(merged, problems=(*merged.problems, note)) if len(traces) > 1 else merged


def _no_progress(done: int, of: int) -> None:
    """Nobody watches."""


def _write_table(table: ResultTable, options: argparse.Namespace) -> None:
    keys = [column.key for column in table.columns]
    if options.csv:
        write_csv(table, None, keys, sys.stdout)
    elif options.json:
        write_table_json(table, None, keys, sys.stdout)
    else:
        shown = [column.key for column in table.columns if column.shown]
        header, rows, sides = shown_cells(table, None, shown)
        for line in columns(header, [[_cell(cell) for cell in row] for row in rows], sides):
            write_line(line)
        if not len(table):
            write_line(table.empty)
        for note in table.notes:
            write_line(f"note: {printable(note)}")


def _write_text(index: TraceIndex, totals: Totals, problems: tuple[Problem, ...]) -> None:
    facts = index.trace.facts
    rank = f", rank {facts.rank} of {facts.world_size or '?'}" if facts.rank is not None else ""
    names = ", ".join(dict.fromkeys(printable(each.name) for each in facts.devices if each.name))
    write_line(f"{printable(index.trace.name)}: {format_count(totals.events)} events{rank}")
    rows = [
        ["devices", names or "none named"],
        ["span", format_duration_ns(totals.span_ns)],
        ["kernels", f"{format_count(totals.kernels)} on {totals.streams} streams"],
        ["kernel time, summed", format_duration_ns(totals.kernel_sum_ns)],
        ["kernel time, busy", format_duration_ns(totals.kernel_busy_ns)],
        ["communication, summed", format_duration_ns(totals.communication_ns)],
        ["copies, sets", f"{format_count(totals.memcpy)}, {format_count(totals.memset)}"],
        ["operators", format_count(totals.ops)],
        ["steps", format_count(totals.steps)],
    ]
    for label, value in rows:
        write_line(f"  {label:<22} {value}")
    table = find_analysis("kernels" if totals.kernels else "ops").summarize(index, WHOLE)
    shown = [column.key for column in table.columns if column.shown][:8]
    header, cells, sides = shown_cells(table, None, shown)
    write_line()
    for line in columns(header, [[_cell(cell)[:60] for cell in row] for row in cells[:10]], sides):
        write_line(line)
    if problems:
        write_line()
    for problem in problems:
        where = f" ({problem.places[0]})" if problem.places else ""
        write_line(f"problem: {printable(problem.message)}{where}")


def _cell(text: str) -> str:
    return printable(text.replace("\N{NO-BREAK SPACE}", " "))
