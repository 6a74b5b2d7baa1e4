"""What stands where nothing is yet: what is missing, what to do, one or two buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gui.plain_text import Paragraph, control_text, plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gui.theme import Theme, ThemeController

ICON_PX = 22
TEXT_PX = 380


class EmptyState(QFrame):
    """Centred icon, title, sentence and buttons; the first button may be the primary one."""

    def __init__(
        self,
        theme: ThemeController,
        icon: str,
        actions: Sequence[tuple[str, Callable[[], object]]] = (),
        *,
        primary: bool = False,
        text_px: int = TEXT_PX,
    ) -> None:
        """Args: ``text_px`` is the width of the sentence, for places that are narrow."""
        super().__init__()
        self._text_px = text_px
        self._icon_name = icon
        self._icon = QLabel()
        self._title = plain_label()
        set_kind(self._title, kind="title")
        self._text = Paragraph()
        set_kind(self._text, kind="secondary")
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text.setFixedWidth(text_px)
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 6, 0, 0)
        row.setSpacing(8)
        for place, (text, run) in enumerate(actions):
            button = QPushButton(control_text(text))
            if primary and place == 0:
                set_kind(button, kind="primary")
            button.clicked.connect(lambda _=False, run=run: run())
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setSpacing(6)
        layout.addStretch(1)
        for widget in (self._icon, self._title, self._text, buttons):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(2)
        buttons.setVisible(bool(actions))
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def set_text(self, title: str, text: str) -> None:
        """Says what is missing and what to do."""
        self._title.setText(title)
        self._text.set_plain(text)
        # Centred widgets are not asked for the height that their width needs.
        self._text.setFixedHeight(self._text.heightForWidth(self._text_px))
        self.setAccessibleName(f"{title}. {text}")

    def _draw(self, theme: Theme) -> None:
        self._icon.setPixmap(theme.pixmap(self._icon_name, "text2", ICON_PX, self.devicePixelRatioF()))
