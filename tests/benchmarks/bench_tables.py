"""What a table of a million launches costs: a keystroke in the filter, a sort, a repaint, opening it.

Each is measured from the user's act to the painted view, offscreen, through the
tasks that do the work.
"""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np

from core.tables.columns import MISSING
from core.tables.result import Column, ResultTable, Unit
from core.tables.strings import string_table
from tests.benchmarks.rows import Row, median_of, print_rows, spread_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QApplication

    from gui.widgets.result_table import ResultTableWidget

ROWS = 1_000_000
NAMES = 800
KEYSTROKES = "fused_add_1"
ROUNDS = 5
FRAMES = 60
FILTER_LIMIT_MS = 50.0
SORT_LIMIT_MS = 150.0
FRAME_LIMIT_MS = 16.0
OPEN_LIMIT_MS = 1_000.0


def launches() -> ResultTable:
    """Ten columns as a trace's launches have them."""
    random = np.random.default_rng(3)
    durations = random.lognormal(10, 1.5, ROWS).astype(np.int64)
    names = [
        f"{kind}_kernel_fused_add_{number}" for kind in ("gemm", "triton") for number in range(NAMES // 2)
    ]
    categories = ("GEMM", "Communication", "Attention", "Elementwise", "Memcpy", "Triton")

    def text(key: str, texts: list[str] | tuple[str, ...]) -> Column:
        ids = random.integers(0, len(texts), ROWS).astype(np.int32)
        return Column(key=key, title=key.title(), unit="", help="", values=ids, texts=string_table(texts))

    def number(key: str, unit: Unit, values: np.ndarray) -> Column:
        return Column(key=key, title=key.title(), unit=unit, help="", values=values)

    delays = np.where(random.random(ROWS) < 0.1, MISSING, random.integers(1_000, 90_000, ROWS))
    return ResultTable(
        name="launches",
        title="Launches",
        columns=(
            text("name", names),
            text("category", categories),
            number("start_ns", "ns", np.cumsum(durations)),
            number("duration_ns", "ns", durations),
            number("share_pct", "pct", durations / durations.sum() * 100),
            number("delay_ns", "ns", delays),
            number("stream", "id", random.integers(0, 40, ROWS)),
            number("correlation", "id", np.arange(ROWS, dtype=np.int64)),
            text("grid", [f"{number} \N{MULTIPLICATION SIGN} 1" for number in range(200)]),
            text("op", [f"aten::op_{number}" for number in range(300)]),
        ),
    )


def until_painted(app: QApplication, widget: ResultTableWidget, act: Callable[[], None]) -> float:
    """Milliseconds from an act to the view that shows its answer."""
    from PySide6.QtCore import QEventLoop

    answered: list[bool] = []
    connection = widget.model.arranged.connect(lambda: answered.append(True))
    began = time.perf_counter()
    act()
    while not answered:
        # Waits as the running program does: a loop that spins would take the worker's time.
        app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    widget.view.viewport().repaint()
    took_ms = (time.perf_counter() - began) * 1000
    widget.model.arranged.disconnect(connection)
    app.processEvents()
    return took_ms


def typed(app: QApplication, widget: ResultTableWidget) -> list[float]:
    """Every keystroke of a word, and of its deletion."""
    steps = [KEYSTROKES[:end] for end in range(1, len(KEYSTROKES) + 1)]
    times = []
    for text in (*steps, *reversed(steps[:-1]), ""):
        times.append(until_painted(app, widget, partial(widget.bar.field.setText, text)))
    return times


def sorted_by(app: QApplication, widget: ResultTableWidget, key: str) -> list[float]:
    """Both directions, in turns."""
    from gui.models.row_order import SortBy

    times = []
    for turn in range(2 * ROUNDS):
        sort = SortBy(key, descending=turn % 2 == 0)
        times.append(until_painted(app, widget, partial(widget.model.sort_rows, sort)))
    return times


def frames(app: QApplication, widget: ResultTableWidget) -> list[float]:
    """Repaints while the rows are paged through, so that every text is new."""
    bar = widget.view.verticalScrollBar()
    times = []
    for frame in range(FRAMES):
        bar.setValue(frame * (bar.maximum() // FRAMES))
        began = time.perf_counter()
        widget.view.viewport().repaint()
        times.append((time.perf_counter() - began) * 1000)
        app.processEvents()
    return times


def main() -> list[Row]:
    """Measures one widget, 1560 x 900: 34 rows of ten columns."""
    from PySide6.QtWidgets import QApplication

    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.widgets.result_table import ResultTableWidget

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    tasks = Tasks(app)
    table = launches()
    with TemporaryDirectory() as folder:
        widget = ResultTableWidget(
            ThemeController(app, "dark"), tasks, Settings(Path(folder) / "settings.json")
        )
        widget.resize(1560, 900)
        widget.show()
        opened = [until_painted(app, widget, lambda: widget.show_table(table)) for _ in range(ROUNDS)]
        painted = frames(app, widget)
        keystrokes = typed(app, widget)
        by_duration = sorted_by(app, widget, "duration_ns")
        by_name = sorted_by(app, widget, "name")
        filtered_sorted = typed(app, widget)
        widget.close()
        tasks.shutdown()
    return [
        *_rows("1M rows: opened and painted", opened, OPEN_LIMIT_MS),
        *_rows("1M rows: a page of new rows repainted", painted, FRAME_LIMIT_MS),
        *_rows("1M rows: a keystroke in the filter", keystrokes, FILTER_LIMIT_MS),
        *_rows("the same while sorted by name", filtered_sorted, FILTER_LIMIT_MS),
        *_rows("1M rows: sorted by duration", by_duration, SORT_LIMIT_MS),
        *_rows("1M rows: sorted by name", by_name, SORT_LIMIT_MS),
    ]


def _rows(name: str, times_ms: list[float], limit_ms: float) -> list[Row]:
    worst_ms = max(times_ms)
    against = f"limit of {limit_ms:,.0f} ms"
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
            figure="worst, ms",
            median=f"{worst_ms:.1f}",
            spread="",
            against=against,
            ratio=f"{worst_ms / limit_ms:.2f}",
        ),
    ]


if __name__ == "__main__":
    print_rows(main())
