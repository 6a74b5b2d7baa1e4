"""What the user can do on the Edge page, as action specs: they are there before the page is built."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gui.actions import ActionSpec
from gui.page_actions import ShownPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.pages.edge import EdgePage

_MENU = "Edge"


def edge_actions(page: Callable[[], EdgePage | None]) -> list[ActionSpec]:
    """All actions of the Edge page, in the order in which menus and the palette show them.

    Args:
        page: Gives the page while it is shown, else None.
    """
    on_page = ShownPage(page).on_page
    not_shown = "the Edge page is not shown"

    def no_run() -> str | None:
        shown = page()
        return not_shown if shown is None else shown.why_not_run()

    def none_running() -> str | None:
        shown = page()
        if shown is None:
            return not_shown
        return "nothing is running" if shown.runs.running is None else None

    def no_result() -> str | None:
        shown = page()
        if shown is None:
            return not_shown
        return "there is no result" if shown.result is None else None

    spec = partial(ActionSpec, menu=_MENU, page="edge", icon="device-mobile")
    return [
        spec(
            id="edge.run",
            text="Run the model on the selected devices",
            run=on_page(lambda shown: shown.run()),
            shortcut="Ctrl+Return",
            enabled=no_run,
            words="vulkan metal iree",
        ),
        spec(
            id="edge.cancel",
            text="Cancel the runs",
            run=on_page(lambda shown: shown.runs.cancel()),
            icon="x",
            enabled=none_running,
            words="stop abort",
        ),
        spec(
            id="edge.choose",
            text="Choose a model file",
            run=on_page(lambda shown: shown.ask_file()),
            icon="file",
            enabled=lambda: not_shown if page() is None else None,
            words="onnx pt2 script open",
        ),
        spec(
            id="edge.look",
            text="Look for devices again",
            run=on_page(lambda shown: shown.runs.look()),
            icon="arrows-clockwise",
            enabled=lambda: not_shown if page() is None else None,
            words="detect probe refresh",
        ),
        spec(
            id="edge.filter",
            text="Filter results",
            run=on_page(lambda shown: shown.results.focus_filter()),
            icon="funnel",
            shortcut="/",
            enabled=no_result,
            words="find",
        ),
        *(
            spec(
                id=f"edge.{what}_{kind}",
                text=f"Export the {what} as {kind.upper()}",
                run=on_page(call),
                icon="export",
                enabled=no_result,
                words="save file",
            )
            for what, kind, call in _exports()
        ),
    ]


def _exports() -> tuple[tuple[str, str, Callable[[EdgePage], object]], ...]:
    return (
        ("results", "csv", lambda shown: shown.results.ask_export("csv")),
        ("results", "json", lambda shown: shown.results.ask_export("json")),
        ("dispatches", "csv", lambda shown: shown.dispatches.ask_export("csv")),
        ("dispatches", "json", lambda shown: shown.dispatches.ask_export("json")),
        ("plot", "png", lambda shown: shown.ask_picture("png")),
        ("plot", "svg", lambda shown: shown.ask_picture("svg")),
    )
