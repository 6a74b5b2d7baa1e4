"""Parts of a form: a labelled line with its problem below it, a path field, a table of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.plain_text import plain_label
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gui.theme import Theme, ThemeController

LABEL_PX = 116


class FormCard(QFrame):
    """A titled card with labelled lines."""

    def __init__(self, title: str) -> None:
        super().__init__()
        set_kind(self, kind="card")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(12, 9, 12, 11)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(7)
        self._grid.setColumnMinimumWidth(0, LABEL_PX)
        self._grid.setColumnStretch(1, 1)
        heading = plain_label(title)
        set_kind(heading, kind="section")
        self._grid.addWidget(heading, 0, 0, 1, 2)
        self._rows: dict[str, tuple[QLabel, QWidget, QLabel]] = {}

    def add_row(self, name: str, label: str, field: QWidget, *, focus: QWidget | None = None) -> None:
        """Adds a labelled line.

        Args:
            name: To show and hide it and to put a problem below it.
            label: Its words.
            field: The control, or several in one widget.
            focus: Which of them the label belongs to.
        """
        words = plain_label(label)
        set_kind(words, kind="secondary")
        words.setBuddy(focus or field)
        problem = plain_label(wrap=True)
        set_kind(problem, kind="caption", level="error")
        problem.hide()
        line = self._grid.rowCount()
        self._grid.addWidget(words, line, 0, Qt.AlignmentFlag.AlignTop)
        words.setMinimumHeight(28)
        self._grid.addWidget(field, line, 1)
        self._grid.addWidget(problem, line + 1, 1)
        self._rows[name] = (words, field, problem)

    def set_row_shown(self, name: str, shown: bool) -> None:
        """Shows or hides a line."""
        words, field, problem = self._rows[name]
        words.setVisible(shown)
        field.setVisible(shown)
        problem.setVisible(shown and bool(problem.text()))

    def set_row_label(self, name: str, label: str) -> None:
        """Other words for a line."""
        self._rows[name][0].setText(label)

    def set_problem(self, name: str, text: str) -> bool:
        """Says below a line what is wrong with it; "" is nothing. False if there is no such line to see."""
        row = self._rows.get(name)
        if row is None or (text and row[1].isHidden()):
            return False
        row[2].setText(text)
        row[2].setVisible(bool(text))
        return True

    def problem_line(self, name: str) -> QWidget:
        """What stands below a line."""
        return self._rows[name][2]

    def focus_row(self, name: str) -> None:
        """Puts the cursor into a line."""
        buddy = self._rows[name][0].buddy()
        if buddy is not None:
            buddy.setFocus()

    def problem_of(self, name: str) -> str:
        """What is said to be wrong with a line, "" if nothing or if there is no such line."""
        return self._rows[name][2].text() if name in self._rows else ""

    def row_names(self) -> tuple[str, ...]:
        """Names of all lines."""
        return tuple(self._rows)


class PathField(QWidget):
    """A field for a path with a button that asks for it, and paths used before.

    Signals:
        changed: The text is another one.
    """

    changed = Signal(str)

    def __init__(self, name: str, browse: Callable[[], str], *, with_recent: bool = False) -> None:
        super().__init__()
        self._browse = browse
        self.combo = QComboBox() if with_recent else None
        self.edit = QLineEdit()
        if self.combo is not None:
            self.combo.setEditable(True)
            self.combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            self.combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self.combo.setMinimumContentsLength(12)
            self.combo.setAccessibleName(name)
            edit = self.combo.lineEdit()
            if edit is not None:
                self.edit = edit
            self.combo.currentTextChanged.connect(self.changed)
        else:
            self.edit.textChanged.connect(self.changed)
        self.edit.setAccessibleName(name)
        button = QPushButton("Browse")
        button.setAccessibleName(f"Browse for {name.lower()}")
        button.clicked.connect(self._ask)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.combo if self.combo is not None else self.edit, 1)
        row.addWidget(button)

    @property
    def text(self) -> str:
        """The path as typed."""
        return self.edit.text()

    def set_text(self, text: str) -> None:
        """Puts a path there."""
        if self.combo is not None:
            self.combo.setEditText(text)
        elif text != self.edit.text():
            self.edit.setText(text)

    def set_recent(self, paths: Sequence[str]) -> None:
        """Offers these paths; what is typed stays."""
        if self.combo is None:
            return
        text = self.edit.text()
        blocked = self.combo.blockSignals(True)
        self.combo.clear()
        self.combo.addItems(list(dict.fromkeys(path for path in paths if path)))
        self.combo.setEditText(text)
        self.combo.blockSignals(blocked)

    def _ask(self) -> None:
        chosen = self._browse()
        if chosen:
            self.set_text(chosen)


class VariableTable(QWidget):
    """Names and values of environment variables, a line each.

    Signals:
        changed: Some name or value is another one.
    """

    changed = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._lines: list[tuple[QWidget, QLineEdit, QLineEdit, QToolButton]] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(4)
        self.add = QPushButton("Add variable")
        self.add.clicked.connect(lambda: self._add_line("", "").setFocus())
        self._layout.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        theme.changed.connect(self._draw)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All lines."""
        return tuple((name.text(), value.text()) for _, name, value, _ in self._lines)

    def set_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Replaces all lines."""
        for line in list(self._lines):
            self._remove(line[0])
        for name, value in pairs:
            self._add_line(name, value)

    def _add_line(self, name: str, value: str) -> QLineEdit:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        name_field, value_field, remove = QLineEdit(name), QLineEdit(value), QToolButton()
        name_field.setPlaceholderText("NAME")
        name_field.setAccessibleName("Name of the variable")
        value_field.setPlaceholderText("value")
        value_field.setAccessibleName("Value of the variable")
        remove.setAccessibleName("Remove the variable")
        remove.setToolTip("Remove the variable")
        remove.setFixedSize(28, 28)
        remove.setIconSize(QSize(16, 16))
        remove.clicked.connect(lambda: self._remove(line))
        row.addWidget(name_field, 1)
        row.addWidget(value_field, 2)
        row.addWidget(remove)
        for field in (name_field, value_field):
            field.textChanged.connect(lambda _: self.changed.emit())
        self._lines.append((line, name_field, value_field, remove))
        self._layout.insertWidget(self._layout.count() - 1, line)
        self._draw(self._theme.theme)
        self.changed.emit()
        return name_field

    def _remove(self, widget: QWidget) -> None:
        self._lines = [line for line in self._lines if line[0] is not widget]
        self._layout.removeWidget(widget)
        widget.hide()
        widget.deleteLater()
        self.changed.emit()

    def _draw(self, theme: Theme) -> None:
        for _, _, _, remove in self._lines:
            remove.setIcon(theme.icon("x"))


def number_field(name: str, low: int, high: int) -> QSpinBox:
    """A field for a whole number; ``name`` is for those who cannot see its label."""
    box = QSpinBox()
    box.setRange(low, high)
    box.setAccessibleName(name)
    # The same figures under every locale.
    box.setLocale(QLocale.c())
    box.setFixedWidth(96)
    box.lineEdit().setTextMargins(6, 0, 0, 0)
    return box


def in_a_row(*widgets: QWidget) -> QWidget:
    """Several controls in one line, from the left."""
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(12)
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return box


def quiet_words(text: str) -> QLabel:
    """Words between two controls."""
    label = plain_label(text)
    set_kind(label, kind="secondary")
    return label
