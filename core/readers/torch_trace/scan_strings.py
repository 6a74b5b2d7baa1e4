"""Texts of a chunk, each once, and the keys that are known: found by their bytes.

Texts are spans of the buffer; nothing is copied or decoded here.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.compiled import compiled_entry, compiled_part
from core.readers.torch_trace.scan_text import load_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int32, Int64, Uint8

KEY_SLOTS: Final = 512

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
FLOW_SECRET: Final = np.array([0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F], np.int64)
"""(2,) int64. The same in every chunk and process: ids of flows are compared between them."""


class Keys(NamedTuple):
    """Known keys, found by a hash that gives each of them a place of its own.

    Attributes:
        places: (512,) int32, number of the key with that hash, -1.
        starts: (k + 1,) int64, where each key begins in ``blob``; the last is its end.
        blob: (bytes,) uint8, the keys one after the other.
        salt: (1,) int64, what was found to separate them.
        codes: (k,) int64, what each key stands for.
        kinds: (k,) int64, how its value is read.
    """

    places: Int32
    starts: Int64
    blob: Uint8
    salt: Int64
    codes: Int64
    kinds: Int64


@compiled_part
def _word(buffer: Uint8, start: int, end: int) -> np.uint64:
    """Returns up to 8 bytes of a span as a word, the missing ones 0."""
    length = end - start
    if length >= 8:
        return load_word(buffer, start)
    if length <= 0:
        return _NOUGHT
    if start + 8 <= len(buffer):
        return load_word(buffer, start) & (_FULL >> np.uint64(64 - 8 * length))
    word = _NOUGHT
    for k in range(length):
        word |= np.uint64(buffer[start + k]) << (_BITS_8 * np.uint64(k))
    return word


@compiled_part
def hash_span(buffer: Uint8, start: int, end: int, secret: Int64) -> np.uint64:
    """Mixes the bytes of a span. Two multiplications a word: the bits that one leaves alone meet the other."""
    first = np.uint64(secret[0])
    second = np.uint64(secret[1])
    value = np.uint64(end - start) * first
    i = start
    while i < end:
        value = (value ^ _word(buffer, i, end)) * first
        value = ((value << _HALF) | (value >> _HALF)) * second
        i += 8
    return value ^ (value >> _HALF)


@compiled_part
def same_bytes(left: Uint8, i: int, right: Uint8, j: int, length: int) -> bool:
    """Whether two spans of one length are equal."""
    k = 0
    while k + 8 <= length:
        if load_word(left, i + k) != load_word(right, j + k):
            return False
        k += 8
    return _word(left, i + k, i + length) == _word(right, j + k, j + length)


@compiled_part
def find_key(buffer: Uint8, start: int, end: int, keys: Keys) -> int:
    """Returns the number of a known key by its span, -1."""
    head = _word(buffer, start, end)
    tail = _word(buffer, max(start, end - 8), end)
    mixed = (head ^ np.uint64(keys.salt[0])) * _FIRST
    mixed = (mixed ^ (tail + np.uint64(end - start))) * _SECOND
    number = np.int64(keys.places[np.int64(mixed >> _KEY_SHIFT)])
    if number < 0:
        return -1
    at = keys.starts[number]
    if keys.starts[number + 1] - at != end - start:
        return -1
    return number if same_bytes(buffer, start, keys.blob, at, end - start) else -1


@compiled_part
def intern(
    buffer: Uint8, start: int, end: int, texts: Int64, places: Int32, secret: Int64, known: int
) -> int:
    """Returns the id of a text; one that is new gets the id ``known``.

    Args:
        buffer: The text of the chunk.
        start: Where the span begins.
        end: Where it ends.
        texts: (3, capacity) int64, begin, end and hash of the known texts; there is room for one more.
        places: (power of two,) int32, ids by hash, -1 where there is none; at most half are taken.
        secret: (2,) int64, multipliers of the hash.
        known: How many texts there are.
    """
    mixed = hash_span(buffer, start, end, secret)
    stamp = np.int64(mixed)
    mask = len(places) - 1
    place = stamp & mask
    while places[place] >= 0:
        found = np.int64(places[place])
        at = texts[0, found]
        same = texts[2, found] == stamp and texts[1, found] - at == end - start
        if same and same_bytes(buffer, start, buffer, at, end - start):
            return found
        place = (place + 1) & mask
    places[place] = known
    texts[0, known] = start
    texts[1, known] = end
    texts[2, known] = stamp
    return known


@compiled_entry
def place_again(texts: Int64, known: int, places: Int32) -> None:
    """Fills an empty, larger table with the known texts."""
    mask = len(places) - 1
    for number in range(known):
        place = texts[2, number] & mask
        while places[place] >= 0:
            place = (place + 1) & mask
        places[place] = number


@compiled_part
def hash_flow(buffer: Uint8, start: int, end: int, secret: Int64) -> int:
    """Returns a number below 2**62 for the text of a flow's id."""
    return np.int64(hash_span(buffer, start, end, secret) & _FLOW_BITS)


def _place(text: bytes, salt: int) -> int:
    """Returns what ``find_key`` computes, without compiling anything."""
    word = (1 << 64) - 1
    head = int.from_bytes(text[:8], "little")
    tail = int.from_bytes(text[-8:], "little")
    mixed = (head ^ salt) * int(_FIRST) & word
    mixed = (mixed ^ (tail + len(text))) * int(_SECOND) & word
    return mixed >> int(_KEY_SHIFT)


def known_keys(entries: Sequence[tuple[str, int, int]]) -> Keys:
    """Builds the table of (key, code, kind); the keys differ."""
    texts = [key.encode() for key, _, _ in entries]
    salt = next(salt for salt in count(1) if len({_place(text, salt) for text in texts}) == len(texts))
    places = np.full(KEY_SLOTS, -1, np.int32)
    for number, text in enumerate(texts):
        places[_place(text, salt)] = number
    blob = np.frombuffer(b"".join(texts), np.uint8)
    return Keys(
        places,
        np.cumsum([0, *(len(text) for text in texts)], dtype=np.int64),
        blob,
        np.array([salt], np.int64),
        np.array([code for _, code, _ in entries], np.int64),
        np.array([kind for _, _, kind in entries], np.int64),
    )
