"""The latencies of the Edge page: a row a result, median and span of its calls, on one log axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.edge.result_table import judged_calls_s, quantile_s, state_words
from core.files import printable
from core.units import format_number
from gui.plain_text import plain_label, tip_text
from gui.plots.ticks import log_ticks
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QMouseEvent, QPaintEvent

    from core.edge.result import EdgeResult
    from gui.theme import Theme, ThemeController

ROW_PX: Final = 26
_AXIS_PX: Final = 26
_SIDE_PX: Final = 12
_DOT_PX: Final = 4.5
_CAP_PX: Final = 4.0
_VALUE_PX: Final = 76
_TICK_ROOM_PX: Final = 64
_MOST_LABEL: Final = 0.42
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_CENTRE = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """One result.

    Attributes:
        id: Of the result.
        label: Device and backend.
        spans_ms: 5th, 50th and 95th percentile; None where the result has no speed.
        words: What became of it, in place of a speed.
        hollow: Not on a GPU.
    """

    id: str
    label: str
    spans_ms: tuple[float, float, float] | None
    words: str
    hollow: bool

    @property
    def text(self) -> str:
        """All of it in words."""
        if self.spans_ms is None:
            return f"{self.label}: {self.words}, no time"
        low, middle, high = (format_number(each, 4) for each in self.spans_ms)
        where = ", not on a GPU" if self.hollow else ""
        return f"{self.label}: {middle} ms, p5 {low}, p95 {high}{where}"


def latency_rows(results: Sequence[EdgeResult]) -> tuple[LatencyRow, ...]:
    """A row for each result, in their order; types are named where they differ."""
    several = len({each.precision for each in results}) > 1
    rows = []
    for each in results:
        calls = judged_calls_s(each)
        low, middle, high = (
            quantile_s(calls, share) * 1e3 if calls else math.nan for share in (0.05, 0.5, 0.95)
        )
        kind = f", {each.precision}" if several else ""
        rows.append(
            LatencyRow(
                id=each.id,
                label=f"{printable(each.device.partition(' (')[0])}, {each.backend}{kind}",
                spans_ms=(low, middle, high) if calls else None,
                words=state_words(each),
                hollow=each.software or each.device_key == "cpu",
            )
        )
    return tuple(rows)


class LatencyPlot(QWidget):
    """The rows, painted.

    Signals:
        chosen: Id of a result that was clicked.
    """

    chosen = Signal(str)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self.rows: tuple[LatencyRow, ...] = ()
        self._selected = ""
        self.setAccessibleName("Latency")
        theme.changed.connect(lambda _: self.update())

    def show_rows(self, rows: tuple[LatencyRow, ...], selected: str) -> None:
        """Shows other rows, one of them marked."""
        self.rows, self._selected = rows, selected
        self.setAccessibleDescription("\n".join(row.text for row in rows))
        self.setToolTip(tip_text("\n".join(row.text for row in rows[:8])))
        self.setMinimumHeight(len(rows) * ROW_PX + _AXIS_PX)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """All rows and the axis."""
        return QSize(320, len(self.rows) * ROW_PX + _AXIS_PX)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Chooses a row."""
        place = int(event.position().y() // ROW_PX)
        if event.button() == Qt.MouseButton.LeftButton and 0 <= place < len(self.rows):
            self.chosen.emit(self.rows[place].id)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the axis, then the rows."""
        theme = self._theme.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.color("chart-bg"))
        painter.setFont(theme.font(theme.px_small))
        timed = [row.spans_ms for row in self.rows if row.spans_ms is not None]
        metrics = painter.fontMetrics()
        widest = max((metrics.horizontalAdvance(row.label) for row in self.rows), default=0)
        left = _SIDE_PX + min(widest, self.width() * _MOST_LABEL) + 12
        axis = QRectF(left, 0, max(40.0, self.width() - left - _VALUE_PX), len(self.rows) * ROW_PX)
        low, high = _ends(timed)
        self._paint_grid(painter, theme, axis, low, high, labelled=bool(timed))
        for place, row in enumerate(self.rows):
            self._paint_row(painter, theme, axis, row, place * ROW_PX, (low, high))
        painter.end()

    def _paint_grid(  # noqa: PLR0913  (private, of one loop)
        self, painter: QPainter, theme: Theme, axis: QRectF, low: float, high: float, *, labelled: bool
    ) -> None:
        if not labelled:
            return
        for tick in log_ticks(low, high, max(2.0, axis.width() / _TICK_ROOM_PX)).major:
            x = round(axis.left() + axis.width() * (tick.position - low) / (high - low))
            painter.fillRect(QRectF(x, 0, 1, axis.height()), theme.color("chart-grid"))
            painter.setPen(theme.color("text2"))
            words = f"{10.0**tick.position:,.10g}"
            painter.drawText(QRectF(x - 60, axis.bottom() + 4, 120, 16), _CENTRE, words)

    def _paint_row(  # noqa: PLR0913, PLR0917  (private, of one loop)
        self,
        painter: QPainter,
        theme: Theme,
        axis: QRectF,
        row: LatencyRow,
        top: float,
        ends: tuple[float, float],
    ) -> None:
        middle_y = top + ROW_PX / 2
        chosen = row.id == self._selected
        if chosen:
            painter.fillRect(QRectF(0, top, self.width(), ROW_PX), theme.color("selection"))
            painter.fillRect(QRectF(0, top, 2, ROW_PX), theme.color("accent"))
        painter.setPen(theme.color("text"))
        room = axis.left() - _SIDE_PX - 8
        label = painter.fontMetrics().elidedText(row.label, Qt.TextElideMode.ElideMiddle, int(room))
        painter.drawText(QRectF(_SIDE_PX, top, room, ROW_PX), _LEFT, label)
        if row.spans_ms is None:
            painter.setPen(theme.color("text2"))
            words = f"{row.words}: no time"
            room = painter.fontMetrics().horizontalAdvance(words) + 8
            beside = QRectF(axis.left() + 1, top, room, ROW_PX - 2)
            painter.fillRect(beside, theme.color("selection" if chosen else "chart-bg"))
            painter.drawText(beside.adjusted(3, 0, 0, 0), _LEFT, words)
            return
        low, high = ends
        xs = [axis.left() + axis.width() * (math.log10(each) - low) / (high - low) for each in row.spans_ms]
        mark = theme.color("chart-mark")
        painter.setPen(QPen(mark, 1.2))
        painter.drawLine(QPointF(xs[0], middle_y), QPointF(xs[2], middle_y))
        for x in (xs[0], xs[2]):
            painter.drawLine(QPointF(x, middle_y - _CAP_PX), QPointF(x, middle_y + _CAP_PX))
        painter.setPen(QPen(mark, 1.8 if row.hollow else 1.0))
        painter.setBrush(theme.color("selection" if chosen else "chart-bg") if row.hollow else mark)
        painter.drawEllipse(QPointF(xs[1], middle_y), _DOT_PX, _DOT_PX)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.color("text"))
        words = format_number(row.spans_ms[1], 4)
        painter.drawText(QRectF(max(xs[1], xs[2]) + 10, top, _VALUE_PX, ROW_PX), _LEFT, words)


class EdgeLatency(QWidget):
    """The plot below its heading.

    Signals:
        chosen: Id of a result that was clicked.
    """

    chosen = Signal(str)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.plot = LatencyPlot(theme)
        self.plot.chosen.connect(self.chosen)
        head = QHBoxLayout()
        head.setContentsMargins(_SIDE_PX, 8, _SIDE_PX, 6)
        head.setSpacing(8)
        title = plain_label("Latency")
        set_kind(title, kind="section")
        note = plain_label("ms, p5 to p95, log scale; hollow: not on a GPU")
        set_kind(note, kind="caption")
        # Narrow, it is cut rather than keep the table beside it from its room.
        note.setMinimumWidth(1)
        head.addWidget(title)
        head.addWidget(note, 1)
        scrolled = QScrollArea()
        scrolled.setWidgetResizable(True)
        scrolled.setAccessibleName("Latency")
        scrolled.setFrameShape(QFrame.Shape.NoFrame)
        scrolled.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scrolled.setWidget(self.plot)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(scrolled, 1)
        self.setMinimumWidth(260)

    def show_results(self, results: Sequence[EdgeResult], selected: str = "") -> None:
        """Shows the latencies of results, in their order."""
        self.plot.show_rows(latency_rows(results), selected)


def _ends(spans: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Ends of the axis, as powers of ten: whole decades."""
    if not spans:
        return 0.0, 1.0
    low = math.floor(math.log10(min(each[0] for each in spans)))
    high = math.ceil(math.log10(max(each[2] for each in spans)))
    return float(low), float(max(high, low + 1))
