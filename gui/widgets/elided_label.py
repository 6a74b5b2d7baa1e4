"""A one-line label that shortens its text to its width and tells the whole in its tooltip."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.plain_text import tip_text

LEAST_WIDTH_PX = 24


class ElidedLabel(QLabel):
    """Shows plain text, literally; ``full_text`` is what it stands for."""

    def __init__(
        self,
        text: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._full_text = ""
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.set_full_text(text)

    @property
    def full_text(self) -> str:
        """The text before it was shortened."""
        return self._full_text

    def set_full_text(self, text: str) -> None:
        """Replaces the text; line ends become spaces."""
        line = " ".join(text.splitlines())
        if line != self._full_text:
            self._full_text = line
            self.setAccessibleName(line)
            self.updateGeometry()
        self._shorten()

    def sizeHint(self) -> QSize:  # noqa: N802
        """As wide as the whole text."""
        hint = super().sizeHint()
        margins = self.contentsMargins()
        width = self.fontMetrics().horizontalAdvance(self._full_text) + margins.left() + margins.right() + 2
        return QSize(width, hint.height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Nearly nothing: it gives way to its neighbours."""
        return QSize(min(LEAST_WIDTH_PX, self.sizeHint().width()), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Shortens to the new width."""
        super().resizeEvent(event)
        self._shorten()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Measures again when the style sheet has given it another font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()
            self._shorten()

    def _shorten(self) -> None:
        shown = self.fontMetrics().elidedText(self._full_text, self._mode, self.contentsRect().width())
        if shown != self.text():
            self.setText(shown)
        self.setToolTip("" if shown == self._full_text else tip_text(self._full_text))
