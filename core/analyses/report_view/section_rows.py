"""The values of a section one below the other: what its header, tables and bars show, each with its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from core.analyses.report_view.parts import BarPart, Cell, RowPart, TablePart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.analyses.report_view.parts import Part, SectionView


class SectionRow(NamedTuple):
    """A value, and where it stands; ``table`` is "" for the header of the section."""

    section: str
    table: str
    label: str
    cell: Cell


def section_rows(view: SectionView) -> Iterator[SectionRow]:
    """Yields each value of a section once for a table and label; curves are no single values."""
    rows = [("", each.label, each.cell) for line in view.header for each in line]
    for part in view.items:
        rows += _part_rows(part)
    seen: set[tuple[str, str]] = set()
    for table, label, cell in rows:
        if (table, label) not in seen:
            seen.add((table, label))
            yield SectionRow(view.title or view.identifier, table, label, cell)


def _part_rows(part: Part) -> Iterator[tuple[str, str, Cell]]:
    if isinstance(part, RowPart):
        for each in part.parts:
            yield from _part_rows(each)
    elif isinstance(part, BarPart):
        for bar in part.bars:
            yield part.label, bar.label, bar.cell
    elif isinstance(part, TablePart):
        for row in part.rows:
            yield from _cells(part, row)


def _cells(part: TablePart, row: tuple[Cell | None, ...]) -> Iterator[tuple[str, str, Cell]]:
    """Yields the values of a row, each with the words before it and those above it."""
    words = ""
    for column, cell in zip(part.columns, row, strict=True):
        if column.is_label:
            words = str(cell.value) if cell is not None and cell.value is not None else ""
        elif cell is not None:
            yield part.label, f"{words} {column.title}".strip(), cell
