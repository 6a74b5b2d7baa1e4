"""Launches numbered for people: from 1, where programs get the row in the file, from 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from core.tables.result import ResultTable

LAUNCH: Final = "launch"
"""Key of the column of a launch's row in the file, from 0, as ``--launch`` takes it."""

NUMBER: Final = "number"
"""Key of the column of a launch's number in the file, from 1."""


def numbered(table: ResultTable) -> ResultTable:
    """Returns a table of a report that counts launches from 1; as it is if it is not about single ones."""
    columns = tuple(
        replace(
            column, key=NUMBER, title="Number", help="In the file: 1 is the first.", values=column.values + 1
        )
        if column.key == LAUNCH
        else column
        for column in table.columns
    )
    return replace(table, columns=columns)
