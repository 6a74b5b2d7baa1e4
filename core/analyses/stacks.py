"""The Python stack from which a slice was called, as far as the trace holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.tables.columns import NO_ROW
from core.tables.trace import DEVICE_KINDS, SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex


def python_stack(index: TraceIndex, row: int) -> tuple[str, ...]:
    """Returns the Python frames around a slice, the outermost first, as a traceback shows them.

    Device work has the stack of its launch. Where the trace holds no frames
    (``with_stack``), the "Call stack" of the operator around it is given.

    Args:
        index: The trace.
        row: Row of ``SliceTable``.
    """
    trace = index.trace
    if trace.slices.kind[row] in DEVICE_KINDS:
        row = _origin(index, row)
    frames = []
    call_stack = ""
    while row != NO_ROW:
        if trace.slices.kind[row] == SliceKind.PYTHON:
            frames.append(trace.strings[int(trace.slices.name_id[row])])
        elif not call_stack:
            call_stack = _call_stack(index, row)
        row = int(index.nesting.parent_row[row])
    if frames or not call_stack:
        return tuple(reversed(frames))
    # Source: torch/csrc/profiler/util.cpp: innermost first, joined by semicolons.
    return tuple(reversed([frame.strip() for frame in call_stack.split(";") if frame.strip()]))


def _origin(index: TraceIndex, row: int) -> int:
    """Returns the slice of the host that device work came from: its launch, else its operator, or NO_ROW."""
    place = int(np.searchsorted(index.trace.device_work.slice_row, row))
    launch = int(index.links.launch_row[place])
    return launch if launch != NO_ROW else int(index.links.op_row[place])


def _call_stack(index: TraceIndex, row: int) -> str:
    ops = index.trace.ops
    place = int(np.searchsorted(ops.slice_row, row))
    if place == len(ops) or ops.slice_row[place] != row:
        return ""
    return index.trace.strings[int(ops.call_stack_id[place])]
