"""The bar of the Edge page: which model, how long, which numbers, by whom; and the button that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QPushButton, QSizePolicy, QWidget

from core.edge.models import PRESET_SIZES, PRESET_TOKENS, preset_parameters
from core.files import printable
from gui.plain_text import plain_label, visible_text
from gui.theme import set_kind
from gui.widgets.elided_combo import ElidedCombo
from gui.widgets.elided_label import ElidedLabel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.edge.backend import Backend
    from core.edge.models import Precision

BAR_PX: Final = 36
_MODEL_PX: Final = 180
_FIELD_PX: Final = 64
_MOST_TOKENS: Final = 1_000_000
CHOOSE: Final = "choose"
ALL: Final = "all"
_TYPE_PX: Final = 68
_BACKEND_PX: Final = 160


class EdgeBar(QWidget):
    """What is to be run.

    Signals:
        changed: The user has chosen something else.
        file_asked: A script or a model file is to be chosen.
        run_asked: It is to be run on the chosen devices.
        cancel_asked: What runs is to be ended.
    """

    changed = Signal()
    file_asked = Signal()
    run_asked = Signal()
    cancel_asked = Signal()

    def __init__(self, backends: Sequence[Backend]) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setFixedHeight(BAR_PX)
        self._backends = tuple(backends)
        self._shown = 0
        self.model = ElidedCombo("Model", "What is run: MiniLLM in three sizes, or a model of yours")
        self.model.setFixedWidth(_MODEL_PX)
        for name in PRESET_SIZES:
            self.model.addItem(f"MiniLLM {name}, {_millions(preset_parameters(name))}", name)
        self.model.addItem("Choose script or file", CHOOSE)
        self.tokens = QLineEdit()
        self.tokens.setFixedWidth(_FIELD_PX)
        self.tokens.setAccessibleName("Tokens of the prefill")
        self.tokens.setToolTip("Length of the prefill; a model with inputs of its own keeps them")
        set_kind(self.tokens, size="small")
        self.precision = _combo("Type", "What is computed with; the reference is always fp32 on the CPU")
        self.backend = _combo("Backend", "What compiles and runs it")
        self._fill_backends()
        self.precision.setFixedWidth(_TYPE_PX)
        self.backend.setFixedWidth(_BACKEND_PX)
        self.decode = QCheckBox("Decode")
        self.decode.setToolTip(
            "Also decodes with a cache: another model than MiniLLM, with a causal mask. It is marked."
        )
        self.reference = ElidedLabel()
        set_kind(self.reference, kind="caption")
        self.run = QPushButton("Run on selected")
        set_kind(self.run, kind="primary", size="small")
        self.cancel = QPushButton("Cancel")
        set_kind(self.cancel, size="small")
        self.cancel.hide()
        self._lay_out()
        self._connect()
        self._show_precisions()
        self._show_tokens()
        self.show_running(None, 0)

    def _fill_backends(self) -> None:
        for backend in self._backends:
            missing = backend.missing()
            self.backend.addItem(backend.TITLE, backend.NAME)
            if missing is not None:
                place = self.backend.count() - 1
                self.backend.setItemData(
                    place, f"{missing.message} {missing.hint}", Qt.ItemDataRole.ToolTipRole
                )
                items = self.backend.model()
                assert isinstance(items, QStandardItemModel)
                items.item(place).setEnabled(False)
        self.backend.addItem("All backends", ALL)

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        unit = plain_label("tokens")
        unit.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.run.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.reference.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        set_kind(unit, kind="caption")
        for widget in (self.model, self.tokens, unit, self.precision, self.backend, self.decode):
            row.addWidget(widget)
        row.addWidget(self.reference, 1)
        row.addWidget(self.cancel)
        row.addWidget(self.run)

    def _connect(self) -> None:
        self.model.activated.connect(self._model_chosen)
        self.tokens.editingFinished.connect(self.changed)
        self.precision.activated.connect(lambda _: self.changed.emit())
        self.backend.activated.connect(lambda _: self._backend_chosen())
        self.decode.clicked.connect(lambda _: self.changed.emit())
        self.run.clicked.connect(lambda _=False: self.run_asked.emit())
        self.cancel.clicked.connect(lambda _=False: self.cancel_asked.emit())

    @property
    def preset(self) -> str | None:
        """The preset that is chosen, None for a file."""
        name = self.model.currentData()
        return name if name in PRESET_SIZES else None

    @property
    def file(self) -> str | None:
        """The chosen file, with ":factory" behind a script."""
        name = self.model.currentData()
        return None if name in PRESET_SIZES or name == CHOOSE else str(name)

    @property
    def wanted_tokens(self) -> int | None:
        """The length that somebody chose; None for a preset's own lengths."""
        preset, count = self.preset, self.token_count
        return None if preset is None or count == PRESET_TOKENS[preset][0] else count

    @property
    def token_count(self) -> int | None:
        """The length that was entered; None if that is no number."""
        text = self.tokens.text().strip().replace(",", "")
        return int(text) if text.isdecimal() and 0 < int(text) <= _MOST_TOKENS else None

    @property
    def backends_shown(self) -> tuple[Backend, ...]:
        """The chosen backend, or all that can be used here."""
        if self.backend_name == ALL:
            return tuple(each for each in self._backends if each.missing() is None)
        return (self._backends[self.backend.currentIndex()],)

    @property
    def backend_name(self) -> str:
        """Name of the chosen backend, or ``ALL``."""
        return str(self.backend.currentData())

    @property
    def precision_shown(self) -> Precision:
        """The chosen type."""
        precision: Precision = self.precision.currentData()
        return precision

    def choose(self, preset: str | None, file: str | None) -> None:
        """Chooses a preset or a file."""
        if file is not None:
            place = self.model.findData(file)
            if place < 0:
                place = self.model.count() - 1
                self.model.insertItem(place, visible_text(printable(file.rpartition("/")[2])), file)
            self.model.setCurrentIndex(place)
        elif preset in PRESET_SIZES:
            self.model.setCurrentIndex(self.model.findData(preset))
        self._shown = self.model.currentIndex()
        self._show_tokens()

    def choose_backend(self, name: str, precision: str) -> None:
        """Chooses a backend and a type, as far as they are offered."""
        place = self.backend.findData(name)
        if place >= 0 and (name == ALL or self._backends[place].missing() is None):
            self.backend.setCurrentIndex(place)
        self._show_precisions()
        found = self.precision.findData(precision)
        if found >= 0:
            self.precision.setCurrentIndex(found)

    def show_running(self, stage: str | None, waiting: int) -> None:
        """Says what is going on; None for nothing."""
        running = stage is not None
        self.cancel.setVisible(running)
        # What it does now takes the room.
        self.decode.setVisible(not running)
        self.run.setText("Queue" if running else "Run on selected")
        behind = f" ({waiting} waiting)" if waiting else ""
        if stage is not None:
            self.reference.set_full_text(f"{stage[:1].upper()}{stage[1:]}{behind}")
        else:
            self.reference.set_full_text("Reference: torch, CPU")

    def _model_chosen(self, place: int) -> None:
        if self.model.itemData(place) == CHOOSE:
            self.model.setCurrentIndex(self._shown)
            self.file_asked.emit()
            return
        self._shown = place
        self._show_tokens()
        self.changed.emit()

    def _backend_chosen(self) -> None:
        self._show_precisions()
        self.changed.emit()

    def _show_precisions(self) -> None:
        before = self.precision.currentData()
        self.precision.clear()
        offered = [each for backend in self.backends_shown for each in backend.PRECISIONS]
        for precision in dict.fromkeys(offered):
            self.precision.addItem(precision, precision)
        self.precision.setCurrentIndex(max(0, self.precision.findData(before)))

    def _show_tokens(self) -> None:
        preset = self.preset
        self.tokens.setEnabled(preset is not None)
        self.decode.setEnabled(preset is not None)
        self.tokens.setText(str(PRESET_TOKENS[preset][0]) if preset is not None else "")


def _combo(name: str, tip: str) -> QComboBox:
    combo = QComboBox()
    combo.setAccessibleName(name)
    combo.setToolTip(tip)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    set_kind(combo, size="small")
    return combo


def _millions(count: int) -> str:
    return f"{count / 1e6:.3g}M"
