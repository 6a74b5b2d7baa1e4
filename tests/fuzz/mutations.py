"""Ways to damage a trace, all from a seeded generator: one number gives the same damaged file again."""

from __future__ import annotations

import gzip
import re
import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_WORDS: Final = (
    b"0 -0 1 -1 1e308 -1e308 1e-400 1e400 1e9999 1e99999999999999999999 1e999999999 0.0000000000000000000001 "
    b"9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 "
    b"18446744073709551616 4611686018427387903 4611686018427387 4611686018427388 -4611686018427387.904 "
    b"2147483647 2147483648 4294967296 9007199254740993 0.5 1E5 1e+2 01 1. .5 -.5 + - 0x10 1_000 1e 1e+ "
    b"NaN nan -NaN Infinity -Infinity inf -inf N/A null true false None undefined "
    b'"12" "-7" "1e5" "0x1F" "NaN" "1e99999999999" "" {} [] [1,2,3] [1,2] [1,2,3,4] ["1",2,3] [null,1,2] '
    b"1750000000000000 1750000000000000.0005 123456789012345678901234567890 0.1234567890123456789012"
)
NUMBERS: Final = (
    *_WORDS.split(),
    b"9" * 400,
    b"1" + b"0" * 5000,
    b"0." + b"3" * 3000,
    b"1e-" + b"9" * 30,
    b'"' + b"7" * 5000 + b'"',
)
TEXTS: Final = (
    b"", b"\\", b"\\\\", b'"', b'\\"', b"\\u", b"\\ud800", b"\\udc00\\ud800", b"\\ud83d\\ude00", b"\\u0000",
    b"\\x41", b"\\uZZZZ", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\x00", b"\x1f", b"\n", b"\t", b"\r\n",
    b"{", b"}", b"[", b"]", b",", b":", b'"}', b'"]', b"}, {", b'}, {"ph": "X"', b'"}, {"name": "x', b"]}",
    b"[\n1\n]", b"[\n\\ud800]", b'[\n"\\ud800"]', b"{\n}", b"N/A", b"=1+1", b"\xe2\x80\xa8",
    b"\xf0\x9f\x98\x80",
    b"\xef\xbb\xbf", b"ProfilerStep#1", b"ProfilerStep#99999999999999999999", b"[memory]", b"stream 7",
    b"nn.Module: X_0", b"ncclDevKernel_AllReduce", b"[0, 1", b"a" * 3000, b"\\n" * 1500, b"/device:GPU:0",
    "stream \u0663".encode(), "GPU \u0663".encode(), b"GPU 999999999999", b"<b>&amp;",
    b"void f<g<h>>(", b"<" * 500,
)  # fmt: skip
KEYS: Final = (
    b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"bp", b"s", b"correlation",
    b"External id", b"stream", b"device", b"grid", b"block", b"Input Dims", b"Call stack", b"rank", b"bytes",
    b"Bytes", b"Addr", b"Group size", b"In msg nelems", b"Out msg nelems", b"Process Group Ranks", b"dtype",
    b"traceEvents", b"schemaVersion", b"baseTimeNanoseconds", b"deviceProperties", b"distributedInfo", b"",
    b"p\\u0068", b"Total Allocated", b"Device Type", b"graph id", b"Sequence number", b"Fwd thread id",
    b"Collective name", b"Python id", b"Python parent id", b"est. achieved occupancy %", b"Task Type", b"Seq",
)  # fmt: skip
PHASES: Final = (*(bytes([each]) for each in b"XBEMCiIRnstfbeNOD(q0"), b"", b"XX", b"\\", b"\xc3\xa9")

_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_KEY: Final = re.compile(rb'"(?:[^"\\]|\\.)*"\s*:')
_PHASE: Final = re.compile(rb'"ph"\s*:\s*"(.)"')
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_EVENT: Final = re.compile(rb'\{\s*"[^{}]*(?:\{[^{}]*\}[^{}]*)*\}')
_MARKS: Final = b'"\\{}[],:0-9eE. \n\x00\xff'


def damaged(seeds: Sequence[bytes], random: Random) -> bytes:
    """Returns one of the seeds with one to six changes."""
    data = random.choice(seeds)
    packed = data.startswith(b"\x1f\x8b")
    if packed and random.random() < 0.5:
        data, packed = _unpacked(data), False
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        if packed:
            data = random.choice(_ON_BYTES)(data, random)
        elif random.random() < 0.03:
            data = _spliced(data, random.choice(seeds), random)
        else:
            data = random.choice(_ON_TEXT)(data, random)
    end = random.random()
    if end < 0.02:
        data = gzip.compress(data, 1, mtime=0)
        data = random.choice(_ON_BYTES)(data, random) if end < 0.01 else data
    elif end < 0.03:
        data = data.decode("utf-8", "replace").encode("utf-16")
    return data


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return data


