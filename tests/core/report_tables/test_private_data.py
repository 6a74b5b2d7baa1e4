"""Copies without private data: what is gone, what stays, and that nothing else has moved."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import zstandard

from core.analyses.report_source.elf import DeviceBinary
from core.analyses.report_source.line_program import read_lines
from core.errors import DashboardError
from core.readers.ncu_csv.reader import read_csv
from core.readers.ncu_report.details import read_source
from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.reader import read_report
from core.report_tables.private_data import save_without_private_data
from core.tables.ncu import Report
from tests.helpers import cubins
from tests.helpers import ncu_reports as made
from tests.helpers.ncu_reports import message

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "ncu"
PRIVATE = (
    "host-7",
    "::1",
    "/app",
    "--lr",
    "A=1",
    "a note",
    "mine",
    "--set full",
    "/opt/",
    "/a/",
    "said by me",
)


def stripped(folder: Path, data: bytes, name: str = "in.ncu-rep") -> tuple[bytes, dict[str, int]]:
    (folder / name).write_bytes(data)
    found = save_without_private_data(folder / name, folder / f"out-{name}")
    return (folder / f"out-{name}").read_bytes(), dict(found.removed)


def everything() -> bytes:
    """Writes a report with all that is private, and fields that nobody knows beside it."""
    frame = message({1: "/opt/lib/libtorch.so", 2: 5, 3: "/a/b.cpp", 4: "at::mm", 5: 31, 9: "kept 1"})
    comment = message({1: message({1: "SpeedOfLight"}), 2: "me", 3: "said by me"})
    result = made.result(
        [
            *made.usual_metrics(),
            made.metric(7, made.integer(33), [made.instance(made.integer(16), made.integer(3))]),
        ],
        [made.section()],
        [made.rule()],
        f12="mine",
        f18=comment,
        f21=made.nvtx(),
        f28=message({1: [frame]}),
        f900="kept 2",
    )
    process = message({1: 4242, 2: "host-7", 3: "/app/train"})
    source = cubins.source(cubins.built("made_75"), {cubins.SAXPY: 7}, {"/a/gemm.cu": "__global__ void gemm"})
    return made.report(
        made.block(session=message({1: 4242}), process=process),
        made.block(sources=[source], process=process),
        made.block(
            results=[result], texts=made.NAMES, session=made.session(), process=process, rest=[b"kept 3"]
        ),
    )


def facts(report: Report) -> Any:
    """Returns everything of a report that is not private, exact."""
    metrics = report.metrics
    values = [report.value_at(row) for row in range(len(metrics))]
    instances = [
        [column.tolist() for column in (found.key, found.number, found.integer)]
        for launch in range(len(report.launches))
        for read in [LaunchInstances(report, launch)]
        for row in metrics.rows_of(launch)
        if metrics.instances[row]
        for found in [read(row)]
    ]
    return (
        report.metric_names.texts,
        [repr(value) for value in values],
        metrics.name_id.tolist(),
        repr(instances),
        report.sections,
        [[(rule.identifier, len(rule.messages)) for rule in rules] for rules in report.rules],
        report.devices,
        report.session.versions,
        report.session.created_ns,
        [(source.reference, source.binary_bytes, source.functions) for source in report.sources],
        report.launches.grid.tolist(),
        report.nvtx.depth.tolist(),
    )


def test_nothing_private_is_left_and_everything_else_is(tmp_path: Path) -> None:
    before = everything()
    for text in PRIVATE:
        assert text.encode() in before
    after, removed = stripped(tmp_path, before)
    assert [text for text in PRIVATE if text.encode() in after] == []
    for text in (
        "libtorch.so",
        "b.cpp",
        "gemm.cu",
        "train",
        "at::mm",
        "kept 1",
        "kept 2",
        "kept 3",
        "step 3",
    ):
        assert text.encode() in after
    first, second = (read_report(tmp_path / name) for name in ("in.ncu-rep", "out-in.ncu-rep"))
    assert facts(second) == facts(first)
    assert second.problems == first.problems
    assert (second.processes[0].name, second.processes[0].host, second.processes[0].id) == (
        "train",
        None,
        4242,
    )
    assert removed == {
        "host names": 5,
        "addresses": 2,
        "notes": 3,
        "programs with arguments and environment": 1,
        "settings of the tool": 1,
        "command lines": 1,
        "imported sources": 1,
        "folders": removed["folders"],
    }


def test_a_binary_keeps_its_lines_without_their_folders(tmp_path: Path) -> None:
    after = stripped(tmp_path, everything())[0]
    assert b"/kernels" not in after
    report = read_report(tmp_path / "out-in.ncu-rep")
    binary = read_source(report, report.sources[0]).binary
    whole = cubins.built("made_75")
    assert len(binary) == len(whole)
    table, expected = read_lines(DeviceBinary(binary)), read_lines(DeviceBinary(whole))
    assert table is not None
    assert expected is not None
    assert table.files == ("/xxxxxxx/made.cu", "/xxxxxxx/scale.cuh")
    for number, lines in expected.sections.items():
        assert np.array_equal(table.sections[number].line, lines.line)
    for one, other in zip(DeviceBinary(binary).sections, DeviceBinary(whole).sections, strict=True):
        if one.name.startswith((".text", ".nv.")):
            assert (
                binary[one.begin : one.begin + one.length] == whole[other.begin : other.begin + other.length]
            )


def test_how_clocks_were_controlled_stays(tmp_path: Path) -> None:
    for said, kept in (
        ("ncu --clock-control none -o /home/me/x app", "ncu --clock-control none"),
        ("ncu --clock-control=base app", "ncu --clock-control base"),
        ("ncu --clock-control /home/me app", "ncu"),
    ):
        data = made.report(made.block(session=message({11: said}), results=[made.result()], texts=made.NAMES))
        stripped(tmp_path, data)
        assert read_report(tmp_path / "out-in.ncu-rep").session.command_line == kept


def test_paths_in_what_rules_say_are_names_and_addresses_stay(tmp_path: Path) -> None:
    text = (
        "Line 3 of /home/me/gemm.cu and C:\\Users\\me\\a.cu, see @url:the guide:https://x.y/z/w@, 3/4 of it."
    )
    rule = message({1: "R", 3: message({1: [message({1: message({1: text, 2: 2})})]})})
    stripped(tmp_path, made.report(made.block(results=[made.result(rules=[rule])], texts=made.NAMES)))
    (found,) = read_report(tmp_path / "out-in.ncu-rep").rules[0]
    assert found.messages[0].text == "Line 3 of gemm.cu and a.cu, see the guide, 3/4 of it."
    assert found.messages[0].links[0].target == "https://x.y/z/w"


def test_a_packed_report_stays_packed(tmp_path: Path) -> None:
    whole = stripped(tmp_path, everything())[0]
    packed = stripped(tmp_path, zstandard.compress(everything()), "in.ncu-repz")[0]
    assert zstandard.decompress(packed) == whole


def test_what_is_not_private_is_not_touched(tmp_path: Path) -> None:
    data = made.report(made.block(results=[made.result(f900=message({1: "1/2 of it"}))], texts=made.NAMES))
    assert stripped(tmp_path, data) == (data, {})
    assert (
        save_without_private_data(tmp_path / "in.ncu-rep", tmp_path / "b").words
        == "Nothing private was found."
    )


def test_what_is_cut_off_is_left_out(tmp_path: Path) -> None:
    """At every 2% of it the copy is whole, holds what could be read, and nothing private."""
    whole = everything()
    for cut in range(2, 100, 2):
        path = tmp_path / "cut.ncu-rep"
        path.write_bytes(whole[: len(whole) * cut // 100])
        try:
            before = read_report(path)
        except DashboardError:
            with pytest.raises(DashboardError):
                save_without_private_data(path, tmp_path / "copy")
            continue
        found = save_without_private_data(path, tmp_path / "copy")
        after = read_report(tmp_path / "copy")
        assert len(after.launches) == len(before.launches)
        assert ("ends that are cut off or damaged", 1) in found.removed
        assert [problem.code for problem in after.problems if problem.code == "cut_report"] == []
        assert [text for text in PRIVATE if text.encode() in after.raw] == []


def test_damaged_reports_are_copied_or_refused(tmp_path: Path) -> None:
    random, whole = Random(7), everything()
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(random.choice((1, 3, 20))):
            data[random.randrange(len(data))] = random.randrange(256)
        try:
            copy = stripped(tmp_path, bytes(data))[0]
        except DashboardError:
            refused += 1
            continue
        assert len(read_report(tmp_path / "out-in.ncu-rep").raw) == len(copy)
    assert refused < 300


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the handed reports are not on this machine")
def test_handed_reports_keep_every_value(tmp_path: Path) -> None:
    for path in sorted(SAMPLES.glob("*.ncu-rep"))[::3]:
        target = tmp_path / path.name
        save_without_private_data(path, target)
        first, second = read_report(path), read_report(target)
        assert facts(second) == facts(first)
        assert {process.host for process in second.processes} <= {None}
        assert b"/home/" not in second.raw


RAW = (
    "==PROF== Connected to process 7 (/home/me/app)\n"
    '"ID","Process ID","Process Name","Host Name","Kernel Name","gpu__time_duration.sum"\n'
    '"","","","","","ns"\n'
    '"0","7","/home/me/app","host-7","gemm(float *, ""a"")","1,024"\n'
    "my secret output\n"
    '"1","7","/home/me/app","host-7","short"\n'
)


def test_a_table_keeps_its_values_and_loses_hosts_folders_and_output(tmp_path: Path) -> None:
    after, removed = stripped(tmp_path, RAW.encode("utf-16"), "in.csv")
    assert after.decode().splitlines() == [
        '"ID","Process ID","Process Name","Host Name","Kernel Name","gpu__time_duration.sum"',
        '"","","","","","ns"',
        '"0","7","app","","gemm(float *, ""a"")","1,024"',
    ]
    assert removed == {"host names": 1, "folders": 1, "rows that do not fit": 1}
    first, second = (read_csv(tmp_path / name) for name in ("in.csv", "out-in.csv"))
    assert second.metrics.number.tolist() == first.metrics.number.tolist()


def test_handed_tables_keep_every_value(shared_cases: Path, tmp_path: Path) -> None:
    checked = 0
    for path in sorted(shared_cases.glob("[NR]*.csv")):
        try:
            first = read_csv(path)
        except DashboardError:
            continue
        save_without_private_data(path, tmp_path / "copy.csv")
        second = read_csv(tmp_path / "copy.csv")
        assert [repr(second.value_at(row)) for row in range(len(second.metrics))] == [
            repr(first.value_at(row)) for row in range(len(first.metrics))
        ]
        assert second.metric_names.texts == first.metric_names.texts
        checked += 1
    assert checked > 5


def test_the_file_itself_is_never_its_own_copy(tmp_path: Path) -> None:
    path = tmp_path / "in.ncu-rep"
    path.write_bytes(everything())
    with pytest.raises(DashboardError, match="is the report itself"):
        save_without_private_data(path, path)
    with pytest.raises(DashboardError, match="cannot be written"):
        save_without_private_data(path, tmp_path / "nowhere" / "out")
    assert path.read_bytes() == everything()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "in.ncu-rep"]


def test_work_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "in.ncu-rep"
    path.write_bytes(everything())

    def cancel(done: int, whole: int) -> None:
        assert 0 < done <= whole
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_without_private_data(path, tmp_path / "out", cancel)
    assert not (tmp_path / "out").exists()
