"""The tables of a file, found among what the profiled program and the tool print around them.

Lines are taken one by one, so that a stray quote in the program's output cannot
swallow the table. A row that does not fit its header is refused by its line:
values are never taken from a column beside their own.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KERNEL: Final = "Kernel Name"
ID: Final = "ID"
METRIC_NAME: Final = "Metric Name"
METRIC_VALUE: Final = "Metric Value"
METRIC_UNIT: Final = "Metric Unit"
SECTION: Final = "Section Name"
RULE_NAME: Final = "Rule Name"
_RULES: Final = frozenset(
    (RULE_NAME, "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
)
IDENTITY: Final = (
    ID,
    "Process ID",
    "Process Name",
    "Host Name",
    KERNEL,
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
PUSH_POP: Final = "Domain:Push/Pop_Range:"
START_STOP: Final = "Domain:Start/Stop_Range:"

_DELIMITERS: Final = (",", ";", "\t")
_MOST_JOINED: Final = 64
_LONGEST_LINE: Final = 4 * 2**20
_ROW_START: Final = re.compile(r'"\d[\d.,]*"[,;\t]')
_HEADER_WORDS: Final = (KERNEL, ID, METRIC_NAME)
_FEWEST_CELLS: Final = 4
_MESSAGE: Final = re.compile(r"==(ERROR|WARNING)==\s*(.{0,400})")


@dataclass(frozen=True)
class Layout:
    """What the columns of one table are.

    Attributes:
        columns: As the header names them.
        delimiter: Between cells.
        is_quoted: Whether its header is quoted: its rows are too then.
    """

    columns: tuple[str, ...]
    delimiter: str
    is_quoted: bool

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each column, in their order; of two with one name, the first."""
        places: dict[str, int] = {}
        for place, name in enumerate(self.columns):
            places.setdefault(name, place)
        return places

    @cached_property
    def is_long(self) -> bool:
        """Whether a row is one metric (details page), not one launch (raw page)."""
        return METRIC_NAME in self.places and METRIC_VALUE in self.places

    @cached_property
    def is_summary(self) -> bool:
        """Whether its rows are statistics over launches."""
        return "Invocations" in self.places and "Average" in self.places

    @cached_property
    def metric_places(self) -> tuple[int, ...]:
        """Columns of metrics, of a raw page."""
        known = {*IDENTITY, *_RULES, SECTION}
        return tuple(
            place
            for name, place in self.places.items()
            if name and name not in known and PUSH_POP not in name and START_STOP not in name
        )

    @cached_property
    def fewest_cells(self) -> int:
        """Rows of the details page may end behind the value: what rules say is left out then."""
        if not self.is_long or any(self.columns[place] not in _RULES for place in self._behind_value):
            return len(self.columns)
        return self.places[METRIC_VALUE] + 1

    @property
    def _behind_value(self) -> range:
        return range(self.places[METRIC_VALUE] + 1, len(self.columns))

    def cell(self, cells: list[str], name: str) -> str:
        """Returns the cell of a column, "" where the row or the table lacks it."""
        place = self.places.get(name, len(cells))
        return cells[place].strip() if place < len(cells) else ""


@dataclass(frozen=True, slots=True)
class Record:
    """One line, or several that are one row.

    Attributes:
        line: Its number, from 1.
        kind: "header", "units" (of a raw page), "row", "refused" (a row that does not fit), "error" and
            "warning" (of the tool).
        layout: Of the table it belongs to, None outside of one.
        cells: Of a header, row or units.
        text: Of a message.
    """

    line: int
    kind: Literal["header", "units", "row", "refused", "error", "warning"]
    layout: Layout | None = None
    cells: list[str] | None = None
    text: str = ""


def read_records(lines: Iterable[str]) -> Iterator[Record]:
    """Yields what a file holds, without the program's output."""
    layout: Layout | None = None
    has_rows = False
    for line, text in _joined(lines):
        message = _MESSAGE.match(text)
        if message:
            yield Record(line, "error" if message[1] == "ERROR" else "warning", text=message[2].strip())
        header = _header(text) if KERNEL in text else None
        if header is not None:
            layout, has_rows = header, False
            yield Record(line, "header", layout, list(layout.columns))
        elif layout is not None and text and not text.startswith("=="):
            record = _table_line(line, text, layout, has_rows)
            if record is not None:
                has_rows = has_rows or record.kind == "row"
                yield record


def _joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yields lines with their numbers; a row with a line break inside its quotes is one."""
    held: list[str] = []
    begin = 0
    for number, line in enumerate(lines, 1):
        starts_row = bool(_ROW_START.match(line))
        if held and (starts_row or line.startswith("==") or len(held) >= _MOST_JOINED):
            # What was held is a cut row; what came behind it are lines of their own.
            yield from enumerate(held, begin)
            held = []
        is_open = line.count('"') % 2 == 1 and len(line) <= _LONGEST_LINE
        if held:
            held.append(line)
            if is_open:
                yield begin, "\n".join(held)
                held = []
        elif starts_row and is_open:
            held, begin = [line], number
        else:
            yield number, line
    yield from enumerate(held, begin)


def _header(text: str) -> Layout | None:
    if len(text) > _LONGEST_LINE:
        return None
    for delimiter in _DELIMITERS:
        columns = tuple(cell.strip() for cell in _cells(text, delimiter) or ())
        words = sum(word in columns for word in _HEADER_WORDS)
        if KERNEL in columns and (words > 1 or "Process ID" in columns) and len(columns) >= _FEWEST_CELLS - 1:
            return Layout(columns, delimiter, is_quoted=f'"{KERNEL}"' in text)
    return None


def _cells(text: str, delimiter: str) -> list[str] | None:
    """Returns the cells of one row, None if it cannot be read as one."""
    try:
        rows = list(csv.reader([text], delimiter=delimiter))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def _table_line(line: int, text: str, layout: Layout, has_rows: bool) -> Record | None:
    """Returns the row, the units or the refusal that a line is; None for output of the program."""
    is_sound = len(text) <= _LONGEST_LINE and text.count('"') % 2 == 0
    cells = _cells(text, layout.delimiter) if is_sound else None
    if cells is not None and _fits(cells, layout):
        identified = layout.cell(cells, KERNEL) or (ID in layout.places and layout.cell(cells, ID))
        if not identified and not layout.is_long and not has_rows:
            return Record(line, "units", layout, cells)
        if identified and (ID not in layout.places or layout.cell(cells, ID).isdecimal()):
            return Record(line, "row", layout, cells)
    if not _looks_like_row(text, cells, layout):
        return None
    return Record(line, "refused", layout)


def _fits(cells: list[str], layout: Layout) -> bool:
    if len(cells) == len(layout.columns):
        return True
    if not layout.fewest_cells <= len(cells) < len(layout.columns):
        return False
    # Of a short row it must be clear that only its end is missing, not a cell within.
    if layout.cell(cells, METRIC_VALUE):
        return not any(cells[layout.places[METRIC_VALUE] + 1 :])
    return bool(layout.cell(cells, RULE_NAME)) and not layout.cell(cells, METRIC_NAME)


def _looks_like_row(text: str, cells: list[str] | None, layout: Layout) -> bool:
    if layout.is_quoted:
        return bool(_ROW_START.match(text)) or text.count(f'"{layout.delimiter}"') >= _FEWEST_CELLS - 1
    return bool(cells) and len(cells or ()) >= _FEWEST_CELLS and (cells or [""])[0].strip().isdecimal()
