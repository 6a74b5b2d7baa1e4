"""The part of a trace that an analysis is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.tables.columns import Bool, Int32
    from core.tables.trace import SliceTable


@dataclass(frozen=True, slots=True)
class Selection:
    """A half-open range of time, on all tracks or some. A slice belongs to the range in which it starts.

    So adjoining ranges share no slice, and their totals add up to the whole's.

    Attributes:
        start_ns, end_ns: Since the trace's start; None leaves that side open.
        tracks: Rows of ``TrackTable``, such as those of one rank; None for all.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    tracks: tuple[int, ...] | None = None

    @property
    def times(self) -> Selection:
        """The same range on all tracks."""
        return Selection(self.start_ns, self.end_ns)

    def on_tracks(self, track: Int32) -> Bool:
        """Returns (n,) bool: which of some rows of ``TrackTable`` belong to it."""
        import numpy as np  # noqa: PLC0415 - the window names selections before it loads NumPy

        if self.tracks is None:
            return np.ones(len(track), np.bool_)
        chosen: Bool = np.isin(track, self.tracks)
        return chosen

    def mask(self, slices: SliceTable) -> Bool:
        """Returns (n,) bool: the slices that belong to it."""
        chosen = self.on_tracks(slices.track)
        if self.start_ns is not None:
            chosen &= slices.start_ns >= self.start_ns
        if self.end_ns is not None:
            chosen &= slices.start_ns < self.end_ns
        return chosen


WHOLE = Selection()
