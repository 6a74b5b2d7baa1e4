"""What the user can do with an opened report, as action specs: they are there before the page is built."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gui.actions import ActionSpec
from gui.page_actions import ShownDocuments, roofline_action, tab_actions

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.pages.nsight import NsightPage
    from gui.widgets.nsight_view import NsightView

_MENU = "Nsight"


class _Shown(ShownDocuments["NsightPage"]):
    """The shown report, and why something cannot be done with it."""

    def on_view(self, call: Callable[[NsightView], object]) -> Callable[[], None]:
        """Does something with the shown report."""
        return self.on_page(lambda page: None if page.view is None else call(page.view))

    def no_kernel(self) -> str | None:
        """Why no kernel is chosen."""
        page = self._page()
        view = None if page is None else page.view
        missing = view is not None and view.row is None
        return self.not_read() or ("no kernel is chosen" if missing else None)

    def no_details(self) -> str | None:
        """Why there are no tabs of a kernel."""
        page = self._page()
        view = None if page is None else page.view
        away = view is not None and view.is_table
        return self.no_kernel() or ("the tables of all kernels are shown" if away else None)

    def no_baseline(self) -> str | None:
        """Why there is no baseline to let go of."""
        page = self._page()
        none = page is not None and page.baselines.chosen is None
        return self.no_tab() or ("there is no baseline" if none else None)


def nsight_actions(page: Callable[[], NsightPage | None]) -> list[ActionSpec]:
    """All actions of the Nsight page, in the order in which menus and the palette show them.

    Args:
        page: Gives the page while it is shown, else None.
    """
    shown = _Shown(page, "Nsight", "report")
    specs = [
        *tab_actions(shown, "nsight", _MENU),
        *_list_actions(shown),
        *_kernel_actions(shown),
        *_export_actions(shown),
    ]
    return [replace(spec, page="nsight") for spec in specs]


def _list_actions(shown: _Shown) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="nsight.next_kernel",
            text="Next kernel",
            run=shown.on_view(lambda view: view.step_kernel(1)),
            icon="caret-down",
            shortcut="F3",
            menu=_MENU,
            enabled=shown.no_kernel,
            words="down list",
        ),
        ActionSpec(
            id="nsight.previous_kernel",
            text="Previous kernel",
            run=shown.on_view(lambda view: view.step_kernel(-1)),
            icon="caret-up",
            shortcut="Shift+F3",
            menu=_MENU,
            enabled=shown.no_kernel,
            words="up list",
        ),
        ActionSpec(
            id="nsight.filter",
            text="Filter kernels",
            run=shown.on_view(lambda view: view.bar.field.enter()),
            icon="funnel",
            shortcut="/",
            menu=_MENU,
            enabled=shown.not_read,
            words="search find name",
        ),
        ActionSpec(
            id="nsight.form",
            text="Switch between list and table",
            run=shown.on_view(lambda view: view.show_form(0 if view.is_table else 1)),
            icon="rows",
            menu=_MENU,
            enabled=shown.not_read,
            words="full kernels rules roofline sections metrics",
        ),
        ActionSpec(
            id="nsight.group",
            text="Group repeats of a kernel",
            run=shown.on_view(lambda view: view.strip.group.toggle()),
            icon="list",
            menu=_MENU,
            enabled=shown.not_read,
            words="min mean max launches",
        ),
        ActionSpec(
            id="nsight.clear_filter",
            text="List all kernels",
            run=shown.on_view(lambda view: view.clear_filter()),
            icon="funnel",
            menu=_MENU,
            enabled=shown.not_read,
            words="clear filter",
        ),
    ]


def _kernel_actions(shown: _Shown) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="nsight.next_detail",
            text="Next tab of the kernel",
            run=shown.on_view(lambda view: view.detail.show_neighbour(1)),
            icon="caret-right",
            shortcut="Alt+Right",
            menu=_MENU,
            enabled=shown.no_details,
            words="memory compute occupancy stalls rules",
        ),
        ActionSpec(
            id="nsight.previous_detail",
            text="Previous tab of the kernel",
            run=shown.on_view(lambda view: view.detail.show_neighbour(-1)),
            icon="caret-left",
            shortcut="Alt+Left",
            menu=_MENU,
            enabled=shown.no_details,
            words="memory compute occupancy stalls rules",
        ),
        ActionSpec(
            id="nsight.metrics",
            text="Search the metrics of the kernel",
            run=shown.on_view(lambda view: view.detail.focus_search()),
            icon="magnifying-glass",
            shortcut="Ctrl+F",
            menu=_MENU,
            enabled=shown.no_details,
            words="raw counters find",
        ),
        ActionSpec(
            id="nsight.add_baseline",
            text="Hold others against this kernel",
            run=shown.on_view(lambda view: view.add_baseline()),
            icon="git-diff",
            shortcut="Ctrl+B",
            menu=_MENU,
            enabled=shown.no_kernel,
            words="add baseline compare difference",
        ),
        roofline_action(shown, "nsight", _MENU, shown.no_kernel),
        ActionSpec(
            id="nsight.no_baseline",
            text="Let go of the baseline",
            run=shown.on_page(lambda page: page.baselines.choose(None)),
            icon="x",
            menu=_MENU,
            enabled=shown.no_baseline,
            words="compare difference",
        ),
    ]


def _export_actions(shown: _Shown) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="nsight.private_copy",
            text="Save without private data",
            run=shown.on_view(lambda view: view.ask_private_copy()),
            icon="export",
            tip="Without host names, addresses, folders, arguments, environment and notes.",
            menu=_MENU,
            enabled=shown.not_read,
            words="strip share anonymous host path report copy",
        ),
        *_table_exports(shown),
    ]


def _table_exports(shown: _Shown) -> list[ActionSpec]:
    return [
        ActionSpec(
            id=f"nsight.export_{kind}",
            text=f"Export the kernels as {kind.upper()}",
            run=shown.on_view(partial(_export, kind)),
            icon="export",
            menu=_MENU,
            enabled=shown.not_read,
            words="save file table",
        )
        for kind in ("csv", "json")
    ]


def _export(kind: str, view: NsightView) -> None:
    view.ask_export("json" if kind == "json" else "csv")
