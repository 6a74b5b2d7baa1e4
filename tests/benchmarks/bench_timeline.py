"""What a timeline of 10 million slices in 64 lanes costs: its index, and a frame at every zoom.

A frame shows another span of time and lets Qt draw the whole widget offscreen:
once as large as a screen of 1920 x 1080, where the last lanes are scrolled away,
once so high that all 64 lanes are seen. The zooms go from all of it down to a
nanosecond a pixel, the shortest span that can be shown. The first frame of each
zoom counts too: what is made for it alone is part of what a user waits for.
"""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np

from core.analyses.timeline_index import build_timeline
from core.tables.columns import column_bytes
from core.tables.timeline import GroupFacts, LaneFacts, TimelineIndex, TimelineSlices
from gui.plots.timeline_ahead import load_drawing
from gui.plots.timeline_content import CATEGORIES, SliceWords, TimelineContent
from gui.plots.timeline_span import TimeSpan
from gui.plots.timeline_view import TimelineView
from tests.benchmarks.rows import Row, median_of, print_rows, spread_of

SLICES = 10_000_000
LANES = 64
GROUPS = 8
SCREEN_PX = 1080
ALL_LANES_PX = 64 + LANES * 20 + GROUPS * 22
ZOOMS = 22
FRAMES_A_ZOOM = 20
FRAME_LIMIT_MS = 16.0
BUILD_LIMIT_S = 5.0
INDEX_LIMIT_MB = 400.0
NAMES = tuple(f"void kernel_{number}<float, {number}>(float*)" for number in range(199))


@dataclass(frozen=True)
class Frame:
    """What one frame took.

    Attributes:
        wall_ms: Milliseconds on the wall.
        cpu_ms: Milliseconds that the thread ran.
    """

    wall_ms: float
    cpu_ms: float


