"""What a report is asked, answered: the partners of its launches in a baseline report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.analyses.report_view import compare
from core.analyses.report_view.facts import ReportComparison
from core.readers.ncu_report.reader import read_report
from core.report_tables.index import ReportIndex
from core.tables.ncu import Report
from gui.reports.answers import LaunchAsk, Partners, describe, make_table
from gui.reports.baselines import Baseline
from gui.reports.kernel_list import list_kernels
from tests.helpers.ncu_reports import Launch, launch_report


def read(path: Path, *names: str) -> Report:
    launches = [Launch(more={"f5": name, "f6": name, "f7": name}) for name in names]
    path.write_bytes(launch_report(*launches))
    return read_report(path)


def test_the_partners_of_a_report_are_found_once_for_a_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = read(tmp_path / "now.ncu-rep", "a", "b", "c")
    before, older = (read(tmp_path / name, "b", "a") for name in ("1.ncu-rep", "2.ncu-rep"))
    asked: list[Report] = []
    whole = compare.compare_reports

    def counted(first: Report, second: Report) -> ReportComparison:
        asked.append(first)
        return whole(first, second)

    monkeypatch.setattr(compare, "compare_reports", counted)
    partners = Partners(report)
    all_of, one_of = (Baseline(path=tmp_path, row=row, title="", report=before) for row in (None, 1))
    found = [partners.partner(all_of, row) for row in range(3)]
    assert found == [(1, ""), (0, ""), (None, "The baseline does not have it.")]
    assert partners.partner(one_of, 2) == (1, "")
    assert asked == [before]
    answer = describe(partners, LaunchAsk(2, all_of), lambda: None)
    assert (answer.baseline, answer.lacks) == (None, "The baseline does not have it.")
    assert asked == [before]
    partners.partner(Baseline(path=tmp_path, row=None, title="", report=older), 0)
    assert asked == [before, older]


def test_tables_number_launches_as_the_page_does(tmp_path: Path) -> None:
    report = read(tmp_path / "a.ncu-rep", "a", "b", "c")
    assert list_kernels(report).place_words(1) == "Kernel 2 of 3"
    index = ReportIndex(report)
    table = make_table(index, "kernels", np.array([0, 2], np.int32))
    assert [table.column("number").value(row) for row in range(2)] == [1, 3]
    assert "launch" not in {column.key for column in table.columns}
