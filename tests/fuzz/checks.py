"""What must hold of any file, however broken: a trace or a refusal in words, and figures that agree.

Everything behind the reader is run as well: each analysis, the totals, the
doubts, what the command line prints, and a stored copy.
"""

from __future__ import annotations

import io
import json
import warnings
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import numpy as np

from core.analyses.index import TraceIndex
from core.analyses.quality import judge
from core.analyses.registry import ANALYSES
from core.analyses.totals import summarize_totals
from core.cli.file_summary import as_object
from core.errors import DashboardError
from core.export import write_csv
from core.export import write_json as write_table_json
from core.readers.torch_trace import container, reader
from core.readers.torch_trace.reader import read_trace
from core.tables.selection import WHOLE
from core.tables.store import open_trace, write_trace
from core.tables.strings import StringTable
from core.tables.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


TABLES: Final = (
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
SKIPPED: Final = frozenset(
    ("broken_event", "null_event", "no_time", "cut_event", "stray_end", "unknown_phase", "cut_file")
)


class WrongError(AssertionError):
    """Something that must not be."""


def require(holds: bool, words: str) -> None:
    if not holds:
        raise WrongError(words)


@contextmanager
def block_bytes(size: int) -> Iterator[None]:
    """Makes the reader cut the text into parts of this size."""
    with (
        mock.patch.object(reader, "BLOCK_BYTES", size),
        mock.patch.object(container, "BLOCK_BYTES", size),
        mock.patch.object(container, "_PACKED_BLOCK_BYTES", size),
    ):
        yield


class _AtOnce:
    """Does work where it is asked for: no thread has to be started for a file of a few kilobytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __enter__(self) -> _AtOnce:
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done


@contextmanager
def without_threads() -> Iterator[None]:
    """Makes the reader scan in the thread that reads."""
    with mock.patch.object(reader, "ThreadPoolExecutor", _AtOnce):
        yield


def read_or_refusal(path: Path, threads: int = 1) -> Trace | str:
    """Reads a file; a refusal comes as its text."""
    try:
        return read_trace(path, threads=threads)
    except DashboardError as error:
        require(bool(error.message) and "\n" not in error.message, f"refused in no line: {error.message!r}")
        require(bool(error.hint), f"refused without a hint: {error.message!r}")
        return error.message


def check_file(path: Path, sizes: tuple[int, ...] = (), analyses: bool = True) -> Trace | None:
    """Checks everything that must hold of a file.

    Args:
        path: The file.
        sizes: It is read in blocks of each of these sizes too.
        analyses: Whether everything behind the reader runs as well.

    Returns:
        The trace; None if it was refused.

    Raises:
        WrongError: Something does not hold. Any other error is one too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = read_or_refusal(path)
        for size in sizes:
            with block_bytes(size):
                require_same(whole, read_or_refusal(path, threads=2), f"in blocks of {size}")
        if isinstance(whole, str):
            return None
        require_sound(whole)
        require_counted(whole, path.read_bytes())
        if analyses:
            _check_behind(whole, path.with_suffix(".stored"))
        return whole


def require_same(left: Trace | str, right: Trace | str, when: str) -> None:
    """Requires that two readings of a file are equal, their texts and their order too."""
    if isinstance(left, str) or isinstance(right, str):
        require(left is right or left == right, f"{when}: {_word(left)} and {_word(right)}")
        return
    require(list(left.strings) == list(right.strings), f"{when}: other texts")
    for name in TABLES:
        for field in fields(getattr(left, name)):
            one, other = (getattr(getattr(trace, name), field.name) for trace in (left, right))
            same = one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
            require(same, f"{when}: {name}.{field.name} differs")
    require(left.facts == right.facts, f"{when}: other facts {left.facts} {right.facts}")
    one, other = (
        [(each.code, each.count, each.places[:1]) for each in trace.problems] for trace in (left, right)
    )
    require(one == other, f"{when}: other problems {one} {other}")


def _word(outcome: Trace | str) -> str:
    return outcome if isinstance(outcome, str) else f"a trace of {outcome.facts.event_count} events"


def require_sound(trace: Trace) -> None:
    """Requires that rows and texts that tables name exist, and that times lie where times may lie."""
    slices, texts = trace.slices, len(trace.strings)
    for name in TABLES:
        table = getattr(trace, name)
        for field in fields(table):
            column, bound = getattr(table, field.name), None
            if field.name.endswith("_id") and column.dtype == np.int32:
                bound = texts
            elif field.name in ("slice_row", "track", "collective_row"):
                bound = {"slice_row": len(slices), "track": len(trace.tracks)}.get(
                    field.name, len(trace.collectives)
                )
            if bound is not None and len(column):
                inside = column.min() >= -1 and column.max() < bound
                require(inside, f"{name}.{field.name} names what is not there")
    require(not len(slices) or bool((slices.start_ns >= 0).all()), "a slice before the origin")
    require(bool((np.diff(slices.source_offset) >= 0).all()), "slices out of the order of the file")
    require(len(set(trace.strings)) == texts, "a text twice")
    for problem in trace.problems:
        require(problem.count > 0, f"{problem.code} counts nothing")
        require("\n" not in problem.message, f"{problem.code} in several lines")
        json.dumps([problem.message, *problem.places], ensure_ascii=False).encode("utf-8")


def require_counted(trace: Trace, data: bytes) -> None:
    """Requires that events that became no row are told of.

    Asks nothing of files that are packed, or hold events that become no row of their own: metadata,
    counters, ends.
    """
    if not data.isascii() or any(letter in data for letter in (b'"M"', b'"C"', b'"E"')):
        return
    codes = {problem.code: problem.count for problem in trace.problems}
    rows = len(trace.slices) + len(trace.memory) + len(trace.flows) + len(trace.instants)
    left_out = trace.facts.event_count - rows
    told = sum(count for code, count in codes.items() if code in SKIPPED)
    require(left_out <= told, f"{left_out} events left out, {told} told of")


def _check_behind(trace: Trace, stored: Path) -> None:
    index = TraceIndex(trace)
    for analysis in ANALYSES:
        table = analysis.summarize(index, WHOLE)
        lengths = {len(column) for column in table.columns}
        require(len(lengths) <= 1, f"{analysis.name}: columns of {lengths}")
        keys = [column.key for column in table.columns]
        write_csv(table, None, keys, io.StringIO())
        text = io.StringIO()
        write_table_json(table, None, keys, text)
        json.loads(text.getvalue(), parse_constant=_no_constant)
    totals = summarize_totals(index)
    require(0 <= totals.kernel_busy_ns <= max(totals.kernel_sum_ns, 0), "busy for longer than the sum")
    doubts = judge(index)
    text_of_all = json.dumps(as_object(index, totals, (*trace.problems, *doubts)), ensure_ascii=False)
    text_of_all.encode("utf-8")
    with stored.open("wb") as file:
        write_trace(trace, file)
    again = open_trace(stored)
    require(again is not None, "its stored copy does not open")
    assert again is not None
    require_same(trace, again, "stored")


def _no_constant(word: str) -> None:
    raise WrongError(f"{word} in exported JSON")


def kernel_names(trace: Trace) -> list[tuple[str, int, int]]:
    """Returns (name, absolute start, duration) of every slice, sorted."""
    slices, strings = trace.slices, list(StringTable.__iter__(trace.strings))
    return sorted(
        (strings[name] if name >= 0 else "", start + trace.facts.origin_ns, duration)
        for name, start, duration in zip(
            slices.name_id.tolist(), slices.start_ns.tolist(), slices.duration_ns.tolist(), strict=True
        )
    )
