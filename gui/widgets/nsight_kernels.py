"""The list of kernels: name, SM and memory as bars, duration, verdict; repeats as one entry that opens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from core.roofline.verdict import VerdictKind
from core.units import NOT_MEASURED, format_count, format_duration_ns, format_pct
from gui.plain_text import tip_text
from gui.reports.kernel_list import durations, longest, mean, share_pct, sum_ns
from gui.widgets.category_swatch import SWATCH_PX, category_swatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.reports.kernel_list import KernelEntry, KernelList
    from gui.theme import Theme, ThemeController

Index = QModelIndex | QPersistentModelIndex

ENTRY_PX: Final = 63
GROUP_PX: Final = 79
_PAD_PX: Final = 12
_INDENT_PX: Final = 14
_LABEL_PX: Final = 46
_VALUE_PX: Final = 46
_SIDE_PX: Final = 86
WHOLE_PCT: Final = 9.95
"""From here on shares have no decimals."""
_BAR_PX: Final = 6
_CARET_PX: Final = 12
_MARK_PX: Final = 2
_LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)


class KernelModel(QAbstractListModel):
    """Entries of one report."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.kernels: KernelList | None = None
        self.entries: tuple[KernelEntry, ...] = ()
        self.open_groups: frozenset[int] = frozenset()
        self.verdicts: tuple[str, ...] = ()
        self._whole_ns: int | None = None

    def show(self, kernels: KernelList, entries: Sequence[KernelEntry], open_groups: frozenset[int]) -> None:
        """Shows other entries."""
        self.beginResetModel()
        if kernels is not self.kernels:
            self._whole_ns = sum_ns(kernels, range(len(kernels)))
        self.kernels, self.entries, self.open_groups = kernels, tuple(entries), open_groups
        self.endResetModel()

    def set_verdicts(self, verdicts: Sequence[str]) -> None:
        """Shows a word for each launch."""
        self.verdicts = tuple(verdicts)
        if self.entries:
            self.dataChanged.emit(self.index(0), self.index(len(self.entries) - 1))

    def rowCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of entries."""
        return 0 if parent is not None and parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        """Names, and what is told to screen readers."""
        if not index.isValid() or self.kernels is None:
            return None
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.title(entry)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text("\n".join(self.facts(entry)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join((self.title(entry), *self.facts(entry)[1:]))
        return None

    def title(self, entry: KernelEntry) -> str:
        """The kernel's short name; below its group, which has that name, which one of all it is."""
        assert self.kernels is not None
        first = entry.rows[0]
        return self.kernels.place_words(first) if entry.is_member else self.kernels.shown[first]

    def facts(self, entry: KernelEntry) -> list[str]:
        """The full name, then what is known of it, a line each."""
        kernels, first = self.kernels, entry.rows[0]
        assert kernels is not None
        grid, block = kernels.shapes[first]
        lines = [
            kernels.names[first],
            f"SM {format_pct(mean(kernels.sm_pct, entry.rows))}",
            f"memory {format_pct(mean(kernels.memory_pct, entry.rows))}",
            self.time_words(entry),
            f"{share} of the report's kernel time" if (share := self.share_words(entry)) else "",
            self.verdict(entry),
            f"grid {grid or NOT_MEASURED}, block {block or NOT_MEASURED}",
        ]
        return [line for line in lines if line]

    def time_words(self, entry: KernelEntry) -> str:
        """Duration; of a group how often, and the least, mean and longest."""
        assert self.kernels is not None
        known = durations(self.kernels, entry.rows)
        if not len(known):
            return NOT_MEASURED
        if not entry.is_group:
            return format_duration_ns(int(known[0]))
        return f"{format_count(len(entry.rows))} launches, {spread_words(known.tolist())}"

    def share_words(self, entry: KernelEntry) -> str:
        """Its part of the report's kernel time in few letters: "97 %", "2.7 %"; "" where it is not known."""
        assert self.kernels is not None
        pct = share_pct(self.kernels, entry.rows, self._whole_ns)
        if pct is None:
            return ""
        least = 0.1
        return f"<{format_pct(least)}" if 0 < pct < least else format_pct(pct, 0 if pct >= WHOLE_PCT else 1)

    def verdict(self, entry: KernelEntry) -> str:
        """The verdict's word, "" if there is none; of a group only if all have the same."""
        words = {self.verdicts[row] for row in entry.rows} if self.verdicts else {""}
        return words.pop() if len(words) == 1 else "mixed"


def spread_words(values_ns: Sequence[int]) -> str:
    """The least, mean and longest of durations, with one unit: "50.00 / 50.50 / 50.99 µs"."""
    texts = [
        format_duration_ns(each) for each in (min(values_ns), sum(values_ns) / len(values_ns), max(values_ns))
    ]
    units = {text.rsplit(" ", 1)[-1] for text in texts}
    if len(units) == 1 and all(text.count(" ") == 1 for text in texts):
        return " / ".join(text.rsplit(" ", 1)[0] for text in texts) + f" {units.pop()}"
    return " / ".join(texts)


