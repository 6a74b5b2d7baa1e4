"""Which slice is meant by a place in a timeline, or by a step from another slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.analyses.timeline_find import slice_in
from core.analyses.timeline_index import edges_ns, row_of
from core.tables.columns import NO_ROW
from gui.plots.timeline_layout import rows_of_closed_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.timeline import TimelineIndex
    from gui.plots.timeline_geometry import TimelineGeometry
    from gui.plots.timeline_layout import Strip, TimelineLayout

_NEAR_PX = 3


def slice_at(index: TimelineIndex, strip: Strip, y: float, x: float, geometry: TimelineGeometry) -> int:
    """The slice that a device pixel shows, else one at most 3 pixels beside it.

    Args:
        index: Of the timeline.
        strip: The strip there.
        y: Height in the strip's own coordinates.
        x: Pixel of the widget.
        geometry: Of the widget.

    Returns:
        Position in the index's columns, NO_ROW if there is none.
    """
    rows = _rows_at(index, strip, y)
    edges = edges_ns(geometry.span.start_ns, geometry.span.end_ns, geometry.plot_device_px)
    pixel = geometry.device_px_at(x)
    near = round(_NEAR_PX * geometry.scale)
    for beside in sorted(range(-near, near + 1), key=abs):
        if not 0 <= pixel + beside < geometry.plot_device_px:
            continue
        left, right = int(edges[pixel + beside]), int(edges[pixel + beside + 1])
        found = [at for at in (slice_in(index, row, left, right) for row in rows) if at != NO_ROW]
        if found:
            # As in the picture: the first of several rows that is busy there.
            return next((at for at in found if _inside_ns(index, at, left, right)), found[0])
    return NO_ROW


def neighbour(index: TimelineIndex, position: int, distance: int) -> int:
    """The slice before or after another one in its row, NO_ROW at the row's ends."""
    row = row_of(index, position)
    moved = position + distance
    return moved if index.row_first[row] <= moved < index.row_first[row + 1] else NO_ROW


def nearest_in_next_row(index: TimelineIndex, layout: TimelineLayout, position: int, distance: int) -> int:
    """The slice closest in time in the next row that is shown and holds any, NO_ROW if there is none."""
    shown = [row for strip in (*layout.pinned, *layout.strips) for row in strip.rows]
    row = row_of(index, position)
    if row not in shown:
        return NO_ROW
    place = shown.index(row) + distance
    while 0 <= place < len(shown):
        first, last = int(index.row_first[shown[place]]), int(index.row_first[shown[place] + 1])
        if first < last:
            middle_ns = (int(index.start_ns[position]) + int(index.end_ns[position])) // 2
            return _closest(index, first, last, middle_ns)
        place += distance
    return NO_ROW


def _closest(index: TimelineIndex, first: int, last: int, time_ns: int) -> int:
    after = first + int(index.end_ns[first:last].searchsorted(time_ns, side="left"))
    candidates: Sequence[int] = [at for at in (after - 1, after) if first <= at < last]

    def distance_ns(at: int) -> int:
        return max(int(index.start_ns[at]) - time_ns, time_ns - int(index.end_ns[at]), 0)

    return min(candidates, key=distance_ns)


def _rows_at(index: TimelineIndex, strip: Strip, y: float) -> Sequence[int]:
    if strip.kind == "group":
        return rows_of_closed_group(index, strip.number) if strip.closed else ()
    row = strip.row_at(y)
    return () if row is None else (row,)


def _inside_ns(index: TimelineIndex, position: int, left_ns: int, right_ns: int) -> int:
    return min(int(index.end_ns[position]), right_ns) - max(int(index.start_ns[position]), left_ns)
