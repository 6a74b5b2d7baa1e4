"""Which traces are open: those of one file, and those whose ranks lie in several."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gui.open_documents import OpenDocuments

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from gui.settings import Settings

_PAGE: Final = "trace"


class OpenTraces(OpenDocuments):
    """The list of the Trace page.

    A path is a file, a folder of ranks, or the first of several files that were
    chosen together as the ranks of one trace: then ``files_of`` names all.
    """

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(_PAGE, settings, parent)
        self._files = _stored_files(settings.page_value(_PAGE, "ranks"))

    def files_of(self, path: Path) -> tuple[Path, ...]:
        """The files of the ranks that are one trace; () for a single file or a folder."""
        return self._files.get(path, ())

    def add(self, path: Path, *, show: bool = True, files: tuple[Path, ...] = ()) -> None:
        """Adds a trace behind the others; one of the same path but other files takes its place.

        Args:
            path: The file or folder.
            show: Whether the page shows it now; the first one is shown in any case.
            files: Several files that are one trace, ``path`` among them; else ().
        """
        if files:
            self._files[path] = files
        else:
            self._files.pop(path, None)
        super().add(path, show=show)

    def remove(self, path: Path, back_to: Path | None = None) -> None:
        """Closes a trace; ``back_to``, else its neighbour, is shown if it was the shown one."""
        self._files.pop(path, None)
        super().remove(path, back_to)

    def _store(self) -> None:
        super()._store()
        ranks = {
            os.fspath(path): [os.fspath(each) for each in self._files[path]]
            for path in self._paths
            if path in self._files
        }
        self._settings.set_page_value(_PAGE, "ranks", ranks)


def _stored_files(stored: object) -> dict[Path, tuple[Path, ...]]:
    """What the settings say of traces of several files; they may hold anything."""
    if not isinstance(stored, dict):
        return {}
    return {
        Path(path): tuple(Path(text) for text in texts if isinstance(text, str))
        for path, texts in stored.items()
        if isinstance(texts, list)
    }
