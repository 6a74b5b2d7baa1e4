"""Home: launch the demo, open something, look for devices; recent work and this machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from core.files import SAMPLE_TRACE, printable
from core.hardware.readings import count_words
from core.runs.host import this_host
from gui.machine_words import checks_of, machine_pairs
from gui.models.recent import (
    KIND,
    NAME,
    OPENED,
    RESULT,
    SIZE,
    RecentModel,
    Show,
)
from gui.pages.page import Page
from gui.plain_text import Paragraph, plain_label
from gui.theme import set_kind
from gui.widgets.action_button import ActionButton
from gui.widgets.check_list import CheckList
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.empty_state import EmptyState
from gui.widgets.key_values import KeyValues
from gui.widgets.row_delegate import dress_table
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.edge.backend import EdgeTarget
    from core.errors import DashboardError
    from core.hardware.probe import Devices
    from gui.context import PageContext
    from gui.theme import Theme

REFRESH_MS = 10_000
ACT_PX = 168
SIDE_PX, NARROW_SIDE_PX = 340, 272
COLUMN_PX = {KIND: 136, RESULT: 236, OPENED: 104, SIZE: 78}
NARROW_COLUMN_PX = {KIND: 134, RESULT: 150, OPENED: 104}
NARROW_BELOW_PX = 1100
"""Below this width of the page sizes are left out and the side is slim, so that no row is cut."""
SHOWS: tuple[Show, ...] = ("all", "runs", "files")


class HomePage(Page):
    """What to do next, what was done last, and what this machine has."""

    NAME = "home"
    TITLE = "Home"
    ICON = "house"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self._model = RecentModel(context.theme, self)
        self._host = this_host()
        self._icons: list[tuple[QLabel, str]] = []
        self._narrow = False
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(24, 20, 24, 16)
        layout.setSpacing(16)
        layout.addLayout(self._build_acts())
        below = QHBoxLayout()
        below.setSpacing(12)
        below.addWidget(self._build_recent(), 1)
        below.addWidget(self._build_side())
        layout.addLayout(below, 1)
        self._fit()
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(context.recent.refresh)
        self._connect()
        self._show_machine()
        self._draw(context.theme.theme)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Looks for new runs while the page is visible."""
        super().showEvent(event)
        self.context.recent.refresh()
        self._timer.start()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Gives the columns what the width allows."""
        super().resizeEvent(event)
        narrow = event.size().width() < NARROW_BELOW_PX
        if narrow != self._narrow:
            self._narrow = narrow
            self._fit()

    def _fit(self) -> None:
        self._side.setFixedWidth(NARROW_SIDE_PX if self._narrow else SIDE_PX)
        self._table.setColumnHidden(SIZE, self._narrow)
        self._detect_note.setVisible(not self._narrow)
        for column, width in (NARROW_COLUMN_PX if self._narrow else COLUMN_PX).items():
            self._table.setColumnWidth(column, width)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Stops looking."""
        super().hideEvent(event)
        self._timer.stop()

    @property
    def recent(self) -> RecentModel:
        """The table's rows, for the palette and tests."""
        return self._model

    def _connect(self) -> None:
        context = self.context
        context.machine.changed.connect(self._show_machine)
        context.edge.looked.connect(self._show_machine)
        context.theme.changed.connect(self._draw)
        context.recent.changed.connect(self._show_recent)
        context.recent.failed.connect(self.show_error)
        context.session.failed.connect(self._show_failure)
        context.session.launching_changed.connect(self._show_launching)

    def _show_failure(self, error: DashboardError) -> None:
        if self.isVisible():
            self.show_error(error)

    def _show_launching(self, launching: bool) -> None:
        if launching:
            self.clear_error()
        self._show_machine()

    # --- the three actions

    def _build_acts(self) -> QGridLayout:
        actions = self.context.actions
        self._launch_text = Paragraph()
        self._launch_button = ActionButton(actions.action("run.launch_demo"), primary=True, icon=False)
        own = ActionButton(actions.action("run.own_script"), "Own script", icon=False)
        self._detect_text = Paragraph()
        self._detect_button = ActionButton(actions.action("app.detect"), icon=False)
        on_edge = ActionButton(actions.action("view.edge"), "Show Edge", icon=False)
        self._detect_note = ElidedLabel()
        set_kind(self._detect_note, kind="caption")
        opening = Paragraph(
            "A trace of torch.profiler, an Nsight Compute report or CSV, a run folder, a training script or "
            "a model (.onnx, .pt2). Or drop it on this window. Memory snapshots are recognised, but not "
            "opened by this version."
        )
        grid = QGridLayout()
        grid.setSpacing(12)
        for column, card in enumerate(
            (
                self._act("play", "Launch the demo", self._launch_text, (self._launch_button, own)),
                self._act(
                    "folder-open",
                    "Open a file",
                    opening,
                    (
                        ActionButton(actions.action("file.open"), "Open file", icon=False),
                        ActionButton(actions.action("file.open_folder"), "Open folder", icon=False),
                        *self._sample_button(),
                    ),
                ),
                self._act(
                    "hard-drives",
                    "Detect devices",
                    self._detect_text,
                    (self._detect_button, on_edge, self._detect_note),
                ),
            )
        ):
            grid.addWidget(card, 0, column)
            grid.setColumnStretch(column, 1)
        return grid

    def _sample_button(self) -> tuple[QWidget, ...]:
        if not SAMPLE_TRACE.is_file():
            return ()
        button = QPushButton("Sample trace")
        set_kind(button, kind="flat")
        button.setToolTip("A trace of the tiny job on the CPU, to look around in")
        button.clicked.connect(lambda: self.context.open_path(SAMPLE_TRACE))
        return (button,)

    def _act(self, icon: str, title: str, text: QLabel, foot: tuple[QWidget, ...]) -> QFrame:
        card = QFrame()
        set_kind(card, kind="card")
        card.setMinimumHeight(ACT_PX)
        head = QHBoxLayout()
        head.setSpacing(8)
        picture = QLabel()
        self._icons.append((picture, icon))
        heading = plain_label(title)
        set_kind(heading, kind="page-heading")
        head.addWidget(picture)
        head.addWidget(heading, 1)
        set_kind(text, kind="secondary")
        text.setAlignment(Qt.AlignmentFlag.AlignTop)
        text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        row = QHBoxLayout()
        row.setSpacing(8)
        for widget in foot:
            row.addWidget(widget)
        row.addStretch(1)
        layout = QVBoxLayout(card)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(text, 1)
        layout.addLayout(row)
        return card

    # --- recent runs and files

    def _build_recent(self) -> QFrame:
        self._segments = Segmented("Recent", ("All", "Runs", "Files"))
        self._segments.chosen.connect(self._choose_show)
        self._table = QTableView()
        self._table.setModel(self._model)
        self._table.setAccessibleName("Recent runs and files")
        dress_table(self._table, self.context.theme)
        header = self._table.horizontalHeader()
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self._table.setSortingEnabled(True)
        header.setSortIndicator(OPENED, Qt.SortOrder.DescendingOrder)
        self._table.activated.connect(lambda index: self._open_row(index.row()))
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self._table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._copy_row)
        actions = self.context.actions
        self._nothing = EmptyState(
            self.context.theme,
            "activity",
            (
                ("Launch the demo", lambda: actions.trigger("run.launch_demo")),
                ("Open folder", lambda: actions.trigger("file.open_folder")),
            ),
        )
        self._nothing.set_text(
            "No runs yet",
            "Launch the demo, or open the folder of a run. What you launch and open is listed here.",
        )
        self._filtered = EmptyState(self.context.theme, "funnel", (("Show all", self._show_all),))
        self._stack = QStackedWidget()
        for widget in (self._table, self._nothing, self._filtered):
            self._stack.addWidget(widget)
        self._stack.setCurrentWidget(self._nothing)
        return _card("Recent", (self._segments,), (), self._stack, margins=(1, 0, 1, 1))

    def _choose_show(self, index: int) -> None:
        self._model.set_show(SHOWS[index])
        self._arrange_recent()

    def _show_all(self) -> None:
        self._segments.set_current(0)
        self._choose_show(0)
        self._table.setFocus()

    def _show_recent(self) -> None:
        chosen = self._table.currentIndex().row()
        paths = self._model.rows[chosen].paths if 0 <= chosen < len(self._model.rows) else None
        if self._model.set_rows(self.context.recent.rows):
            places = [place for place, row in enumerate(self._model.rows) if row.paths == paths]
            self._table.selectRow(places[0] if places else 0)
        self._arrange_recent()
        self._show_machine()

    def _arrange_recent(self) -> None:
        if self._model.total == 0:
            self._stack.setCurrentWidget(self._nothing)
        elif not self._model.rows:
            what = SHOWS[self._segments.current]
            self._filtered.set_text(f"No {what} here yet", f"{self._model.total} other entries are hidden.")
            self._stack.setCurrentWidget(self._filtered)
        else:
            self._stack.setCurrentWidget(self._table)

    def _open_row(self, row: int) -> None:
        if 0 <= row < len(self._model.rows):
            self.context.open_paths(self._model.rows[row].paths)

    def _copy_row(self) -> None:
        row = self._table.currentIndex().row()
        if row >= 0:
            columns = range(self._model.columnCount())
            cells = [str(self._model.data(self._model.index(row, column))) for column in columns]
            QGuiApplication.clipboard().setText("\t".join(cells))

    # --- this machine

    def _build_side(self) -> QWidget:
        self._checked = plain_label()
        set_kind(self._checked, kind="caption")
        self._pairs = KeyValues()
        self._checks = CheckList(self.context.theme)
        side = self._side = QWidget()
        layout = QVBoxLayout(side)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        again = ActionButton(self.context.actions.action("app.check"), "Check again", icon=False)
        set_kind(again, size="small")
        facts = _card("This machine", (), (self._checked, again), self._pairs, margins=(12, 10, 12, 10))
        layout.addWidget(facts)
        layout.addWidget(_card("Checks", (), (), self._checks, margins=(12, 8, 12, 8)), 1)
        return side

    def _show_machine(self) -> None:
        machine, session = self.context.machine, self.context.session
        choice = machine.choice
        ranks = f"{choice.spec.ranks} {'rank' if choice.spec.ranks == 1 else 'ranks'}"
        what = f"MiniLLM under FSDP2 on {ranks}, 200 steps."
        state = "Looking for GPUs." if machine.detecting else choice.why
        if session.launching:
            state = "Checking the interpreter, then starting the ranks."
        self._launch_text.set_plain(f"{what} {state}")
        known = "Launch" if machine.why_not_choose() else f"Launch on {machine.where}"
        self._launch_button.set_text("Launching" if session.launching else known)
        edge = self.context.edge
        found = "" if edge.targets is None else f" Edge runs on {_named(edge.targets.targets)}."
        self._detect_text.set_plain(
            "Find the NVIDIA GPUs, Vulkan and Metal devices of this machine, each asked in a child process "
            f"with a time limit.{found}"
        )
        busy = machine.detecting or edge.looking
        self._detect_button.set_text("Detecting" if busy else "Detect devices")
        self._detect_note.set_full_text(_last_detection(machine.devices_checked_s, machine.devices))
        times = [at for at in (machine.devices_checked_s, machine.facts and machine.facts.checked_s) if at]
        self._checked.setText(f"checked {_clock(max(times))}" if times else "")
        self._pairs.set_pairs(machine_pairs(machine, self._host))
        self._checks.set_findings(checks_of(machine, self.context.recent.unreadable))

    def _draw(self, theme: Theme) -> None:
        for label, icon in self._icons:
            label.setPixmap(theme.pixmap(icon, "text", 18, self.devicePixelRatioF()))


