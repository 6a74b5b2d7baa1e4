"""One table on the terminal: aligned for people, or as CSV or JSON."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TextIO, cast

from core.cli.output import columns, write_line, writing
from core.export import shown_cells, write_csv
from core.export import write_json as write_table_json
from core.files import printable
from core.tables.trace import Problem

if TYPE_CHECKING:
    import argparse

    from core.errors import DashboardError
    from core.tables.result import ResultTable

_LINE_ENDS: Final = frozenset(("\r\n", "\n"))
_split: Final = re.compile(r"(\r\n|\n)").split


def peaks_problem(error: DashboardError) -> Problem:
    """Return what to say where the user's own file of peaks was left out."""
    return Problem("own_peaks", 1, f"The device peaks are those that Ridgeline brings along: {error.message}")


def write_table(
    table: ResultTable, options: argparse.Namespace, peaks_error: DashboardError | None = None
) -> None:
    """Print a table as ``options`` ask for: ``csv``, ``json``, else for people.

    Args:
        table: The table.
        options: Of the command.
        peaks_error: Why the user's own file of peaks was left out.
    """
    if peaks_error is not None:
        table = replace(table, notes=(*table.notes, peaks_problem(peaks_error).message))
    keys = [column.key for column in table.columns]
    if options.csv:
        with writing() as out:
            write_csv(table, None, keys, for_reader(out))
    elif options.json:
        with writing() as out:
            write_table_json(table, None, keys, for_reader(out))
    else:
        shown = [column.key for column in table.columns if column.shown]
        header, rows, sides = shown_cells(table, None, shown)
        for line in columns(header, [[plain_cell(cell) for cell in row] for row in rows], sides):
            write_line(line)
        if not len(table):
            write_line(table.empty)
        for note in table.notes:
            write_line(f"note: {printable(note)}")


class _Terminal(io.TextIOBase):
    """Hands text to a terminal with every control in it as an escape, line ends apart."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Write a part of a CSV or JSON; whole lines or not."""
        self._terminal.write(
            "".join(part if part in _LINE_ENDS else printable(part) for part in _split(text))
        )
        return len(text)


def for_reader(out: TextIO) -> TextIO:
    """Return where data are to be written: a file gets them as they are, a terminal no control in a name."""
    return cast("TextIO", _Terminal(out)) if out.isatty() else out


def plain_cell(text: str) -> str:
    """Return a cell as a terminal of any kind shows it."""
    return printable(text.replace("\N{NO-BREAK SPACE}", " "))
