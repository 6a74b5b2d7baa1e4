"""Reading one event of a file again, whatever the file is made of."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from core.errors import DashboardError
from core.readers.torch_trace.event_text import argument_texts, read_event
from core.readers.torch_trace.reader import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVENTS: list[dict[str, Any]] = [
    {"ph": "X", "cat": "cpu_op", "name": f"op {number}", "ts": number + 0.125, "dur": 1, "pid": 1, "tid": 1}
    for number in range(2000)
]
EVENTS[1500]["args"] = {"text": "ä} {", "list": [1.5, [2, "x"]], "none": None, "number": 0.5}


def packed_twice(text: bytes) -> bytes:
    half = len(text) // 2
    return gzip.compress(text[:half]) + gzip.compress(text[half:])


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(lambda text: text, id="plain"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text, id="marked"),
        pytest.param(lambda text: text.decode().encode("utf-16"), id="UTF-16"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(packed_twice, id="two members"),
    ],
)
def test_an_event_is_found_by_its_offset(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "trace"
    path.write_bytes(pack(json.dumps({"traceEvents": EVENTS}, ensure_ascii=False, indent=1).encode()))
    slices = read_trace(path).slices
    for row in (0, 1500, 1999):
        event = read_event(path, int(slices.source_offset[row]))
        assert (event["name"], event["ts"]) == (f"op {row}", Decimal(row) + Decimal("0.125"))
    event = read_event(path, int(slices.source_offset[1500]))
    assert argument_texts(event) == [
        ("text", "ä} {"),
        ("list", '[1.5, [2, "x"]]'),
        ("none", "n/a"),
        ("number", "0.5"),
    ]


def test_an_event_that_breaks_the_rules_is_read_as_it_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    broken = (
        '{"ph": "X", "name": "a "quoted" one", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "args": {"x": nan}}'
    )
    path.write_text(f'{{"traceEvents": [{broken},\n{json.dumps(EVENTS[0])}]}}')
    trace = read_trace(path)
    row = int(trace.slices.start_ns.argmax())
    event = read_event(path, int(trace.slices.source_offset[row]))
    assert event["name"] == 'a "quoted" one'
    assert argument_texts(event) == [("x", "n/a")]


def test_a_file_that_has_changed_or_is_gone_is_said(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("shorter than it was")
    with pytest.raises(DashboardError, match=r"not at its place in trace\.json any more"):
        read_event(path, 5)
    with pytest.raises(DashboardError, match="not at its place"):
        read_event(path, 5000)
    path.unlink()
    with pytest.raises(DashboardError, match=r"trace\.json cannot be read: No such file"):
        read_event(path, 5)


def test_it_can_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": EVENTS}).encode()))

    class GivenUp(Exception):  # noqa: N818
        pass

    def give_up() -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        read_event(path, 100_000, give_up)
