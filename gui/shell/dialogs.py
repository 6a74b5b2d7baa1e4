"""The window's small dialogs. None of them blocks: each answers through a call."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.launch.versions import ridgeline_version
from gui.widgets.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGES = ("PySide6-Essentials", "pyqtgraph", "numpy", "msgspec", "torch")


def ask_for_paths(
    parent: QWidget,
    title: str,
    take: Callable[[list[Path]], None],
    *,
    start: Path | None = None,
    folders: bool = False,
) -> QFileDialog:
    """Lets the user choose files, or one folder.

    Args:
        parent: The window.
        title: Of the dialog.
        take: Gets what was chosen.
        start: Where to start; None leaves it to the desktop.
        folders: Whether one folder is chosen instead of files.
    """
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if folders:
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    else:
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    if start is not None:
        dialog.setDirectory(str(start))
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


def show_about(parent: QWidget) -> Question:
    """Says which versions run."""
    text = "Launch, watch and trace training on the GPUs of this machine. MIT licence."
    dialog = Question(parent, "About Ridgeline", text, "\n".join(version_lines()), ())
    dialog.open()
    return dialog
