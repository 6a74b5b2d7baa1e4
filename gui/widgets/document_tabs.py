"""Tabs of opened files: names that can be read however many there are, and a way to close each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QTabBar, QToolButton, QWidget

from core.files import printable
from gui.plain_text import control_text, tip_text
from gui.theme import set_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.open_documents import OpenDocuments
    from gui.theme import Theme, ThemeController

BAR_PX: Final = 32
LEAST_PX: Final = 110
MOST_PX: Final = 260
ENDINGS: Final = (".gz", ".json", ".pt.trace", ".ncu-repz", ".ncu-rep", ".csv")
"""What most names of traces and reports have in common, from the outermost on."""


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


class DocumentBar(QWidget):
    """The bar with the tabs of what is open; one alone needs none, then it is hidden."""

    def __init__(self, theme: ThemeController, documents: OpenDocuments, noun: str) -> None:
        """Builds the bar.

        Args:
            theme: For the icons.
            documents: What is open; a moved tab and a pressed cross change it.
            noun: What one is called: "trace".
        """
        super().__init__()
        self._theme = theme
        self._documents = documents
        self._noun = noun
        self.tabs = DocumentTabs(f"Opened {noun}s")
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.addWidget(self.tabs, 1)
        self.tabs.tabMoved.connect(lambda place, to: documents.move(to, place))
        theme.changed.connect(self._draw)

    def show_documents(self, endings: Sequence[str] = ()) -> None:
        """Makes the tabs what the list says; ``endings`` stand behind the names, one for each."""
        documents, tabs = self._documents, self.tabs
        names = tab_names([path.name for path in documents.paths])
        tabs.blockSignals(True)
        while tabs.count() > len(names):
            tabs.removeTab(tabs.count() - 1)
        for place, path in enumerate(documents.paths):
            if place >= tabs.count():
                tabs.addTab("")
                tabs.setTabButton(place, QTabBar.ButtonPosition.RightSide, self._close_button())
            tabs.setTabText(place, control_text(names[place] + (endings[place] if endings else "")))
            tabs.setTabToolTip(place, tip_text(printable(str(path))))
        if documents.shown is not None:
            tabs.setCurrentIndex(documents.paths.index(documents.shown))
        tabs.blockSignals(False)
        self.setVisible(len(names) > 1)

    def show_neighbour(self, step: int) -> None:
        """Shows the next tab, or with -1 the one before; round the end."""
        if self.tabs.count():
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())

    def _close_button(self) -> QToolButton:
        button = QToolButton()
        button.setFixedSize(18, 18)
        # Ctrl+W does the same; a stop for each of twelve tabs would only be in the way of Tab.
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setIconSize(QSize(12, 12))
        button.setIcon(self._theme.theme.icon("x", size=12))
        button.setToolTip(f"Close this {self._noun} (Ctrl+W)")
        button.setAccessibleName(f"Close this {self._noun}")
        button.clicked.connect(lambda: self._close_tab_of(button))
        return button

    def _close_tab_of(self, button: QToolButton) -> None:
        for place, path in enumerate(self._documents.paths):
            if self.tabs.tabButton(place, QTabBar.ButtonPosition.RightSide) is button:
                self._documents.remove(path)

    def _draw(self, theme: Theme) -> None:
        for place in range(self.tabs.count()):
            button = self.tabs.tabButton(place, QTabBar.ButtonPosition.RightSide)
            if isinstance(button, QToolButton):
                button.setIcon(theme.icon("x", size=12))
