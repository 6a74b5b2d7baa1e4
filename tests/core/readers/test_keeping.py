"""Traces that were read before: stored, found again, never half; and reading in a child."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import numpy as np
import psutil
import pytest

from core.errors import DashboardError
from core.readers import trace_set, worker
from core.readers.cache import TraceCache
from core.readers.torch_trace.reader import read_trace
from core.readers.trace_set import find_traces, read_traces
from core.readers.worker import open_trace_file
from core.tables import store
from core.tables.store import open_trace, write_trace
from core.tables.trace import Trace
from tests.helpers.traces import kernel, op, trace_of

EVENT = '{"ph": "X", "cat": "kernel", "name": "k%d", "pid": 0, "tid": 7, "ts": %d, "dur": 2}'


def write_file(path: Path, count: int = 50) -> Path:
    path.write_text('{"traceEvents": [' + ",\n".join(EVENT % (n % 9, 10 * n) for n in range(count)) + "]}")
    return path


def same(one: Trace, other: Trace) -> bool:
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("name", "facts", "problems"):
            if left != right:
                return False
        elif not all(
            np.array_equal(getattr(left, column.name), getattr(right, column.name), equal_nan=False)
            or getattr(left, column.name).dtype == np.float64
            for column in fields(left)
        ):
            return False
    return True


def quiet(done: int, of: int) -> None:
    assert 0 <= done <= of


def test_a_stored_trace_is_the_same(tmp_path: Path) -> None:
    trace = trace_of(op("aten::mm", 0, 5), kernel("k", 3.25, 9, grid=[1, 2, 3]), rank=2)
    with (tmp_path / "t").open("wb") as file:
        write_trace(trace, file)
    again = open_trace(tmp_path / "t")
    assert again is not None
    assert same(again, trace)
    assert not again.slices.start_ns.flags.writeable


def test_what_an_older_version_stored_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LAYOUT_VERSION", store.LAYOUT_VERSION - 1)
    with (tmp_path / "t").open("wb") as file:
        write_trace(trace_of(op("aten::mm", 0, 5)), file)
    assert open_trace(tmp_path / "t") is not None
    monkeypatch.undo()
    assert open_trace(tmp_path / "t") is None


def test_a_stored_trace_that_is_not_whole_counts_as_none(tmp_path: Path) -> None:
    with (tmp_path / "t").open("wb") as file:
        write_trace(trace_of(kernel("k", 3, 9)), file)
    data = (tmp_path / "t").read_bytes()
    for end in (0, 5, 20, len(data) // 3, len(data) - 1):
        (tmp_path / "part").write_bytes(data[:end])
        assert open_trace(tmp_path / "part") is None
    damaged = bytearray(data)
    damaged[40] ^= 0xFF
    (tmp_path / "part").write_bytes(damaged)
    assert open_trace(tmp_path / "part") is None


def keep(cache: TraceCache, path: Path) -> Trace:
    note = cache.note(path)
    trace = read_trace(path)
    cache.adopt(cache.write_part(trace), path, note)
    return trace


def test_a_known_file_is_found_by_its_content_under_any_name(tmp_path: Path) -> None:
    cache = TraceCache(tmp_path / "cache")
    path = write_file(tmp_path / "a.json")
    assert cache.find(path) is None
    trace = keep(cache, path)
    found = cache.find(path)
    assert found is not None
    assert same(found, trace)
    copy = tmp_path / "b.json"
    copy.write_bytes(path.read_bytes())
    again = cache.find(copy)
    assert again is not None
    assert again.name == "b.json"


def test_a_changed_file_is_not_known(tmp_path: Path) -> None:
    cache = TraceCache(tmp_path / "cache")
    path = write_file(tmp_path / "a.json")
    keep(cache, path)
    before = path.stat()
    write_file(path, 51)
    assert cache.find(path) is None
    # Not even with the old time: its size differs.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.find(path) is None


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    cache = TraceCache(tmp_path / "cache")
    path = write_file(tmp_path / "a.json")
    note = cache.note(path)
    part = cache.write_part(read_trace(path))
    write_file(path, 60)
    assert cache.adopt(part, path, note) is None
    assert list(cache.folder.iterdir()) == []


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    cache = TraceCache(tmp_path / "cache", cap_bytes=20_000)
    paths = [write_file(tmp_path / f"{n}.json", 40 + n) for n in range(6)]
    for age, path in enumerate(paths):
        keep(cache, path)
        for entry in cache.folder.iterdir():
            os.utime(entry, ns=(0, time.time_ns() - (10 - age) * 10**9))
    assert cache.find(paths[0]) is None
    assert cache.find(paths[-1]) is not None


def test_a_cache_folder_that_cannot_be_used_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    cache = TraceCache(tmp_path / "cache")
    assert cache.find(write_file(tmp_path / "a.json")) is None
    opened = open_trace_file(write_file(tmp_path / "b.json"), quiet, cache)
    assert len(opened.trace.slices) == 50


@pytest.fixture
def always_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SMALL_BYTES", 0)


@pytest.mark.usefixtures("always_a_child")
def test_a_child_reads_and_the_next_time_nobody_has_to(tmp_path: Path) -> None:
    cache = TraceCache(tmp_path / "cache")
    path = write_file(tmp_path / "a.json")
    opened = open_trace_file(path, quiet, cache)
    assert same(opened.trace, read_trace(path))
    assert opened.keep is not None
    opened.keep(lambda: None)
    assert open_trace_file(path, quiet, cache).keep is None
    assert sorted(entry.suffix for entry in cache.folder.iterdir()) == [".known", ".trace"]


@pytest.mark.usefixtures("always_a_child")
def test_a_child_refuses_in_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"traceEvents": "see other file"}')
    with pytest.raises(DashboardError, match="traceEvents is text"):
        open_trace_file(path, quiet, TraceCache(tmp_path / "cache"))


@pytest.mark.usefixtures("always_a_child")
def test_a_cancelled_child_is_gone(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.json")
    started = []

    def cancel(done: int, of: int) -> None:
        started.append(done)
        raise KeyError

    with pytest.raises(KeyError):
        open_trace_file(path, cancel, TraceCache(tmp_path / "cache"))
    assert started
    assert psutil.Process().children() == []


@pytest.mark.usefixtures("always_a_child")
def test_a_child_that_is_cancelled_when_it_has_stored_leaves_nothing(tmp_path: Path) -> None:
    path, cache = write_file(tmp_path / "a.json"), TraceCache(tmp_path / "cache")

    def cancel(done: int, of: int) -> None:
        if cache.folder.is_dir() and any(cache.folder.iterdir()):
            raise KeyError

    # The child may have ended before it was looked at: then nobody was cancelled.
    with contextlib.suppress(KeyError):
        open_trace_file(path, cancel, cache)
    assert list(cache.folder.iterdir()) == []


@pytest.mark.usefixtures("always_a_child")
def test_what_nobody_keeps_is_deleted_and_can_be_read_as_long_as_it_is_open(tmp_path: Path) -> None:
    path, cache = write_file(tmp_path / "a.json"), TraceCache(tmp_path / "cache")
    opened = open_trace_file(path, quiet, cache)
    assert [entry.suffix for entry in cache.folder.iterdir()] == [".part"]
    trace = opened.trace
    del opened
    assert list(cache.folder.iterdir()) == []
    assert same(trace, read_trace(path))


@pytest.mark.usefixtures("always_a_child")
def test_keeping_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    path, cache = write_file(tmp_path / "a.json"), TraceCache(tmp_path / "cache")
    opened = open_trace_file(path, quiet, cache)
    assert opened.keep is not None

    def cancel() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        opened.keep(cancel)
    assert list(cache.folder.iterdir()) == []


@pytest.mark.usefixtures("always_a_child")
def test_a_file_that_is_gone_when_it_is_to_be_kept_leaves_nothing(tmp_path: Path) -> None:
    path, cache = write_file(tmp_path / "a.json"), TraceCache(tmp_path / "cache")
    opened = open_trace_file(path, quiet, cache)
    path.unlink()
    assert opened.keep is not None
    opened.keep(lambda: None)
    assert list(cache.folder.iterdir()) == []


def test_a_folder_gives_its_traces_and_nothing_else(tmp_path: Path) -> None:
    for rank in (1, 0):
        write_file(tmp_path / f"rank{rank}.json", 10 + rank)
    (tmp_path / "notes.json").write_text('{"a": 1}')
    (tmp_path / "read.me").write_text("hello")
    paths = find_traces(tmp_path)
    assert [path.name for path in paths] == ["rank0.json", "rank1.json"]
    traces = read_traces(paths, quiet)
    assert [len(trace.slices) for trace in traces] == [10, 11]
    with ThreadPoolExecutor(1) as executor:
        assert [len(trace.slices) for trace in read_traces(paths, quiet, executor)] == [10, 11]


def test_when_one_file_is_refused_the_others_are_not_read_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = write_file(tmp_path / "rank0.json"), tmp_path / "rank1.json"
    ended = []

    def slow(path: Path, progress: Callable[[int, int], None]) -> worker.Opened:
        if path == bad:
            raise DashboardError("Not a trace: the file is no JSON.", "")
        try:
            # Far more often than a file of any size would tell.
            for _ in range(100_000):
                progress(1, 2)
                time.sleep(0.001)
        except BaseException:
            ended.append(path)
            raise
        raise AssertionError("it was read to its end")

    monkeypatch.setattr(trace_set, "open_trace_file", slow)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with pytest.raises(DashboardError, match=r"rank1\.json: Not a trace"):
        read_traces([good, bad], quiet)
    assert ended == [good]


def test_a_cancel_ends_the_reading_of_every_file(tmp_path: Path) -> None:
    paths = [write_file(tmp_path / f"rank{rank}.json") for rank in range(4)]

    def cancel(done: int, of: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        read_traces(paths, cancel)


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="There is no trace in"):
        find_traces(tmp_path)
