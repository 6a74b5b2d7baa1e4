"""A trace as one file that is mapped into memory: written once, opened in milliseconds.

Layout: magic, length of the header, header (JSON: scalars and where each column
lies), columns at multiples of 64 bytes, magic again. A file that was not
written to its end fails the second magic and counts as not there. Nothing in it
is executed: columns are plain numbers, texts are UTF-8.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import fields
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec
import numpy as np

from core.tables.strings import StringTable
from core.tables.trace import (
    CollectiveTable,
    CounterTable,
    DeviceTable,
    FlowTable,
    InstantTable,
    MemoryTable,
    OpTable,
    Problem,
    SliceTable,
    Trace,
    TraceFacts,
    TrackTable,
)

if TYPE_CHECKING:
    from pathlib import Path

# Raise it when a column is added, dropped or changes its meaning: older files are then read anew.
LAYOUT_VERSION: Final = 2
_MAGIC: Final = b"RIDGELINE-TRACE\n"
_ALIGNMENT: Final = 64
_MOST_HEADER_BYTES: Final = 2**26

_TABLES: Final[dict[str, type[Any]]] = {
    "strings": StringTable,
    "slices": SliceTable,
    "device_work": DeviceTable,
    "ops": OpTable,
    "collectives": CollectiveTable,
    "counters": CounterTable,
    "memory": MemoryTable,
    "flows": FlowTable,
    "instants": InstantTable,
    "tracks": TrackTable,
}


class _Column(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    offset: int


class _Header(msgspec.Struct, frozen=True):
    version: int
    name: str
    facts: TraceFacts
    problems: tuple[Problem, ...]
    columns: dict[str, dict[str, _Column]]


def write_trace(trace: Trace, file: BinaryIO) -> None:
    """Writes a trace to an empty file.

    Raises:
        OSError: It could not be written whole.
    """
    columns: dict[str, dict[str, _Column]] = {}
    arrays: list[np.ndarray[Any, Any]] = []
    offset = 0
    for name in _TABLES:
        table = getattr(trace, name)
        columns[name] = {}
        for field in fields(table):
            array = getattr(table, field.name)
            columns[name][field.name] = _Column(array.dtype.str, array.shape, offset)
            arrays.append(array)
            offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = msgspec.json.encode(_Header(LAYOUT_VERSION, trace.name, trace.facts, trace.problems, columns))
    start = _first_column(len(header))
    file.write(_MAGIC + struct.pack("<Q", len(header)) + header)
    file.write(bytes(start - len(_MAGIC) - 8 - len(header)))
    for array in arrays:
        file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        file.write(bytes(-array.nbytes % _ALIGNMENT))
    file.write(_MAGIC)
    file.flush()


def open_trace(path: Path) -> Trace | None:
    """Opens a stored trace; its columns are read from the file when they are used.

    Returns:
        None if there is no such file, or it is of another version, or not whole.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 2 * len(_MAGIC) + 8:
                return None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    try:
        return _map(mapped)
    except (msgspec.MsgspecError, ValueError, TypeError, struct.error):
        return None


def _map(mapped: mmap.mmap) -> Trace | None:
    (length,) = struct.unpack_from("<Q", mapped, len(_MAGIC))
    sound = mapped[: len(_MAGIC)] == _MAGIC and mapped[-len(_MAGIC) :] == _MAGIC
    if not sound or length > min(_MOST_HEADER_BYTES, len(mapped)):
        return None
    header = msgspec.json.decode(mapped[len(_MAGIC) + 8 : len(_MAGIC) + 8 + length], type=_Header)
    if header.version != LAYOUT_VERSION:
        return None
    start = _first_column(length)
    tables = {
        name: kind(**{key: _column(mapped, start, one) for key, one in header.columns[name].items()})
        for name, kind in _TABLES.items()
    }
    return Trace(name=header.name, facts=header.facts, problems=header.problems, **tables)


def _column(mapped: mmap.mmap, start: int, column: _Column) -> np.ndarray[Any, Any]:
    count = int(np.prod(column.shape, dtype=np.int64))
    array = np.frombuffer(mapped, np.dtype(column.dtype), count, start + column.offset)
    return array.reshape(column.shape)


def _first_column(header_bytes: int) -> int:
    used = len(_MAGIC) + 8 + header_bytes
    return -(-used // _ALIGNMENT) * _ALIGNMENT
