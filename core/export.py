"""A result table as CSV, as JSON, and as cells for a terminal.

Whole numbers are written exactly and a missing value stays missing: an empty
cell in CSV, null in JSON. Names are data: in CSV a text that a spreadsheet would
take for a formula gets one leading apostrophe, and nothing else is changed.
"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from core.tables.columns import MISSING, NO_ROW, Int32
from core.tables.display import displays_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from core.tables.result import Column, ResultTable

_CHUNK_ROWS = 8_192

# A tab or a carriage return before it is skipped by spreadsheets.
_FORMULA = re.compile(r"[\t\r]*[=+\-@]")


def write_csv(  # noqa: PLR0913  (the last two are named at the call)
    table: ResultTable,
    rows: Int32 | None,
    columns: Sequence[str],
    file: TextIO,
    *,
    delimiter: str = ",",
    moved: Callable[[int], None] | None = None,
) -> None:
    """Writes a header of column keys and one line a row, with CRLF (RFC 4180).

    Args:
        table: What is written.
        rows: (n,) int32, rows of the table in the order wanted; None is all of them.
        columns: Keys of the columns, in the order wanted.
        file: Open for text with ``newline=""``.
        delimiter: A tab for the clipboard.
        moved: Gets the number of rows written so far, now and then; what it raises ends the writing.

    Raises:
        KeyError: There is no such column.
    """
    chosen = [table.column(key) for key in columns]
    # With CRLF as its line end the writer quotes a lone CR or LF inside a cell too.
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(columns)
    for cells in _chunks(chosen, rows, _csv_text, "", moved):
        writer.writerows(cells)


def write_json(
    table: ResultTable,
    rows: Int32 | None,
    columns: Sequence[str],
    file: TextIO,
    *,
    moved: Callable[[int], None] | None = None,
) -> None:
    """Writes one object: ``name``, ``notes``, ``columns`` (key -> meaning) and ``rows``, one a line.

    Args:
        table: What is written.
        rows: (n,) int32, rows of the table in the order wanted; None is all of them.
        columns: Keys of the columns, in the order wanted.
        file: Open for text.
        moved: As for ``write_csv``.

    Raises:
        KeyError: There is no such column.
    """
    chosen = [table.column(key) for key in columns]
    head = {
        "name": table.name,
        "notes": list(table.notes),
        "columns": {column.key: column.help for column in chosen},
    }
    file.write(f'{_json(head)[:-1]}, "rows": [')
    separator = "\n"
    for cells in _chunks(chosen, rows, str, None, moved):
        for row in cells:
            file.write(separator + _json(dict(zip(columns, row, strict=True))))
            separator = ",\n"
    file.write("\n]}\n")


def shown_cells(
    table: ResultTable, rows: Int32 | None, columns: Sequence[str]
) -> tuple[list[str], list[list[str]], str]:
    """Returns what a person reads, for ``core.cli.output.columns``.

    Args:
        table: What is shown.
        rows: (n,) int32, rows of the table in the order wanted; None is all of them.
        columns: Keys of the columns, in the order wanted.

    Returns:
        Headers with their units, cells, and one letter a column: "r" for numbers, "l" for texts.

    Raises:
        KeyError: There is no such column.
    """
    chosen = [table.column(key) for key in columns]
    by_key = dict(zip((column.key for column in table.columns), displays_of(table.columns), strict=True))
    displays = [by_key[column.key] for column in chosen]
    numbers = range(len(table)) if rows is None else rows.tolist()
    cells = [
        [display.text(column.value(row)) for column, display in zip(chosen, displays, strict=True)]
        for row in numbers
    ]
    sides = "".join("r" if display.numeric else "l" for display in displays)
    return [display.header for display in displays], cells, sides


def _csv_text(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _chunks(
    columns: Sequence[Column],
    rows: Int32 | None,
    of_text: Callable[[str], str],
    missing: object,
    moved: Callable[[int], None] | None,
) -> Iterator[Iterator[tuple[object, ...]]]:
    """Yields rows of cells, some thousand at a time, so that millions of rows are never objects at once."""
    count = max(map(len, columns), default=0) if rows is None else len(rows)
    known: list[dict[int, object]] = [{NO_ROW: missing} for _ in columns]
    for start in range(0, count, _CHUNK_ROWS):
        if moved is not None:
            moved(start)
        end = min(start + _CHUNK_ROWS, count)
        part = slice(start, end) if rows is None else rows[start:end]
        cells = [
            _cells(column, part, texts, of_text, missing)
            for column, texts in zip(columns, known, strict=True)
        ]
        yield zip(*cells, strict=True)


def _cells(
    column: Column,
    part: slice | Int32,
    known: dict[int, object],
    of_text: Callable[[str], str],
    missing: object,
) -> list[object]:
    values = column.values[part]
    if column.texts is not None:
        for text_id in set(values.tolist()).difference(known):
            known[text_id] = of_text(column.texts[text_id])
        return [known[text_id] for text_id in values.tolist()]
    if values.dtype == np.int64:
        return [missing if value == MISSING else value for value in values.tolist()]
    return [_float_cell(value, missing) for value in values.tolist()]


def _float_cell(value: float, missing: object) -> object:
    if value != value:  # noqa: PLR0124  (NaN, and cheaper than a call for each of millions)
        return missing
    return value if abs(value) != np.inf else str(value)
