"""One table on the terminal: aligned for people, or as CSV or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.cli.output import columns, write_line, writing
from core.export import shown_cells, write_csv
from core.export import write_json as write_table_json
from core.files import printable

if TYPE_CHECKING:
    import argparse

    from core.tables.result import ResultTable


def write_table(table: ResultTable, options: argparse.Namespace) -> None:
    """Print a table as ``options`` ask for: ``csv``, ``json``, else for people."""
    keys = [column.key for column in table.columns]
    if options.csv:
        with writing() as out:
            write_csv(table, None, keys, out)
    elif options.json:
        with writing() as out:
            write_table_json(table, None, keys, out)
    else:
        shown = [column.key for column in table.columns if column.shown]
        header, rows, sides = shown_cells(table, None, shown)
        for line in columns(header, [[plain_cell(cell) for cell in row] for row in rows], sides):
            write_line(line)
        if not len(table):
            write_line(table.empty)
        for note in table.notes:
            write_line(f"note: {printable(note)}")


def plain_cell(text: str) -> str:
    """Return a cell as a terminal of any kind shows it."""
    return printable(text.replace("\N{NO-BREAK SPACE}", " "))
