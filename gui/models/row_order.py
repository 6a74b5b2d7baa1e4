"""Which rows of a result table are shown, and in which order; without Qt, for a worker or the UI thread.

A million launches share some hundred names: a filter looks at each text once and
then only at ids, and names are sorted by their ranks. Nothing is an object per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.tables.columns import MISSING, NO_ROW, Bool, Float64, Int32, Int64
from core.tables.display import displays_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.display import ColumnDisplay
    from core.tables.result import Column, ResultTable

_WIDTH_SAMPLE = 500


@dataclass(frozen=True, slots=True)
class SortBy:
    """A column by its key, and the direction."""

    key: str
    descending: bool


@dataclass(frozen=True, slots=True, eq=False)
class UniqueTexts:
    """The texts that occur in one column, each once.

    Attributes:
        ids: (m,) int32, ids of these texts.
        folded: The texts in the same order, ready for a search that ignores case.
    """

    ids: Int32
    folded: tuple[str, ...]


class TableRows:
    """Filters and sorts one table, and keeps what the next keystroke needs again.

    All of it may run in a worker: two at once do the same work twice and find the same.
    """

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self._unique: dict[str, UniqueTexts] = {}
        self._sorted: tuple[SortBy, Int32] | None = None
        self._displays: tuple[ColumnDisplay, ...] | None = None
        self._widest: tuple[tuple[str, ...], ...] | None = None
        self._is_empty: tuple[bool, ...] | None = None

    @property
    def displays(self) -> tuple[ColumnDisplay, ...]:
        """How each column reads."""
        if self._displays is None:
            self._displays = displays_of(self.table.columns)
        return self._displays

    @property
    def widest(self) -> tuple[tuple[str, ...], ...]:
        """For each column some texts among which the widest one is."""
        if self._widest is None:
            self._widest = tuple(
                self._widest_of(column, display)
                for column, display in zip(self.table.columns, self.displays, strict=True)
            )
        return self._widest

    @property
    def is_empty(self) -> tuple[bool, ...]:
        """For each column whether no row has a value in it."""
        if self._is_empty is None:
            self._is_empty = tuple(not _is_known(column).any() for column in self.table.columns)
        return self._is_empty

    def arrange(self, words: tuple[str, ...], sort: SortBy | None, check: Callable[[], None]) -> Int32:
        """Returns (shown,) int32: rows that hold all words, in order.

        Args:
            words: Lower case (``casefold``); a row must hold each of them in one of its texts.
            sort: None is the table's own order. Equal rows keep their order; missing values come last.
            check: Called between steps; what it raises ends the work.
        """
        found = self._found(words, check)
        order = None if sort is None else self._order(sort, check)
        if order is None:
            return np.flatnonzero(found).astype(np.int32) if found is not None else self._all()
        return order if found is None else order[found[order]]

    def first_starting(self, column: Column, start: str, rows: Int32) -> int:
        """Returns the first place in ``rows`` whose text begins with ``start``, -1 if there is none."""
        unique = self._texts(column)
        hits = np.fromiter((text.startswith(start) for text in unique.folded), np.bool_, len(unique.folded))
        places = self._rows_with(column, unique, hits)[rows]
        return int(np.argmax(places)) if places.any() else -1

    def _all(self) -> Int32:
        return np.arange(len(self.table), dtype=np.int32)

    def _found(self, words: tuple[str, ...], check: Callable[[], None]) -> Bool | None:
        if not words:
            return None
        found = np.ones(len(self.table), np.bool_)
        columns = [column for column in self.table.columns if column.texts is not None]
        for word in words:
            any_column = np.zeros(len(self.table), np.bool_)
            for column in columns:
                check()
                unique = self._texts(column)
                hits = np.fromiter((word in text for text in unique.folded), np.bool_, len(unique.folded))
                if hits.any():
                    any_column |= self._rows_with(column, unique, hits)
            found &= any_column
        return found

    def _texts(self, column: Column) -> UniqueTexts:
        if column.key not in self._unique:
            texts = column.texts
            assert texts is not None
            used = np.zeros(len(texts) + 1, np.bool_)
            # NO_ROW is -1: it marks the place behind the last text.
            used[column.values] = True
            ids = np.flatnonzero(used[:-1]).astype(np.int32)
            self._unique[column.key] = UniqueTexts(ids, tuple(texts[int(i)].casefold() for i in ids))
        return self._unique[column.key]

    @staticmethod
    def _rows_with(column: Column, unique: UniqueTexts, hits: Bool) -> Bool:
        assert column.texts is not None
        flags = np.zeros(len(column.texts) + 1, np.bool_)
        flags[unique.ids[hits]] = True
        return flags[column.values]

    def _order(self, sort: SortBy, check: Callable[[], None]) -> Int32:
        kept = self._sorted
        if kept is None or kept[0] != sort:
            check()
            kept = (sort, self._sorted_by(self.table.column(sort.key), sort.descending))
            kept[1].flags.writeable = False
            self._sorted = kept
        return kept[1]

    def _sorted_by(self, column: Column, descending: bool) -> Int32:
        keys: Int64 | Float64 | Int32 = column.values if column.texts is None else self._ranks(column)
        present = _is_known(column)
        rows = self._all()
        if present.all():
            return stable_order(keys, descending)
        known = rows[present]
        return np.concatenate((known[stable_order(keys[present], descending)], rows[~present]))

    def _ranks(self, column: Column) -> Int32:
        """Returns (n,) int32: the place of each row's text among all texts in order."""
        assert column.texts is not None
        unique = self._texts(column)
        order = sorted(range(len(unique.folded)), key=unique.folded.__getitem__)
        ranks = np.zeros(len(column.texts) + 1, np.int32)
        ranks[unique.ids[order]] = np.arange(len(order), dtype=np.int32)
        return ranks[column.values]

    def _widest_of(self, column: Column, display: ColumnDisplay) -> tuple[str, ...]:
        if not len(column):
            return ()
        if column.texts is not None:
            ids = np.unique(column.values[: 20 * _WIDTH_SAMPLE])[:_WIDTH_SAMPLE]
            texts = sorted((column.texts[int(i)] for i in ids if i != NO_ROW), key=len)
            return tuple(texts[-3:])
        values = column.values
        known = _is_known(column)
        if not known.any():
            return (display.text(None),)
        places = (
            int(np.argmax(np.where(known, values, values[known][0]))),
            int(np.argmin(np.where(known, values, values[known][0]))),
        )
        texts = [display.text(column.value(place)) for place in places]
        return tuple(texts if known.all() else [*texts, display.text(None)])


