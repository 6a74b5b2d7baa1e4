"""How rows of our tables are drawn: 24 px, no grid, and a 2 px mark on the selected row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

if TYPE_CHECKING:
    from PySide6.QtWidgets import QTableView

    from gui.theme import ThemeController

ROW_PX = 24
HEADER_PX = 26
MARK_PX = 2


class RowDelegate(QStyledItemDelegate):
    """Draws cells through the style sheet, without the focus frame of single cells."""

    def __init__(self, theme: ThemeController, view: QTableView) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view

    def initStyleOption(  # noqa: N802
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Takes the frame off a focused cell: the row is what is selected."""
        super().initStyleOption(option, index)
        option.state &= ~QStyle.StateFlag.State_HasFocus
        option.decorationSize = QSize(16, 16)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draws the cell, and the mark in the first column of the selected row."""
        super().paint(painter, option, index)
        rect: QRect = option.rect
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected and index.column() == 0:
            mark = QRect(rect.left(), rect.top(), MARK_PX, rect.height())
            painter.fillRect(mark, self._theme.theme.color("accent"))


def dress_table(view: QTableView, theme: ThemeController) -> None:
    """Makes a table look and behave as all tables of the program do."""
    view.setItemDelegate(RowDelegate(theme, view))
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setAlternatingRowColors(False)
    view.setCornerButtonEnabled(False)
    view.setTabKeyNavigation(False)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    rows = view.verticalHeader()
    rows.setVisible(False)
    rows.setDefaultSectionSize(ROW_PX)
    rows.setMinimumSectionSize(ROW_PX)
    header = view.horizontalHeader()
    header.setFixedHeight(HEADER_PX)
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
