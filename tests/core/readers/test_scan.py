"""The scan against json and decimal, event by event; what it leaves; where it stops."""

from __future__ import annotations

import gzip
import json
import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.readers.torch_trace.raw import ABSENT, ARGUMENTS, ArgumentKind, RawEvents, Slot
from core.readers.torch_trace.scan import Reason, ScanResult, scan_chunk
from core.tables.columns import MISSING, NO_ROW

TRACES = Path(__file__).parents[4] / "shared" / "data" / "traces"
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
KNOWN = {key: (slot, kind) for key, slot, kind in ARGUMENTS}
Row = dict[str, Any]


class Number(str):
    """A number as it is written."""

    __slots__ = ()


class LeaveError(Exception):
    """The event is one that the scan is to leave."""


class Pairs(list[tuple[str, Any]]):
    """An object with its keys in order, also those that come twice."""


DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=Pairs
)


def scan(text: bytes, begin: int = 0, end: int | None = None, last: bool = True, base: int = 0) -> ScanResult:
    buffer = np.frombuffer(text, np.uint8)
    return scan_chunk(buffer, begin, len(text) if end is None else end, base, last)


def nanoseconds(text: str) -> int:
    """Reads microseconds as the issue defines it: decimals, half a ns away from zero."""
    if not NUMBER.fullmatch(text):
        raise LeaveError
    with localcontext(prec=800):
        value = int((Decimal(text) * 1000).quantize(Decimal(1), ROUND_HALF_UP))
    if abs(value) >= 2**62:
        raise LeaveError
    return value


def integer(value: Any) -> int:
    if not isinstance(value, str) or (
        isinstance(value, Number) and value in ("NaN", "Infinity", "-Infinity")
    ):
        raise LeaveError
    if isinstance(value, Number):
        number = Decimal(value)
        if number != number.to_integral_value():
            raise LeaveError
        whole = int(number)
    else:
        digits = value.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or (len(digits) > 1 and digits[0] == "0"):
            raise LeaveError
        whole = int(value)
    if not -(2**63) <= whole < 2**64:
        raise LeaveError
    return whole - 2**64 if whole >= 2**63 else whole


def is_simple(text: str) -> bool:
    """Whether 53 bits and one exact power of ten give the float64."""
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    return int("".join(map(str, digits))) <= 2**53 and abs(exponent) <= 22


def argument(value: Any, kind: ArgumentKind, source: str) -> Any:
    if kind == ArgumentKind.INTEGER:
        return integer(value)
    if kind == ArgumentKind.NUMBER:
        if not isinstance(value, Number) or not is_simple(value):
            raise LeaveError
        return int(np.float64(float(value)).view(np.int64))
    if kind == ArgumentKind.TEXT:
        return source.encode()
    if not isinstance(value, list) or len(value) != 3:
        raise LeaveError
    if not all(isinstance(part, Number) for part in value):
        raise LeaveError
    return [integer(part) for part in value]


def members(text: str, at: int) -> list[tuple[str, Any, str]]:
    """Returns key, value and the value's own text (a string's between its quotes) of the object at ``at``."""
    found: list[tuple[str, Any, str]] = []
    at += 1
    while True:
        while text[at] in " \n\r\t,":
            at += 1
        if text[at] == "}":
            return found
        key_at = at
        key, at = DECODER.raw_decode(text, at)
        if "\\" in text[key_at:at]:
            raise LeaveError
        while text[at] in " \n\r\t:":
            at += 1
        value, end = DECODER.raw_decode(text, at)
        source = text[at:end]
        if source[0] == '"':
            source = source[1:-1]
        elif source[0] == "{" and key == "args":
            value = members(text, at)
        found.append((key, value, source))
        at = end


def phase(value: Any) -> int:
    if not isinstance(value, str) or isinstance(value, Number) or len(value) != 1 or value in "MC":
        raise LeaveError
    return ord(value)


