"""A live chart in its card: title, unit, switches, and what can be done with the values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
)

from gui.plain_text import plain_label, tip_text
from gui.plots.charts import ChartSpec, Option, caption_of, chart_data, empty_words, options_of
from gui.plots.export import in_view, to_csv
from gui.plots.live_chart import LiveChart
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from PySide6.QtGui import QContextMenuEvent, QResizeEvent

    from core.runs.snapshot import RunSnapshot
    from gui.theme import Theme, ThemeController

LEAST_HEIGHT_PX = 190
LEAST_WIDTH_PX = 300
HEAD_GAP_PX = 6
HEAD_MARGINS_PX = 16
LEAST_CAPTION_PX = 24
FORMATS = ("csv", "json", "png", "svg")


class ChartCard(QFrame):
    """One chart of the page.

    Signals:
        rank_clicked: Rank of a curve that was clicked.
        export_asked: One of ``FORMATS``.
        close_asked: The card should go.
    """

    rank_clicked = Signal(int)
    export_asked = Signal(str)
    close_asked = Signal()

    def __init__(self, theme: ThemeController, spec: ChartSpec) -> None:
        super().__init__()
        self.spec = spec
        self._options: tuple[Option, ...] = ()
        self._option = spec.options[0]
        self._snapshot: RunSnapshot | None = None
        set_kind(self, kind="card")
        self.setMinimumSize(LEAST_WIDTH_PX, LEAST_HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.chart = LiveChart(theme.theme)
        self.chart.setAccessibleName(spec.title)
        self.chart.overlay.setAccessibleName(spec.title)
        self.chart.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._title = plain_label(spec.title)
        set_kind(self._title, kind="section")
        self._caption = ElidedLabel()
        set_kind(self._caption, kind="caption")
        self.choice = Segmented(spec.title, [option.label for option in spec.options])
        self.choice_list = QComboBox()
        self.choice_list.setAccessibleName(spec.title)
        set_kind(self.choice_list, size="small")
        self.scale = QPushButton("Log")
        self.scale.setCheckable(True)
        self.scale.setAccessibleName(f"{spec.title}, logarithmic scale")
        self.scale.setToolTip("Logarithmic scale")
        set_kind(self.scale, kind="chip")
        self.smoothing = Segmented(f"{spec.title}, smoothing", ("Raw", "Smooth"))
        self.spread = Segmented(f"{spec.title}, all ranks", ("Band", "Heat map"))
        self._whole = _tool("Show the whole run and follow it")
        self._more = _tool(f"More for {spec.title}")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 6, 2)
        layout.setSpacing(2)
        layout.addLayout(self._head())
        layout.addWidget(self.chart, 1)
        self._connect(theme)
        self._draw(theme.theme)

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setSpacing(HEAD_GAP_PX)
        head.addWidget(self._title)
        head.addWidget(self._caption)
        head.addStretch(1)
        switches = (self._whole, self.choice, self.choice_list, self.scale, self.smoothing, self.spread)
        for widget in switches:
            head.addWidget(widget)
            widget.hide()
        head.addWidget(self._more)
        return head

    def _connect(self, theme: ThemeController) -> None:
        theme.changed.connect(self._draw)
        self.choice.chosen.connect(self._option_chosen)
        self.choice_list.activated.connect(self._option_chosen)
        self.scale.toggled.connect(lambda on: self._restyle(log=on))
        self.smoothing.chosen.connect(lambda index: self._restyle(smooth=index == 1))
        self.spread.chosen.connect(lambda index: self.chart.set_mode("heat" if index else "band"))
        self._whole.clicked.connect(self.chart.reset_view)
        self._more.clicked.connect(lambda: self._show_menu(self._more.mapToGlobal(QPoint(0, 24))))
        self.chart.rank_clicked.connect(self.rank_clicked)
        self.chart.view_changed.connect(self._view_changed)
        self.chart.copy_asked.connect(self.copy_values)

    @property
    def option(self) -> Option:
        """The series that is shown."""
        return self._option

    def set_many(self, many: bool) -> None:
        """More ranks than lines: band or heat map, and no smoothing of lines."""
        self.spread.setVisible(many)
        self.smoothing.setVisible(self.spec.has_smooth and not many)
        self.scale.setVisible(self.spec.has_log)

    def start_again(self) -> None:
        """Another run follows."""
        self._snapshot = None
        self.chart.start_again()

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Shows the newest curves."""
        self._snapshot = snapshot
        options = options_of(self.spec, snapshot)
        if options != self._options:
            self._offer(options)
        self._fit_head()
        self._caption.set_full_text(caption_of(self.spec, self._option, snapshot))
        self.chart.set_empty_words(empty_words(self.spec, snapshot))
        self.chart.show_data(chart_data(self.spec, self._option, snapshot))

    def _fit_head(self) -> None:
        """Where the segments have no room, a list takes their place."""
        several = len(self._options) > 1
        others = (self._title, self.scale, self.smoothing, self.spread, self._whole, self._more)
        taken = sum(
            min(widget.sizeHint().width(), widget.maximumWidth()) + HEAD_GAP_PX
            for widget in others
            if not widget.isHidden()
        )
        room = self.contentsRect().width() - HEAD_MARGINS_PX - taken - LEAST_CAPTION_PX
        as_list = self.choice.sizeHint().width() > room
        self.choice.setVisible(several and not as_list)
        self.choice_list.setVisible(several and as_list)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Chooses anew between segments and list."""
        super().resizeEvent(event)
        self._fit_head()

    def _offer(self, options: tuple[Option, ...]) -> None:
        self._options = options
        if options and self._option not in options:
            self._option = options[0]
        if options:
            labels = [option.label for option in options]
            self.choice.set_texts(labels, options.index(self._option))
            self.choice_list.clear()
            self.choice_list.addItems(labels)
            self.choice_list.setCurrentIndex(options.index(self._option))
            self.choice.setToolTip(tip_text("\n".join(f"{item.label}: {item.tip}" for item in options)))

    def _option_chosen(self, index: int) -> None:
        if 0 <= index < len(self._options):
            self._option = self._options[index]
            if self._snapshot is not None:
                self.show_snapshot(self._snapshot)

    def _restyle(self, *, log: bool | None = None, smooth: bool | None = None) -> None:
        now = self.chart.style_now
        self.chart.set_style(
            replace(now, log=now.log if log is None else log, smooth=now.smooth if smooth is None else smooth)
        )

    def _view_changed(self) -> None:
        self._whole.setVisible(self.chart.view.changed)

    def copy_values(self) -> None:
        """Copies the visible points, with tabs, for a spreadsheet."""
        data = self.chart.data
        if data is not None:
            QGuiApplication.clipboard().setText(to_csv(in_view(data, *self.chart.view.x_range()), "\t"))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802
        """What can be done with the chart."""
        self._show_menu(event.globalPos())

    def _show_menu(self, position: QPoint) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(position)

    def menu(self) -> QMenu:
        """Copy, export, view."""
        menu = QMenu(self)
        menu.addAction("Copy visible values", self.copy_values)
        for name in FORMATS:
            what = "values" if name in ("csv", "json") else "picture"
            action = menu.addAction(f"Save {what} as {name.upper()}")
            action.setData(name)
            action.triggered.connect(self._export_chosen)
        menu.addSeparator()
        whole = menu.addAction("Show the whole run", self.chart.reset_view)
        whole.setEnabled(self.chart.view.changed)
        undo = menu.addAction("Undo the last zoom", self.chart.undo_view)
        undo.setEnabled(self.chart.view.can_undo)
        if self.chart.mode == "heat":
            by_deviation = menu.addAction("Largest deviation first")
            by_deviation.setCheckable(True)
            by_deviation.setChecked(self.chart.style_now.by_deviation)
            by_deviation.toggled.connect(
                lambda on: self.chart.set_style(replace(self.chart.style_now, by_deviation=on))
            )
        menu.addSeparator()
        menu.addAction("Remove this chart", self.close_asked.emit)
        return menu

    def _export_chosen(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.export_asked.emit(str(action.data()))

    def _draw(self, theme: Theme) -> None:
        self.chart.set_theme(theme)
        self._whole.setIcon(theme.icon("arrows-clockwise"))
        self._more.setIcon(theme.icon("dots-three"))


def _tool(name: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(name)
    button.setFixedSize(24, 24)
    button.setIconSize(QSize(16, 16))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
