"""Sections of a report as it lays them out: a head that folds, header values, bodies to choose from."""

from __future__ import annotations

import re
from time import perf_counter
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.plain_text import Paragraph, control_text, tip_text, visible_text
from gui.theme import set_kind
from gui.widgets.nsight_grid import GridCell, GridColumn, GridTable, WideArea
from gui.widgets.nsight_parts import PAD_PX, grid_cell, part_widget, stacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPaintEvent

    from core.analyses.report_view.parts import BodyView, SectionView
    from gui.theme import Theme, ThemeController
    from gui.widgets.nsight_parts import PartTools

TURN_S: Final = 0.008
"""Time that a turn of the event loop gives to building widgets."""

_COMMAND: Final = re.compile(r"`([^`]{1,400})`")


class SectionCard(QWidget):
    """One section.

    Signals:
        folded: (identifier, whether it is open now).
    """

    folded = Signal(str, bool)

    def __init__(self, section: SectionView, tools: PartTools, *, is_open: bool, waits: bool = False) -> None:
        """Builds the head.

        Args:
            section: What is shown.
            tools: For its parts.
            is_open: Whether its content is shown.
            waits: Whether the content is left to ``build``; a click on the head builds it in any case.
        """
        super().__init__()
        self.section = section
        self._waits = waits
        self._tools = tools
        self._body: QWidget | None = None
        self._content: QWidget | None = None
        self.head = QToolButton()
        self.head.setText(control_text(visible_text(section.title)))
        self.head.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.head.setCheckable(True)
        set_kind(self.head, kind="fold")
        self.head.setIconSize(QSize(12, 12))
        self.head.setToolTip(tip_text(visible_text(section.description)))
        self.head.toggled.connect(self._toggle)
        self.choice = QComboBox()
        set_kind(self.choice, size="small")
        self.choice.setAccessibleName(f"What {section.title} shows")
        for body in section.bodies:
            self.choice.addItem(visible_text(body.label) or "Table")
        default = next((place for place, body in enumerate(section.bodies) if body.is_default), 0)
        self.choice.setCurrentIndex(default)
        self.choice.currentIndexChanged.connect(self._show_body)
        top = QHBoxLayout()
        top.setContentsMargins(4, 2, 8, 2)
        top.addWidget(self.head)
        top.addStretch(1)
        top.addWidget(self.choice)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 1)
        self._layout.setSpacing(0)
        self._layout.addLayout(top)
        tools.theme.changed.connect(self._draw)
        self.head.setChecked(is_open)
        self._waits = False
        self.choice.hide()
        self._draw(tools.theme.theme)
        if not waits:
            self._toggle(is_open)

    def build(self) -> None:
        """Builds the content, if it is shown and not there yet."""
        if self.is_open and self._content is None:
            self._toggle(True)

    @property
    def is_open(self) -> bool:
        """Whether its content is shown."""
        return self.head.isChecked()

    def _toggle(self, is_open: bool) -> None:
        if self._waits:
            return
        if is_open and self._content is None:
            self._content = self._build()
            self._layout.addWidget(self._content)
        if self._content is not None:
            self._content.setVisible(is_open)
        self.choice.setVisible(is_open and len(self.section.bodies) > 1)
        self._draw(self._tools.theme.theme)
        self.folded.emit(self.section.identifier, is_open)

    def _build(self) -> QWidget:
        section = self.section
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(0)
        if section.header:
            layout.addWidget(WideArea(self._header()))
        if section.missing:
            layout.addWidget(MissingNote(section.missing))
        self._body = QWidget()
        body = QVBoxLayout(self._body)
        body.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._body)
        self._show_body(self.choice.currentIndex())
        return content

    def _header(self) -> GridTable:
        """What it says while folded: labels and values, as many a row as the report lays out."""
        width = max(len(row) for row in self.section.header)
        columns = [GridColumn(title="", is_label=place % 2 == 0) for place in range(2 * width)]
        rows: list[list[GridCell | None]] = []
        for row in self.section.header:
            cells: list[GridCell | None] = []
            for each in row:
                cells += [
                    GridCell(text=visible_text(each.label)),
                    grid_cell(each.cell, self._tools.differences),
                ]
            rows.append([*cells, *[None] * (2 * width - len(cells))])
        return GridTable(self._tools.theme, visible_text(self.section.title), columns, rows)

    def _show_body(self, place: int) -> None:
        if self._body is None or not 0 <= place < len(self.section.bodies):
            return
        layout = self._body.layout()
        assert layout is not None
        while item := layout.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        layout.addWidget(self._parts(self.section.bodies[place]))

    def _parts(self, body: BodyView) -> QWidget:
        return stacked([part_widget(part, self._tools) for part in body.parts])

    def _draw(self, theme: Theme) -> None:
        self.head.setIcon(theme.icon("caret-down" if self.is_open else "caret-right", size=12))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the line below it."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._tools.theme.theme.color("border"))
        painter.end()


