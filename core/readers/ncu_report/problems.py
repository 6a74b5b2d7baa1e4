"""What was skipped or is doubtful in a report, counted while it is read, and the sentences for people."""

from __future__ import annotations

from typing import Final

from core.tables.trace import Problem

_MOST_PLACES: Final = 5

# {n} is the count, with its word.
_SENTENCES: Final = {
    "cut_report": ("end", "The file ends early: what is whole before that place is read"),
    "broken_block": ("block", "{n} cannot be decoded: what stands before is read, what follows is not"),
    "broken_result": ("result", "{n} cannot be decoded: left out"),
    "broken_source": ("source", "{n} cannot be decoded: left out"),
    "broken_section": ("section", "{n} cannot be decoded: left out"),
    "broken_rule": ("rule", "{n} cannot be decoded: left out"),
    "broken_context": ("list of ranges or frames", "{n} cannot be decoded: left out"),
    "broken_session": ("part of the session", "{n} cannot be decoded: left out"),
    "nameless_metric": ("metric", "{n} without a name: left out"),
    "no_duration": ("result", "{n} without a duration: its rates are n/a"),
    "no_results": ("kernel", "No kernels in this file"),
    "newer_format": ("version", "The format is newer than any that is known here: parts may be missing"),
}
_PLURALS: Final = {
    "part of the session": "parts of the session",
    "list of ranges or frames": "lists of ranges or frames",
}


class Oddities:
    """Counts what is odd, by code."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[int]] = {}

    def add(self, code: str, place: int | None = None, count: int = 1) -> None:
        """Counts something, at a byte of the unpacked file."""
        self._counts[code] = self._counts.get(code, 0) + count
        places = self._places.setdefault(code, [])
        if place is not None and len(places) < _MOST_PLACES:
            places.append(place)

    def problems(self) -> tuple[Problem, ...]:
        """Returns what was counted, in the order of ``_SENTENCES``."""
        found = []
        for code, (word, sentence) in _SENTENCES.items():
            count = self._counts.get(code, 0)
            if count:
                counted = f"{count:,} {word if count == 1 else _PLURALS.get(word, word + 's')}"
                places = tuple(f"byte {place:,}" for place in self._places[code])
                found.append(Problem(code, count, f"{sentence.format(n=counted)}.", places))
        return tuple(found)
