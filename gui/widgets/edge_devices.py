"""The devices of the Edge page: a card each, with what decides speed, and a box to choose it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.plain_text import Paragraph, control_text, tip_text, visible_text
from gui.theme import set_kind
from gui.widgets.edge_words import device_pairs
from gui.widgets.flow_layout import FlowLayout
from gui.widgets.key_values import KeyValues

if TYPE_CHECKING:
    from core.edge.backend import EdgeTarget
    from core.hardware.probe import DeviceProblem
    from gui.theme import Theme, ThemeController

CARD_PX: Final = 211
GAP_PX: Final = 8
_ICON_PX: Final = 13
_LEAST_PX: Final = 64
_NOTES: Final = frozenset(("vulkan_software_only", "mlx_missing"))
"""What is said of devices that are there: the inspector lists it, it is no card."""


class DeviceCard(QFrame):
    """One device.

    Signals:
        toggled: It was chosen, or not any more.
    """

    toggled = Signal(bool)

    def __init__(self, theme: ThemeController, target: EdgeTarget) -> None:
        super().__init__()
        self.target = target
        set_kind(self, kind="card")
        self.setFixedWidth(CARD_PX)
        self.box = QCheckBox(control_text(visible_text(target.name.partition(" (")[0])))
        self.box.setChecked(target.default)
        self.box.setToolTip(tip_text(target.name))
        self.box.toggled.connect(self.toggled)
        # What a driver adds in brackets is in the tip, as is the whole of a name that the card cuts.
        self.box.setMinimumWidth(1)
        self._warning = QLabel()
        self._warning.setFixedWidth(_ICON_PX)
        self._warning.setVisible(target.software)
        self._warning.setToolTip("A driver that computes on the CPU: its times say nothing about a GPU.")
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.box, 1)
        head.addWidget(self._warning)
        self.facts = KeyValues()
        self.facts.set_pairs(device_pairs(target))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self.facts)
        words = ", ".join(f"{key} {value}" for key, value in self.facts.pairs)
        self.setAccessibleName(f"{target.name}: {words}")
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def _draw(self, theme: Theme) -> None:
        self._warning.setPixmap(theme.pixmap("warning", "warn", _ICON_PX, self.devicePixelRatioF()))


class MissingCard(QFrame):
    """What is not there, or broken, and why."""

    def __init__(self, problem: DeviceProblem) -> None:
        super().__init__()
        set_kind(self, kind="card")
        self.setFixedWidth(CARD_PX)
        self.setToolTip(tip_text(f"{problem.message} {problem.hint}".strip()))
        box = QCheckBox("Metal" if problem.code.startswith(("metal", "no_metal", "mlx")) else "Vulkan")
        box.setEnabled(False)
        words = Paragraph()
        set_kind(words, kind="secondary")
        words.set_plain(visible_text(problem.message))
        words.setAlignment(Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(6)
        layout.addWidget(box)
        layout.addWidget(words)
        layout.addStretch(1)
        self.setAccessibleName(problem.message)


class DeviceCards(QWidget):
    """All devices, then what is missing.

    Signals:
        changed: Other devices are chosen.
    """

    changed = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self.cards: list[DeviceCard] = []
        self._missing: list[MissingCard] = []
        # A flow has no margins of its own.
        held = QWidget()
        self._flow = FlowLayout(held, GAP_PX)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.addWidget(held)

    @property
    def chosen(self) -> tuple[EdgeTarget, ...]:
        """The devices to run on, in the order of the cards."""
        return tuple(card.target for card in self.cards if card.box.isChecked() and card.isEnabled())

    def show_targets(self, targets: tuple[EdgeTarget, ...], problems: tuple[DeviceProblem, ...]) -> None:
        """Shows other devices; a device that was chosen stays chosen."""
        before = {card.target.key: card.box.isChecked() for card in self.cards}
        for widget in (*self.cards, *self._missing):
            self._flow.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self.cards, self._missing = [], []
        for target in targets:
            card = DeviceCard(self._theme, target)
            card.box.setChecked(before.get(target.key, target.default))
            card.toggled.connect(lambda _: self.changed.emit())
            self.cards.append(card)
            self._flow.addWidget(card)
        for problem in problems:
            if problem.code in _NOTES:
                continue
            missing = MissingCard(problem)
            self._missing.append(missing)
            self._flow.addWidget(missing)
        for widget in (*self.cards, *self._missing):
            widget.show()
        self._fit()
        self.changed.emit()

    def choose(self, key: str) -> None:
        """Chooses one device and no other."""
        for card in self.cards:
            card.box.setChecked(card.target.key == key)

    def show_reachable(self, keys: frozenset[str], backend: str) -> None:
        """Greys the devices that a backend does not reach."""
        for card in self.cards:
            reachable = card.target.key in keys
            card.setEnabled(reachable)
            card.setToolTip("" if reachable else tip_text(f"{backend} does not reach this device."))
        self.changed.emit()

    @property
    def row_px(self) -> int:
        """The height that shows one row of cards whole."""
        heights = [card.height() for card in (*self.cards, *self._missing)]
        return max(heights, default=_LEAST_PX) + 20

    def _fit(self) -> None:
        """Cards of a row are of one height."""
        cards = (*self.cards, *self._missing)
        height = max((card.sizeHint().height() for card in self.cards), default=0)
        for card in cards:
            card.setFixedHeight(max(height, _LEAST_PX))
