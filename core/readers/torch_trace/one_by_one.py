"""Events that the compiled scan leaves: metadata rows, counters, and whatever is out of the ordinary."""

from __future__ import annotations

import math
import re
import struct
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from core.readers.torch_trace.raw import (
    ABSENT,
    ARGUMENTS,
    ArgumentKind,
    RawEvents,
    Slot,
    Sparse,
)
from core.readers.torch_trace.scan_strings import text_hash
from core.readers.torch_trace.texts import encode_text, json_text
from core.readers.torch_trace.tolerant import NotReadableError, read_value
from core.tables.columns import MISSING, NO_ROW

if TYPE_CHECKING:
    from core.readers.torch_trace.raw import Oddities

_SLOTS: Final = {name: (slot, kind) for name, slot, kind in ARGUMENTS}
_MOST_NS: Final = 2**62
# What the scan takes for numbers: both ends of an arrow need one id, whoever reads them.
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_HEX: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


class MetadataRow(NamedTuple):
    """One ``M`` event: what it says of a process or a thread. ``process`` and ``thread`` as in the file."""

    process: str | None
    thread: str | None
    what: str
    value: Any


class CounterRow(NamedTuple):
    """One series of one ``C`` event."""

    time_ns: int
    name: str
    series: str
    process: str | None
    thread: str | None
    value: float


class SingleEvents:
    """Collects events that are read one by one; hands them on in the same form as the scan does."""

    def __init__(self, oddities: Oddities) -> None:
        self.metadata: list[MetadataRow] = []
        self.counters: list[CounterRow] = []
        self.event_count = 0
        self._oddities = oddities
        self._columns: dict[str, list[int]] = {
            key: []
            for key in ("phase", "time_ns", "duration_ns", "name", "category", "process", "thread", "offset")
        }
        self._arguments: dict[Slot, dict[int, int]] = {}
        self._texts: dict[bytes, int] = {}

    def add(self, data: bytes, offset: int) -> None:
        """Reads one event; one that makes no sense is counted and skipped."""
        self.event_count += 1
        try:
            event = read_value(data, offset, self._oddities)
        except NotReadableError:
            self._oddities.add("broken_event", offset)
            return
        if not isinstance(event, dict):
            self._oddities.add("null_event", offset)
            return
        self.add_event(event, offset)

    def add_event(self, event: dict[str, Any], offset: int) -> None:
        """Adds one event that is read already; fractions are ``Decimal``."""
        phase = event.get("ph")
        if phase == "M":
            self._add_metadata(event)
            return
        time_ns = exact_ns(event.get("ts"))
        if phase != "C":
            time = MISSING if time_ns is None else time_ns
            self._add_row(event, phase if isinstance(phase, str) else "", time, offset)
        elif time_ns is None:
            self._oddities.add("no_time", offset)
        else:
            self._add_counter(event, time_ns)

    @property
    def kept(self) -> int:
        """How many events became rows."""
        return len(self._columns["phase"])

    def raw_events(self) -> RawEvents:
        """Returns what was collected so far."""
        columns = self._columns
        return RawEvents(
            phase=np.array(columns["phase"], np.uint8),
            time_ns=np.array(columns["time_ns"], np.int64),
            duration_ns=np.array(columns["duration_ns"], np.int64),
            name=np.array(columns["name"], np.int32),
            category=np.array(columns["category"], np.int32),
            process=np.array(columns["process"], np.int32),
            thread=np.array(columns["thread"], np.int32),
            offset=np.array(columns["offset"], np.int64),
            arguments={
                slot: Sparse(np.array(list(found), np.int32), np.array(list(found.values()), np.int64))
                for slot, found in self._arguments.items()
            },
            texts=list(self._texts),
            left=np.empty((0, 2), np.int64),
            null_count=0,
            null_offset=-1,
            stray_commas=np.empty(0, np.int64),
        )

    def _add_metadata(self, event: dict[str, Any]) -> None:
        what = event.get("name")
        arguments = event.get("args")
        if not isinstance(what, str) or not isinstance(arguments, dict):
            return
        value = arguments.get("labels" if what == "process_labels" else "name")
        process, thread = identity(event.get("pid")), identity(event.get("tid"))
        self.metadata.append(MetadataRow(process, thread, what, value))

    def _add_counter(self, event: dict[str, Any], time_ns: int) -> None:
        name = event.get("name")
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            return
        for series, value in arguments.items():
            if isinstance(value, bool) or not (value is None or isinstance(value, int | Decimal)):
                continue
            number = float("nan") if value is None else _number(value)
            self.counters.append(
                CounterRow(
                    time_ns,
                    name if isinstance(name, str) else "",
                    series,
                    identity(event.get("pid")),
                    identity(event.get("tid")),
                    float("nan") if number is None else number,
                )
            )

    def _add_row(self, event: dict[str, Any], phase: str, time_ns: int, offset: int) -> None:
        duration_ns = exact_ns(event.get("dur"))
        row = len(self._columns["phase"])
        code = ord(phase) if len(phase) == 1 and phase.isascii() else ABSENT
        values = {
            "phase": code,
            "time_ns": time_ns,
            "duration_ns": MISSING if duration_ns is None else duration_ns,
            "name": self._text(event.get("name")),
            "category": self._text(event.get("cat")),
            "process": self._text(identity(event.get("pid"))),
            "thread": self._text(identity(event.get("tid"))),
            "offset": offset,
        }
        for key, value in values.items():
            self._columns[key].append(value)
        flow = flow_id(event.get("id"))
        if flow is not None:
            self._arguments.setdefault(Slot.FLOW_ID, {})[row] = flow
        arguments = event.get("args")
        if isinstance(arguments, dict):
            for name, value in arguments.items():
                if name in _SLOTS and value is not None:
                    self._add_argument(row, *_SLOTS[name], value)

    def _add_argument(self, row: int, slot: Slot, kind: ArgumentKind, value: Any) -> None:
        if kind == ArgumentKind.TEXT:
            self._arguments.setdefault(slot, {})[row] = self._text(value)
            return
        if kind == ArgumentKind.TRIPLE:
            parts = value if isinstance(value, list) and len(value) == 3 else []
            integers = [_integer(part) for part in parts]
            for place, integer in enumerate(integers):
                if None not in integers and integer is not None:
                    self._arguments.setdefault(Slot(slot + place), {})[row] = integer
            return
        if kind == ArgumentKind.INTEGER:
            number: int | None = _integer(value)
        else:
            fraction = _number(value)
            number = None if fraction is None else struct.unpack("<q", struct.pack("<d", fraction))[0]
        if number is not None:
            self._arguments.setdefault(slot, {})[row] = number

    def _text(self, value: Any) -> int:
        if value is None:
            return NO_ROW
        raw = encode_text(value if isinstance(value, str) else json_text(value))
        return self._texts.setdefault(raw, len(self._texts))


