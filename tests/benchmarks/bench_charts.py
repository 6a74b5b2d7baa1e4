"""What a live chart costs: 8 ranks of 100,000 points at every tick, and 4 at twice the pixels.

A tick hands the chart curves that are longer by one point, and lets Qt draw it
offscreen. The second part runs in a process of its own, because Qt reads
QT_SCALE_FACTOR once.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np

from gui.plots.curves import ChartData, Curve
from gui.plots.layers import Style
from gui.plots.live_chart import LiveChart
from tests.benchmarks.rows import Row, median_of, print_rows, spread_of

ROOT = Path(__file__).parents[2]
POINTS = 100_000
TICKS = 60
TICK_LIMIT_MS = 20.0
REDRAW_LIMIT_MS = 100.0
SCALED = "--scaled"


def curves(ranks: int, points: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Noisy losses, the hardest kind to draw."""
    random = np.random.default_rng(5)
    x = np.arange(points, dtype=np.float64)
    course = 10.374 + 0.152 * np.exp(-x / 15_000)
    return [(x, course + random.normal(0, 0.01, points)) for _ in range(ranks)]


def tick_times_ms(ranks: int, style: Style) -> list[float]:
    """Milliseconds of each tick: taking the curves in, thinning them, and drawing."""
    from PySide6.QtWidgets import QApplication

    from gui.theme import ThemeController

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    theme = ThemeController(app, "dark").theme
    chart = LiveChart(theme)
    chart.resize(640, 300)
    chart.show()
    made = curves(ranks, POINTS + TICKS)
    times = []
    chart.set_style(style)
    for tick in range(TICKS):
        upto = POINTS + tick
        data = ChartData("loss", tuple(Curve(rank, x[:upto], y[:upto]) for rank, (x, y) in enumerate(made)))
        app.processEvents()
        began = time.perf_counter()
        chart.show_data(data)
        chart.repaint()
        app.processEvents()
        times.append((time.perf_counter() - began) * 1000)
    chart.close()
    return times[5:]


def scaled_times_ms() -> list[float]:
    """The same for 4 ranks in a child with QT_SCALE_FACTOR=2."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bench_charts", SCALED],
        cwd=ROOT,
        env={**os.environ, "QT_SCALE_FACTOR": "2"},
        capture_output=True,
        check=True,
        text=True,
    )
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


def main() -> list[Row]:
    """Measures the three cases."""
    plain = tick_times_ms(8, Style())
    smooth = tick_times_ms(8, Style(smooth=True))
    scaled = scaled_times_ms()
    return [
        *_rows("8 ranks x 100,000 points, a tick", plain, TICK_LIMIT_MS),
        *_rows("the same with smoothed lines over raw ones", smooth, TICK_LIMIT_MS),
        *_rows("4 ranks x 100,000 points at scale 2, a redraw", scaled, REDRAW_LIMIT_MS),
    ]


def _rows(name: str, times_ms: list[float], limit_ms: float) -> list[Row]:
    against = f"limit of {limit_ms:.0f} ms"
    p95_ms = float(np.percentile(times_ms, 95))
    return [
        Row(
            name=name,
            figure="median, ms",
            median=median_of(times_ms, 1),
            spread=spread_of(times_ms, 1),
            against=against,
            ratio=f"{statistics.median(times_ms) / limit_ms:.2f}",
        ),
        Row(
            name=name,
            figure="95th percentile, ms",
            median=f"{p95_ms:.1f}",
            spread="",
            against=against,
            ratio=f"{p95_ms / limit_ms:.2f}",
        ),
    ]


if __name__ == "__main__":
    if SCALED in sys.argv:
        print(json.dumps(tick_times_ms(4, Style(selected=1))))
    else:
        print_rows(main())
