"""Whether communication ran while a kernel did: such a kernel shares its device and may look slow for that.

A device is a process id of the file, as in ``overlap``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.intervals import ends_ns, union
from core.tables.trace import SliceKind
from core.units import format_duration_ns, format_pct

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex

_NAMES: Final = 2
"""How many kernels the words name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideCommunication:
    """What communicated on the same device during a kernel.

    Attributes:
        overlap_ns: Time of the kernel in which at least one collective ran.
        share_pct: Of the kernel's time.
        kernels: Short names of the communication kernels, each once, by start.
    """

    overlap_ns: int
    share_pct: float
    kernels: tuple[str, ...]

    @property
    def words(self) -> str:
        """It in two sentences."""
        names = ", ".join(self.kernels[:_NAMES])
        more = len(self.kernels) - _NAMES
        others = f" and {more:,} more" if more > 0 else ""
        return (
            f"Communication ran beside it for {format_duration_ns(self.overlap_ns)} "
            f"({format_pct(self.share_pct, 0)} of its time): {names}{others}. "
            "Both share the device, so it may be faster alone."
        )


def beside_communication(index: TraceIndex, row: int) -> BesideCommunication | None:
    """Finds what communicated during a kernel (case R13).

    Args:
        index: The trace.
        row: Row of its ``SliceTable``.

    Returns:
        None if nothing did, if it communicates itself, and for what is no kernel or has no possible length.
    """
    slices, rows = index.trace.slices, index.trace.device_work.slice_row
    duration_ns = int(slices.duration_ns[row])
    if slices.kind[row] != SliceKind.KERNEL or duration_ns <= 0:
        return None
    communicates = index.categories == Category.COMMUNICATION
    if communicates[np.searchsorted(rows, row)]:
        return None
    communicates &= slices.duration_ns[rows] > 0
    first_ns = slices.start_ns[row]
    last_ns = int(ends_ns(slices.start_ns[[row]], slices.duration_ns[[row]])[0])
    begin_ns, end_ns = slices.start_ns[rows], ends_ns(slices.start_ns[rows], slices.duration_ns[rows])
    process = index.trace.tracks.process_id[slices.track]
    chosen = communicates & (process[rows] == process[row]) & (begin_ns < last_ns) & (end_ns > first_ns)
    found = np.flatnonzero(chosen)
    if not len(found):
        return None
    found = found[np.argsort(begin_ns[found], kind="stable")]
    during = union(
        np.zeros(len(found), np.int64),
        np.maximum(begin_ns[found], first_ns),
        np.minimum(end_ns[found], last_ns),
    )
    names = [index.trace.strings[text_id] for text_id in slices.name_id[rows[found]].tolist()]
    return BesideCommunication(
        overlap_ns=during.total_ns,
        share_pct=100 * during.total_ns / duration_ns,
        kernels=tuple(index.short_name_of[name] for name in dict.fromkeys(names)),
    )
