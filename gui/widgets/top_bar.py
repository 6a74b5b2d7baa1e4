"""The bar above everything: where you are, search, the job and what can be done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QSizePolicy, QToolButton, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.action_button import ActionButton
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.pill import Pill
from gui.widgets.rail import RAIL_PX

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

    from gui.theme import Theme, ThemeController

BAR_PX = 40
SEARCH_PX = 280
SEARCH_WIDE_PX = 420


class SearchButton(QPushButton):
    """Looks like a search field; what is typed goes into the palette that it opens."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        set_kind(self, kind="search")
        self.setAccessibleName("Search or run a command")
        self._icon = QLabel()
        text = plain_label("Search or run a command")
        set_kind(text, kind="secondary")
        key = plain_label("Ctrl K")
        set_kind(key, kind="key")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(9, 0, 7, 0)
        layout.setSpacing(7)
        layout.addWidget(self._icon)
        layout.addWidget(text, 1)
        layout.addWidget(key, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setFixedHeight(28)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def _draw(self, theme: Theme) -> None:
        self._icon.setPixmap(theme.pixmap("magnifying-glass", ratio=self.devicePixelRatioF()))


class TopBar(QWidget):
    """Holds no state: the window tells it what to show.

    Signals:
        search_pressed: The search field was pressed.
    """

    search_pressed = Signal()

    def __init__(self, theme: ThemeController, menu: QMenu, actions: dict[str, QAction]) -> None:
        """Args: ``actions`` holds "launch", "capture", "stop", "theme" and "inspector"."""
        super().__init__()
        set_kind(self, kind="top-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        self._theme = theme
        self._menu_button = self._tool_button("Menu")
        self._menu_button.setMenu(menu)
        self._menu_button.setToolTip("Menu (F10)")
        self._menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._title = plain_label()
        set_kind(self._title, kind="title")
        self._subtitle = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        set_kind(self._subtitle, kind="secondary")
        self._search = SearchButton(theme)
        self._search.clicked.connect(self.search_pressed)
        self._pill = Pill(theme, height=22)
        self._launch = ActionButton(actions["launch"], "Launch")
        self._capture = ActionButton(actions["capture"], "Capture")
        self._stop = ActionButton(actions["stop"], "Stop")
        self._theme_button = self._tool_button("Switch between dark and light")
        self._theme_button.setDefaultAction(actions["theme"])
        self._inspector = self._tool_button("Show or hide the inspector")
        self._inspector.setDefaultAction(actions["inspector"])
        self._arrange()
        self.set_job(None)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    @property
    def menu_button(self) -> QToolButton:
        """The button that opens the menu."""
        return self._menu_button

    def set_page(self, title: str, subtitle: str) -> None:
        """Says which page is shown and what is open on it."""
        self._title.setText(title)
        self._subtitle.set_full_text(subtitle)

    def set_job(self, state: tuple[str, str, str] | None, *, stoppable: bool = False) -> None:
        """Shows the state of a job as (icon, word, level); None when there is none.

        Args:
            state: Of the job that is shown.
            stoppable: Capture and Stop are there; otherwise Launch is.
        """
        self._pill.setVisible(state is not None)
        if state is not None:
            self._pill.set_state(*state)
        self._launch.setVisible(not stoppable)
        self._capture.setVisible(stoppable)
        self._stop.setVisible(stoppable)

    def set_wide(self, wide: bool) -> None:
        """Gives the search field more room in a wide window."""
        self._search.setFixedWidth(SEARCH_WIDE_PX if wide else SEARCH_PX)

    def _arrange(self) -> None:
        menu_place = QWidget()
        menu_place.setFixedWidth(RAIL_PX)
        place = QHBoxLayout(menu_place)
        place.setContentsMargins(0, 0, 0, 0)
        place.addWidget(self._menu_button, 0, Qt.AlignmentFlag.AlignCenter)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 8, 1)
        layout.setSpacing(8)
        layout.addWidget(menu_place)
        layout.addWidget(self._title)
        # All room that is left is the subtitle's: in a narrow window every letter of it counts.
        layout.addWidget(self._subtitle, 1)
        for widget in (self._search, self._pill, self._launch, self._capture, self._stop):
            layout.addWidget(widget)
        layout.addWidget(self._theme_button)
        layout.addWidget(self._inspector)
        self._subtitle.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.set_wide(False)

    @staticmethod
    def _tool_button(name: str) -> QToolButton:
        button = QToolButton()
        button.setAccessibleName(name)
        button.setFixedSize(28, 28)
        button.setIconSize(QSize(16, 16))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _draw(self, theme: Theme) -> None:
        self._menu_button.setIcon(theme.icon("list"))
