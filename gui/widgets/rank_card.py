"""The card of one rank: its state, its memory, and four figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout

from core.runs.snapshot import RankStatus
from core.units import NOT_MEASURED, format_bytes_gib, format_count, format_duration_ns, format_number, gib
from gui.plain_text import plain_label, tip_text
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.meter import Meter, Swatch
from gui.widgets.pill import Pill
from gui.widgets.rank_facts import (
    NO_OWN_WORK,
    STATUS_LOOKS,
    STATUS_MEANINGS,
    MemoryFigure,
    device_words,
    gpu_of,
    memory_of,
)

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent

    from core.runs.snapshot import RankState, RunSnapshot
    from gui.theme import ThemeController

PAIRS = ("Loss", "Step", "Step time", "Own work")


class RankCard(QFrame):
    """Shows one rank and can be selected.

    Signals:
        chosen: Its rank, when it is clicked or entered.
        moved: Key of an arrow: focus should go to a neighbour.
    """

    chosen = Signal(int)
    moved = Signal(int)

    def __init__(self, theme: ThemeController, rank: int, *, compact: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._compact = compact
        self.rank = rank
        set_kind(self, kind="card", selected="false")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._swatch = Swatch(theme, rank)
        self._name = plain_label(f"Rank {rank}")
        set_kind(self._name, kind="section")
        self._device = ElidedLabel()
        set_kind(self._device, kind="caption")
        self.pill = Pill(theme)
        self.figure = plain_label(NOT_MEASURED)
        set_kind(self.figure, kind="figure")
        self._words = ElidedLabel()
        set_kind(self._words, kind="secondary")
        self._meter = Meter(theme)
        self.values: dict[str, QLabel] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 7, 10, 8)
        layout.setSpacing(0)
        layout.addLayout(self._head())
        layout.addSpacing(3)
        layout.addLayout(self._figure_row())
        layout.addSpacing(4)
        layout.addWidget(self._meter)
        if not compact:
            layout.addSpacing(6)
            layout.addLayout(self._pairs())

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self._swatch)
        row.addWidget(self._name)
        row.addWidget(self._device)
        row.addStretch(1)
        row.addWidget(self.pill)
        return row

    def _figure_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(5)
        row.addWidget(self.figure, 0, Qt.AlignmentFlag.AlignBaseline)
        row.addWidget(self._words, 0, Qt.AlignmentFlag.AlignBaseline)
        row.addStretch(1)
        return row

    def _pairs(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for row, name in enumerate(PAIRS):
            label = plain_label(name)
            set_kind(label, kind="secondary")
            value = plain_label(NOT_MEASURED)
            set_kind(value, kind="table-text")
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.values[name] = value
            grid.addWidget(label, row, 0)
            grid.addWidget(value, row, 1)
        return grid

    def show_rank(self, state: RankState, snapshot: RunSnapshot, *, selected: bool) -> None:
        """Shows the newest figures; the card may change to another rank."""
        self.rank = state.rank
        self._swatch.set_rank(state.rank)
        _set_text(self._name, f"Rank {state.rank}")
        self._device.set_full_text(device_words(state, snapshot))
        look = STATUS_LOOKS[state.status]
        self.pill.set_state(look.icon, look.word, look.level)
        self.pill.setToolTip(STATUS_MEANINGS[state.status])
        set_kind(self, kind="card", selected="true" if selected else "false")
        memory = memory_of(state, snapshot)
        self._show_memory(state, memory)
        self._show_values(state)
        self._tell(state, snapshot, memory)

    def _show_memory(self, state: RankState, memory: MemoryFigure) -> None:
        _set_text(self.figure, gib(memory.figure_bytes))
        self._words.set_full_text(memory_words(memory))
        total = memory.total_bytes or 0
        used = (memory.used_bytes or 0) / total if total else 0.0
        held = (memory.held_bytes or 0) / total if total else 0.0
        self._meter.set_shares(state.rank, used, held)

    def _show_values(self, state: RankState) -> None:
        if self._compact:
            return
        slow = state.status is RankStatus.SLOW
        texts = {
            "Loss": format_number(state.loss, 6),
            "Step": format_count(state.step),
            "Step time": format_duration_ns(state.step_time_ns),
            "Own work": format_duration_ns(state.own_ns),
        }
        for name, text in texts.items():
            label = self.values[name]
            _set_text(label, text)
            odd = name == "Loss" and text in ("NaN", "inf", "\N{MINUS SIGN}inf")
            level = "error" if odd else "warn" if slow and name == "Own work" else "none"
            kind = "secondary" if text == NOT_MEASURED else "table-text"
            set_kind(label, kind=kind, level=level)
        self.values["Own work"].setToolTip(NO_OWN_WORK if state.own_ns is None else "")

    def _tell(self, state: RankState, snapshot: RunSnapshot, memory: MemoryFigure) -> None:
        """Tooltip and accessible name, made only when the figures moved."""
        text = memory_tip(state, snapshot, memory)
        if text != self._meter.toolTip():
            for widget in (self._meter, self.figure, self._words):
                widget.setToolTip(tip_text(text))
        name = (
            f"Rank {state.rank}, {device_words(state, snapshot)}, {STATUS_LOOKS[state.status].word}, "
            f"{gib(memory.figure_bytes)} {memory_words(memory)}, loss {format_number(state.loss, 6)}, "
            f"step {format_count(state.step)}"
        )
        if name != self.accessibleName():
            self.setAccessibleName(name)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Selects the rank."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self.rank)
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter selects, arrows go to the neighbour."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(self.rank)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.moved.emit(key)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """The arrow keys and Enter belong to the card while it has the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            own = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
            if event.key() in own and event.modifiers() == Qt.KeyboardModifier.NoModifier:
                event.accept()
                return True
        return super().event(event)


def memory_words(memory: MemoryFigure) -> str:
    """What stands behind the figure."""
    if memory.resident:
        return "GiB resident"
    return "GiB allocated" if memory.peak_bytes is None else f"GiB, peak {gib(memory.peak_bytes)}"


def memory_tip(state: RankState, snapshot: RunSnapshot, memory: MemoryFigure) -> str:
    """Each memory figure by its name, and what it counts."""
    if memory.resident:
        return (
            f"Resident {format_bytes_gib(state.resident_bytes)}: the process' share of the host's memory "
            f"({format_bytes_gib(memory.total_bytes)}).\nOn CPU there is no allocator that counts tensors."
        )
    gpu = gpu_of(state, snapshot)
    beyond = None
    if state.reserved_bytes is not None and state.allocated_bytes is not None:
        beyond = state.reserved_bytes - state.allocated_bytes
    lines = [
        f"Allocated {format_bytes_gib(state.allocated_bytes)}: held by tensors.",
        f"Reserved {format_bytes_gib(state.reserved_bytes)}: taken from the driver by PyTorch's allocator, "
        f"{format_bytes_gib(beyond)} of it cached.",
        f"Driver, this process {format_bytes_gib(state.driver_bytes)}: reserved, CUDA context and kernels.",
    ]
    if gpu is not None:
        of_whole = f"{format_bytes_gib(gpu.used_bytes)} of {format_bytes_gib(gpu.total_bytes)}"
        lines.append(f"Driver, whole device {of_whole}: all processes.")
        lines.append(f"Held by the driver itself {format_bytes_gib(gpu.driver_reserved_bytes)}, apart.")
    return "\n".join(lines)


def _set_text(label: QLabel, text: str) -> None:
    # A label that is told its own text still asks for a new layout.
    if label.text() != text:
        label.setText(text)
