"""Damaged traces: whatever the damage, a trace or a refusal in words; and the cases that damage has found.

A small part of what ``make fuzz`` does in hours.
"""

from __future__ import annotations

import gzip
import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.analyses.index import TraceIndex
from core.analyses.module_tree import MOST_DEPTH
from core.errors import DashboardError
from core.readers.torch_trace.one_by_one import exact_ns
from core.readers.torch_trace.reader import read_trace
from core.readers.torch_trace.tolerant import MOST_BROKEN_BYTES
from tests.fuzz.checks import block_bytes, check_file, kernel_names, require_same
from tests.fuzz.mutations import damaged, wounded_value
from tests.fuzz.seed_traces import plain_traces, seeds

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.trace import Trace

SEEDS = list(seeds().values())
PLAIN = plain_traces()
KERNEL = b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 5'
SAME_FOLDER = [HealthCheck.function_scoped_fixture]


def read(folder: Path, data: bytes) -> Trace:
    path = folder / "t.json"
    path.write_bytes(data)
    trace = check_file(path)
    assert trace is not None
    return trace


def with_event(more: bytes) -> bytes:
    """A trace of two kernels, the second with more keys."""
    return b'{"traceEvents": [' + KERNEL + b"}, " + KERNEL + b", " + more + b"}]}"


def codes(trace: Trace) -> dict[str, int]:
    return {problem.code: problem.count for problem in trace.problems}