def _is_known(column: Column) -> Bool:
    """Returns (n,) bool: the rows in which a column has a value."""
    known: Bool
    if column.texts is not None:
        known = column.values != NO_ROW
    elif column.values.dtype == np.int64:
        known = column.values != MISSING
    else:
        known = ~np.isnan(column.values)
    return known


def stable_order(keys: Int64 | Float64 | Int32, descending: bool) -> Int32:
    """Returns (n,) int32, the places of ``keys`` in order; equal keys keep theirs.

    Numpy's stable sort of a million numbers takes 150 ms here, its vectorized one
    that keeps no order 35 ms. So the latter runs, then equal keys get one number,
    and number and place, packed into one integer, are sorted once more (20 ms).
    """
    if not len(keys):
        return np.empty(0, np.int32)
    ordered = _falling(keys) if descending else keys
    order = np.argsort(ordered)
    in_order = ordered[order]
    numbers = np.zeros(len(keys), np.int64)
    np.cumsum(in_order[1:] != in_order[:-1], out=numbers[1:])
    if numbers[-1] == len(keys) - 1:
        return order.astype(np.int32)
    shift = len(keys).bit_length()
    numbers <<= shift
    numbers |= order
    numbers.sort()
    return (numbers & ((1 << shift) - 1)).astype(np.int32)


def _falling(keys: Int64 | Float64 | Int32) -> Int64 | Float64 | Int32:
    """The same keys the other way round. The complement, unlike the negative, exists for every integer."""
    if keys.dtype == np.float64:
        return -keys
    turned: Int64 | Int32 = np.invert(keys)
    return turned
