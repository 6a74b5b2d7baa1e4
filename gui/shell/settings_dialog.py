"""The settings: theme and the Python that launches use. Each takes effect at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.files import printable
from gui.plain_text import plain_label
from gui.settings import THEME_CHOICES
from gui.shell.dialogs import ask_for_paths
from gui.theme import set_kind
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.context import PageContext


class SettingsDialog(QDialog):
    """A small form; there is nothing to apply."""

    def __init__(
        self,
        parent: QWidget,
        context: PageContext,
        reset_layout: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        theme, settings, machine = context.theme, context.settings, context.machine
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Settings")
        self.resize(560, 260)
        self._theme, self._settings, self._machine = theme, settings, machine
        self._themes = Segmented("Theme", ("System", "Dark", "Light"), THEME_CHOICES.index(theme.choice))
        self._themes.chosen.connect(self._choose_theme)
        self._interpreter = QLineEdit(machine.interpreter)
        self._interpreter.setAccessibleName("Python for launches")
        self._interpreter.editingFinished.connect(self._choose_interpreter)
        self._found = plain_label(wrap=True)
        set_kind(self._found, kind="caption")
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(8)
        form.addRow(_row_label("Theme"), self._themes)
        form.addRow(_row_label("Python for launches"), self._python_row())
        form.addRow("", self._found)
        folders = f"Runs: {context.store.root}\nSettings: {settings.path}"
        places = plain_label("\n".join(map(printable, folders.splitlines())))
        set_kind(places, kind="caption")
        places.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(12)
        layout.addLayout(form)
        layout.addWidget(places)
        layout.addStretch(1)
        layout.addLayout(self._buttons(reset_layout))
        machine.changed.connect(self._show_machine)
        self._show_machine()

    def _python_row(self) -> QHBoxLayout:
        browse = QPushButton("Choose")
        browse.setAccessibleName("Choose the Python for launches")
        browse.clicked.connect(self._browse)
        default = QPushButton("Own Python")
        default.setToolTip("The Python that runs Ridgeline")
        default.clicked.connect(lambda _=False: self._set_interpreter(""))
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._interpreter, 1)
        row.addWidget(browse)
        row.addWidget(default)
        return row

    def _buttons(self, reset_layout: Callable[[], None]) -> QHBoxLayout:
        reset = QPushButton("Reset the layout")
        reset.clicked.connect(lambda _=False: reset_layout())
        close = QPushButton("Close")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        row = QHBoxLayout()
        row.addWidget(reset)
        row.addStretch(1)
        row.addWidget(close)
        return row

    def _choose_theme(self, index: int) -> None:
        self._settings.theme = THEME_CHOICES[index]
        self._theme.set_theme(THEME_CHOICES[index])

    def _choose_interpreter(self) -> None:
        path = self._interpreter.text().strip()
        if path != self._machine.interpreter:
            self._set_interpreter(path)

    def _browse(self) -> None:
        ask_for_paths(self, "Choose a Python", lambda paths: self._set_interpreter(str(paths[0])))

    def _set_interpreter(self, path: str) -> None:
        self._machine.set_interpreter(path)
        self._interpreter.setText(self._machine.interpreter)

    def _show_machine(self) -> None:
        machine, facts, error = self._machine, self._machine.facts, self._machine.interpreter_error
        if machine.checking:
            text, level = "Checking this Python", None
        elif error is not None:
            text, level = f"{error.message} {error.hint}", "error"
        elif facts is not None:
            text, level = f"Python {facts.python}, torch {facts.torch}", None
        else:
            text, level = "Not checked yet", None
        self._found.setText(text)
        set_kind(self._found, kind="caption", level=level)


def _row_label(text: str) -> QLabel:
    label = plain_label(text)
    set_kind(label, kind="secondary")
    return label
