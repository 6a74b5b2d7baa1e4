"""Handed traces read event by event: slow, but by other code than the reader that is to be fast."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from core.readers.torch_trace.assemble import Assembly
from core.readers.torch_trace.finish import finish
from core.readers.torch_trace.one_by_one import SingleEvents
from core.readers.torch_trace.raw import Oddities
from core.tables.trace import TraceFacts

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.trace import Trace


def read_slowly(path: Path) -> Trace:
    """Reads a trace that is sound JSON, plain or gzip."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=Decimal)
    events: list[Any] = document["traceEvents"] if isinstance(document, dict) else document
    oddities = Oddities()
    singles = SingleEvents(oddities)
    for place, event in enumerate(events):
        singles.add_event(event, place)
    facts = TraceFacts(origin_ns=0, event_count=len(events))
    if isinstance(document, dict) and "distributedInfo" in document:
        facts = replace(facts, rank=document["distributedInfo"].get("rank"))
    return finish(path.name, Assembly(oddities), singles, facts, oddities)
