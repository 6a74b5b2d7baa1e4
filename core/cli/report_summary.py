"""``summary`` of an Nsight Compute report or CSV, as text, as one JSON object, or one of its tables."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.ncu_roofline import roofline_columns
from core.cli.output import columns, write_json, write_line
from core.cli.table_output import peaks_problem, write_table
from core.errors import DashboardError
from core.files import describe_path, not_opened, printable
from core.hardware.peaks import without_broken_own_file
from core.readers import reader_of
from core.report_tables.index import ReportIndex
from core.report_tables.numbers import numbered
from core.report_tables.registry import REPORT_ANALYSES, find_report_analysis
from core.roofline.points import WorkType
from core.roofline.verdict import VerdictKind
from core.roofline.verdict_kinds import KINDS
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import Report
from core.tables.ncu_terms import DRAM_BYTES_PER_S, MEMORY_PCT, SM_PCT
from core.units import (
    NO_BREAK_SPACE,
    format_bytes_per_s,
    format_count,
    format_duration_ns,
    format_flop_per_s,
    format_pct,
)

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from core.analyses.ncu_roofline import RooflineColumns
    from core.tables.columns import Float64, Int32
    from core.tables.ncu import MetricValue, SessionFacts
    from core.tables.result import ResultTable

_REPORT_ENDS: Final = (".ncu-rep", ".ncu-repz")
_LONGEST_NAME: Final = 60
_COUNTED: Final = "Number 1 is launch 0 of --launch, --csv and --json."


def is_report(path: Path) -> bool:
    """Tell whether a file is summed up here: by its content, an empty one by its name."""
    kind = describe_path(path).kind
    return kind in ("ncu_report", "ncu_csv", "csv") or (kind == "empty" and path.suffix in _REPORT_ENDS)


def run_report_summary(paths: list[Path], options: argparse.Namespace) -> int:
    """Print what a report holds.

    Raises:
        DashboardError: It cannot be read, there are several files, or there is no such table or launch.
    """
    if len(paths) > 1:
        raise DashboardError("Reports are summed up one at a time.", "Name one file.")
    if options.table is not None:
        _find(options.table)
    elif options.csv:
        raise DashboardError("--csv writes one table.", f"Name it: --table {'|'.join(_names())}.")
    report = _read(paths[0])
    with without_broken_own_file() as peaks_error:
        if options.table is not None:
            chosen = _chosen(report, options.launch)
            table = find_report_analysis(options.table).summarize(ReportIndex(report), chosen)
            write_table(table if options.csv or options.json else _for_people(table), options, peaks_error)
            return 0
        if peaks_error is not None:
            report = replace(report, problems=(*report.problems, peaks_problem(peaks_error)))
        if options.json:
            write_json(as_object(report))
        else:
            _write_text(report)
    return 0


def _names() -> list[str]:
    return [analysis.name for analysis in REPORT_ANALYSES]


def _find(name: str) -> None:
    if name not in _names():
        raise DashboardError(f"There is no table {name} of a report.", f"Tables are: {', '.join(_names())}.")


def _read(path: Path) -> Report:
    description = describe_path(path)
    reader = reader_of("ncu_report" if description.kind == "empty" else description.kind)
    if reader is None:
        raise DashboardError(
            f"{description.name} cannot be read: {description.title}.",
            "Open a report that ncu wrote with -o, or a table of ncu --csv.",
        )
    try:
        report = reader.load()(path)
    except DashboardError as error:
        raise not_opened(description.name, error) from error
    assert isinstance(report, Report)
    return report


def _chosen(report: Report, launch: int | None) -> Int32 | None:
    """Return the launches that a table is about, None for all."""
    if launch is None:
        return None
    count = len(report.launches)
    if launch >= count:
        raise DashboardError(
            f"There is no launch {launch} in {printable(report.name)}.",
            f"It has {format_count(count)}, counted from 0: number 1 of --table kernels is launch 0.",
        )
    return np.array([launch], np.int32)


def _for_people(table: ResultTable) -> ResultTable:
    """Return a table that counts launches from 1, as the window does, and says how programs count them."""
    counted = numbered(table)
    if [each.key for each in counted.columns] == [each.key for each in table.columns]:
        return table
    return replace(counted, notes=(_COUNTED, *table.notes))


def as_object(report: Report) -> dict[str, Any]:
    """Return the summary of a report; what was not measured is null.

    Beside FP32, ``rooflines`` holds the type of work of which a launch did the most. Where tensor cores
    worked uncounted, FP32 is no measure of the launch and has no point.
    """
    names = dict.fromkeys(device.name for device in report.devices if device.name)
    index = ReportIndex(report)
    shown = _Shown(index)
    return {
        "kind": report.kind,
        "problems": [
            {"code": each.code, "count": each.count, "message": each.message, "places": list(each.places)}
            for each in report.problems
        ],
        "device": ", ".join(names) or None,
        "tool_version": report.session.tool_version,
        "results": [_result(index, row, shown) for row in range(len(report.launches))],
    }


class _Shown:
    """What is printed of all launches, each read once as a column."""

    def __init__(self, index: ReportIndex) -> None:
        report = index.report
        self.fp32 = roofline_columns(index.counters, "fp32")
        self.sm_pct = _values(report, SM_PCT)
        self.memory_pct = _values(report, MEMORY_PCT)
        self.dram_bytes_per_s = self._dram_rates(report)
        self.metrics = np.bincount(report.metrics.launch_row, minlength=len(report.launches)).tolist()

    def _dram_rates(self, report: Report) -> list[MetricValue]:
        """Return the rates that the tool gave; in a CSV, whose columns a user chose, from bytes."""
        if report.kind == "ncu_csv":
            return [_at(self.fp32.bytes_per_s, row) for row in range(len(report.launches))]
        return _values(report, DRAM_BYTES_PER_S)


def _values(report: Report, name: str) -> list[MetricValue]:
    """Return a metric of all launches as it is stored, None where it was not measured."""
    found: list[MetricValue] = [None] * len(report.launches)
    name_id = report.metric_names.find(name)
    if name_id != NO_ROW:
        for metric_row in np.flatnonzero(report.metrics.name_id == name_id).tolist():
            found[report.metrics.launch_row[metric_row]] = report.value_at(metric_row)
    return found


def _result(index: ReportIndex, row: int, shown: _Shown) -> dict[str, Any]:
    report = index.report
    launches = report.launches
    device = report.device_of(row)
    verdict = KINDS[index.verdicts.kinds.kind[row]]
    return {
        "kernel": report.strings[int(launches.name_id[row])],
        "device": device.name if device else None,
        "grid": _shape(launches.grid[row].tolist()),
        "block": _shape(launches.block[row].tolist()),
        "duration_ns": _known(int(launches.duration_ns[row])),
        "sm_pct": shown.sm_pct[row],
        "memory_pct": shown.memory_pct[row],
        "dram_bytes_per_s": shown.dram_bytes_per_s[row],
        "metrics": shown.metrics[row],
        "sections": len(report.launch_sections[row]),
        "rules": len(report.rules[row]),
        "rules_said_something": sum(rule.has_said for rule in report.rules[row]),
        "verdict": None if verdict is VerdictKind.UNKNOWN else verdict,
        "rooflines": {"fp32": _fp32(index, row, shown.fp32), **_most_work(index, row, shown.fp32)},
    }


def _fp32(index: ReportIndex, row: int, fp32: RooflineColumns) -> dict[str, float | None]:
    has_point = not index.work.tensor_unknown[row]
    return {
        "peak_flop_per_s": _at(fp32.peak_flop_per_s, row),
        "peak_bytes_per_s": _at(fp32.peak_bytes_per_s, row),
        "flop_per_s": _at(fp32.flop_per_s, row) if has_point else None,
        "intensity": _at(fp32.intensity, row) if has_point else None,
    }


def _most_work(index: ReportIndex, row: int, fp32: RooflineColumns) -> dict[str, dict[str, float | None]]:
    """Return the point of a launch whose work is mostly of another type than FP32."""
    work_type = WorkType(int(index.points.work_type[row]))
    if work_type in (WorkType.NONE, WorkType.FP32):
        return {}
    peak = index.profiled_work.get((work_type, False))
    return {
        work_type.name.lower(): {
            "peak_flop_per_s": None if peak is None else _at(peak, row),
            "peak_bytes_per_s": _at(fp32.peak_bytes_per_s, row),
            "flop_per_s": _achieved(index, row),
            "intensity": index.work.intensity(row, work_type),
        }
    }


def _at(column: Float64, row: int) -> float | None:
    value = float(column[row])
    return None if math.isnan(value) else value


def _achieved(index: ReportIndex, row: int) -> float | None:
    """Return FLOP/s of the type of which a launch did the most."""
    flop, duration_ns = float(index.points.flop[row]), int(index.points.sum_ns[row])
    return flop / duration_ns * 1e9 if flop > 0 and duration_ns > 0 else None


def _shape(sides: list[int]) -> list[int] | None:
    return None if MISSING in sides else sides


def _known(value: int) -> int | None:
    return None if value == MISSING else value


def _write_text(report: Report) -> None:
    names = dict.fromkeys(printable(each.name) for each in report.devices if each.name)
    count = len(report.launches)
    write_line(f"{printable(report.name)}: {format_count(count)} kernel{'' if count == 1 else 's'}")
    write_line(f"  {'device':<12} {', '.join(names) or 'not named'}")
    write_line(f"  {'tool':<12} {printable(_tool(report.session))}")
    if count:
        write_line()
        header = ["kernel", "duration", "SM", "memory", "DRAM", "achieved", ""]
        index = ReportIndex(report)
        shown = _Shown(index)
        rows = [_cells(index, row, shown) for row in range(count)]
        for line in columns(header, rows, "lrrrrrl"):
            write_line(line)
    if report.problems:
        write_line()
    for problem in report.problems:
        where = f" ({problem.places[0]})" if problem.places else ""
        write_line(f"problem: {printable(problem.message)}{where}")


def _tool(session: SessionFacts) -> str:
    """Return the tool's version; reports of 2020 and 2021 at times name that of CUDA only."""
    cuda = dict(session.versions).get("CUDA Version")
    unknown = f"version unknown (CUDA {cuda})" if cuda else "version unknown"
    return session.tool_version or unknown


def _cells(index: ReportIndex, row: int, shown: _Shown) -> list[str]:
    report = index.report
    name = printable(report.strings[int(report.launches.name_id[row])])
    cells = [
        name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…",
        format_duration_ns(_known(int(report.launches.duration_ns[row]))),
        format_pct(_number(shown.sm_pct[row])),
        format_pct(_number(shown.memory_pct[row])),
        format_bytes_per_s(_number(shown.dram_bytes_per_s[row])),
        format_flop_per_s(_achieved(index, row)),
        WorkType(int(index.points.work_type[row])).title,
    ]
    return [cell.replace(NO_BREAK_SPACE, " ") for cell in cells]


def _number(value: MetricValue) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