def read_one(text: str, at: int) -> Row:
    """Returns what the scan should find for the event at ``at``."""
    row: Row = {"phase": ABSENT, "time": MISSING, "duration": MISSING, "values": {}}
    row.update(dict.fromkeys(("name", "cat", "pid", "tid")))
    own = members(text, at)
    names = [
        key for key, _, _ in own if key in ("ph", "ts", "dur", "id", "args", "name", "cat", "pid", "tid")
    ]
    if len(set(names)) < len(names):
        raise LeaveError
    for key, value, source in own:
        if key in ("ts", "dur"):
            if not isinstance(value, str):
                raise LeaveError
            row["time" if key == "ts" else "duration"] = nanoseconds(value)
        elif value is None:
            continue
        elif key == "ph":
            row["phase"] = phase(value)
        elif key in row:
            row[key] = source.encode()
        elif key == "id":
            row["values"][Slot.FLOW_ID] = int(value, 16) if value[:2] == "0x" else integer(value)
        elif key == "args":
            read_arguments(value, row)
    return row


def read_arguments(value: Any, row: Row) -> None:
    if isinstance(value, str) or not all(isinstance(part, tuple) and len(part) == 3 for part in value):
        raise LeaveError
    for key, part, source in value:
        if key not in KNOWN:
            continue
        slot, kind = KNOWN[key]
        slots = [Slot(slot + k) for k in range(3)] if kind == ArgumentKind.TRIPLE else [slot]
        for each in slots:
            row["values"].pop(each, None)
        if part is not None:
            read = argument(part, kind, source)
            row["values"].update(zip(slots, read if isinstance(read, list) else [read], strict=True))


def expected(text: str) -> tuple[dict[int, Row], list[list[int]]]:
    """Returns the events by offset (of characters: ASCII) and the spans of those to be left."""
    rows: dict[int, Row] = {}
    left: list[list[int]] = []
    at = text.index("[") + 1
    while True:
        while text[at] in " \n\r\t,":
            at += 1
        if text[at] == "]":
            return rows, left
        _, end = DECODER.raw_decode(text, at)
        if text[at] == "{":
            try:
                rows[at] = read_one(text, at)
            except LeaveError:
                left.append([at, end])
        at = end


def found_rows(events: RawEvents) -> dict[int, Row]:
    """Returns the scan's columns in the same form."""

    def text(column: Any, k: int) -> bytes | None:
        return None if column[k] == NO_ROW else events.texts[column[k]]

    rows: dict[int, Row] = {}
    offsets = events.offset.tolist()
    for k, offset in enumerate(offsets):
        rows[offset] = {
            "phase": int(events.phase[k]),
            "time": int(events.time_ns[k]),
            "duration": int(events.duration_ns[k]),
            "name": text(events.name, k),
            "cat": text(events.category, k),
            "pid": text(events.process, k),
            "tid": text(events.thread, k),
            "values": {},
        }
    kinds = dict(KNOWN.values())
    for slot, sparse in events.arguments.items():
        assert np.all(np.diff(sparse.rows) > 0)
        is_text = kinds.get(slot) == ArgumentKind.TEXT
        for k, value in zip(sparse.rows.tolist(), sparse.values.tolist(), strict=True):
            rows[offsets[k]]["values"][slot] = events.texts[value] if is_text else value
    return rows


def scan_pieces(text: bytes, begin: int, size: int) -> tuple[dict[int, Row], list[list[int]]]:
    """Reads in buffers that grow by ``size`` bytes, as a reader of a stream does."""
    rows: dict[int, Row] = {}
    left: list[list[int]] = []
    at, length = begin, begin + size
    while True:
        length = min(length, len(text))
        result = scan(text[at:length], base=at, last=length == len(text))
        rows.update(found_rows(result.events))
        left += result.events.left.tolist()
        at += result.stopped
        if result.reason == Reason.CLOSED or length == len(text):
            return rows, left
        length += size


