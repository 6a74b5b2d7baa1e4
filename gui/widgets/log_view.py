"""The log of a run: its painted lines, the filter by rank and text, find, copy and save.

The controls (``corner``) stand at the right end of the dock's tabs, the lines
below. Files are written and opened by the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.units import format_count
from gui.models.log import LogFilter
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.log_area import TAB_LEAST_SIZE, TAB_SIZE, LogArea, as_text
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from core.telemetry.views import LogLine
    from gui.models.log import LogModel
    from gui.theme import Theme, ThemeController

_SEGMENTS = 8
_FILTER_PX = 150


class LogView(QWidget):
    """Shows and filters a ``LogModel``.

    Signals:
        rank_clicked: Rank of a line that was clicked.
        save_asked: The shown lines should be saved.
        whole_log_asked: The log on disk should be opened: a rank, or None for the launcher's folder.
    """

    rank_clicked = Signal(int)
    save_asked = Signal()
    whole_log_asked = Signal(object)

    def __init__(self, model: LogModel, theme: ThemeController) -> None:
        super().__init__()
        self._model = model
        self._ranks: tuple[int, ...] = ()
        self.area = LogArea(model, theme)
        self.corner = LogCorner(theme)
        self._stack = QStackedLayout(self)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.area)
        self._nothing = _NoMatch()
        self._stack.addWidget(self._nothing)
        self._nothing.clear_asked.connect(self._clear_filter)
        corner = self.corner
        corner.filter_changed.connect(model.set_filter)
        corner.find_asked.connect(self.find_next)
        corner.left.connect(self.area.setFocus)
        corner.copy.clicked.connect(self.copy)
        corner.more.clicked.connect(self._menu_below_button)
        self.area.find_asked.connect(self.find_next)
        self.area.filter_asked.connect(self.focus_filter)
        self.area.menu_asked.connect(self._show_menu)
        self.area.line_activated.connect(self._activated)
        self.area.set_empty_words("No output yet")
        model.changed.connect(self._model_changed)
        self.area.installEventFilter(self)
        self._model_changed()

    def sizeHint(self) -> QSize:  # noqa: N802
        """As high as the log: the dock keeps its height when tabs are changed."""
        return TAB_SIZE

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """A line or two."""
        return TAB_LEAST_SIZE

    def set_ranks(self, ranks: int) -> None:
        """Offers these many ranks in the filter."""
        self.corner.set_ranks(ranks)

    def add(self, lines: Iterable[LogLine]) -> None:
        """Takes new and rewritten lines."""
        self._model.add(lines)

    @property
    def words_when_hidden(self) -> str:
        """What stands in place of the lines when the filter hides all of them."""
        return self._nothing.words

    def show_rank(self, rank: int | None) -> None:
        """Shows only a rank's lines, from the end."""
        self.corner.set_rank(rank)
        self.area.scroll_to_end()

    def start_again(self) -> None:
        """Another run follows: nothing of this one stays."""
        self.corner.reset()
        self._model.clear()
        self.area.scroll_to_end()

    def focus_filter(self) -> None:
        """Puts the cursor into the filter field."""
        self.corner.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.corner.field.selectAll()

    def find_next(self, forward: bool) -> None:
        """Goes to the next shown line or the one before; around the ends."""
        count = len(self._model)
        if not count:
            return
        now = self.area.current_row
        if now is None:
            now = self.area.top_row - 1 if forward else self.area.top_row
        self.area.go_to_row((now + (1 if forward else -1)) % count)

    def copy(self) -> None:
        """Copies the selected lines, or all shown ones if none is selected."""
        lines = self.area.selected_lines() or list(self._model.lines())
        QGuiApplication.clipboard().setText("\n".join(map(as_text, lines)))

    def copy_text_only(self) -> None:
        """Copies the selected lines without time and rank."""
        lines = self.area.selected_lines() or list(self._model.lines())
        QGuiApplication.clipboard().setText("\n".join(line.text for line in lines))

    def shown_text(self) -> str:
        """All shown lines, as they are saved."""
        return "".join(f"{as_text(line)}\n" for line in self._model.lines())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Copy works where the lines have the focus."""
        if watched is self.area and isinstance(event, QKeyEvent):
            ctrl = event.modifiers() == Qt.KeyboardModifier.ControlModifier
            if ctrl and event.key() == Qt.Key.Key_C and event.type() == QEvent.Type.KeyPress:
                self.copy()
                return True
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """The controls come with the lines."""
        super().showEvent(event)
        self.corner.set_shown(True)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """The controls go with the lines."""
        super().hideEvent(event)
        self.corner.set_shown(False)

    def _clear_filter(self) -> None:
        self.corner.reset()

    def _model_changed(self) -> None:
        model = self._model
        shown, kept = len(model), model.kept
        self._nothing.set_words(model.filter, kept)
        hidden_all = kept > 0 and not shown
        self._stack.setCurrentWidget(self._nothing if hidden_all else self.area)
        self.corner.set_count(shown, kept, model.dropped, filtered=model.filter != LogFilter())

    def _activated(self, line: LogLine) -> None:
        if line.rank is not None:
            self.rank_clicked.emit(line.rank)

    def _menu_below_button(self) -> None:
        button = self.corner.more
        self._show_menu(button.mapToGlobal(QPoint(0, button.height())))

    def _show_menu(self, position: QPoint) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(position)

    def menu(self) -> QMenu:
        """What can be done with the lines."""
        menu = QMenu(self)
        selected = self.area.selected_lines()
        what = "selected lines" if selected else "shown lines"
        menu.addAction(f"Copy {what}", self.copy)
        menu.addAction("Copy text only", self.copy_text_only)
        menu.addAction("Save shown lines", self.save_asked.emit)
        menu.addSeparator()
        rank = selected[-1].rank if selected else self._model.filter.rank
        if rank is not None:
            menu.addAction(f"Open the whole log of rank {rank}", lambda: self.whole_log_asked.emit(rank))
        menu.addAction("Open the folder of all logs", lambda: self.whole_log_asked.emit(None))
        menu.addSeparator()
        menu.addAction("Follow the newest line", self.area.scroll_to_end)
        if self._model.filter != LogFilter():
            menu.addAction("Clear filter", self._clear_filter)
        return menu


class LogCorner(QWidget):
    """Filter field with its count, ranks, copy, and a menu.

    Signals:
        filter_changed: The new ``LogFilter``.
        find_asked: True for the next match, False for the one before.
        left: The field was left for the lines.
    """

    filter_changed = Signal(object)
    find_asked = Signal(bool)
    left = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._ranks = 0
        self._rank: int | None = None
        self._inner = QWidget()
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._inner)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Filter")
        self.field.setAccessibleName("Filter log lines")
        self.field.setToolTip("Show only lines that hold this (/)\nF3 goes to the next one")
        self.field.setClearButtonEnabled(True)
        self.field.setFixedWidth(_FILTER_PX)
        set_kind(self.field, size="small")
        self.field.textChanged.connect(self._changed)
        self.field.installEventFilter(self)
        self.count = plain_label()
        set_kind(self.count, kind="caption")
        self._segments = Segmented("Rank", ("All ranks",))
        self._segments.chosen.connect(self._segment_chosen)
        self._combo = QComboBox()
        self._combo.setAccessibleName("Rank")
        set_kind(self._combo, size="small")
        self._combo.hide()
        self._combo.activated.connect(self._segment_chosen)
        self.copy = _tool("Copy lines")
        self.more = _tool("More for the log")
        row = QHBoxLayout(self._inner)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for widget in (self.count, self.field, self._segments, self._combo, self.copy, self.more):
            row.addWidget(widget)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def set_shown(self, shown: bool) -> None:
        """The controls are there only while the lines are."""
        self._inner.setVisible(shown)

    def set_ranks(self, ranks: int) -> None:
        """Segments up to eight ranks, a list above."""
        if ranks == self._ranks:
            return
        self._ranks = ranks
        many = ranks > _SEGMENTS
        self._combo.setVisible(many)
        self._segments.setVisible(not many)
        self._rank = None
        if many:
            self._combo.clear()
            self._combo.addItems(["All ranks", *(f"Rank {rank}" for rank in range(ranks))])
        else:
            self._segments.set_texts(["All ranks", *(str(rank) for rank in range(ranks))])
        self._changed()

    def set_rank(self, rank: int | None) -> None:
        """Shows only this rank's lines; None is all."""
        place = 0 if rank is None else rank + 1
        self._segments.set_current(place)
        self._combo.setCurrentIndex(place)
        self._segment_chosen(place)

    def reset(self) -> None:
        """No filter."""
        self._rank = None
        self._segments.set_current(0)
        self._combo.setCurrentIndex(0)
        self.field.clear()
        self._changed()

    def set_count(self, shown: int, kept: int, dropped: int, *, filtered: bool) -> None:
        """Says how many lines there are and how many the filter lets through."""
        whole = kept + dropped
        if filtered:
            text = f"{format_count(shown)} of {format_count(kept)}"
        elif dropped:
            text = f"last {format_count(kept)} of {format_count(whole)}"
        else:
            text = f"{format_count(kept)} {'line' if kept == 1 else 'lines'}" if kept else ""
        if text != self.count.text():
            self.count.setText(text)
            older = f"{format_count(dropped)} older lines are on disk only: open the whole log."
            self.count.setToolTip(older if dropped else "")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """F3 finds, Escape empties the field and then goes to the lines."""
        if watched is self.field and isinstance(event, QKeyEvent):
            own = event.key() in (Qt.Key.Key_F3, Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if own and event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if own and event.type() == QEvent.Type.KeyPress:
                self._field_key(event)
                return True
        return super().eventFilter(watched, event)

    def _field_key(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.field.text():
                self.field.clear()
            else:
                self.left.emit()
            return
        self.find_asked.emit(not event.modifiers() & Qt.KeyboardModifier.ShiftModifier)

    def _segment_chosen(self, index: int) -> None:
        self._rank = index - 1 if index else None
        self._changed()

    def _changed(self, _text: str = "") -> None:
        self.filter_changed.emit(LogFilter(rank=self._rank, text=self.field.text()))

    def _draw(self, theme: Theme) -> None:
        self.copy.setIcon(theme.icon("copy"))
        self.more.setIcon(theme.icon("dots-three"))


class _NoMatch(QWidget):
    """Stands in for the lines when the filter hides all of them."""

    clear_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._words = plain_label()
        set_kind(self._words, kind="table-text")
        button = QPushButton("Clear filter")
        set_kind(button, size="small")
        button.clicked.connect(self.clear_asked)
        layout = QVBoxLayout(self)
        layout.addStretch(1)
        layout.addWidget(self._words, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)

    @property
    def words(self) -> str:
        """What is said."""
        return self._words.text()

    def set_words(self, shown: LogFilter, hidden: int) -> None:
        """Says what matches nothing."""
        of_rank = f" of rank {shown.rank}" if shown.rank is not None else ""
        matches = f" matches {shown.text}" if shown.text else ""
        self._words.setText(f"No line{of_rank}{matches}. {format_count(hidden)} are hidden.")


def _tool(name: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(name)
    button.setFixedSize(24, 24)
    button.setIconSize(QSize(16, 16))
    return button
