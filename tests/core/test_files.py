"""Small files are written whole or not at all, and any path is described without harm."""

from __future__ import annotations

import gzip
import json
import os
import stat
import threading
from pathlib import Path

import pytest
import zstandard

from core import files
from core.errors import DashboardError

TRACE = b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}\n'


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_data_folder_follows_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.app_folders().data == Path(os.environ["XDG_DATA_HOME"]) / "ridgeline"
    monkeypatch.setenv("RIDGELINE_DATA_DIR", str(tmp_path / "elsewhere"))
    assert files.app_folders().data == tmp_path / "elsewhere"


def test_private_folder_closes_an_open_one(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    files.ensure_private_folder(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o755)
    files.ensure_private_folder(folder)
    assert mode(folder) == 0o700


def test_the_tail_of_a_file_is_its_last_bytes_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    assert files.read_tail(path, 4) == b"6789"
    assert files.read_tail(path, 100) == b"0123456789"
    assert files.read_tail(tmp_path, 4) == b""
    assert files.read_tail(tmp_path / "absent", 4) == b""


def test_private_folder_where_a_file_lies(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DashboardError, match="cannot be used"):
        files.ensure_private_folder(tmp_path / "file" / "below")


def test_the_hint_is_for_the_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for hint, options in ((files.DATA_HINT, ()), (files.CONFIG_HINT, (files.CONFIG_HINT,))):
        with pytest.raises(DashboardError) as error:
            files.ensure_private_folder(tmp_path / "file" / "below", *options)
        assert error.value.hint == hint
    assert "RIDGELINE_DATA_DIR" not in files.CONFIG_HINT


def test_write_atomic_is_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        files.write_atomic(tmp_path / "x.json", b"one")
    finally:
        os.umask(old)
    assert mode(tmp_path / "x.json") == 0o600
    files.write_atomic(tmp_path / "x.json", b"two")
    assert (tmp_path / "x.json").read_bytes() == b"two"


def test_write_atomic_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "here" / "taken"
    (target / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="taken"):
        files.write_atomic(target, b"data")
    assert os.listdir(target.parent) == ["taken"]


def test_readers_never_see_a_part(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    contents = [bytes([65 + i]) * 200_000 for i in range(4)]
    files.write_atomic(path, contents[0])
    done = threading.Event()
    seen = set()

    def read() -> None:
        while not done.is_set():
            data = path.read_bytes()
            seen.add((data[:1], len(data), data.count(data[:1])))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(10):
        for content in contents:
            files.write_atomic(path, content)
    done.set()
    reader.join()
    assert seen
    assert all(length == 200_000 == same for _, length, same in seen)


def test_append_line_from_many_threads_keeps_lines_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines"

    def write(letter: bytes) -> None:
        for _ in range(200):
            files.append_line(path, letter * 300)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = path.read_bytes().splitlines()
    assert len(lines) == 600
    assert {bytes(line) for line in lines} == {b"a" * 300, b"b" * 300, b"c" * 300}
    assert mode(path) == 0o600


def test_append_line_on_a_full_disk_says_so() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OSError, match="No space left"):
        files.append_line(Path("/dev/full"), b"x")


def test_read_limited_refuses_large_files_and_pipes(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 101)
    with pytest.raises(DashboardError, match="larger than 100 bytes"):
        files.read_bytes_limited(tmp_path / "big", 100)
    assert len(files.read_bytes_limited(tmp_path / "big", 101)) == 101
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DashboardError, match="not a regular file"):
        files.read_bytes_limited(tmp_path / "pipe", 100)


