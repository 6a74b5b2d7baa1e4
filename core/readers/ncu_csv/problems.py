"""What was skipped or is doubtful in a CSV, counted while it is read, and the sentences for people."""

from __future__ import annotations

from typing import Final

from core.tables.trace import Problem

_MOST_PLACES: Final = 5

# {n} is the count with its word, {text} what was quoted first.
_SENTENCES: Final = {
    "misaligned_row": ("row", "{n} with cells that do not fit the header: left out"),
    "cut_file": ("end", "The packed file ends early: what stands before is read"),
    "bad_text": ("line", "{n} with bytes that are no text, shown as a mark"),
    "mixed_numbers": ("cell", "{n} with a number written unlike the others (comma or point): read as n/a"),
    "too_large": ("cell", "{n} with a number beyond what can be counted (such as 1e400): read as n/a"),
    "negative_duration": ("result", "{n} with a duration below 0: read as n/a"),
    "doubtful_numbers": (
        "file",
        "Numbers such as 200.000 can be read in two ways here: taken with a point before decimals",
    ),
    "no_units": ("table", "{n} without a row of units: values are taken as base units (ns, byte)"),
    "repeated_metric": ("metric", "{n} with two different values for one launch: the first one is kept"),
    "no_duration": ("result", "{n} without a duration: its rates are n/a"),
    "tool_error": ("error", "The tool reported {n}: {text}"),
    "tool_warning": ("warning", "The tool reported {n}: {text}"),
    "no_results": ("kernel", "No kernels in this file"),
}


class Oddities:
    """Counts what is odd, by code."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lines: dict[str, list[int]] = {}
        self._texts: dict[str, str] = {}

    def add(self, code: str, line: int | None = None, text: str = "", count: int = 1) -> None:
        """Counts something, in a line of the file."""
        self._counts[code] = self._counts.get(code, 0) + count
        self._texts.setdefault(code, text)
        lines = self._lines.setdefault(code, [])
        if line is not None and len(lines) < _MOST_PLACES:
            lines.append(line)

    def count(self, code: str) -> int:
        """Returns how often something was counted."""
        return self._counts.get(code, 0)

    def problems(self) -> tuple[Problem, ...]:
        """Returns what was counted, in the order of ``_SENTENCES``."""
        found = []
        for code, (word, sentence) in _SENTENCES.items():
            count = self.count(code)
            if count:
                counted = f"{count:,} {word if count == 1 else word + 's'}"
                message = sentence.format(n=counted, text=self._texts[code]).rstrip(".")
                places = tuple(f"line {line:,}" for line in self._lines[code])
                found.append(Problem(code, count, f"{message}.", places))
        return tuple(found)
