"""The line at the bottom: the job, its ranks, devices; background work with cancel; problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QStatusBar, QToolButton, QWidget

from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel

if TYPE_CHECKING:
    from gui.tasks import Task, Tasks
    from gui.theme import Theme, ThemeController

SHOWN_AFTER_MS = 300
WORDS_STAY_MS = 6000
DOT_PX = 7
LEVEL_ICONS = {"none": "check-circle", "info": "info", "warn": "warning", "error": "warning-octagon"}


class Dot(QWidget):
    """A small filled circle in a status colour; a word always stands beside it."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._level = "none"
        self.setFixedSize(DOT_PX, DOT_PX)

    def set_level(self, level: str) -> None:
        """Takes the colour of a level."""
        self._level = level
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draws the circle."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.theme.color("text2" if self._level == "none" else self._level))
        painter.drawEllipse(self.rect())


class TaskStrip(QWidget):
    """The oldest background task: what, how far, and a button that cancels it."""

    def __init__(self, theme: ThemeController, tasks: Tasks) -> None:
        super().__init__()
        self._tasks = tasks
        self._task: Task | None = None
        self._text = ElidedLabel()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(80)
        self._cancel = QToolButton()
        self._cancel.setFixedSize(18, 18)
        self._cancel.setIconSize(QSize(14, 14))
        self._cancel.setToolTip("Cancel")
        self._cancel.clicked.connect(self._cancel_task)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 0, 10, 0)
        layout.setSpacing(6)
        for widget in (self._text, self._bar, self._cancel):
            layout.addWidget(widget)
        # Work that is done at once is not worth a flicker.
        self._delay = QTimer(self)
        self._delay.setSingleShot(True)
        self._delay.setInterval(SHOWN_AFTER_MS)
        self._delay.timeout.connect(self._show)
        tasks.changed.connect(self._sync)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)
        self.hide()

    @property
    def text(self) -> str:
        """What it says."""
        return self._text.full_text

    def _sync(self) -> None:
        shown = self._tasks.shown
        self._task = shown[0] if shown else None
        if self._task is None:
            self._delay.stop()
            self.hide()
        elif self.isVisible():
            self._show()
        elif not self._delay.isActive():
            self._delay.start()

    def _show(self) -> None:
        task = self._task
        if task is None:
            return
        others = len(self._tasks.shown) - 1
        more = f" and {others} more" if others else ""
        text = f"{task.title}, {task.text}" if task.text else task.title
        self._text.set_full_text(f"{text}{more}")
        fraction = task.fraction
        self._bar.setVisible(fraction is not None)
        if fraction is not None:
            self._bar.setValue(round(100 * fraction))
        self._cancel.setEnabled(task.state == "running")
        self._cancel.setAccessibleName(f"Cancel: {task.title}")
        self.show()

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _draw(self, theme: Theme) -> None:
        self._cancel.setIcon(theme.icon("x", size=14))


