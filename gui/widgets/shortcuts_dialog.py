"""All shortcuts at a glance, from the action registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.actions import MENUS, ActionRegistry, shortcut_text
from gui.plain_text import plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

FIXED_KEYS = (
    ("Next or previous part of the window", "Tab, Shift+Tab"),
    ("Open the selected row", "Enter"),
    ("Close the palette or a dialog", "Esc"),
)
TIMELINE_KEYS = (
    ("Select a range", "Drag on the ruler, or Shift+drag"),
    ("Pan", "Drag, or Ctrl+wheel"),
    ("Zoom at the pointer", "Wheel"),
    ("Scroll the lanes", "Shift+wheel"),
    ("Select a slice", "Click"),
    ("Zoom to a slice", "Double click"),
    ("Select the slice beside, above or below", "Arrow keys"),
)


class ShortcutsDialog(QDialog):
    """One column of names and keys for each menu."""

    def __init__(self, actions: ActionRegistry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.resize(460, 620)
        grid_holder = QWidget()
        set_kind(grid_holder, kind="transparent")
        grid = QGridLayout(grid_holder)
        grid.setContentsMargins(0, 0, 8, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(0, 1)
        for menu in MENUS:
            rows = [
                (spec.text, shortcut_text(spec))
                for spec in actions.specs
                if spec.menu == menu and shortcut_text(spec)
            ]
            _add_group(grid, menu, rows)
        _add_group(grid, "On the timeline", TIMELINE_KEYS)
        _add_group(grid, "Everywhere", FIXED_KEYS)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(grid_holder)
        close = QPushButton("Close")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(12)
        layout.addWidget(area, 1)
        layout.addLayout(buttons)


def _add_group(grid: QGridLayout, title: str, rows: Sequence[tuple[str, str]]) -> None:
    if not rows:
        return
    heading = plain_label(title)
    set_kind(heading, kind="heading")
    heading.setContentsMargins(0, 8, 0, 0)
    grid.addWidget(heading, grid.rowCount(), 0, 1, 2)
    for text, keys in rows:
        line = grid.rowCount()
        label = plain_label(text)
        set_kind(label, kind="table-text")
        key = plain_label(keys)
        set_kind(key, kind="key")
        grid.addWidget(label, line, 0)
        grid.addWidget(key, line, 1, Qt.AlignmentFlag.AlignRight)
