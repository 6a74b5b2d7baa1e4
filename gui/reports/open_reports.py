"""Which Nsight Compute reports and CSVs are open; remembered between two starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gui.open_documents import OpenDocuments

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from gui.settings import Settings

PAGE: Final = "nsight"


class OpenReports(OpenDocuments):
    """The list of the Nsight page."""

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(PAGE, settings, parent)
