"""Where the events are in the text, and what else stands at its top level."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from core.errors import DashboardError
from core.files import printable
from core.readers.torch_trace.scan import skip_value
from core.readers.torch_trace.texts import json_text, without_surrogates
from core.tables.trace import DeviceFacts, TraceFacts

_EVENTS_KEY: Final = "traceEvents"
_EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*(\[|[^\s\[])')
_KEY: Final = re.compile(rb'\s*,?\s*"((?:[^"\\]|\\.){0,4096})"\s*:\s*')
_MOST_VALUE_BYTES: Final = 2**20
_MOST_METADATA_BYTES: Final = 4096
WHAT_TO_EXPORT: Final = "Open what prof.export_chrome_trace() or tensorboard_trace_handler wrote."


@dataclass(slots=True)
class Outline:
    """The top level of a trace file.

    Attributes:
        values: Top-level keys other than the events, as far as they could be read and are not huge.
        is_object: Whether the events stand in an object, not in a bare array.
    """

    values: dict[str, Any] = field(default_factory=dict)
    is_object: bool = True


def find_events(head: bytes, complete: bool, outline: Outline) -> int | None:
    """Finds the array of events and reads the keys before it into ``outline``.

    Args:
        head: The text from its start.
        complete: Whether ``head`` is all of it.
        outline: Gets the keys.

    Returns:
        The index behind the array's ``[``, None if more of the text is needed.

    Raises:
        DashboardError: It is no trace; says what it is.
    """
    start = len(head) - len(head.lstrip())
    if start == len(head):
        if complete:
            raise DashboardError("The file is empty.", WHAT_TO_EXPORT)
        return None
    if head[start : start + 1] == b"[":
        outline.is_object = False
        return start + 1
    if head[start : start + 1] != b"{":
        raise DashboardError("Not a trace: the file is no JSON.", WHAT_TO_EXPORT)
    at: int | None = read_keys(head, start + 1, outline, stop_at_events=True)
    if at is None:
        found = _EVENTS.search(head)
        if found is not None and found[1] == b"[":
            # A key before it is broken: those behind it belong to events.
            outline.values.clear()
            read_keys(head[: found.start()], start + 1, outline, stop_at_events=True)
            return found.end()
        if complete:
            raise _no_events(outline, head)
        return None
    if head[at : at + 1] == b"[":
        return at + 1
    if at >= len(head) and not complete:
        return None
    raise DashboardError(f"Not a trace: traceEvents is {_type_word(head[at : at + 1])}.", WHAT_TO_EXPORT)


def read_keys(text: bytes, at: int, outline: Outline, *, stop_at_events: bool) -> int | None:
    """Reads ``"key": value`` pairs from ``at`` on into ``outline``.

    Returns:
        The index of the value of ``traceEvents`` if asked to stop there and it was found, else None.
    """
    buffer = np.frombuffer(text, np.uint8)
    while match := _KEY.match(text, at):
        try:
            key = json.loads(b'"' + match[1] + b'"', strict=False)
        except ValueError:
            key = match[1].decode("utf-8", "replace")
        if key == _EVENTS_KEY and stop_at_events:
            return match.end()
        end = int(skip_value(buffer, match.end()))
        if end < 0:
            return None
        if end - match.end() <= _MOST_VALUE_BYTES:
            try:
                outline.values[key] = json.loads(
                    text[match.end() : end].decode("utf-8", "replace"), strict=False
                )
            except (ValueError, RecursionError):
                outline.values[key] = None
        at = end
    return None


def _type_word(first: bytes) -> str:
    if first == b'"':
        return "text"
    if first == b"{":
        return "an object"
    if first in (b"n", b"t", b"f"):
        return "null" if first == b"n" else "true or false"
    return "a number" if first else "missing"


def _no_events(outline: Outline, head: bytes) -> DashboardError:
    keys = set(outline.values)
    if {"nodes", "schema"} <= keys:
        return DashboardError(
            "Not a profiler trace: it is an execution trace (nodes, schema).",
            "Export the profiler trace instead: torch.profiler's export_chrome_trace().",
        )
    if {"segments", "device_traces"} & keys:
        return DashboardError(
            "Not a profiler trace: it is a CUDA memory snapshot.", "Export the profiler trace instead."
        )
    if not head.rstrip().endswith(b"}"):
        return DashboardError("Not a trace: the JSON is cut before any event.", WHAT_TO_EXPORT)
    names = ", ".join(printable(key[:40]) for key in sorted(keys)[:5]) or "no keys"
    return DashboardError(f"Not a trace: the JSON has no traceEvents ({names}).", WHAT_TO_EXPORT)


def trace_facts(outline: Outline, source_bytes: int, text_bytes: int, event_count: int) -> TraceFacts:
    """Makes the facts of a trace out of its top-level keys; what has another type than expected is absent."""
    values = dict(outline.values)
    distributed = _dict(values.get("distributedInfo"))
    backend = distributed.get("backend")
    devices = values.pop("deviceProperties", None)
    known = ("baseTimeNanoseconds", "schemaVersion")
    return TraceFacts(
        origin_ns=0,
        base_time_ns=_integer(values.pop("baseTimeNanoseconds", None)),
        schema_version=_integer(values.pop("schemaVersion", None)),
        rank=_integer(distributed.get("rank")),
        world_size=_integer(distributed.get("world_size")),
        backend=_text(backend),
        devices=tuple(
            _device(one, place) for place, one in enumerate(devices if isinstance(devices, list) else [])
        ),
        metadata=tuple(
            (without_surrogates(key), without_surrogates(json_text(value))[:_MOST_METADATA_BYTES])
            for key, value in values.items()
            if key not in known
        ),
        event_count=event_count,
        source_bytes=source_bytes,
        text_bytes=text_bytes,
    )


def _device(value: Any, place: int) -> DeviceFacts:
    facts = _dict(value)
    major, minor = _integer(facts.get("computeMajor")), _integer(facts.get("computeMinor"))
    number = _integer(facts.get("id"))
    name = facts.get("name")
    return DeviceFacts(
        id=place if number is None else number,
        name=_text(name) or "",
        total_memory_bytes=_integer(facts.get("totalGlobalMem")),
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        sm_count=_integer(facts.get("numSms")),
        warp_size=_integer(facts.get("warpSize")),
        max_threads_per_sm=_integer(facts.get("maxThreadsPerMultiprocessor")),
        registers_per_sm=_integer(facts.get("regsPerMultiprocessor")),
        shared_memory_per_sm_bytes=_integer(facts.get("sharedMemPerMultiprocessor")),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return without_surrogates(value) if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(2**63) < value < 2**63 else None
