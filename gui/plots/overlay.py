"""What is written upon a chart: names at the line ends, marks, notes, the crosshair with its values.

A transparent widget over the plot. It draws words and takes the pointer; it
knows no data, only what it is told to show, in its own pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent, QMouseEvent, QPaintEvent, QWheelEvent

    from gui.theme import Theme

LABEL_HEIGHT_PX = 15
SWATCH_PX = 8
LABEL_GAP_PX = 6
_PAD_PX = 8
_MARK_PX = 7


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """Words right of the plot, centred at ``y`` in pixels; quiet ones in the secondary colour."""

    text: str
    color: QColor
    y: float
    quiet: bool = False
    strong: bool = False


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A triangle at the upper (``up``) or lower edge of the plot, with a dotted line across it or not."""

    x: float
    up: bool
    color: QColor
    line: bool = True


@dataclass(frozen=True, slots=True)
class ReadOut:
    """Values under the pointer: a title and rows of (colour or none, name, value)."""

    x: float
    title: str
    rows: tuple[tuple[QColor | None, str, str], ...]
    points: tuple[tuple[QPointF, QColor], ...] = ()


@dataclass(frozen=True, slots=True)
class OverlayContent:
    """Everything to draw, in the overlay's pixels.

    Attributes:
        plot: Rectangle of the plot without its axes.
        labels: Names at the line ends.
        marks: Measured values that are not numbers.
        dots: Points without a line.
        notes: Lines at the left of the plot.
        notes_on_top: They stand at its upper end instead of the lower one.
        x_unit: Unit of the x axis, right of its labels.
        empty: Words in the middle when there is nothing to draw.
    """

    plot: QRectF = field(default_factory=QRectF)
    labels: tuple[PlacedLabel, ...] = ()
    marks: tuple[PlacedMark, ...] = ()
    dots: tuple[tuple[QPointF, QColor], ...] = ()
    notes: tuple[str, ...] = ()
    notes_on_top: bool = False
    x_unit: str = ""
    empty: str = ""


