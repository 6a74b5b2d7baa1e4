"""What the Roofline page shows: the board, or why there is none (nothing open, being made, not made)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gui.plain_text import visible_text
from gui.theme import set_kind
from gui.widgets.empty_state import EmptyState

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.context import PageContext

_PLOT_SHARE: Final = (66, 34)
_ICON: Final = "chart-line-up"


class RooflineStates(QStackedWidget):
    """One of four: ``empty``, ``making``, ``failed`` and the content."""

    def __init__(self, context: PageContext, content: QWidget, try_again: Callable[[], object]) -> None:
        """Args: ``try_again`` is what the button does that stands where nothing could be made."""
        super().__init__()
        self.content = content
        self.empty = EmptyState(
            context.theme,
            _ICON,
            [
                ("Open file", lambda: context.actions.trigger("file.open")),
                ("Show opened traces", lambda: context.navigate("trace")),
            ],
            primary=True,
        )
        self.empty.set_text(
            "No kernels to place",
            "Open an Nsight Compute report or table (.ncu-rep, ncu --csv) for measured points, or a trace of "
            "torch.profiler with record_shapes=True for modelled ones. A trace or report that was opened "
            "earlier is read when its tab is shown.",
        )
        self.making = EmptyState(context.theme, _ICON)
        self.making.set_text("Placing kernels", "Points are made of what is open.")
        self.failed = EmptyState(context.theme, _ICON, [("Try again", try_again)])
        for widget in (self.empty, self.making, self.failed, content):
            self.addWidget(widget)

    @property
    def shows_content(self) -> bool:
        """Whether the board is shown."""
        return self.currentWidget() is self.content

    def show_empty(self) -> None:
        """Nothing is open that gives points."""
        self.setCurrentWidget(self.empty)

    def show_making(self) -> None:
        """The first board is being made."""
        self.setCurrentWidget(self.making)

    def show_failed(self, words: str) -> None:
        """There is no board, and none is being made."""
        self.failed.set_text("No kernels placed", visible_text(words))
        self.setCurrentWidget(self.failed)

    def show_content(self) -> None:
        """There is a board."""
        self.setCurrentWidget(self.content)

    def give_keyboard(self, page: QWidget, plot: QWidget) -> None:
        """Gives the keys to the plot, unless something on the page or a field of the window has them."""
        now = page.window().focusWidget()
        is_used = (
            now is not None
            and now.isVisible()
            and (isinstance(now, QLineEdit) or (now is not page and page.isAncestorOf(now)))
        )
        if self.shows_content and page.isVisible() and not is_used:
            plot.setFocus(Qt.FocusReason.OtherFocusReason)


def content_of_page(own: QWidget, plot: QWidget, strip: QWidget, table: QWidget) -> QWidget:
    """Returns the board's widgets as they lie: own figures, plot, and below it the strip and the table."""
    below = _column(strip, table)
    splitter = QSplitter(Qt.Orientation.Vertical)
    splitter.setChildrenCollapsible(False)
    splitter.addWidget(plot)
    splitter.addWidget(below)
    for place, share in enumerate(_PLOT_SHARE):
        splitter.setStretchFactor(place, share)
    splitter.setSizes([10 * share for share in _PLOT_SHARE])
    set_kind(splitter, kind="plain")
    return _column(own, splitter)


def _column(head: QWidget, rest: QWidget) -> QWidget:
    """Two widgets, the second of which takes what room there is."""
    both = QWidget()
    column = QVBoxLayout(both)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(head)
    column.addWidget(rest, 1)
    return both
