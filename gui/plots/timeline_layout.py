"""Where the lanes of a timeline lie: groups, pins and folded lanes turned into pixels. Pure, no Qt.

Coordinates are device-independent pixels from the top of the lanes; pinned lanes
have their own, because they do not scroll.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core.tables.timeline import CounterLane, TimelineIndex

StripKind = Literal["group", "lane", "counter"]

HEAD_PX = 22
ROW_PX = 14
TALL_ROW_PX = 20
COUNTER_PX = 24
PAD_PX = 3
GAP_PX = 1
FOLDED_ROWS = 6
"""Rows that a thread shows until it is unfolded. Streams always show all of theirs."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One horizontal strip: the head of a group, a lane, or a counter.

    Attributes:
        kind: What it is.
        number: Of the group, lane or counter.
        top: First pixel.
        height: Pixels, with the line below.
        group: Its group.
        rows: Rows of the index that it shows, top to bottom; empty for heads and counters.
        first_row_px: Height of its first row.
        hidden_rows: Rows that are folded away.
        closed: A group whose lanes are hidden; a lane that is folded.
        can_fold: A lane with more rows than it shows folded.
        pinned: It stands at the top and does not scroll.
    """

    kind: StripKind
    number: int
    top: int
    height: int
    group: int
    rows: range = range(0)
    first_row_px: int = ROW_PX
    hidden_rows: int = 0
    closed: bool = False
    can_fold: bool = False
    pinned: bool = False

    def row_box(self, place: int) -> tuple[int, int]:
        """Top and height of its row number ``place``."""
        if place == 0:
            return self.top + PAD_PX, self.first_row_px
        return self.top + PAD_PX + self.first_row_px + GAP_PX + (place - 1) * (ROW_PX + GAP_PX), ROW_PX

    def rows_above(self, height: float) -> int:
        """How many of its rows lie wholly in so many pixels from its top."""
        below = height - PAD_PX - self.first_row_px
        return 0 if below < 0 else min(len(self.rows), 1 + max(0, int((below - GAP_PX) // (ROW_PX + GAP_PX))))

    def row_at(self, y: float) -> int | None:
        """The row of the index at a height; None if there is none."""
        if not self.rows:
            return None
        below = y - self.top - PAD_PX - self.first_row_px
        place = 0 if below < 0 else 1 + int(below // (ROW_PX + GAP_PX))
        return self.rows[place] if place < len(self.rows) else None


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """What the user chose.

    Attributes:
        closed_groups: Groups whose lanes are hidden.
        unfolded_lanes: Lanes that show all their rows.
        pinned_lanes: Lanes at the top, in the order of pinning.
    """

    closed_groups: frozenset[int] = frozenset()
    unfolded_lanes: frozenset[int] = frozenset()
    pinned_lanes: tuple[int, ...] = ()

    def with_group_toggled(self, group: int) -> LayoutChoice:
        """Opens or closes a group."""
        return replace(self, closed_groups=self.closed_groups ^ {group})

    def with_fold_toggled(self, lane: int) -> LayoutChoice:
        """Folds or unfolds a lane."""
        return replace(self, unfolded_lanes=self.unfolded_lanes ^ {lane})

    def with_pin_toggled(self, lane: int) -> LayoutChoice:
        """Pins a lane or lets it go."""
        if lane in self.pinned_lanes:
            return replace(self, pinned_lanes=tuple(each for each in self.pinned_lanes if each != lane))
        return replace(self, pinned_lanes=(*self.pinned_lanes, lane))


@dataclass(frozen=True, slots=True)
class TimelineLayout:
    """All strips.

    Attributes:
        pinned: At the top, in their own coordinates.
        strips: Below, ascending.
        pinned_height: Of the pinned ones.
        height: Of the others.
    """

    pinned: tuple[Strip, ...] = ()
    strips: tuple[Strip, ...] = ()
    pinned_height: int = 0
    height: int = 0
    tops: tuple[int, ...] = field(default=(), repr=False)

    def between(self, top: float, bottom: float) -> tuple[Strip, ...]:
        """Strips of which something lies between two heights."""
        first = max(0, bisect_right(self.tops, top) - 1)
        return self.strips[first : bisect_right(self.tops, bottom)]

    def strip_of_lane(self, lane: int) -> Strip | None:
        """Where a lane is shown: pinned, in its group, or as the head of its closed group."""
        for strip in self.pinned:
            if strip.number == lane:
                return strip
        for strip in self.strips:
            if strip.kind == "lane" and strip.number == lane:
                return strip
        return None


def lay_out(index: TimelineIndex, counters: tuple[CounterLane, ...], choice: LayoutChoice) -> TimelineLayout:
    """Lays out all strips.

    A pinned lane is shown at the top and not in its group.
    """
    pinned: list[Strip] = []
    top = 0
    for lane in choice.pinned_lanes:
        pinned.append(replace(_lane(index, lane, top, choice), pinned=True))
        top += pinned[-1].height
    strips: list[Strip] = []
    below = 0

    def add(strip: Strip) -> None:
        nonlocal below
        strips.append(strip)
        below += strip.height

    by_group: list[list[int]] = [[] for _ in index.groups]
    for lane, facts in enumerate(index.lanes):
        if lane not in choice.pinned_lanes:
            by_group[facts.group].append(lane)
    for group in range(len(index.groups)):
        closed = group in choice.closed_groups
        add(Strip("group", group, below, HEAD_PX, group, closed=closed))
        if closed:
            continue
        for lane in by_group[group]:
            add(_lane(index, lane, below, choice))
        for number, counter in enumerate(counters):
            if counter.group == group:
                add(Strip("counter", number, below, COUNTER_PX + 2 * PAD_PX, group))
    return TimelineLayout(tuple(pinned), tuple(strips), top, below, tuple(strip.top for strip in strips))


def rows_of_closed_group(index: TimelineIndex, group: int) -> list[int]:
    """Rows that the head of a closed group sums up: its devices', the main ones first, else its threads'."""
    lanes = [number for number, lane in enumerate(index.lanes) if lane.group == group]
    devices = [number for number in lanes if not index.lanes[number].host]
    devices.sort(key=lambda number: not index.lanes[number].tall)
    rows = [row for number in devices for row in index.rows_of_lane(number)]
    return rows or [index.rows_of_lane(number)[0] for number in lanes]


def _lane(index: TimelineIndex, lane: int, top: int, choice: LayoutChoice) -> Strip:
    facts = index.lanes[lane]
    rows = index.rows_of_lane(lane)
    can_fold = facts.host and len(rows) > FOLDED_ROWS
    closed = can_fold and lane not in choice.unfolded_lanes
    shown = rows[:FOLDED_ROWS] if closed else rows
    first_row_px = TALL_ROW_PX if facts.tall else ROW_PX
    height = 2 * PAD_PX + first_row_px + (len(shown) - 1) * (ROW_PX + GAP_PX)
    return Strip(
        "lane",
        lane,
        top,
        height,
        facts.group,
        rows=shown,
        first_row_px=first_row_px,
        hidden_rows=len(rows) - len(shown),
        closed=closed,
        can_fold=can_fold,
    )
