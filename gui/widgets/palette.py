"""The command palette: one field that finds actions, runs and files, and does what is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from gui.plain_text import plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gui.theme import Theme, ThemeController

WIDTH_PX = 560
ROW_PX = 28
HEAD_PX = 38
MOST_ROWS = 12
MOVES = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: MOST_ROWS - 1,
    Qt.Key.Key_PageUp: 1 - MOST_ROWS,
}
OWN_KEYS = frozenset(
    {
        *MOVES,
        Qt.Key.Key_Escape,
        Qt.Key.Key_Return,
        Qt.Key.Key_Enter,
        Qt.Key.Key_Tab,
        Qt.Key.Key_Backtab,
    }
)

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class PaletteEntry:
    """Something that can be found and done.

    Attributes:
        text: What is shown.
        run: Does it.
        icon: Phosphor name.
        shortcut: Shown at the right.
        note: Shown at the right instead, such as "run, 29 Nov".
        reason: Why it cannot be done now; shown at the right.
        words: Further words to find it by.
    """

    text: str
    run: Callable[[], object]
    icon: str = ""
    shortcut: str = ""
    note: str = ""
    reason: str | None = None
    words: str = ""


def find_entries(entries: Sequence[PaletteEntry], query: str) -> list[PaletteEntry]:
    """Entries that hold every word of the query, the best first; all of them for an empty query.

    A word at the start of the text counts most, then at the start of a word,
    then anywhere; what cannot be done now comes after what can.
    """
    wanted = query.casefold().split()
    ranked = []
    for place, entry in enumerate(entries):
        scores = [_score(entry, word) for word in wanted]
        if all(score is not None for score in scores):
            total = sum(score or 0 for score in scores)
            ranked.append((entry.reason is not None, total, place, entry))
    return [entry for *_, entry in sorted(ranked, key=lambda item: item[:3])]


def _score(entry: PaletteEntry, word: str) -> int | None:
    text = entry.text.casefold()
    if text.startswith(word):
        return 0
    if any(part.startswith(word) for part in text.split()):
        return 1
    if word in text:
        return 2
    return 3 if word in f"{entry.words} {entry.note}".casefold() else None


class _EntryModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.entries: list[PaletteEntry] = []

    def show(self, entries: list[PaletteEntry]) -> None:
        self.beginResetModel()
        self.entries = entries
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:  # noqa: N802
        return 0 if parent is not None and parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{entry.text}, {entry.reason or entry.shortcut or entry.note}".rstrip(", ")
        return None


class _EntryDelegate(QStyledItemDelegate):
    def __init__(self, theme: ThemeController, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(WIDTH_PX - 2, ROW_PX)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._theme.theme
        model = index.model()
        assert isinstance(model, _EntryModel)
        entry = model.entries[index.row()]
        rect: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("selection"))
            painter.fillRect(rect.left(), rect.top(), 2, rect.height(), theme.color("accent"))
        painter.save()
        if entry.icon:
            token = "text2" if entry.reason is None else "disabled"
            place = QRect(rect.left() + 12, rect.top() + (ROW_PX - 16) // 2, 16, 16)
            theme.icon(entry.icon, token).paint(painter, place)
        right = self._paint_right(painter, rect, entry, theme)
        painter.setFont(theme.font(theme.px_table))
        painter.setPen(theme.color("text" if entry.reason is None else "disabled"))
        room = QRect(rect.left() + 36, rect.top(), right - rect.left() - 44, rect.height())
        shown = painter.fontMetrics().elidedText(entry.text, Qt.TextElideMode.ElideMiddle, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)
        painter.restore()

    @staticmethod
    def _paint_right(painter: QPainter, rect: QRect, entry: PaletteEntry, theme: Theme) -> int:
        """Draws the shortcut, note or reason; returns where it begins."""
        text = entry.reason or entry.shortcut or entry.note
        right = rect.right() - 12
        if not text:
            return right
        painter.setFont(theme.font(theme.px_small))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, rect.width() // 2)
        width = painter.fontMetrics().horizontalAdvance(shown)
        boxed = entry.reason is None and bool(entry.shortcut)
        left = right - width - (5 if boxed else 0)
        place = QRect(left, rect.top(), width, rect.height())
        if boxed:
            frame = QRect(left - 5, rect.top() + 6, width + 10, rect.height() - 12)
            painter.setPen(theme.color("border-strong"))
            painter.drawRoundedRect(frame, 3, 3)
        painter.setPen(theme.color("text2" if entry.reason is None else "disabled"))
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, shown)
        return left - 5


class Palette(QFrame):
    """Lies over the top third of the window; closes on Escape, on a choice, or when left."""

    def __init__(
        self, theme: ThemeController, window: QWidget, entries: Callable[[], list[PaletteEntry]]
    ) -> None:
        """Args: ``entries`` is asked each time the palette opens."""
        super().__init__(window)
        set_kind(self, kind="popup")
        self.setAccessibleName("Command palette")
        self._theme = theme
        self._window = window
        self._ask = entries
        self._entries: list[PaletteEntry] = []
        self._before: QWidget | None = None
        self._icon = QLabel()
        self._field = QLineEdit()
        set_kind(self._field, kind="bare")
        self._field.setPlaceholderText("Search or run a command")
        self._field.setAccessibleName("Search or run a command")
        self._count = plain_label()
        set_kind(self._count, kind="caption")
        self._model = _EntryModel(self)
        self._list = QListView()
        self._list.setModel(self._model)
        self._list.setItemDelegate(_EntryDelegate(theme, self))
        self._list.setUniformItemSizes(True)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setAccessibleName("Results")
        self._list.setMouseTracking(True)
        self._list.setStyleSheet("background: transparent; border: 0;")
        self._list.clicked.connect(lambda index: self._run(index.row()))
        self._list.entered.connect(self._list.setCurrentIndex)
        self._arrange()
        self._field.textChanged.connect(self._search)
        self._field.installEventFilter(self)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)
        self.hide()

    @property
    def shown_texts(self) -> list[str]:
        """The rows as they stand."""
        return [entry.text for entry in self._model.entries]

    @property
    def count_text(self) -> str:
        """How many results there are, in words."""
        return self._count.text()

    def open_palette(self, query: str = "") -> None:
        """Shows it with fresh entries and takes the keyboard."""
        self._entries = self._ask()
        self._before = self._window.focusWidget()
        self._field.setText(query)
        self._search(query)
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_palette(self) -> None:
        """Hides it and gives the keyboard back."""
        if not self.isVisible():
            return
        self.hide()
        if self._before is not None and self._before.isVisible():
            self._before.setFocus(Qt.FocusReason.OtherFocusReason)
        self._before = None

    def place(self) -> None:
        """Puts it into the top third of the window, in the middle."""
        size = self._window.size()
        width = min(WIDTH_PX, size.width() - 32)
        rows = max(1, min(MOST_ROWS, self._model.rowCount()))
        self.setGeometry((size.width() - width) // 2, size.height() // 8, width, HEAD_PX + rows * ROW_PX + 6)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Keys that move in the list while the field has the keyboard."""
        if watched is self._field and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.ShortcutOverride and Qt.Key(event.key()) in OWN_KEYS:
                # A page's own Escape must not take it.
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                return self._handle_key(Qt.Key(event.key()))
        if watched is self._field and event.type() == QEvent.Type.FocusOut:
            self.hide()
        return super().eventFilter(watched, event)

    def _handle_key(self, key: Qt.Key) -> bool:
        if key == Qt.Key.Key_Escape:
            self.close_palette()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run(self._list.currentIndex().row())
        elif key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self._move(1 if key == Qt.Key.Key_Tab else -1)
        elif key in MOVES:
            self._move(MOVES[key])
        else:
            return False
        return True

    def _move(self, by: int) -> None:
        rows = self._model.rowCount()
        if rows:
            row = self._list.currentIndex().row() + by
            row = row % rows if abs(by) == 1 else max(0, min(rows - 1, row))
            self._list.setCurrentIndex(self._model.index(row))

    def _run(self, row: int) -> None:
        if not 0 <= row < self._model.rowCount():
            return
        entry = self._model.entries[row]
        if entry.reason is None:
            self.close_palette()
            entry.run()

    def _search(self, query: str) -> None:
        found = find_entries(self._entries, query)
        self._model.show(found[:MOST_ROWS])
        words = "1 result" if len(found) == 1 else f"{len(found)} results"
        self._count.setText(words if len(found) <= MOST_ROWS else f"{MOST_ROWS} of {words}")
        if found:
            self._list.setCurrentIndex(self._model.index(0))
        self.place()

    def _arrange(self) -> None:
        head = QFrame()
        set_kind(head, kind="popup-head")
        head.setFixedHeight(HEAD_PX)
        row = QHBoxLayout(head)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        row.addWidget(self._icon)
        row.addWidget(self._field, 1)
        row.addWidget(self._count)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 3)
        layout.setSpacing(0)
        layout.addWidget(head)
        layout.addWidget(self._list, 1)

    def _draw(self, theme: Theme) -> None:
        self._icon.setPixmap(theme.pixmap("magnifying-glass", "text", ratio=self.devicePixelRatioF()))
        self._list.viewport().update()
