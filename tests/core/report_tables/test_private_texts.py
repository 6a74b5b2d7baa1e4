"""What texts give away: folders however they are written, hosts, users, arguments, in any part of a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.analyses.report_source.elf import DeviceBinary
from core.readers.ncu_private import PrivateText, user_words, value_words
from core.readers.ncu_report.reader import read_report
from core.report_tables.private_data import save_without_private_data
from tests.helpers import cubins
from tests.helpers import ncu_reports as made
from tests.helpers.ncu_reports import message

SECRET = "/home/ada/secret/k.cu"


def private(*words: bytes) -> PrivateText:
    return PrivateText(words, Counter())


def copy_of(folder: Path, data: bytes, name: str = "in.ncu-rep") -> tuple[bytes, dict[str, int]]:
    (folder / name).write_bytes(data)
    found = save_without_private_data(folder / name, folder / f"out-{name}")
    return (folder / f"out-{name}").read_bytes(), dict(found.removed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at file:///home/ada/x.cu now", "at x.cu now"),
        ("@source:/home/ada/x.cu:31:here@", "@source:x.cu:31:here@"),
        (r"in \\server\share\ada\k.cu.", "in k.cu."),
        ("with -I/home/ada/inc -O3", "with -I(folder) -O3"),
        ("of /home/ada/My Project/k.cu, twice", "of k.cu, twice"),
        (r"of C:\Users\Ada Lovelace\k.cu", "of k.cu"),
        ("in /home/ada", "in (folder)"),
        ("in /home/ada.lovelace is it", "in (folder) is it"),
        ("in ~ada/src/k.cu and ../../home/ada/k.cu", "in k.cu and k.cu"),
        ("See /home/ada/a.cu and 3/4 of L1/TEX, byte/second", "See a.cu and 3/4 of L1/TEX, byte/second"),
        ("https://x.y/-/z", "https://x.y/-/z"),
        ("in src/secret/k.cu:31, secret/k.cu and runs/secret/7.", "in k.cu:31, k.cu and (folder)."),
        (r"@source:secret\k.cu:31:here@ -Isecret/inc/a.h", "@source:k.cu:31:here@ a.h"),
        ("byte/second of L1/TEX, I/O, a.sum/b.sum, n/a.", "byte/second of L1/TEX, I/O, a.sum/b.sum, n/a."),
    ],
)
def test_of_a_path_in_a_text_only_a_file_name_stays(text: str, expected: str) -> None:
    assert private().clean(text.encode()).decode() == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"-I/home/ada/inc\0", b"-I/xxxx/xxx/xxx\0"),
        (b"\x01\x07/home/ada/a b/k.cu\0", b"\x01\x07/xxxx/xxx/xxx/k.cu\0"),
        (b"\\\\server\\share\\k.cu", b"\\\\xxxxxx\\xxxxx\\k.cu"),
        (b"\x2f\x41\x05\x2f\x42\x06", b"\x2f\x41\x05\x2f\x42\x06"),
        (b"\0secret/inc\0my-job/kernels/k.cu\0", b"\0xxxxxx/xxx\0xxxxxx/xxxxxxx/k.cu\0"),
    ],
)
def test_folders_between_bytes_are_masked_at_their_length(data: bytes, expected: bytes) -> None:
    assert private().mask(data) == expected


def test_known_words_go_where_they_stand_alone() -> None:
    text = private(b"node7", b"ada", b"s3cr3t key").clean(b"ada on node7: s3cr3t key, Canada, node71")
    assert text == b"(private) on (private): (private), Canada, node71"


def test_words_are_users_and_values_that_say_something() -> None:
    assert user_words(rb"C:\Users\Ada Lovelace\x /home/bob/y /home/root") == {b"Ada Lovelace", b"Ada", b"bob"}
    assert value_words([b"--lr", b"0.000125", b"TOKEN=abcdefgh", b"A=1"]) == {b"TOKEN=abcdefgh", b"abcdefgh"}


def test_long_texts_without_an_end_take_no_long_time() -> None:
    for data in (
        b"/" + b"a." * 50_000,
        b"/a" * 50_000,
        b"/a b c" * 20_000,
        b"a " * 50_000 + b"/",
        b"/" * 50_000,
        b"-a." * 50_000,
        b"a.c/" * 50_000,
        b"a.c-" * 50_000 + b"/",
    ):
        private().clean(data)
        private().mask(data)


def rule_with(text: str = "", **more: bytes) -> bytes:
    return message({1: "R", 3: message({1: [*more.values(), message({1: message({1: text, 2: 2})})]})})


def results_with_secrets() -> dict[str, dict[str, Any]]:
    """Returns by its name a part of a result that a folder stands in, as arguments of a result."""
    text = made.text_value(SECRET)
    keyed = made.metric(9, made.integer(42), [made.instance(text, made.integer(1))])
    valued = made.metric(9, made.integer(42), [made.instance(made.integer(1), text)])
    nvtx = message({2: [message({1: 77, 2: [message({1: 1, 3: [message({1: SECRET})]})]})]})
    return {
        "name of a rule": {"rules": [message({1: "R", 2: SECRET})]},
        "focus": {"rules": [rule_with(a=message({8: message({2: "inst_executed", 3: 8.5, 5: SECRET})}))]},
        "table": {"rules": [rule_with(a=message({2: message({1: SECRET})}))]},
        "source table": {"rules": [rule_with(a=message({9: message({1: SECRET})}))]},
        "unknown item": {"rules": [rule_with(a=message({90: message({1: SECRET})}))]},
        "value": {"metrics": [*made.usual_metrics(), made.metric(7, text)]},
        "key of an instance": {"metrics": [*made.usual_metrics(), keyed]},
        "value of an instance": {"metrics": [*made.usual_metrics(), valued]},
        "symbol": {"f28": message({1: [message({1: "a.so", 4: f"mm({SECRET})"})]})},
        "range": {"f21": nvtx},
        "name of a kernel": {"f7": f"gemm<lambda at {SECRET}:31>"},
        "series": {"f24": message({1: 1, 2: SECRET})},
        "unknown": {"f900": message({1: SECRET})},
    }


@pytest.mark.parametrize("part", results_with_secrets())
def test_no_part_of_a_result_names_a_folder(tmp_path: Path, part: str) -> None:
    data = made.report(made.block(results=[made.result(**results_with_secrets()[part])], texts=made.NAMES))
    after, removed = copy_of(tmp_path, data)
    assert b"secret" not in after
    assert b"k.cu" in after
    assert removed == {"folders": 1}
    before = read_report(tmp_path / "in.ncu-rep")
    report = read_report(tmp_path / "out-in.ncu-rep")
    assert report.metrics.name_id.tolist() == before.metrics.name_id.tolist()
    assert report.metrics.instances.tolist() == before.metrics.instances.tolist()
    assert report.problems == before.problems


def test_of_a_session_and_a_process_only_what_is_harmless_stays(tmp_path: Path) -> None:
    system = message({1: "Linux", 3: "A CPU", 8: "secret 1"})
    attributes = [
        message({1: "device__attribute_display_name", 2: made.text_value("H100")}),
        message({1: "device__attribute_x", 2: made.text_value(SECRET), 3: "secret 2"}),
    ]
    session = message(
        {
            1: 4242,
            3: system,
            5: "secret 3",
            6: [message({1: 0, 2: "H100", 3: attributes, 4: "secret 4"})],
            8: [message({1: "CUDA Version", 2: "12.8", 3: "secret 5"})],
            12: "secret 6",
        }
    )
    process = message({1: 4242, 3: "/a/train", 4: "secret 7"})
    block = made.block(
        results=[made.result()], texts=made.NAMES, session=session, process=process, rest=[SECRET.encode()]
    )
    after, removed = copy_of(tmp_path, made.report(block))
    assert b"secret" not in after
    assert removed == {"unknown fields": 7, "folders": 3}
    report = read_report(tmp_path / "out-in.ncu-rep")
    assert report.session.versions == (("CUDA Version", "12.8"),)
    assert report.session.host is not None
    assert (report.session.host.os_name, report.session.host.processor) == ("Linux", "A CPU")
    assert next(device.name for device in report.devices) == "H100"


def test_words_of_the_session_go_from_the_texts_of_rules(tmp_path: Path) -> None:
    session = message(
        {
            3: message({5: "node7.lab.example"}),
            6: [message({1: 0, 2: "NVIDIA H100 PCIe"})],
            9: message(
                {
                    1: "/home/ada/train",
                    3: ["--name=moonshot", "sm__throughput"],
                    4: ["TOKEN=abcdefgh", "V=NVIDIA"],
                }
            ),
        }
    )
    rule = rule_with("ada on node7: moonshot with abcdefgh of NVIDIA, sm__throughput")
    data = made.report(made.block(results=[made.result(rules=[rule])], texts=made.NAMES, session=session))
    removed = copy_of(tmp_path, data)[1]
    (found,) = read_report(tmp_path / "out-in.ncu-rep").rules[0]
    assert (
        found.messages[0].text == "(private) on (private): (private) with (private) of NVIDIA, sm__throughput"
    )
    assert removed["private words"] == 4


def test_constants_of_a_binary_name_no_folder(tmp_path: Path) -> None:
    binary = bytearray(cubins.built("made_75"))
    section = next(
        each
        for each in DeviceBinary(bytes(binary)).sections
        if each.name.startswith(".nv.constant") and each.length > 24
    )
    text = b"\0" + SECRET.encode() + b"\0"
    binary[section.begin : section.begin + len(text)] = text
    source = cubins.source(bytes(binary), {cubins.SAXPY: 7}, {})
    after = copy_of(tmp_path, made.report(made.block(sources=[source], texts=made.NAMES)))[0]
    assert b"secret" not in after
    assert b"\0/xxxx/xxx/xxxxxx/k.cu\0" in after


def test_every_cell_of_a_table_is_without_hosts_users_and_folders(tmp_path: Path) -> None:
    raw = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Section Name","Metric Name",'
        '"Metric Unit","Metric Value","Rule Name","Rule Description","Rule Source"\n'
        '"0","7","app","node7","gemm(float *)","Speed","Duration","byte/second","3","R",'
        '"ada on node7 in /home/ada/My Project/k.cu","/home/ada/r.py"\n'
        '"1","7","[7] python@node8","","gemm(float *)","Speed","Duration","us","4","R","by node8",""\n'
    )
    after, removed = copy_of(tmp_path, raw.encode(), "in.csv")
    assert after.decode().splitlines()[1:] == [
        '"0","7","app","","gemm(float *)","Speed","Duration","byte/second","3","R",'
        '"(private) on (private) in k.cu","r.py"',
        '"1","7","[7] python","","gemm(float *)","Speed","Duration","us","4","R","by (private)",""',
    ]
    assert removed == {"host names": 2, "folders": 2, "private words": 3}


def test_what_was_not_found_is_not_named(tmp_path: Path) -> None:
    raw = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","a.sum"\n'
        '"","","","","","ns"\n'
        '"0","7","app","","k","1"\n'
    )
    assert copy_of(tmp_path, raw.encode(), "in.csv")[1] == {}
