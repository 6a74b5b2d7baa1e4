"""Tables of ncu --csv without what is private: host names, folders of programs, all around the tables."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from core.readers.ncu_csv.records import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.readers.ncu_csv.records import Layout, Record

HOST: Final = "Host Name"
PROCESS: Final = "Process Name"
_PARTS: Final = re.compile(r"[\\/]")


def strip_table(lines: Iterable[str]) -> tuple[bytes, Counter[str]]:
    """Returns the tables of a file, in UTF-8, and what was taken out.

    What the program and the tool printed around them is left out, and so is a
    row that does not fit its header: nobody could say what it holds.
    """
    removed: Counter[str] = Counter()
    written = io.StringIO(newline="")
    for record in read_records(lines):
        if record.cells is None or record.layout is None:
            what = "rows that do not fit" if record.kind == "refused" else "messages of the tool"
            removed[what] += 1
        else:
            _write(written, record.layout, _stripped(record, record.layout, removed))
    return written.getvalue().encode("utf-8"), removed


def _stripped(record: Record, layout: Layout, removed: Counter[str]) -> list[str]:
    cells = list(record.cells or ())
    if record.kind != "row":
        return cells
    for place, column in enumerate(layout.columns[: len(cells)]):
        if column == HOST and cells[place]:
            cells[place] = ""
            removed["host names"] += 1
        elif column == PROCESS:
            name = _PARTS.split(cells[place])[-1]
            removed["folders"] += name != cells[place]
            cells[place] = name
    return cells


def _write(written: io.StringIO, layout: Layout, cells: list[str]) -> None:
    csv.writer(
        written,
        delimiter=layout.delimiter,
        quoting=csv.QUOTE_ALL if layout.is_quoted else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    ).writerow(cells)
