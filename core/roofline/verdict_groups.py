"""What repeats of one kernel gain together: each remedy's gains added up over its launches.

A launch of many looks not worth a remedy: its share of the report is small. Of
all of them together it may be the first thing to do.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.roofline.verdict_gains import part_words
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.roofline.verdict import Remedy

MOST_JUDGED: Final = 200
"""So many launches of a group are judged, each a part of a millisecond; of more, evenly spread ones."""

_BEGINNING: Final = re.compile(r"[^\d:.]+")


def judged_rows(rows: Sequence[int]) -> tuple[int, ...]:
    """Returns the launches of a group that are judged, the first among them."""
    if len(rows) <= MOST_JUDGED:
        return tuple(rows)
    places = np.linspace(0, len(rows) - 1, MOST_JUDGED).round().astype(np.int64)
    return tuple(rows[place] for place in places.tolist())


def summed_remedies(
    found: Sequence[Sequence[Remedy]], launch_count: int, scale: float, part: float | None
) -> list[Remedy]:
    """Adds up what remedies gain over the launches of a group.

    Args:
        found: The remedies of each launch that was judged; their bases do not say what a launch is a part of.
        launch_count: Launches of the group.
        scale: Time of the group over that of the launches that were judged.
        part: Time of the group as a part of the report's, None where it is not known.
    """
    alike: dict[str, list[Remedy]] = {}
    for remedies in found:
        for remedy in remedies:
            alike.setdefault(_advice(remedy), []).append(remedy)
    return [_sum(each, launch_count, len(found), scale, part) for each in alike.values()]


def _advice(remedy: Remedy) -> str:
    """Return the words of a remedy before its first figure or stop: they are the same for each launch."""
    begin = _BEGINNING.match(remedy.text)
    return begin[0] if begin else remedy.text


def _sum(
    alike: Sequence[Remedy], launch_count: int, judged_count: int, scale: float, part: float | None
) -> Remedy:
    bounded = [each for each in alike if each.gain_pct is not None]
    if not bounded or part is None:
        return replace(alike[0], gain_pct=None, whole="")
    gain_pct = scale * sum(each.gain_pct or 0.0 for each in bounded)
    of = f"all {format_count(launch_count)} launches together are {part_words(part, bounded[0].whole)}"
    if judged_count < launch_count:
        of += f", as of {format_count(judged_count)} of them"
    return replace(bounded[0], gain_pct=min(gain_pct, 100 * part), basis=f"{bounded[0].basis}; {of}")
