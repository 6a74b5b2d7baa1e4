"""Loads the compiled code that draws timelines, by drawing a small one in no window.

Compiled code is loaded at its first call, which takes a tenth of a second and
more for all of it: a worker does that, so that the first frame need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.timeline_find import wide_slices
from core.analyses.timeline_index import build_timeline
from core.tables.timeline import CounterLane, GroupFacts, LaneFacts, TimelineSlices
from gui.plots import timeline_labels, timeline_letters
from gui.plots.timeline_content import CATEGORIES
from gui.plots.timeline_image import Bar, Bars, CounterBar, LaneImage, lane_palette
from gui.plots.timeline_span import TimeSpan

if TYPE_CHECKING:
    from gui.theme import Theme

_SLICES: Final = 64
_WIDTH_PX: Final = 8
_HEIGHT_PX: Final = 16


def load_drawing(theme: Theme) -> None:
    """Draws a few slices into memory; may run in any thread."""
    start_ns = np.arange(_SLICES, dtype=np.int64) * 10
    slices = TimelineSlices(
        start_ns, np.full(_SLICES, 8, np.int64), np.zeros(_SLICES, np.int32), np.zeros(_SLICES, np.uint8)
    )
    index = build_timeline(slices, (LaneFacts("Stream 7"),), (GroupFacts("Rank 0"),))
    span = TimeSpan(index.start_of_all_ns, index.end_of_all_ns)
    bars, palette, image = Bars.of([Bar((0,), 0, _HEIGHT_PX)]), lane_palette(theme, CATEGORIES), LaneImage()
    image.resize(_WIDTH_PX, _HEIGHT_PX)
    image.clear_for(palette, (), bars)
    image.paint_bars(index, span, bars, palette, 1.0)
    counter = CounterLane("", "", 0, start_ns[:2], np.ones(2))
    image.paint_counter(CounterBar(counter, 0, _HEIGHT_PX), span, palette)
    wide_slices(index, bars.rows, span.start_ns, span.end_ns, 1)
    timeline_letters.load_compiled()
    timeline_labels.load_compiled()