def identity(value: Any) -> str | None:
    """Returns a ``pid`` or ``tid`` as text: a number and its quoted form name the same thing."""
    if value is None or isinstance(value, str):
        return value
    return json_text(value)


def exact_ns(value: Any) -> int | None:
    """Returns microseconds as whole nanoseconds, exactly; half a nanosecond rounds away from zero.

    None if it is no number, or 2**62 ns (146 years) or more.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = Decimal(value)
        if not number.is_finite() or number.copy_abs() >= _MOST_NS // 1000:
            return None
        sign, digits, exponent = number.as_tuple()
        assert isinstance(exponent, int)
        # A product would be rounded to 28 digits first.
        return int(Decimal((sign, digits, exponent + 3)).to_integral_value(ROUND_HALF_UP))
    except InvalidOperation:
        return None


def flow_id(value: Any) -> int | None:
    """Returns the id that joins two ends of an arrow; a text that is no number gives 62 bits of its hash."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer(value)
    if not isinstance(value, str):
        return None
    if _WHOLE.fullmatch(value):
        number = _integer(value)
        if number is not None:
            return number
    if _HEX.fullmatch(value):
        return _integer(int(value, 16))
    return text_hash(encode_text(value))


def _integer(value: Any) -> int | None:
    """Returns an int64: an integral number, a quoted one, or the bits of an unsigned 64-bit one."""
    if isinstance(value, bool):
        return None
    try:
        number = int(value) if isinstance(value, int | str) else None
        # The bound comes first: an exponent of nine digits would become as many.
        if isinstance(value, Decimal) and value.copy_abs() < 2**64 and value == value.to_integral_value():
            number = int(value)
    except (ValueError, InvalidOperation):
        return None
    if number is None or not -(2**63) < number < 2**64:
        return None
    return number - 2**64 if number >= 2**63 else number


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
