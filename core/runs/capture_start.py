"""At which step a trace of several ranks is to begin. Asks for nothing itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.runs.snapshot import RunSnapshot

REQUEST_READ_NS = 500_000_000
"""By then every agent has read a request; they look four times a second."""


def common_first_step(snapshot: RunSnapshot) -> int | None:
    """Return a step that every rank is sure to begin after it has read the request.

    Without it ranks that read the request on either side of a step boundary
    would begin their traces one step apart.
    """
    steps = [rank.step for rank in snapshot.ranks if rank.step is not None]
    times_ns = [rank.step_time_ns for rank in snapshot.ranks if rank.step_time_ns]
    if not steps or not times_ns:
        return None
    return max(steps) + 2 + math.ceil(REQUEST_READ_NS / min(times_ns))