def command_in(words: str) -> str:
    """The command that words name between backticks, "" for none."""
    found = _COMMAND.search(words)
    return "" if found is None else found[1]


class MissingNote(QWidget):
    """Why nothing is shown, and the command that collects it, to be copied."""

    def __init__(self, words: str) -> None:
        super().__init__()
        text = Paragraph(visible_text(words.replace("`", "")))
        set_kind(text, kind="secondary")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(PAD_PX, 4, PAD_PX, 6)
        layout.setSpacing(8)
        layout.addWidget(text, 1)
        self.command = command_in(words)
        if self.command:
            button = QPushButton("Copy command")
            set_kind(button, size="small")
            button.setToolTip(tip_text(self.command))
            button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.command))
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)


class ScrolledColumn(QScrollArea):
    """Widgets one below the other that scroll; ``fill`` keeps the place."""

    def __init__(self, name: str) -> None:
        """Args: ``name`` is for screen readers."""
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self._column = QWidget()
        set_kind(self._column, kind="transparent")
        self._layout = QVBoxLayout(self._column)
        self._layout.setContentsMargins(0, 0, 0, 12)
        self._layout.setSpacing(0)
        self._shown: list[QWidget] = []
        self._steps: Iterator[QWidget | None] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._go_on)
        self._wanted: int | None = None
        self._last = 0
        self.setWidget(self._column)

    @property
    def shown(self) -> tuple[QWidget, ...]:
        """What stands in the column."""
        return tuple(self._shown)

    @property
    def is_whole(self) -> bool:
        """Whether everything that was asked for stands there."""
        return self._steps is None

    def fill(self, steps: Iterator[QWidget | None]) -> None:
        """Shows other widgets, those that were there go.

        Args:
            steps: Makes the widgets, from top to bottom; None after a piece of work that adds none. It is
                gone on with between two turns of the event loop, so that many do not hold the window up.
        """
        bar = self.verticalScrollBar()
        # While widgets were still to come, a smaller place was all there was.
        unfinished = self._steps is not None and bar.value() == self._last
        self._wanted = self._wanted if unfinished else bar.value()
        while item := self._layout.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._shown = []
        self._steps = steps
        self._go_on()

    def finish(self) -> None:
        """Makes all that is still to come, now."""
        while self._steps is not None:
            self._go_on()

    def _go_on(self) -> None:
        end = perf_counter() + TURN_S
        for widget in self._steps or ():
            if widget is not None:
                self._shown.append(widget)
                self._layout.addWidget(widget)
            if perf_counter() > end:
                self._timer.start()
                break
        else:
            self._layout.addStretch(1)
            self._steps = None
        self._layout.activate()
        self._keep_place()

    def _keep_place(self) -> None:
        """Comes back to where it was scrolled to, unless the user has gone elsewhere meanwhile."""
        bar = self.verticalScrollBar()
        if self._wanted is not None and bar.value() in (bar.maximum(), self._last):
            bar.setValue(self._wanted)
        self._last = bar.value()

    def show_widget(self, widget: QWidget) -> None:
        """Brings a widget's top into sight."""
        self._layout.activate()
        self._wanted = None
        at = widget.mapTo(self._column, widget.rect().topLeft()).y()
        self.verticalScrollBar().setValue(at)


class Heading(QWidget):
    """A heading of a part of a tab, and a line above it."""

    def __init__(self, theme: ThemeController, text: str, *, line: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._line = line
        label = Paragraph(text)
        set_kind(label, kind="heading")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(PAD_PX, 10, PAD_PX, 4)
        layout.addWidget(label)
        # A method, not a lambda: the connection must end with the heading.
        theme.changed.connect(self._draw)

    def _draw(self, _theme: Theme) -> None:
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the line."""
        if self._line:
            painter = QPainter(self)
            painter.fillRect(0, 0, self.width(), 1, self._theme.theme.color("border"))
            painter.end()
