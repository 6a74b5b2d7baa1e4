"""A line at the top of a page or the window: what happened, figures, what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.plain_text import control_text, plain_label, strong_start
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gui.theme import Theme, ThemeController

BannerLevel = Literal["info", "warn", "error"]

ICONS: dict[BannerLevel, str] = {"info": "info", "warn": "warning", "error": "warning-octagon"}
SHOWN_AT_ONCE = 2


class Banner(QFrame):
    """One banner. It stays until it is closed or its cause is gone."""

    closed = Signal()

    def __init__(
        self,
        theme: ThemeController,
        level: BannerLevel,
        what: str,
        rest: str = "",
        actions: Sequence[tuple[str, Callable[[], object]]] = (),
    ) -> None:
        super().__init__()
        self._theme = theme
        self._level: BannerLevel = level
        self._icon = QLabel()
        self._icon.setFixedWidth(16)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        set_kind(self._text, kind="table-text")
        self._close = QToolButton()
        self._close.setAccessibleName("Close this message")
        self._close.setToolTip("Close this message")
        self._close.setIconSize(QSize(16, 16))
        self._close.clicked.connect(self.closed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 5, 8, 5)
        layout.setSpacing(8)
        layout.addWidget(self._icon)
        layout.addWidget(self._text, 1)
        for text, run in actions:
            button = QPushButton(control_text(text))
            set_kind(button, size="small")
            button.clicked.connect(lambda _=False, run=run: run())
            layout.addWidget(button)
        layout.addWidget(self._close)
        self.set_text(what, rest, level)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def set_text(self, what: str, rest: str, level: BannerLevel) -> None:
        """Replaces what it says, for a finding whose figures moved."""
        self._text.setText(strong_start(what, rest))
        self.setAccessibleName(f"{level}: {what} {rest}".strip())
        self._level = level
        set_kind(self, kind="banner", level=level)
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        self._icon.setPixmap(theme.pixmap(ICONS[self._level], self._level, ratio=self.devicePixelRatioF()))
        self._close.setIcon(theme.icon("x"))


class BannerStack(QWidget):
    """At most two banners, the newest first; the others wait until one is closed, and are counted."""

    def __init__(self, theme: ThemeController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._banners: dict[str, Banner] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._waiting = plain_label()
        set_kind(self._waiting, kind="caption")
        self._waiting.setContentsMargins(12, 3, 12, 3)
        self._waiting.hide()
        self._layout.addWidget(self._waiting)
        self.setVisible(False)

    @property
    def keys(self) -> list[str]:
        """Keys of all banners, the newest first."""
        return list(reversed(self._banners))

    @property
    def waiting(self) -> str:
        """What is said of the banners that wait, "" for none."""
        return "" if self._waiting.isHidden() else self._waiting.text()

    def show_banner(
        self,
        key: str,
        level: BannerLevel,
        what: str,
        rest: str = "",
        actions: Sequence[tuple[str, Callable[[], object]]] = (),
    ) -> None:
        """Shows a banner; one with the same key and level only gets the new text."""
        known = self._banners.get(key)
        if known is not None and not actions:
            known.set_text(what, rest, level)
            return
        self.dismiss(key)
        banner = Banner(self._theme, level, what, rest, actions)
        banner.closed.connect(lambda: self.dismiss(key))
        self._banners[key] = banner
        self._layout.insertWidget(0, banner)
        self._arrange()

    def dismiss(self, key: str) -> None:
        """Takes a banner away; an unknown key is fine."""
        banner = self._banners.pop(key, None)
        if banner is None:
            return
        self._layout.removeWidget(banner)
        banner.hide()
        banner.deleteLater()
        self._arrange()

    def _arrange(self) -> None:
        for place, banner in enumerate(reversed(self._banners.values())):
            banner.setVisible(place < SHOWN_AT_ONCE)
        more = len(self._banners) - SHOWN_AT_ONCE
        self._waiting.setVisible(more > 0)
        what = "1 earlier message waits" if more == 1 else f"{more} earlier messages wait"
        self._waiting.setText(f"{what} until one of these is closed")
        self.setVisible(bool(self._banners))