def _card(
    title: str,
    beside: tuple[QWidget, ...],
    right: tuple[QWidget, ...],
    content: QWidget,
    margins: tuple[int, int, int, int],
) -> QFrame:
    """A card with a head of 34 px."""
    card = QFrame()
    set_kind(card, kind="card")
    head = QFrame()
    set_kind(head, kind="card-head")
    head.setFixedHeight(34)
    row = QHBoxLayout(head)
    row.setContentsMargins(12, 0, 12, 0)
    row.setSpacing(12)
    heading = plain_label(title)
    set_kind(heading, kind="section")
    row.addWidget(heading)
    for widget in beside:
        row.addWidget(widget)
    row.addStretch(1)
    for widget in right:
        row.addWidget(widget)
    layout = QVBoxLayout(card)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(head)
    holder = QVBoxLayout()
    holder.setContentsMargins(*margins)
    holder.addWidget(content)
    layout.addLayout(holder, 1)
    return card


def _named(targets: Sequence[EdgeTarget]) -> str:
    """Names of devices: "llvmpipe (Vulkan, software), CPU, 2 threads"."""
    names = (
        printable(each.name)
        + ("" if each.api == "CPU" else f" ({each.api}{', software' if each.software else ''})")
        for each in targets
    )
    return "; ".join(names)


def _last_detection(checked_s: float | None, devices: Devices | None) -> str:
    if checked_s is None or devices is None:
        return ""
    return f"last: {count_words(devices.gpus) or 'no NVIDIA GPU'}, {_clock(checked_s)}"


def _clock(moment_s: float) -> str:
    """Time of a check: "12:38" today, "29 Nov 12:38" otherwise."""
    moment, now = time.localtime(moment_s), time.localtime()
    today = (moment.tm_year, moment.tm_yday) == (now.tm_year, now.tm_yday)
    return time.strftime("%H:%M" if today else "%d %b %H:%M", moment).lstrip("0" if not today else "")
