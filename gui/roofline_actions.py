"""What the user can do on the Roofline page, as action specs: they are there before the page is built."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gui.actions import ActionSpec
from gui.page_actions import ShownPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.pages.roofline import RooflinePage

_MENU = "Roofline"


def roofline_actions(page: Callable[[], RooflinePage | None]) -> list[ActionSpec]:
    """All actions of the Roofline page, in the order in which menus and the palette show them.

    Args:
        page: Gives the page while it is shown, else None.
    """
    on_page = ShownPage(page).on_page

    def no_points() -> str | None:
        shown = page()
        if shown is None:
            return "the Roofline page is not shown"
        return "nothing is open that has kernels" if shown.board is None else None

    def no_kernel() -> str | None:
        shown = page()
        missing = shown is not None and shown.selected_row is None
        return no_points() or ("no kernel is selected" if missing else None)

    moves: tuple[tuple[str, str, str, Callable[[RooflinePage], object]], ...] = (
        ("zoom_in", "Zoom in", "W", lambda shown: shown.view.zoom_by_key(1)),
        ("zoom_out", "Zoom out", "S", lambda shown: shown.view.zoom_by_key(-1)),
        ("left", "Move to lower intensities", "A", lambda shown: shown.view.pan_by_key(-1)),
        ("right", "Move to higher intensities", "D", lambda shown: shown.view.pan_by_key(1)),
        ("fit", "Show the whole roofline", "0", lambda shown: shown.view.reset_view()),
        ("undo", "Undo the last zoom or move", "Ctrl+Z", lambda shown: shown.view.undo_view()),
        ("filter", "Filter kernels by name", "/", lambda shown: shown.table.focus_filter()),
    )
    exports: tuple[tuple[str, str, Callable[[RooflinePage], object]], ...] = (
        ("png", "Export the roofline as PNG", lambda shown: shown.ask_picture("png")),
        ("svg", "Export the roofline as SVG", lambda shown: shown.ask_picture("svg")),
        ("csv", "Export the kernels as CSV", lambda shown: shown.table.ask_export("csv")),
        ("json", "Export the kernels as JSON", lambda shown: shown.table.ask_export("json")),
    )
    spec = partial(ActionSpec, menu=_MENU, page="roofline")
    return [
        *(
            spec(
                id=f"roofline.{name}",
                text=text,
                run=on_page(call),
                icon="chart-line-up",
                shortcut=keys,
                enabled=no_points,
                words="plot zoom pan view",
            )
            for name, text, keys, call in moves
        ),
        spec(
            id="roofline.open",
            text="Show the kernel in its report or trace",
            run=on_page(lambda shown: shown.open_selected()),
            icon="link",
            enabled=no_kernel,
            words="point nsight",
        ),
        spec(
            id="roofline.clear",
            text="Clear the selected point",
            run=on_page(lambda shown: shown.clear_selection()),
            icon="x",
            shortcut="Escape",
            enabled=no_kernel,
            words="deselect",
        ),
        *(
            spec(
                id=f"roofline.export_{name}",
                text=text,
                run=on_page(call),
                icon="export",
                enabled=no_points,
                words="save file picture",
            )
            for name, text, call in exports
        ),
    ]
