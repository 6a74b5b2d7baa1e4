"""The painted list of log lines: time, rank, text in its colours, always as plain text.

Paints only the lines in sight, so that ten thousand lines a second cost nothing.
Keeps its place while lines come and go, unless it stands at the end.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QContextMenuEvent, QMouseEvent, QPaintEvent, QResizeEvent

    from core.telemetry.views import LogLine
    from gui.models.log import LogChange, LogModel
    from gui.theme import Theme, ThemeController

LINE_PX = 17
TAB_SIZE = QSize(400, 5 * LINE_PX + 8)
"""What each tab of the dock asks for: five lines."""
TAB_LEAST_SIZE = QSize(120, 2 * LINE_PX)
_PAD_PX = 12
_SWATCH_PX = 8
_GAP_PX = 8
_SCROLL_TIMER_MS = 40
_TAB = "    "

# What a program asks for by ANSI number, in colours that can be read on our ground.
_ANSI_TOKENS = ("text2", "error", "ok", "warn", "info", "accent", "info", "text")


class LogArea(QAbstractScrollArea):
    """Shows a ``LogModel``.

    Signals:
        line_activated: The ``LogLine`` that was clicked or entered.
        menu_asked: Global position for a context menu.
        find_asked: True for the next match, False for the one before.
        filter_asked: The key that goes to the filter field.
    """

    line_activated = Signal(object)
    menu_asked = Signal(QPoint)
    find_asked = Signal(bool)
    filter_asked = Signal()

    def __init__(self, model: LogModel, theme: ThemeController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme.theme
        self._anchor: int | None = None
        self._cursor: int | None = None
        self._follow = True
        self._widest_px = 0.0
        self._dragging = False
        self._drag_at = QPoint()
        self._empty_words = ""
        self._edge_timer = QTimer(self)
        self._edge_timer.setInterval(_SCROLL_TIMER_MS)
        self._edge_timer.timeout.connect(self._scroll_at_edge)
        set_kind(self, kind="log")
        self.setFrameShape(self.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Log")
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.verticalScrollBar().setSingleStep(1)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.horizontalScrollBar().setSingleStep(24)
        # The style would draw a box where the scroll bars meet.
        self.setCornerWidget(QWidget())
        model.changed.connect(self._model_changed)
        theme.changed.connect(self._set_theme)
        self._set_theme(theme.theme)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Five lines."""
        return TAB_SIZE

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Two lines."""
        return TAB_LEAST_SIZE

    @property
    def at_end(self) -> bool:
        """New lines push the view."""
        return self._follow

    @property
    def top_row(self) -> int:
        """First row in sight."""
        return self.verticalScrollBar().value()

    @property
    def rows_in_sight(self) -> int:
        """Whole rows that fit."""
        return max(1, (self.viewport().height() - 4) // LINE_PX)

    def set_empty_words(self, words: str) -> None:
        """What stands here while there is no line."""
        self._empty_words = words
        self.viewport().update()

    def scroll_to_end(self) -> None:
        """Shows the newest lines and follows them."""
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def selected_rows(self) -> range:
        """Rows that are selected."""
        if self._anchor is None or self._cursor is None or not len(self._model):
            return range(0)
        first, last = sorted((self._anchor, self._cursor))
        # Numbers that the filter hides stand for the next shown line: take only what lies between.
        start = self._model.row_of(first)
        stop = self._model.row_of(last + 1)
        return range(start, stop)

    def selected_lines(self) -> list[LogLine]:
        """Lines that are selected, the oldest first."""
        return [self._model.line(row) for row in self.selected_rows()]

    @property
    def current_row(self) -> int | None:
        """The row that keys move."""
        return None if self._cursor is None else self._model.row_of(self._cursor)

    def go_to_row(self, row: int, *, extend: bool = False) -> None:
        """Selects a row and brings it into sight."""
        count = len(self._model)
        if not count:
            return
        row = min(max(row, 0), count - 1)
        self._cursor = self._model.line(row).number
        if not extend or self._anchor is None:
            self._anchor = self._cursor
        bar = self.verticalScrollBar()
        if row < bar.value():
            bar.setValue(row)
        elif row >= bar.value() + self.rows_in_sight:
            bar.setValue(row - self.rows_in_sight + 1)
        self.setAccessibleDescription(self._model.line(row).text)
        self.viewport().update()

    def select_all(self) -> None:
        """Selects every shown line."""
        if len(self._model):
            self._anchor = self._model.line(0).number
            self._cursor = self._model.line(len(self._model) - 1).number
            self.viewport().update()

    # The model and the scroll bars.

    def _model_changed(self, change: LogChange) -> None:
        bar = self.verticalScrollBar()
        place = bar.value() - change.removed
        follow = self._follow
        if change.reset and not follow and self._cursor is not None:
            # Another filter: what was looked at stays in sight.
            place = self._model.row_of(self._cursor) - self.rows_in_sight // 2
        if change.reset:
            self._widest_px = 0.0
            self._fit_width()
        self._fit_bars()
        bar.setValue(bar.maximum() if follow else max(0, place))
        self._follow = follow
        self.viewport().update()

    def _fit_bars(self) -> None:
        bar = self.verticalScrollBar()
        blocked = bar.blockSignals(True)
        bar.setPageStep(self.rows_in_sight)
        bar.setRange(0, max(0, len(self._model) - self.rows_in_sight))
        bar.blockSignals(blocked)

    def _scrolled(self, value: int) -> None:
        self._follow = value >= self.verticalScrollBar().maximum()
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Keeps the end in sight if it was."""
        super().resizeEvent(event)
        follow = self._follow
        self._fit_bars()
        if follow:
            self.scroll_to_end()
        self._follow = follow
        self._fit_width()

    def _fit_width(self) -> None:
        bar = self.horizontalScrollBar()
        bar.setPageStep(self.viewport().width())
        bar.setRange(0, max(0, round(self._widest_px) - self.viewport().width()))

    def _set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font = theme.font(mono=True)
        self._metrics = QFontMetricsF(self._font)
        self._digit_px = self._metrics.horizontalAdvance("0")
        self.viewport().update()

    # Pointer and keys.

    def _row_at(self, y: float) -> int:
        return self.top_row + int((y - 2) // LINE_PX)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Begins a selection; with Shift, extends it."""
        if event.button() != Qt.MouseButton.LeftButton or not len(self._model):
            return
        self._dragging = True
        self._drag_at = event.position().toPoint()
        extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.go_to_row(self._row_at(event.position().y()), extend=extend)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Extends the selection; beyond the edge it scrolls."""
        if not self._dragging:
            return
        self._drag_at = event.position().toPoint()
        self.go_to_row(self._row_at(event.position().y()), extend=True)
        inside = self.viewport().rect().contains(self._drag_at)
        if inside:
            self._edge_timer.stop()
        elif not self._edge_timer.isActive():
            self._edge_timer.start()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Ends a selection; a click on one line activates it."""
        self._edge_timer.stop()
        if self._dragging and event.button() == Qt.MouseButton.LeftButton:
            self._dragging = False
            lines = self.selected_lines()
            if len(lines) == 1:
                self.line_activated.emit(lines[0])

    def _scroll_at_edge(self) -> None:
        self.go_to_row(self._row_at(self._drag_at.y()), extend=True)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802
        """Asks for the menu; the line under the pointer is selected if none is."""
        if event.reason() == event.Reason.Mouse and self._row_at(event.pos().y()) not in self.selected_rows():
            self.go_to_row(self._row_at(event.pos().y()))
        self.menu_asked.emit(event.globalPos())

    def event(self, event: QEvent) -> bool:
        """Keeps the keys of a list from triggering the window's shortcuts."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            own = event.matches(QKeySequence.StandardKey.Copy) or event.matches(
                QKeySequence.StandardKey.SelectAll
            )
            if own or event.key() in (Qt.Key.Key_F3, Qt.Key.Key_Slash):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Moves and extends the selection."""
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
            return
        if event.key() == Qt.Key.Key_F3:
            self.find_asked.emit(not event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            return
        if event.key() == Qt.Key.Key_Slash:
            self.filter_asked.emit()
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current_row is not None:
            self.line_activated.emit(self._model.line(min(self.current_row, len(self._model) - 1)))
            return
        target = self._target_row(event.key())
        if target is None:
            super().keyPressEvent(event)
            return
        self.go_to_row(target, extend=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))

    def _target_row(self, key: int) -> int | None:
        now = self.current_row if self.current_row is not None else self.top_row
        targets = {
            Qt.Key.Key_Up: now - 1,
            Qt.Key.Key_Down: now + 1,
            Qt.Key.Key_PageUp: now - self.rows_in_sight,
            Qt.Key.Key_PageDown: now + self.rows_in_sight,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self._model) - 1,
        }
        return targets.get(Qt.Key(key))

    # Drawing.

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the rows in sight."""
        painter = QPainter(self.viewport())
        painter.setFont(self._font)
        if not len(self._model):
            painter.setFont(self._theme.font(self._theme.px_table))
            painter.setPen(self._theme.color("text2"))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, self._empty_words)
            painter.end()
            return
        selected = self.selected_rows()
        widest = 0.0
        last = min(len(self._model), self.top_row + self.rows_in_sight + 1)
        for row in range(self.top_row, last):
            y = 2 + (row - self.top_row) * LINE_PX
            widest = max(widest, self._draw_row(painter, self._model.line(row), y, row in selected))
        if self.hasFocus():
            painter.setPen(self._theme.color("focus"))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
        painter.end()
        if widest > self._widest_px:
            self._widest_px = widest
            # Not now: a scroll bar that appears inside a paint event would draw again.
            QTimer.singleShot(0, self, self._fit_width)

    def _draw_row(self, painter: QPainter, line: LogLine, y: int, selected: bool) -> float:
        """Draws one line and returns how wide it is."""
        theme = self._theme
        if selected:
            painter.fillRect(QRect(0, y, self.viewport().width(), LINE_PX), theme.color("selection"))
            painter.fillRect(QRect(0, y, 2, LINE_PX), theme.color("accent"))
        left = _PAD_PX - self.horizontalScrollBar().value()
        x = float(left)
        base = y + (LINE_PX - self._metrics.height()) / 2 + self._metrics.ascent()
        painter.setPen(theme.color("text2"))
        painter.drawText(QPointF(x, base), clock_text(line.t_ns))
        x += 12 * self._digit_px + _GAP_PX
        if line.rank is not None:
            square = QRectF(x, y + (LINE_PX - _SWATCH_PX) / 2, _SWATCH_PX, _SWATCH_PX)
            painter.fillRect(square, theme.rank_color(line.rank))
        x += _SWATCH_PX + 6
        who = "launcher" if line.rank is None else f"rank {line.rank}"
        painter.drawText(QPointF(x, base), who)
        x += max(8, len(who)) * self._digit_px + _GAP_PX
        x = self._draw_text(painter, line, QPointF(x, base), y)
        return x - left + 2 * _PAD_PX

    def _draw_text(self, painter: QPainter, line: LogLine, start: QPointF, y: int) -> float:
        """Draws the text piece by piece; each in the colour that the program asked for."""
        plain = self._theme.color({"warn": "warn", "error": "error"}.get(line.level, "text"))
        needle = self._model.filter.text
        if needle:
            self._draw_matches(painter, line.text, needle, start.x(), y)
        x = start.x()
        for begin, end, color in pieces(line, plain, self._ansi_color):
            text = line.text[begin:end].replace("\t", _TAB)
            painter.setPen(color)
            painter.drawText(QPointF(x, start.y()), text)
            x += self._metrics.horizontalAdvance(text)
        return x

    def _draw_matches(self, painter: QPainter, text: str, needle: str, x: float, y: int) -> None:
        folded, wanted = text.lower(), needle.lower()
        if len(folded) != len(text):
            # Some letters change their number when folded: no places to mark.
            return
        at = folded.find(wanted)
        while at >= 0:
            before = self._metrics.horizontalAdvance(text[:at].replace("\t", _TAB))
            width = self._metrics.horizontalAdvance(text[at : at + len(wanted)].replace("\t", _TAB))
            mark = QRectF(x + before, y + 1, width, LINE_PX - 2)
            painter.fillRect(mark, self._theme.color("surface3"))
            painter.fillRect(QRectF(mark.left(), mark.bottom() - 1, width, 1), self._theme.color("accent"))
            at = folded.find(wanted, at + max(1, len(wanted)))

    def _ansi_color(self, index: int) -> QColor:
        return self._theme.color(_ANSI_TOKENS[index % len(_ANSI_TOKENS)])


def pieces(line: LogLine, plain: QColor, color_of: Callable[[int], QColor]) -> list[tuple[int, int, QColor]]:
    """Cuts a line at its colours: (start, end, colour), without gaps or overlaps."""
    result: list[tuple[int, int, QColor]] = []
    at = 0
    for start, stop, index in line.spans:
        begin, end = max(start, at), min(stop, len(line.text))
        if end <= begin:
            continue
        if begin > at:
            result.append((at, begin, plain))
        result.append((begin, end, color_of(index)))
        at = end
    if at < len(line.text):
        result.append((at, len(line.text), plain))
    return result


def clock_text(t_ns: int | None) -> str:
    """Local time of day with milliseconds, blank if it is not known."""
    if t_ns is None:
        return ""
    seconds, rest_ns = divmod(t_ns, 1_000_000_000)
    return f"{time.strftime('%H:%M:%S', time.localtime(seconds))}.{rest_ns // 1_000_000:03d}"


def as_text(line: LogLine) -> str:
    """A line as it is copied and saved: time, who, text."""
    who = "launcher" if line.rank is None else f"rank {line.rank}"
    clock = clock_text(line.t_ns)
    return f"{clock}  {who}  {line.text}" if clock else f"{who}  {line.text}"
