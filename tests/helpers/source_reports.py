"""Reports of one launch with values by instruction and the binaries that it may come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Report
from core.tables.result import ResultTable
from tests.helpers.cubins import BASE, ROW_SUM, SAXPY
from tests.helpers.ncu_reports import Launch, Value, launch_report, message

STALL = "smsp__pcsamp_warps_issue_stalled_"
ALL = {SAXPY: BASE, ROW_SUM: BASE + 0x1000}


def read(
    folder: Path,
    instances: Mapping[str, Mapping[int, Value]],
    *sources: bytes,
    kernel: str = SAXPY,
    reference: int = 900,
) -> Report:
    launch = Launch(
        instances={name: dict(values.items()) for name, values in instances.items()},
        more={"f5": kernel, "f15": message({1: reference})},
    )
    path = folder / "made.ncu-rep"
    path.write_bytes(launch_report(launch, sources=sources))
    return read_report(path)


def rows(table: ResultTable, *keys: str) -> list[tuple[Any, ...]]:
    columns = [table.column(key) for key in keys]
    return [tuple(column.value(row) for column in columns) for row in range(len(table))]