WORDS = st.text(st.sampled_from('ab {}[],:\\"/\u00e9\n'), max_size=20)
INTEGERS = st.one_of(st.integers(-(2**64), 2**65), st.integers(-3, 300))
DECIMALS = st.decimals(-(10**17), 10**17, allow_nan=False, places=5)
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(allow_nan=False, allow_infinity=False), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)
ARGUMENT_VALUES = st.one_of(
    ANY, INTEGERS, INTEGERS.map(str), st.lists(st.integers(-5, 70_000), min_size=3, max_size=3), st.just(7.0)
)
ARGS = st.dictionaries(
    st.one_of(st.sampled_from(sorted(KNOWN)), WORDS.map(lambda word: "x" + word)), ARGUMENT_VALUES
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from(["X", "X", "B", "i", "s", "M", "C", "", "XX", None]),
        "cat": st.one_of(WORDS, st.none()),
        "name": st.one_of(WORDS, WORDS, ANY),
        "pid": st.one_of(st.integers(0, 9), WORDS),
        "tid": st.one_of(st.integers(0, 9), WORDS),
        "ts": st.one_of(DECIMALS, DECIMALS.map(str), st.integers(-(10**19), 10**19), st.none()),
        "dur": st.one_of(DECIMALS, st.floats(0, 1e9), st.just("NaN ")),
        "id": st.one_of(
            INTEGERS, st.integers(-(2**63), 2**64 - 1).map(str), st.integers(0, 2**63 - 1).map(hex)
        ),
        "args": st.one_of(ARGS, ARGS, st.none()),
        "s": st.just("t"),
        "other": ANY,
    },
)


def write(value: Any, space: str) -> str:
    """Returns JSON; a Decimal becomes a number, and ``space`` stands wherever it may."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        inner = [f"{json.dumps(key)}{space}:{space}{write(part, space)}" for key, part in value.items()]
        return "{" + space + f"{space},{space}".join(inner) + space + "}"
    if isinstance(value, list):
        return "[" + space + f"{space},{space}".join(write(part, space) for part in value) + space + "]"
    return json.dumps(value)


@settings(max_examples=400, deadline=None)
@given(st.lists(EVENTS, max_size=5), st.sampled_from(["", " ", "\n  "]))
def test_finds_what_json_and_decimal_find(events: list[dict[str, Any]], space: str) -> None:
    text = write(events, space)
    rows, left = expected(text)
    result = scan(text.encode(), begin=1, base=0)
    assert found_rows(result.events) == rows
    assert result.events.left.tolist() == left
    assert (result.reason, result.stopped) == (Reason.CLOSED, len(text))


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=4), st.integers(1, 40))
def test_in_pieces_it_finds_the_same(events: list[dict[str, Any]], size: int) -> None:
    text = write(events, " ")
    assert scan_pieces(text.encode(), 1, size) == expected(text)


def sample(name: str) -> bytes:
    path = TRACES / name
    if not path.is_file():
        pytest.skip("the handed traces are not on this machine")
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


@pytest.mark.parametrize(
    "name",
    [
        *(
            "a100_alexnet",
            "a100_cupti_counters",
            "a100_nccl_args",
            "a100_triton",
            "b200_vllm_tp8",
            "cpu_only",
        ),
        *(
            "ddp_rank0",
            "ddp_rank1",
            "diff_after_v100",
            "diff_before_a100",
            "h100_owlv2_large",
            "h100_qwen_0.5b",
        ),
        *("mi210_gpu_only", "mi250_minitoy", "mi300_bert_small", "mi300_sglang_graph_decode"),
        *(
            "mi300_torch_compile_triton",
            "mi300_vllm_piecewise_graph",
            "ns_resolution",
            "torch2.13_cpu_all_flags",
        ),
    ],
)
def test_public_traces_read_as_json_reads_them(name: str) -> None:
    data = sample(name + (".json" if name.startswith("torch2") else ".json.gz"))
    begin = data.index(b"[", data.index(b'"traceEvents"')) + 1
    length = 4_000_000
    end = min(len(data), begin + length)
    result = scan(data, begin, end)
    text = data[: result.stopped].decode("ascii", "replace")
    if result.reason == Reason.END:
        text += "]"
    rows, left = expected(text[begin - 1 :])
    shifted = {at + begin - 1: row for at, row in rows.items()}
    assert found_rows(result.events) == shifted
    assert (result.events.left - (begin - 1)).tolist() == left
    assert len(rows) > 5
