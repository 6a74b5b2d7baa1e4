"""Times that can be believed: what is dropped, and rates that no device reaches.

Pure. A time that is wrong is worse than none: it is counted, told and not used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from core.edge.dispatch_table import work_of
from core.edge.result import EdgeProblem
from core.units import format_flop_per_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.edge.events import Ceiling, Dispatch

MEASURED_MARGIN: Final = 4.0
"""A measured rate is what one kernel reached, not what the device can: so many times that is believed.

Work that nobody waited for has been seen at ten times the device's rate and far more.
"""


@dataclass(frozen=True, slots=True)
class Roof:
    """The highest FLOP/s that a device can reach.

    Attributes:
        per_s: FLOP/s.
        source: For people: "the data sheet", "the measured ceiling".
        margin: So many times that is still believed.
    """

    per_s: float
    source: str
    margin: float = 1.0


def believable(calls_s: Sequence[float]) -> tuple[tuple[float, ...], EdgeProblem | None]:
    """Drops times that are none: negative, zero, NaN, infinite.

    Returns:
        What is left, and what is to be said of the rest.
    """
    good = tuple(each for each in calls_s if math.isfinite(each) and each > 0)
    dropped = len(calls_s) - len(good)
    if not dropped:
        return good, None
    what = "1 call took" if dropped == 1 else f"{dropped:,} calls took"
    problem = EdgeProblem(
        code="impossible_times",
        message=f"By its clock {what} no time or less; they are not used.",
        hint="Update the driver; what is shown rests on the other calls." if good else "Update the driver.",
        count=dropped,
    )
    return good, problem


def measured_roof(ceilings: Sequence[Ceiling], precision: str, dispatches: Sequence[Dispatch]) -> Roof | None:
    """The fastest product of the same run: as a ceiling, or as a dispatch by the device's own clock.

    A clock that is wrong must not lift the roof over everything: a dispatch lifts it
    to what is believed of the ceiling, and no higher. None without any.
    """
    rates = [each.per_s for each in ceilings if each.what == "gemm" and each.type == precision]
    most = MEASURED_MARGIN * max(rates) if rates else math.inf
    rates += [min(rate, most) for rate in _rates_per_s(dispatches)]
    return Roof(max(rates), "the fastest product that was measured", MEASURED_MARGIN) if rates else None


def _rates_per_s(dispatches: Sequence[Dispatch]) -> list[float]:
    """FLOP/s of those that have a time, and a name that tells their work."""
    rates = []
    for each in dispatches:
        flop = work_of(each.name).flop
        if flop is not None and each.duration_ns is not None and each.duration_ns > 0:
            rates.append(flop / (each.duration_ns * 1e-9))
    return rates


def impossible_rate(flops: int | None, calls_s: Sequence[float], roof: Roof | None) -> EdgeProblem | None:
    """Says what is wrong with a rate that is beyond the device; None if nothing is, or nothing is known.

    Args:
        flops: Of one call.
        calls_s: Believable times of warm calls.
        roof: Of the device.
    """
    if flops is None or roof is None or not calls_s:
        return None
    rate = flops / median(calls_s)
    if rate <= roof.per_s * roof.margin:
        return None
    return EdgeProblem(
        code="impossible_rate",
        message=(
            f"{format_flop_per_s(rate)} is {rate / roof.per_s:,.1f} times {roof.source} "
            f"({format_flop_per_s(roof.per_s)}): the call came back before the work was done."
        ),
        hint="No speed is shown. The backend did not wait for the device.",
    )


def dispatch_problem(dispatches: Sequence[Dispatch]) -> EdgeProblem | None:
    """Says how many kernels have no valid device time."""
    bad = sum(1 for each in dispatches if each.duration_ns is None or each.duration_ns < 0)
    if not bad:
        return None
    what = "1 dispatch has" if bad == 1 else f"{bad:,} dispatches have"
    return EdgeProblem(
        code="dispatch_times",
        message=f"{what} no valid time by the device's clock, of {len(dispatches):,}.",
        hint="They are listed as n/a and are in no sum.",
        count=bad,
    )


def dispatch_rate_problem(dispatches: Sequence[Dispatch], roof: Roof | None) -> EdgeProblem | None:
    """Says how many kernels would be faster than the device, by its own clock."""
    if roof is None:
        return None
    bad = sum(1 for rate in _rates_per_s(dispatches) if rate > roof.per_s * roof.margin)
    if not bad:
        return None
    what = "1 dispatch is" if bad == 1 else f"{bad:,} dispatches are"
    return EdgeProblem(
        code="impossible_dispatch_rates",
        message=(
            f"By the device's clock {what} faster than {roof.source} ({format_flop_per_s(roof.per_s)}) "
            "allows: that clock is wrong."
        ),
        hint="Do not trust times of dispatches here. Update the driver.",
        count=bad,
    )
