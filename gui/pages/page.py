"""What every page of the window is: its name, its parts, and how errors are shown on it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from core.files import not_opened
from gui.widgets.banner import BannerStack
from gui.widgets.document_tabs import DocumentBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from core.errors import DashboardError
    from core.files import FileDescription
    from gui.context import PageContext
    from gui.open_documents import OpenDocuments
    from gui.opened_file import OpenedFile
    from gui.rooflines.sources import OwnerPage


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


ROOFLINE: Final = "roofline"


class DocumentView(Protocol):
    """What stands in a tab of a page of documents: a widget that shows one."""

    def take_keyboard(self) -> None:
        """The keys go to what is used most in it."""


D = TypeVar("D", bound="OpenedFile")
V = TypeVar("V", bound=DocumentView)


class DocumentPage(Page, Generic[D, V]):
    """A page that shows opened files as tabs.

    A file is read when it is first the shown one, and gets its view when that is
    first seen. Several that are opened at once are each the shown one in their
    turn: all are read, but only the last one gets the many widgets of a view.

    A kind of page says how a document and a view are built, what its inspector
    shows, and what it does with a file that is open. It calls ``_follow`` when it
    is built.
    """

    NAME: ClassVar[OwnerPage]

    def __init__(self, context: PageContext, documents: OpenDocuments, noun: str) -> None:
        """Builds the frame.

        Args:
            context: Of all pages.
            documents: The list that it shows.
            noun: What one of them is called: "trace".
        """
        super().__init__(context)
        self._documents = documents
        self._files: dict[Path, D] = {}
        self._views: dict[Path, V] = {}
        self._before: Path | None = None
        self._build_timer = QTimer(self)
        self._build_timer.setSingleShot(True)
        self._build_timer.timeout.connect(self._build_shown)
        self._tab_bar = DocumentBar(context.theme, documents, noun)
        self.tabs = self._tab_bar.tabs
        self.set_bar(self._tab_bar)
        self._stack = QStackedWidget()
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _follow(self) -> None:
        """Shows the list, now and whenever it is another."""
        self._documents.changed.connect(self._show_list)
        self._documents.again.connect(self._read_again)
        self.tabs.currentChanged.connect(self._tab_chosen)
        self._show_list()

    # --- what a kind of page has of its own

    @property
    def empty(self) -> QWidget:
        """What stands there without a file."""
        raise AssertionError("a page of documents says what stands there without one")

    def _build_document(self, path: Path) -> D:
        """Builds what reads a file, and listens to it."""
        raise AssertionError("a page of documents says how they are read")

    def _build_view(self, path: Path, document: D) -> V:
        """Builds the view of a document, which may be open already, and listens to it."""
        raise AssertionError("a page of documents says how they are shown")

    def _is_as_listed(self, path: Path) -> bool:
        """Whether a document is still what the list means by its path."""
        return path in self._documents.paths

    def _opened(self, path: Path) -> None:
        """Offers an open file to other pages."""

    def _closed(self, path: Path) -> None:
        """Forgets what is known of a closed file."""

    def _show_tabs(self) -> None:
        self._tab_bar.show_documents()

    def _show_selection(self) -> None:
        """Tells the inspector what is selected."""

    # --- what the window asks

    def subtitle(self) -> str:
        """Name and size of the shown file."""
        document = self.document
        return "" if document is None else document.subtitle()

    def wants_docks(self) -> bool:
        """Without a file there is nothing to inspect."""
        return self._documents.shown is not None

    def shown(self) -> None:
        """Reads the shown file, if that has not been done; its view gets the keys."""
        self._read_shown()
        self._show_content()
        if self.view is not None:
            self.view.take_keyboard()

    # --- the roofline

    @property
    def has_roofline(self) -> bool:
        """Whether there is a page to show a kernel on."""
        return any(spec.id == f"view.{ROOFLINE}" for spec in self.context.actions.specs)

    def show_point(self, row: int) -> None:
        """Shows a kernel of the shown file among all others, below what its device can do.

        Args:
            row: Of the points that the file offers.
        """
        shown = self._documents.shown
        if shown is not None:
            self.context.points.want(self.NAME, shown, row)
            self.context.navigate(ROOFLINE)

    # --- the list

    @property
    def document(self) -> D | None:
        """The file that is shown."""
        shown = self._documents.shown
        return None if shown is None else self._document_of(shown)

    @property
    def view(self) -> V | None:
        """The view of the file that is shown; None also until it is built."""
        shown = self._documents.shown
        return None if shown is None else self._views.get(shown)

    def close_shown(self) -> None:
        """Closes the shown file."""
        if self._documents.shown is not None:
            self._documents.remove(self._documents.shown)

    def show_neighbour(self, step: int) -> None:
        """Shows the next tab, or with -1 the one before; round the end."""
        self._tab_bar.show_neighbour(step)

    def _document_of(self, path: Path) -> D:
        """The document of a listed file, built when it is first asked for."""
        document = self._files.get(path)
        if document is None:
            self._files[path] = document = self._build_document(path)
            document.state_changed.connect(partial(self._state_changed, path))
        return document

    def _view_of(self, path: Path) -> V:
        """The view of a listed file, built when it is first asked for."""
        view = self._views.get(path)
        if view is None:
            self._views[path] = view = self._build_view(path, self._document_of(path))
            self._stack.addWidget(_widget(view))
        return view

    def _show_list(self) -> None:
        """Makes tabs and content what the list says."""
        for path in [path for path in self._files if not self._is_as_listed(path)]:
            self._drop(path)
        self._show_tabs()
        self._show_content()
        if self.isVisible():
            self._read_shown()
        self._show_selection()
        self.subtitle_changed.emit()
        self.docks_changed.emit()
        self.status_changed.emit()

    def _show_content(self) -> None:
        view = self.view
        if view is None and self._documents.shown is not None:
            # What else comes in this turn of the event loop may be shown instead.
            self._build_timer.start()
            return
        wanted = self.empty if view is None else _widget(view)
        if self._stack.currentWidget() is not wanted:
            # A hidden page is left alone: its focus is taken when it is shown.
            self._stack.setCurrentWidget(wanted)
            if view is not None:
                view.take_keyboard()

    def _build_shown(self) -> None:
        """Builds the view of the shown file; a hidden page waits until it is seen."""
        shown = self._documents.shown
        if shown is not None and self.isVisible():
            self._view_of(shown)
            self._show_content()
            self._show_selection()
            self.status_changed.emit()
            self.context.actions.refresh()

    def _drop(self, path: Path) -> None:
        document, view = self._files.pop(path), self._views.pop(path, None)
        self.context.points.withdraw(self.NAME, path)
        self._closed(path)
        document.close()
        if view is not None:
            widget = _widget(view)
            self._stack.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        document.deleteLater()

    def _read_shown(self) -> None:
        """Reads the shown file; the one before is where a refused one leads back to."""
        shown, document = self._documents.shown, self.document
        if shown is None or document is None:
            return
        self.context.points.look_at(self.NAME, shown)
        if document.state == "waiting":
            self.clear_error()
            document.open()
        if document.state == "open":
            self._before = shown

    def _read_again(self, path: Path) -> None:
        document = self._files.get(path)
        if document is not None and document.state in ("refused", "cancelled"):
            document.open()

    def _state_changed(self, path: Path, state: str) -> None:
        document = self._files[path]
        if state in ("refused", "cancelled"):
            if state == "refused" and document.error is not None:
                several = len(document.files) > 1
                self.show_error(not_opened(document.name, document.error, several=several))
            self._documents.remove(path, self._before)
            return
        if state == "open":
            if path == self._documents.shown:
                self._before = path
            self._opened(path)
            self._show_tabs()
        self._show_selection()
        self.subtitle_changed.emit()
        self.context.actions.refresh()

    def _tab_chosen(self, place: int) -> None:
        paths = self._documents.paths
        if 0 <= place < len(paths):
            self._documents.show(paths[place])
            self._read_shown()


def _widget(view: DocumentView) -> QWidget:
    """A view is a widget: a protocol cannot say so."""
    assert isinstance(view, QWidget)
    return view
