"""The bars of the Roofline page: device, memory, type, sources above the plot; figures below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from core.errors import DashboardError
from core.roofline.points import LEVEL_TITLES, WorkType
from core.units import format_count, format_number, format_pct, parse_float
from gui.plain_text import plain_label, visible_text
from gui.rooflines.board import UNNAMED
from gui.theme import set_kind
from gui.widgets.elided_combo import ElidedCombo
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from gui.rooflines.board import Board
    from gui.theme import Theme, ThemeController

BAR_PX: Final = 36
STRIP_PX: Final = 28
_DEVICE_PX: Final = 190
_FIELD_PX: Final = 44
_WARNING_PX: Final = 14
_FILTER_PX: Final = 150


class RooflineBar(QWidget):
    """What is shown.

    Signals:
        changed: The user has chosen something else.
    """

    changed = Signal()

    def __init__(self, theme: ThemeController, measure: QMenu, export: QMenu) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        self.device = ElidedCombo(
            "Device", "Whose ceilings are drawn, and whose kernels, by the name in the files"
        )
        self.device.setFixedWidth(_DEVICE_PX)
        self.level = _selector("Memory", "Whose traffic makes the intensity")
        for level, title in LEVEL_TITLES.items():
            self.level.addItem(title, level)
        self.work_type = _selector("Type", "Kernels and ceilings of one type of work")
        self.measured = _check_box("Kernels whose work the device has counted, in reports")
        self.modelled = _check_box(
            "Kernels whose work is known from the shapes of their operators, in traces"
        )
        self.density = Segmented("Ceilings", ("Dense", "Sparse"))
        self.density.setToolTip("Sparse adds ceilings with 2:4 sparsity. They are no kernel's roof.")
        self.measure = QPushButton("Measure ceilings")
        set_kind(self.measure, size="small")
        self.measure.setToolTip("Measures what a device of this machine reaches, in about 10 seconds")
        self.measure.setMenu(measure)
        self.export = QToolButton()
        self.export.setToolTip("Export the plot or the table")
        self.export.setAccessibleName("Export")
        self.export.setIconSize(QSize(16, 16))
        self.export.setMenu(export)
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        for widget in (self.device, self.level, self.work_type, self.measured, self.modelled):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.density)
        row.addWidget(self.measure)
        row.addWidget(self.export)
        self.device.activated.connect(self._tell)
        self.level.activated.connect(self._tell)
        self.work_type.activated.connect(self._tell)
        self.measured.clicked.connect(self._tell)
        self.modelled.clicked.connect(self._tell)
        self.density.chosen.connect(self._tell)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def show_board(self, board: Board) -> None:
        """Offers what there is, with what is shown chosen."""
        self.device.clear()
        for name in board.devices:
            self.device.addItem(visible_text(name) or UNNAMED, name)
        self.device.setCurrentIndex(board.devices.index(board.ask.device or ""))
        types = dict.fromkeys([*board.work_types, *([board.ask.work_type] if board.ask.work_type else [])])
        self.work_type.clear()
        self.work_type.addItem("All types", WorkType.NONE)
        for each in types:
            self.work_type.addItem(each.title, each)
        self.work_type.setCurrentIndex(self.work_type.findData(board.ask.work_type))
        self.level.setCurrentIndex(self.level.findData(board.ask.level))
        for box, word, count, on in (
            (self.measured, "Measured", board.measured, board.ask.measured),
            (self.modelled, "Modelled", board.modelled, board.ask.modelled),
        ):
            box.setText(f"{word} {format_count(count)}")
            box.setChecked(on)
            box.setEnabled(bool(count))

    def _tell(self) -> None:
        self.changed.emit()

    def _draw(self, theme: Theme) -> None:
        self.export.setIcon(theme.icon("download-simple"))


class RooflineStrip(QWidget):
    """How much is shown, how much of the time is far from the roof, and what cannot be.

    Signals:
        below_changed: The share of the roof, in per cent, that the time below is wanted of.
        failed: The ``DashboardError`` of what was entered.
    """

    below_changed = Signal(float)
    failed = Signal(object)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(STRIP_PX)
        self._shown_pct = 50.0
        self.counted, self.below, self.above = ElidedLabel(), plain_label(), plain_label()
        for label in (self.counted, self.below):
            set_kind(label, kind="caption")
        set_kind(self.above, kind="caption", level="warn")
        self._warning = QLabel()
        self._warning.setFixedWidth(_WARNING_PX)
        self.field = QLineEdit()
        self.field.setFixedWidth(_FIELD_PX)
        self.field.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.field.setAccessibleName("Share of the roof, in per cent")
        self.field.setToolTip("Tells how much of the time is spent below this share of the roof")
        set_kind(self.field, size="small")
        self.field.editingFinished.connect(self._entered)
        self._after = plain_label("% of the roof")
        set_kind(self._after, kind="caption")
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(6)
        row.addWidget(self.counted)
        row.addStretch(1)
        row.addWidget(self._warning)
        row.addWidget(self.above)
        row.addSpacing(10)
        row.addWidget(self.below)
        row.addWidget(self.field)
        row.addWidget(self._after)
        self.counted.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def take_filter(self, field: QLineEdit, columns: QToolButton) -> None:
        """Gives room to the filter of the table below, and to its columns."""
        field.setFixedWidth(_FILTER_PX)
        field.setPlaceholderText("Filter by name")
        field.setToolTip("Rows and points whose name holds each of these words")
        self._row.insertWidget(0, field)
        self._row.insertSpacing(1, 4)
        self._row.addWidget(columns)

    def show_board(self, board: Board, above: int) -> None:
        """Shows the figures of a board; ``above`` is the number of points above their roofs."""
        parts = [board.counted, board.modelled_words, *board.notes]
        self.counted.set_full_text("  \N{MIDDLE DOT}  ".join(part for part in parts if part))
        self._shown_pct = board.ask.below_pct
        self.field.setText(_plain(board.ask.below_pct))
        share = board.below_time_pct
        known = board.ceilings.work or board.ceilings.traffic
        without = "No kernel has a place below the roof" if known else "No roof is known"
        self.below.setText(without if share is None else f"{format_pct(share)} of the time below")
        self.field.setVisible(share is not None)
        self._after.setVisible(share is not None)
        self.above.setText(f"{format_count(above)} {'point' if above == 1 else 'points'} above the roof")
        self.above.setVisible(above > 0)
        self._warning.setVisible(above > 0)

    def _entered(self) -> None:
        try:
            value = parse_float(self.field.text())
            if not 0 < value <= 1_000:
                raise DashboardError(f"{self.field.text()} % is no share of a roof.", "Enter 1 to 1,000.")
        except DashboardError as error:
            self.field.setText(_plain(self._shown_pct))
            self.failed.emit(error)
            return
        if value != self._shown_pct:
            self._shown_pct = value
            self.below_changed.emit(value)

    def _draw(self, theme: Theme) -> None:
        self._warning.setPixmap(theme.pixmap("warning", "warn", _WARNING_PX, self.devicePixelRatioF()))


def _plain(share_pct: float) -> str:
    """As it is typed: "50", "12.5"."""
    return format_number(share_pct, 4).rstrip("0").rstrip(".") if share_pct % 1 else f"{share_pct:.0f}"


def _selector(name: str, tip: str) -> QComboBox:
    box = QComboBox()
    set_kind(box, size="small")
    box.setAccessibleName(name)
    box.setToolTip(tip)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    return box


def _check_box(tip: str) -> QCheckBox:
    box = QCheckBox()
    box.setToolTip(tip)
    box.setChecked(True)
    return box
