"""Tables of ncu --csv without what is private: hosts, users, folders in any cell, all around the tables."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from core.readers.ncu_csv.records import KERNEL, read_records
from core.readers.ncu_private import FOLDERS, PrivateText, host_words, user_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.readers.ncu_csv.records import Layout, Record

HOST: Final = "Host Name"
PROCESS: Final = "Process Name"
# Names that columns are known by.
_COLUMN: Final = re.compile(r"\w+__\w+(?:\.\w+)*")
_PARTS: Final = re.compile(r"[\\/]")
_AT_HOST: Final = re.compile(r"^(\[\d+\] [^@]*)@(\S+)$")


def strip_table(lines: Iterable[str]) -> tuple[bytes, Counter[str]]:
    """Returns the tables of a file, in UTF-8, and what was taken out.

    What the program and the tool printed around them is left out, and so is a
    row that does not fit its header: nobody could say what it holds.
    """
    lines = list(lines)
    removed: Counter[str] = Counter()
    private = PrivateText(_private_words(lines), removed)
    written = io.StringIO(newline="")
    for record in read_records(lines):
        if record.cells is None or record.layout is None:
            what = "rows that do not fit" if record.kind == "refused" else "messages of the tool"
            removed[what] += 1
        else:
            _write(written, record.layout, _stripped(record, record.layout, private))
    return written.getvalue().encode("utf-8"), +removed


def _private_words(lines: list[str]) -> set[bytes]:
    """Returns the hosts and users that a file names, also around its tables."""
    words: set[bytes] = set()
    for line in lines:
        if "/" in line or "\\" in line:
            words |= user_words(_encoded(line))
    for record in read_records(lines):
        if record.kind == "row" and record.cells is not None and record.layout is not None:
            hosts = [record.layout.cell(record.cells, HOST)]
            hosts += [found[2] for cell in record.cells if "@" in cell and (found := _AT_HOST.match(cell))]
            words |= {word for host in hosts for word in host_words(_encoded(host))}
    return words


def _stripped(record: Record, layout: Layout, private: PrivateText) -> list[str]:
    cells = list(record.cells or ())
    if record.kind == "header":
        return [cell if _COLUMN.fullmatch(cell) else _cleaned(cell, private) for cell in cells]
    for place, column in enumerate(layout.columns[: len(cells)]):
        cell = cells[place]
        found = _AT_HOST.match(cell) if "@" in cell else None
        if found is not None:
            private.removed["host names"] += 1
            cell = found[1]
        if column == HOST and cell:
            private.removed["host names"] += 1
            cell = ""
        elif column == PROCESS:
            name = _PARTS.split(cell)[-1]
            private.removed[FOLDERS] += name != cell
            cell = name
        elif column == KERNEL:
            # It may hold the folder of a lambda, but no other private word.
            cell = _decoded(private.clean_paths(_encoded(cell)))
        else:
            cell = _cleaned(cell, private)
        cells[place] = cell
    return cells


def _cleaned(cell: str, private: PrivateText) -> str:
    return _decoded(private.clean(_encoded(cell)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")


def _write(written: io.StringIO, layout: Layout, cells: list[str]) -> None:
    csv.writer(
        written,
        delimiter=layout.delimiter,
        quoting=csv.QUOTE_ALL if layout.is_quoted else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    ).writerow(cells)
