"""Texts of a chunk, each once, and the keys that are known: found by their bytes.

Texts are spans of the buffer; nothing is copied or decoded here.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.compiled import compiled_entry, compiled_part
from core.readers.torch_trace.scan_text import Text, backslashes, load_word, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int32, Int64, Uint8

KEY_SLOTS: Final = 512
CODE, KIND = 2, 3
"""Places of a key's entry in the table."""

_NOUGHT = np.uint64(0)
_BITS_8 = np.uint64(8)
_FULL = np.uint64(2**64 - 1)
_HALF = np.uint64(32)
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_KEY_SHIFT = np.uint64(64 - 9)
_FLOW_BITS = np.uint64(2**62 - 1)

SECRET: Final = np.frombuffer(os.urandom(16), np.int64) | 1
"""(2,) int64. Multipliers of the table of texts: no file can be made that fills one place of it."""


class Keys(NamedTuple):
    """Known keys, found by a hash that gives each of them a place of its own.

    Attributes:
        table: int64: what was found to separate the keys; 512 places by hash, each the number of a key or -1;
            then four numbers a key: where it lies in ``blob``, its length, its code and its kind.
        blob: The keys one after the other.
    """

    table: Int64
    blob: Text


@compiled_part
def _word(text: Text, start: int, end: int) -> np.uint64:
    """Returns up to 8 bytes of a span as a word, the missing ones 0."""
    length = end - start
    if length >= 8:
        return load_word(text.data, start)
    if length <= 0:
        return _NOUGHT
    if start + 8 <= text.length:
        return load_word(text.data, start) & (_FULL >> np.uint64(64 - 8 * length))
    word = _NOUGHT
    for k in range(length):
        word |= np.uint64(text.data[start + k]) << (_BITS_8 * np.uint64(k))
    return word


@compiled_part
def has_escape(text: Text, start: int, end: int) -> bool:
    """Whether there is a backslash in a span."""
    i = start
    while i < end:
        if backslashes(_word(text, i, end)) != _NOUGHT:
            return True
        i += 8
    return False


@compiled_part
def hash_span(text: Text, start: int, end: int, first: np.uint64, second: np.uint64) -> np.uint64:
    """Mixes the bytes of a span, each word in two steps: the bits that one leaves alone meet the other."""
    value = np.uint64(end - start) * first
    i = start
    while i < end:
        value = (value ^ _word(text, i, end)) * first
        value = ((value << _HALF) | (value >> _HALF)) * second
        i += 8
    return value ^ (value >> _HALF)


@compiled_part
def same_bytes(left: Text, i: int, right: Text, j: int, length: int) -> bool:
    """Whether two spans of one length are equal."""
    k = 0
    while k + 8 <= length:
        if load_word(left.data, i + k) != load_word(right.data, j + k):
            return False
        k += 8
    return bool(_word(left, i + k, i + length) == _word(right, j + k, j + length))


@compiled_part
def find_key(text: Text, start: int, end: int, keys: Keys) -> int:
    """Returns where the known key of a span stands in the table, -1: there ``CODE`` and ``KIND`` follow."""
    head = _word(text, start, end)
    tail = _word(text, max(start, end - 8), end)
    mixed = (head ^ np.uint64(keys.table[0])) * _FIRST
    mixed = (mixed ^ (tail + np.uint64(end - start))) * _SECOND
    number = keys.table[1 + signed(mixed >> _KEY_SHIFT)]
    if number < 0:
        return -1
    entry = 1 + KEY_SLOTS + 4 * number
    if keys.table[entry + 1] != end - start:
        return -1
    return entry if same_bytes(text, start, keys.blob, keys.table[entry], end - start) else -1


class Texts(NamedTuple):
    """The texts of the chunk, pointers into columns.

    Attributes:
        begins: int64, where each text begins.
        ends: int64, where it ends.
        stamps: int64, its hash.
        places: int32, ids by hash, -1 where there is none; at most half are taken.
        mask: One less than the number of places, a power of two.
    """

    begins: Int64
    ends: Int64
    stamps: Int64
    places: Int32
    mask: int


@compiled_part
def intern(  # noqa: PLR0913, PLR0917  (compiled code takes numbers and pointers, no objects)
    text: Text, start: int, end: int, texts: Texts, secret: Int64, known: int
) -> int:
    """Returns the id of a span's text; one that is new gets the id ``known``, for which there is room.

    Args:
        text: The text of the chunk.
        start: Where the span begins.
        end: Where it ends.
        texts: The known texts.
        secret: Two multipliers of the hash.
        known: How many texts there are.
    """
    stamp = signed(hash_span(text, start, end, np.uint64(secret[0]), np.uint64(secret[1])))
    place = stamp & texts.mask
    while texts.places[place] >= 0:
        found = signed(texts.places[place])
        at = texts.begins[found]
        same = texts.stamps[found] == stamp and texts.ends[found] - at == end - start
        if same and same_bytes(text, start, text, at, end - start):
            return found
        place = (place + 1) & texts.mask
    texts.places[place] = known
    texts.begins[known] = start
    texts.ends[known] = end
    texts.stamps[known] = stamp
    return known


@compiled_entry
def place_again(stamps: Int64, places: Int32) -> None:
    """Fills an empty, larger table with the ids of texts by their hashes."""
    mask = len(places) - 1
    for number in range(len(stamps)):
        place = stamps[number] & mask
        while places[place] >= 0:
            place = (place + 1) & mask
        places[place] = number


@compiled_part
def hash_flow(text: Text, start: int, end: int) -> int:
    """Returns a number below 2**62 for the text of a flow's id, the same in every chunk and process."""
    return signed(hash_span(text, start, end, _FIRST, _SECOND) & _FLOW_BITS)


def text_hash(raw: bytes) -> int:
    """Returns what ``hash_flow`` computes of these bytes, without compiling anything."""
    most = (1 << 64) - 1
    value = len(raw) * int(_FIRST) & most
    for i in range(0, len(raw), 8):
        value = (value ^ int.from_bytes(raw[i : i + 8], "little")) * int(_FIRST) & most
        value = ((value << 32 | value >> 32) & most) * int(_SECOND) & most
    return (value ^ value >> 32) & int(_FLOW_BITS)


def _place(text: bytes, salt: int) -> int:
    """Returns what ``find_key`` computes, without compiling anything."""
    word = (1 << 64) - 1
    head = int.from_bytes(text[:8], "little")
    tail = int.from_bytes(text[-8:], "little")
    mixed = (head ^ salt) * int(_FIRST) & word
    mixed = (mixed ^ (tail + len(text))) * int(_SECOND) & word
    return mixed >> int(_KEY_SHIFT)


def known_keys(entries: Sequence[tuple[str, int, int]]) -> tuple[Int64, Uint8]:
    """Returns the table and the blob of ``Keys`` for (key, code, kind); the keys differ."""
    texts = [key.encode() for key, _, _ in entries]
    salt = next(salt for salt in count(1) if len({_place(text, salt) for text in texts}) == len(texts))
    table = [salt, *[-1] * KEY_SLOTS]
    at = 0
    for number, (text, (_, code, kind)) in enumerate(zip(texts, entries, strict=True)):
        table[1 + _place(text, salt)] = number
        table += [at, len(text), code, kind]
        at += len(text)
    return np.array(table, np.int64), np.frombuffer(b"".join(texts), np.uint8)
