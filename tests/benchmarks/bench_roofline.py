"""What a roofline of 50,000 points costs: a frame of a pan, of a zoom, and under the pointer.

A frame lets Qt draw the whole widget offscreen, as large as a screen of
1920 x 1080. Pans are those of a drag (some pixels in any direction) and those of
a key (15 % of the width).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QPointF

from gui.plots.roofline_content import RooflineContent, RooflinePoints, TrafficRoof, WorkRoof
from gui.plots.roofline_view import RooflineView
from gui.plots.timeline_content import CATEGORIES, SliceWords
from tests.benchmarks.rows import Row, median_of, print_rows, spread_of

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS = (1_000, 50_000)
FRAMES = 120
WARM_UP = 5
WIDTH_PX, HEIGHT_PX = 1560, 700
PAN_LIMIT_MS = 16.0
HOVER_LIMIT_MS = 8.0
ZOOM_LIMIT_MS = 100.0
PEAK, BANDWIDTH = 989.4e12, 3.35e12


def content(count: int) -> RooflineContent:
    """Kernels of all kinds below a roof, some above it."""
    random = np.random.default_rng(11)
    intensity = 10 ** random.uniform(-1.5, 3.5, count)
    roof = np.minimum(PEAK, BANDWIDTH * intensity)
    points = RooflinePoints(
        intensity=intensity,
        flop_per_s=roof * 10 ** -np.abs(random.exponential(0.6, count) - 0.02),
        roof_flop_per_s=roof,
        sum_ns=random.lognormal(11, 2, count).astype(np.int64),
        category=random.integers(0, len(CATEGORIES), count).astype(np.uint8),
        origin=random.integers(0, 3, count).astype(np.uint8),
    )
    return RooflineContent(
        points=points,
        works=(WorkRoof(label="BF16 tensor 989.4 TFLOP/s", flop_per_s=PEAK, chosen=True),),
        traffics=(TrafficRoof(label="DRAM 3.350 TB/s", bytes_per_s=BANDWIDTH, chosen=True),),
        name_of=lambda point: f"kernel_{point}",
        words_of=lambda point: SliceWords(f"kernel_{point}"),
    )


@dataclass(frozen=True)
class Frame:
    """What one frame took: milliseconds on the wall, and that the thread ran."""

    wall_ms: float
    cpu_ms: float


def timed(view: RooflineView, act: Callable[[int], None]) -> list[Frame]:
    """The frames that ``act`` leads to."""
    from PySide6.QtWidgets import QApplication

    times = []
    for frame in range(FRAMES + WARM_UP):
        QApplication.processEvents()
        began, ran = time.perf_counter(), time.thread_time()
        act(frame)
        view.repaint()
        ran = time.thread_time() - ran
        times.append(Frame((time.perf_counter() - began) * 1000, ran * 1000))
    return times[WARM_UP:]


def frames(count: int) -> dict[str, list[Frame]]:
    """Frames by what leads to them."""
    from PySide6.QtWidgets import QApplication

    from gui.theme import ThemeController

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    view = RooflineView(ThemeController(app, "dark").theme)
    view.resize(WIDTH_PX, HEIGHT_PX)
    view.show()
    view.set_content(content(count))
    random = np.random.default_rng(5)

    def drag(frame: int) -> None:
        geometry = view.current_geometry()
        # There and back, so that most points stay in sight.
        sign = 1 if frame % 20 < 10 else -1
        dx, dy = sign * random.integers(1, 40), sign * random.integers(1, 25)
        view.state.show(view.state.range.moved(dx / geometry.x_px, dy / geometry.y_px), "drag")
        view.show_changed_range()

    def key(frame: int) -> None:
        view.pan_by_key(1 if frame % 4 < 2 else -1)

    def zoom(frame: int) -> None:
        view.zoom_by_key(1 if frame % 6 < 3 else -1)

    def hover(_frame: int) -> None:
        plot = view.current_geometry().plot
        view.hover_at(
            QPointF(
                plot.left() + random.random() * plot.width(), plot.top() + random.random() * plot.height()
            )
        )

    found = {
        "a pan by drag": timed(view, drag),
        "a pan by key": timed(view, key),
        "a zoom": timed(view, zoom),
        "the pointer moves": timed(view, hover),
    }
    view.close()
    return found


def main() -> list[Row]:
    """Measures frames of few, many and the most points."""
    rows = []
    for count in COUNTS:
        for what, times in frames(count).items():
            pan, zoomed = what.startswith("a pan"), what == "a zoom"
            limit = PAN_LIMIT_MS if pan else ZOOM_LIMIT_MS if zoomed else HOVER_LIMIT_MS + PAN_LIMIT_MS
            for kind, values in (
                ("ms", [each.wall_ms for each in times]),
                ("ms of CPU", [each.cpu_ms for each in times]),
            ):
                p95 = float(np.percentile(values, 95))
                rows += [
                    _row(count, f"{what}, median, {kind}", values, limit),
                    _row(count, f"{what}, 95th percentile, {kind}", [p95], limit),
                ]
    return rows


def _row(count: int, figure: str, values: list[float], limit: float) -> Row:
    return Row(
        name=f"roofline of {count:,} points",
        figure=figure,
        median=median_of(values, 1),
        spread=spread_of(values, 1) if len(values) > 1 else "",
        against=f"limit of {limit:g}",
        ratio=f"{float(np.median(values)) / limit:.2f}",
    )


if __name__ == "__main__":
    print_rows(main())
