"""Saving a report or table so that it can be given away: asks where, and writes it in a worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from core.files import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from core.errors import DashboardError
    from core.report_tables.private_data import Stripped
    from gui.tasks import Progress, Tasks


class PrivateCopies:
    """Copies without private data.

    Args:
        tasks: Where they are written.
        told: Gets a few words on what was written and taken out.
        failed: Gets the error of a copy that was not written.
    """

    def __init__(
        self, tasks: Tasks, told: Callable[[str], None], failed: Callable[[DashboardError], None]
    ) -> None:
        self._tasks, self._told, self._failed = tasks, told, failed

    def ask(self, parent: QWidget, path: Path) -> QFileDialog:
        """Asks where the copy of a file should go; nothing is written before an answer."""
        dialog = QFileDialog(parent, "Save without private data")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(f"{path.stem}-shared{path.suffix}")
        dialog.fileSelected.connect(lambda name: self.write(path, Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def write(self, path: Path, target: Path) -> None:
        """Writes the copy."""

        def work(progress: Progress) -> Stripped:
            from core.report_tables.private_data import save_without_private_data  # noqa: PLC0415

            return save_without_private_data(path, target, progress.report)

        self._tasks.start(
            title=f"Writing {printable(target.name)}",
            work=work,
            done=lambda found: self._told(f"{printable(target.name)} written. {found.words}"),
            failed=self._failed,
            key=f"write {target}",
        )
