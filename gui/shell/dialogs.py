"""The window's questions and small dialogs. None of them blocks: each answers through a call."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QPushButton, QWidget

from core.launch.versions import ridgeline_version
from gui.plain_text import control_text
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PACKAGES = ("PySide6-Essentials", "pyqtgraph", "numpy", "msgspec", "torch")


def ask(
    parent: QWidget,
    title: str,
    text: str,
    more: str,
    answers: Sequence[tuple[str, Callable[[], object]]],
) -> QMessageBox:
    """Asks with one button for each answer; the first is the default. Escape and closing do nothing.

    Args:
        parent: The window that waits for the answer.
        title: Of the dialog.
        text: The question, shown literally.
        more: What the answers mean, shown literally.
        answers: (words, what to do); "Cancel" is added.
    """
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    for place, (words, run) in enumerate(answers):
        button = QPushButton(control_text(words))
        box.addButton(button, QMessageBox.ButtonRole.ActionRole)
        button.clicked.connect(lambda _=False, run=run: run())
        if place == 0:
            set_kind(button, kind="primary")
            box.setDefaultButton(button)
    cancel = box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setEscapeButton(cancel)
    box.open()
    return box


def ask_for_paths(
    parent: QWidget, title: str, take: Callable[[list[Path]], None], *, folder: Path | None = None
) -> QFileDialog:
    """Lets the user choose files, or one folder.

    Args:
        parent: The window.
        title: Of the dialog.
        take: Gets what was chosen.
        folder: Where to start choosing a folder; None to choose files.
    """
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if folder is None:
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    else:
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setDirectory(str(folder))
    dialog.filesSelected.connect(lambda names: take([Path(name) for name in names]))
    dialog.open()
    return dialog


def version_lines() -> list[str]:
    """Versions and platform, for the About box and crash reports."""
    lines = [f"Ridgeline {ridgeline_version()}, Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name} is not installed")
    return [*lines, f"{platform.platform()}, {sys.executable}"]


def show_about(parent: QWidget) -> QMessageBox:
    """Says which versions run."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("About Ridgeline")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText("Launch, watch and trace training on the GPUs of this machine. MIT licence.")
    box.setInformativeText("\n".join(version_lines()))
    box.addButton("Close", QMessageBox.ButtonRole.AcceptRole)
    box.open()
    return box
