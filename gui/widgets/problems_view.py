"""The Problems tab: what a run's alerts, captures and files say, and the way to the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QMenu, QPushButton, QTableView, QVBoxLayout, QWidget

from core.units import format_count
from gui.models.problems import ProblemModel, ProblemRow, rows_of
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.log_area import TAB_LEAST_SIZE, TAB_SIZE
from gui.widgets.row_delegate import dress_table

if TYPE_CHECKING:
    from core.runs.snapshot import RunSnapshot
    from gui.theme import ThemeController

_TIME_PX = 84
_WHO_PX = 76


class ProblemsView(QWidget):
    """A table and, for the selected row, what can be done.

    Signals:
        place_asked: The ``ProblemRow`` whose rank and step should be shown.
        folder_asked: File of a capture, relative to the run folder, whose folder should be opened.
        count_changed: How many rows ask for attention.
    """

    place_asked = Signal(object)
    folder_asked = Signal(str)
    count_changed = Signal(int)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.model = ProblemModel(theme.theme, self)
        theme.changed.connect(self.model.set_theme)
        self._count = -1
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setAccessibleName("Problems")
        dress_table(self.table, theme)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(0, _TIME_PX)
        self.table.setColumnWidth(1, _WHO_PX)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.activated.connect(self._activated)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._show_actions())
        self.model.modelReset.connect(self._show_actions)
        self.hint = plain_label(wrap=True)
        set_kind(self.hint, kind="secondary")
        self._go = _button("Show rank", self._go_to_rank)
        self._folder = _button("Open folder", self._open_folder)
        self._copy = _button("Copy", self.copy)
        self._nothing = plain_label("No problems")
        set_kind(self._nothing, kind="secondary")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._nothing, 1)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._foot())
        self._show_actions()
        self._show_count()

    def _foot(self) -> QWidget:
        self._bar = QWidget()
        row = QHBoxLayout(self._bar)
        row.setContentsMargins(12, 4, 12, 4)
        row.setSpacing(8)
        row.addWidget(self.hint, 1)
        for button in (self._go, self._folder, self._copy):
            row.addWidget(button)
        return self._bar

    def sizeHint(self) -> QSize:  # noqa: N802
        """As high as the log: the dock keeps its height when tabs are changed."""
        return TAB_SIZE

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """A line or two."""
        return TAB_LEAST_SIZE

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Shows the newest alerts, captures and doubts."""
        self.set_rows(rows_of(snapshot))

    def set_rows(self, rows: tuple[ProblemRow, ...]) -> None:
        """Shows these rows."""
        if rows != self.model.rows:
            self.model.set_rows(rows)
            self._show_count()
            self._show_actions()

    def _show_count(self) -> None:
        rows = self.model.rows
        self.table.setVisible(bool(rows))
        self._nothing.setVisible(not rows)
        count = sum(row.level in ("warn", "error") for row in rows)
        if count != self._count:
            self._count = count
            self.count_changed.emit(count)

    @property
    def count(self) -> int:
        """How many rows ask for attention."""
        return max(0, self._count)

    @property
    def current(self) -> ProblemRow | None:
        """The selected row."""
        index = self.table.selectionModel().currentIndex()
        return self.model.rows[index.row()] if index.isValid() else None

    def copy(self) -> None:
        """Copies the selected row, or all."""
        current = self.current
        rows = [current] if current is not None else list(self.model.rows)
        QGuiApplication.clipboard().setText("\n".join(f"{row.who}\t{row.text}\t{row.hint}" for row in rows))

    def _show_actions(self) -> None:
        row = self.current
        self._bar.setVisible(row is not None)
        if row is None:
            return
        self.hint.setText(row.hint)
        self._go.setVisible(row.rank is not None)
        at = "" if row.step is None else f" at step {format_count(row.step)}"
        self._go.setText(f"Show rank {row.rank}{at}")
        self._folder.setVisible(row.file is not None)

    def _activated(self, _index: QModelIndex) -> None:
        row = self.current
        if row is not None and row.file is not None:
            self._open_folder()
        else:
            self._go_to_rank()

    def _go_to_rank(self) -> None:
        row = self.current
        if row is not None and row.rank is not None:
            self.place_asked.emit(row)

    def _open_folder(self) -> None:
        row = self.current
        if row is not None and row.file is not None:
            self.folder_asked.emit(row.file)

    def _show_menu(self, position: QPoint) -> None:
        menu = QMenu(self)
        row = self.current
        if row is not None and row.rank is not None:
            menu.addAction(f"Show rank {row.rank}", self._go_to_rank)
        if row is not None and row.file is not None:
            menu.addAction("Open folder", self._open_folder)
        menu.addAction("Copy" if row is not None else "Copy all", self.copy)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(position))


def _button(text: str, run: object) -> QPushButton:
    button = QPushButton(text)
    set_kind(button, size="small")
    if callable(run):
        button.clicked.connect(lambda _=False: run())
    return button