class ChartOverlay(QWidget):
    """Draws the words of one chart and passes on what the pointer and the keys do.

    Signals carry Qt's own events; whoever handles one accepts it.
    """

    wheel_turned = Signal(object)
    pressed = Signal(object)
    moved = Signal(object)
    released = Signal(object)
    double_clicked = Signal(object)
    left = Signal()
    key_pressed = Signal(object)
    exposed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._content = OverlayContent()
        self._read_out: ReadOut | None = None
        self._own_keys: frozenset[tuple[int, bool]] = frozenset()
        self._by_keyboard = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def set_theme(self, theme: Theme) -> None:
        """Takes new colours and fonts."""
        self._theme = theme
        self.update()

    @property
    def content(self) -> OverlayContent:
        """What is drawn now."""
        return self._content

    @property
    def read_out(self) -> ReadOut | None:
        """The values under the pointer, if they are shown."""
        return self._read_out

    def show_content(self, content: OverlayContent) -> None:
        """Draws this instead."""
        self._content = content
        self.update()

    def show_read_out(self, read_out: ReadOut | None) -> None:
        """Shows the crosshair with these values, or takes it away."""
        if read_out != self._read_out:
            self._read_out = read_out
            self.update()

    # What the pointer and the keys do.

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Zooms."""
        self.wheel_turned.emit(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Begins a drag or a click."""
        self.pressed.emit(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Drags, or shows what is under the pointer."""
        self.moved.emit(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Ends a drag or a click."""
        self.released.emit(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Resets the view."""
        self.double_clicked.emit(event)

    def leaveEvent(self, _event: object) -> None:  # noqa: N802
        """Takes the crosshair away."""
        self.left.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Moves the view; what nobody takes goes on to the page."""
        event.ignore()
        self.key_pressed.emit(event)

    def take_keys(self, keys: frozenset[tuple[int, bool]]) -> None:
        """Names keys, (key, with Ctrl), that come here although the window has a shortcut for them."""
        self._own_keys = keys

    def event(self, event: QEvent) -> bool:
        """Keeps the keys of the chart from triggering the window's shortcuts."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            ctrl = event.modifiers() == Qt.KeyboardModifier.ControlModifier
            plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
            if (ctrl or plain) and (int(event.key()), ctrl) in self._own_keys:
                event.accept()
                return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Shows the focus ring to those who use the keyboard."""
        self._by_keyboard = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    # Drawing.

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws words, marks and the crosshair."""
        self.exposed.emit()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._theme.font(self._theme.px_small))
        content = self._content
        if content.empty:
            painter.setPen(self._theme.color("text2"))
            painter.drawText(
                QRectF(self.rect()), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, content.empty
            )
        self._draw_dots(painter)
        self._draw_marks(painter)
        self._draw_labels(painter)
        self._draw_notes(painter)
        if self._read_out is not None:
            self._draw_read_out(painter, self._read_out)
        if self.hasFocus() and self._by_keyboard:
            self._draw_focus(painter)
        painter.end()

    def _draw_dots(self, painter: QPainter) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        for point, color in self._content.dots:
            painter.setBrush(color)
            painter.drawEllipse(point, 2.5, 2.5)

    def _draw_marks(self, painter: QPainter) -> None:
        plot = self._content.plot
        for mark in self._content.marks:
            edge, tip = (plot.top(), -1) if mark.up else (plot.bottom(), 1)
            inner = edge - tip * _MARK_PX
            if mark.line:
                painter.setPen(QPen(mark.color, 1, Qt.PenStyle.DotLine))
                painter.drawLine(QPointF(mark.x, plot.top()), QPointF(mark.x, plot.bottom()))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(mark.color)
            half = _MARK_PX / 2 + 1
            corners = [QPointF(mark.x - half, inner), QPointF(mark.x + half, inner), QPointF(mark.x, edge)]
            painter.drawPolygon(QPolygonF(corners))

    def _draw_labels(self, painter: QPainter) -> None:
        content = self._content
        x = content.plot.right() + LABEL_GAP_PX
        text_x = x + SWATCH_PX + 4
        for label in content.labels:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(label.color)
            painter.drawRoundedRect(QRectF(x, label.y - SWATCH_PX / 2, SWATCH_PX, SWATCH_PX), 1, 1)
            painter.setPen(self._theme.color("text2" if label.quiet else "text"))
            painter.setFont(self._theme.font(self._theme.px_small, bold=label.strong))
            room = QRectF(text_x, label.y - LABEL_HEIGHT_PX / 2, self.width() - text_x, LABEL_HEIGHT_PX)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip, label.text)
        painter.setFont(self._theme.font(self._theme.px_small))
        painter.setPen(self._theme.color("text2"))
        foot = QRectF(x, content.plot.bottom() + 4, self.width() - x, LABEL_HEIGHT_PX)
        painter.drawText(foot, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, content.x_unit)

    def _draw_notes(self, painter: QPainter) -> None:
        """Notes lie on curves sometimes: a little of the background keeps them readable."""
        content = self._content
        metrics = QFontMetricsF(painter.font())
        height = LABEL_HEIGHT_PX * len(content.notes)
        y = content.plot.top() + 3 if content.notes_on_top else content.plot.bottom() - 5 - height
        background = self._theme.color("surface2")
        background.setAlphaF(0.75)
        for note in content.notes:
            width = min(metrics.horizontalAdvance(note), content.plot.width() - 12)
            room = QRectF(content.plot.left() + 6, y, width, LABEL_HEIGHT_PX)
            painter.fillRect(room.adjusted(-2, 0, 2, 0), background)
            painter.setPen(self._theme.color("text2"))
            text = metrics.elidedText(note, Qt.TextElideMode.ElideRight, width + 1)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip, text)
            y += LABEL_HEIGHT_PX

    def _draw_read_out(self, painter: QPainter, read_out: ReadOut) -> None:
        plot = self._content.plot
        pen = QPen(self._theme.color("text2"))
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.drawLine(QPointF(read_out.x, plot.top()), QPointF(read_out.x, plot.bottom()))
        painter.setPen(QPen(self._theme.color("chart-bg"), 1))
        for point, color in read_out.points:
            painter.setBrush(color)
            painter.drawEllipse(point, 3.5, 3.5)
        self._draw_values(painter, read_out)

    def _draw_values(self, painter: QPainter, read_out: ReadOut) -> None:
        normal = self._theme.font(self._theme.px_small)
        bold = self._theme.font(self._theme.px_small, bold=True)
        metrics = QFontMetricsF(normal)
        names = max((metrics.horizontalAdvance(name) for _, name, _ in read_out.rows), default=0.0)
        values = max((metrics.horizontalAdvance(value) for _, _, value in read_out.rows), default=0.0)
        title = QFontMetricsF(bold).horizontalAdvance(read_out.title)
        line = LABEL_HEIGHT_PX + 1
        width = max(title, SWATCH_PX + 5 + names + 14 + values) + 2 * _PAD_PX
        height = line * (1 + len(read_out.rows)) + 10
        box = self._box(read_out.x, width, height)
        painter.setPen(QPen(self._theme.color("border-strong"), 1))
        painter.setBrush(self._theme.color("popup"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        row = QRectF(box.left() + _PAD_PX, box.top() + 5, width - 2 * _PAD_PX, line)
        painter.setFont(bold)
        painter.setPen(self._theme.color("text"))
        painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, read_out.title)
        painter.setFont(normal)
        for color, name, value in read_out.rows:
            row.translate(0, line)
            if color is not None:
                painter.fillRect(QRectF(row.left(), row.center().y() - 4, SWATCH_PX, SWATCH_PX), color)
            painter.setPen(self._theme.color("text2"))
            painter.drawText(row.adjusted(SWATCH_PX + 5, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, name)
            painter.setPen(self._theme.color("text"))
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, value)

    def _box(self, x: float, width: float, height: float) -> QRectF:
        """Beside the crosshair, inside the widget."""
        left = x + 10
        if left + width > self.width():
            left = x - 10 - width
        left = min(max(left, 0.0), max(0.0, self.width() - width))
        return QRectF(
            round(left), max(0.0, min(self._content.plot.top() + 6, self.height() - height)), width, height
        )

    def _draw_focus(self, painter: QPainter) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self._theme.color("focus"), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
