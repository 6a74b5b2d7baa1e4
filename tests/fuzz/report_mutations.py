"""Ways to damage a report or a table of Nsight Compute, all from a seeded generator."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

import zstandard

from tests.fuzz.mutations import (
    cut,
    delete_span,
    double_span,
    flip_bits,
    move_span,
    set_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

_PACKED: Final = b"\x28\xb5\x2f\xfd"
_DOUBLE: Final = re.compile(rb"\x12\x09\x19.{8}", re.DOTALL)
_INTEGER: Final = re.compile(rb"\x12[\x02-\x0b][\x20\x28][\x80-\xff]*[\x00-\x7f]")
_LENGTH: Final = re.compile(rb"[\x0a\x12\x1a\x22\x2a\x32\x3a\x6a\x8a\x9a][\x01-\x7f]")
_DOUBLES: Final = (
    *(0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, 1e60, 1e61, 2.0**53, 2.0**63, 2.0**64, -(2.0**63)),
    *(float("inf"), float("-inf"), float("nan")),
)
_INTEGERS: Final = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1)
_CELL: Final = re.compile(rb'"[^"\n]*"')
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.,eE+-]*")
_CELLS: Final = (
    b'""', b'"n/a"', b'"nan"', b'"(!) n/a"', b'"inf"', b'"-inf"', b'"0"', b'"-1"', b'"1e308"', b'"1e400"',
    b'"1e-400"', b'"1.234.567"', b'"1,234,567"', b'"1,25"', b'"1.25"', b'"18446744073709551616"',
    b'"' + b"9" * 400 + b'"', b'"(1, 1, 1)"', b'"(1, 1)"', b'"(-1, 0, 99999999999999999999)"',
    b'"Kernel Name"', b'"ID"', b'"ns"', b'"Gbyte/s"', b'"us"', b'"%"', b'"=1+1"', b'"\xff\xfe"',
    b'"\xe2\x80\xae"', b'"a""b"', b'"a\nb"', b"plain", b'"open', b'"x" "y"', b'"gpu__time_duration.sum"',
    b'"sm__ops_path_tensor_src_fp8.sum"', b'"' + b"<" * 500 + b'"', b'"' + b"k" * 5000 + b'"',
)  # fmt: skip
_NUMBERS: Final = (
    *b"0 -1 1e308 1e400 nan inf 1e-400 1.2.3 1,2,3 9223372036854775808 18446744073709551616".split(),
    b"9" * 400,
)
_UNITS: Final = (b"us", b"ns", b"second", b"Gbyte/s", b"%", b"inst", b"", b"widget", b"cycle/nsecond")


def damaged(seeds: Sequence[tuple[str, bytes]], random: Random) -> tuple[str, bytes]:
    """Returns the name's end and the content of one of the seeds with one to six changes."""
    name, data = random.choice(seeds)
    suffix = "." + name.rpartition(".")[2]
    packed = data.startswith(_PACKED) and random.random() < 0.5
    if packed:
        data = zstandard.decompress(data)
    ways = _ON_TABLES if suffix == ".csv" else _ON_REPORTS
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        if random.random() < 0.03:
            data = _spliced(data, random.choice(seeds)[1], random)
        else:
            data = random.choice(ways)(data, random)
    return suffix, zstandard.compress(data) if packed else data


def change_double(data: bytes, random: Random) -> bytes:
    """Puts another fraction in the place of a value."""
    match = _found(_DOUBLE, data, random)
    if match is None:
        return data
    return _put(data, match.end() - 8, match.end(), struct.pack("<d", random.choice(_DOUBLES)))


def change_integer(data: bytes, random: Random) -> bytes:
    """Puts another integer in the place of a value, which moves what follows by as many bytes as differ."""
    match = _found(_INTEGER, data, random)
    if match is None:
        return data
    value, parts = random.choice(_INTEGERS), bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    new = bytes([0x12, len(parts) + 1, match[0][2]]) + bytes(parts)
    return _put(data, *match.span(), new)


def change_length(data: bytes, random: Random) -> bytes:
    """Puts another length before a message or text."""
    match = _found(_LENGTH, data, random)
    return data if match is None else _put(data, match.end() - 1, match.end(), bytes([random.randrange(128)]))


def change_cell(data: bytes, random: Random) -> bytes:
    """Puts another cell in the place of one of a table."""
    match = _found(_CELL, data, random)
    return data if match is None else _put(data, *match.span(), random.choice(_CELLS))


def change_number(data: bytes, random: Random) -> bytes:
    """Puts another number in the place of one of a table."""
    match = _found(_NUMBER, data, random)
    return data if match is None else _put(data, *match.span(), random.choice(_NUMBERS))


def change_unit(data: bytes, random: Random) -> bytes:
    """Puts another unit in the place of a cell."""
    match = _found(_CELL, data, random)
    return data if match is None else _put(data, *match.span(), b'"' + random.choice(_UNITS) + b'"')


def change_line(data: bytes, random: Random) -> bytes:
    """Drops, doubles, moves or breaks a line of a table."""
    lines = data.split(b"\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.randrange(4)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines[to:to] = [lines[at]] * random.choice((1, 2, 20))
    elif how == 2:
        lines[at], lines[to] = lines[to], lines[at]
    else:
        lines.insert(to, random.choice((b"==PROF== x", b"==ERROR== y", b"", b"a, b", b'"ID","Kernel Name"')))
    return b"\n".join(lines)


def _put(data: bytes, start: int, end: int, new: bytes) -> bytes:
    return data[:start] + new + data[end:]


def _found(pattern: re.Pattern[bytes], data: bytes, random: Random) -> re.Match[bytes] | None:
    return pattern.search(data, random.randrange(len(data) + 1)) or pattern.search(data)


def _spliced(data: bytes, other: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


_ON_BYTES: Final = (flip_bits, set_bytes, cut, delete_span, double_span, move_span)
_ON_REPORTS: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    *_ON_BYTES,
    *(change_double,) * 5,
    *(change_integer,) * 3,
    *(change_length,) * 3,
)
_ON_TABLES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    *_ON_BYTES,
    *(change_cell,) * 5,
    *(change_number,) * 3,
    *(change_unit,) * 2,
    *(change_line,) * 2,
)
