"""From what was counted while reading to sentences with places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.files import printable
from core.readers.torch_trace.container import Container
from core.readers.torch_trace.raw import Oddities
from core.tables.trace import Problem

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES_FOR_LINES: Final = 2**28
_MOST_DETAIL: Final = 60

# {n} is the count with its word, {detail} what was met first.
_SENTENCES: Final = {
    "bad_escape": ("text with illegal escapes", "{n}: its backslashes are taken literally ({detail})"),
    "control_character": ("text with raw control characters", "{n}: shown as escapes ({detail})"),
    "bad_utf8": ("text with bytes that are no UTF-8", "{n}: shown as U+FFFD ({detail})"),
    "unescaped_quote": ("text with unescaped quotes", "{n}: the quotes are taken as part of it"),
    "not_a_number": ("value that is no number", "{n}: taken as not available ({detail})"),
    "stray_comma": ("stray comma", "{n} passed over"),
    "null_event": ("record that is no event", "{n} passed over"),
    "broken_event": ("event that cannot be read", "{n} left out"),
    "unknown_phase": ("event of a kind that is no part of the time line", "{n} ({detail}) left out"),
    "no_time": ("event without a time", "{n}: in no figure of time"),
    "cut_event": ("event that is cut off", "The file ends early: {n} left out"),
    "cut_file": ("unclosed list of events", "The file ends early: {n}, all whole events are read"),
    "gzip_ends_early": ("early end", "The compressed file ends early: what could be unpacked is read"),
    "gzip_damaged": ("damaged place", "The compressed file is damaged: what lies before is read"),
    "bytes_behind_gzip": ("tail", "Bytes behind the compressed data are passed over"),
    "unfinished": ("begin without an end", "{n}: not finished, shown without a duration"),
    "stray_end": ("end without a begin", "{n} left out"),
    "zero_time": ("record with time 0", "{n}: never filled in, not in any sum"),
    "colliding_ranks": ("rank", "{n} ({detail}) collide on the same process and device numbers"),
    "unknown_category": ("event of an unknown category", "{n} ({detail}): shown, in no figure"),
}
_PLURALS: Final = {
    "text with illegal escapes": "texts with illegal escapes",
    "text with raw control characters": "texts with raw control characters",
    "text with bytes that are no UTF-8": "texts with bytes that are no UTF-8",
    "text with unescaped quotes": "texts with unescaped quotes",
    "value that is no number": "values that are no numbers",
    "stray comma": "stray commas",
    "record that is no event": "records that are no events",
    "event that cannot be read": "events that cannot be read",
    "event of a kind that is no part of the time line": "events of kinds that are no part of the time line",
    "event without a time": "events without a time",
    "event that is cut off": "events that are cut off",
    "begin without an end": "begins without an end",
    "end without a begin": "ends without a begin",
    "record with time 0": "records with time 0",
    "rank": "ranks",
    "event of an unknown category": "events of an unknown category",
}


def problems_of(oddities: Oddities, path: Path) -> tuple[Problem, ...]:
    """Returns what was repaired or skipped, each with its count and its first places.

    Their order is that of ``_SENTENCES``, wherever the text was cut into parts.
    """
    lines = _lines(path, sorted({at for places in oddities.offsets.values() for at in places if at >= 0}))
    found = []
    for code, (word, sentence) in _SENTENCES.items():
        count = oddities.counts.get(code, 0)
        if not count:
            continue
        counted = f"{count:,} {word if count == 1 else _PLURALS.get(word, word)}"
        detail = printable(oddities.details.get(code, ""))
        if len(detail) > _MOST_DETAIL:
            detail = detail[: _MOST_DETAIL - 1] + "…"
        places = tuple(lines[at] for at in sorted(oddities.offsets[code]) if at >= 0)
        message = sentence.format(n=counted, detail=detail).replace(" ()", "")
        found.append(Problem(code, count, f"{message}.", places))
    return tuple(found)


def _lines(path: Path, offsets: list[int]) -> dict[int, str]:
    """Returns "line 28 column 1" for bytes of the unpacked text; far behind, the byte itself."""
    found = {at: f"byte {at:,}" for at in offsets}
    near = [at for at in offsets if at < _MOST_BYTES_FOR_LINES]
    if not near:
        return found
    container = Container(path, Oddities())
    try:
        line, line_start, base = 1, 0, 0
        for block in container.blocks():
            while near and near[0] < base + len(block):
                at = near.pop(0)
                before = block[: at - base]
                breaks = before.count(b"\n")
                start = base + before.rfind(b"\n") + 1 if breaks else line_start
                found[at] = f"line {line + breaks:,} column {at - start + 1:,}"
            if not near:
                break
            if b"\n" in block:
                line += block.count(b"\n")
                line_start = base + block.rfind(b"\n") + 1
            base += len(block)
    finally:
        container.close()
    return found
