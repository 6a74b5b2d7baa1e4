"""What every analysis returns: a table whose columns explain themselves.

Because each column carries its title, unit and meaning, one piece of code shows
any analysis and one exports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.tables.columns import MISSING, NO_ROW, Bool, Float64, Int32, Int64
from core.tables.strings import StringTable

Unit = Literal["", "ns", "bytes", "pct", "bytes_per_s", "flop", "flop_per_s", "flop_per_byte", "count", "id"]
"""``count`` is a number of things (with thousands separators), ``id`` a number that names one (without)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Column:
    """One column.

    Attributes:
        key: Name for programs, with its unit as suffix: ``sum_ns``.
        title: Name for people, without the unit: "Sum".
        unit: Of the values; "" for texts.
        help: One sentence: what it is and how it is made.
        values: (n,) int64 (MISSING), float64 (NaN), or int32 text ids (NO_ROW).
        texts: For text ids only.
        shown: Whether it is shown unless the user chooses otherwise.
        at_most: (n,) bool for a column of numbers: which of them are upper bounds, shown with a sign;
            None if none is.
        wrong: (n,) bool: which cells say that something is not as it should be, drawn in the colour of
            errors; None if none does.
    """

    key: str
    title: str
    unit: Unit
    help: str
    values: Int64 | Float64 | Int32
    texts: StringTable | tuple[str, ...] | None = None
    shown: bool = True
    at_most: Bool | None = None
    wrong: Bool | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype not in (np.int64, np.float64, np.int32):
            raise ValueError(f"Column {self.key} is {self.values.dtype}{self.values.shape}")
        if (self.values.dtype == np.int32) != (self.texts is not None):
            raise ValueError(f"Column {self.key}: text ids and texts belong together")
        if self.at_most is not None and len(self.at_most) != len(self.values):
            raise ValueError(f"Column {self.key}: {len(self.at_most)} bounds, {len(self.values)} rows")
        if self.wrong is not None and len(self.wrong) != len(self.values):
            raise ValueError(f"Column {self.key}: {len(self.wrong)} marks, {len(self.values)} rows")
        self.values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.values)

    def value(self, row: int) -> int | float | str | None:
        """Returns one cell; None where it is missing."""
        raw = self.values[row]
        if self.texts is not None:
            return None if raw == NO_ROW else self.texts[int(raw)]
        if self.values.dtype == np.int64:
            return None if raw == MISSING else int(raw)
        return None if np.isnan(raw) else float(raw)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResultTable:
    """The answer of an analysis.

    Attributes:
        name: For programs: ``kernels``.
        title: For people: "Kernels".
        columns: All of one length.
        notes: What limits the answer, for people: "12 launches could not be linked to an operator".
        empty: What to say when there are no rows.
        members: Row numbers of ``SliceTable`` that make up each row, all rows one after the other, or of
            ``LaunchTable`` if the table is of a report; None if rows are not made of such. ``member_ends``
            (rows,) int64 says where each row's end.
        sorted_by: Key of the column that orders it; descending.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    empty: str = ""
    members: Int32 | None = None
    member_ends: Int64 | None = None
    sorted_by: str | None = None

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.columns}
        if len(lengths) > 1:
            raise ValueError(f"{self.name}: columns of {sorted(lengths)} rows")
        if (self.members is None) != (self.member_ends is None):
            raise ValueError(f"{self.name}: members and member_ends belong together")
        if self.member_ends is not None and len(self.member_ends) != len(self):
            raise ValueError(f"{self.name}: {len(self.member_ends)} member ends, {len(self)} rows")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def column(self, key: str) -> Column:
        """Returns a column by its key.

        Raises:
            KeyError: There is none.
        """
        for column in self.columns:
            if column.key == key:
                return column
        raise KeyError(key)

    def rows_of(self, row: int) -> Int32:
        """Returns the slices or launches that make up a row; empty if it is made of none."""
        if self.members is None or self.member_ends is None:
            return np.empty(0, np.int32)
        start = int(self.member_ends[row - 1]) if row else 0
        return self.members[start : int(self.member_ends[row])]
