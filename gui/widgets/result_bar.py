"""The bar over a result table: filter field with its count, copy, export and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from core.units import format_count
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.filter_field import FilterField

if TYPE_CHECKING:
    from gui.theme import Theme, ThemeController

BAR_PX = 36
_ICONS = ("copy", "export", "columns")


class ResultBar(QWidget):
    """Filters and acts on the table below it; a page may put it elsewhere."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        self.field = FilterField(theme, "Filter", "Show only rows that hold each of these words (/)")
        self.count = plain_label()
        set_kind(self.count, kind="caption")
        self.copy = _tool("Copy the selected rows, or all (Ctrl+C)", "Copy rows")
        self.export = _tool("Export the rows that are shown, with all columns", "Export")
        self.columns = _tool("Choose columns", "Columns")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        row.addWidget(self.field)
        row.addWidget(self.count)
        row.addStretch(1)
        for button in (self.copy, self.export, self.columns):
            row.addWidget(button)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def set_names(self, title: str) -> None:
        """Says to screen readers which table it belongs to."""
        self.field.setAccessibleName(f"Filter {title.lower()}")

    def set_count(self, shown: int, whole: int) -> None:
        """Says how many of how many rows are shown."""
        rows = "row" if whole == 1 else "rows"
        self.count.setText(f"{format_count(shown)} of {format_count(whole)} {rows}")

    def set_menus(self, export: QMenu, columns: QMenu) -> None:
        """Puts the menus on their buttons."""
        for button, menu in ((self.export, export), (self.columns, columns)):
            button.setMenu(menu)
            button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def _draw(self, theme: Theme) -> None:
        for button, icon in zip((self.copy, self.export, self.columns), _ICONS, strict=True):
            button.setIcon(theme.icon(icon))


def _tool(tip: str, name: str) -> QToolButton:
    button = QToolButton()
    button.setToolTip(tip)
    button.setAccessibleName(name)
    button.setIconSize(QSize(16, 16))
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
