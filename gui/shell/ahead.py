"""Loads what the pages of files need before it is asked for, in a worker while the window is idle.

Their modules take half a second to import and its compiled code as long to load;
on the UI thread the window would stand still for that when the first trace opens.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.theme import Theme

_MODULES: Final = (
    "core.compiled",
    "core.analyses.index",
    "gui.pages.trace",
    "gui.pages.nsight",
    "gui.pages.roofline",
    "gui.plots.timeline_view",
    "gui.traces.answers",
)


def load_ahead(theme: Theme, check: Callable[[], None]) -> None:
    """Imports and loads; may run in any thread, and a second time for nothing.

    Args:
        theme: For the colours of what is drawn.
        check: Called now and then; what it raises ends it.
    """
    for name in _MODULES:
        check()
        importlib.import_module(name)
    from gui.plots.timeline_ahead import load_drawing  # noqa: PLC0415  (late: the window must come up first)

    check()
    load_drawing(theme)