class StatusBar(QStatusBar):
    """Holds no state: the window tells it what to show.

    Signals:
        problems_pressed: The count of problems was pressed.
        selection_cleared: What is selected should not be any more.
    """

    problems_pressed = Signal()
    selection_cleared = Signal()

    def __init__(self, theme: ThemeController, tasks: Tasks) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self._theme = theme
        self._level = "none"
        self._shown_job: tuple[str, str, bool] | None = None
        self._shown_problems: tuple[int, str] | None = None
        self._dot = Dot(theme)
        self._job_icon = QLabel()
        self._job = ElidedLabel()
        self._ranks = plain_label()
        self._devices = ElidedLabel()
        self._problems = QToolButton()
        self._problems.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._problems.setIconSize(QSize(14, 14))
        self._problems.setFixedHeight(20)
        self._problems.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._problems.clicked.connect(self.problems_pressed)
        self._ranks_part = _after_divider(self._ranks)
        line = QWidget()
        layout = QHBoxLayout(line)
        layout.setContentsMargins(18, 0, 8, 0)
        layout.setSpacing(0)
        self._dot_gap = QWidget()
        self._dot_gap.setFixedWidth(6)
        for widget in (self._dot, self._job_icon, self._dot_gap, self._job):
            layout.addWidget(widget)
        layout.addWidget(self._ranks_part)
        layout.addWidget(_after_divider(self._devices))
        layout.addWidget(self._build_selection())
        self._words = plain_label()
        self._words_part = _after_divider(self._words)
        self._words_part.hide()
        self._words_timer = QTimer(self)
        self._words_timer.setSingleShot(True)
        self._words_timer.setInterval(WORDS_STAY_MS)
        self._words_timer.timeout.connect(self._words_part.hide)
        layout.addWidget(self._words_part)
        layout.addStretch(1)
        layout.addWidget(TaskStrip(theme, tasks))
        layout.addWidget(self._problems)
        self.addWidget(line, 1)
        self.set_job("No job", "none", running=False)
        self.set_ranks("")
        self.set_problems(0, "none")
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    def _build_selection(self) -> QWidget:
        self._selection = plain_label()
        self._clear = QToolButton()
        self._clear.setFixedSize(18, 18)
        self._clear.setIconSize(QSize(14, 14))
        self._clear.setToolTip("Clear the selection (Esc)")
        self._clear.setAccessibleName("Clear the selection")
        self._clear.clicked.connect(self.selection_cleared)
        both = QWidget()
        row = QHBoxLayout(both)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._selection)
        row.addWidget(self._clear)
        self._selection_part = _after_divider(both)
        self.set_selection("")
        return self._selection_part

    def set_selection(self, text: str) -> None:
        """Says what part is selected; "" hides it."""
        self._selection.setText(text)
        self._selection_part.setVisible(bool(text))

    @property
    def selection(self) -> str:
        """What is said of the selection."""
        return self._selection.text()

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Job, ranks, devices and problems as they stand."""
        return self._job.full_text, self._ranks.text(), self._devices.full_text, self._problems.text()

    def show_words(self, text: str) -> None:
        """Says for a few seconds what was done."""
        self._words.setText(text)
        self._words_part.show()
        self._words_timer.start()

    @property
    def words(self) -> str:
        """What is said of what was done; "" when that was some time ago."""
        return "" if self._words_part.isHidden() else self._words.text()

    def set_job(self, text: str, level: str, *, running: bool) -> None:
        """Says what the job does; a dot for one that lives, an icon otherwise."""
        if (text, level, running) == self._shown_job:
            return
        self._shown_job = (text, level, running)
        self._job.set_full_text(text)
        set_kind(self._job, level=level)
        self._dot.setVisible(running)
        self._dot.set_level(level)
        self._job_icon.setVisible(not running)
        icon = {"none": "info", "ok": "check-circle"}.get(level, LEVEL_ICONS.get(level, "info"))
        token = "text2" if level == "none" else level
        ratio = self.devicePixelRatioF()
        self._job_icon.setPixmap(self._theme.theme.pixmap(icon, token, 14, ratio))

    def set_ranks(self, text: str) -> None:
        """Says how many ranks live; "" hides it."""
        self._ranks.setText(text)
        self._ranks_part.setVisible(bool(text))

    def set_devices(self, text: str) -> None:
        """Says which devices were found."""
        self._devices.set_full_text(text)

    def set_problems(self, count: int, level: str) -> None:
        """Says how many problems there are."""
        if (count, level) == self._shown_problems:
            return
        self._shown_problems = (count, level)
        self._level = level if count else "none"
        text = "No problems" if count == 0 else "1 problem" if count == 1 else f"{count:,} problems"
        self._problems.setText(text)
        self._problems.setAccessibleName(text)
        set_kind(self._problems, kind="status", level=self._level)
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        token = "text2" if self._level == "none" else self._level
        self._clear.setIcon(theme.icon("x", size=14))
        self._problems.setIcon(theme.icon(LEVEL_ICONS[self._level], token, 14))


def _after_divider(widget: QWidget) -> QWidget:
    """A part of the line that hides together with the divider before it."""
    divider = QFrame()
    set_kind(divider, kind="divider")
    part = QWidget()
    layout = QHBoxLayout(part)
    layout.setContentsMargins(10, 0, 0, 0)
    layout.setSpacing(10)
    layout.addWidget(divider)
    layout.addWidget(widget)
    return part
