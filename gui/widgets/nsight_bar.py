"""The bars over a report: filter, form, baseline; below them order, totals, notes on the data."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QMenu, QPushButton, QToolButton, QWidget

from core.units import format_count
from gui.plain_text import control_text, plain_label, tip_text, visible_text
from gui.reports.kernel_list import FILTERS, SORTS
from gui.theme import set_kind
from gui.widgets.elided_combo import ElidedCombo
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.filter_field import FilterField
from gui.widgets.segmented import Segmented
from gui.widgets.trace_words import notes_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.trace import Problem
    from gui.reports.baselines import Baseline, Baselines
    from gui.reports.kernel_list import KernelList, SortKey
    from gui.theme import Theme, ThemeController

BAR_PX: Final = 36
STRIP_PX: Final = 30
BASELINE_PX: Final = 400
_LONGEST_NOTE: Final = 160


class NsightBar(QWidget):
    """Filter, form and baseline.

    Signals:
        form_chosen: 0 is the list with details, 1 the full table.
        add_asked: The shown kernel should be a baseline.
    """

    form_chosen = Signal(int)
    add_asked = Signal()

    def __init__(self, theme: ThemeController, baselines: Baselines) -> None:
        super().__init__()
        self._baselines = baselines
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        self.field = FilterField(theme, "Filter kernels", "Kernels whose name holds each of these words (/)")
        self.count = plain_label()
        set_kind(self.count, kind="caption")
        self.form = Segmented("Form", ("List", "Table"))
        self.form.chosen.connect(self.form_chosen)
        self.baseline = ElidedCombo("Baseline", "What the shown kernel is held against")
        self.baseline.setMaximumWidth(BASELINE_PX)
        self.baseline.activated.connect(lambda place: baselines.choose(self.baseline.itemData(place)))
        self.add = QPushButton("Add baseline")
        self.add.setToolTip("Hold others against the shown kernel, of this report or another (Ctrl+B)")
        set_kind(self.add, size="small")
        self.add.clicked.connect(lambda _=False: self.add_asked.emit())
        self.export = _export_button()
        self.export_menu = QMenu("Export", self)
        self.export.setMenu(self.export_menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self.field)
        row.addWidget(self.count)
        row.addWidget(self.form)
        row.addStretch(1)
        row.addWidget(self.baseline)
        row.addWidget(self.add)
        row.addWidget(self.export)
        baselines.changed.connect(self._show_baselines)
        theme.changed.connect(self._draw)
        self._show_baselines()
        self._draw(theme.theme)

    def set_count(self, shown: int, whole: int) -> None:
        """Says how many of how many kernels are listed."""
        self.count.setText(f"{format_count(shown)} of {format_count(whole)}")

    def _show_baselines(self) -> None:
        box = self.baseline
        box.clear()
        box.addItem("Baseline  none", None)
        # Whole reports come last: there is one for each that is open.
        for each in sorted(self._baselines.all, key=lambda each: each.row is None):
            box.addItem(f"Baseline  {visible_text(each.title)}", each)
        box.setCurrentIndex(self._place_of(self._baselines.chosen))
        box.setEnabled(box.count() > 1)

    def _place_of(self, baseline: Baseline | None) -> int:
        places = (
            place for place in range(self.baseline.count()) if self.baseline.itemData(place) is baseline
        )
        return next(places, 0)

    def _draw(self, theme: Theme) -> None:
        self.export.setIcon(theme.icon("download-simple"))


class NsightStrip(QWidget):
    """Order, groups and filters at the left, totals beside them, notes on the data at the right.

    Signals:
        changed: Another order, grouping or filter is wanted.
        note_copied: A note on the data was put on the clipboard.
    """

    changed = Signal()
    note_copied = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._level = "none"
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(STRIP_PX)
        self.sort = _selector("Order of kernels", "In which order kernels are listed")
        for _, order in SORTS:
            self.sort.addItem(order)
        self.group = QPushButton("Group repeats")
        self.group.setCheckable(True)
        self.group.setToolTip("Launches of one name, grid and block as one entry")
        set_kind(self.group, kind="chip")
        self.filters = {
            key: _selector(words, f"Only kernels of one of the {words}") for key, words in FILTERS
        }
        self._totals = ElidedLabel()
        set_kind(self._totals, kind="caption")
        self.notes = QToolButton()
        self.notes.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.notes.setIconSize(QSize(14, 14))
        self.notes.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self.notes)
        self.notes.setMenu(self._menu)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self.sort)
        row.addWidget(self.group)
        for filter_key, words in FILTERS:
            box = self.filters[filter_key]
            box.addItem(f"{words}  all", None)
            box.hide()
            row.addWidget(box)
            box.activated.connect(lambda _: self.changed.emit())
        row.addWidget(self._totals)
        row.addStretch(1)
        row.addWidget(self.notes)
        self.sort.activated.connect(lambda _: self.changed.emit())
        self.group.toggled.connect(lambda _: self.changed.emit())
        theme.changed.connect(self._draw)

    @property
    def sort_key(self) -> SortKey:
        """In which order kernels are listed."""
        return SORTS[max(self.sort.currentIndex(), 0)][0]

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Chosen filters and their texts."""
        return tuple(
            (key, box.currentData()) for key, box in self.filters.items() if box.currentData() is not None
        )

    @property
    def text(self) -> str:
        """The totals as they stand."""
        return self._totals.full_text

    def set_choices(self, kernels: KernelList) -> None:
        """Offers what kernels can be chosen by; one choice alone needs no filter."""
        for key, words in FILTERS:
            box, choices = self.filters[key], kernels.choices(key)
            box.clear()
            box.addItem(f"{words}  all", None)
            for text in choices:
                box.addItem(text, text)
            box.setVisible(len(choices) > 1 or (key == "nvtx" and bool(choices)))

    def show_totals(self, text: str) -> None:
        """Says what is listed."""
        self._totals.set_full_text(text)

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Counts the notes on the data; the menu lists them."""
        self._menu.clear()
        for problem in problems:
            where = f" ({problem.places[0]})" if problem.places else ""
            text = visible_text(problem.message + where)
            short = (
                text if len(text) <= _LONGEST_NOTE else f"{text[: _LONGEST_NOTE - 1]}\N{HORIZONTAL ELLIPSIS}"
            )
            action = self._menu.addAction(control_text(short))
            action.setToolTip(tip_text(f"{text}\nA click copies it."))
            action.triggered.connect(partial(self._copy_note, text))
        self._level = "warn" if problems else "none"
        self.notes.setText(notes_words(len(problems)))
        self.notes.setAccessibleName(notes_words(len(problems)))
        self.notes.setEnabled(bool(problems))
        set_kind(self.notes, kind="notes", level=self._level)
        self._draw(self._theme.theme)

    def _copy_note(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.note_copied.emit()

    def _draw(self, theme: Theme) -> None:
        warn = self._level == "warn"
        self.notes.setIcon(theme.icon("warning", "warn", 14) if warn else theme.icon("check-circle", size=14))


def _selector(name: str, tip: str) -> QComboBox:
    selector = QComboBox()
    set_kind(selector, size="small")
    selector.setAccessibleName(name)
    selector.setToolTip(tip)
    selector.setMaximumWidth(200)
    selector.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    return selector


def _export_button() -> QToolButton:
    button = QToolButton()
    button.setToolTip("Export")
    button.setAccessibleName("Export")
    button.setIconSize(QSize(16, 16))
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    return button
