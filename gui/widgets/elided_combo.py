"""A combo box that shortens its choice to its width and tells the whole in its tooltip."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
)

from gui.plain_text import tip_text
from gui.theme import set_kind

LEAST_WIDTH_PX = 120
_BESIDE_TEXT_PX = 4
"""What styles keep free at both sides of the text inside the edit field, together."""


class ElidedCombo(QComboBox):
    """Shows as much of its choice as there is room for; both ends of a name stay."""

    def __init__(self, name: str, tip: str) -> None:
        """Args: ``name``: for screen readers; ``tip``: what it chooses."""
        super().__init__()
        set_kind(self, size="small")
        self.setAccessibleName(name)
        self.setToolTip(tip)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)

    @property
    def shown_text(self) -> str:
        """The choice as it is drawn."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        return self._shortened(option)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """It gives way to its neighbours."""
        hint = super().minimumSizeHint()
        return QSize(min(LEAST_WIDTH_PX, hint.width()), hint.height())

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws it as the style does, with the shortened text."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self._shortened(option)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Tells the whole choice before what it is for, if it is shortened."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            whole = self.currentText()
            words = self.toolTip() if self.shown_text == whole else f"{whole}\n{self.toolTip()}"
            QToolTip.showText(event.globalPos(), tip_text(words), self)
            return True
        return super().event(event)

    def _shortened(self, option: QStyleOptionComboBox) -> str:
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        width = field.width() - _BESIDE_TEXT_PX
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideMiddle, width)