def slices(count: int) -> TimelineSlices:
    """Kernels of 1 us to some ms with gaps, lane by lane in the order of time, as a trace has them."""
    random = np.random.default_rng(5)
    starts, durations = [], []
    for _ in range(LANES):
        duration = np.maximum(800, random.lognormal(np.log(12_000), 1.2, count // LANES)).astype(np.int64)
        gap = random.exponential(4_000, len(duration)).astype(np.int64)
        gap[random.random(len(gap)) < 0.002] += 2_000_000
        starts.append(np.cumsum(duration + gap) - duration)
        durations.append(duration)
    start_ns = np.concatenate(starts)
    lane = np.repeat(np.arange(LANES, dtype=np.int32), count // LANES)
    order = np.argsort(start_ns, kind="stable")
    colour = random.integers(0, len(CATEGORIES), len(order)).astype(np.uint8)
    return TimelineSlices(start_ns[order], np.concatenate(durations)[order], lane[order], colour)


def highest_mb() -> float:
    """The most memory that this process had since the mark was reset."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def build(made: TimelineSlices) -> tuple[TimelineIndex, float, float]:
    """The index, the seconds that it took, and the MB that the process grew by meanwhile."""
    lanes = tuple(LaneFacts(f"Stream {number}", group=number * GROUPS // LANES) for number in range(LANES))
    groups = tuple(GroupFacts(f"Rank {number}", f"GPU {number}", number) for number in range(GROUPS))
    # What earlier work has freed is given back first, else it would be used again and not be counted.
    ctypes.CDLL(None).malloc_trim(0)
    # Linux: the highest mark of memory begins anew.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before_mb = highest_mb()
    began = time.perf_counter()
    index = build_timeline(made, lanes, groups)
    took_s = time.perf_counter() - began
    return index, took_s, highest_mb() - before_mb


def frames(index: TimelineIndex, height_px: int) -> dict[str, list[Frame]]:
    """The frames of each zoom, by the length of what is visible."""
    from PySide6.QtWidgets import QApplication

    from gui.theme import ThemeController

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    theme = ThemeController(app, "dark").theme
    # As the window does before a trace is opened; compiling is no part of a frame.
    load_drawing(theme)
    gc.freeze()
    view = TimelineView(theme)
    view.resize(1920, height_px)
    view.show()
    view.set_content(
        TimelineContent(
            index=index,
            name_of=lambda row: NAMES[row % len(NAMES)],
            words_of=lambda row: SliceWords(NAMES[row % len(NAMES)]),
        )
    )
    app.processEvents()
    whole, least_ns = view.span, view.current_geometry().plot_device_px
    random = np.random.default_rng(7)
    times: dict[str, list[Frame]] = {}
    for length in np.geomspace(whole.length_ns, least_ns, ZOOMS):
        here = times.setdefault(f"{length / 1e6:,.3f} ms visible", [])
        for _ in range(FRAMES_A_ZOOM):
            # Never twice the same span, also of all there is.
            length_ns = int(length * random.uniform(0.97, 1.0))
            start_ns = whole.start_ns + int(random.random() * (whole.length_ns - length_ns))
            app.processEvents()
            began, ran = time.perf_counter(), time.thread_time()
            view.show_span(TimeSpan(start_ns, start_ns + length_ns))
            view.repaint()
            ran = time.thread_time() - ran
            here.append(Frame((time.perf_counter() - began) * 1000, ran * 1000))
    view.close()
    return times


def main() -> list[Row]:
    """Measures the index and the frames."""
    build(slices(LANES * 100))
    made = slices(SLICES)
    index, build_s, grown_mb = build(made)
    size_mb = column_bytes(index) / 1e6
    screen, tall = frames(index, SCREEN_PX), frames(index, ALL_LANES_PX)
    name = f"timeline of {len(index):,} slices in {LANES} lanes"
    return [
        _row(name, "build of the index, s", [build_s], BUILD_LIMIT_S, 1),
        _row(name, "size of the index, MB", [size_mb], INDEX_LIMIT_MB, 0),
        _row(name, "growth of the process, MB", [grown_mb], INDEX_LIMIT_MB, 0),
        *_all_zooms("a frame, 1920 x 1080", screen),
        *_all_zooms("a frame, all lanes", tall),
        *_each_zoom("a frame, 1920 x 1080", screen),
        *_each_zoom("a frame, all lanes", tall),
    ]


def _all_zooms(name: str, times: dict[str, list[Frame]]) -> list[Row]:
    everything = [each for values in times.values() for each in values]
    rows = []
    for kind, values in (
        ("ms", [each.wall_ms for each in everything]),
        ("ms of CPU", [each.cpu_ms for each in everything]),
    ):
        rows += [
            _row(name, f"all zooms, median, {kind}", values, FRAME_LIMIT_MS, 1),
            _row(name, f"all zooms, 95th percentile, {kind}", [_p95(values)], FRAME_LIMIT_MS, 1),
        ]
    worst_ms = max(_p95([each.cpu_ms for each in values]) for values in times.values())
    rows.append(_row(name, "worst zoom, 95th percentile, ms of CPU", [worst_ms], FRAME_LIMIT_MS, 1))
    return rows


def _each_zoom(name: str, times: dict[str, list[Frame]]) -> list[Row]:
    """The 95th percentile of each zoom, its smallest and largest frame beside it."""
    rows = []
    for zoom, values in times.items():
        cpu_ms = [each.cpu_ms for each in values]
        row = _row(name, f"{zoom}, 95th percentile, ms of CPU", [_p95(cpu_ms)], FRAME_LIMIT_MS, 1)
        rows.append(replace(row, spread=spread_of(cpu_ms, 1)))
    return rows


def _p95(values: list[float]) -> float:
    return float(np.percentile(values, 95))


def _row(name: str, figure: str, values: list[float], limit: float, digits: int) -> Row:
    return Row(
        name=name,
        figure=figure,
        median=median_of(values, digits),
        spread=spread_of(values, digits) if len(values) > 1 else "",
        against=f"limit of {limit:g}",
        ratio=f"{statistics.median(values) / limit:.2f}",
    )


if __name__ == "__main__":
    print_rows(main())
