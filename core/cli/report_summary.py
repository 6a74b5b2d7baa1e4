"""``summary`` of an Nsight Compute report or CSV, as text, as one JSON object, or one of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.ncu_roofline import measured_roofline
from core.cli.output import columns, write_json, write_line
from core.cli.table_output import write_table
from core.errors import DashboardError
from core.files import describe_path, not_opened, printable
from core.readers import reader_of
from core.report_tables.index import ReportIndex
from core.report_tables.registry import REPORT_ANALYSES, find_report_analysis
from core.roofline.verdicts import VerdictKind, verdicts_of_report
from core.tables.columns import MISSING
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

    from core.tables.columns import Int32
    from core.tables.ncu import MetricValue, SessionFacts

_REPORT_ENDS: Final = (".ncu-rep", ".ncu-repz")
_LONGEST_NAME: Final = 60


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
    if options.table is not None:
        chosen = _chosen(report, options.launch)
        write_table(find_report_analysis(options.table).summarize(ReportIndex(report), chosen), options)
    elif options.json:
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
            f"It has {format_count(count)}, counted from 0: --table kernels lists them.",
        )
    return np.array([launch], np.int32)


def as_object(report: Report) -> dict[str, Any]:
    """Return the summary of a report; what was not measured is null."""
    names = dict.fromkeys(device.name for device in report.devices if device.name)
    return {
        "kind": report.kind,
        "problems": [
            {"code": each.code, "count": each.count, "message": each.message, "places": list(each.places)}
            for each in report.problems
        ],
        "device": ", ".join(names) or None,
        "tool_version": report.session.tool_version,
        "results": [
            {**_result(report, row), "verdict": None if verdict.kind is VerdictKind.UNKNOWN else verdict.kind}
            for row, verdict in enumerate(verdicts_of_report(report))
        ],
    }


def _result(report: Report, row: int) -> dict[str, Any]:
    launches = report.launches
    device = report.device_of(row)
    fp32 = measured_roofline(report, row, "fp32")
    return {
        "kernel": report.strings[int(launches.name_id[row])],
        "device": device.name if device else None,
        "grid": _shape(launches.grid[row].tolist()),
        "block": _shape(launches.block[row].tolist()),
        "duration_ns": _known(int(launches.duration_ns[row])),
        "sm_pct": report.metric(row, SM_PCT),
        "memory_pct": report.metric(row, MEMORY_PCT),
        "dram_bytes_per_s": _dram_rate(report, row, fp32.bytes_per_s),
        "metrics": len(report.metrics.rows_of(row)),
        "sections": len(report.launch_sections[row]),
        "rules": len(report.rules[row]),
        "verdict": None,
        "rooflines": {
            "fp32": {
                "peak_flop_per_s": fp32.peak_flop_per_s,
                "peak_bytes_per_s": fp32.peak_bytes_per_s,
                "flop_per_s": fp32.flop_per_s,
                "intensity": fp32.intensity,
            }
        },
    }


def _dram_rate(report: Report, row: int, computed: float | None) -> MetricValue:
    """Return the rate that the tool gave; from bytes and time only in a CSV, whose columns a user chose."""
    return computed if report.kind == "ncu_csv" else report.metric(row, DRAM_BYTES_PER_S)


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
        header = ["kernel", "duration", "SM", "memory", "DRAM", "fp32"]
        rows = [_cells(_result(report, row)) for row in range(count)]
        for line in columns(header, rows, "lrrrrr"):
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


def _cells(result: dict[str, Any]) -> list[str]:
    name = printable(result["kernel"])
    cells = [
        name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…",
        format_duration_ns(result["duration_ns"]),
        format_pct(result["sm_pct"]),
        format_pct(result["memory_pct"]),
        format_bytes_per_s(result["dram_bytes_per_s"]),
        format_flop_per_s(result["rooflines"]["fp32"]["flop_per_s"]),
    ]
    return [cell.replace(NO_BREAK_SPACE, " ") for cell in cells]
