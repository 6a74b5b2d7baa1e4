"""The charts of a run in two columns, and the chips that add and remove them.

Which charts are shown is the user's choice once a chip was pressed; before, as
many as fit are shown by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gui.plain_text import plain_label
from gui.plots.charts import CHARTS, PREFERRED, ChartSpec, offered, options_of
from gui.plots.curves import MAX_LINES
from gui.theme import set_kind
from gui.widgets.chart_card import ChartCard
from gui.widgets.flow_layout import FlowLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from core.runs.snapshot import RunSnapshot
    from gui.theme import ThemeController

COLUMNS = 2
GAP_PX = 8
TWO_COLUMNS_FROM_PX = 640
FOUR_CHARTS_FROM_PX = 1200


class ChartBoard(QWidget):
    """Cards of charts.

    Signals:
        rank_clicked: Rank of a curve that was clicked.
        chosen_changed: ``list[str]`` of the chart ids that the user chose.
        export_asked: (the ``ChartCard``, format).
    """

    rank_clicked = Signal(int)
    chosen_changed = Signal(object)
    export_asked = Signal(object, str)

    def __init__(self, theme: ThemeController, chosen: Sequence[str] | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._chosen: list[str] | None = None if chosen is None else list(chosen)
        self._cards: dict[str, ChartCard] = {}
        self._shown: list[str] = []
        self._columns = COLUMNS
        self._snapshot: RunSnapshot | None = None
        self._selected: int | None = None
        self._chips: dict[str, QPushButton] = {}
        self._grid_widget = QWidget()
        self._grid = QGridLayout(self._grid_widget)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GAP_PX)
        chips = QWidget()
        self._chip_row = FlowLayout(chips)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(10)
        layout.addWidget(self._grid_widget, 1)
        layout.addWidget(chips)
        self._chip_row.addWidget(_caption("Add chart"))
        for spec in CHARTS:
            self._chips[spec.id] = self._chip(spec)

    def _chip(self, spec: ChartSpec) -> QPushButton:
        chip = QPushButton(spec.chip)
        chip.setCheckable(True)
        chip.setAccessibleName(f"Chart: {spec.title}")
        chip.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        set_kind(chip, kind="chip")
        chip.clicked.connect(lambda on, spec=spec: self._toggle(spec.id, on))
        self._chip_row.addWidget(chip)
        chip.hide()
        return chip

    @property
    def cards(self) -> list[ChartCard]:
        """The shown cards, in their order."""
        return [self._cards[name] for name in self._shown]

    def show_chart(self, name: str) -> None:
        """Adds a chart, as its chip does."""
        if name not in self._shown:
            self._toggle(name, True)

    def show_step(self, step: int) -> None:
        """Shows the neighbourhood of a step in every chart over steps."""
        for card in self.cards:
            card.chart.show_step(step)

    def start_again(self) -> None:
        """Another run follows."""
        self._snapshot = None
        for card in self._cards.values():
            card.start_again()

    def set_selected(self, rank: int | None) -> None:
        """Draws this rank's curves stronger in every chart."""
        self._selected = rank
        for card in self._cards.values():
            card.chart.set_selected(rank)

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Shows the newest curves."""
        self._snapshot = snapshot
        names = [spec.id for spec in offered(snapshot)]
        for name, chip in self._chips.items():
            chip.setVisible(name in names)
        self._arrange(names)
        many = len(snapshot.ranks) > MAX_LINES
        for card in self.cards:
            card.set_many(many)
            card.show_snapshot(snapshot)

    def _wanted(self, names: list[str]) -> list[str]:
        if self._chosen is not None:
            wanted = [name for name in self._chosen if name in names]
            if wanted or not self._chosen:
                return wanted
        room = 4 if self.width() >= FOUR_CHARTS_FROM_PX else 2
        filled = [name for name in PREFERRED if name in names and self._has_points(name)]
        # Before the first figure the two main charts hold the place.
        leading = [name for name in PREFERRED[:2] if name in names]
        return list(dict.fromkeys([*leading, *filled]))[:room]

    def _has_points(self, name: str) -> bool:
        spec = next(spec for spec in CHARTS if spec.id == name)
        return self._snapshot is not None and bool(options_of(spec, self._snapshot))

    def _arrange(self, names: list[str]) -> None:
        wanted = self._wanted(names)
        columns = 1 if self.width() < TWO_COLUMNS_FROM_PX or len(wanted) == 1 else COLUMNS
        if wanted == self._shown and columns == self._columns:
            return
        for name in self._shown:
            self._grid.removeWidget(self._cards[name])
            self._cards[name].setVisible(name in wanted)
        self._shown = wanted
        self._columns = columns
        for place, name in enumerate(wanted):
            last_alone = place == len(wanted) - 1 and place % columns == 0
            self._grid.addWidget(
                self._card(name), place // columns, place % columns, 1, columns if last_alone else 1
            )
            self._cards[name].show()
        for column in range(COLUMNS):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        for name, chip in self._chips.items():
            chip.setChecked(name in wanted)

    def _card(self, name: str) -> ChartCard:
        if name not in self._cards:
            card = ChartCard(self._theme, next(spec for spec in CHARTS if spec.id == name))
            card.rank_clicked.connect(self.rank_clicked)
            card.export_asked.connect(lambda kind, card=card: self.export_asked.emit(card, kind))
            card.close_asked.connect(lambda name=name: self._toggle(name, False))
            card.chart.set_selected(self._selected)
            self._cards[name] = card
        return self._cards[name]

    def _toggle(self, name: str, on: bool) -> None:
        chosen = [other for other in self._shown if other != name]
        if on:
            chosen.append(name)
        self._chosen = chosen
        self._chips[name].setChecked(on)
        self.chosen_changed.emit(list(chosen))
        if self._snapshot is not None:
            self.show_snapshot(self._snapshot)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Four charts where there is room for four."""
        super().resizeEvent(event)
        if self._snapshot is not None:
            before = list(self._shown)
            self._arrange([spec.id for spec in offered(self._snapshot)])
            if self._shown != before:
                self.show_snapshot(self._snapshot)


def _caption(text: str) -> QWidget:
    label = plain_label(text)
    set_kind(label, kind="caption")
    label.setAlignment(Qt.AlignmentFlag.AlignVCenter)
    return label
