"""What a chart shows, as text and as pictures: CSV, JSON, PNG, SVG.

Text is made of plain figures only, so no cell can be taken for a formula.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtSvg import QSvgGenerator

from core.errors import DashboardError
from gui.plots.curves import ChartData, Curve

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

PICTURE_SCALE = 2.0


def in_view(data: ChartData, low: float, high: float) -> ChartData:
    """The same chart with only the points in [low, high]."""
    curves = []
    for curve in data.curves:
        part = slice(int(np.searchsorted(curve.x, low, "left")), int(np.searchsorted(curve.x, high, "right")))
        curves.append(Curve(curve.rank, curve.x[part], curve.y[part]))
    return ChartData(data.name, tuple(curves), data.x_name, data.unit)


def to_csv(data: ChartData, separator: str = ",") -> str:
    """One line a point: rank, x, value; the header names the units."""
    unit = f" ({data.unit})" if data.unit else ""
    lines = [separator.join(("rank", "step" if data.x_name == "step" else "time (s)", f"{data.name}{unit}"))]
    for curve in data.curves:
        who = "all" if curve.rank < 0 else str(curve.rank)
        lines.extend(
            f"{who}{separator}{_figure(x)}{separator}{_figure(y)}"
            for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
        )
    return "\n".join(lines) + "\n"


def _figure(value: float) -> str:
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value)


def to_json(data: ChartData) -> str:
    """One object: name, units, and per rank the arrays x and y; NaN and infinities as strings."""
    return json.dumps(
        {
            "name": data.name,
            "unit": data.unit,
            "x": data.x_name,
            "ranks": {
                "all" if curve.rank < 0 else str(curve.rank): {
                    "x": curve.x.tolist(),
                    "y": [value if math.isfinite(value) else str(value) for value in curve.y.tolist()],
                }
                for curve in data.curves
            },
        },
        allow_nan=False,
    )


def save_png(widget: QWidget, path: Path) -> None:
    """Draws a widget, twice as fine as on an ordinary screen.

    Raises:
        DashboardError: The file cannot be written.
    """
    pixmap = QPixmap(widget.size() * PICTURE_SCALE)
    pixmap.setDevicePixelRatio(PICTURE_SCALE)
    widget.render(pixmap)
    if not pixmap.save(str(path), "PNG"):
        raise _not_written(path)


def save_svg(widget: QWidget, path: Path, title: str) -> None:
    """Draws a widget as vectors.

    Raises:
        DashboardError: The file cannot be written.
    """
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(QSize(widget.width(), widget.height()))
    generator.setViewBox(QRect(0, 0, widget.width(), widget.height()))
    generator.setTitle(title)
    painter = QPainter()
    if not painter.begin(generator):
        raise _not_written(path)
    widget.render(painter, QPoint())
    painter.end()
    if not path.is_file():
        raise _not_written(path)


def _not_written(path: Path) -> DashboardError:
    return DashboardError(
        f"The picture could not be written to {path}.", "Choose a folder that you may write to."
    )
