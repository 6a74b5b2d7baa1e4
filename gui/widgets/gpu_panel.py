"""The GPUs of the machine while a run goes on: a row each, or why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStackedLayout,
    QStyle,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gui.models.gpus import COLUMNS, MEMORY_COLUMN, MEMORY_ROLE, GpuModel, GpuRow
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.log_area import TAB_LEAST_SIZE, TAB_SIZE
from gui.widgets.row_delegate import RowDelegate, dress_table

if TYPE_CHECKING:
    from core.runs.snapshot import RunSnapshot
    from gui.theme import ThemeController

BAR_WIDTH_PX = 64
BAR_HEIGHT_PX = 8
_CELL_ROOM_PX = 24
_NAME_PX = 230


class GpuPanel(QWidget):
    """Shows ``RunSnapshot.gpus``.

    Signals:
        rank_clicked: The first rank on the GPU that was activated.
    """

    rank_clicked = Signal(int)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.model = GpuModel(self)
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setAccessibleName("GPUs")
        dress_table(self.table, theme)
        self.table.setItemDelegate(_GpuDelegate(theme, self.table))
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.activated.connect(self._activated)
        self._nothing = QWidget()
        self.words = plain_label(wrap=True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_kind(self.words, kind="secondary")
        inner = QVBoxLayout(self._nothing)
        inner.setContentsMargins(24, 8, 24, 8)
        inner.addWidget(self.words)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self.table)
        self.model.modelReset.connect(self._fit_columns)
        self.words.setText("No run is shown.")

    def sizeHint(self) -> QSize:  # noqa: N802
        """As high as the log: the dock keeps its height when tabs are changed."""
        return TAB_SIZE

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """A line or two."""
        return TAB_LEAST_SIZE

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Shows the newest readings, or why there are none."""
        self.model.show_snapshot(snapshot)
        if snapshot.gpus:
            self._stack.setCurrentWidget(self.table)
            return
        words = snapshot.gpus_unavailable
        if not words:
            words = _why_empty(snapshot)
        if words != self.words.text():
            self.words.setText(words)
        self._stack.setCurrentWidget(self._nothing)

    def _fit_columns(self) -> None:
        """Wide enough for header and cells; the header's tips need no room."""
        metrics = self.table.fontMetrics()
        for place, column in enumerate(COLUMNS):
            texts = [column.title, *(column.text(row) for row in self.model.rows)]
            width = max(metrics.horizontalAdvance(text) for text in texts) + _CELL_ROOM_PX
            if place == MEMORY_COLUMN:
                width += BAR_WIDTH_PX + 8
            self.table.setColumnWidth(place, max(width, _NAME_PX) if place == 0 else width)

    def _activated(self, index: QModelIndex) -> None:
        ranks = self.model.rows[index.row()].ranks
        if ranks:
            self.rank_clicked.emit(ranks[0])


class _GpuDelegate(RowDelegate):
    """Draws the memory bar before its figure."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draws the cell, and this run's and the others' share of the memory."""
        super().paint(painter, option, index)
        row = index.data(MEMORY_ROLE)
        if isinstance(row, GpuRow) and row.gpu.used_bytes is not None and row.gpu.total_bytes:
            selected = bool(option.state & QStyle.StateFlag.State_Selected)
            self._draw_bar(painter, QRectF(option.rect), row, selected)

    def _draw_bar(self, painter: QPainter, cell: QRectF, row: GpuRow, selected: bool) -> None:
        theme = self._theme.theme
        scale = BAR_WIDTH_PX / (row.gpu.total_bytes or 1)
        used = row.gpu.used_bytes or 0
        mine = min(row.mine_bytes or 0, used)
        bar = QRectF(cell.left() + 8, cell.center().y() - BAR_HEIGHT_PX / 2, BAR_WIDTH_PX, BAR_HEIGHT_PX)
        own: QColor = theme.rank_color(row.ranks[0]) if row.ranks else theme.color("chart-axis")
        parts = (
            (BAR_WIDTH_PX, theme.color("hover" if selected else "surface3")),
            (used * scale, theme.color("chart-axis")),
            (mine * scale, own),
        )
        for width, color in parts:
            painter.fillRect(QRectF(bar.left(), bar.top(), width, bar.height()), color)


def _why_empty(snapshot: RunSnapshot) -> str:
    if not snapshot.alive:
        return "This run has no GPU readings."
    if snapshot.manifest.job.device == "cpu":
        # Without an NVIDIA driver nobody takes any: nothing is on its way.
        return "No GPU readings: this run computes on the CPU."
    return "No GPU reading yet."