def _span(data: bytes, random: Random, most: int = 400) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randrange(most))


def _put(data: bytes, start: int, end: int, new: bytes) -> bytes:
    return data[:start] + new + data[end:]


def _found(pattern: re.Pattern[bytes], data: bytes, random: Random) -> re.Match[bytes] | None:
    """Returns the first match behind a random place, or before it."""
    return pattern.search(data, random.randrange(len(data) + 1)) or pattern.search(data)


def flip_bits(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def set_bytes(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return _put(data, at, at + random.choice((0, 1)), bytes([random.choice(_MARKS)]))


def cut(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] if random.random() < 0.8 else data[at:]


def delete_span(data: bytes, random: Random) -> bytes:
    return _put(data, *_span(data, random, random.choice((2, 8, 400))), b"")


def double_span(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return _put(data, start, start, data[start:end] * random.choice((1, 1, 2, 20)))


def move_span(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    at = random.randrange(len(data) + 1)
    return _put(_put(data, start, end, b""), at, at, data[start:end])


def change_number(data: bytes, random: Random) -> bytes:
    match = _found(_NUMBER, data, random)
    return data if match is None else _put(data, *match.span(), random.choice(NUMBERS))


def change_text(data: bytes, random: Random) -> bytes:
    match = _found(_STRING, data, random)
    if match is None:
        return data
    at = random.randrange(match.start() + 1, match.end())
    end = random.choice((at, at, match.end() - 1))
    return _put(data, at, max(at, end), random.choice(TEXTS))


def change_key(data: bytes, random: Random) -> bytes:
    match = _found(_KEY, data, random)
    key = b'"' + random.choice(KEYS) + b'":'
    return data if match is None else _put(data, *match.span(), key)


def add_key(data: bytes, random: Random) -> bytes:
    match = _found(_KEY, data, random)
    value = random.choice((random.choice(NUMBERS), b'"' + random.choice(TEXTS) + b'"'))
    added = b'"' + random.choice(KEYS) + b'":' + value + b","
    return data if match is None else _put(data, match.start(), match.start(), added)


def change_phase(data: bytes, random: Random) -> bytes:
    match = _found(_PHASE, data, random)
    return data if match is None else _put(data, *match.span(1), random.choice(PHASES))


def change_token(data: bytes, random: Random) -> bytes:
    match = _found(_TOKEN, data, random)
    other = _found(_TOKEN, data, random)
    if match is None or other is None:
        return data
    start, end = match.span()
    how = random.randrange(4)
    if how == 0:
        return _put(data, start, end, b"")
    if how == 1:
        return _put(data, start, start, match[0] + random.choice((b"", b",", b" ")))
    return _put(
        data, start, end, other[0] if how == 2 else random.choice((b'"', b",", b"}", b"]", b"{", b"["))
    )


def change_event(data: bytes, random: Random) -> bytes:
    match = _found(_EVENT, data, random)
    if match is None:
        return data
    new = random.choice(
        (
            b"null",
            b"",
            b"{}",
            b"[]",
            b"12",
            b'"text"',
            match[0] + b"," + match[0],
            match[0] + match[0],
            b"[" + match[0],
        )
    )
    return _put(data, *match.span(), new)


def nest_deeply(data: bytes, random: Random) -> bytes:
    match = _found(_NUMBER, data, random)
    depth = random.choice((30, 61, 62, 63, 64, 65, 200, 3000))
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    closed = depth if random.random() < 0.7 else random.randrange(depth)
    return data if match is None else _put(data, *match.span(), opening * depth + b"1" + closing * closed)


def _spliced(data: bytes, other: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


_ON_BYTES: Final = (flip_bits, set_bytes, cut, delete_span, double_span, move_span)
_ON_TEXT: Final = (
    *_ON_BYTES,
    change_number,
    change_number,
    change_text,
    change_text,
    change_key,
    add_key,
    add_key,
    change_phase,
    change_token,
    change_token,
    change_event,
    nest_deeply,
)


def wounded_value(data: bytes, random: Random) -> tuple[bytes, int]:
    """Damages one text of one event of a sound trace, without a line of another event in it.

    Returns:
        The damaged trace, and where in ``data`` the damage is.
    """
    events = list(_EVENT.finditer(data, data.index(b'"traceEvents"') if b'"traceEvents"' in data else 0))
    event = random.choice(events)
    values = [each for each in re.finditer(rb':\s*"((?:[^"\\]|\\.)*)"', event[0]) if each[1]]
    value = random.choice(values)
    at = event.start() + random.randrange(value.start(1), value.end(1) + 1)
    new = random.choice(
        (*[bytes([byte]) for byte in b'"\\{}[],:\n\x00\xff'], b"\\u12", b"\\ud800", b'\\"', b"\xc3")
    )
    return _put(data, at, at + random.choice((0, 1)) * (at < event.start() + value.end(1)), new), at