@settings(max_examples=200, deadline=None, suppress_health_check=SAME_FOLDER, database=None)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_trace_opens_or_is_refused_in_words(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(damaged(SEEDS, Random(seed)))
    check_file(path, (100 + seed % 900,), analyses=seed % 4 == 0)


@settings(max_examples=150, deadline=None, suppress_health_check=SAME_FOLDER, database=None)
@given(seed=st.integers(0, 2**32))
def test_damage_inside_one_text_loses_no_other_event(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    sound = random.choice(PLAIN)
    data, _ = wounded_value(sound, random)
    path = tmp_path / "case.json"
    path.write_bytes(sound)
    before = kernel_names(read_trace(path))
    path.write_bytes(data)
    lost = set(before) - set(kernel_names(read_trace(path)))
    assert len(lost) <= 1


BEYOND = {
    "exponent of 21 digits": b'"args": {"stream": 1e99999999999999999999}',
    "exponent that would become a billion digits": b'"args": {"stream": 1e999999999}',
    "exponent beyond what decimals hold": b'"args": {"stream": 1e9999999}',
    "exponent far below": b'"args": {"stream": 1e-999999999}',
    "5,000 digits": b'"args": {"stream": ' + b"9" * 5000 + b"}",
    "5,000 digits in a row that is no strict JSON": b'"x": nan, "args": {"stream": ' + b"9" * 5000 + b"}",
    "quoted digits": b'"args": {"stream": "' + b"9" * 5000 + b'"}',
    "occupancy beyond float64": b'"args": {"est. achieved occupancy %": 1e400}',
}


@pytest.mark.parametrize("kind", BEYOND)
def test_a_number_beyond_all_bounds_is_not_available(kind: str, tmp_path: Path) -> None:
    trace = read(tmp_path, with_event(BEYOND[kind]))
    assert trace.device_work.stream.tolist()[0] == 7
    assert len(trace.slices) == 2


@pytest.mark.parametrize(
    "text", ["1e9999999", "1e99999999999999999999", "-1e9999999", "1e-9999999", "9" * 5000]
)
def test_a_time_beyond_all_bounds_is_none_or_nothing(text: str, tmp_path: Path) -> None:
    trace = read(tmp_path, with_event(f'"x": 1, "ts": {text}'.encode()))
    assert len(trace.slices) == 2
    assert trace.slices.start_ns.min() == 0


def test_a_long_decimal_is_rounded_once(tmp_path: Path) -> None:
    """As a product of 28 digits it would be half a nanosecond."""
    assert exact_ns("1750000000000000.00049999999999999999999") == 1_750_000_000_000_000_000


def test_half_a_surrogate_pair_can_be_shown_and_stored(tmp_path: Path) -> None:
    lists = b'"args": {"Input Dims": [\n"\\ud800"]}, "cat": "cpu_op"'
    keys = (
        b'"deviceProperties": [{"id": 0, "name": "H\\ud800"}], "\\udc00": "\\ud800", '
        b'"distributedInfo": {"backend": "\\ud800"}'
    )
    trace = read(tmp_path, with_event(lists)[:-1] + b", " + keys + b"}")
    assert trace.facts.devices[0].name == "H\N{REPLACEMENT CHARACTER}"
    assert trace.facts.backend == "\N{REPLACEMENT CHARACTER}"


def test_a_gzip_file_with_damage_opens_up_to_it(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"ph": "X", "cat": "kernel", "name": f"k{Random(n).random()}", "ts": n, "dur": 1} for n in range(3000)
    ]
    whole = gzip.compress(json.dumps({"traceEvents": events}).encode(), mtime=0)
    wrong_sum = read(tmp_path, whole[:-8] + bytes(8))
    assert len(wrong_sum.slices) == 3000
    assert "gzip_damaged" in codes(wrong_sum)
    half = len(whole) // 2
    damaged_inside = read(tmp_path, whole[:half] + b"\xff" * 40 + whole[half + 40 :])
    assert len(damaged_inside.slices) > 1000


def test_a_gzip_file_damaged_at_its_start_is_not_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    whole = gzip.compress(SEEDS[0], mtime=0)
    path.write_bytes(whole[:10] + b"\xff" * 60 + whole[70:])
    with pytest.raises(DashboardError, match="damaged"):
        read_trace(path)


def test_a_broken_event_before_a_boundary_does_not_end_the_list(tmp_path: Path) -> None:
    """Its own text looks like the end of the list; the next event, in the next part, says that it is not."""
    broken = KERNEL + b', "args": {"a" 1}],"b": [{}], "c": 1}'
    row = KERNEL + b"}"
    data = b'{"traceEvents": [' + b",\n".join([row, row, broken, row, row, row]) + b"]}"
    whole = read(tmp_path, data)
    assert len(whole.slices) == 5
    for size in (64, 100, 200, 256, 300, 400):
        with block_bytes(size):
            require_same(whole, read_trace(tmp_path / "t.json"), str(size))


def test_events_of_no_known_kind_are_told_of(tmp_path: Path) -> None:
    trace = read(tmp_path, with_event(b'"ph": "Q"').replace(b'"ph": "X"', b'"p": 1', 1) + b" ")
    assert codes(trace) == {"unknown_phase": 2}


def test_a_module_whose_frame_ends_before_it_begins_is_no_module(tmp_path: Path) -> None:
    frame = b'"cat": "python_function", "name": "nn.Module: Linear_0", "dur": -5, "pid": 1, "tid": 1'
    assert codes(read(tmp_path, with_event(frame))) == {}


def test_a_trace_whose_only_slice_has_no_name(tmp_path: Path) -> None:
    trace = read(tmp_path, b'[{"ph": "X", "ts": 1, "dur": 1}]')
    assert (len(trace.slices), len(trace.strings)) == (1, 0)


def test_ranks_that_share_a_track_get_one_each(tmp_path: Path) -> None:
    rows = b",".join(KERNEL + b', "args": {"rank": %d}}' % rank for rank in (5, 2, 2, 9, 5))
    tracks = read(tmp_path, b"[" + rows + b"]").slices.track.tolist()
    assert tracks == [1, 0, 0, 2, 1]


def test_a_damaged_second_member_is_no_tail(tmp_path: Path) -> None:
    text = PLAIN[0]
    second = gzip.compress(text[900:], mtime=0)
    trace = read(tmp_path, gzip.compress(text[:900], mtime=0) + second[:30] + b"\xff" * 30 + second[60:])
    assert "gzip_damaged" in codes(trace)
    behind = read(tmp_path, gzip.compress(text, mtime=0) + b"not packed")
    assert codes(behind) == {"bytes_behind_gzip": 1}


def test_a_cut_gzip_file_gives_all_that_it_holds_in_parts_of_any_size(tmp_path: Path) -> None:
    packed = gzip.compress(PLAIN[0] * 3, mtime=0)
    for end in range(100, len(packed), 97):
        trace = tmp_path / "t.json"
        trace.write_bytes(packed[:end])
        check_file(trace, (64, 100), analyses=False)


def test_modules_nested_without_end_are_cut_at_a_depth(tmp_path: Path) -> None:
    count = 3000
    row = b'{"ph": "X", "cat": "python_function", "name": "nn.Module: L_%d", "tid": 1, "ts": %d, "dur": %d}'
    rows = [row % (n, n, 4 * count - 2 * n) for n in range(count)]
    index = TraceIndex(read(tmp_path, b"[" + b",".join(rows) + b"]"))
    assert len(index.modules.names) == MOST_DEPTH
    assert index.modules.node_of_slice[-1] == MOST_DEPTH - 1


def test_a_broken_event_that_is_too_long_to_mend_is_left_out(tmp_path: Path) -> None:
    items = b"1," * (MOST_BROKEN_BYTES // 2)
    assert codes(read(tmp_path, with_event(b'"x": nan, "a": [' + items + b"1]"))) == {"broken_event": 1}
    short = read(tmp_path, with_event(b'"x": nan, "a": [1, 1]'))
    assert codes(short) == {"not_a_number": 1}


FLOW_IDS = [
    "12",
    "-3",
    "0x1f",
    "0XFF",
    "flow-a",
    "",
    "a longer name of an arrow",
    "+5",
    " 7",
    "1_0",
    "0x",
    "9" * 25,
]


@pytest.mark.parametrize("name", FLOW_IDS)
def test_an_arrow_keeps_its_id_when_one_end_is_read_alone(name: str, tmp_path: Path) -> None:
    row = b'{"ph": "s", "ts": 1, "cat": "ac2g", "id": "%s"' % name.encode()
    flows = read(tmp_path, b"[" + KERNEL + b"}," + row + b"}," + row + b', "cat": "ac2g"}]').flows
    assert len(flows) == 2
    assert flows.flow_id[0] == flows.flow_id[1]