ODD_NAMES = [
    b"with space.json",
    b"hash#mark.json",
    b"per%20cent.json",
    b"plus+plus.json",
    b'quo"te.json',
    b"apo'strophe.json",
    b"amp&semi;.json",
    "тест_日本.json".encode(),
    b"new\nline.json",
    b"-dash.json",
    b"trace.JSON",
    b"rank0.pt.trace.json",
    b"~tilde.json",
    b"[br]{ace}.json",
    b"latin1_caf\xe9.json",
    b"no_suffix",
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=repr)
def test_odd_names_are_described_by_content(tmp_path: Path, name: bytes) -> None:
    """Case G11."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.write_bytes(TRACE)
    found = files.describe_path(path)
    assert (found.kind, found.title) == ("trace", "PyTorch trace")
    assert found.size_bytes == len(TRACE)
    assert found.name.isprintable()
    found.name.encode("utf-8")


def test_odd_names_are_shown_readably(tmp_path: Path) -> None:
    assert files.printable("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert files.printable(os.fsdecode(b"caf\xe9")) == "caf\N{REPLACEMENT CHARACTER}"
    assert files.printable("evil\u202egpj.py") == "evil\\u202egpj.py"
    assert files.describe_path(tmp_path / "new\nline").name == "new\\nline"


def write_manifest_like(folder: Path) -> None:
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"schema": 1, "id": "x", "job": {}, "created_ns": 1}))


def test_what_opens_here(tmp_path: Path) -> None:
    write_manifest_like(tmp_path / "run")
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\nprint()\n")
    for name, kind in [
        ("run", "run"),
        ("run/manifest.json", "run"),
        ("train.py", "script"),
        ("tool", "script"),
    ]:
        found = files.describe_path(tmp_path / name)
        assert (found.kind, found.opens_on) == (kind, "run"), name


@pytest.mark.parametrize("content", [b"", b'{"schema": 1, "id', b"\x00\xff", b"[]"])
def test_a_run_folder_whose_manifest_is_damaged_is_said_to_be_one(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "run"
    (folder / "ranks").mkdir(parents=True)
    (folder / "manifest.json").write_bytes(content)
    found = files.describe_path(folder)
    assert (found.kind, found.title) == ("folder", "Run folder with a damaged manifest")
    assert found.opens_on is None
    assert "manifest.json cannot be read" in found.detail


def test_a_manifest_of_another_program_makes_no_run(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "site"}')
    assert files.describe_path(tmp_path).title == "Folder"


REPORT = "Nsight Compute report"
CONTENTS: list[tuple[str, bytes, str, str]] = [
    ("t.json", TRACE, "trace", "PyTorch trace"),
    ("bom.json", b"\xef\xbb\xbf" + TRACE, "trace", "PyTorch trace"),
    ("utf16.json", TRACE.decode().encode("utf-16"), "trace", "PyTorch trace"),
    ("c.json", b'[{"name": "x", "ph": "X"}]', "trace", "Chrome trace"),
    ("t.json.gz", gzip.compress(TRACE), "trace", "PyTorch trace (gzip)"),
    ("hidden_gzip.json", gzip.compress(TRACE), "trace", "PyTorch trace (gzip)"),
    ("x.json", b'{"a": 1}', "json", "JSON file"),
    ("k.ncu-rep", b"NVR\x00\x02\x00\x00\x00\x08\x07", "ncu_report", REPORT),
    ("k.ncu-repz", zstandard.compress(b"NVR\x00\x02\x00\x00\x00\x08\x07"), "ncu_report", REPORT + " (zstd)"),
    ("k.json.zst", zstandard.compress(TRACE), "unknown", "zstd file"),
    ("broken.ncu-repz", b"\x28\xb5\x2f\xfdbroken", "unknown", "zstd file"),
    ("k.csv", b'"ID","Process ID","Kernel Name"\n"0","1","gemm"\n', "ncu_csv", "Nsight Compute CSV"),
    ("p.csv", b'==PROF== Connected\n"ID","Kernel Name"\n', "ncu_csv", "Nsight Compute CSV"),
    ("n.csv", b"Time (%),Total Time (ns)\n90.0,1000\n", "csv", "Nsight Systems statistics"),
    (
        "m.pickle",
        b"\x80\x04\x95\x10\x00}\x94(\x8c\x08segments\x94",
        "memory_snapshot",
        "CUDA memory snapshot",
    ),
    ("m.onnx", b"\x08\x0a\x12\x07pytorch\x1a\x062.13.0", "model", "ONNX model"),
    ("m.pt2", b"PK\x03\x04\x00\x00\x08\x08", "model", "PyTorch exported model"),
    ("fake.onnx", b"hello\n", "unknown", "Text file"),
    ("fake.pt2", b"\x80\x02\x00\x00", "unknown", "Binary file"),
    ("m.zip", b"PK\x03\x04\x00\x00\x08\x08", "unknown", "Zip archive"),
    ("bin", bytes(range(256)), "unknown", "Binary file"),
    ("notes.txt", b"hello\n", "unknown", "Text file"),
    ("fake.py", bytes(range(256)), "unknown", "Binary file"),
    ("broken.gz", b"\x1f\x8b\x08\x00broken", "unreadable", "Damaged gzip file"),
    ("empty.json", b"", "empty", "Empty file"),
    ("empty.ncu-rep", b"", "empty", "Empty file"),
    ("empty.bin", b"", "empty", "Empty file"),
]


@pytest.mark.parametrize(("name", "content", "kind", "title"), CONTENTS, ids=[c[0] for c in CONTENTS])
def test_content_decides(tmp_path: Path, name: str, content: bytes, kind: str, title: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = files.describe_path(tmp_path / name)
    assert (found.kind, found.title) == (kind, title)
    assert found.detail.endswith(".")
    tried_as_trace = kind in ("trace", "json") or name == "empty.json"
    tried_as_report = kind in ("ncu_report", "ncu_csv") or name == "empty.ncu-rep"
    other = "edge" if kind == "model" else None
    assert found.opens_on == ("trace" if tried_as_trace else "nsight" if tried_as_report else other)


def test_a_folder_of_traces_names_them_by_rank(tmp_path: Path) -> None:
    for rank in (10, 2, 0):
        (tmp_path / f"rank{rank}.json").write_bytes(TRACE)
    (tmp_path / "notes.json").write_text('{"a": 1}')
    (tmp_path / "empty.json").write_bytes(b"")
    found = files.describe_path(tmp_path)
    assert (found.kind, found.title, found.opens_on) == ("folder", "Folder with 3 traces", "trace")
    assert [path.name for path in found.traces] == ["rank0.json", "rank2.json", "rank10.json"]
    assert found.detail == "Opens on Trace: its ranks as one trace."


def test_the_head_of_a_trace_tells_its_rank(tmp_path: Path) -> None:
    """What follows, the groups' own sizes, is not taken for the rank's."""
    path = tmp_path / "t.json"
    path.write_text(
        '{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, '
        '"pg_config": [{"rank": 1}]}, "traceEvents": []}'
    )
    assert (files.describe_path(path).rank, files.describe_path(path).world_size) == (3, 8)
    path.write_text('{"schemaVersion": 1, "rank": 3, "traceEvents": []}')
    assert (files.describe_path(path).rank, files.describe_path(path).world_size) == (None, None)


def test_what_is_no_file_neither_blocks_nor_fails(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "dangling.json").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    kinds = {
        name: files.describe_path(tmp_path / name).title
        for name in ("pipe.json", "folder.json", "dangling.json", "absent.json", "loop.json", "nul\0.json")
    }
    assert kinds == {
        "pipe.json": "Named pipe",
        "folder.json": "Folder",
        "dangling.json": "Dangling link",
        "absent.json": "Not found",
        "loop.json": "Cannot be read",
        "nul\0.json": "Not a path",
    }
    assert files.describe_path(Path("/dev/zero")).kind == "special"


def test_only_the_head_of_a_huge_file_is_read(tmp_path: Path) -> None:
    """A sparse terabyte and a gzip bomb are described as quickly as a small file."""
    path = tmp_path / "huge.json"
    path.write_bytes(TRACE)
    os.truncate(path, 2**40)
    assert files.describe_path(path).kind in ("trace", "unknown")
    assert files.describe_path(path).size_bytes == 2**40
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"[" + b" " * 50_000_000))
    assert files.describe_path(tmp_path / "bomb.gz").kind == "json"


def test_the_handed_odd_names(tmp_path: Path, shared_cases: Path) -> None:
    """Case G11 and the kinds of the handed inputs."""
    expected = {"T00_healthy.json": "trace", "T13.json.gz": "trace", "T52_utf16.json": "trace"}
    expected |= {"N00_healthy_raw.csv": "ncu_csv", "N22_nsys.csv": "csv", "L01_stubborn.py": "script"}
    expected |= {"N13_empty.ncu-rep": "empty", "T17.json": "empty", "N14_csv_inside.ncu-rep": "ncu_csv"}
    found = {name: files.describe_path(shared_cases / name).kind for name in expected}
    assert found == expected
