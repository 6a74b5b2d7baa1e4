"""Tabs of opened files: names that can be read however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QTabBar

from core.files import printable
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_PX: Final = 110
MOST_PX: Final = 260
ENDINGS: Final = (".gz", ".json", ".pt.trace")
"""What most names of traces have in common, from the outermost on."""


def trace_stem(name: str) -> str:
    """A name of a file without the endings that tell nothing; a name of nothing else stays."""
    stem = name
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    return stem or name


def tab_names(names: Sequence[str]) -> list[str]:
    """What the tabs of files are called: short, but in full where two would be the same."""
    stems = [trace_stem(name) for name in names]
    return [
        printable(name if stems.count(stem) > 1 else stem) for name, stem in zip(names, stems, strict=True)
    ]


class DocumentTabs(QTabBar):
    """Shrinks tabs down to ``LEAST_PX``, then scrolls."""

    def __init__(self, name: str) -> None:
        """Args: ``name`` is for screen readers."""
        super().__init__()
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMovable(True)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAccessibleName(name)
        set_kind(self, kind="documents")

    def tabSizeHint(self, index: int) -> QSize:  # noqa: N802  (Qt's name)
        """As wide as the name, within limits."""
        size = super().tabSizeHint(index)
        return QSize(max(LEAST_PX, min(size.width(), MOST_PX)), size.height())

    def minimumTabSizeHint(self, index: int) -> QSize:  # noqa: N802  (Qt's name)
        """What is left to read of a name when there is no room for all."""
        return QSize(LEAST_PX, super().minimumTabSizeHint(index).height())
