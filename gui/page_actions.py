"""What the actions of pages have in common: they reach the page while it is shown; tabs close alike."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gui.actions import ActionSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.pages.page import DocumentPage

P = TypeVar("P")
D = TypeVar("D", bound="DocumentPage[Any, Any]")


class ShownPage(Generic[P]):
    """A page as long as it is shown."""

    def __init__(self, page: Callable[[], P | None]) -> None:
        """Args: ``page`` gives the page while it is shown, else None."""
        self._page = page

    def on_page(self, call: Callable[[P], object]) -> Callable[[], None]:
        """Does something with the page, if it is shown."""

        def run() -> None:
            page = self._page()
            if page is not None:
                call(page)

        return run


class ShownDocuments(ShownPage[D]):
    """A page of tabs as long as it is shown, and why something cannot be done with its files."""

    def __init__(self, page: Callable[[], D | None], title: str, noun: str) -> None:
        """Builds it.

        Args:
            page: Gives the page while it is shown, else None.
            title: Of the page: "Trace".
            noun: What one of its files is called: "trace".
        """
        super().__init__(page)
        self._title = title
        self.noun = noun

    def no_tab(self) -> str | None:
        """Why there is no file to close."""
        page = self._page()
        if page is None:
            return f"the {self._title} page is not shown"
        return f"no {self.noun} is open" if page.document is None else None

    def one_tab(self) -> str | None:
        """Why there is no other file."""
        page = self._page()
        alone = page is not None and page.tabs.count() < 2
        return self.no_tab() or (f"only one {self.noun} is open" if alone else None)

    def not_read(self) -> str | None:
        """Why there is nothing to see of the file."""
        page = self._page()
        view = None if page is None else page.view
        reading = view is None or view.document.state != "open"
        return self.no_tab() or (f"the {self.noun} is being read" if reading else None)


def roofline_action(
    shown: ShownPage[Any], name: str, menu: str, no_kernel: Callable[[], str | None]
) -> ActionSpec:
    """Shows the chosen kernel on the roofline.

    Args:
        shown: The page.
        name: Of the page, as actions begin: "trace".
        menu: Where it stands.
        no_kernel: Why no kernel is chosen.
    """
    return ActionSpec(
        id=f"{name}.roofline",
        text="Show this kernel on the roofline",
        run=shown.on_page(lambda page: page.show_on_roofline()),
        icon="chart-line-up",
        shortcut="Ctrl+L",
        menu=menu,
        enabled=no_kernel,
        words="intensity ceilings point",
    )


def tab_actions(shown: ShownDocuments[Any], name: str, menu: str) -> list[ActionSpec]:
    """Closing a tab and going to its neighbours.

    Args:
        shown: The page.
        name: Of the page, as actions begin: "trace".
        menu: Where they stand.
    """
    spec = partial(ActionSpec, menu=menu, words=f"{shown.noun} tab")
    return [
        spec(
            id=f"{name}.close",
            text=f"Close {shown.noun}",
            run=shown.on_page(lambda page: page.close_shown()),
            icon="x",
            shortcut="Ctrl+W",
            enabled=shown.no_tab,
        ),
        spec(
            id=f"{name}.next_tab",
            text=f"Next {shown.noun}",
            run=shown.on_page(lambda page: page.show_neighbour(1)),
            icon="caret-right",
            shortcut="Ctrl+Tab; Ctrl+PgDown",
            enabled=shown.one_tab,
        ),
        spec(
            id=f"{name}.previous_tab",
            text=f"Previous {shown.noun}",
            run=shown.on_page(lambda page: page.show_neighbour(-1)),
            icon="caret-left",
            shortcut="Ctrl+Shift+Tab; Ctrl+PgUp",
            enabled=shown.one_tab,
        ),
    ]
