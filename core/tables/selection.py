"""The part of a trace that an analysis is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.tables.columns import Bool
    from core.tables.trace import SliceTable


@dataclass(frozen=True, slots=True)
class Selection:
    """A half-open range of time. A slice belongs to the range in which it starts.

    So adjoining ranges share no slice, and their totals add up to the whole's.
    None leaves that side open.
    """

    start_ns: int | None = None
    end_ns: int | None = None

    def mask(self, slices: SliceTable) -> Bool:
        """Returns (n,) bool: the slices that belong to it."""
        import numpy as np  # noqa: PLC0415 - the window names selections before it loads NumPy

        chosen = np.ones(len(slices), np.bool_)
        if self.start_ns is not None:
            chosen &= slices.start_ns >= self.start_ns
        if self.end_ns is not None:
            chosen &= slices.start_ns < self.end_ns
        return chosen


WHOLE = Selection()
