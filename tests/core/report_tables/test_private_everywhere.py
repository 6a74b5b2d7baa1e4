"""Private words in every text that a report or a table can hold: none is in its copy, and every value is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from core.readers.ncu_csv.reader import read_csv
from core.readers.ncu_report.reader import read_report
from core.readers.ncu_report.schema import sized_fields
from core.report_tables.private_data import save_without_private_data
from tests.helpers import ncu_reports as made
from tests.helpers.ncu_reports import message

WORD: Final = b"secret"
TEXT: Final = "adasecret on node7-secret: moonsecret, keysecret in /home/adasecret/x, a/secret/x, secret/k.cu"
PATHS: Final = "run<lambda at topsecret/src/k.cu:31, /home/adasecret/k.cu:2>"
_DEPTH: Final = 9


def filled(kind: str, depth: int = _DEPTH) -> bytes:
    """Encodes a message all of whose texts are private, and a field that nobody knows."""
    fields: dict[int, Any] = {900: TEXT}
    for number, name, inner in sized_fields(kind):
        if not inner:
            fields[number] = _CONTENT[kind, name]() if (kind, name) in _CONTENT else TEXT
        elif depth:
            fields[number] = filled(inner, depth - 1)
    return message(fields)


# Bytes that are messages of their own; names of kernels, which may hold folders but no other private word.
_CONTENT: Final[dict[tuple[str, str], Callable[[], bytes | str]]] = {
    ("Result", "sections"): lambda: filled("Section"),
    ("Result", "rules"): lambda: filled("Rule"),
    ("Result", "nvtx"): lambda: filled("Nvtx"),
    ("Result", "call_stack"): lambda: filled("CallStack"),
    ("Result", "mangled_name"): lambda: PATHS,
    ("Result", "function_name"): lambda: PATHS,
    ("Result", "name"): lambda: PATHS,
    ("Metric", "instances"): lambda: filled("Instance"),
    ("Function", "mangled_name"): lambda: PATHS,
    # A program has to be named by its arguments for its words to be known.
    ("Executable", "arguments"): lambda: "moonsecret",
    ("Executable", "environment"): lambda: "TOKEN=keysecret",
    ("System", "computer_name"): lambda: "node7-secret",
    ("Process", "name"): lambda: "topsecret/bin/app",
    ("Frame", "module"): lambda: "topsecret/bin/lib.so",
    ("Frame", "file"): lambda: "topsecret/bin/lib.cpp",
    ("Marker", "file"): lambda: "topsecret/bin/gemm.cu",
    ("Source", "binary"): lambda: b"no binary, secret",
    # By these a device is found again.
    ("Attribute", "name"): lambda: "device__attribute_x",
    ("Device", "name"): lambda: "NVIDIA H100 PCIe",
}


def report_of_secrets() -> bytes:
    result = made.result(
        [*made.usual_metrics(), made.metric(7, made.integer(33)), filled("Metric")],
        [made.section(), filled("Section")],
        [made.rule(), filled("Rule")],
    )
    return made.report(
        made.block(
            sources=[filled("Source")],
            results=[result + filled("Result")],
            texts=[*made.NAMES, TEXT],
            session=filled("Session"),
            process=filled("Process"),
            rest=[TEXT.encode()],
        )
    )


def numbers_of(path: Path) -> tuple[Any, ...]:
    report = read_csv(path) if path.suffix == ".csv" else read_report(path)
    launches = report.launches
    return (
        launches.duration_ns.tolist(),
        launches.grid.tolist(),
        report.metrics.name_id.tolist(),
        repr(report.metrics.number.tolist()),
        report.metric_names.texts[: len(made.NAMES)],
        [problem.code for problem in report.problems],
    )


def test_no_text_of_a_report_keeps_a_private_word(tmp_path: Path) -> None:
    before = report_of_secrets()
    assert before.count(WORD) > 1_000
    (tmp_path / "in.ncu-rep").write_bytes(before)
    save_without_private_data(tmp_path / "in.ncu-rep", tmp_path / "out.ncu-rep")
    after = (tmp_path / "out.ncu-rep").read_bytes()
    left = [after[max(0, at - 40) : at + 40] for at in range(len(after)) if after.startswith(WORD, at)]
    assert left == []
    assert numbers_of(tmp_path / "out.ncu-rep") == numbers_of(tmp_path / "in.ncu-rep")
    report = read_report(tmp_path / "out.ncu-rep")
    assert report.strings[int(report.launches.name_id[0])].startswith("run<lambda at k.cu:31, k.cu:2")
    assert report.sections[0].title == "GPU Speed Of Light Throughput"
    assert report.rules[0][0].identifier == "Latency"


@pytest.mark.parametrize("kind", ["Section", "Rule", "Metric", "Source", "Session", "Nvtx", "CallStack"])
def test_the_made_messages_hold_private_words_in_every_text(kind: str) -> None:
    assert filled(kind).count(WORD) > len(sized_fields(kind)) / 2


def test_no_cell_of_a_table_keeps_a_private_word(tmp_path: Path) -> None:
    raw = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","a__b.sum","on node7-secret",'
        '"secret/src/k.cu","thread Domain:Push/Pop_Range:PL_Type:PL_Value"\n'
        '"","","","node7-secret","","byte/second","/home/adasecret","secret/k.cu",""\n'
        '"0","1","secret/bin/app","node7-secret","run<lambda at secret/src/k.cu:3>","1,024","adasecret",'
        '"secret/k.cu","1  ""d:step at secret/k.cu"""\n'
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Section Name","Metric Name",'
        '"Metric Unit","Metric Value","of adasecret"\n'
        '"0","1","app","node7-secret","k","Of adasecret","Duration on node7-secret","secret/k.cu",'
        '"secret/k.cu",""\n'
        '"0","1","app","node7-secret","k","Speed","Duration","us","4","secret/src/bin"\n'
    )
    (tmp_path / "in.csv").write_text(raw)
    save_without_private_data(tmp_path / "in.csv", tmp_path / "out.csv")
    after = (tmp_path / "out.csv").read_text()
    assert "secret" not in after
    assert after.splitlines()[1] == '"","","","","","byte/second","(folder)","k.cu",""'
    assert '"Domain:Push/Pop_Range:PL_Type' not in after
    assert '"thread Domain:Push/Pop_Range:PL_Type:PL_Value"' in after
    assert numbers_of(tmp_path / "out.csv")[:4] == numbers_of(tmp_path / "in.csv")[:4]


def test_a_user_that_is_a_number_takes_no_value_away(tmp_path: Path) -> None:
    raw = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","a__b.sum"\n'
        '"","","","","","byte"\n'
        '"0","1","/home/1024/app","node7","k","1024"\n'
    )
    (tmp_path / "in.csv").write_text(raw)
    save_without_private_data(tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[2] == '"0","1","app","","k","1024"'