class KernelDelegate(QStyledItemDelegate):
    """Draws an entry."""

    def __init__(self, theme: ThemeController, model: KernelModel, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        theme.changed.connect(self._set_theme)
        self._set_theme(theme.theme)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """Groups have one line more."""
        del option
        entry = self._model.entries[index.row()]
        return QSize(100, GROUP_PX if entry.is_group else ENTRY_PX)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draws name, bars, figures."""
        kernels = self._model.kernels
        if kernels is None:
            return
        entry = self._model.entries[index.row()]
        theme, box = self._theme, QRect(option.rect)
        painter.save()
        state = option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, theme.color("selection"))
            painter.fillRect(box.left(), box.top(), _MARK_PX, box.height(), theme.color("accent"))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(box, theme.color("hover"))
        painter.fillRect(box.left(), box.bottom(), box.width(), 1, theme.color("border"))
        left = box.left() + _PAD_PX + (_INDENT_PX if entry.is_member else 0)
        right = box.right() - _PAD_PX
        self._paint_name(painter, kernels, entry, left, right, box.top() + 5)
        top = box.top() + 25
        self._paint_load(
            painter, "SM", mean(kernels.sm_pct, entry.rows), 0, QRect(left, top, right - left, 16)
        )
        load = QRect(left, top + 16, right - left, 16)
        self._paint_load(painter, "Memory", mean(kernels.memory_pct, entry.rows), 1, load)
        self._paint_side(painter, kernels, entry, right, top)
        painter.restore()

    def _paint_name(  # noqa: PLR0913, PLR0917  (private, called once)
        self, painter: QPainter, kernels: KernelList, entry: KernelEntry, left: int, right: int, top: int
    ) -> None:
        theme, first = self._theme, entry.rows[0]
        ratio = self._view.devicePixelRatioF()
        if entry.is_group:
            caret = "caret-down" if first in self._model.open_groups else "caret-right"
            painter.drawPixmap(right - _CARET_PX, top + 4, theme.pixmap(caret, "text2", _CARET_PX, ratio))
            painter.setFont(self._small)
            painter.setPen(theme.color("text2"))
            count = f"\N{MULTIPLICATION SIGN} {format_count(len(entry.rows))}"
            width = self._small_metrics.horizontalAdvance(count)
            right -= _CARET_PX + 6 + width
            painter.drawText(QRect(right, top, width + 2, 18), _RIGHT, count)
            right -= 6
        swatch = category_swatch(theme, kernels.categories[first], ratio)
        painter.drawPixmap(left, top + (18 - SWATCH_PX) // 2, swatch)
        painter.setFont(self._font)
        painter.setPen(theme.color("text"))
        room = right - left - SWATCH_PX - 7
        name = self._metrics.elidedText(self._model.title(entry), Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRect(left + SWATCH_PX + 7, top, room, 18), _LEFT, name)

    def _paint_load(self, painter: QPainter, label: str, pct: float, rank: int, line: QRect) -> None:
        theme = self._theme
        painter.setFont(self._small)
        painter.setPen(theme.color("text2"))
        painter.drawText(line, _LEFT, label)
        end = line.right() - self.side_px - 8
        start = line.left() + _LABEL_PX + 4
        text = format_pct(pct)
        painter.setPen(theme.color("text2" if math.isnan(pct) else "text"))
        painter.drawText(QRect(end - _VALUE_PX, line.top(), _VALUE_PX, line.height()), _RIGHT, text)
        track = QRectF(start, line.top() + (16 - _BAR_PX) / 2, end - _VALUE_PX - 6 - start, _BAR_PX)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("surface3"))
        painter.drawRoundedRect(track, 2, 2)
        if pct > 0:
            painter.setBrush(theme.rank_color(rank))
            width = max(2.0, track.width() * min(pct, 100.0) / 100)
            painter.drawRoundedRect(QRectF(track.left(), track.top(), width, _BAR_PX), 2, 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def _paint_side(
        self, painter: QPainter, kernels: KernelList, entry: KernelEntry, right: int, top: int
    ) -> None:
        """Share and duration over verdict; of a group the mean, and below all how it spreads."""
        theme = self._theme
        known = durations(kernels, entry.rows)
        duration = format_duration_ns(float(known.mean())) if len(known) else NOT_MEASURED
        side = QRect(right - self.side_px, top, self.side_px, 16)
        painter.setFont(self._small)
        painter.setPen(theme.color("text" if len(known) else "text2"))
        painter.drawText(side, _RIGHT, duration)
        painter.setPen(theme.color("text2"))
        room = side.width() - self._small_metrics.horizontalAdvance(duration)
        share = self._model.share_words(entry)
        if self._small_metrics.horizontalAdvance(share) < room:
            painter.drawText(side, _LEFT, share)
        painter.drawText(side.translated(0, 16), _RIGHT, self._model.verdict(entry))
        if entry.is_group and len(known):
            words = f"min / mean / max  {spread_words(known.tolist())}"
            left = right - 1000
            painter.drawText(QRect(left, top + 32, 1000, 16), _RIGHT, words)

    def _set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font: QFont = theme.font(theme.px_table)
        self._small: QFont = theme.font(theme.px_small)
        self._metrics, self._small_metrics = QFontMetrics(self._font), QFontMetrics(self._small)
        widest = max(self._small_metrics.horizontalAdvance(kind.word) for kind in VerdictKind)
        times = self._small_metrics.horizontalAdvance(f"<{format_pct(0.1)}999.9 \N{MICRO SIGN}s")
        self.side_px = max(_SIDE_PX, widest + 2, times + 2)
        self._view.viewport().update()


class KernelListView(QListView):
    """The list.

    Signals:
        chosen: Row of the launch that is current now.
        group_toggled: First row of a group that opens or closes.
        filter_asked: The key that goes to the filter field.
    """

    chosen = Signal(int)
    group_toggled = Signal(int)
    filter_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._before: KernelEntry | None = None
        self.kernels = KernelModel(self)
        self.setModel(self.kernels)
        self.setItemDelegate(KernelDelegate(theme, self.kernels, self))
        self.setAccessibleName("Kernels")
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)

    @property
    def current_entry(self) -> KernelEntry | None:
        """The entry that keys move from."""
        place = self.currentIndex().row()
        return self.kernels.entries[place] if 0 <= place < len(self.kernels.entries) else None

    @property
    def current_row(self) -> int | None:
        """The launch that is chosen; of a group its first."""
        entry = self.current_entry
        return None if entry is None else entry.rows[0]

    def show_entries(
        self, kernels: KernelList, entries: Sequence[KernelEntry], open_groups: frozenset[int]
    ) -> None:
        """Shows other entries; what was chosen stays so where it is still listed, at first the longest is."""
        # A filter that hides all leaves nothing current: what was looked at before it comes back.
        before = self.current_entry or self._before
        self._before = before
        # Each change of a font or style sheet asks for all sizes again, a dozen times with a theme.
        self.setUniformItemSizes(len({entry.is_group for entry in entries}) < 2)
        selection = self.selectionModel()
        selection.blockSignals(True)
        self.kernels.show(kernels, entries, open_groups)
        place = self.place_of(before.rows[0], is_member=before.is_member) if before is not None else -1
        if place < 0 and entries:
            place = longest(kernels, entries) if before is None else 0
        self.setCurrentIndex(self.kernels.index(place) if place >= 0 else QModelIndex())
        selection.blockSignals(False)
        if place >= 0:
            self.scrollTo(self.kernels.index(place))
        now = self.current_entry
        if now is not None and now != before:
            self.chosen.emit(now.rows[0])

    def place_of(self, row: int, *, is_member: bool = False) -> int:
        """Where a launch is listed, alone or in a group; -1 if it is not."""
        places = [place for place, entry in enumerate(self.kernels.entries) if row in entry.rows]
        members = [place for place in places if self.kernels.entries[place].is_member]
        return next(iter(members if is_member and members else places), -1)

    def choose_row(self, row: int) -> None:
        """Makes a launch the current one, if it is listed."""
        place = self.place_of(row, is_member=True)
        if place >= 0:
            self.setCurrentIndex(self.kernels.index(place))

    def step(self, by: int) -> None:
        """Goes to a neighbour; round the end."""
        count = len(self.kernels.entries)
        if count:
            self.setCurrentIndex(self.kernels.index((self.currentIndex().row() + by) % count))

    def currentChanged(self, current: Index, previous: Index) -> None:  # noqa: N802
        """Tells which launch is chosen."""
        super().currentChanged(current, previous)
        row = self.current_row
        if row is not None and not self.selectionModel().signalsBlocked():
            self.chosen.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Opens and closes groups, copies names, leads to the filter."""
        entry = self.current_entry
        is_open = entry is not None and entry.rows[0] in self.kernels.open_groups
        toggles = {Qt.Key.Key_Right: not is_open, Qt.Key.Key_Left: is_open}
        if event.text() == "/":
            self.filter_asked.emit()
        elif event.matches(QKeySequence.StandardKey.Copy) and entry is not None:
            assert self.kernels.kernels is not None
            QGuiApplication.clipboard().setText(self.kernels.kernels.names[entry.rows[0]])
        elif (
            entry is not None
            and entry.is_group
            and (
                event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
                or toggles.get(Qt.Key(event.key()), False)
            )
        ):
            self.group_toggled.emit(entry.rows[0])
        elif entry is not None and entry.is_member and event.key() == Qt.Key.Key_Left:
            self._go_to_group()
        else:
            super().keyPressEvent(event)

    def _go_to_group(self) -> None:
        for place in range(self.currentIndex().row(), -1, -1):
            if self.kernels.entries[place].is_group:
                self.setCurrentIndex(self.kernels.index(place))
                return

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """A click on the caret of a group opens or closes it."""
        super().mousePressEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            entry, box = self.kernels.entries[index.row()], self.visualRect(index)
            at = event.position().toPoint()
            if entry.is_group and at.x() > box.right() - 40 and at.y() < box.top() + 26:
                self.group_toggled.emit(entry.rows[0])

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """A double click on a group opens or closes it."""
        super().mouseDoubleClickEvent(event)
        entry = self.current_entry
        if entry is not None and entry.is_group:
            self.group_toggled.emit(entry.rows[0])
