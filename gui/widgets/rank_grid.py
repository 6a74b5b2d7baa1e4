"""All ranks at a glance: a card each up to eight, above that a grid of cells and one card.

One rank is selected across the page; this widget shows which and asks for another.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from core.units import format_number, gib
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.rank_card import RankCard, memory_words
from gui.widgets.rank_facts import STATUS_LOOKS, device_words, memory_of

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QPaintEvent, QResizeEvent

    from core.runs.snapshot import RankState, RunSnapshot
    from gui.theme import Theme, ThemeController

COLUMNS = 4
MOST_CARDS = 8
CELL_PX = 24
GAP_PX = 4
CARD_GAP_PX = 8
_CARD_PX = 250


class RankOverview(QWidget):
    """Cards, or grid and card, for the ranks of a snapshot.

    Signals:
        chosen: Rank that should be selected.
    """

    chosen = Signal(int)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._cards: list[RankCard] = []
        self._grid: RankGrid | None = None
        self._count = -1
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._content: QWidget | None = None
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def cards(self) -> list[RankCard]:
        """The cards that are there now."""
        return self._cards

    @property
    def grid(self) -> RankGrid | None:
        """The grid, if there are more ranks than cards."""
        return self._grid

    def show_snapshot(self, snapshot: RunSnapshot, selected: int | None) -> None:
        """Shows the newest figures of every rank."""
        if len(snapshot.ranks) != self._count:
            self._build(len(snapshot.ranks))
        if self._grid is not None:
            self._grid.show_snapshot(snapshot, selected)
            shown = selected if selected is not None else 0
            for state in snapshot.ranks:
                if state.rank == shown:
                    self._cards[0].show_rank(state, snapshot, selected=selected is not None)
            return
        for card, state in zip(self._cards, snapshot.ranks, strict=True):
            card.show_rank(state, snapshot, selected=state.rank == selected)

    def _build(self, count: int) -> None:
        if self._content is not None:
            self._layout.removeWidget(self._content)
            self._content.hide()
            self._content.deleteLater()
        self._count = count
        self._cards = []
        self._grid = None
        self._content = self._many() if count > MOST_CARDS else self._few(count)
        self._layout.addWidget(self._content)

    def _few(self, count: int) -> QWidget:
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(CARD_GAP_PX)
        columns = count if count <= COLUMNS else COLUMNS
        for place in range(count):
            card = RankCard(self._theme, place, compact=count > COLUMNS)
            card.chosen.connect(self.chosen)
            card.moved.connect(lambda key, place=place: self._move_focus(place, key))
            self._cards.append(card)
            grid.addWidget(card, place // columns, place % columns)
        for column in range(columns):
            grid.setColumnStretch(column, 1)
        return content

    def _many(self) -> QWidget:
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(CARD_GAP_PX)
        self._grid = RankGrid(self._theme)
        self._grid.chosen.connect(self.chosen)
        card = RankCard(self._theme, 0)
        card.setFixedWidth(_CARD_PX)
        card.chosen.connect(self.chosen)
        self._cards.append(card)
        left = QVBoxLayout()
        left.setSpacing(6)
        left.addWidget(self._grid)
        left.addWidget(self._grid.words)
        left.addStretch(1)
        row.addLayout(left, 1)
        row.addWidget(card, 0, Qt.AlignmentFlag.AlignTop)
        return content

    def _move_focus(self, place: int, key: int) -> None:
        columns = min(len(self._cards), COLUMNS)
        target = place + _step(key, columns)
        if 0 <= target < len(self._cards):
            self._cards[target].setFocus(Qt.FocusReason.TabFocusReason)


def _step(key: int, columns: int) -> int:
    steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -columns, Qt.Key.Key_Down: columns}
    return steps.get(Qt.Key(key), 0)


class RankGrid(QWidget):
    """A cell of 24 px per rank: its number, its state by tint, edge and corner mark.

    Signals:
        chosen: Rank of the cell that was clicked or entered.
    """

    chosen = Signal(int)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._snapshot: RunSnapshot | None = None
        self._selected: int | None = None
        self._current = 0
        self.words = plain_label(wrap=True)
        set_kind(self.words, kind="caption")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Ranks")
        theme.changed.connect(self._redraw)

    def show_snapshot(self, snapshot: RunSnapshot, selected: int | None) -> None:
        """Shows the newest states."""
        before = self._snapshot
        self._snapshot = snapshot
        if selected is not None and selected != self._selected:
            self._current = self._place_of(selected)
        changed = before is None or before.ranks != snapshot.ranks or selected != self._selected
        self._selected = selected
        if changed:
            self.words.setText(status_counts(snapshot))
            self.setAccessibleDescription(status_counts(snapshot))
            self._fit_height()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """As high as its rows need."""
        return QSize(400, self._height_for(self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Puts as many cells in a row as fit."""
        super().resizeEvent(event)
        self._fit_height()

    def _fit_height(self) -> None:
        height = self._height_for(self.width())
        if height != self.height():
            self.setFixedHeight(height)

    def _height_for(self, width: int) -> int:
        rows = math.ceil(self._count / self._columns(width)) if self._count else 1
        return rows * (CELL_PX + GAP_PX) - GAP_PX + 2

    @property
    def _count(self) -> int:
        return 0 if self._snapshot is None else len(self._snapshot.ranks)

    def _columns(self, width: int) -> int:
        fit = max(1, (width + GAP_PX) // (CELL_PX + GAP_PX))
        # Rows of 8, 16 or 32 are counted at a glance.
        return next((columns for columns in (32, 16, 8) if columns <= fit), fit)

    def _cell(self, place: int) -> QRect:
        columns = self._columns(self.width())
        pitch = CELL_PX + GAP_PX
        return QRect((place % columns) * pitch + 1, (place // columns) * pitch + 1, CELL_PX, CELL_PX)

    def _place_at(self, point: QPoint) -> int | None:
        return next((place for place in range(self._count) if self._cell(place).contains(point)), None)

    def _place_of(self, rank: int) -> int:
        ranks = () if self._snapshot is None else self._snapshot.ranks
        return next((place for place, state in enumerate(ranks) if state.rank == rank), 0)

    def _state(self, place: int) -> RankState | None:
        if self._snapshot is None or not 0 <= place < self._count:
            return None
        return self._snapshot.ranks[place]

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Selects the rank under the pointer."""
        place = self._place_at(event.position().toPoint())
        state = None if place is None else self._state(place)
        if place is not None and state is not None:
            self._current = place
            self.chosen.emit(state.rank)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Arrows move, Enter selects."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            state = self._state(self._current)
            if state is not None:
                self.chosen.emit(state.rank)
            return
        step = _step(key, self._columns(self.width()))
        if not step:
            super().keyPressEvent(event)
            return
        if 0 <= self._current + step < self._count:
            self._current += step
            state = self._state(self._current)
            self.setAccessibleDescription("" if state is None else self._tip(state))
            self.update()

    def event(self, event: QEvent) -> bool:
        """Names the rank under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(event.pos())
            state = None if place is None else self._state(place)
            if state is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self._tip(state), self)
            return True
        return super().event(event)

    def _tip(self, state: RankState) -> str:
        if self._snapshot is None:
            return ""
        memory = memory_of(state, self._snapshot)
        return (
            f"Rank {state.rank}, {device_words(state, self._snapshot)}\n"
            f"{STATUS_LOOKS[state.status].word}\n"
            f"{gib(memory.figure_bytes)} {memory_words(memory)}\n"
            f"Loss {format_number(state.loss, 6)}"
        )

    def _redraw(self, _theme: Theme) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the cells."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._theme.theme.font(self._theme.theme.px_small))
        for place in range(self._count):
            state = self._state(place)
            if state is not None:
                self._draw_cell(painter, self._cell(place), state, place)
        painter.end()

    def _draw_cell(self, painter: QPainter, cell: QRect, state: RankState, place: int) -> None:
        theme = self._theme.theme
        level = STATUS_LOOKS[state.status].level
        calm = level in ("ok", "none", "info")
        edge = theme.color("border" if calm else level)
        painter.setPen(QPen(edge, 1))
        painter.setBrush(theme.color("surface2" if level == "none" else f"{level}-bg"))
        box = QRectF(cell).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, 4, 4)
        if not calm:
            # A corner mark, so that colour is not the only sign.
            corner = [box.topRight(), box.topRight() - QPointF(8, 0), box.topRight() + QPointF(0, 8)]
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(edge)
            painter.drawPolygon(QPolygonF(corner))
        painter.setPen(theme.color("text" if level != "none" else "text2"))
        painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, str(state.rank))
        focused = self.hasFocus() and place == self._current
        if state.rank == self._selected or focused:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("focus" if focused else "accent"), 2))
            painter.drawRoundedRect(QRectF(cell).adjusted(1, 1, -1, -1), 4, 4)


def status_counts(snapshot: RunSnapshot) -> str:
    """How many ranks are in which state: "62 running, 1 slow, 1 silent"."""
    counts = Counter(STATUS_LOOKS[state.status].word.lower() for state in snapshot.ranks)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())
