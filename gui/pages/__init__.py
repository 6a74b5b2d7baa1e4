"""Pages, one a file; ``PAGES`` is the one list. A page never imports another page.

An entry names its module instead of importing it: a page (and what it draws
with) is loaded when it is first shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gui.pages.page import Page


@dataclass(frozen=True, slots=True)
class PageEntry:
    """Where a page is found, and what the rail shows before it is built.

    Attributes:
        name: Its ``Page.NAME`` and its module in this package.
        title: Its ``Page.TITLE``.
        icon: Its ``Page.ICON``.
        class_name: Its class.
    """

    name: str
    title: str
    icon: str
    class_name: str

    def load(self) -> type[Page]:
        """Imports the page; may take a second."""
        return cast("type[Page]", getattr(import_module(f"gui.pages.{self.name}"), self.class_name))


PAGES = (
    PageEntry("home", "Home", "house", "HomePage"),
    PageEntry("run", "Run", "activity", "RunPage"),
    PageEntry("trace", "Trace", "rows", "TracePage"),
    PageEntry("nsight", "Nsight", "cpu", "NsightPage"),
    PageEntry("roofline", "Roofline", "chart-line-up", "RooflinePage"),
    PageEntry("edge", "Edge", "device-mobile", "EdgePage"),
)
