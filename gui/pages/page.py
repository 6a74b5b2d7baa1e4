"""What every page of the window is: its name, its parts, and how errors are shown on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.widgets.banner import BannerStack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from core.errors import DashboardError
    from core.files import FileDescription
    from gui.context import PageContext


class Page(QWidget):
    """Base of a page. A page is built when it is first shown.

    A page fills ``body``; a bar of 36 px may lie above the banners. The window
    asks it once for its inspector and its dock tabs and shows them while the
    page is the current one.

    Class attributes:
        NAME: What ``PageContext.navigate`` takes, such as "run".
        TITLE: Word in the rail and the top bar.
        ICON: Phosphor name; the rail adds "-fill" for the current page.

    Signals:
        subtitle_changed: ``subtitle()`` gives something else now.
        tab_text_changed: (index into ``dock_tabs()``, new title).
        docks_changed: ``wants_docks()`` gives something else now.
        status_changed: ``selection_words()`` gives something else now.
        told: A few words on what was done, for the status bar.
    """

    NAME: ClassVar[str]
    TITLE: ClassVar[str]
    ICON: ClassVar[str]

    subtitle_changed = Signal()
    tab_text_changed = Signal(int, str)
    docks_changed = Signal()
    status_changed = Signal()
    told = Signal(str)

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self.context = context
        self.banners = BannerStack(context.theme)
        self.body = QWidget()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._layout.addWidget(self.banners)
        self._layout.addWidget(self.body, 1)

    def set_bar(self, bar: QWidget) -> None:
        """Puts a page bar above the banners."""
        self._layout.insertWidget(0, bar)

    def subtitle(self) -> str:
        """What is open on this page, for the top bar; "" for nothing."""
        return ""

    def inspector(self) -> QWidget | None:
        """The widget for the Inspector dock; None hides the dock on this page."""
        return None

    def inspector_head(self) -> QWidget | None:
        """What the head of the Inspector dock says instead of "Inspector": the selection."""
        return None

    def dock_tabs(self) -> list[tuple[str, QWidget]]:
        """Title and widget of each tab of the dock below; none hides the dock."""
        return []

    def wants_docks(self) -> bool:
        """Whether inspector and dock belong to what is shown now; hidden, they take no room from it."""
        return True

    def dock_corner(self) -> QWidget | None:
        """Controls at the right end of the dock's tabs, such as the log's rank filter."""
        return None

    def selection_words(self) -> str:
        """What part is selected, for the status bar; "" for all of it."""
        return ""

    def clear_selection(self) -> None:
        """Takes the selection that the status bar names away."""

    def shown(self) -> None:
        """Called each time the page becomes the current one."""

    def launch(self) -> bool:
        """Launches what the page shows. False: it shows no job, and the demo is launched."""
        return False

    def show_form(self, *, own_script: bool = False) -> None:
        """Shows the form for a new job, where the page has one; ``own_script``: not for a preset."""

    def show_run(self) -> None:
        """Shows the run again in place of a form, where the page has one."""

    def open_path(self, path: Path, description: FileDescription) -> bool:
        """Opens a file or folder. Returns False if this page does not take it."""
        return False

    def show_error(
        self, error: DashboardError, actions: Sequence[tuple[str, Callable[[], object]]] = ()
    ) -> None:
        """Shows an error above what is there; what is there stays."""
        self.banners.show_banner("error", "error", error.message, error.hint, actions)

    def clear_error(self) -> None:
        """Takes the error away, because what failed has been done."""
        self.banners.dismiss("error")
