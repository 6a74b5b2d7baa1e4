"""Copies and saves what the Nsight page shows: values as CSV or JSON, charts as pictures."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from core.errors import DashboardError
from core.export import write_csv, write_json
from core.files import printable, write_atomic
from gui.plots.export import save_png, save_svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.result import ResultTable
    from gui.tasks import Tasks

TextKind = Literal["csv", "json", "tsv"]
PictureKind = Literal["png", "svg"]
_LONGEST_STEM: Final = 80


class PartExport(QObject):
    """Asks where something should go, and writes it.

    Signals:
        failed: A ``DashboardError``.
        told: A few words on what was copied or written.
    """

    failed = Signal(object)
    told = Signal(str)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks

    def fill(
        self, menu: QMenu, stem: str, table: Callable[[], ResultTable] | None, picture: QWidget | None
    ) -> None:
        """Adds what can be done with a part to its menu.

        Args:
            menu: Of the part.
            stem: What names of files begin with.
            table: Makes the values; None if there are none.
            picture: What is drawn as a picture; None if it is a table.
        """
        texts: tuple[TextKind, ...] = ("csv", "json")
        pictures: tuple[PictureKind, ...] = ("png", "svg")
        if table is not None:
            menu.addAction("Copy values", partial(self.copy, table))
            for kind in texts:
                menu.addAction(
                    f"Save values as {kind.upper()}", partial(self._ask_table, menu, stem, table, kind)
                )
        if picture is not None:
            for form in pictures:
                menu.addAction(
                    f"Save picture as {form.upper()}", partial(self._ask_picture, menu, stem, picture, form)
                )

    def copy(self, table: Callable[[], ResultTable]) -> None:
        """Copies values with a header, with tabs, for a spreadsheet."""
        made = table()
        QGuiApplication.clipboard().setText(_text(made, "tsv"))
        self.told.emit(f"{printable(made.title)} copied")

    def write_table(self, path: Path, table: ResultTable, kind: TextKind) -> None:
        """Writes values to a file, in a worker."""
        self.write_made(path, kind, lambda: table)

    def ask_made(self, parent: QWidget, stem: str, kind: TextKind, make: Callable[[], ResultTable]) -> None:
        """Asks where a table should go that is made, and written, in a worker."""
        self._ask(parent, stem, kind, lambda path: self.write_made(path, kind, make))

    def write_made(self, path: Path, kind: TextKind, make: Callable[[], ResultTable]) -> None:
        """Makes a table and writes it to a file, in a worker."""
        self._tasks.start(
            title=f"Writing {path.name}",
            work=lambda _: _write(path, _text(make(), kind)),
            done=lambda _: self.told.emit(f"{printable(path.name)} written"),
            failed=self.failed.emit,
            key=f"write {path}",
        )

    def write_picture(self, path: Path, widget: QWidget, kind: PictureKind) -> None:
        """Writes a picture of a widget as it is shown."""
        try:
            if kind == "png":
                save_png(widget, path)
            else:
                save_svg(widget, path, widget.accessibleName())
        except DashboardError as error:
            self.failed.emit(error)
        else:
            self.told.emit(f"{printable(path.name)} written")

    def _ask_table(self, menu: QMenu, stem: str, table: Callable[[], ResultTable], kind: TextKind) -> None:
        made = table()
        self._ask(
            menu.parentWidget(), f"{stem}-{made.name}", kind, lambda path: self.write_table(path, made, kind)
        )

    def _ask_picture(self, menu: QMenu, stem: str, widget: QWidget, kind: PictureKind) -> None:
        self._ask(menu.parentWidget(), stem, kind, lambda path: self.write_picture(path, widget, kind))

    def _ask(self, parent: QWidget | None, stem: str, kind: str, write: Callable[[Path], None]) -> None:
        dialog = QFileDialog(parent, f"Save as {kind.upper()}")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{kind.upper()} (*.{kind})")
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{file_stem(stem)}.{kind}")
        dialog.fileSelected.connect(lambda name: write(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def file_stem(words: str) -> str:
    """Words as the name of a file: letters, digits, and one dash for all else."""
    parts = "".join(letter if letter.isalnum() or letter in "._" else " " for letter in words).split()
    return "-".join(parts)[:_LONGEST_STEM] or "nsight"


def _text(table: ResultTable, kind: TextKind) -> str:
    file = io.StringIO(newline="")
    keys = tuple(column.key for column in table.columns)
    if kind == "json":
        write_json(table, None, keys, file)
    else:
        write_csv(table, None, keys, file, delimiter="\t" if kind == "tsv" else ",")
    return file.getvalue()


def _write(path: Path, text: str) -> None:
    try:
        write_atomic(path, text.encode("utf-8"))
    except OSError as error:
        raise DashboardError(
            f"{path} could not be written: {error.strerror or error}.",
            "Choose another folder, or free some space.",
        ) from error
