"""The tables that were made last, so that going back to a tab costs nothing; bounded by what they weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from core.tables.result import ResultTable
    from gui.traces.document import TableAsk

KEPT_BYTES: Final = 2**29
"""A million launches weigh a quarter of that: many ranges of a large trace must not fill the memory."""


class KeptTables:
    """Answers by what was asked; the longest unused go first, the newest always stays."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._tables: dict[TableAsk, ResultTable] = {}

    def find(self, ask: TableAsk) -> ResultTable | None:
        """Returns the answer if it is still at hand."""
        table = self._tables.pop(ask, None)
        if table is not None:
            self._tables[ask] = table
        return table

    def keep(self, ask: TableAsk, table: ResultTable) -> None:
        """Keeps an answer, and gives up others if need be."""
        self._tables.pop(ask, None)
        self._tables[ask] = table
        weight_bytes = {each: weight_of(kept) for each, kept in self._tables.items()}
        total_bytes = sum(weight_bytes.values())
        for each in [*self._tables][:-1]:
            if total_bytes <= self._most_bytes:
                return
            total_bytes -= weight_bytes[each]
            del self._tables[each]


def weight_of(table: ResultTable) -> int:
    """Returns the bytes of a table's columns; texts are the trace's own."""
    columns = sum(each.values.nbytes for each in table.columns)
    bounds = sum(each.at_most.nbytes for each in table.columns if each.at_most is not None)
    members = sum(each.nbytes for each in (table.members, table.member_ends) if each is not None)
    return columns + bounds + members
