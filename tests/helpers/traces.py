"""Traces made of events that a test writes down."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from core.readers.torch_trace.assemble import Assembly
from core.readers.torch_trace.finish import finish
from core.readers.torch_trace.one_by_one import SingleEvents
from core.readers.torch_trace.raw import Oddities
from core.tables.trace import TraceFacts

if TYPE_CHECKING:
    from core.tables.trace import Trace


def trace_of(*events: dict[str, Any], **facts: Any) -> Trace:
    """Returns the trace of events written as in a file, times in microseconds."""
    oddities = Oddities()
    singles = SingleEvents(oddities)
    for place, event in enumerate(events):
        singles.add_event(json.loads(json.dumps(event), parse_float=Decimal), place)
    return finish("made", Assembly(oddities), singles, TraceFacts(origin_ns=0, **facts), oddities)


def op(name: str, ts: float, dur: float, *, tid: int = 1, **arguments: Any) -> dict[str, Any]:
    """Returns an operator on a host thread."""
    return _event("cpu_op", name, ts=ts, dur=dur, pid=100, tid=tid, args=arguments)


def call(
    name: str, ts: float, dur: float, correlation: int, *, tid: int = 1, **arguments: Any
) -> dict[str, Any]:
    """Returns a call into the CUDA runtime."""
    return _event(
        "cuda_runtime",
        name,
        ts=ts,
        dur=dur,
        pid=100,
        tid=tid,
        args={"correlation": correlation, **arguments},
    )


def kernel(
    name: str, ts: float, dur: float, *, device: int = 0, stream: int = 7, **arguments: Any
) -> dict[str, Any]:
    """Returns a kernel; ``correlation`` and ``External id`` are among its arguments."""
    return _event(
        "kernel",
        name,
        ts=ts,
        dur=dur,
        pid=device,
        tid=stream,
        args={"device": device, "stream": stream, **arguments},
    )


def annotation(name: str, ts: float, dur: float, *, tid: int = 1) -> dict[str, Any]:
    """Returns a range of the user, such as ProfilerStep#3."""
    return _event("user_annotation", name, ts=ts, dur=dur, pid=100, tid=tid)


def python_frame(name: str, ts: float, dur: float, *, tid: int = 1, **arguments: Any) -> dict[str, Any]:
    """Returns a Python frame."""
    return _event("python_function", name, ts=ts, dur=dur, pid=100, tid=tid, args=arguments)


def _event(category: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, **rest}
