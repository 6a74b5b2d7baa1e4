"""Whole trace files of every kind: healthy, in odd layouts, broken, and none at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import DashboardError
from core.readers.torch_trace import reader
from core.readers.torch_trace.reader import read_trace
from core.readers.torch_trace.scan import find_boundary
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import SliceKind, Trace

BASE_US = 1_750_000_000_000_000


def healthy_events() -> list[dict[str, Any]]:
    """Two operators on a host thread, a launch, and four kernels of 60 us on stream 7."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": BASE_US, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": BASE_US, "args": {"labels": "GPU 0"}},
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": BASE_US, "args": {"name": "stream 7"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": BASE_US, "dur": 20},
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 9, "tid": 9, "ts": BASE_US + 30, "dur": 20},
    ]
    for number in range(4):
        arguments = {"device": 0, "stream": 7, "correlation": number + 1, "grid": [132, 1, 1]}
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": f"gemm_{number}",
                "pid": 0,
                "tid": 7,
                "ts": BASE_US + 100 + 70 * number,
                "dur": 60,
                "args": arguments,
            }
        )
    return events


def document(events: list[dict[str, Any]] | None = None, **keys: Any) -> bytes:
    """The text of a trace file in the layout of Kineto: one key a line."""
    return json.dumps(
        {"schemaVersion": 1, "traceEvents": healthy_events() if events is None else events, **keys}, indent=1
    ).encode()


def read(tmp_path: Path, data: bytes, name: str = "t.json") -> Trace:
    path = tmp_path / name
    path.write_bytes(data)
    return read_trace(path)


def kernels(trace: Trace) -> tuple[int, int]:
    """Number of kernels and the sum of their possible durations."""
    durations = trace.slices.duration_ns[trace.slices.kind == SliceKind.KERNEL]
    return len(durations), int(durations[durations > 0].sum())


def codes(trace: Trace) -> dict[str, int]:
    return {problem.code: problem.count for problem in trace.problems}


HEALTHY = (4, 240_000)


def test_a_healthy_file(tmp_path: Path) -> None:
    trace = read(tmp_path, document(distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8}))
    assert kernels(trace) == HEALTHY
    assert trace.problems == ()
    assert (trace.facts.event_count, trace.facts.rank, trace.facts.world_size) == (9, 3, 8)
    assert trace.facts.origin_ns == BASE_US * 1000
    assert trace.device_work.grid.tolist() == [[132, 1, 1]] * 4
    track = int(trace.slices.track[trace.device_work.slice_row[0]])
    assert trace.tracks.stream[track] == 7
    assert trace.tracks.device[track] == 0
    assert trace.tracks.rank[track] == 3


def _wrapped(text: bytes) -> bytes:
    """Keys after the events, in one line."""
    return b'{"traceEvents":' + json.dumps(json.loads(text)["traceEvents"]).encode() + b',"schemaVersion":1}'


