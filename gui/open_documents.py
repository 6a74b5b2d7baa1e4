"""Which files of one kind are open, in which order, and which one is shown; remembered between two starts.

A page shows them as tabs. Others (an opened file, a capture that is ready) add
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


class OpenDocuments(QObject):
    """The list; a path is in it once.

    Signals:
        changed: The list or the shown one is another.
        again: A path that is open was asked for once more: what failed is to be read anew.
    """

    changed = Signal()
    again = Signal(object)

    def __init__(self, page: str, settings: Settings, parent: QObject | None = None) -> None:
        """Args: ``page`` is the ``NAME`` of the page that shows them."""
        super().__init__(parent)
        self._page = page
        self._settings = settings
        stored = settings.page_value(page, "open")
        texts = [text for text in stored if isinstance(text, str)] if isinstance(stored, list) else []
        self._paths = [Path(text) for text in dict.fromkeys(texts)][:MOST_OPEN]
        shown = settings.page_value(page, "shown")
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

    def add(self, path: Path, *, show: bool = True) -> None:
        """Adds a file behind the others.

        Args:
            path: The file or folder.
            show: Whether the page shows it now; the first one is shown in any case.
        """
        known = path in self._paths
        if not known:
            self._paths.append(path)
            del self._paths[:-MOST_OPEN]
        if show or self._shown not in self._paths:
            self._shown = path
        self._tell()
        if known and show:
            self.again.emit(path)

    def show(self, path: Path) -> None:
        """Makes an open one the shown one."""
        if path in self._paths and path != self._shown:
            self._shown = path
            self._tell()

    def remove(self, path: Path, back_to: Path | None = None) -> None:
        """Closes one; ``back_to``, else its neighbour, is shown if it was the shown one."""
        if path not in self._paths:
            return
        place = self._paths.index(path)
        self._paths.remove(path)
        if path == self._shown:
            neighbour = self._paths[min(place, len(self._paths) - 1)] if self._paths else None
            self._shown = back_to if back_to in self._paths else neighbour
        self._tell()

    def move(self, place: int, to: int) -> None:
        """Puts one elsewhere in the order."""
        self._paths.insert(to, self._paths.pop(place))
        self._tell()

    def _store(self) -> None:
        """Puts the list into the settings."""
        settings = self._settings
        settings.set_page_value(self._page, "open", [os.fspath(path) for path in self._paths])
        shown = None if self._shown is None else os.fspath(self._shown)
        settings.set_page_value(self._page, "shown", shown)

    def _tell(self) -> None:
        self._store()
        self.changed.emit()
