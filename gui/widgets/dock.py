"""The two docks of the window: the Inspector at the right, and the log with its tabs below.

Both draw their own title bar, so that what a dock shows stands in its head and
the dock can be dragged by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QMainWindow,
    QScrollArea,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.plain_text import control_text, plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.theme import Theme, ThemeController

HEAD_PX = 36
TABS_PX = 32
INSPECTOR_LEAST_PX = 240
"""Below this its names and values are cut to nothing; a restored layout may ask for less."""
QWIDGET_MOST_PX = 16_777_215


class _Head(QWidget):
    """A title bar of fixed height; where it is empty, the dock is dragged by it."""

    def __init__(self, height: int) -> None:
        super().__init__()
        set_kind(self, kind="dock-head")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(height)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(12, 0, 8, 0)
        self.row.setSpacing(8)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Its fixed height: a dock asks for the hint and ignores the limits."""
        return QSize(super().sizeHint().width(), self.maximumHeight())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """As high, and as narrow as the dock gets."""
        return QSize(super().minimumSizeHint().width(), self.maximumHeight())


class InspectorDock(QDockWidget):
    """Shows the page's inspector under a head that names the selection."""

    def __init__(self) -> None:
        super().__init__("Inspector")
        self.setObjectName("inspector")
        self.setAccessibleName("Inspector")
        self._head = _Head(HEAD_PX)
        self._word = plain_label("Inspector")
        set_kind(self._word, kind="section")
        self._head.row.addWidget(self._word)
        self._page_head: QWidget | None = None
        self.setTitleBarWidget(self._head)
        self._content = QStackedWidget()
        self._places: dict[QWidget, QWidget] = {}
        frame = QWidget()
        set_kind(frame, kind="inspector")
        frame.setMinimumWidth(INSPECTOR_LEAST_PX)
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._content)
        self.setWidget(frame)

    def show_page(self, widget: QWidget | None, head: QWidget | None) -> None:
        """Puts a page's inspector and head there; None leaves the dock as it is, to be hidden."""
        if self._page_head is not None and self._page_head is not head:
            self._head.row.removeWidget(self._page_head)
            self._page_head.setParent(None)
        self._word.setVisible(head is None)
        if head is not None and self._page_head is not head:
            self._head.row.addWidget(head, 1)
            head.show()
        self._page_head = head
        if widget is None:
            return
        if widget not in self._places:
            self._places[widget] = _TallArea(widget)
            self._content.addWidget(self._places[widget])
        self._content.setCurrentWidget(self._places[widget])


class LogDock(QDockWidget):
    """Shows the page's tabs; the caret folds it down to the tabs and back."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__("Log and problems")
        self.setObjectName("log")
        self.setAccessibleName("Log and problems")
        self._folded = False
        self._head = _Head(TABS_PX)
        self._tabs = QTabBar()
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        self._tabs.setAccessibleName("Log and problems")
        self._tabs.currentChanged.connect(self._show_tab)
        self._corner: QWidget | None = None
        self._fold = QToolButton()
        self._fold.setFixedSize(24, 24)
        self._fold.setIconSize(QSize(16, 16))
        self._fold.clicked.connect(lambda _=False: self.set_folded(not self._folded))
        self._head.row.addWidget(self._tabs)
        self._head.row.addStretch(1)
        self._head.row.addWidget(self._fold)
        self.setTitleBarWidget(self._head)
        self._content = QStackedWidget()
        self.setWidget(self._content)
        self._shown: list[QWidget] = []
        self._height = 0
        self._theme = theme
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    @property
    def folded(self) -> bool:
        """Whether only the tabs are shown."""
        return self._folded

    def show_page(self, tabs: Sequence[tuple[str, QWidget]], corner: QWidget | None) -> None:
        """Puts a page's tabs there."""
        widgets = [widget for _, widget in tabs]
        if widgets != self._shown:
            self._shown = widgets
            self._tabs.blockSignals(True)
            while self._tabs.count():
                self._tabs.removeTab(0)
            for title, widget in tabs:
                self._tabs.addTab(control_text(title))
                if self._content.indexOf(widget) < 0:
                    self._content.addWidget(widget)
            self._tabs.blockSignals(False)
            self._show_tab(self._tabs.currentIndex())
        if corner is not self._corner:
            self._replace_corner(corner)

    def set_tab_text(self, index: int, text: str) -> None:
        """Renames a tab, for a count in its title."""
        self._tabs.setTabText(index, control_text(text))

    def show_tab(self, index: int) -> None:
        """Brings a tab to the front and unfolds the dock."""
        self.set_folded(False)
        self._tabs.setCurrentIndex(index)

    def set_folded(self, folded: bool) -> None:
        """Folds the dock down to its tabs, or gives it back the height it had."""
        if folded == self._folded:
            return
        self._folded = folded
        if folded:
            self._height = self.height()
        self._content.setVisible(not folded)
        if self._corner is not None:
            self._corner.setVisible(not folded)
        self.setMaximumHeight(TABS_PX if folded else QWIDGET_MOST_PX)
        window = self.parentWidget()
        if not folded and self._height and isinstance(window, QMainWindow):
            window.resizeDocks([self], [self._height], Qt.Orientation.Vertical)
        self._draw(self._theme.theme)

    def _replace_corner(self, corner: QWidget | None) -> None:
        if self._corner is not None:
            self._head.row.removeWidget(self._corner)
            self._corner.setParent(None)
        self._corner = corner
        if corner is not None:
            self._head.row.insertWidget(self._head.row.count() - 1, corner)
            corner.setVisible(not self._folded)

    def _show_tab(self, index: int) -> None:
        if 0 <= index < len(self._shown):
            self._content.setCurrentWidget(self._shown[index])

    def _draw(self, theme: Theme) -> None:
        text = "Unfold the log" if self._folded else "Fold the log"
        self._fold.setIcon(theme.icon("caret-up" if self._folded else "caret-down"))
        self._fold.setToolTip(text)
        self._fold.setAccessibleName(text)


class _TallArea(QScrollArea):
    """A long inspector scrolls; it is as wide as the dock, whatever it holds."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(widget)
        self._inside = widget

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Holds one unbreakable line off pushing all values out of sight."""
        super().resizeEvent(event)
        self._inside.setFixedWidth(self.viewport().width())
