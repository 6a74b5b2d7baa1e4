"""Words and figures of a chart: values with units, moments, notes. No Qt events, no drawing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from core.units import format_count, format_elapsed, format_number
from gui.plots.curves import nearest
from gui.plots.labels import closest_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QColor

    from gui.plots.curves import ChartData
    from gui.plots.layers import Drawn, End


_NEAR_PX = 2.0

DECIMALS = {
    "GiB": 2,
    "ms": 1,
    "%": 0,
    "W": 0,
    "MHz": 0,
    "GB/s": 1,
    "\N{DEGREE SIGN}C": 0,
}
"""Decimals of a figure by its unit; without a unit it gets significant digits."""


def with_unit(value: float, unit: str, digits: int = 5) -> str:
    """A figure of a chart: "8.42 GiB", "108.2 ms", "10.374"."""
    if digits != 5 or unit not in DECIMALS or not math.isfinite(value):
        text = format_number(value, digits)
    else:
        text = f"{value:,.{DECIMALS[unit]}f}".replace("-", "\N{MINUS SIGN}")
    separator = "\N{NO-BREAK SPACE}" if unit == "%" else " "
    return f"{text}{separator}{unit}" if unit else text


def spread_words(value: float, unit: str) -> str:
    """How far curves lie apart, not finer than the unit's figures are shown: "0.4 GiB"."""
    finest = 10.0 ** -DECIMALS[unit] if unit in DECIMALS else 0.0
    return with_unit(max(value, finest), unit, 1)


def moment(seconds: float) -> str:
    """A time since the run was created: "12.4 s", "02:14"."""
    return f"{seconds:.1f} s" if seconds < 100 else format_elapsed(seconds)


def some_ranks(group: list[int], ends: tuple[End, ...]) -> str:
    """Names a group of curves: "ranks 0, 1 and 3", "6 of 8 ranks"."""
    ranks = sorted(rank for index in group if (rank := ends[index].rank) is not None)
    if len(ranks) > 4:
        return f"{len(ranks)} of {len(ends)} ranks"
    return f"ranks {', '.join(str(rank) for rank in ranks[:-1])} and {ranks[-1]}"


def counted(drawn: Drawn, x_name: str) -> str:
    """Says at how many places something was measured that is no number."""
    words = [
        f"{name} at {format_count(places)} {x_name if places == 1 else x_name + 's'}"
        for name, places in (("NaN", drawn.nan_places), ("infinite", drawn.inf_places))
        if places
    ]
    return ", ".join(words)


def spread_rows(data: ChartData, x: float) -> list[tuple[QColor | None, str, str]]:
    """Largest, median and smallest value of all ranks at ``x``, for the crosshair."""
    values = [float(curve.y[at]) for curve in data.curves if (at := nearest(curve, x)) is not None]
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return []
    return [
        (None, name, with_unit(value, data.unit))
        for name, value in (
            ("Largest", max(finite)),
            ("Median", float(np.median(finite))),
            ("Smallest", min(finite)),
        )
    ]


def value_of(end: End, log: bool) -> float:
    """The value at a curve's end, whatever the axis."""
    return float(10.0**end.y) if log else end.y


def notes_of(
    data: ChartData, drawn: Drawn, end_px: Sequence[float], *, lines: bool, log: bool
) -> tuple[str, ...]:
    """What has to be said in the plot, a line each.

    Args:
        data: What the chart shows.
        drawn: What was drawn of it.
        end_px: Pixel row of each of ``drawn.ends``.
        lines: Each rank has a line of its own.
        log: The y axis is logarithmic.
    """
    notes = [note for note in (data.note, drawn.note) if note]
    near = _near_note(data, drawn, end_px, log) if lines else ""
    if near:
        notes.append(near)
    if drawn.off_scale:
        values = "value" if drawn.off_scale == 1 else "values"
        notes.append(f"{format_count(drawn.off_scale)} {values} at or below 0, not on the log scale")
    odd = counted(drawn, data.x_name)
    if odd:
        notes.append(odd)
    return tuple(notes)


def _near_note(data: ChartData, drawn: Drawn, end_px: Sequence[float], log: bool) -> str:
    group = closest_group(end_px, _NEAR_PX)
    if not group:
        return ""
    values = [value_of(drawn.ends[index], log) for index in group]
    spread = max(values) - min(values)
    everybody = len(group) == len(drawn.ends)
    who = f"{len(group)} ranks" if everybody else some_ranks(group, drawn.ends)
    return f"{who} within {spread_words(spread, data.unit)}" if spread else f"{who} equal"
