"""Following files: torn lines, full disks, replaced files, unknown records."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from core.telemetry.events import CaptureRequest, ControlEvent, Heartbeat, Loss, RankEvent, Step
from core.telemetry.tail import EventTail, LineTail

if TYPE_CHECKING:
    from pathlib import Path


def append(path: Path, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def loss(sequence: int, value: object = 1.5) -> bytes:
    shown = f'"{value}"' if isinstance(value, str) else value
    return (
        b'{"kind":"loss","seq":%d,"t_ns":%d,"step":%d,"value":%s}\n'
        % (sequence, sequence, sequence, str(shown).encode())
    )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.jsonl"


def tail_of(path: Path, **options: int) -> EventTail[RankEvent]:
    return EventTail(path, RankEvent, **options)


@pytest.mark.parametrize("how", ["deleted", "replaced by a folder"])
def test_a_file_that_cannot_be_read_any_more_is_not_waited_for(path: Path, how: str) -> None:
    """Who reads until nothing is left (an attach to a run that is being deleted) comes to an end."""
    append(path, b"line\n" * 100)
    tail = LineTail(path, read_limit_bytes=50)
    assert len(tail.read()) == 10
    assert tail.behind_bytes == 450
    path.unlink()
    if how == "deleted":
        assert tail.read() == []
    else:
        path.mkdir()
        with pytest.raises(OSError, match="directory"):
            tail.read()
    assert tail.behind_bytes == 0


def test_an_absent_file_is_an_empty_one(path: Path) -> None:
    tail = LineTail(path)
    assert tail.read() == []
    append(path, b"one\n")
    assert tail.read() == [b"one"]
    assert tail.read() == []


def test_a_torn_line_waits_for_its_rest(path: Path) -> None:
    tail = LineTail(path)
    append(path, b"one\ntw")
    assert tail.read() == [b"one"]
    append(path, b"o")
    assert tail.read() == []
    append(path, b"\nthree\n")
    assert tail.read() == [b"two", b"three"]


def test_every_cut_of_the_same_bytes_gives_the_same_lines(path: Path) -> None:
    data = b"".join(loss(number) for number in range(1, 6)) + b"\n\xff\xfe\nlast\n"
    for size in range(1, 40):
        path.unlink(missing_ok=True)
        tail, lines = LineTail(path), []
        for start in range(0, len(data), size):
            append(path, data[start : start + size])
            lines += tail.read()
        assert lines == data.split(b"\n")[:-1]


def test_reading_is_bounded_and_says_what_is_left(path: Path) -> None:
    append(path, b"0123456789\n" * 100)
    tail = LineTail(path, read_limit_bytes=64)
    first = tail.read()
    assert len(first) == 5
    assert tail.behind_bytes == 1100 - 64
    lines = first
    while tail.behind_bytes:
        lines += tail.read()
    assert lines == [b"0123456789"] * 100


def test_a_truncated_file_is_read_again(path: Path) -> None:
    tail = LineTail(path)
    append(path, b"one\ntwo\nhal")
    assert tail.read() == [b"one", b"two"]
    path.write_bytes(b"new\n")
    assert tail.read() == [b"new"]
    assert tail.restarts == 1


def test_a_replaced_file_is_read_from_its_start(path: Path) -> None:
    tail = LineTail(path)
    append(path, b"one\n")
    tail.read()
    other = path.with_suffix(".new")
    other.write_bytes(b"a longer first line\nand a second\n")
    os.replace(other, path)
    assert tail.read() == [b"a longer first line", b"and a second"]
    path.unlink()
    assert tail.read() == []


def test_a_line_without_end_takes_no_memory(path: Path) -> None:
    tail = LineTail(path, read_limit_bytes=1000, line_limit_bytes=2500)
    append(path, b"x" * 10_000)
    while True:
        assert tail.read() == []
        assert len(tail._torn) <= 2500
        if not tail.behind_bytes:
            break
    append(path, b"yy\nshort\n" + b"z" * 2501 + b"\nlast\n")
    lines = []
    for _ in range(5):
        lines += tail.read()
    assert lines == [b"short", b"last"]
    assert tail.long_lines == 2


def test_events_are_decoded_and_numbered(path: Path) -> None:
    tail = tail_of(path)
    append(path, loss(1, "nan") + b'{"kind":"step","seq":2,"t_ns":5,"step":0,"micro_steps":1,"new":[1]}\n')
    events = tail.read()
    assert [type(event) for event in events] == [Loss, Step]
    assert isinstance(events[0], Loss)
    assert events[0].value == "nan"
    assert (tail.first_sequence, tail.last_sequence, tail.lost_records) == (1, 2, 0)
    assert tail.problems == {}


def test_a_full_disk_costs_only_the_record_that_was_cut(path: Path) -> None:
    tail = tail_of(path)
    append(path, loss(1) + loss(2)[:30])
    assert len(tail.read()) == 1
    append(path, b"\n" + loss(4))
    assert [event.seq for event in tail.read()] == [4]
    assert tail.problems["broken_line"][0] == 1
    assert tail.problems["lost_records"][0] == 2


def test_unknown_and_unfit_records_are_counted_and_leave_no_gap(path: Path) -> None:
    tail = tail_of(path)
    append(path, loss(1) + b'{"kind":"hologram","seq":2,"t_ns":1}\n{"kind":"hologram","seq":3,"t_ns":1}\n')
    append(path, b'{"kind":"loss","seq":4,"t_ns":1,"step":"three","value":1}\n' + loss(5))
    assert [event.seq for event in tail.read()] == [1, 5]
    assert tail.problems["unknown_event"][0] == 2
    assert "hologram" in tail.problems["unknown_event"][1]
    assert tail.problems["unfit_event"][0] == 1
    assert tail.lost_records == 0


@pytest.mark.parametrize(
    "line",
    [
        b"\x00\x00\x00",
        b'{"kind":"problem","seq":1,"t_ns":1,"message":"caf\xe9"}',
        b"[1, 2]",
        b"nonsense",
        b'{"seq":1}',
        b'{"kind":5,"seq":1,"t_ns":1}',
        b"{" * 5000,
    ],
)
def test_lines_that_are_no_records_are_counted(path: Path, line: bytes) -> None:
    tail = tail_of(path)
    append(path, line + b"\n" + loss(1))
    assert [event.seq for event in tail.read()] == [1]
    assert tail.problems["broken_line"][0] == 1


def test_gaps_and_repeats(path: Path) -> None:
    tail = tail_of(path)
    append(path, loss(3) + loss(4) + loss(9) + loss(9))
    assert len(tail.read()) == 4
    assert tail.lost_records == 2 + 4
    assert tail.problems["repeated_records"][0] == 1
    assert (tail.first_sequence, tail.last_sequence) == (3, 9)


def test_a_restarted_file_is_not_a_gap(path: Path) -> None:
    tail = tail_of(path)
    append(path, loss(1) + loss(2) + loss(3))
    tail.read()
    path.write_bytes(loss(1))
    assert [event.seq for event in tail.read()] == [1]
    assert tail.problems.keys() == {"restarted_file"}
    assert tail.last_sequence == 1


def test_blank_lines_are_no_problem_and_control_records_have_no_number(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    tail: EventTail[ControlEvent] = EventTail(path, ControlEvent)
    append(path, b"\n  \n")
    for name in (b"a", b"b"):
        append(path, b'{"kind":"capture_request","seq":0,"t_ns":1,"request":"%s","what":"trace"}\n' % name)
    events = tail.read()
    assert [event.request for event in events if isinstance(event, CaptureRequest)] == ["a", "b"]
    assert tail.problems == {}
    assert tail.last_sequence is None


def test_two_readers_and_a_writer_lose_nothing(path: Path) -> None:
    early = tail_of(path, read_limit_bytes=300)
    seen = []
    for number in range(1, 2001):
        append(path, b'{"kind":"heartbeat","seq":%d,"t_ns":1,"step":1,"phase":"idle"}\n' % number)
        if number % 7 == 0:
            seen += early.read()
    while early.lines.behind_bytes:
        seen += early.read()
    late = tail_of(path)
    assert [event.seq for event in seen] == [event.seq for event in late.read()] == list(range(1, 2001))
    assert isinstance(seen[0], Heartbeat)
    assert early.lost_records == late.lost_records == 0
