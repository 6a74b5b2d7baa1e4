"""The tooltip of a timeline: a name and up to four pairs, beside the cursor. Names are drawn literally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from gui.plots.timeline_content import SliceWords
    from gui.theme import Theme

_PAD_PX: Final = 8
_LINE_PX: Final = 16
_WIDEST_PX: Final = 420
_BESIDE_PX: Final = 14
_MOST_PAIRS: Final = 4


class TimelineTip(QWidget):
    """Shown over its parent; the pointer goes through it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._over = parent
        self._words: SliceWords | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    @property
    def words(self) -> SliceWords | None:
        """What it says; None while it is hidden."""
        return self._words if self.isVisible() else None

    def set_theme(self, theme: Theme) -> None:
        """Takes the colours of a theme."""
        self._theme = theme
        self.update()

    def show_words(self, words: SliceWords, at: QPointF) -> None:
        """Shows words beside a point of the parent, inside it."""
        self._words = words
        bold = QFontMetricsF(self._theme.font(self._theme.px_small, bold=True))
        plain = QFontMetricsF(self._theme.font(self._theme.px_small))
        pairs = words.pairs[:_MOST_PAIRS]
        what = max((plain.horizontalAdvance(name) for name, _ in pairs), default=0.0)
        value = max((plain.horizontalAdvance(text) for _, text in pairs), default=0.0)
        wanted = max(bold.horizontalAdvance(words.name), what + 16 + value) + 2 * _PAD_PX + 2
        self.resize(int(min(wanted, _WIDEST_PX)), _LINE_PX * (1 + len(pairs)) + 10)
        parent = self._over
        x, y = at.x() + _BESIDE_PX, at.y() + _BESIDE_PX
        if x + self.width() > parent.width():
            x = at.x() - _BESIDE_PX - self.width()
        if y + self.height() > parent.height():
            y = at.y() - _BESIDE_PX - self.height()
        self.move(int(max(0.0, x)), int(max(0.0, y)))
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  (Qt's name)
        """Draws the words."""
        if self._words is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("border-strong"), 1))
        painter.setBrush(self._theme.color("popup"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        row = QRectF(_PAD_PX, 5, self.width() - 2 * _PAD_PX, _LINE_PX)
        bold = self._theme.font(self._theme.px_small, bold=True)
        plain = self._theme.font(self._theme.px_small)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(bold)
        painter.setPen(self._theme.color("text"))
        cut = Qt.TextElideMode.ElideMiddle
        name = self._words.name.replace("\n", " ")
        painter.drawText(row, middle, QFontMetricsF(bold).elidedText(name, cut, row.width() + 1))
        painter.setFont(plain)
        metrics = QFontMetricsF(plain)
        for what, value in self._words.pairs[:_MOST_PAIRS]:
            row.translate(0, _LINE_PX)
            painter.setPen(self._theme.color("text2"))
            painter.drawText(row, middle, what)
            painter.setPen(self._theme.color("text"))
            room = row.width() - metrics.horizontalAdvance(what) - 8
            painter.drawText(
                row, middle | Qt.AlignmentFlag.AlignRight, metrics.elidedText(value, cut, max(room, 20.0))
            )
