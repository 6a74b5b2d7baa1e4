"""What a timeline is given to show, and what it tells about clicks: plain data.

The page makes a ``TimelineContent`` from its trace and hands it to the view; the
view asks back for words by slice row only, so it knows no trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.traces.lanes import COLOURS

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.timeline import CounterLane, TimelineIndex

CATEGORIES = tuple(name for name in COLOURS if name != "triton")
"""Colours of the theme in their fixed order; a colour of the index is a place in it unless told otherwise."""


@dataclass(frozen=True, slots=True)
class SliceWords:
    """What the tooltip says of a slice.

    Attributes:
        name: As the file has it.
        pairs: Up to four of what and value.
    """

    name: str
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FlowArrow:
    """An arrow from a moment in a lane to one in another."""

    from_lane: int
    from_ns: int
    to_lane: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class SliceRef:
    """A slice of the timeline.

    Attributes:
        slice_row: Row of the slices that the index was made from.
        lane: Its lane.
        start_ns: Its start.
        end_ns: Its end.
    """

    slice_row: int
    lane: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TimelineContent:
    """All that a timeline shows.

    Attributes:
        index: The slices.
        name_of: Short name of a slice by its slice row, for labels in the lanes.
        words_of: What the tooltip says of a slice.
        counters: Lanes with a curve; they stand below the lanes of their group.
        categories: Name of the theme's category colour for each colour of the index.
        boundaries_ns: Where steps begin; dashed lines.
        origin_ns: What the ruler calls zero.
        overview_note: What the overview shows: "GPU busy, 4 ranks".
    """

    index: TimelineIndex
    name_of: Callable[[int], str]
    words_of: Callable[[int], SliceWords]
    counters: tuple[CounterLane, ...] = ()
    categories: tuple[str, ...] = CATEGORIES
    boundaries_ns: tuple[int, ...] = ()
    origin_ns: int = 0
    overview_note: str = ""
