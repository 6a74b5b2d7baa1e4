"""Draws long curves as a process of its own and prints facts of the drawing, for any QT_SCALE_FACTOR.

Qt reads the factor once, so a test that needs another one starts this:
``python -m tests.helpers.scaled_chart RANKS POINTS SPIKE_STEP SPIKE_VALUE``.
"""

from __future__ import annotations

import json
import os
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtWidgets import QApplication

from gui.plots.curves import ChartData, Curve
from gui.plots.layers import Style
from gui.plots.live_chart import LiveChart
from gui.theme import Theme, ThemeController

SPIKED_RANK = 1


def main(ranks: int, points: int, spike_step: int, spike_value: float) -> dict[str, object]:
    """Draws noisy losses, the spiked rank selected, and tells what was drawn."""
    app = QApplication([])
    theme = ThemeController(app, "dark").theme
    chart = LiveChart(theme)
    chart.resize(640, 300)
    chart.show()
    random = np.random.default_rng(5)
    x = np.arange(points, dtype=np.float64)
    ys = [10.0 + random.normal(0, 0.1, points) for _ in range(ranks)]
    ys[SPIKED_RANK][spike_step] = spike_value
    chart.set_style(Style(selected=SPIKED_RANK))
    chart.show_data(ChartData("loss", tuple(Curve(rank, x, y) for rank, y in enumerate(ys))))
    for _ in range(4):
        app.processEvents()
    chart.draw()
    ratio = chart.devicePixelRatioF()
    return {
        "ratio": ratio,
        "width_px": chart.geometry_now.rect.width() * ratio,
        "points": [len(stroke.x) for stroke in chart.drawn.strokes],
        "widths": [stroke.width for stroke in chart.drawn.strokes],
        "highest": chart.drawn.high,
        "spike_color_distance": _distance_at(chart, theme, spike_step, (spike_value + 10.0) / 2),
    }


def _distance_at(chart: LiveChart, theme: Theme, step: int, value: float) -> int:
    """How far the nearest pixel of the screen beside that place is from the spiked rank's colour."""
    image = chart.grab().toImage()
    ratio = image.devicePixelRatio()
    at = chart.geometry_now.px_of(step, value) * ratio
    wanted = theme.rank_color(SPIKED_RANK)
    near = [image.pixelColor(round(at.x()) + offset, round(at.y())) for offset in range(-4, 5)]
    return min(
        abs(pixel.red() - wanted.red())
        + abs(pixel.green() - wanted.green())
        + abs(pixel.blue() - wanted.blue())
        for pixel in near
    )


if __name__ == "__main__":
    rank_count, point_count, step_of_spike = map(int, sys.argv[1:4])
    print(json.dumps(main(rank_count, point_count, step_of_spike, float(sys.argv[4]))))
