"""Slices that are written as two events, a begin (``B``) and an end (``E``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.tables.columns import MISSING

if TYPE_CHECKING:
    from core.readers.torch_trace.raw import Oddities
    from core.tables.columns import Bool, Int32, Int64, Uint8

_BEGIN: Final = ord("B")
_END: Final = ord("E")
_MOST_NS: Final = 2**62


class EventColumns(NamedTuple):
    """The columns of all slices, begins and ends. Each (n,)."""

    phase: Uint8
    time_ns: Int64
    duration_ns: Int64
    track: Int32
    offset: Int64


def pair_begins(events: EventColumns, oddities: Oddities) -> Bool | None:
    """Writes the durations of begins into ``events.duration_ns`` and returns the rows that stay.

    An end closes the last open begin of its track. A begin without end stays,
    with no duration; an end without begin is dropped; both are counted.

    Source: "Duration Events" of the Trace Event Format.

    Returns:
        (n,) bool, False for the ends; None if there are no such events.
    """
    phase, time_ns, duration_ns, track, offset = events
    rows = np.flatnonzero(phase != ord("X"))
    if not len(rows):
        return None
    ordered = rows[np.argsort(time_ns[rows], kind="stable")]
    open_rows: dict[int, list[int]] = {}
    times = dict(zip(rows.tolist(), time_ns[rows].tolist(), strict=True))
    for row, code, on in zip(ordered.tolist(), phase[ordered].tolist(), track[ordered].tolist(), strict=True):
        stack = open_rows.setdefault(on, [])
        if code == _BEGIN:
            stack.append(row)
        elif stack:
            begin = stack.pop()
            length_ns = times[row] - times[begin]
            duration_ns[begin] = length_ns if 0 <= length_ns < _MOST_NS else MISSING
        else:
            oddities.add("stray_end", int(offset[row]))
    for stack in open_rows.values():
        for row in stack:
            oddities.add("unfinished", int(offset[row]))
    kept: Bool = phase != _END
    return kept
