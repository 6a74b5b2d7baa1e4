"""The row that every benchmark gives back, and how rows are printed."""

from __future__ import annotations

import statistics
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Row:
    """One measured figure, as text.

    Attributes:
        name: What was measured.
        figure: Which figure, with its unit.
        median: Its median.
        spread: Smallest and largest.
        against: What it is compared with, and that one's median.
        ratio: This median through that one.
    """

    name: str
    figure: str
    median: str
    spread: str
    against: str
    ratio: str


HEADER = Row("benchmark", "figure", "median", "spread", "against", "ratio")


def spread_of(values: Sequence[float], digits: int = 3) -> str:
    """Smallest and largest value as "a to b"."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def median_of(values: Sequence[float], digits: int = 3) -> str:
    """The median as text."""
    return f"{statistics.median(values):.{digits}f}"


def print_rows(rows: Sequence[Row]) -> None:
    """Prints rows as a table with aligned columns."""
    cells = [astuple(row) for row in (HEADER, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
