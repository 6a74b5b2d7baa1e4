"""Messages rewritten field by field: what no rule is about stays byte for byte, also what nobody knows.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    Rule = Callable[[bytes], bytes | None]
    """From the content of a field to what shall stand there; None takes the field out."""

_VARINT, _WIDE, _SIZED, _GROUP, _GROUP_END, _NARROW = range(6)
_LONGEST_VARINT: Final = 10
_FIXED: Final = {_WIDE: 8, _NARROW: 4}


class BrokenMessageError(ValueError):
    """The bytes are no message."""


class _Field(NamedTuple):
    """Where a field lies: its number and kind, its begin, its content, its end."""

    number: int
    kind: int
    begin: int
    content: int
    end: int


def rewrite(
    data: bytes,
    rules: Mapping[int, Rule],
    numbers: Mapping[int, int] | None = None,
    *,
    kept: Collection[int] | None = None,
    others: Rule | None = None,
) -> bytes:
    """Returns a message with some of its fields replaced or taken out.

    Args:
        data: The message.
        rules: For fields with a length, by number.
        numbers: What stands in fields that are numbers, by number of the field.
        kept: The only fields that stay, beside those with a rule; all if None.
        others: For fields with a length that have no rule and are not in ``kept``.

    Raises:
        BrokenMessageError: It is no message.
    """
    parts = []
    for field in _fields(data):
        raw = data[field.begin : field.end]
        if field.kind == _VARINT and numbers and field.number in numbers:
            parts.append(varint(field.number << 3) + varint(numbers[field.number]))
            continue
        rule = rules.get(field.number)
        if rule is None and (kept is None or field.number not in kept):
            rule = others
            if kept is not None and (rule is None or field.kind != _SIZED):
                continue
        if field.kind == _SIZED and rule is not None:
            content = data[field.content : field.end]
            new = rule(content)
            if new == content:
                parts.append(raw)
            elif new is not None:
                parts.append(varint(field.number << 3 | _SIZED) + varint(len(new)) + new)
        else:
            parts.append(raw)
    return b"".join(parts)


def _fields(data: bytes) -> Iterator[_Field]:
    at = 0
    while at < len(data):
        begin = at
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        content, end = _content(data, at, number, kind)
        yield _Field(number, kind, begin, content, end)
        at = end


def _content(data: bytes, at: int, number: int, kind: int) -> tuple[int, int]:
    """Returns where the content of a field begins and ends."""
    if kind == _VARINT:
        end = _read_varint(data, at)[1]
    elif kind in _FIXED:
        end = at + _FIXED[kind]
    elif kind == _SIZED:
        length, at = _read_varint(data, at)
        end = at + length
    elif kind == _GROUP:
        end = _group_end(data, at, number)
    else:
        raise BrokenMessageError(f"field {number} of kind {kind} at byte {at:,}")
    if end > len(data):
        raise BrokenMessageError(f"field {number} ends at byte {end:,} of {len(data):,}")
    return at, end


def _group_end(data: bytes, at: int, number: int) -> int:
    """Returns where a group ends; groups within it are counted, not entered by recursion."""
    open_numbers = [number]
    while open_numbers:
        tag, at = _read_varint(data, at)
        inner, kind = tag >> 3, tag & 7
        if kind == _GROUP:
            open_numbers.append(inner)
        elif kind == _GROUP_END:
            if open_numbers.pop() != inner:
                raise BrokenMessageError(f"group {inner} ends at byte {at:,} and is not open")
        else:
            _, at = _content(data, at, inner, kind)
    return at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(_LONGEST_VARINT):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value, at
    raise BrokenMessageError(f"a number does not end at byte {at:,}")


def varint(value: int) -> bytes:
    """Encodes a number."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
