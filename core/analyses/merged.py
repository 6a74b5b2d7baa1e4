"""Several traces as one: every rank on its own tracks, on one clock."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.alignment import align
from core.analyses.categories import categorize
from core.tables.columns import MISSING, NO_ROW
from core.tables.strings import StringTable, string_table
from core.tables.trace import Problem, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int32, Int64

_TABLES: Final = (
    "slices",
    "device_work",
    "ops",
    "collectives",
    "counters",
    "memory",
    "flows",
    "instants",
    "tracks",
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Merged:
    """Several traces as one.

    Attributes:
        trace: Its tracks bear the ranks of the traces they came from.
        slice_ends: (traces,) int64, where the slices of each end: which file a row came from.
        names: Of the traces.
    """

    trace: Trace
    slice_ends: Int64
    names: tuple[str, ...]


def ranks_of(traces: Sequence[Trace]) -> tuple[int, ...]:
    """Returns a rank for each trace: its own if all have one and they differ, else their order."""
    own = [trace.facts.rank for trace in traces]
    known = [rank for rank in own if rank is not None]
    return tuple(known) if len(set(known)) == len(traces) else tuple(range(len(traces)))


def merge_ranks(traces: Sequence[Trace]) -> Merged:
    """Brings the traces of several ranks to one clock and joins them; how well that went is a note of it.

    Args:
        traces: At least one; a single one stays as it is.
    """
    alignment = align(traces, [categorize(trace) for trace in traces])
    merged = merge_traces(traces, alignment.shifts_ns)
    if len(traces) == 1:
        return merged
    code = "aligned" if alignment.by_clock else "not_aligned"
    note = Problem(code=code, count=1, message=alignment.note)
    return replace(merged, trace=replace(merged.trace, problems=(*merged.trace.problems, note)))


def merge_traces(traces: Sequence[Trace], shifts_ns: Sequence[int]) -> Merged:
    """Joins traces.

    Numbers that join events (correlation, External id) are repeated from rank to
    rank: they mean something only together with the rank of the track. A process
    number that several ranks use gets the rank behind it, so that their devices
    stay apart.

    Args:
        traces: At least one.
        shifts_ns: What is added to the times of each; the smallest time of all becomes the origin.
    """
    ranks = ranks_of(traces)
    strings, moved = _join_texts(traces, ranks)
    ends = np.cumsum([len(trace.slices) for trace in traces], dtype=np.int64)
    earliest_ns = min(shifts_ns)
    tables = {name: _join(name, traces, moved, [one - earliest_ns for one in shifts_ns]) for name in _TABLES}
    tables["tracks"] = replace(
        tables["tracks"],
        rank=np.repeat(np.array(ranks, np.int64), [len(trace.tracks) for trace in traces]),
        process_id=_processes(traces, ranks, strings, moved),
    )
    first = traces[0].facts
    facts = replace(
        first,
        origin_ns=0,
        base_time_ns=None,
        rank=None,
        event_count=sum(trace.facts.event_count for trace in traces),
        source_bytes=sum(trace.facts.source_bytes for trace in traces),
        text_bytes=sum(trace.facts.text_bytes for trace in traces),
    )
    problems = tuple(
        replace(
            problem,
            message=f"Rank {rank}: {problem.message}",
            rows=tuple(row + int(end) - len(trace.slices) for row in problem.rows),
        )
        for trace, rank, end in zip(traces, ranks, ends.tolist(), strict=True)
        for problem in trace.problems
    )
    name = f"{traces[0].name} and {len(traces) - 1} more" if len(traces) > 1 else traces[0].name
    trace = Trace(name=name, strings=strings, facts=facts, problems=problems, **tables)
    return Merged(trace=trace, slice_ends=ends, names=tuple(one.name for one in traces))


def _join_texts(traces: Sequence[Trace], ranks: tuple[int, ...]) -> tuple[StringTable, list[Int32]]:
    """Returns all texts, and for each trace the new id of each of its texts; the last stands for none."""
    ids: dict[str, int] = {}
    moved = []
    for trace in traces:
        own = [ids.setdefault(text, len(ids)) for text in trace.strings]
        moved.append(np.array([*own, NO_ROW], np.int32))
    for text in _shared_processes(traces):
        for rank in ranks:
            ids.setdefault(_process_text(text, rank), len(ids))
    return string_table(ids), moved


def _shared_processes(traces: Sequence[Trace]) -> list[str]:
    seen: dict[str, int] = {}
    for trace in traces:
        for text_id in np.unique(trace.tracks.process_id).tolist():
            text = trace.strings[text_id]
            seen[text] = seen.get(text, 0) + 1
    return [text for text, count in seen.items() if count > 1]


def _process_text(process: str, rank: int) -> str:
    return f"{process} (rank {rank})"


def _processes(
    traces: Sequence[Trace], ranks: tuple[int, ...], strings: StringTable, moved: list[Int32]
) -> Int32:
    shared = set(_shared_processes(traces))
    ids = {text: place for place, text in enumerate(strings)} if shared else {}
    found = []
    for trace, rank, new in zip(traces, ranks, moved, strict=True):
        for text_id in trace.tracks.process_id.tolist():
            text = trace.strings[text_id]
            found.append(ids[_process_text(text, rank)] if text in shared else int(new[text_id]))
    return np.array(found, np.int32)


def _join(name: str, traces: Sequence[Trace], moved: list[Int32], shifts_ns: list[int]) -> Any:
    """Joins one table of all traces: rows, tracks, texts and times are those of the whole."""
    parts: dict[str, list[np.ndarray[Any, Any]]] = {}
    bases = {"slice_row": 0, "collective_row": 0, "track": 0}
    for trace, new, shift_ns in zip(traces, moved, shifts_ns, strict=True):
        table = getattr(trace, name)
        for field in fields(table):
            column = getattr(table, field.name)
            if field.name in bases:
                column = np.where(column == NO_ROW, NO_ROW, column + bases[field.name]).astype(np.int32)
            elif column.dtype == np.int32 and field.name.endswith("_id"):
                column = new[column]
            elif field.name in ("start_ns", "time_ns"):
                column = np.where(column == MISSING, MISSING, column + shift_ns)
            parts.setdefault(field.name, []).append(column)
        bases["slice_row"] += len(trace.slices)
        bases["collective_row"] += len(trace.collectives)
        bases["track"] += len(trace.tracks)
    kind = type(getattr(traces[0], name))
    return kind(**{key: np.concatenate(columns) for key, columns in parts.items()})
