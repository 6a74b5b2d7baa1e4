"""What every column obeys: its type, its length, read-only, and how a missing value is written.

Missing is NaN in a float column, ``MISSING`` in an integer column of quantities
and ``NO_ROW`` in a column of row numbers or text ids. 0 is always a value.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Uint8 = NDArray[np.uint8]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

MISSING: Final = -(2**63)
"""A quantity (time, bytes, count) that was not measured, in an int64 column."""

NO_ROW: Final = -1
"""No such row, or no such text."""


def freeze_columns(
    table: Any, types: Mapping[str, type[np.generic]], width: Mapping[str, int] | None = None
) -> None:
    """Checks the columns of a frozen dataclass and sets them read-only; called from ``__post_init__``.

    Args:
        table: The dataclass instance.
        types: Column name to numpy type; each is (n,) and all have one length.
        width: Columns that are (n, width) instead.

    Raises:
        ValueError: A column has another type, another shape or another length.
    """
    widths = width or {}
    length: int | None = None
    for name, expected in types.items():
        column = getattr(table, name)
        shape_ok = (
            column.ndim == 2 and column.shape[1] == widths[name] if name in widths else column.ndim == 1
        )
        if column.dtype != np.dtype(expected) or not shape_ok:
            raise ValueError(f"{type(table).__name__}.{name} is {column.dtype}{column.shape}")
        if length is not None and len(column) != length:
            raise ValueError(f"{type(table).__name__}.{name} has {len(column)} rows, others {length}")
        length = len(column)
        column.flags.writeable = False


def column_bytes(table: Any) -> int:
    """Returns how many bytes the columns of a table take."""
    values = (getattr(table, field.name) for field in fields(table))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
