"""All that is drawn of damaged reports: nothing crashes, and what comes out can be drawn."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import pytest

from core.errors import DashboardError
from core.readers.ncu_report.reader import read_report
from tests.fuzz.report_mutations import damaged
from tests.fuzz.view_checks import check_views
from tests.helpers.ncu_reports import Launch, full_report, histogram, launch_report, nvtx, rule, section

SEEDS = [
    ("full.ncu-rep", full_report()),
    (
        "drawn.ncu-rep",
        launch_report(
            Launch(
                values={
                    "dram__bytes.sum": 5,
                    "clock": 2.0,
                    "peak": 3.0,
                    "done": 1.0,
                    "traffic": 4.0,
                    "a__new.sum": 1,
                },
                instances={
                    "inst_executed": {n: n for n in range(40)},
                    "a__new.sum": {n: 1.5 for n in range(40)},
                },
                samples={"a__new.sum": {1_700_000_000_000_000_000 + n: 1.0 for n in range(40)}},
                sections=[section(), histogram()],
                rules=[rule()],
                more={"f21": nvtx()},
            )
        ),
    ),
]


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_damaged_reports_are_drawn_or_refused(start: int, tmp_path: Path) -> None:
    drawn = 0
    path = tmp_path / "case.ncu-rep"
    for seed in range(start, start + 50):
        path.write_bytes(damaged(SEEDS, Random(seed))[1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                report = read_report(path)
            except DashboardError:
                continue
            check_views(report)
        drawn += len(report.launches) > 0
    assert drawn > 10
