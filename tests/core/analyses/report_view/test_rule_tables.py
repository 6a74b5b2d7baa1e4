"""Tables and remarks that rules add."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.analyses.report_view.facts import RuleView
from core.analyses.report_view.rules import rule_views
from core.analyses.report_view.words import cell_text
from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Report
from tests.helpers.ncu_reports import Launch, Value, launch_report, message


def read(folder: Path, launch: Launch) -> Report:
    path = folder / "a.ncu-rep"
    path.write_bytes(launch_report(launch))
    return read_report(path)


def table_rows(view: RuleView) -> list[tuple[str, list[list[str]], str]]:
    return [
        (part.label, [[cell_text(cell) for cell in row] for row in part.rows], part.note)
        for part in view.tables
    ]


def rule_with(*items: bytes, name: str = "Tabled", markers: Sequence[bytes] = ()) -> bytes:
    return message({1: name, 2: f"{name} rule", 3: message({1: list(items)}), 4: "Made", 5: list(markers)})


def test_a_table_by_instruction_lists_those_with_most(tmp_path: Path) -> None:
    excessive = "derived__memory_l2_theoretical_sectors_global_excessive"
    counts: dict[int | str, Value] = {0x1000 + 16 * n: n for n in range(14)}
    item = message({9: message({1: "Excessive sectors", 3: [message({1: excessive})]})})
    report = read(tmp_path, Launch(rules=[rule_with(item)], instances={excessive: counts}))
    (view,) = rule_views(report, 0, LaunchInstances(report, 0))
    assert (view.title, view.severity, view.messages) == ("Tabled rule", "info", ())
    ((label, rows, note),) = table_rows(view)
    assert [column.title for column in view.tables[0].columns] == ["Instruction", "Value", "Share"]
    assert (label, len(rows), note) == ("Excessive sectors", 10, "3 more instructions.")
    assert rows[0] == ["0x10d0", "13 sectors", "14.3\N{NO-BREAK SPACE}%"]
    assert rows[9][:2] == ["0x1040", "4 sectors"]


def test_a_table_by_instruction_says_why_it_is_empty(tmp_path: Path) -> None:
    names = ("absent", "inst_executed", "text")
    tables = [message({9: message({1: name, 3: [message({1: name})]})}) for name in names]
    instances: dict[str, dict[int | str, Value]] = {"inst_executed": {16: 0, 32: 0}, "text": {"HMMA": 4}}
    report = read(tmp_path, Launch(rules=[rule_with(*tables)], instances=instances))
    (view,) = rule_views(report, 0, LaunchInstances(report, 0))
    assert table_rows(view) == [
        ("absent", [], "Not collected."),
        ("inst_executed", [], "No instruction has any of it."),
        ("text", [], "Not collected."),
    ]


def test_a_table_of_metrics_has_their_values(tmp_path: Path) -> None:
    names = [message({1: "inst_executed"}), message({1: "dram__bytes.sum"}), message({1: "inst_executed"})]
    item = message({2: message({1: "Values", 5: names})})
    report = read(tmp_path, Launch(rules=[rule_with(item)], values={"inst_executed": 8}))
    (view,) = rule_views(report, 0, LaunchInstances(report, 0))
    ((label, rows, note),) = table_rows(view)
    assert (label, [row[1] for row in rows], note) == ("Values", ["8 instructions", "n/a"], "")


def test_remarks_of_one_text_come_once(tmp_path: Path) -> None:
    alike = [message({3: 0x40 + n, 4: "Uncoalesced.", 5: 2}) for n in range(3)]
    markers = [*alike, message({2: 31, 4: "Stalls.", 6: "/a/b/gemm.cu"}), message({3: 7})]
    report = read(tmp_path, Launch(rules=[rule_with(markers=markers)]))
    (view,) = rule_views(report, 0, LaunchInstances(report, 0))
    assert table_rows(view) == [
        ("Remarks on the code", [["Uncoalesced.", "0x40 and 2 more"], ["Stalls.", "gemm.cu:31"]], "")
    ]
    tips = [row[1].help for row in view.tables[0].rows if row[1] is not None]
    assert tips == ["0x40\n0x41\n0x42", "/a/b/gemm.cu:31"]
