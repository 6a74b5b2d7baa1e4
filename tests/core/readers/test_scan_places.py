"""Exact times, what is left to be read alone, and where the scan stops, by hand-written text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.readers.torch_trace.raw import Slot
from core.readers.torch_trace.scan import Reason, ScanResult, find_boundary, scan_chunk, skip_value
from core.tables.columns import MISSING

if TYPE_CHECKING:
    from core.readers.torch_trace.raw import RawEvents

SOUND = b'{"ph":"X","name":"sound","ts":1,"dur":2}'


def scan(text: bytes, begin: int = 0, end: int | None = None, last: bool = True, base: int = 0) -> ScanResult:
    buffer = np.frombuffer(text, np.uint8)
    return scan_chunk(buffer, begin, len(text) if end is None else end, base, last)


def names(events: RawEvents) -> list[bytes]:
    return [events.texts[row] for row in events.name]


@pytest.mark.parametrize(
    ("written", "time_ns"),
    [
        ("0", 0),
        ("12", 12_000),
        ("-0.0005", -1),
        ("0.0005", 1),
        ("0.00049999999999999999999999", 0),
        ("-0.0004", 0),
        ("1.5e3", 1_500_000),
        ("1E-3", 1),
        ("1695835928123456.789", 1_695_835_928_123_456_789),
        ("1695835928123456.7894", 1_695_835_928_123_456_789),
        ("1695835928123456.7895", 1_695_835_928_123_456_790),
        ("-1695835928123456.7895000", -1_695_835_928_123_456_790),
        ('"123.456"', 123_456),
        ("4611686018427387.9034", 2**62 - 1),
        ("-4611686018427387.903", -(2**62) + 1),
        ("0.000000000000000000000000000001", 0),
        ("0e99999999999", 0),
    ],
)
def test_a_time_is_read_from_its_digits(written: str, time_ns: int) -> None:
    events = scan(f'{{"ts":{written},"dur":{written}}}]'.encode()).events
    assert events.time_ns.tolist() == events.duration_ns.tolist() == [time_ns]


def test_a_time_that_is_not_there_is_missing() -> None:
    events = scan(b'{"ph":"X"}]').events
    assert (events.time_ns[0], events.duration_ns[0]) == (MISSING, MISSING)


@pytest.mark.parametrize(
    "broken",
    [
        '{"ph":"M","name":"process_name"}',
        '{"ph":"C","name":"memory","ts":1}',
        '{"ph":"Xx"}',
        '{"ph":""}',
        '{"ph":7}',
        '{"ts":null}',
        '{"ts":NaN}',
        '{"ts":"NaN"}',
        '{"ts":4611686018427387.904}',
        '{"ts":-4611686018427387.9036}',
        '{"ts":1e99999999999}',
        '{"dur":[1]}',
        '{"dur":inf}',
        '{"dur":01}',
        '{"dur":1.}',
        '{"dur":.5}',
        '{"args":{"stream":7.5}}',
        '{"args":{"stream":"0x7"}}',
        '{"args":{"stream":true}}',
        '{"args":{"Addr":18446744073709551616}}',
        '{"args":{"Addr":-9223372036854775809}}',
        '{"args":{"grid":[1,2]}}',
        '{"args":{"grid":[1,2,3,4]}}',
        '{"args":{"grid":"1, 1, 1"}}',
        '{"args":{"block":[1,"2",3]}}',
        '{"args":{"est. achieved occupancy %":0.12345678901234567}}',
        '{"args":{"memory bandwidth (GB/s)":inf}}',
        '{"args":{"x":N/A}}',
        '{"args":[1]}',
        '{"name":"a","name":"b"}',
        '{"na\\u006de":"a"}',
        '{"name":"a" "ph":"X"}',
        '{"name" "a"}',
        '{"name":"a",}',
        '{name:"a"}',
        '{"name":"the "main" loop"}',
        '{"name":"the "main loop"}',
        '{"name":"C:\\users\\"}',
        '{"name":"C:\\users\\","args":{"a":1}}',
        '{"name":tru}',
        '{"args":{"a":[1}}',
        '{"args":{"a":1}',
        '{"args":{"a":' + "[" * 70 + "]" * 70 + "}}",
    ],
)
@pytest.mark.parametrize("space", ["", "\n  "])
def test_a_broken_event_is_left_and_its_neighbours_are_read(broken: str, space: str) -> None:
    between = f"{space},{space}".encode()
    text = SOUND + between + broken.encode() + between + SOUND + space.encode() + b"]"
    result = scan(text, base=1000)
    begin = 1000 + len(SOUND) + len(between)
    assert result.events.left.tolist() == [[begin, begin + len(broken)]]
    assert names(result.events) == [b"sound", b"sound"]
    assert result.events.offset.tolist() == [1000, begin + len(broken) + len(between)]
    assert (result.reason, result.stopped) == (Reason.CLOSED, len(text))


@pytest.mark.parametrize("tail", [b"]", b'],"deviceProperties":[{"id":0},{"id":1}]}', b"\n]\n}\n"])
def test_a_broken_last_event_ends_with_the_array(tail: bytes) -> None:
    text = SOUND + b',{"name":"odd " quote"}' + tail
    result = scan(text)
    assert names(result.events) == [b"sound"]
    assert result.events.left.tolist() == [[len(SOUND) + 1, len(text) - len(tail)]]
    assert result.reason == Reason.CLOSED


def test_bytes_inside_strings_are_not_judged() -> None:
    name = b'\x01\t\n\xff\xfe \\x \\u12 \\" {}[],:'
    events = scan(b'{"ph":"X","name":"' + name + b'"}]').events
    assert names(events) == [name]


def test_arguments_are_found_by_slot() -> None:
    text = (
        b'{"args":{"stream":"7","Addr":18446744073709551615,"device":null,"unknown":{"stream":9}},"id":"0xff"},'
        b'{"args":{"External id":5,"external id":6,"grid":[1, 2,3],"Input Dims":[[2, 3], []],'
        b'"dtype":"Half"}},'
        b'{"args":{"stream":7.0,"est. achieved occupancy %":12.5,"Input Dims":null,"stream":8}, "id":12},'
        b'{"args":{"stream":7,"device":1,"stream":null}}]'
    )
    events = scan(text).events
    found = {
        slot: dict(zip(sparse.rows.tolist(), sparse.values.tolist(), strict=True))
        for slot, sparse in events.arguments.items()
    }
    assert found.pop(Slot.STREAM) == {0: 7, 2: 8}
    assert found.pop(Slot.ADDRESS) == {0: -1}
    assert found.pop(Slot.DEVICE) == {3: 1}
    assert found.pop(Slot.FLOW_ID) == {0: 255, 2: 12}
    assert found.pop(Slot.EXTERNAL_ID) == {1: 6}
    assert [found.pop(slot) for slot in (Slot.GRID, Slot.GRID_Y, Slot.GRID_Z)] == [{1: 1}, {1: 2}, {1: 3}]
    assert events.texts[found.pop(Slot.INPUT_DIMS)[1]] == b"[[2, 3], []]"
    assert events.texts[found.pop(Slot.COLLECTIVE_DTYPE)[1]] == b"Half"
    assert found.pop(Slot.OCCUPANCY) == {2: int(np.float64(12.5).view(np.int64))}
    assert found == {}


def test_a_text_id_of_a_flow_is_the_same_number_everywhere() -> None:
    one = scan(b'{"ph":"s","id":"flow one"},{"ph":"f","id":"flow one"},{"ph":"f","id":"flow two"}]').events
    other = scan(b'{"id":"flow one"}]').events
    first, second, third = one.arguments[Slot.FLOW_ID].values.tolist()
    assert first == second == other.arguments[Slot.FLOW_ID].values[0]
    assert first != third
    assert 0 <= first < 2**62


def test_each_text_is_kept_once() -> None:
    rows = b",".join(
        b'{"name":"n%d","cat":"kernel","pid":%d,"tid":"%d"}' % (k, k % 7, k % 7) for k in range(3000)
    )
    events = scan(rows + b"]").events
    assert len(set(events.texts)) == len(events.texts) == 3000 + 1 + 7
    assert names(events) == [b"n%d" % k for k in range(3000)]
    assert np.array_equal(events.process, events.thread)


def test_elements_that_are_no_events_are_counted() -> None:
    text = b"[" + SOUND + b',null, 12 ,"text",[{"a":1}],NaN,' + SOUND + b"]"
    result = scan(text, begin=1)
    assert len(result.events) == 2
    assert (result.events.null_count, result.events.null_offset) == (5, text.index(b"null"))


def test_commas_that_separate_nothing_are_told() -> None:
    text = b"[ ," + SOUND + b",," + SOUND + b" , ]"
    result = scan(text, begin=1, base=100)
    assert result.events.stray_commas.tolist() == [102, 100 + text.index(b",,") + 1, 100 + len(text) - 3]
    assert len(result.events) == 2


def test_many_odd_things_need_more_room_than_was_expected() -> None:
    events = scan(b"{}," * 5000 + b"," * 5000 + b'{"ph":"M"},' * 5000 + b"{}]").events
    assert (len(events), len(events.left), len(events.stray_commas)) == (5001, 5000, 5000)


def test_it_stops_at_the_first_event_behind_its_end() -> None:
    text = b"[" + SOUND + b" , " + SOUND + b"," + SOUND + b"]"
    second = text.index(b"{", 2)
    for end in range(2, second + 1):
        result = scan(text, begin=1, end=end)
        assert (result.reason, result.stopped, len(result.events)) == (Reason.END, second, 1)
    result = scan(text, begin=second, end=second + 1)
    assert (result.reason, result.stopped) == (Reason.END, text.index(b"{", second + 1))


def test_every_cut_of_a_buffer_goes_on_where_it_stopped() -> None:
    text = b"[" + SOUND + b' ,\n null,{"args":{"a":[{"id":1},{"id":2}]}} ,{"ph":"M"}, ' + SOUND + b" ]"
    whole = scan(text, begin=1)
    assert len(whole.events) == 3
    for cut in range(1, len(text)):
        first = scan(text[:cut], begin=1, last=False)
        assert first.reason in (Reason.END, Reason.INCOMPLETE)
        second = scan(text[first.stopped :], base=first.stopped)
        assert second.reason == Reason.CLOSED
        offsets = [*first.events.offset.tolist(), *second.events.offset.tolist()]
        assert offsets == whole.events.offset.tolist()
        assert len(first.events.left) + len(second.events.left) == 1
        assert first.events.null_count + second.events.null_count == 1
        assert len(first.events.stray_commas) + len(second.events.stray_commas) == 0


def test_a_text_that_ends_early_gives_what_is_whole() -> None:
    result = scan(b"[" + SOUND + b"," + SOUND[:20], begin=1)
    assert (result.reason, result.stopped, len(result.events)) == (Reason.INCOMPLETE, len(SOUND) + 2, 1)
    result = scan(b"[" + SOUND + b",", begin=1)
    assert (result.reason, result.stopped, len(result.events)) == (Reason.END, len(SOUND) + 2, 1)


def test_a_broken_event_waits_for_more_text() -> None:
    text = b'{"name":"odd " quote","ts":1'
    result = scan(text, last=False)
    assert (result.reason, result.stopped, len(result.events.left)) == (Reason.INCOMPLETE, 0, 0)


@pytest.mark.parametrize(
    "unit", [b'{"a":NaN},', b'{"a":{NaN},', b'{"ph":{NaN},', b'{"ph":"x" "},', b"[[[[{,"]
)
def test_much_broken_text_ends(unit: bytes) -> None:
    text = unit * 20_000 + SOUND + b"]"
    result = scan(text)
    assert result.stopped == len(text)


PIECES = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'{}[],:" \\0-.eENnx\x00\xff'),
        b'"ph":"X"',
        b'"ts":1',
        b'"args":{',
        b"},{",
        SOUND,
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=30), st.booleans(), st.data())
def test_whatever_stands_there_is_read_in_order_and_once(
    pieces: list[bytes], last: bool, data: st.DataObject
) -> None:
    text = b"".join(pieces)
    end = data.draw(st.integers(0, len(text)))
    result = scan(text, end=end, last=last)
    assert 0 <= result.stopped <= len(text)
    spans = [(offset, offset + 2) for offset in result.events.offset.tolist()]
    spans = sorted([*spans, *map(tuple, result.events.left.tolist())])
    for (_, behind), (begin, _) in pairwise(spans):
        assert behind <= begin
    assert all(text[begin : begin + 1] == b"{" and begin < end for begin, _ in spans)
    assert all(behind <= result.stopped for _, behind in spans)


@pytest.mark.parametrize("key", ["ph", "cat", "name", "ts", "pid", "tid", "args", "dur", "id", "s", "bp"])
def test_a_boundary_is_behind_an_event_and_before_a_usual_key(key: str) -> None:
    text = f'[{{"{key}":1}} ,\n {{ "{key}":1}}]'.encode()
    second = text.index(b"{", 2)
    buffer = np.frombuffer(text, np.uint8)
    assert find_boundary(buffer, 0) == second
    assert find_boundary(buffer, second) == -1


def test_no_boundary_is_seen_in_other_objects() -> None:
    buffer = np.frombuffer(b'[{"color":1},{"colour":2},[{"ph":"X"}],{"ph', np.uint8)
    assert find_boundary(buffer, 0) == -1


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('"a\\"b" ', 6),
        (' {"a":[1,{"b":"}"}]},', 20),
        ("[],", 2),
        ("12.5,", 4),
        ("null}", 4),
        ("NaN]", 3),
        ('{"a":inf}', 9),
        ("12.5", -1),
        ('"abc', -1),
        ('{"a":1', -1),
        ("", -1),
    ],
)
def test_a_value_is_skipped_by_its_brackets_and_quotes(text: str, end: int) -> None:
    assert skip_value(np.frombuffer(text.encode(), np.uint8), 0) == end
