"""Tables of a trace that stay at hand: the last ones, as far as they weigh no more than they may."""

from __future__ import annotations

import numpy as np

from core.tables.result import Column, ResultTable
from core.tables.selection import Selection
from gui.traces.document import TableAsk
from gui.traces.kept_tables import KeptTables, weight_of

ROWS = 100


def table_of(rows: int = ROWS) -> ResultTable:
    numbers = Column(key="calls", title="Calls", unit="count", help="", values=np.arange(rows))
    members = np.zeros(rows, np.int32)
    return ResultTable(
        name="launches",
        title="Launches",
        columns=(numbers,),
        members=members,
        member_ends=np.arange(1, rows + 1, dtype=np.int64),
    )


def ask_of(start_ns: int) -> TableAsk:
    return TableAsk("launches", "", Selection(start_ns, start_ns + 10))


def test_a_table_weighs_what_its_columns_and_members_take() -> None:
    assert weight_of(table_of()) == ROWS * (8 + 4 + 8)


def test_what_was_asked_for_is_at_hand_again() -> None:
    kept, table = KeptTables(), table_of()
    kept.keep(ask_of(0), table)
    assert kept.find(ask_of(0)) is table
    assert kept.find(ask_of(1)) is None


def test_many_ranges_weigh_no_more_than_they_may_and_the_longest_unused_goes_first() -> None:
    kept = KeptTables(most_bytes=3 * weight_of(table_of()))
    tables = [table_of() for _ in range(4)]
    for place, table in enumerate(tables[:3]):
        kept.keep(ask_of(place), table)
    assert kept.find(ask_of(0)) is tables[0]
    kept.keep(ask_of(3), tables[3])
    assert [kept.find(ask_of(place)) for place in range(4)] == [tables[0], None, tables[2], tables[3]]


def test_the_newest_stays_however_large_it_is() -> None:
    kept = KeptTables(most_bytes=1)
    kept.keep(ask_of(0), table_of())
    large = table_of(10 * ROWS)
    kept.keep(ask_of(1), large)
    assert kept.find(ask_of(0)) is None
    assert kept.find(ask_of(1)) is large
