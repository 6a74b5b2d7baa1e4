"""Values by instance of one launch: decoded metric by metric, when asked for, many at a time by NumPy.

A metric may have some hundred thousand of them (one an instruction). Nearly all
are written alike: a key and a value, each one number. Those are decoded as
columns; whatever is written otherwise (texts, fields in another order, broken
ones) goes through the protobuf runtime one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from core.readers.ncu_report.schema import decode, text_of
from core.tables.columns import MISSING, Bool, Float64, Int64, Uint8
from core.tables.ncu import Instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.ncu import Report

_Uint64 = NDArray[np.uint64]

_TIME_SERIES: Final = 1
# Tags of ``Instance`` and of ``Value``: field number << 3 | how it is written.
_KEY, _VALUE = 0x0A, 0x12
_SINGLE, _DOUBLE, _SMALL, _LARGE = 0x15, 0x19, 0x20, 0x28
_LONGEST_VARINT: Final = 10
_PADDING: Final = bytes(16)
_FEW: Final = 32
"""Below it columns cost more than they save."""


class LaunchInstances:
    """The values by instance of one launch; the launch is decoded once, at the first question."""

    def __init__(self, report: Report, launch_row: int) -> None:
        self._report = report
        self._row = launch_row
        self._metrics: dict[str, Any] | None = None

    def __call__(self, metric_row: int) -> Instances:
        """Decodes those of one metric; empty if it has none.

        Args:
            metric_row: Row of ``Report.metrics``, of this launch.
        """
        report = self._report
        stored = None
        if report.metrics.launch_row[metric_row] == self._row and report.metrics.instances[metric_row]:
            if self._metrics is None:
                self._metrics = _metrics_with_instances(report, self._row)
            stored = self._metrics.get(report.metric_names.texts[report.metrics.name_id[metric_row]])
        messages = [] if stored is None else list(stored.instances)
        return _decode(messages, stored is not None and stored.kind == _TIME_SERIES)


def _metrics_with_instances(report: Report, launch_row: int) -> dict[str, Any]:
    """Returns the stored metrics by name, the first that has instances of each."""
    begin = int(report.launches.raw_begin[launch_row])
    if begin == MISSING:
        return {}
    end = begin + int(report.launches.raw_bytes[launch_row])
    result = decode("Result", memoryview(report.raw)[begin:end])
    if result is None:
        return {}
    names = report.raw_names
    found: dict[str, Any] = {}
    for metric in result.metrics:
        if metric.name < len(names) and len(metric.instances):
            found.setdefault(names[metric.name], metric)
    return found


@dataclass(slots=True, eq=False)
class _Numbers:
    """Numbers of one field: what was read, as a float (NaN for none) and exact (0 for a fraction)."""

    number: Float64
    integer: _Uint64
    read: Bool

    @classmethod
    def none(cls, count: int) -> _Numbers:
        return cls(np.full(count, np.nan), np.zeros(count, np.uint64), np.zeros(count, np.bool_))


def _decode(messages: Sequence[bytes], is_time_series: bool) -> Instances:
    key, value, plain = _columns(messages)
    texts = _Texts(len(messages))
    odd = np.flatnonzero(~plain)
    key.integer[odd], value.integer[odd], value.number[odd] = 0, 0, np.nan
    whole = np.ones(len(messages), np.bool_)
    for place in odd.tolist():
        decoded = decode("Instance", messages[place])
        if decoded is None:
            whole[place] = False
            continue
        key.integer[place] = _integer(decoded.key)
        value.integer[place] = _integer(decoded.value)
        value.number[place] = _number(decoded.value)
        texts.add(place, decoded)
    return Instances(
        key=key.integer[whole],
        key_texts=texts.chosen(texts.keys, whole),
        number=value.number[whole],
        integer=value.integer[whole],
        is_time_series=is_time_series,
        texts=texts.chosen(texts.values, whole),
    )


def _columns(messages: Sequence[bytes]) -> tuple[_Numbers, _Numbers, Bool]:
    """Returns keys, values, and which of both were written plainly and read."""
    if len(messages) < _FEW:
        return _Numbers.none(len(messages)), _Numbers.none(len(messages)), np.zeros(len(messages), np.bool_)
    stream = np.frombuffer(b"".join(messages) + _PADDING, np.uint8)
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    ends = np.cumsum(lengths)
    key_begin, key_end, has_key = _enter(stream, ends - lengths, ends, _KEY)
    value_begin, value_end, has_value = _enter(stream, key_end, ends, _VALUE)
    key = _numbers(stream, key_begin, key_end)
    value = _numbers(stream, value_begin, value_end)
    return key, value, has_key & key.read & has_value & value.read & (value_end == ends)


def may_hold_texts(messages: Sequence[bytes]) -> bool:
    """Whether one of the stored instances is more than two numbers, as far as it is cheap to tell."""
    return len(messages) > 0 and not bool(_columns(messages)[2].all())


class _Texts:
    """Keys and values that are texts, by place."""

    def __init__(self, count: int) -> None:
        self.keys: dict[int, str] = {}
        self.values: dict[int, str] = {}
        self._count = count

    def add(self, place: int, instance: Any) -> None:
        for texts, value in ((self.keys, instance.key), (self.values, instance.value)):
            if value.text:
                texts[place] = text_of(value.text)

    def chosen(self, texts: dict[int, str], whole: Bool) -> tuple[str, ...]:
        """Returns a text for each whole instance; empty if there is none at all."""
        return tuple(texts.get(place, "") for place in np.flatnonzero(whole).tolist()) if texts else ()


def _enter(stream: Uint8, begins: Int64, ends: Int64, tag: int) -> tuple[Int64, Int64, Bool]:
    """Returns where the message in a field begins and ends, and whether it is written plainly."""
    length = _at(stream, begins + 1)
    inner_begin = begins + 2
    inner_end = inner_begin + length
    plain = (_at(stream, begins) == tag) & (length < 0x80) & (inner_end <= ends)
    return np.where(plain, inner_begin, 0), np.where(plain, inner_end, 0), plain


def _at(stream: Uint8, places: Int64) -> Int64:
    return stream[np.minimum(places, len(stream) - 1)].astype(np.int64)


def _numbers(stream: Uint8, begins: Int64, ends: Int64) -> _Numbers:
    """Reads values that are one number each, from (n,) places of the stream."""
    tag, length = _at(stream, begins), ends - begins
    found = _Numbers.none(len(begins))
    for kind, size, dtype in ((_DOUBLE, 8, "<f8"), (_SINGLE, 4, "<f4")):
        rows = np.flatnonzero((tag == kind) & (length == size + 1))
        data = stream[begins[rows, None] + np.arange(1, size + 1)]
        found.number[rows] = np.ascontiguousarray(data).view(dtype).ravel()
        found.read[rows] = True
    rows = np.flatnonzero(((tag == _LARGE) | (tag == _SMALL)) & (length > 1))
    integers, stops = _varints(stream, begins[rows] + 1)
    fits = (stops == ends[rows]) & ((tag[rows] == _LARGE) | (integers < 2**32))
    rows, integers = rows[fits], integers[fits]
    found.integer[rows], found.number[rows], found.read[rows] = integers, integers, True
    return found


def _varints(stream: Uint8, places: Int64) -> tuple[_Uint64, Int64]:
    """Reads a varint at each place: the numbers, and where they stop; -1 for one that does not."""
    numbers = np.zeros(len(places), np.uint64)
    stops = np.full(len(places), -1, np.int64)
    open_rows = np.arange(len(places))
    for step in range(_LONGEST_VARINT):
        data = stream[np.minimum(places[open_rows] + step, len(stream) - 1)]
        numbers[open_rows] |= (data & 0x7F).astype(np.uint64) << np.uint64(7 * step)
        ends = data < 0x80
        stops[open_rows[ends]] = places[open_rows[ends]] + step + 1
        open_rows = open_rows[~ends]
        if not len(open_rows):
            break
    return numbers, stops


def _integer(value: Any) -> int:
    return int(value.large or value.small)


def _number(value: Any) -> float:
    field = value.WhichOneof("kind")
    return float("nan") if field in (None, "text") else float(getattr(value, field))
