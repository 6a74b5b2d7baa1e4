"""Which traces are open, in which order, and which one is shown; remembered between two starts.

The Trace page shows them. Others (an opened file, a capture that is ready) add
to the list, also while that page has not been built.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from gui.settings import Settings

MOST_OPEN: Final = 40
_PAGE: Final = "trace"


class OpenTraces(QObject):
    """The list; a path is in it once.

    A path is a file, a folder of ranks, or the first of several files that were
    chosen together as the ranks of one trace: then ``files_of`` names all.

    Signals:
        changed: The list or the shown one is another.
        again: A path that is open was asked for once more: what failed is to be read anew.
    """

    changed = Signal()
    again = Signal(object)

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        stored = settings.page_value(_PAGE, "open")
        texts = [text for text in stored if isinstance(text, str)] if isinstance(stored, list) else []
        self._paths = [Path(text) for text in dict.fromkeys(texts)][:MOST_OPEN]
        self._files = _stored_files(settings.page_value(_PAGE, "ranks"))
        shown = settings.page_value(_PAGE, "shown")
        self._shown = Path(shown) if isinstance(shown, str) and Path(shown) in self._paths else None
        if self._shown is None and self._paths:
            self._shown = self._paths[-1]

    @property
    def paths(self) -> tuple[Path, ...]:
        """In the order of the tabs."""
        return tuple(self._paths)

    @property
    def shown(self) -> Path | None:
        """The one that the page shows."""
        return self._shown

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
        known = path in self._paths
        if files:
            self._files[path] = files
        else:
            self._files.pop(path, None)
        if not known:
            self._paths.append(path)
            del self._paths[:-MOST_OPEN]
        if show or self._shown not in self._paths:
            self._shown = path
        self._tell()
        if known and show:
            self.again.emit(path)

    def show(self, path: Path) -> None:
        """Makes an open trace the shown one."""
        if path in self._paths and path != self._shown:
            self._shown = path
            self._tell()

    def remove(self, path: Path, back_to: Path | None = None) -> None:
        """Closes a trace; ``back_to``, else its neighbour, is shown if it was the shown one."""
        if path not in self._paths:
            return
        place = self._paths.index(path)
        self._paths.remove(path)
        self._files.pop(path, None)
        if path == self._shown:
            neighbour = self._paths[min(place, len(self._paths) - 1)] if self._paths else None
            self._shown = back_to if back_to in self._paths else neighbour
        self._tell()

    def move(self, place: int, to: int) -> None:
        """Puts a trace elsewhere in the order."""
        self._paths.insert(to, self._paths.pop(place))
        self._tell()

    def _tell(self) -> None:
        settings = self._settings
        settings.set_page_value(_PAGE, "open", [os.fspath(path) for path in self._paths])
        ranks = {
            os.fspath(path): [os.fspath(each) for each in self._files[path]]
            for path in self._paths
            if path in self._files
        }
        settings.set_page_value(_PAGE, "ranks", ranks)
        settings.set_page_value(_PAGE, "shown", None if self._shown is None else os.fspath(self._shown))
        self.changed.emit()


def _stored_files(stored: object) -> dict[Path, tuple[Path, ...]]:
    """What the settings say of traces of several files; they may hold anything."""
    if not isinstance(stored, dict):
        return {}
    return {
        Path(path): tuple(Path(text) for text in texts if isinstance(text, str))
        for path, texts in stored.items()
        if isinstance(texts, list)
    }
