"""The field for figures of a device that no data sheet is known of: entered, never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QPushButton, QWidget

from core.errors import DashboardError
from core.roofline.ceilings import CeilingOrigin, Ceilings, TrafficCeiling, WorkCeiling
from core.roofline.points import WorkType
from core.units import parse_float
from gui.plain_text import Paragraph, visible_text
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gui.rooflines.board import Board

ROW_PX: Final = 36
_FIELD_PX: Final = 76
_TERA: Final = 1e12
_LEAST_TERA: Final = 1e-6
_MOST_TERA: Final = 1e6
"""No device is slower than 1e-3 GFLOP/s or GB/s, or faster than 1e9 of them."""

SOURCE: Final = "entered here"


class OwnFigures(QWidget):
    """Peak of a type of work and bandwidth of memory.

    Signals:
        entered: ``Ceilings`` for the device that is shown, all that were entered for it.
        failed: The ``DashboardError`` of what was typed.
    """

    entered = Signal(object)
    failed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setMinimumHeight(ROW_PX)
        self._device = ""
        self._before = Ceilings(device="")
        self.words = Paragraph()
        set_kind(self.words, kind="secondary")
        self.work_type = QComboBox()
        set_kind(self.work_type, size="small")
        self.work_type.setAccessibleName("Type of work of the peak")
        for each in WorkType:
            if each.title and each is not WorkType.OTHER_TENSOR:
                self.work_type.addItem(each.title, each)
        self.peak = _field("Peak in TFLOP/s, dense", "TFLOP/s")
        self.bandwidth = _field("Bandwidth of the memory in TB/s", "TB/s")
        self.use = QPushButton("Use these figures")
        set_kind(self.use, size="small")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 2, 12, 2)
        row.setSpacing(8)
        row.addWidget(self.words, 1)
        for widget in (self.work_type, self.peak, self.bandwidth, self.use):
            row.addWidget(widget)
        self.use.clicked.connect(lambda _=False: self._enter())
        for field in (self.peak, self.bandwidth):
            field.returnPressed.connect(self._enter)

    def show_board(self, board: Board, own: Ceilings | None) -> None:
        """Asks for the figures of the device that is shown."""
        device = board.ask.device or ""
        if device != self._device:
            self.peak.clear()
            self.bandwidth.clear()
        self._device, self._before = device, own or Ceilings(device=device)
        missing = _types_without_peak(board)
        if own is None:
            said = "The files do not name the device, so no figures are known."
            if device:
                said = f"No figures for {visible_text(device)}. {visible_text(board.ceilings.note)}".rstrip()
            self.words.set_plain(said)
        else:
            titles = ", ".join(each.title for each in missing)
            lacking = f" No peak yet: {titles}." if titles else ""
            self.words.set_plain(
                f"Your figures for {visible_text(device) or 'the device that is not named'}.{lacking}"
            )
        wanted = missing[0] if missing else WorkType.FP32
        if not self.peak.text():
            self.work_type.setCurrentIndex(max(self.work_type.findData(wanted), 0))

    def _enter(self) -> None:
        try:
            peak = _sensible(self.peak.text(), "peak", "TFLOP/s")
            bandwidth = _sensible(self.bandwidth.text(), "bandwidth", "TB/s")
        except DashboardError as error:
            self.failed.emit(error)
            return
        kind = WorkType(self.work_type.currentData())
        others = tuple(each for each in self._before.work if each.work_type != kind)
        work = (*others, _peak(kind, peak * _TERA))
        traffic = (_bandwidth(bandwidth * _TERA),)
        # The next type of work that has no peak is offered then.
        self.peak.clear()
        self.entered.emit(Ceilings(device=self._device, work=work, traffic=traffic))


def _types_without_peak(board: Board) -> tuple[WorkType, ...]:
    """Types of the kernels that no ceiling is known for, that with the most time first."""
    points = board.points
    time_ns = np.bincount(points.work_type, np.maximum(points.sum_ns, 0), minlength=len(WorkType))
    known = {each.work_type for each in board.ceilings.work}
    missing = [each for each in board.work_types if each not in known and each is not WorkType.OTHER_TENSOR]
    return tuple(sorted(missing, key=lambda each: -time_ns[each]))


def own_as_json(own: Mapping[str, Ceilings]) -> dict[str, object]:
    """What the settings keep of figures that were entered, by name of the device."""
    return {
        device: {
            "work": {each.work_type.name: each.flop_per_s for each in ceilings.work},
            "dram": ceilings.traffic[0].bytes_per_s if ceilings.traffic else None,
        }
        for device, ceilings in own.items()
    }


def own_from_json(stored: object) -> dict[str, Ceilings]:
    """Reads what ``own_as_json`` gave; what makes no sense is left out."""
    found: dict[str, Ceilings] = {}
    for device, entry in stored.items() if isinstance(stored, dict) else ():
        work = entry.get("work") if isinstance(entry, dict) else None
        bandwidth = entry.get("dram") if isinstance(entry, dict) else None
        if not isinstance(work, dict) or not isinstance(device, str):
            continue
        found[device] = Ceilings(
            device=device,
            work=tuple(
                _peak(WorkType[name], rate)
                for name, rate in work.items()
                if name in WorkType.__members__ and _is_rate(rate)
            ),
            traffic=(_bandwidth(float(bandwidth)),) if bandwidth and _is_rate(bandwidth) else (),
        )
    return found


def _peak(work_type: WorkType, flop_per_s: float) -> WorkCeiling:
    return WorkCeiling(work_type=work_type, flop_per_s=flop_per_s, origin=CeilingOrigin.OWN, source=SOURCE)


def _bandwidth(bytes_per_s: float) -> TrafficCeiling:
    return TrafficCeiling(level="dram", bytes_per_s=bytes_per_s, origin=CeilingOrigin.OWN, source=SOURCE)


def _is_rate(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and _LEAST_TERA * _TERA <= value <= _MOST_TERA * _TERA
    )


def _sensible(text: str, what: str, unit: str) -> float:
    value = parse_float(text)
    if not _LEAST_TERA <= value <= _MOST_TERA:
        raise DashboardError(
            f"{text.strip()} {unit} is no {what} of a device." if text.strip() else f"No {what} is entered.",
            f"Enter a number from 0.000001 to 1,000,000, in {unit}.",
        )
    return value


def _field(name: str, hint: str) -> QLineEdit:
    field = QLineEdit()
    field.setPlaceholderText(hint)
    field.setAccessibleName(name)
    field.setToolTip(name)
    field.setFixedWidth(_FIELD_PX)
    set_kind(field, size="small")
    return field
