"""What live views are made of: a curve and a line of output.

Plain data that imports nothing heavy; ``series`` and ``log_lines`` make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Level = Literal["info", "warn", "error"]

Stream = Literal["out", "err"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """A growing curve. The arrays are read-only views that never change.

    Attributes:
        x: (n,) float64, ascending; step number, or seconds since the run was
            created, as the series' name says.
        y: (n,) float64, in the unit of the series; NaN is a gap, and a
            measured NaN or infinity stays what it is.
        generation: Views of the same series and generation differ only by
            points added at the end.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of output as it is to be shown: plain text, controls removed.

    Attributes:
        number: Grows by one for each line of the run as read; a line that is
            rewritten in place (a progress bar) keeps its number.
        rank: Global rank; None is the launcher's own output.
        t_ns: When it was read, None for what was there before.
        level: From its words: warnings and errors, "info" otherwise.
        spans: Colours that the program asked for: (start, end, ANSI index 0-15).
        offset_bytes: Where it begins in its file; None for a line that is not
            in the file, such as "N lines not shown".
    """

    number: int
    rank: int | None
    stream: Stream
    text: str
    level: Level = "info"
    t_ns: int | None = None
    spans: tuple[tuple[int, int, int], ...] = ()
    offset_bytes: int | None = None