LAYOUTS = {
    "indented": document(),
    "compact": json.dumps(json.loads(document()), separators=(",", ":")).encode(),
    "events first": _wrapped(document()),
    "bare array": json.dumps(healthy_events()).encode(),
    "array without its end": json.dumps(healthy_events())[:-1].encode() + b",\n",
    "keys sorted": json.dumps(json.loads(document()), sort_keys=True).encode(),
    "utf-8 with mark": b"\xef\xbb\xbf" + document(),
    "utf-16 little": b"\xff\xfe" + document().decode().encode("utf-16-le"),
    "utf-16 big": b"\xfe\xff" + document().decode().encode("utf-16-be"),
    "gzip": gzip.compress(document()),
    "gzip in members": gzip.compress(document()[:700]) + gzip.compress(document()[700:]) + bytes(512),
    "utf-16 in gzip": gzip.compress(document().decode().encode("utf-16")),
    "crlf": document().replace(b"\n", b"\r\n"),
    "ns as display unit": document(displayTimeUnit="ns"),
    "nothing after": document() + b"\n\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_that_mean_the_same(layout: str, tmp_path: Path) -> None:
    trace = read(tmp_path, LAYOUTS[layout], "whatever.bin")
    assert kernels(trace) == HEALTHY
    assert codes(trace) == {}
    assert trace.facts.event_count == 9


def with_row(row: bytes) -> bytes:
    """The healthy file with one more row, at line 3."""
    return (
        b'{"schemaVersion": 1,\n"traceEvents": [\n'
        + row
        + b",\n"
        + json.dumps(healthy_events())[1:].encode()
        + b"}"
    )


def slice_row(name: bytes, more: bytes = b"") -> bytes:
    return (
        b'{"ph": "X", "cat": "python_function", "name": "'
        + name
        + b'", "pid": 9, "tid": 9, "ts": 1750000000000001, "dur": 1'
        + more
        + b"}"
    )


REPAIRS = {
    "a path that was never escaped": (
        slice_row(rb"d:\users\new\table.py(3)"),
        "bad_escape",
        r"d:\users\new\table.py(3)",
    ),
    "raw control characters": (slice_row(b"a\x01\tb"), "control_character", "a\x01\tb"),
    "bytes that are no text": (slice_row(b"caf\xe9"), "bad_utf8", "caf\ufffd"),
    "half a surrogate": (slice_row(rb"a\ud800"), "bad_utf8", "a\ufffd"),
    "quotes that were not escaped": (
        slice_row(b'thread 5 ("main" loop)'),
        "unescaped_quote",
        'thread 5 ("main" loop)',
    ),
    "inf": (slice_row(b"copy", b', "args": {"memory bandwidth (GB/s)": inf}'), "not_a_number", "copy"),
    "N/A": (slice_row(b"copy", b', "args": {"x": N/A, "y": -Infinity}'), "not_a_number", "copy"),
    "a comma too many": (slice_row(b"f", b","), "stray_comma", "f"),
}


@pytest.mark.parametrize("kind", REPAIRS)
def test_one_bad_row_is_repaired_and_counted(kind: str, tmp_path: Path) -> None:
    row, code, name = REPAIRS[kind]
    trace = read(tmp_path, with_row(row))
    assert kernels(trace) == HEALTHY
    assert code in codes(trace)
    assert name in [trace.strings[text] for text in trace.slices.name_id.tolist()]
    assert trace.facts.event_count == 10


SKIPPED = {
    "null": (b"null", "null_event"),
    "a number": (b"12", "null_event"),
    "garbage": (b'{"ph": "X", "name": oops oops}', "broken_event"),
}


@pytest.mark.parametrize("kind", SKIPPED)
def test_a_row_that_means_nothing_is_left_out_and_counted(kind: str, tmp_path: Path) -> None:
    row, code = SKIPPED[kind]
    trace = read(tmp_path, with_row(row))
    assert kernels(trace) == HEALTHY
    assert codes(trace)[code] == 1
    assert next(problem for problem in trace.problems if problem.code == code).places[0].startswith("line 3 ")


UNTIMED = {
    "no time": (b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 5}', "no_time"),
    "time is a word": (b'{"ph": "X", "cat": "kernel", "name": "k", "ts": "soon", "dur": 5}', "no_time"),
    "time is NaN": (b'{"ph": "X", "cat": "kernel", "name": "k", "ts": NaN, "dur": 5}', "no_time"),
    "time beyond all bounds": (
        b'{"ph": "X", "cat": "kernel", "name": "k", "ts": 1e300, "dur": 5}',
        "no_time",
    ),
}


@pytest.mark.parametrize("kind", UNTIMED)
def test_a_kernel_without_a_time_is_counted_and_in_no_sum(kind: str, tmp_path: Path) -> None:
    row, code = UNTIMED[kind]
    trace = read(tmp_path, with_row(row))
    assert kernels(trace) == (5, 240_000)
    assert codes(trace)[code] == 1
    assert trace.slices.start_ns.min() == 0


def test_a_file_cut_anywhere_gives_its_whole_events(tmp_path: Path) -> None:
    data = document()
    first = data.index(b'"traceEvents"') + len(b'"traceEvents": [')
    counts = []
    for end in range(first + 60, len(data) - 3, 37):
        trace = read(tmp_path, data[:end])
        assert "cut_file" in codes(trace)
        counts.append(trace.facts.event_count)
    assert counts == sorted(counts)
    assert set(counts) == set(range(9))


def test_a_gzip_file_cut_anywhere_opens_or_is_refused(tmp_path: Path) -> None:
    data = gzip.compress(document())
    for end in range(20, len(data), 11):
        try:
            trace = read(tmp_path, data[:end])
        except DashboardError:
            continue
        assert "gzip_ends_early" in codes(trace)


NO_TRACES = {
    "empty": (b"", "empty"),
    "white space": (b" \n ", "empty"),
    "text": (b"hello", "no JSON"),
    "events are a text": (b'{"traceEvents": "see other file"}', "traceEvents is text"),
    "events are null": (b'{"traceEvents": null}', "traceEvents is null"),
    "an execution trace": (b'{"schema": "1.1", "nodes": [{"id": 2}]}', "execution trace"),
    "some JSON": (b'{"a": 1, "b": [2]}', "no traceEvents"),
    "a list of other things": (b'[{"a": 1}, {"a": 2}]', "none of its 2 records"),
    "cut before the events": (b'{"schemaVersion": 1, "dev', "cut before any event"),
}


@pytest.mark.parametrize("kind", NO_TRACES)
def test_what_is_no_trace_is_refused_in_words(kind: str, tmp_path: Path) -> None:
    data, words = NO_TRACES[kind]
    with pytest.raises(DashboardError) as refused:
        read(tmp_path, data)
    assert words in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.hint


def test_a_compressed_bomb_is_refused_with_its_ratio(tmp_path: Path) -> None:
    head = b'{"traceEvents": [' + json.dumps(healthy_events()[3]).encode() + b","
    with gzip.open(tmp_path / "bomb.json.gz", "wb", compresslevel=9) as file:
        file.write(head)
        for _ in range(300):
            file.write(bytes(b" " * 2**20))
    with pytest.raises(DashboardError, match=r"unpacks to more than \d+ times"):
        read_trace(tmp_path / "bomb.json.gz")


@pytest.mark.parametrize("block_bytes", [256, 1000, 4096])
def test_small_blocks_give_the_same_tables(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that look like the place between two events must not mislead a guess."""
    events = healthy_events()
    for event in events[3:]:
        event["name"] += ' }, {"ph": "X", "name": "inner"'
        event["args"] = {**event.get("args", {}), "list": [{"a": 1}, {"ph": 2}, {"ph": 3}], "text": "}, {"}
    data = document(events * 20, trailing={"a": [1, 2]})
    whole = read(tmp_path, data)
    monkeypatch.setattr(reader, "BLOCK_BYTES", block_bytes)
    parts = read(tmp_path, data)
    assert parts.problems == whole.problems == ()
    assert parts.facts == whole.facts
    assert list(parts.strings) == list(whole.strings)
    for column in ("start_ns", "duration_ns", "name_id", "kind", "track", "correlation", "source_offset"):
        assert np.array_equal(getattr(parts.slices, column), getattr(whole.slices, column)), column


def test_times_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    texts = [
        "1750000000000000.001",
        "1750000000000000.0015",
        "1750000000000000.0014999",
        "1.750000000000000003e15",
    ]
    rows = ",".join(
        f'{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {text}, "dur": 0.001}}'
        for text in texts
    )
    trace = read(tmp_path, f'{{"traceEvents": [{rows}]}}'.encode())
    absolute = trace.slices.start_ns + trace.facts.origin_ns - BASE_US * 1000
    assert absolute.tolist() == [1, 2, 1, 3]
    assert trace.slices.duration_ns.tolist() == [1, 1, 1, 1]


def test_begins_and_ends_become_slices(tmp_path: Path) -> None:
    def event(phase: str, name: str, ts: int, tid: int = 1) -> dict[str, Any]:
        return {"ph": phase, "name": name, "pid": 1, "tid": tid, "ts": ts}

    events = [
        event("B", "outer", 10),
        event("B", "inner", 20),
        event("E", "inner", 50),
        event("E", "other thread", 60, tid=2),
    ]
    trace = read(tmp_path, document(events))
    names = [trace.strings[text] for text in trace.slices.name_id.tolist()]
    assert dict(zip(names, trace.slices.duration_ns.tolist(), strict=True)) == {
        "outer": MISSING,
        "inner": 30_000,
    }
    assert codes(trace) == {"unfinished": 1, "stray_end": 1}


def test_a_record_that_was_never_filled_in_does_not_stretch_the_time(tmp_path: Path) -> None:
    zero = {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 0, "dur": 0}
    trace = read(tmp_path, document([zero, *healthy_events()]))
    assert kernels(trace) == (5, 240_000)
    assert codes(trace) == {"zero_time": 1}
    assert trace.slices.start_ns.min() == 0
    assert trace.slices.start_ns.max() == 310_000


DEVICES: dict[str, tuple[dict[str, Any], SliceKind]] = {
    "old schema": ({"cat": "Kernel", "pid": 0, "tid": "stream 7"}, SliceKind.KERNEL),
    "old copy": ({"cat": "Memcpy", "pid": 0, "tid": "stream 7"}, SliceKind.MEMCPY),
    "autograd profiler": ({"pid": "CUDA functions", "tid": 0}, SliceKind.KERNEL),
    "autograd profiler, host": ({"pid": "CPU functions", "tid": 0}, SliceKind.OP),
    "a host row": ({"pid": 9, "tid": 9}, SliceKind.OTHER),
    "mtia": ({"cat": "mtia_ccp_events", "pid": 0, "tid": 1}, SliceKind.KERNEL),
    "private device": ({"cat": "privateuse1_runtime", "pid": 9, "tid": 1}, SliceKind.RUNTIME),
    "hip": ({"cat": "hip_runtime", "pid": 9, "tid": 1}, SliceKind.RUNTIME),
}


@pytest.mark.parametrize("kind", DEVICES)
def test_what_a_slice_is(kind: str, tmp_path: Path) -> None:
    more, expected = DEVICES[kind]
    trace = read(tmp_path, document([{"ph": "X", "name": "n", "ts": 5, "dur": 1, **more}]))
    assert [SliceKind(code) for code in trace.slices.kind.tolist()] == [expected]


def test_ascend_and_jax_devices_are_known_by_their_process(tmp_path: Path) -> None:
    def named(what: str, name: str, pid: int, tid: int = 0) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}

    def row(name: str, pid: int, tid: int, **arguments: Any) -> dict[str, Any]:
        return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": "10.5", "dur": 1, "args": arguments}

    events = [
        named("process_name", "Ascend Hardware", 1),
        named("process_name", "/device:GPU:1", 2),
        named("thread_name", "Stream #118(Compute)", 2, 118),
        named("thread_name", "XLA Modules", 2, 3),
        row("MatMulV2", 1, 2, **{"Task Type": "AI_CORE"}),
        row("EVENT_WAIT", 1, 2, **{"Task Type": "EVENT_WAIT"}),
        row("gemm_fusion", 2, 118),
        row("MemcpyD2H", 2, 118),
        row("jit_step", 2, 3),
    ]
    trace = read(tmp_path, document(events))
    kinds = [SliceKind(code) for code in trace.slices.kind.tolist()]
    assert kinds == [SliceKind.KERNEL, SliceKind.OTHER, SliceKind.KERNEL, SliceKind.MEMCPY, SliceKind.OTHER]
    jax = trace.device_work.slice_row.tolist().index(2)
    assert (trace.device_work.device[jax], trace.device_work.stream[jax]) == (1, 118)


def test_an_unknown_category_is_named(tmp_path: Path) -> None:
    trace = read(tmp_path, document([{"ph": "X", "cat": "warp_core", "name": "n", "ts": 5, "dur": 1}]))
    assert codes(trace) == {"unknown_category": 1}
    assert "warp_core" in trace.problems[0].message


def test_each_unknown_category_and_each_repaired_name_is_counted_where_it_first_stands(
    tmp_path: Path,
) -> None:
    rows = [
        b'{"ph": "X", "cat": "%s", "name": "%s", "pid": 1, "tid": 1, "ts": %d, "dur": 1}'
        % (category, name, at)
        for at, (category, name) in enumerate(
            [
                (b"kernel", b"k"),
                (b"warp", rb"a\b"),
                (b"cpu_op", rb"c:\x"),
                (b"core", rb"c:\y"),
                (b"warp", rb"c:\x"),
                (b"", b"n"),
            ]
        )
    ]
    trace = read(tmp_path, b'{"traceEvents": [\n' + b",\n".join(rows) + b"]}")
    found = {problem.code: (problem.count, problem.places) for problem in trace.problems}
    assert found == {
        "unknown_category": (3, ("line 3 column 1", "line 5 column 1")),
        "bad_escape": (2, ("line 4 column 1", "line 5 column 1")),
    }
    kinds = [SliceKind(code) for code in trace.slices.kind.tolist()]
    other = SliceKind.OTHER
    assert kinds == [SliceKind.KERNEL, other, SliceKind.OP, other, other, other]


def test_counters_memory_and_flows(tmp_path: Path) -> None:
    events = [
        {"ph": "C", "name": "GPU", "pid": 1, "ts": 5, "args": {"busy": 3, "idle": "n/a", "rate": 0.5}},
        {"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "pid": 1, "tid": 1, "ts": 7, "s": "t",
         "args": {"Addr": 2**64 - 8, "Bytes": -64, "Total Allocated": 10, "Total Reserved": 20,
                  "Device Type": 1, "Device Id": 0}},
        {"ph": "i", "name": "Iteration Start", "pid": 1, "tid": 1, "ts": 8},
        {"ph": "s", "id": 4, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 9},
        {"ph": "f", "id": 4, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 10, "bp": "e"},
        {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 5, "dur": 1},
    ]  # fmt: skip
    trace = read(tmp_path, document(events))
    series = [trace.strings[text] for text in trace.counters.series_id.tolist()]
    assert list(zip(series, trace.counters.value.tolist(), strict=True)) == [("busy", 3.0), ("rate", 0.5)]
    assert (trace.memory.change_bytes.tolist(), trace.memory.address.tolist()) == ([-64], [-8])
    assert trace.memory.time_ns.tolist() == [2_000]
    assert trace.flows.flow_id.tolist() == [4, 4]
    assert [trace.strings[int(name)] for name in trace.instants.name_id] == ["Iteration Start"]


def test_progress_is_told_and_what_it_raises_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(document())
    seen: list[tuple[int, int]] = []
    read_trace(path, lambda done, of: seen.append((done, of)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)

    def stop(done: int, of: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        read_trace(path, stop)


def test_a_wrong_guess_is_found_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the guess says, the tables are those of the file."""
    data = document(healthy_events() * 30)
    whole = read(tmp_path, data)
    monkeypatch.setattr(reader, "BLOCK_BYTES", 2048)
    guess = find_boundary

    def off_by_a_key(buffer: Any, start: int) -> int:
        found = guess(buffer, start)
        inner = bytes(buffer[found + 1 :]).find(b"{") if found > 0 else -1
        return found + 1 + inner if inner >= 0 else found

    monkeypatch.setattr(reader, "find_boundary", off_by_a_key)
    wrong = read(tmp_path, data)
    assert wrong.problems == ()
    assert np.array_equal(wrong.slices.start_ns, whole.slices.start_ns)
    assert wrong.facts.event_count == whole.facts.event_count


def test_what_an_operator_was_given_is_kept_as_it_stands_there(tmp_path: Path) -> None:
    events = healthy_events()
    events[3]["args"] = {
        "Input Dims": [[2, 3], [3, 4]],
        "Input type": ["float", "float"],
        "Concrete Inputs": ["", "[1, 1]", "True"],
    }
    trace = read(tmp_path, json.dumps({"traceEvents": events}).encode())
    ops = trace.ops
    assert ops.slice_row.tolist() == [0, 1]
    given = [trace.strings[column[0]] for column in (ops.input_dims_id, ops.input_types_id)]
    assert given == ["[[2, 3], [3, 4]]", '["float", "float"]']
    assert trace.strings[ops.concrete_inputs_id[0]] == '["", "[1, 1]", "True"]'
    for column in (ops.input_dims_id, ops.input_types_id, ops.concrete_inputs_id):
        assert column[1] == NO_ROW
